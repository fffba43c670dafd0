"""How settings are compared without labels: by hidden edges.

A tenth of the edges is hidden before the graph is embedded. For both nodes u of a hidden edge (u, v), another node w of
about the same degree as v is drawn that is not connected with u, and the cosine of u and v is compared with that of u
and w. The score is the share of comparisons in which the hidden neighbor is more similar.

Both cosines of a comparison are of the same node u. The usual AUC of all hidden edges against all other pairs also
compares edges of different nodes, and so depends on how the cosines of hubs differ from those of other nodes. In
networks of words it prefers long walks, which are worst there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from boostne.errors import GraphError
from boostne.evaluation.link_split import NodePairs, split
from boostne.graph import Graph
from boostne.refinement.tuning_criterion import Score

HIDDEN = 0.1  # share of the edges
FEWEST_HIDDEN = 5
# Hidden edges that are scored in the last rung, the one before, and so on, at most.
MAX_EDGES = (20_000, 10_000, 5_000)
DEGREE_RANKS = 0.01  # share of the nodes, sorted by degree, on either side of the one to replace
MIN_RANKS = 5
MAX_DRAWS = 100


class LinkCriterion:
    """Share of hidden edges whose nodes are more similar than a node of the edge and one that is not connected."""

    name = "hidden edges ranked first"
    lengths_matter = False

    def __init__(self, graph: Graph, seed: int) -> None:
        rng = np.random.default_rng([seed, 2])
        parts = split(graph, _hidden_count(graph), rng)
        self.graph = parts.training
        edges = rng.permutation(parts.edges)[: MAX_EDGES[0]]
        self._comparisons = [(*pairs.T, unconnected(graph, pairs, rng)) for pairs in (edges, edges[:, ::-1])]

    def score(self, vectors: NDArray[Any], length: float, rung: int) -> Score:  # noqa: ARG002
        """Return the score; see :class:`~boostne.refinement.tuning_criterion.Criterion`."""
        unit = normalize(vectors)
        won = []
        for nodes, neighbors, others in self._comparisons:
            used = slice(MAX_EDGES[rung])
            of_nodes = unit[nodes[used]]
            hidden, drawn = (
                np.einsum("ij,ij->i", of_nodes, unit[ends[used]], dtype=np.float64) for ends in (neighbors, others)
            )
            # Where no other node was found, its number is -1.
            won.append(np.where(others[used] < 0, 0.5, (hidden > drawn) + (hidden == drawn) / 2))
        parts = np.mean(won, axis=0)
        return Score(parts / len(parts))


def unconnected(graph: Graph, pairs: NodePairs, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a node of about the same degree as the second of each pair, and not connected with the first.

    Returns
    -------
    ndarray of shape (m,)
        -1 for a pair for which no such node was found.
    """
    n, keys = graph.n_nodes, _edge_keys(graph)
    by_degree = np.argsort(np.diff(graph.adjacency.indptr), kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[by_degree] = np.arange(n)
    width = max(MIN_RANKS, round(DEGREE_RANKS * n))
    nodes, replaced = pairs.T
    found = np.full(len(pairs), -1)
    for _ in range(MAX_DRAWS):
        left = np.flatnonzero(found < 0)
        if not len(left):
            break
        shift = rng.integers(-width, width + 1, len(left))
        drawn = by_degree[np.clip(rank[replaced[left]] + shift, 0, n - 1)]
        free = (drawn != nodes[left]) & ~_contains(keys, nodes[left] * n + drawn)
        found[left[free]] = drawn[free]
    return found


def _hidden_count(graph: Graph) -> int:
    """Return the number of edges to hide, without which the components remain connected."""
    edges = graph.n_edges - graph.n_self_loops
    spare = edges - (graph.n_nodes - graph.n_components)
    count = min(round(HIDDEN * edges), spare)
    free = graph.n_nodes * (graph.n_nodes - 1) // 2 - edges
    if min(count, free) < FEWEST_HIDDEN:
        raise GraphError(
            f"tuning without labels hides {HIDDEN:.0%} of the edges, at least {FEWEST_HIDDEN}, and compares them with "
            f"pairs that are not connected; this graph has {edges} edges, of which {spare} can be hidden without "
            f"disconnecting it, and {free} other pairs: use BoostNE() as it is, or pass labels"
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
