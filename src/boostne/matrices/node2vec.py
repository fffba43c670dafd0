"""node2vec's connectivity matrix in closed form: DeepWalk's for walks that remember the node before.

A second-order walk is a Markov chain over directed edges: having come from t to v, it is at the edge (t, v), and goes
on to an edge (v, x) with a chance in proportion to ``A_vx``, times 1/p if x = t, 1 if t and x are neighbors, and 1/q
otherwise. With Y its stationary distribution and P^r the chances of r of its steps,

``X_wc = log max( (1/2T) Σ_{r=1..T} ( Σ_u Y_wu P^r_cwu + Σ_u Y_cu P^r_wcu ) / ( b · Σ_u Y_wu · Σ_u Y_cu ) , 1 )``

where ``Y_wu`` belongs to a walk at w that came from u and ``P^r_cwu`` is its chance to be at c after r more steps:
section III.A of the paper, after Qiu et al., "Network Embedding as Matrix Factorization". A component of the graph
has the share of Y that it has of the graph's volume, so that p = q = 1 gives DeepWalk's matrix.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, gmres, splu
from threadpoolctl import threadpool_limits

from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices.adjacency import transition
from boostne.matrices.source import Piece, RowCollector, blocks_in_order, log_above_one
from boostne.memory import check_memory

BLOCK_BYTES = 1 << 24  # of the dense columns that one thread holds
MERGED_EDGES = 1 << 22  # neighbors that are compared at a time when triangles are listed
MAX_WORK = 1e12  # multiplications; some ten minutes on two cores
PRECISION = 1e-13  # of Y, which sums to 1
RESTART = 100  # steps of GMRES in a round
MAX_ROUNDS = 100


class EdgeChain:
    """The chain over the directed edges of an undirected graph, as ``P = L G + R``.

    Nearly all of P is the same for each way into a node: 1/q times the weights of the edges that leave. G sums over
    these, L gives the sums to the edges that arrive, and R holds what differs: the ways back and the triangles.

    Parameters
    ----------
    graph : Graph
        Undirected, with at least one edge.
    p, q : float
        Return and in-out parameter.
    """

    def __init__(self, graph: Graph, *, p: float, q: float) -> None:
        A = graph.adjacency.astype(np.float64)
        n, E = graph.n_nodes, A.nnz
        edges = np.arange(E)
        arrive = sparse.csr_array((np.ones(E), (edges, A.indices)), shape=(E, n))
        back = _numbered(A).T.tocsr().data - 1  # the number of (v, u) for each edge (u, v)
        R = sparse.csr_array(((1 / p - 1 / q) * A.data, (edges, back)), shape=(E, E))
        if q != 1:
            R = R + (1 - 1 / q) * _triangles(graph)
        R.eliminate_zeros()
        inverse = sparse.diags_array(1 / (graph.degrees[A.indices] / q + R.sum(axis=1)))
        self._G = sparse.csr_array((A.data, edges, A.indptr), shape=(n, E))
        self._L, self._R = (inverse @ arrive / q).tocsr(), (inverse @ R).tocsr()
        self._transposed = tuple(M.T.tocsr() for M in (self._G, self._L, self._R))
        self.visits = arrive.T.tocsr()  # sums over the edges that arrive at each node
        self.stationary = self._find_stationary(graph)

    def forward(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return ``P F``."""
        return np.asarray(self._L @ (self._G @ F) + self._R @ F)

    def backward(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return ``P^T F``."""
        G, L, R = self._transposed
        return np.asarray(G @ (L @ F) + R @ F)

    def _find_stationary(self, graph: Graph) -> NDArray[np.float64]:
        """Solve ``P^T y = y`` from the answer for p = q = 1; each component keeps its share of the volume."""
        y: NDArray[np.float64] = graph.adjacency.data.astype(np.float64) / graph.volume
        E = len(y)
        _, component = connected_components(graph.adjacency, directed=False)
        _, of_edge = np.unique(component[graph.adjacency.indices], return_inverse=True)
        share = np.bincount(of_edge, y)
        step = LinearOperator((E, E), matvec=lambda x: x - self.backward(x), dtype=np.float64)
        # BLAS on one thread: its sums would depend on their number.
        with threadpool_limits(limits=1, user_api="blas"):
            coarse = _over_nodes(graph, component, self.visits, y)
            for _ in range(MAX_ROUNDS):
                residual = self.backward(y) - y
                if np.abs(residual).sum() < PRECISION:
                    return y
                y = y + gmres(step, residual, M=coarse, rtol=1e-8, restart=RESTART, maxiter=1)[0]
                y *= (share / np.bincount(of_edge, y))[of_edge]
        raise ParameterError(
            f"the stationary distribution of node2vec's walk was not found in {MAX_ROUNDS * RESTART} steps; "
            "use p and q nearer to 1, or connectivity='deepwalk'"
        )


def _over_nodes(
    graph: Graph, component: NDArray[np.int32], visits: sparse.csr_array, y: NDArray[np.float64]
) -> LinearOperator:
    """Return what speeds up the search for Y: the same system for the first-order walk, solved exactly.

    Its slow modes, masses that flow between distant parts of the graph, are those of the walk over edges too. One
    node of each component is left out, as the others determine it.
    """
    _, pinned = np.unique(component, return_index=True)
    free = np.setdiff1d(np.arange(graph.n_nodes), pinned)
    chain = transition(graph).T.tocsr()
    solve = splu((sparse.eye_array(len(free)) - chain[free][:, free]).tocsc()).solve
    spread = sparse.diags_array(y / (visits.T @ (visits @ y))) @ visits.T

    def apply(residual: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.zeros(graph.n_nodes)
        found[free] = solve((visits @ residual)[free])
        return np.asarray(residual + spread @ found)

    return LinearOperator((len(y), len(y)), matvec=apply, dtype=np.float64)


def node2vec(
    graph: Graph,
    *,
    p: float = 1.0,
    q: float = 1.0,
    window: int = 10,
    negative: float = 1.0,
    dtype: Any = np.float64,
    threads: int = 1,
) -> sparse.csr_array:
    """Return node2vec's X, exactly, by blocks of rows; for graphs of some ten thousand edges.

    Parameters
    ----------
    graph : Graph
        Undirected; weights count, isolated nodes get empty rows.
    p, q : float, default=1.0
        Return and in-out parameter. A large p keeps the walk from going back, a large q from going far.
    window : int, default=10
        T.
    negative : float, default=1.0
        b.
    dtype : numpy dtype
        float32 or float64.
    threads : int
        Blocks built side by side. The result does not depend on it.

    Returns
    -------
    csr_array of shape (n, n)
        Non-negative, symmetric up to rounding.
    """
    _check_size(graph, window)
    chain = EdgeChain(graph, p=p, q=q)
    n, E = graph.n_nodes, graph.adjacency.nnz
    at_nodes = chain.visits
    visits = at_nodes @ chain.stationary
    scale = np.divide(1, visits, out=np.zeros(n), where=visits > 0)
    weighted = at_nodes @ sparse.diags_array(chain.stationary)

    def build(rows: range) -> list[Piece]:
        block = slice(rows.start, rows.stop)
        into, out_of = at_nodes[block].toarray().T, weighted[block].toarray().T
        arriving, leaving = np.zeros_like(into), np.zeros_like(out_of)
        for _ in range(window):  # Horner's rule for P + P^2 + … + P^T
            arriving = chain.forward(arriving + into)
            leaving = chain.backward(leaving + out_of)
        joint = weighted @ arriving + at_nodes @ leaving
        return log_above_one((joint * (scale[:, None] * scale[block] / (2 * window * negative))).T)

    collector = RowCollector(n, dtype)
    size = int(max(1, BLOCK_BYTES // (E * np.dtype(np.float64).itemsize)))
    for _, rows in blocks_in_order(build, n, size, threads):
        collector.extend(rows)
    return collector.finish()


def _numbered(A: sparse.csr_array) -> sparse.csr_array:
    """Return the pattern of A with the number of each entry, from 1, since a 0 would get lost."""
    return sparse.csr_array((np.arange(1, A.nnz + 1), A.indices, A.indptr), shape=A.shape)


def _triangles(graph: Graph) -> sparse.csr_array:
    """Return ``A_vx`` for each edge (u, v) and each edge (v, x) whose x is a neighbor of u, but not u itself."""
    A = graph.adjacency.astype(np.float64)
    numbers = _numbered(A)
    others = _numbered(graph.without_self_loops().adjacency).astype(bool)
    tail = np.repeat(np.arange(graph.n_nodes), np.diff(A.indptr))
    degrees = np.diff(A.indptr)
    merged = np.cumsum(degrees[tail] + degrees[A.indices])
    cuts = np.searchsorted(merged, np.arange(0, merged[-1] + MERGED_EDGES, MERGED_EDGES), side="right")
    counts, found = [], []
    for begin, end in pairwise(cuts):
        common = others[tail[begin:end]].multiply(numbers[A.indices[begin:end]]).tocsr()
        counts.append(np.diff(common.indptr))
        found.append(common.data - 1)
    onward = np.concatenate(found)
    ends = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return sparse.csr_array((A.data[onward], onward, ends), shape=(A.nnz, A.nnz))


def _check_size(graph: Graph, window: int) -> None:
    """Refuse a graph whose edges have too many neighbors in common, from above."""
    A = graph.adjacency
    degrees = np.diff(A.indptr).astype(np.int64)
    common = int(np.minimum(np.repeat(degrees, degrees), degrees[A.indices]).sum())
    remedy = (
        "Use connectivity='deepwalk', which is this matrix for p = q = 1, or a smaller part of the graph."
    )
    entry = np.dtype(np.float64).itemsize + np.dtype(np.int64).itemsize
    check_memory(4 * common * entry, f"node2vec's exact matrix for {A.nnz:,} directed edges", remedy)
    work = 2.0 * window * graph.n_nodes * common
    if work > MAX_WORK:
        raise ParameterError(
            f"connectivity='node2vec' is exact and meant for small graphs: the {A.nnz:,} directed edges of this one "
            f"have up to {common:,} neighbors in common, which takes some {work:.0e} operations. {remedy}"
        )
