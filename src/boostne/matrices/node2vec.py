"""node2vec's connectivity matrix in closed form: DeepWalk's for walks of second order.

A second-order walk is a Markov chain over directed edges: having moved from t to v, it is at the edge (t, v) and
continues to an edge (v, x) with a probability proportional to ``A_vx``, times 1/p if x = t, 1 if t and x are neighbors,
and 1/q otherwise. With Y its stationary distribution and P^r the probabilities of r of its steps,

``X_wc = log max( (1/2T) Σ_{r=1..T} ( Σ_u Y_wu P^r_cwu + Σ_u Y_cu P^r_wcu ) / ( b · Σ_u Y_wu · Σ_u Y_cu ) , 1 )``

where ``Y_wu`` belongs to a walk at w that came from u and ``P^r_cwu`` is its probability to be at c after r more steps:
section III.A of the paper, after Qiu et al., "Network Embedding as Matrix Factorization". Each connected component has
the share of Y that it has of the graph's volume, so that p = q = 1 gives DeepWalk's matrix.
"""

from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, gmres, splu
from threadpoolctl import threadpool_limits

from boostne.budget import Workload, edge_chain_bytes
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices.adjacency import reciprocal, transition
from boostne.matrices.base import EXACT, ConnectivityMatrix, MatrixForm, check_entries, sample_rows
from boostne.matrices.csr_builder import RowBlock, blocks_in_order, log_above_one
from boostne.matrices.source import MatrixSource
from boostne.memory import MemoryBudget, check_memory
from boostne.validation import check_integer, check_number

BLOCK_BYTES = 1 << 24  # size of the dense columns that one thread holds
MERGED_EDGES = 1 << 22  # neighbors compared at a time when triangles are listed
MAX_OPERATIONS = 1e12  # multiplications; about ten minutes on two cores
PRECISION = 1e-13  # of Y, which sums to 1
RESTART = 100  # GMRES iterations between restarts
MAX_RESTARTS = 100
SAMPLED_ROWS, SAMPLED_BLOCKS = 16, 4
SMALLER = "Use connectivity='deepwalk', which is this matrix for p = q = 1, or a smaller part of the graph."


class Node2VecMatrix(ConnectivityMatrix):
    """DeepWalk's matrix for node2vec's second-order walks, exactly; for graphs with some ten thousand edges.

    Parameters
    ----------
    p, q : float, default=1.0
        Return and in-out parameters. A large p keeps walks from returning, a large q from moving away.
    window : int, default=10
        T, the longest random walk.
    negative : float, default=1.0
        b, the number of negative samples; larger values keep fewer entries.

    Examples
    --------
    >>> from boostne import BoostNE, Node2VecMatrix, load_dataset
    >>> matrix = Node2VecMatrix(p=0.5, q=2, window=3)
    >>> BoostNE(8, levels=2, connectivity=matrix).fit(load_dataset("karate").graph).embedding_
    Embedding(34 nodes, 8 dimensions, levels [4, 4], float32)
    """

    scale_invariant = True
    logarithmic = True
    empty_remedy = "use another window, or lower negative"

    def __init__(self, *, p: float = 1.0, q: float = 1.0, window: int = 10, negative: float = 1.0) -> None:
        self.p = p
        self.q = q
        self.window = window
        self.negative = negative

    def check(self) -> None:
        check_integer("window", self.window, 1)
        for name in ("p", "q", "negative"):
            check_number(name, getattr(self, name), 0, strict=True)

    def _source(self, graph: Graph, form: MatrixForm, dtype: Any, seed: int, threads: int) -> "Node2VecSource":
        check_size(graph, self.window)
        chain = EdgeChain(graph, p=self.p, q=self.q)
        return Node2VecSource(chain, window=self.window, negative=self.negative, dtype=dtype, threads=threads)

    def plan(self, graph: Graph, work: Workload, budget: MemoryBudget) -> MatrixForm:
        # If even a full X fits, a sample would cost more time than it saves.
        if not budget.fits(work.peak_bytes(work.n_nodes**2)):
            source = self.source(graph, dtype=work.dtype, threads=work.threads)
            n_entries = sample_rows(source, SAMPLED_ROWS, SAMPLED_BLOCKS).n_entries
            check_entries(n_entries, work, budget, f"Lower dimensions. {SMALLER}")
        return EXACT


class Node2VecSource(MatrixSource):
    """Builds rows of X from the chain over directed edges; symmetric up to rounding.

    Parameters
    ----------
    chain : EdgeChain
    window, negative : int, float
        T and b.
    dtype : numpy dtype
        float32 or float64.
    threads : int
        Blocks of rows built in parallel. The result does not depend on it.
    """

    def __init__(self, chain: "EdgeChain", *, window: int, negative: float, dtype: Any, threads: int) -> None:
        n = chain.visits.shape[0]
        self.shape = (n, n)
        self.dtype = np.dtype(dtype)
        self._chain = chain
        self._window, self._negative = window, negative
        self._threads = threads
        self._scale = reciprocal(chain.visits @ chain.stationary)
        self._weighted = chain.visits @ sparse.diags_array(chain.stationary)

    @property
    def nbytes(self) -> int:
        return self._chain.nbytes

    def with_threads(self, threads: int) -> Self:
        clone = copy(self)
        clone._threads = threads  # noqa: SLF001  a copy of this object
        return clone

    def chunk_rows(self) -> int:
        return self._block_rows * self._threads

    def rows(self, rows: range) -> list[RowBlock]:
        return list(blocks_in_order(self._block, rows, self._block_rows, self._threads))

    @cached_property
    def _block_rows(self) -> int:
        column_bytes = len(self._chain.stationary) * np.dtype(np.float64).itemsize
        return int(max(1, BLOCK_BYTES // column_bytes))

    def _block(self, rows: range) -> list[RowBlock]:
        chain, block = self._chain, slice(rows.start, rows.stop)
        into, out_of = chain.visits[block].toarray().T, self._weighted[block].toarray().T
        arriving, leaving = np.zeros_like(into), np.zeros_like(out_of)
        for _ in range(self._window):  # Horner's rule for P + P^2 + … + P^T
            arriving = chain.forward(arriving + into)
            leaving = chain.backward(leaving + out_of)
        joint = self._weighted @ arriving + chain.visits @ leaving
        scale = self._scale[:, None] * self._scale[block] / (2 * self._window * self._negative)
        blocks = log_above_one((joint * scale).T)
        return [block._replace(values=block.values.astype(self.dtype, copy=False)) for block in blocks]


class EdgeChain:
    """The chain over the directed edges of an undirected graph, as ``P = L G + R``.

    Nearly all of P is the same for every edge that enters a node: 1/q times the weights of the edges that leave it. G
    sums over these, L passes the sums to the entering edges, and R holds the differences: returns and triangles.

    Parameters
    ----------
    graph : Graph
        Undirected, with at least one edge.
    p, q : float
        Return and in-out parameters.

    Attributes
    ----------
    visits : csr_array of shape (n, directed edges)
        Sums over the edges that enter each node.
    stationary : ndarray of shape (directed edges,)
        Y, the stationary distribution.
    """

    def __init__(self, graph: Graph, *, p: float, q: float) -> None:
        A = graph.adjacency.astype(np.float64)
        n, E = graph.n_nodes, A.nnz
        edges = np.arange(E)
        enter = sparse.csr_array((np.ones(E), (edges, A.indices)), shape=(E, n))
        back = _numbered(A).T.tocsr().data - 1  # the index of (v, u) for each edge (u, v)
        R = sparse.csr_array(((1 / p - 1 / q) * A.data, (edges, back)), shape=(E, E))
        if q != 1:
            R = R + (1 - 1 / q) * _triangles(graph)
        R.eliminate_zeros()
        inverse = sparse.diags_array(1 / (graph.degrees[A.indices] / q + R.sum(axis=1)))
        self._G = sparse.csr_array((A.data, edges, A.indptr), shape=(n, E))
        self._L, self._R = (inverse @ enter / q).tocsr(), (inverse @ R).tocsr()
        self._transposed = tuple(M.T.tocsr() for M in (self._G, self._L, self._R))
        self.visits = enter.T.tocsr()
        self.stationary = self._find_stationary(graph)

    @property
    def nbytes(self) -> int:
        """Memory of the sparse matrices."""
        matrices = (self._G, self._L, self._R, *self._transposed, self.visits)
        return sum(M.data.nbytes + M.indices.nbytes + M.indptr.nbytes for M in matrices)

    def forward(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return ``P F``."""
        return np.asarray(self._L @ (self._G @ F) + self._R @ F)

    def backward(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return ``P^T F``."""
        G, L, R = self._transposed
        return np.asarray(G @ (L @ F) + R @ F)

    def _find_stationary(self, graph: Graph) -> NDArray[np.float64]:
        """Solve ``P^T y = y`` starting from p = q = 1; each component keeps its share of the volume."""
        y: NDArray[np.float64] = graph.adjacency.data.astype(np.float64) / graph.volume
        E = len(y)
        _, component = connected_components(graph.adjacency, directed=False)
        _, of_edge = np.unique(component[graph.adjacency.indices], return_inverse=True)
        share = np.bincount(of_edge, y)
        step = LinearOperator((E, E), matvec=lambda x: x - self.backward(x), dtype=np.float64)
        # One BLAS thread: sums would depend on their number.
        with threadpool_limits(limits=1, user_api="blas"):
            coarse = _preconditioner(graph, component, self.visits, y)
            for _ in range(MAX_RESTARTS):
                residual = self.backward(y) - y
                if np.abs(residual).sum() < PRECISION:
                    return y
                y = y + gmres(step, residual, M=coarse, rtol=1e-8, restart=RESTART, maxiter=1)[0]
                y *= (share / np.bincount(of_edge, y))[of_edge]
        raise ParameterError(
            f"the stationary distribution of node2vec's walk was not found in {MAX_RESTARTS * RESTART} iterations; "
            "use p and q closer to 1, or connectivity='deepwalk'"
        )


def _preconditioner(
    graph: Graph, component: NDArray[np.int32], visits: sparse.csr_array, y: NDArray[np.float64]
) -> LinearOperator:
    """Return a preconditioner for Y: the same system for the first-order walk, solved exactly.

    Both chains share their slow modes, mass that flows between distant parts of the graph. One node of each component
    is left out because the others determine it.
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


def _numbered(A: sparse.csr_array) -> sparse.csr_array:
    """Return the pattern of A with the index of each entry, counted from 1 since zeros are not stored."""
    return sparse.csr_array((np.arange(1, A.nnz + 1), A.indices, A.indptr), shape=A.shape)


def _triangles(graph: Graph) -> sparse.csr_array:
    """Return ``A_vx`` for each edge (u, v) and each edge (v, x) where x is a neighbor of u other than u itself."""
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


def check_size(graph: Graph, window: int) -> None:
    """Raise if an upper bound on the common neighbors of all edges is too large for the memory or the time."""
    A = graph.adjacency
    degrees = np.diff(A.indptr).astype(np.int64)
    common = int(np.minimum(np.repeat(degrees, degrees), degrees[A.indices]).sum())
    check_memory(edge_chain_bytes(common), f"node2vec's exact matrix for {A.nnz:,} directed edges", SMALLER)
    operations = 2.0 * window * graph.n_nodes * common
    if operations > MAX_OPERATIONS:
        raise ParameterError(
            f"connectivity='node2vec' is exact and meant for small graphs: the {A.nnz:,} directed edges of this one "
            f"have up to {common:,} common neighbors, which takes about {operations:.0e} operations. {SMALLER}"
        )
