"""A planted graph with 200,000 nodes, from a text file to saved vectors: boostne against pycleora's multiscale vectors.

Both read the same edges and write ``.npz`` files, each run in a process of its own, in turns. Cleora concatenates the
vectors after each number of steps in ``STEPS``, to as many dimensions as boostne's. Accuracy is that of a classifier
trained on 5,000 nodes, with vectors as they come and with each length in ``LENGTHS``, the same for all nodes of both
libraries; the best is reported too. ``CLEORA_NODES=20000`` selects another size.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from benchmarks.common import save, show
from benchmarks.large import boostne, measured_process
from benchmarks.scale import accuracy
from boostne import Embedding, read_embedding, read_labels

NODES = 200_000
DIMENSIONS = 128
OPTIONS: dict[str, tuple[str, ...]] = {
    "boostne": (),
    "boostne, 100 entries per row": ("--max-per-row", "100"),
    "boostne, 60 entries per row": ("--max-per-row", "60"),
}
STEPS = {"4 to 16 steps": [4, 8, 12, 16], "10 to 40 steps, the default": [10, 20, 30, 40]}
LENGTHS = (1, 2.5, 5, 10, 20)
REPEATS = 3


def run() -> None:
    """Measure both libraries in turns, and compare the medians."""
    n = int(os.environ.get("CLEORA_NODES", NODES))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        edges, labels = folder / "edges.txt", folder / "labels.csv"
        boostne("generate", str(folder / "edges.csv"), "--labels", str(labels), "--nodes", str(n))
        pairs = (folder / "edges.csv").read_text().split("\n", 1)[1]
        edges.write_text(pairs.replace(",", " "))  # as both libraries read it
        runs = [row for _ in range(REPEATS) for row in one_of_each(folder, edges)]
        rows = [
            {"method": method, **medians([row for row in runs if row["method"] == method])}
            | accuracies(folder / f"{i}.npz", labels)
            for i, method in enumerate((*OPTIONS, *STEPS))
        ]
    ours, theirs = rows[: len(OPTIONS)], rows[len(OPTIONS) :]
    ratios = [
        {"method": mine["method"], "against": other["method"], **relative(mine, other)}
        for mine in ours
        for other in theirs
    ]
    show(f"{n:,} nodes, from text to saved vectors", rows)
    show("boostne / Cleora; accuracy minus the best of Cleora", ratios)
    save("cleora", rows, nodes=n, runs=runs, ratios=ratios)


def one_of_each(folder: Path, edges: Path) -> list[dict[str, Any]]:
    """Run each method once."""
    rows = []
    for i, method in enumerate((*OPTIONS, *STEPS)):
        output = str(folder / f"{i}.npz")
        if method in OPTIONS:
            used = boostne("embed", str(edges), "-o", output, "--quiet", *OPTIONS[method])
        else:
            used = measured_process("-m", "benchmarks.cleora", str(edges), output, method)
        rows.append({"method": method, **used})
    return rows


def medians(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Return the median of each measurement."""
    return {name: float(np.median([row[name] for row in runs])) for name in runs[0] if name != "method"}


def accuracies(vectors: Path, labels: Path) -> dict[str, float]:
    """Return the accuracy of the vectors as they come, and the best over all lengths."""
    embedding, known = read_embedding(vectors), read_labels(labels)
    unit = normalize(embedding.vectors)
    scaled = [accuracy(Embedding(embedding.nodes, unit * length), known) for length in LENGTHS]
    return {"accuracy": accuracy(embedding, known), "best_accuracy": max(scaled)}


def relative(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, float]:
    """Return the ratios of time and memory, and the difference of the accuracies."""
    ratios = {name: ours[name] / theirs[name] for name in ("total_s", "cpu_s", "peak_GB")}
    return {**ratios, "accuracy_difference": ours["accuracy"] - theirs["best_accuracy"]}


def cleora(edges: str, output: str, method: str) -> None:
    """Embed with pycleora; the child process of a run."""
    from pycleora import SparseMatrix, embed_multiscale

    matrix = SparseMatrix.from_files([edges], "complex::reflexive::node")
    vectors = embed_multiscale(matrix, DIMENSIONS // len(STEPS[method]), STEPS[method])
    np.savez(output, nodes=np.array(matrix.entity_ids, dtype=np.int64), vectors=vectors)


if __name__ == "__main__":
    cleora(*sys.argv[1:])
