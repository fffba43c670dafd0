"""Propagation: node classification before and after it, compared with ProNE's filter, and its cost on large graphs.

Classifiers are regularized, so scores depend on the length of the vectors: each variant is scored at several mean
lengths, and the best mean over the training ratios is reported.

The accuracy on a planted partition is bounded by the graph itself: a node with few edges may have most of them in other
communities. The bound is estimated by an oracle that knows the labels of all neighbors of a node, and chooses the most
frequent one.
"""

import gc
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import iv

from benchmarks.common import peak_bytes as peak
from benchmarks.common import reset_peak, save, show, timed
from benchmarks.scale import accuracy as sample_accuracy
from boostne import BoostNE, Embedding, Graph, evaluate, load_dataset, planted_partition, propagate
from boostne.datasets import Dataset
from boostne.models.boostne import VECTOR_LENGTH
from boostne.vector_lengths import rescale_in_place

DATASETS = ("cora", "wiki", "ppi", "blogcatalog")
TRAIN = (1, 5, 10, 50, 90)
LENGTHS = (1.5, 2.5, 4.0)
SPLITS = 5
LARGE = (200_000, 1_000_000)


def run() -> None:
    """Score the data sets, then measure large graphs."""
    rows = [row for name in DATASETS for row in quality(name)]
    show(f"Micro-F1, mean of {SPLITS} splits, at the best mean length", rows)
    large = [cost(n) for n in LARGE]
    show("Large graphs", large)
    save("propagation", rows, large=large, splits=SPLITS, lengths=LENGTHS)


def quality(name: str) -> list[dict[str, Any]]:
    """Score the vectors of BoostNE as they are, averaged with those of the neighbors, and filtered as by ProNE."""
    data = load_dataset(name)
    embedding = plain_model().fit(data.graph).embedding_
    variants = {
        "none": embedding.vectors,
        "average": propagate(data.graph, embedding).vectors,
        "average, two steps": propagate(data.graph, embedding, steps=2).vectors,
        "one product": propagate(data.graph, embedding, neighbor_weight=1).vectors,
        "ProNE": prone(data.graph, embedding.vectors.astype(np.float64)),
    }
    rows = []
    for variant, vectors in variants.items():
        tried = {length: score(data, vectors, length) for length in LENGTHS}
        best = max(tried, key=lambda length: np.mean(tried[length].mean("micro")))
        row = {"dataset": name, "propagation": variant, "length": best}
        for metric in ("micro", "macro"):
            for ratio, value in zip(TRAIN, tried[best].mean(metric), strict=True):
                row[f"{metric} {ratio}%"] = float(value)
        rows.append(row)
        show("so far", rows[-1:])
    return rows


def plain_model() -> BoostNE:
    """Return the default, but for propagation and the lengths of the vectors."""
    return BoostNE(propagation=0, vector_length=0)


def score(data: Any, vectors: NDArray[Any], length: float) -> Any:
    """Evaluate vectors whose mean length is set to a value."""
    scaled = vectors.copy()
    rescale_in_place(scaled, length)
    return evaluate(Embedding(data.graph.nodes, scaled), data.labels, train=TRAIN, repeats=SPLITS, classifier="fast")


def prone(graph: Graph, E: NDArray[np.float64], order: int = 10, mu: float = 0.2, theta: float = 0.5) -> Any:
    """Apply ProNE's filter: a Gaussian band-pass of the random walk by Chebyshev expansion, then one step of A + I."""
    with_loops = graph.adjacency.astype(np.float64) + sparse.eye_array(graph.n_nodes)
    walk = sparse.diags_array(1 / with_loops.sum(axis=1)) @ with_loops

    def shifted(block: NDArray[np.float64]) -> NDArray[np.float64]:
        return (1 - mu) * block - walk @ block

    previous, current = E, shifted(shifted(E)) / 2 - E
    total = iv(0, theta) * previous - 2 * iv(1, theta) * current
    for i in range(2, order):
        previous, current = current, shifted(shifted(current)) - 2 * current - previous
        total += (2 if i % 2 == 0 else -2) * iv(i, theta) * current
    return with_loops @ (total - E)


def cost(n_nodes: int) -> dict[str, Any]:
    """Measure time, memory and accuracy on a planted partition; vectors have the default length."""
    data = planted_partition(n_nodes)
    fit_seconds, model = timed(lambda: plain_model().fit(data.graph))
    embedding = model.embedding_
    del model
    gc.collect()
    before = reset_peak()
    # As the default propagates the vectors of a pruned X.
    seconds, propagated = timed(lambda: propagate(data.graph, embedding, neighbor_weight=0.9, steps=4))
    extra = peak() - before - propagated.vectors.nbytes
    accuracy = {}
    for name, one in (("before", embedding), ("after", propagated)):
        vectors = one.vectors.copy()
        rescale_in_place(vectors, VECTOR_LENGTH)
        accuracy[f"accuracy_{name}"] = sample_accuracy(Embedding(one.nodes, vectors), data.labels)
    return {
        "nodes": n_nodes,
        "fit_seconds": fit_seconds,
        "propagation_seconds": seconds,
        "propagation_over_fit": seconds / fit_seconds,
        "extra memory, in arrays of vectors": extra / embedding.vectors.nbytes,
        **accuracy,
        "accuracy_of_the_oracle": neighbor_vote(data),
    }


def neighbor_vote(data: Dataset) -> float:
    """Return the expected accuracy of the most frequent true label among the neighbors, ties broken at random.

    In a planted partition all edges of a node are equally good evidence, so that no better guess can be made from the
    labels of its neighbors.
    """
    truth, _ = data.labels.align(data.graph.nodes)
    votes = (data.graph.adjacency @ sparse.csr_array(truth, dtype=np.float64)).toarray()
    first = votes == votes.max(axis=1, keepdims=True)
    right = (first * truth.toarray()).sum(axis=1)
    return float((right / first.sum(axis=1)).mean())
