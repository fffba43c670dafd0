"""Random walks from all nodes of a graph, generated in chunks of bounded size."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from boostne.graph import Graph
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.csr_graph import WalkGraph
from boostne.validation import check_integer, check_number

CHUNK_BYTES = 1 << 26


def walk_chunks(
    graph: Graph,
    *,
    walks: int,
    length: int,
    p: float = 1.0,
    q: float = 1.0,
    seed: int = 0,
    kernels: Kernels | None = None,
) -> Iterator[NDArray[np.int32]]:
    """Generate ``walks`` random walks from every node with outgoing edges.

    Each round of walks visits the start nodes in a new random order. The result depends only on the graph, the
    parameters and the seed, not on the kernels or the number of threads.

    Parameters
    ----------
    graph : Graph
        Walks follow the direction of edges and choose them in proportion to their weights. In a directed graph
        node2vec's distance 1 means that an edge leads there from the previous node.
    walks : int
        Number of walks from each node.
    length : int
        Number of nodes in a walk, including the first.
    p, q : float, default=1.0
        node2vec's return and in-out parameters; see :meth:`boostne.kernels.Kernels.random_walks`.
    seed : int, default=0
        Non-negative.
    kernels : Kernels, optional
        By default the fastest kernels available.

    Returns
    -------
    iterator of int32 arrays of shape (n_walks, length)
        Positions in ``graph.nodes``, one walk per row, at most 64 MB each. Walks that end early, at a node without
        outgoing edges, are padded with -1.

    Examples
    --------
    >>> triangle = Graph.from_edges("abc", "bca")
    >>> [chunk.shape for chunk in walk_chunks(triangle, walks=2, length=5)]
    [(3, 5), (3, 5)]
    """
    check_integer("walks", walks, 1)
    check_integer("length", length, 1)
    check_number("p", p, 0, strict=True)
    check_number("q", q, 0, strict=True)
    check_integer("seed", seed, 0, maximum=None)
    return _chunks(graph, walks, length, p, q, seed, kernels or get_kernels())


def _chunks(
    graph: Graph, walks: int, length: int, p: float, q: float, seed: int, kernels: Kernels
) -> Iterator[NDArray[np.int32]]:
    A = graph.adjacency
    arrays = WalkGraph(A.indptr.astype(np.int64), A.indices.astype(np.int32), cumulative_weights(graph))
    nodes = np.flatnonzero(np.diff(arrays.indptr)).astype(np.int32)
    chunk_rows = max(1, CHUNK_BYTES // (length * np.dtype(np.int32).itemsize))
    for round_number in range(walks):
        order = np.random.default_rng([seed, round_number]).permutation(nodes)
        for offset in range(0, len(order), chunk_rows):
            first = round_number * len(nodes) + offset
            starts = order[offset : offset + chunk_rows]
            yield kernels.random_walks(arrays, starts, length, p=p, q=q, seed=seed, first=first)


def cumulative_weights(graph: Graph) -> NDArray[np.float64] | None:
    """Return the cumulative sums of the weights within each row, or None if the graph is unweighted."""
    if not graph.weighted:
        return None
    A = graph.adjacency
    sums = np.empty(A.nnz)
    # One sum per row: differences of a single running sum would lose small weights to rounding.
    for begin, end in pairwise(A.indptr):
        np.cumsum(A.data[begin:end], dtype=np.float64, out=sums[begin:end])
    return sums
