"""Scores of pairs of nodes by their vectors, for link prediction."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.evaluation.link_split import LinkSplit, NodePairs, directed_edges, draw_non_edges, edges_of

LEARNED = ("hadamard", "average", "l1", "l2")
# More do not improve a logistic regression with a few hundred weights, and their features take memory.
MAX_TRAINING_EDGES = 100_000
_BLOCK_SIZE = 65_536


class LinkVectors(NamedTuple):
    """Vectors of the nodes as sources and as targets of edges, in the order of the graph's nodes."""

    sources: NDArray[np.float64]
    targets: NDArray[np.float64]


def score_links(
    vectors: LinkVectors,
    parts: LinkSplit,
    operators: tuple[str, ...],
    rng: np.random.Generator,
    one_way: NDArray[np.bool_] | None,
) -> dict[str, tuple[float, ...]]:
    """Return AUC, average precision and, given the test edges without a reverse edge, the AUC of their direction."""
    from threadpoolctl import threadpool_limits

    edges = parts.edges
    reverse = edges[:0] if one_way is None else edges[one_way, ::-1]
    pairs = np.concatenate([edges, parts.non_edges, reverse])
    # One thread, because sums split over several threads differ in their last bits.
    with threadpool_limits(1):
        values = {name: _products(vectors, pairs, name) for name in operators if name not in LEARNED}
        if len(values) < len(operators):
            known, is_edge = _training_pairs(parts, rng)
            for name in (name for name in operators if name in LEARNED):
                values[name] = _log_odds(vectors, pairs, name, known, is_edge)
    cuts = np.cumsum([len(edges), len(parts.non_edges)])
    return {name: _metrics(np.split(values[name], cuts), one_way) for name in operators}


def _metrics(values_of: list[NDArray[np.float64]], one_way: NDArray[np.bool_] | None) -> tuple[float, ...]:
    """Return the metrics, given the values of the edges, of the non-edges and of the reverse edges."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    edges, non_edges, reverse = values_of
    truth, values = _against(edges, non_edges)
    found = (float(roc_auc_score(truth, values)), float(average_precision_score(truth, values)))
    if one_way is None:
        return found
    return *found, float(roc_auc_score(*_against(edges[one_way], reverse))) if len(reverse) else float("nan")


def _against(true: NDArray[np.float64], false: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    return np.repeat([True, False], [len(true), len(false)]), np.concatenate([true, false])


def _training_pairs(parts: LinkSplit, rng: np.random.Generator) -> tuple[NodePairs, NDArray[np.bool_]]:
    """Return training edges and as many non-edges, no test pairs among them, and which are edges."""
    connected, _ = edges_of(parts.training.to_undirected())
    edges = directed_edges(parts.training) if parts.training.directed else connected
    taken = np.concatenate([connected, np.sort(parts.edges, axis=1), np.sort(parts.non_edges, axis=1)])
    count = min(len(connected), MAX_TRAINING_EDGES)
    non_edges = draw_non_edges(parts.training.n_nodes, taken, count, rng)
    if parts.training.directed:
        non_edges = rng.permuted(non_edges, axis=1)
    chosen = edges[np.sort(rng.choice(len(edges), count, replace=False))]
    return np.concatenate([chosen, non_edges]), np.repeat([True, False], count)


def _products(vectors: LinkVectors, pairs: NodePairs, operator: str) -> NDArray[np.float64]:
    """Return the inner product or cosine of the two vectors of each pair."""
    if operator == "cosine":
        from sklearn.preprocessing import normalize

        vectors = LinkVectors(*map(normalize, vectors))
    return _in_blocks(lambda x, y: np.einsum("ij,ij->i", x, y), vectors, pairs)


def _log_odds(
    vectors: LinkVectors, pairs: NodePairs, operator: str, known: NodePairs, is_edge: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Train a classifier on the known pairs and return the log-odds of each pair being an edge."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features = _FEATURES[operator]
    classifier = LogisticRegression(solver="liblinear", max_iter=1000, random_state=0)
    model = make_pipeline(StandardScaler(), classifier)
    model.fit(features(vectors.sources[known[:, 0]], vectors.targets[known[:, 1]]), is_edge)
    return _in_blocks(lambda x, y: model.decision_function(features(x, y)), vectors, pairs)


_FEATURES: dict[str, Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]] = {
    "hadamard": lambda x, y: x * y,
    "average": lambda x, y: (x + y) / 2,
    "l1": lambda x, y: np.abs(x - y),
    "l2": lambda x, y: (x - y) ** 2,
}


def _in_blocks(
    score: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
    vectors: LinkVectors,
    pairs: NodePairs,
) -> NDArray[np.float64]:
    values = np.empty(len(pairs))
    for start in range(0, len(pairs), _BLOCK_SIZE):
        u, v = pairs[start : start + _BLOCK_SIZE].T
        values[start : start + len(u)] = score(vectors.sources[u], vectors.targets[v])
    return values
