"""Random walks over a whole graph, in chunks that fit beside it: what skip-gram methods learn from."""

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
    """Walk ``walks`` times from every node that an edge leaves.

    Each round starts once at every such node, in an order of its own. What comes depends on the graph, the
    parameters and the seed alone, not on the kernels or their threads.

    Parameters
    ----------
    graph : Graph
        Weights and direction count; "near" in a directed graph means that an edge leads there from the node before.
    walks : int
        Walks for each node.
    length : int
        Nodes of a walk, the first one included.
    p, q : float, default=1.0
        node2vec's return and in-out parameters; see :meth:`boostne.kernels.Kernels.random_walks`.
    seed : int, default=0
        At least 0.
    kernels : Kernels, optional
        By default the fastest there are.

    Returns
    -------
    iterator of int32 arrays of shape (at most 64 MB, length)
        Positions in ``graph.nodes``, a walk in each row; -1 after the end of a walk that found no way out.

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
    check_integer("seed", seed, 0)
    return _chunks(graph, walks, length, p, q, seed, kernels or get_kernels())


def _chunks(
    graph: Graph, walks: int, length: int, p: float, q: float, seed: int, kernels: Kernels
) -> Iterator[NDArray[np.int32]]:
    A = graph.adjacency
    arrays = WalkGraph(A.indptr.astype(np.int64), A.indices.astype(np.int32), cumulative_weights(graph))
    nodes = np.flatnonzero(np.diff(arrays.indptr)).astype(np.int32)
    rows = max(1, CHUNK_BYTES // (length * np.dtype(np.int32).itemsize))
    for turn in range(walks):
        order = np.random.default_rng([seed, turn]).permutation(nodes)
        for at in range(0, len(order), rows):
            first = turn * len(nodes) + at
            starts = order[at : at + rows]
            yield kernels.random_walks(arrays, starts, length, p=p, q=q, seed=seed, first=first)


def cumulative_weights(graph: Graph) -> NDArray[np.float64] | None:
    """Return, in each row, the sums of its weights up to and with each edge; None where all weights are 1."""
    if not graph.weighted:
        return None
    A = graph.adjacency
    sums = np.empty(A.nnz)
    # Row by row: differences of one sum over all rows would lose the small weights.
    for begin, end in pairwise(A.indptr):
        np.cumsum(A.data[begin:end], dtype=np.float64, out=sums[begin:end])
    return sums
