"""Large graphs that change: time and memory of new vectors, and time and quality of an update.

New nodes: a model is fitted without 2 % of the nodes of a generated graph, saved, and loaded in a new process, in which
these nodes are folded in. The memory this takes is compared with that of the loaded model.

Update: 1 % of the edges change. Times are CPU seconds of this process, so that other programs matter less; those of the
fit and of the update are from the same run.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import peak_bytes, peak_memory, reset_peak, save, show
from benchmarks.living_graphs import change_edges, cosines
from boostne import BoostNE, Embedding, Graph, evaluate, planted_partition
from boostne.datasets import Dataset

SIZES = (300_000, 1_000_000)
NEW, CHANGED = 0.02, 0.01
TRAIN = (10, 50)
THREADS = 2


def run() -> None:
    """Measure both sizes."""
    rows = []
    for size in SIZES:
        rows.append(measure(size))
        show("so far", rows[-1:])
        save("living_graphs_scale", rows, new=NEW, changed=CHANGED, train=TRAIN, threads=THREADS)
    show("New nodes and updates of large models", rows)


def measure(size: int) -> dict[str, Any]:
    """Fit a model without some nodes; fold these in; then update the model after edges changed."""
    data = planted_partition(size)
    graph, rng = data.graph, np.random.default_rng(0)
    known = np.sort(rng.permutation(size)[round(NEW * size) :])
    smaller = Graph(graph.adjacency[known][:, known], graph.nodes[known])
    fit_seconds, model = cpu_seconds(lambda: BoostNE(threads=THREADS).fit(smaller))
    row: dict[str, Any] = {"nodes": size, "fit_cpu_s": fit_seconds}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        row |= peak_memory(prepare_fold_in, path, size)[1]
    return row | measure_update(model, smaller, data, rng, fit_seconds)


def prepare_fold_in(path: Path, size: int) -> Callable[[], dict[str, float]]:
    """Load a model and generate the graph in a new process; returns the measurement."""
    before = reset_peak()
    model = BoostNE.load(path).set_params(threads=THREADS)
    loaded = peak_bytes() - before
    graph = planted_partition(size).graph

    def fold_in() -> dict[str, float]:
        held = reset_peak()
        begin = time.perf_counter()
        cpu, found = cpu_seconds(lambda: model.fold_in(graph))
        wall = time.perf_counter() - begin
        return {
            "fold_in_wall_s": wall,
            "fold_in_cpu_s": cpu,
            "new_nodes_per_s": len(found) / wall,
            "new_nodes_per_cpu_s": len(found) / cpu,
            "loaded_model_mb": loaded / 1e6,
            "fold_in_mb": (peak_bytes() - held) / 1e6,
            "peak_over_loaded": (loaded + peak_bytes() - held) / loaded,
        }

    return fold_in


def measure_update(
    model: BoostNE, graph: Graph, data: Dataset, rng: np.random.Generator, fit_seconds: float
) -> dict[str, Any]:
    """Change some edges, update the model, and compare it with a new fit."""
    first = model.embedding_
    later = change_edges(graph, CHANGED, rng)
    update_seconds, report = cpu_seconds(lambda: model.update(later))
    refit = BoostNE(connectivity=model.connectivity_, threads=THREADS).fit(later)
    touched = np.diff(abs(later.adjacency - graph.adjacency).tocsr().indptr) > 0
    untouched = cosines(first.vectors[~touched], model.embedding_.vectors[~touched])
    updated_f1, refit_f1 = (micro(one.embedding_, data) for one in (model, refit))
    return {
        "update_cpu_s": update_seconds,
        "update_over_fit": update_seconds / fit_seconds,
        "changed": report.changed,
        "recomputed": report.recomputed,
        "cosine_untouched": float(np.median(untouched)),
        "updated_f1": updated_f1,
        "refit_f1": refit_f1,
        "updated_minus_refit": updated_f1 - refit_f1,
    }


def micro(embedding: Embedding, data: Dataset) -> float:
    """Return the mean Micro-F1 over the training percentages, one split each."""
    return float(evaluate(embedding, data.labels, train=TRAIN, repeats=1, classifier="fast").mean("micro").mean())


def cpu_seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, on all threads, and its result."""
    begin = time.process_time()
    result = function()
    return time.process_time() - begin, result
