"""How settings are compared: by the labels of nodes."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from boostne.embedding import Embedding
from boostne.evaluation.classification import check_C, join, one_vs_rest
from boostne.graph import Graph
from boostne.kernels import check_threads
from boostne.label_ranking import top_k
from boostne.labels import as_labels
from boostne.level_weighting import split, usable_labels
from boostne.refinement.tuning_criterion import Score
from boostne.validation import check_integer
from boostne.vector_lengths import rescale_in_place

# Labeled nodes that are used in the last rung, the one before, and so on, at most.
MAX_NODES = (5000, 2000, 1000)


@dataclass(frozen=True, eq=False)
class LabeledSample:
    """Some labeled nodes, as rows of the graph, their labels, and the fold of each."""

    rows: NDArray[np.intp]
    indicator: NDArray[np.bool_]
    folds: list[NDArray[np.bool_]]


class LabelCriterion:
    """Cross-validated Micro-F1 of the labeled nodes, each assigned as many labels as it has."""

    name = "Micro-F1"
    lengths_matter = True

    def __init__(self, graph: Graph, labels: Any, C: float, folds: int, seed: int, threads: int | None) -> None:
        self.graph = graph
        self._C = check_C(C)
        self._threads = check_threads(threads)
        rows, indicator = _labeled_rows(graph, labels, check_integer("folds", folds, 2))
        rng = np.random.default_rng([seed, 1])
        order = rng.permutation(len(rows))
        self._samples = []
        for most in MAX_NODES:
            chosen = np.sort(order[:most])
            held_out = [fold.held_out for fold in split(indicator[chosen], folds, rng)]
            self._samples.append(LabeledSample(rows[chosen], indicator[chosen], held_out))

    def score(self, vectors: NDArray[Any], length: float, rung: int) -> Score:
        """Return the score; see :class:`~boostne.refinement.tuning_criterion.Criterion`."""
        sample = self._samples[rung]
        if length:
            vectors = vectors.copy()
            rescale_in_place(vectors, length)
        labeled = vectors[sample.rows].astype(np.float64)

        def correct(held_out: NDArray[np.bool_]) -> NDArray[np.intp]:
            training, true = ~held_out, sample.indicator[held_out]
            log_odds = one_vs_rest(labeled[training], sample.indicator[training], labeled[held_out], self._C, "fast")
            return np.asarray(np.count_nonzero(true & top_k(log_odds, true.sum(axis=1)), axis=1))

        parts = np.empty(len(labeled))
        # One BLAS thread, because sums split over several threads differ in their last bits.
        with threadpool_limits(1), ThreadPoolExecutor(self._threads) as pool:
            for held_out, found in zip(sample.folds, pool.map(correct, sample.folds), strict=True):
                parts[held_out] = found
        return Score(parts / np.count_nonzero(sample.indicator))


def _labeled_rows(graph: Graph, labels: Any, folds: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the rows of the labeled nodes and their labels, without labels that only one node has."""
    # join() looks up the vector of each labeled node; here it is the row.
    task = join(Embedding(graph.nodes, np.arange(graph.n_nodes, dtype=np.float64)[:, None]), as_labels(labels))
    rows, indicator = task.vectors[task.present, 0].astype(np.intp), task.indicator[task.present]
    known, indicator = usable_labels(indicator, folds, "tuning needs", "label more nodes, or tune without labels")
    return rows[known], indicator
