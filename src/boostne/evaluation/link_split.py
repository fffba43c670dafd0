"""Train/test splits for link prediction: held-out edges and sampled non-edges."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.errors import GraphError, ParameterError
from boostne.graph import Graph
from boostne.interop import as_graph
from boostne.validation import check_integer

NodePairs = NDArray[np.int64]


class LinkSplit(NamedTuple):
    """A training graph, its held-out edges, and as many non-edges.

    Attributes
    ----------
    training : Graph
        All nodes in their original order, and the edges that were not held out.
    edges, non_edges : int64 arrays of shape (m, 2)
        Row indices of both nodes in ``training``, the smaller first, or in a directed graph the source first;
        ``training.nodes[edges]`` are their ids.

    Examples
    --------
    >>> import boostne
    >>> split = split_links(boostne.load_dataset("karate").graph)
    >>> split.training.n_edges, split.edges.shape, split.non_edges.shape
    (62, (16, 2), (16, 2))
    """

    training: Graph
    edges: NodePairs
    non_edges: NodePairs


def split_links(graph: Any, *, test: float = 0.2, seed: int = 0) -> LinkSplit:
    """Hold out a fraction of the edges of a graph and sample as many non-edges.

    A random spanning forest stays in the training graph, so it has the same components as the whole graph and no
    node loses its last edge. The test edges are drawn uniformly from the remaining edges. The non-edges are drawn
    uniformly without replacement from the pairs of distinct nodes that are not connected in the *whole* graph.

    In a directed graph, pairs of nodes are held out as if it were undirected, with the edges of both directions: an
    edge is no secret if its reverse is in the training graph. Of a pair with both edges, one at random is a test edge.
    The direction of a non-edge is random, too.

    Parameters
    ----------
    graph : Graph, or anything that :func:`boostne.as_graph` accepts
        Weights are kept; self-loops stay in the training graph and are never sampled.
    test : float, default 0.2
        Fraction of the edges to hold out, between 0 and 1.
    seed : int, default 0

    Returns
    -------
    LinkSplit
        ``(training, edges, non_edges)``, equal to the first split of :func:`evaluate_links` with the same `seed`.

    Notes
    -----
    Bridges are never held out. In a graph that is almost a tree, the test edges are therefore not a
    representative sample of all edges.

    Examples
    --------
    >>> from boostne import load_dataset
    >>> training, edges, non_edges = split_links(load_dataset("karate").graph)
    >>> training
    Graph(34 nodes, 62 edges, undirected, unweighted)
    >>> edges.shape, non_edges.shape, training.n_components
    ((16, 2), (16, 2), 1)
    """
    check_integer("seed", seed, 0, maximum=None)
    network = as_graph(graph)
    count = held_out_count(network, test)
    return split(network, count, np.random.default_rng([seed, 0]))


def held_out_count(graph: Graph, test: float) -> int:
    """Return the number of edges to hold out; raise if there are too few spare edges or non-edges.

    Edges of both directions between two nodes count as one.
    """
    graph = graph.to_undirected()
    if not 0 < test < 1:
        hint = f"; for {test:g} % pass {test / 100:g}" if 1 < test < 100 else ""  # noqa: PLR2004 (percent)
        raise ParameterError(f"test must be a fraction strictly between 0 and 1, got {test!r}{hint}")
    n, edges = graph.n_nodes, graph.n_edges - graph.n_self_loops
    spare = edges - (n - graph.n_components)
    count = round(test * edges)
    if not count:
        raise GraphError(f"test={test:g} of {edges} edges is less than one edge: use a larger fraction or graph")
    if count > spare:
        most = f": test can be at most {np.floor(1e6 * spare / edges) / 1e6:g}" if spare else ": it is a forest"
        raise GraphError(
            f"test={test:g} of {edges} edges requires {count}, but only {spare} can be held out of this graph "
            f"without disconnecting a component{most}"
        )
    free = n * (n - 1) // 2 - edges
    if count > free:
        raise GraphError(
            f"test={test:g} requires {count} non-edges, but only {free} pairs of the {n} nodes are not connected; "
            "use a smaller fraction or a sparser graph"
        )
    return count


def split(graph: Graph, count: int, rng: np.random.Generator) -> LinkSplit:
    """Hold out `count` edges and sample as many non-edges."""
    pairs = graph.to_undirected()
    edges, weights = edges_of(pairs)
    spare = np.flatnonzero(~_spanning_forest(edges, graph.n_nodes, rng))
    out = np.zeros(len(edges), dtype=bool)
    out[rng.choice(spare, count, replace=False)] = True
    non_edges = draw_non_edges(graph.n_nodes, edges, count, rng)
    if graph.directed:
        held_out = edges[out]
        turned = _choose_directions(graph, held_out, rng)
        at_random = _turned(non_edges, rng.random(count) < 0.5)  # noqa: PLR2004  (both directions alike)
        return LinkSplit(_without_pairs(graph, held_out), turned, at_random)
    loops = np.flatnonzero(graph.adjacency.diagonal())
    kept = np.concatenate([edges[~out], np.column_stack([loops, loops])])
    training = Graph.from_indices(
        graph.nodes,
        kept[:, 0],
        kept[:, 1],
        np.concatenate([weights[~out], graph.adjacency.diagonal()[loops]]),
        self_loops="keep",
    )
    return LinkSplit(training, edges[out], non_edges)


def directed_edges(graph: Graph) -> NodePairs:
    """Return the edges of a directed graph other than self-loops, the source first."""
    A = graph.adjacency.tocoo()
    edges: NodePairs = np.column_stack([A.row, A.col])[A.row != A.col].astype(np.int64)
    return edges


def has_edges(graph: Graph, pairs: NodePairs) -> NDArray[np.bool_]:
    """Return which pairs (u, v) are edges from u to v."""
    return np.asarray(graph.adjacency[pairs[:, 0], pairs[:, 1]]).ravel() > 0


def _choose_directions(graph: Graph, pairs: NodePairs, rng: np.random.Generator) -> NodePairs:
    """Return one edge between the nodes of each pair; if there are two, one at random."""
    forward, backward = has_edges(graph, pairs), has_edges(graph, pairs[:, ::-1])
    return _turned(pairs, backward & (~forward | (rng.random(len(pairs)) < 0.5)))  # noqa: PLR2004


def _turned(pairs: NodePairs, chosen: NDArray[np.bool_]) -> NodePairs:
    return np.where(chosen[:, None], pairs[:, ::-1], pairs)


def _without_pairs(graph: Graph, pairs: NodePairs) -> Graph:
    """Return a directed graph without the edges of both directions between the nodes of some pairs."""
    A, n = graph.adjacency.tocoo(), graph.n_nodes
    smaller, larger = (np.asarray(end, dtype=np.int64) for end in (np.minimum(A.row, A.col), np.maximum(A.row, A.col)))
    kept = ~np.isin(smaller * n + larger, pairs[:, 0] * n + pairs[:, 1])
    ends = (A.row[kept].astype(np.int64), A.col[kept].astype(np.int64))
    return Graph.from_indices(graph.nodes, *ends, A.data[kept], directed=True, self_loops="keep")


def edges_of(graph: Graph) -> tuple[NodePairs, NDArray[Any]]:
    """Return the edges other than self-loops, each once with the smaller row first, and their weights."""
    from scipy import sparse

    upper: sparse.coo_array = sparse.triu(graph.adjacency, k=1, format="coo")
    return np.column_stack([upper.row, upper.col]).astype(np.int64), upper.data


def _spanning_forest(edges: NodePairs, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mark the edges of a random spanning forest: the minimum spanning forest for random weights."""
    from scipy import sparse
    from scipy.sparse.csgraph import minimum_spanning_tree

    order = rng.permutation(len(edges))
    u, v = edges.astype(np.int32).T  # csgraph requires int32 indices
    weights = sparse.csr_array((order + 1.0, (u, v)), shape=(n, n))
    chosen = np.zeros(len(edges), dtype=bool)
    chosen[minimum_spanning_tree(weights).data.astype(np.int64) - 1] = True
    return chosen[order]


def draw_non_edges(n: int, taken: NodePairs, count: int, rng: np.random.Generator) -> NodePairs:
    """Draw pairs of distinct nodes uniformly without replacement, excluding `taken` pairs.

    The pairs u < v are numbered ``v (v - 1) / 2 + u``. The r-th free number is found by counting the taken numbers
    below it, so no draw is rejected, even if almost every pair is taken, and memory is linear in the number of
    taken and drawn pairs.

    Examples
    --------
    >>> taken = np.array([[0, 1], [0, 2], [1, 3], [2, 3]])
    >>> sorted(draw_non_edges(4, taken, 2, np.random.default_rng(0)).tolist())
    [[0, 3], [1, 2]]
    """
    numbers = np.sort(taken[:, 1] * (taken[:, 1] - 1) // 2 + taken[:, 0])
    free = n * (n - 1) // 2 - len(numbers)
    rank = rng.choice(free, count, replace=False)
    # There are numbers[i] - i free numbers below the i-th taken one.
    drawn = rank + np.searchsorted(numbers - np.arange(len(numbers)), rank, side="right")
    v = ((1 + np.sqrt(1 + 8.0 * drawn)) / 2).astype(np.int64)
    # Near the end of a row the root may round up to the next row; below 2^31 nodes it never rounds down.
    v -= v * (v - 1) // 2 > drawn
    return np.column_stack([drawn - v * (v - 1) // 2, v])
