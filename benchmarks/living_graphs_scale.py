"""Large graphs that change: time and memory of new vectors, and time and quality of an update.

New nodes: a model of all but 2 % of the nodes of a generated graph is saved, and loaded in a new process, in which the
other nodes are folded in. The memory this takes is compared with that of the loaded model. The factors of the largest
model are small random numbers: the work is at least that of fitted ones, since no entry of a residual becomes zero.

Update: 1 % of the edges change. Besides the wall-clock times, which other programs prolong, CPU seconds of all threads
are measured; times of the fit and of the update are from the same run.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import peak_bytes, peak_memory, reset_peak, save, show
from benchmarks.living_graphs import change_edges, cosines
from boostne import BoostNE, DeepWalkMatrix, Embedding, Graph, evaluate, planted_partition
from boostne.datasets import Dataset
from boostne.matrices.deepwalk.plan import EPSILON_SHARE, typical_per_row
from boostne.models.fitted_graph import FittedGraph

SIZES = (1_000_000, 300_000)
NEW, CHANGED = 0.02, 0.01
TRAIN = (10, 50)
THREADS = 2


class Timed(NamedTuple):
    """Result of a call, with its wall-clock time and the CPU time of all threads, in seconds."""

    result: Any
    wall: float
    cpu: float

    def row(self, name: str) -> dict[str, float]:
        """Return the times as columns of a table."""
        return {f"{name}_wall_s": self.wall, f"{name}_cpu_s": self.cpu}


def run() -> None:
    """Measure both sizes."""
    facts = {"new": NEW, "changed": CHANGED, "train": TRAIN, "threads": THREADS}
    new_nodes = measure_new_nodes(random_model(SIZES[0]), SIZES[0])
    show("New nodes of a large model", [new_nodes])
    rows: list[dict[str, Any]] = []
    save("living_graphs_scale", rows, new_nodes=new_nodes, **facts)
    for size in SIZES:
        rows.append(measure(size))
        show("so far", rows[-1:])
        save("living_graphs_scale", rows, new_nodes=new_nodes, **facts)
    show("New nodes and updates of large models", rows)


def measure(size: int) -> dict[str, Any]:
    """Fit a model without some nodes; fold these in; then update the model after edges changed."""
    data, known = planted_partition(size), known_nodes(size)
    smaller = Graph(data.graph.adjacency[known][:, known], data.graph.nodes[known])
    reset_peak()
    row = {"nodes": size, "load_before": os.getloadavg()[0]}
    fit = measure_time(lambda: BoostNE(threads=THREADS).fit(smaller))
    row |= fit.row("fit") | measure_new_nodes(fit.result, size) | measure_update(fit, smaller, data)
    return row | {"peak_mb": peak_bytes() / 1e6}


def known_nodes(size: int) -> np.ndarray:
    """Return the nodes of the model."""
    return np.sort(np.random.default_rng(0).permutation(size)[round(NEW * size) :])


def random_model(size: int) -> BoostNE:
    """Return a model of the known nodes of a generated graph, in the form of a fitted one, with random factors."""
    graph, known = planted_partition(size).graph, known_nodes(size)
    graph = Graph(graph.adjacency[known][:, known], graph.nodes[known])
    # As the default chooses them for this graph.
    per_row = typical_per_row(graph.n_nodes)
    epsilon = EPSILON_SHARE * graph.n_nodes / (per_row * graph.adjacency.nnz)
    matrix = DeepWalkMatrix(window=5, approximation="push", epsilon=epsilon, max_per_row=per_row)
    model = BoostNE(connectivity=matrix, max_iter=1).fit(planted_partition(1000, communities=5).graph)
    rng = np.random.default_rng(0)
    vectors, model.context_ = (1e-3 * rng.random((graph.n_nodes, 128), dtype=np.float32) for _ in range(2))
    model.embedding_ = Embedding(graph.nodes, vectors, model.embedding_.levels)
    model.fitted_graph_, model.dropped_mass_ = FittedGraph.of(graph), np.zeros(graph.n_nodes)
    return model


def measure_new_nodes(model: BoostNE, size: int) -> dict[str, Any]:
    """Save a model, and measure in a new process how the other nodes are folded in."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        return peak_memory(prepare_fold_in, path, size)[1]


def prepare_fold_in(path: Path, size: int) -> Callable[[], dict[str, float]]:
    """Load a model and generate the graph in a new process; returns the measurement."""
    before = reset_peak()
    model = BoostNE.load(path).set_params(threads=THREADS)
    loaded = peak_bytes() - before
    graph = planted_partition(size).graph

    def fold_in() -> dict[str, float]:
        held = reset_peak()
        found = measure_time(lambda: model.fold_in(graph))
        return {
            **found.row("fold_in"),
            "new_nodes_per_s": len(found.result) / found.wall,
            "new_nodes_per_cpu_s": len(found.result) / found.cpu,
            "loaded_model_mb": loaded / 1e6,
            "fold_in_mb": (peak_bytes() - held) / 1e6,
            "peak_over_loaded": (loaded + peak_bytes() - held) / loaded,
        }

    return fold_in


def measure_update(fit: Timed, graph: Graph, data: Dataset) -> dict[str, Any]:
    """Change some edges, update the fitted model, and compare it with a new fit."""
    model, first = fit.result, fit.result.embedding_
    later = change_edges(graph, CHANGED, np.random.default_rng(1))
    update = measure_time(lambda: model.update(later))
    touched = np.diff(abs(later.adjacency - graph.adjacency).tocsr().indptr) > 0
    untouched = cosines(first.vectors[~touched], model.embedding_.vectors[~touched])
    row = {
        **update.row("update"),
        "update_over_fit": update.wall / fit.wall,
        "update_over_fit_cpu": update.cpu / fit.cpu,
        "changed": update.result.changed,
        "recomputed": update.result.recomputed,
        "cosine_untouched": float(np.median(untouched)),
    }
    del first, untouched
    refit = BoostNE(connectivity=model.connectivity_, threads=THREADS).fit(later)
    scores = [micro(one.embedding_, data) for one in (model, refit)]
    return row | {"updated_f1": scores[0], "refit_f1": scores[1], "updated_minus_refit": scores[0] - scores[1]}


def micro(embedding: Embedding, data: Dataset) -> float:
    """Return the mean Micro-F1 over the training percentages, one split each."""
    return float(evaluate(embedding, data.labels, train=TRAIN, repeats=1, classifier="fast").mean("micro").mean())


def measure_time(function: Callable[[], Any]) -> Timed:
    """Call a function and measure its times."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return Timed(result, time.perf_counter() - wall, time.process_time() - cpu)
