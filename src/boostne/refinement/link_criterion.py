"""How settings are compared without labels: by hidden edges.

A tenth of the edges is hidden before the graph is embedded. A pair (u, v) scores the number of edges between the nodes
most similar to u and v itself, plus the same with u and v exchanged: similar nodes should have the same neighbors. The
score of a setting is the AUC of hidden edges against pairs that are not connected: one node of an edge is replaced by
another of about the same degree.

The similarity of u and v themselves, which is usual, assumes that neighbors are similar. In a network of words they
often are not: a noun follows an adjective, and it is two nouns that have the same neighbors.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from boostne.errors import GraphError
from boostne.evaluation.classification import check_threads
from boostne.evaluation.link_split import NodePairs, split
from boostne.graph import Graph
from boostne.refinement.tuning_criterion import Score

HIDDEN = 0.1  # share of the edges
FEWEST_HIDDEN = 5
NEIGHBORS = 30  # most similar nodes
# Hidden edges that are scored in the last rung, the one before, and so on, at most; fewer on large graphs.
MAX_EDGES = (2500, 1500, 1000)
LARGE_EDGES, SIMILARITIES = 300, 50_000_000
BLOCK_SIMILARITIES = 1 << 24
DEGREE_RANKS = 0.01  # share of the nodes among which one with about the same degree is drawn
MAX_DRAWS = 100


class LinkCriterion:
    """AUC of hidden edges, from the neighbors of similar nodes."""

    name = "AUC of hidden edges"
    lengths_matter = False

    def __init__(self, graph: Graph, seed: int, threads: int | None) -> None:
        self._threads = check_threads(threads)
        rng = np.random.default_rng([seed, 2])
        parts = split(graph, _hidden_count(graph), rng)
        self.graph = parts.training
        self._keys = _edge_keys(parts.training)
        edges, others = matched_non_edges(graph, rng.permutation(parts.edges), rng)
        most = max(LARGE_EDGES, SIMILARITIES // graph.n_nodes)
        self._pairs = [(edges[: min(n, most)], others[: min(n, most)]) for n in MAX_EDGES]

    def score(self, vectors: NDArray[Any], length: float | None, rung: int) -> Score:  # noqa: ARG002
        """Return the score; see :class:`~boostne.refinement.tuning_criterion.Criterion`."""
        edges, others = self._pairs[rung]
        nodes = np.unique([edges, others])
        similar = self._most_similar(vectors, nodes)
        hidden, unconnected = (self._links(pairs, nodes, similar) for pairs in (edges, others))
        return Score(placements(hidden, unconnected) / len(edges))

    def _most_similar(self, vectors: NDArray[Any], nodes: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the nodes whose vectors have the largest cosine with those of the given nodes, in any order."""
        unit = normalize(vectors.astype(np.float32))
        count = min(NEIGHBORS, len(unit) - 1)
        step = max(1, BLOCK_SIMILARITIES // len(unit))
        blocks = [nodes[first : first + step] for first in range(0, len(nodes), step)]

        def search(block: NDArray[np.int64]) -> NDArray[np.intp]:
            cosines = unit[block] @ unit.T
            cosines[np.arange(len(block)), block] = -2  # not the node itself
            return np.argpartition(cosines, -count, axis=1)[:, -count:]

        # One BLAS thread, because sums split over several threads differ in their last bits.
        with threadpool_limits(1), ThreadPoolExecutor(self._threads) as pool:
            return np.concatenate(list(pool.map(search, blocks)))

    def _links(self, pairs: NodePairs, nodes: NDArray[np.int64], similar: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the number of edges between the nodes similar to one node of each pair and the other node."""
        total = np.zeros(len(pairs))
        for u, v in (pairs.T, pairs.T[::-1]):
            nearest = similar[np.searchsorted(nodes, u)]
            total += np.count_nonzero(_contains(self._keys, nearest * self.graph.n_nodes + v[:, None]), axis=1)
        return total


def placements(high: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each high value, the share of the low values below it, ties counting half; their mean is the AUC.

    Examples
    --------
    >>> placements(np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    array([0.75, 1.  ])
    """
    ordered = np.sort(low)
    below, not_above = (np.searchsorted(ordered, high, side=side) for side in ("left", "right"))
    return np.asarray((below + not_above) / (2 * len(low)))


def matched_non_edges(graph: Graph, edges: NodePairs, rng: np.random.Generator) -> tuple[NodePairs, NodePairs]:
    """Replace one node of each edge by a node with about the same degree, so that the pair is not connected.

    Returns
    -------
    edges, others : ndarray of shape (m, 2)
        Without the edges for which no such node was found.
    """
    n, keys = graph.n_nodes, _edge_keys(graph)
    by_degree = np.argsort(np.diff(graph.adjacency.indptr), kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[by_degree] = np.arange(n)
    width = max(5, round(DEGREE_RANKS * n))
    kept, replaced = np.where(rng.random(len(edges))[:, None] < 0.5, edges, edges[:, ::-1]).T  # noqa: PLR2004
    found = np.full(len(edges), -1)
    for _ in range(MAX_DRAWS):
        left = np.flatnonzero(found < 0)
        if not len(left):
            break
        drawn = by_degree[np.clip(rank[replaced[left]] + rng.integers(-width, width + 1, len(left)), 0, n - 1)]
        free = (drawn != kept[left]) & ~_contains(keys, kept[left] * n + drawn)
        found[left[free]] = drawn[free]
    usable = found >= 0
    return edges[usable], np.column_stack([kept[usable], found[usable]])


def _hidden_count(graph: Graph) -> int:
    """Return the number of edges to hide, without which the components remain connected."""
    edges = graph.n_edges - graph.n_self_loops
    spare = edges - (graph.n_nodes - graph.n_components)
    count = min(round(HIDDEN * edges), spare)
    free = graph.n_nodes * (graph.n_nodes - 1) // 2 - edges
    if min(count, free) < FEWEST_HIDDEN:
        raise GraphError(
            f"tuning without labels hides {HIDDEN:.0%} of the edges, at least {FEWEST_HIDDEN}, and compares them with "
            f"as many pairs that are not connected; this graph has {edges} edges, of which {spare} can be hidden "
            f"without disconnecting it, and {free} other pairs: use BoostNE() as it is, or pass labels"
        )
    return min(count, free)


def _edge_keys(graph: Graph) -> NDArray[np.int64]:
    """Return the sorted numbers ``u n + v`` of the connected pairs, in both directions."""
    matrix = graph.adjacency
    rows = np.repeat(np.arange(graph.n_nodes, dtype=np.int64), np.diff(matrix.indptr))
    return np.sort(rows * graph.n_nodes + matrix.indices)


def _contains(keys: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values are among the sorted keys."""
    positions = np.minimum(np.searchsorted(keys, values), len(keys) - 1)
    return np.asarray(keys[positions] == values)
