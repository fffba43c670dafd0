"""Propagation: the vector of each node is averaged with those of its neighbors."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.embedding import Embedding
from boostne.errors import GraphError, ParameterError
from boostne.graph import Graph
from boostne.interop import as_graph
from boostne.kernels import get_kernels
from boostne.kernels.layout import aligned_empty, tile_width
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.node_ids import format_ids, lookup_ids
from boostne.validation import check_integer, check_number

# In directed graphs: the weight of a node's own vector of the other kind, in units of the mean edge weight, and steps.
DIRECTED_LOOP = 0.4
DIRECTED_STEPS = 6


# Columns of vectors gathered from other nodes at a time: whole cache lines, and little memory.
GATHERED = 32

NeighborColumns = Callable[[slice], NDArray[Any]]


def propagate(
    graph: Any, embedding: Embedding, *, neighbor_weight: float = 0.6, steps: int = 1, threads: int | None = None
) -> Embedding:
    """Average the vector of each node with those of its neighbors.

    With A the adjacency matrix, D the degrees and c the mean edge weight, each step replaces the vectors E by

    ``(1 - w) E + w S E``,  where  ``S = (D + c I)^-1/2 (A + c I) (D + c I)^-1/2``.

    Columns are not mixed, so that levels remain levels. Non-negative vectors stay non-negative, and those of nodes
    without edges do not change. Multiplying all edge weights by a constant changes nothing.

    Parameters
    ----------
    graph : Graph, or anything that :func:`boostne.as_graph` accepts
        Undirected.
    embedding : Embedding
        Vectors of the nodes of the graph by any method, in any order.
    neighbor_weight : float, default=0.6
        w, from 0, which changes nothing, to 1.
    steps : int, default=1
        Number of steps. One is usually best; several, as four with a weight of 0.9, if the vectors come from a pruned
        matrix, as those of large graphs do.
    threads : int, optional
        Number of threads; all cores by default. The result has the same bits for any number.

    Returns
    -------
    Embedding
        With the nodes in the order of ``embedding``, and its levels and dtype; without target vectors.

    Notes
    -----
    ProNE propagates vectors by a band-pass filter of the random walk, a polynomial that takes about 20 products with
    the adjacency matrix; this average takes one.

    References
    ----------
    J. Zhang, Y. Dong, Y. Wang, J. Tang, M. Ding: "ProNE: Fast and Scalable Network Representation Learning",
    IJCAI 2019.

    Examples
    --------
    >>> path = Graph.from_edges(["a", "b"], ["b", "c"])
    >>> embedding = Embedding(["a", "b", "c"], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    >>> propagate(path, embedding, neighbor_weight=0.5)["b"].round(3)
    array([0.204, 0.204])
    """
    if not isinstance(embedding, Embedding):
        raise ParameterError(
            f"the vectors to propagate must be an Embedding, got {type(embedding).__name__}: pass "
            "Embedding(nodes, vectors), with the node id of each row"
        )
    network = as_graph(graph)
    if network.directed:
        raise GraphError(
            "vectors are propagated along undirected edges; the graph is directed: pass as_graph(graph).to_undirected()"
        )
    check_weight("neighbor_weight", neighbor_weight)
    check_integer("steps", steps, 1)
    if threads is not None:
        check_integer("threads", threads, 1)
    rows = _rows_of_nodes(network, embedding)
    vectors = embedding.vectors.copy()
    propagate_in_place(network, vectors, neighbor_weight, steps, threads, rows)
    return Embedding(embedding.nodes, vectors, embedding.levels)


def check_weight(name: str, weight: Any) -> None:
    """Raise ParameterError unless the weight of the neighbors is a number from 0 to 1."""
    if check_number(name, weight, 0) > 1:
        raise ParameterError(f"{name} must be a number from 0 to 1, got {weight!r}")


def propagate_in_place(
    graph: Graph, vectors: NDArray[Any], weight: float, steps: int, threads: int | None, rows: Any = slice(None)
) -> None:
    """Propagate vectors, a few columns at a time; ``rows`` are those of the nodes, by default in the graph's order.

    With ``F = (D + c I)^-1/2 E``, a step is ``F_i = (1 - w d_i / (d_i + c)) F_i + w / (d_i + c) (A F)_i``.
    """
    if weight == 0:
        return
    graph, _ = graph.rescaled()
    kernels = get_kernels(threads=threads)
    A, degrees = ShardedCSR.from_csr(graph.adjacency, copy=False), graph.degrees.astype(np.float64)
    neighbors = weight / (degrees + _loop_weight(graph))
    own = 1 - neighbors * degrees
    # Nodes without edges keep their bits.
    root = np.where(degrees > 0, np.sqrt(neighbors), 1)[:, None]
    width = tile_width(np.float64)
    block, averages = (aligned_empty((graph.n_nodes, width), np.dtype(np.float64)) for _ in range(2))
    block[:] = 0  # columns beyond the last
    for first in range(0, vectors.shape[1], width):
        columns = slice(first, first + width)
        found = vectors[rows, columns]
        used = slice(found.shape[1])
        np.multiply(found, root, out=block[:, used])
        for _ in range(steps):
            kernels.average(A, own, neighbors, block, averages)
            block, averages = averages, block
        block /= root
        vectors[rows, columns] = block[:, used]


def propagate_directed(
    graph: Graph, sources: NDArray[Any], targets: NDArray[Any], weight: float, threads: int | None
) -> None:
    """Average source vectors with the target vectors that their edges lead to, and vice versa, in place.

    Nodes as sources and nodes as targets are the two sides of a bipartite graph, in which the edges of the directed
    graph are joined by one between both sides of each node, with weight c = 0.4 times the mean edge weight. With
    ``N = (D + c I)^-1/2 (A + c I) (E + c I)^-1/2``, where D and E have the out- and in-degrees, each step replaces the
    source vectors U and the target vectors V by

    ``(1 - w) U + w N V``  and  ``(1 - w) V + w N^T U``.
    """
    graph, _ = graph.rescaled()
    A, loop = graph.adjacency, DIRECTED_LOOP * _loop_weight(graph)
    kernels, width = get_kernels(threads=threads), tile_width(np.float64)
    forward, backward = (ShardedCSR.from_csr(matrix, copy=False) for matrix in (A, A.T.tocsr()))
    left, right = (1 / np.sqrt(np.asarray(A.sum(axis=axis, dtype=np.float64)) + loop)[:, None] for axis in (1, 0))
    for first in range(0, sources.shape[1], width):
        columns = slice(first, first + width)
        U, V = sources[:, columns].astype(np.float64), targets[:, columns].astype(np.float64)
        for _ in range(DIRECTED_STEPS):
            scaled_u, scaled_v = left * U, right * V
            U = (1 - weight) * U + weight * left * (kernels.product(forward, scaled_v) + loop * scaled_v)
            V = (1 - weight) * V + weight * right * (kernels.product(backward, scaled_u) + loop * scaled_u)
        sources[:, columns], targets[:, columns] = U, V


def propagate_to_last(
    graph: Graph,
    last: NDArray[Any],
    others: Callable[[NDArray[np.int64]], NeighborColumns],
    weight: float,
    steps: int,
    threads: int | None,
) -> None:
    """Propagate to the last nodes of a graph only, in place; the vectors of the others stay as they are.

    Parameters
    ----------
    graph : Graph
    last : ndarray
        Vectors of the last nodes.
    others : callable
        ``others(nodes)(columns)`` returns some columns of the vectors of other nodes, by their positions.
    weight, steps, threads
        As for :func:`propagate`.
    """
    graph, _ = graph.rescaled()
    first = graph.n_nodes - len(last)
    rows = graph.adjacency[first:]
    among, beyond = rows[:, first:], rows[:, :first]
    reached, compact = np.unique(beyond.indices, return_inverse=True)
    shape = (len(last), len(reached))
    beyond = sparse.csr_array((beyond.data, compact.astype(np.int32), beyond.indptr), shape=shape)
    to_last, to_others = (ShardedCSR.from_csr(matrix, copy=False) for matrix in (among, beyond))
    loop = _loop_weight(graph)
    root, root_last = (1 / np.sqrt(graph.degrees[at] + loop)[:, None] for at in (reached, slice(first, None)))
    kernels, neighbors, width = get_kernels(threads=threads), others(reached), tile_width(np.float64)
    for first_column in range(0, last.shape[1], GATHERED):
        gathered = neighbors(slice(first_column, first_column + GATHERED))
        for begin in range(0, gathered.shape[1], width):
            columns = slice(first_column + begin, first_column + min(begin + width, gathered.shape[1]))
            own = last[:, columns].astype(np.float64)
            from_others = kernels.product(to_others, root * gathered[:, begin : begin + width])
            for _ in range(steps):
                sums = kernels.product(to_last, root_last * own)
                own = _average(sums + from_others, own, root_last, loop, weight)
            last[:, columns] = own


def _average(
    sums: NDArray[np.float64], block: NDArray[np.float64], root: NDArray[np.float64], loop: float, weight: float
) -> NDArray[np.float64]:
    """Return the average of vectors with those of their neighbors, given the sums of the latter; overwrites them."""
    sums += loop * (root * block)
    sums *= weight * root
    return sums + (1 - weight) * block


def _loop_weight(graph: Graph) -> float:
    """Return the weight c of the loop that each node gets."""
    return float(graph.adjacency.data.mean(dtype=np.float64)) if graph.adjacency.nnz else 1.0


def _rows_of_nodes(graph: Graph, embedding: Embedding) -> NDArray[np.int64]:
    """Return the row of each node of the graph; raise ParameterError unless both have the same nodes."""
    rows = lookup_ids(embedding.nodes, graph.nodes)
    missing = rows < 0
    if missing.any() or len(embedding) != graph.n_nodes:
        extra = np.ones(len(embedding), dtype=bool)
        extra[rows[~missing]] = False
        differences = [
            f"{name}: {format_ids(ids)}"
            for name, ids in (
                ("only in the graph", graph.nodes[missing]),
                ("only in the embedding", embedding.nodes[extra]),
            )
            if len(ids)
        ]
        raise ParameterError(f"the graph and the embedding must have the same nodes; {'; '.join(differences)}")
    return rows
