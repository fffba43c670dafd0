"""Edges held out of a graph, and pairs that are no edges: what link prediction is tested on."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.errors import GraphError, ParameterError
from boostne.evaluation.result import check_repeats
from boostne.graph import Graph
from boostne.interop import as_graph

Pairs = NDArray[np.int64]


class LinkSplit(NamedTuple):
    """A graph without some of its edges, those edges, and as many pairs that are none.

    Attributes
    ----------
    training : Graph
        All nodes in their order, and the edges that were not held out.
    edges, non_edges : int64 arrays of shape (m, 2)
        Rows of the two nodes in ``training``, the smaller first; ``training.nodes[edges]`` are their ids.
    """

    training: Graph
    edges: Pairs
    non_edges: Pairs


def split_links(graph: Any, *, test: float = 0.2, seed: int = 0) -> LinkSplit:
    """Hold out some edges of a graph, and draw as many pairs of nodes that are no edges.

    A random spanning forest stays in the training graph, so that it has the components of the whole graph and
    no node loses its last edge. The test edges are drawn uniformly among the others. The non-edges are drawn
    uniformly, without repetition, among the pairs of different nodes that are no edge of the *whole* graph.

    Parameters
    ----------
    graph : Graph, or anything that :func:`boostne.as_graph` takes
        Undirected. Weights stay; self-loops stay in the training graph and are never drawn.
    test : float, default 0.2
        Share of the edges to hold out, between 0 and 1.
    seed : int, default 0

    Returns
    -------
    LinkSplit
        ``(training, edges, non_edges)``; the first split of :func:`evaluate_links` with the same `seed`.

    Notes
    -----
    An edge whose removal would cut its component is never held out. In a graph that is almost a tree the test
    edges are therefore no fair sample of all edges.

    Examples
    --------
    >>> from boostne import load_dataset
    >>> training, edges, non_edges = split_links(load_dataset("karate").graph)
    >>> training
    Graph(34 nodes, 62 edges, undirected, unweighted)
    >>> edges.shape, non_edges.shape, training.n_components
    ((16, 2), (16, 2), 1)
    """
    check_repeats(1, seed)
    network = undirected(graph)
    count = held_out_count(network, test)
    return split(network, count, np.random.default_rng([seed, 0]))


def undirected(graph: Any) -> Graph:
    """Return the graph, unless it has a direction."""
    network = as_graph(graph)
    if network.directed:
        raise GraphError(
            "links are predicted in undirected graphs and this one is directed; call to_undirected() on it"
        )
    return network


def held_out_count(graph: Graph, test: float) -> int:
    """Return the number of edges to hold out, after checking that they and their non-edges are there."""
    if not 0 < test < 1:
        hint = f"; for {test:g} % give {test / 100:g}" if 1 < test < 100 else ""  # noqa: PLR2004 (per cent)
        raise ParameterError(f"test must be a share between 0 and 1 (both excluded), got {test!r}{hint}")
    n, edges = graph.n_nodes, graph.n_edges - graph.n_self_loops
    spare = edges - (n - graph.n_components)
    count = round(test * edges)
    if not count:
        raise GraphError(
            f"test={test:g} of {edges} edges is less than one edge: give a larger share or graph"
        )
    if count > spare:
        most = f": give test={np.floor(1e6 * spare / edges) / 1e6:g} at most" if spare else ": it is a forest"
        raise GraphError(
            f"test={test:g} of {edges} edges asks for {count}, but only {spare} can be held out of this graph "
            f"without cutting a component{most}"
        )
    free = n * (n - 1) // 2 - edges
    if count > free:
        raise GraphError(
            f"test={test:g} asks for {count} non-edges, but only {free} pairs of the {n} nodes are no edge; "
            "give a smaller share, or a sparser graph"
        )
    return count


def split(graph: Graph, count: int, rng: np.random.Generator) -> LinkSplit:
    """Hold out `count` edges and draw as many non-edges."""
    edges, weights = edges_of(graph)
    spare = np.flatnonzero(~_spanning_forest(edges, graph.n_nodes, rng))
    out = np.zeros(len(edges), dtype=bool)
    out[rng.choice(spare, count, replace=False)] = True
    loops = np.flatnonzero(graph.adjacency.diagonal())
    kept = np.concatenate([edges[~out], np.column_stack([loops, loops])])
    training = Graph.from_indices(
        graph.nodes,
        kept[:, 0],
        kept[:, 1],
        np.concatenate([weights[~out], graph.adjacency.diagonal()[loops]]),
        self_loops="keep",
    )
    return LinkSplit(training, edges[out], draw_non_edges(graph.n_nodes, edges, count, rng))


def edges_of(graph: Graph) -> tuple[Pairs, NDArray[Any]]:
    """Return the edges between different nodes, each once with the smaller row first, and their weights."""
    from scipy import sparse

    upper: sparse.coo_array = sparse.triu(graph.adjacency, k=1, format="coo")
    return np.column_stack([upper.row, upper.col]).astype(np.int64), upper.data


def _spanning_forest(edges: Pairs, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mark the edges of a random spanning forest: the lightest one, for weights in random order."""
    from scipy import sparse
    from scipy.sparse.csgraph import minimum_spanning_tree

    order = rng.permutation(len(edges))
    u, v = edges.astype(np.int32).T  # csgraph knows no other index
    weights = sparse.csr_array((order + 1.0, (u, v)), shape=(n, n))
    chosen = np.zeros(len(edges), dtype=bool)
    chosen[minimum_spanning_tree(weights).data.astype(np.int64) - 1] = True
    return chosen[order]


def draw_non_edges(n: int, taken: Pairs, count: int, rng: np.random.Generator) -> Pairs:
    """Draw pairs of different nodes uniformly, without repetition, among those that are not taken.

    The pairs u < v are numbered ``v (v - 1) / 2 + u``. The r-th free number is found by counting the taken ones
    below it; so nothing is drawn in vain, even where almost every pair is taken, and memory grows with the
    pairs taken and drawn alone.

    Examples
    --------
    >>> taken = np.array([[0, 1], [0, 2], [1, 3], [2, 3]])
    >>> sorted(draw_non_edges(4, taken, 2, np.random.default_rng(0)).tolist())
    [[0, 3], [1, 2]]
    """
    numbers = np.sort(taken[:, 1] * (taken[:, 1] - 1) // 2 + taken[:, 0])
    free = n * (n - 1) // 2 - len(numbers)
    rank = rng.choice(free, count, replace=False)
    # numbers[i] - i free numbers lie below the i-th taken one.
    drawn = rank + np.searchsorted(numbers - np.arange(len(numbers)), rank, side="right")
    v = ((1 + np.sqrt(1 + 8.0 * drawn)) / 2).astype(np.int64)
    # Near the end of a row the root is rounded up; for less than 2^31 nodes it is never rounded below its row.
    v -= v * (v - 1) // 2 > drawn
    return np.column_stack([drawn - v * (v - 1) // 2, v])
