"""From a text file to a saved embedding, for ten thousand to a million nodes: time per stage, memory, accuracy.

Graphs are planted partitions with mean degree 10, and every run is a separate process. Compared with scikit-network's
Spectral and SVD and with gensim on our walks, up to the size at which they take too long. Accuracy is that of a
classifier trained on half of 10,000 nodes, the same number at every size.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, peak_bytes, save, show
from benchmarks.peers import gensim_deepwalk
from boostne import (
    BoostNE,
    DeepWalkMatrix,
    Embedding,
    Labels,
    evaluate,
    planted_partition,
    read_embedding,
    read_graph,
    read_labels,
)
from boostne.io.writing import write_edges, write_labels
from boostne.kernels import available_threads
from boostne.progress import Progress
from boostne.sampling.walks import walk_chunks

NODES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
LARGEST_EXACT = 30_000
LABELED = 10_000
TIMEOUT = 600  # seconds; runs predicted to take longer are not started
DIMENSIONS = 128
PLOT = "scale.png"


def run() -> None:
    """Measure all methods at all sizes, fit the growth of time, and plot."""
    rows: list[dict[str, Any]] = []
    last: dict[str, float] = {}  # seconds per node at the previous size
    for n in NODES:
        with tempfile.TemporaryDirectory() as folder:
            data = planted_partition(n)
            write_edges(data.graph, Path(folder) / "edges.csv")
            write_labels(data.labels, Path(folder) / "labels.csv")
            del data
            for name in METHODS:
                if n * last.get(name, 0) > TIMEOUT or (name == "boostne, exact" and n > LARGEST_EXACT):
                    continue
                rows.append({"nodes": n, "method": name, **measured(name, folder)})
                show("so far", rows[-1:])
                seconds = rows[-1]["total_s"]
                last[name] = np.inf if np.isnan(seconds) else seconds / n
    show("Planted partitions, mean degree 10, d = 128", rows)
    exponents = {name: exponent(rows, name) for name in METHODS}
    save("scale", rows, exponents_from_100k=exponents)
    plot(rows)


def measured(name: str, folder: str) -> dict[str, Any]:
    """Run one method in a separate process; returns its measurements, or NaN if it did not finish."""
    command = [sys.executable, "-m", "benchmarks.scale", name, folder]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return dict.fromkeys(MEASUREMENTS, float("nan"))
    except subprocess.CalledProcessError as error:
        if error.returncode >= 0:  # not killed by the out-of-memory killer
            raise RuntimeError(error.stderr) from error
        return dict.fromkeys(MEASUREMENTS, float("nan"))
    measurements = json.loads(done.stdout.splitlines()[-1])
    return measurements | {"accuracy": accuracy(*stored(Path(folder)))}


MEASUREMENTS = (
    *("read_s", "connectivity_s", "levels_s", "write_s", "total_s"),
    *("peak_GB", "entries", "time_left_ratio", "accuracy"),
)


def one(name: str, folder: Path) -> dict[str, float]:
    """Read, embed and write; returns the seconds of each stage and the peak memory."""
    stages = Stages()
    stages(Progress("read", 0))
    graph = read_graph(folder / "edges.csv")
    vectors, entries = METHODS[name](graph, stages)
    stages(Progress("write", 0))
    Embedding(graph.nodes, vectors).save(folder / "vectors.npz")
    stages(Progress("end", 0))
    seconds = stages.seconds()
    return {
        "read_s": seconds["read"],
        "connectivity_s": seconds.get("connectivity", float("nan")),
        "levels_s": seconds["levels"],
        "write_s": seconds["write"],
        "total_s": sum(seconds.values()),
        "peak_GB": peak_bytes() / 1e9,
        "entries": entries,
        "time_left_ratio": stages.time_left_ratio(),
    }


class Stages:
    """A progress callback that records when each stage started and the progress after the first level."""

    def __init__(self) -> None:
        self._starts: dict[str, float] = {}
        self._second_level: tuple[float, float] | None = None

    def __call__(self, progress: Progress) -> None:
        """Record a progress update."""
        now = time.perf_counter()
        self._starts.setdefault(progress.stage, now)
        if progress.detail.startswith("level 2/") and self._second_level is None:
            self._second_level = now, progress.done

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each stage."""
        names, times = list(self._starts), list(self._starts.values())
        return dict(zip(names, np.diff(times).tolist(), strict=False))

    def time_left_ratio(self) -> float:
        """Return predicted over actual remaining time, after the first level and a pass of the second."""
        if self._second_level is None:
            return float("nan")
        begin, end = self._starts["levels"], self._starts["write"]
        now, done = self._second_level
        return (now - begin) * (1 - done) / done / max(end - now, 1e-9)


def pruned(graph, progress) -> tuple[np.ndarray, float]:
    """Embed with BoostNE on the pruned X, as "auto" does if the exact X does not fit."""
    model = BoostNE(DIMENSIONS, connectivity=DeepWalkMatrix(approximation="push")).fit(graph, progress=progress)
    return model.embedding_.vectors, float(model.nnz_[0])


def exact(graph, progress) -> tuple[np.ndarray, float]:
    """Embed with BoostNE on the exact X."""
    model = BoostNE(DIMENSIONS, connectivity=DeepWalkMatrix(approximation="exact")).fit(graph, progress=progress)
    return model.embedding_.vectors, float(model.nnz_[0])


def sknetwork_spectral(graph, progress) -> tuple[np.ndarray, float]:
    """Embed with scikit-network's Spectral."""
    from sknetwork.embedding import Spectral

    progress(Progress("levels", 0))
    return Spectral(DIMENSIONS).fit_transform(sknetwork_matrix(graph)), float("nan")


def sknetwork_svd(graph, progress) -> tuple[np.ndarray, float]:
    """Embed with scikit-network's SVD."""
    from sknetwork.embedding import SVD

    progress(Progress("levels", 0))
    return SVD(DIMENSIONS).fit_transform(sknetwork_matrix(graph)), float("nan")


def sknetwork_matrix(graph) -> Any:
    """Return the adjacency matrix in the format of scikit-network."""
    from scipy import sparse

    return sparse.csr_matrix(graph.adjacency, copy=True)


class Sentences:
    """Our walks for gensim, sampled again in each iteration: as lists they would take gigabytes."""

    def __init__(self, graph) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[list[int]]:
        for walks in walk_chunks(self._graph, walks=10, length=80):
            yield from walks.tolist()


def gensim(graph, progress) -> tuple[np.ndarray, float]:
    """Embed with gensim's skip-gram on our walks."""
    progress(Progress("levels", 0))
    vectors = gensim_deepwalk(Sentences(graph), graph.n_nodes, DIMENSIONS, available_threads())
    return vectors, float("nan")


METHODS: dict[str, Callable[..., tuple[np.ndarray, float]]] = {
    "boostne, push": pruned,
    "boostne, exact": exact,
    "scikit-network Spectral": sknetwork_spectral,
    "scikit-network SVD": sknetwork_svd,
    "gensim DeepWalk": gensim,
}


def accuracy(embedding: Embedding, labels: Labels) -> float:
    """Return the accuracy of a classifier trained on half of a sample of nodes and tested on the rest."""
    size = min(LABELED, len(embedding))
    rows = np.random.default_rng(0).choice(len(embedding), size, replace=False)
    nodes = embedding.nodes[rows]
    truth, _ = labels.align(nodes)
    sample = Embedding(nodes, embedding.vectors[rows])
    return float(evaluate(sample, Labels(nodes, labels.classes, truth), train=[50], repeats=2).mean("micro")[0])


def stored(folder: Path) -> tuple[Embedding, Labels]:
    """Return the vectors and the labels of a run."""
    return read_embedding(folder / "vectors.npz"), read_labels(folder / "labels.csv")


def exponent(rows: list[dict[str, Any]], name: str) -> float:
    """Return the exponent of the growth of time with the number of nodes, from 100,000 nodes on."""
    points = [
        (row["nodes"], row["total_s"])
        for row in rows
        if row["method"] == name and row["nodes"] >= 100_000 and np.isfinite(row["total_s"])
    ]
    return float(np.polyfit(*np.log(np.array(points).T), 1)[0]) if len(points) > 1 else float("nan")


def plot(rows: list[dict[str, Any]]) -> None:
    """Plot time, memory and accuracy by number of nodes."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    titles = {"total_s": "seconds, file to file", "peak_GB": "peak memory, GB", "accuracy": "accuracy"}
    for axis, (column, title) in zip(axes, titles.items(), strict=True):
        for name in METHODS:
            points = [(row["nodes"], row[column]) for row in rows if row["method"] == name]
            if points:
                axis.plot(*zip(*points, strict=True), marker="o", label=name)
        axis.set(xscale="log", xlabel="nodes", title=title)
        if column != "accuracy":
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter("{x:g}")
            axis.yaxis.set_minor_formatter("")
        axis.grid(alpha=0.3, which="both")
    axes[0].legend(fontsize=8)
    figure.savefig(RESULTS / PLOT, dpi=120)


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1], Path(sys.argv[2]))))
