"""HOPE's similarities, ``M = M_g^-1 M_l``: Katz, rooted PageRank, common neighbors, Adamic-Adar.

================== ============ =========== =======================================================
similarity         ``M_g``      ``M_l``     entry (i, j)
================== ============ =========== =======================================================
katz               I - β A      β A         walks from i to j, each step weighted by β
pagerank           I - α S      (1 - α) I   probability that a walk from i stops at j; S = D^-1 A
common-neighbors   I            A A         paths of two steps from i to j
adamic-adar        I            A W A       the same, each divided by the degree of the middle node
================== ============ =========== =======================================================

No inverse is formed. With ``M_g = I - B`` and ``B >= 0``, a product with ``M_g^-1`` is the series
``x + B x + B^2 x + …``, truncated when ``B^k`` is negligible.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from boostne.budget import Workload, full_matrix_bytes
from boostne.eigensolvers import Product, block_product, truncated_svd
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices.adjacency import reciprocal, transition
from boostne.matrices.base import EXACT, ConnectivityMatrix, MatrixForm, SparseMatrix, check_entries
from boostne.matrices.csr_builder import RowBlock, positive_entries
from boostne.matrices.source import CSRSource, MatrixSource
from boostne.memory import MemoryBudget, check_memory
from boostne.validation import check_choice, check_number

Similarity = Literal["katz", "pagerank", "common-neighbors", "adamic-adar"]
SIMILARITIES: tuple[str, ...] = ("katz", "pagerank", "common-neighbors", "adamic-adar")

SERIES_TOLERANCE = 1e-12  # bound on the largest row or column sum of B^k
MAX_TERMS = 10_000
DIVERGENCE = 1e12  # row sums of B^k this large will not decrease again
CHUNK_ROWS = 64  # rows of an operator that are computed together
SPARSER = "Use connectivity='adamic-adar', which is sparse, or the method HOPE, which needs no entries."


class CommonNeighborsMatrix(SparseMatrix):
    """``X = A A``: the number of common neighbors, weighted by both edges.

    Examples
    --------
    >>> from boostne import CommonNeighborsMatrix, as_graph
    >>> CommonNeighborsMatrix().build(as_graph([("a", "b"), ("b", "c")])).toarray()
    array([[1., 0., 1.],
           [0., 2., 0.],
           [1., 0., 1.]])
    """

    directed = True

    def build(self, graph: Graph) -> sparse.csr_array:
        A = graph.adjacency.astype(np.float64)
        return (A @ A).tocsr()


class AdamicAdarMatrix(SparseMatrix):
    """``X = A W A`` with ``W_tt = 1 / Σ_j (A_tj + A_jt)``: common neighbors, those of high degree counting less.

    This is HOPE's form. Adamic and Adar divide by the logarithm of the degree.

    Examples
    --------
    >>> from boostne import AdamicAdarMatrix, as_graph
    >>> AdamicAdarMatrix().build(as_graph([("a", "b"), ("b", "c")])).toarray()
    array([[0.25, 0.  , 0.25],
           [0.  , 1.  , 0.  ],
           [0.25, 0.  , 0.25]])
    """

    directed = True

    def build(self, graph: Graph) -> sparse.csr_array:
        graph, unit = graph.rescaled()
        A = graph.adjacency.astype(np.float64)
        W = sparse.diags_array(reciprocal(graph.degrees + np.asarray(A.sum(axis=0))))
        return (A @ W @ A).tocsr() * unit


class OperatorMatrix(ConnectivityMatrix):
    """Base of the dense matrices, with about n² entries, that are available as linear operators."""

    directed = True

    @abstractmethod
    def operator(self, graph: Graph) -> LinearOperator:
        """Return the matrix as an operator, non-negative."""

    def _source(self, graph: Graph, form: MatrixForm, dtype: Any, seed: int, threads: int) -> "OperatorSource":
        return OperatorSource(self.operator(graph), dtype)

    def plan(self, graph: Graph, work: Workload, budget: MemoryBudget) -> MatrixForm:
        check_entries(work.n_nodes**2, work, budget, SPARSER)
        return EXACT


class KatzMatrix(OperatorMatrix):
    """``X = (I - β A)^-1 β A``; dense.

    Parameters
    ----------
    beta : float, optional
        β, below the inverse of the spectral radius of A; by default ``1 / (2 ||A||_2)``.

    Examples
    --------
    >>> from boostne import BoostNE, KatzMatrix, load_dataset
    >>> BoostNE(8, levels=2, connectivity=KatzMatrix(beta=0.05)).fit(load_dataset("karate").graph).embedding_
    Embedding(34 nodes, 8 dimensions, levels [4, 4], float32)
    """

    def __init__(self, *, beta: float | None = None) -> None:
        self.beta = beta

    def check(self) -> None:
        if self.beta is not None:
            check_number("beta", self.beta, 0, strict=True)

    def operator(self, graph: Graph) -> LinearOperator:
        graph, unit = graph.rescaled()
        return katz(graph, None if self.beta is None else self.beta * unit)


class PageRankMatrix(OperatorMatrix):
    """``X = (1 - α) (I - α S)^-1`` with ``S = D^-1 A``; dense.

    Parameters
    ----------
    alpha : float, default=0.5
        α, between 0 and 1: the probability that a walk continues.

    Examples
    --------
    >>> from boostne import BoostNE, PageRankMatrix, load_dataset
    >>> BoostNE(8, levels=2, connectivity=PageRankMatrix(alpha=0.85)).fit(load_dataset("karate").graph).embedding_
    Embedding(34 nodes, 8 dimensions, levels [4, 4], float32)
    """

    scale_invariant = True

    def __init__(self, *, alpha: float = 0.5) -> None:
        self.alpha = alpha

    def check(self) -> None:
        check_alpha(self.alpha)

    def operator(self, graph: Graph) -> LinearOperator:
        return rooted_pagerank(graph, self.alpha)


class OperatorSource(MatrixSource):
    """Rows of a non-negative linear operator; pickled as the matrix of its entries.

    Raises
    ------
    MemoryLimitError
        If there is not enough memory for n² entries.
    """

    def __init__(self, operator: LinearOperator, dtype: Any) -> None:
        self._operator = operator
        self.shape = operator.shape
        self.dtype = np.dtype(dtype)
        check_memory(self.nbytes, f"{self.shape[0] ** 2:,} entries of this connectivity matrix", SPARSER)

    def __reduce__(self) -> Any:
        return CSRSource, (self.build()[0],)

    @property
    def nbytes(self) -> int:
        """Memory of all entries, as if none were zero."""
        return full_matrix_bytes(self.shape[0])

    def rows(self, rows: range) -> list[RowBlock]:
        unit = np.zeros((self.shape[0], len(rows)))
        unit[np.arange(rows.start, rows.stop), np.arange(len(rows))] = 1
        return positive_entries(self._operator.rmatmat(unit).T.astype(self.dtype))

    def chunk_rows(self) -> int:
        return CHUNK_ROWS

    def with_threads(self, threads: int) -> "OperatorSource":
        """Return the source itself: its products run on all cores."""
        return self


def similarity_matrix(
    graph: Graph, similarity: Similarity = "katz", *, beta: float | None = None, alpha: float = 0.5
) -> sparse.csr_array | LinearOperator:
    """Return ``M = M_g^-1 M_l`` of a directed or undirected graph; entry (i, j) is the similarity of j to i.

    Parameters
    ----------
    graph : Graph
        Weights and direction count.
    similarity : str
        One of the four in the table above.
    beta : float, optional
        β of Katz, below ``1 / ρ(A)`` (the spectral radius); by default ``1 / (2 ||A||_2)``, which is at most
        half of that.
    alpha : float, default=0.5
        α of rooted PageRank, between 0 and 1: the probability that a walk continues. At a node without outgoing edges
        it always stops.

    Returns
    -------
    csr_array for common neighbors and Adamic-Adar, else LinearOperator
        Of shape (n, n), in float64, non-negative.
    """
    check_choice("similarity", similarity, SIMILARITIES)
    if similarity == "katz":
        return katz(graph, beta)
    if similarity == "pagerank":
        return rooted_pagerank(graph, alpha)
    matrix = CommonNeighborsMatrix() if similarity == "common-neighbors" else AdamicAdarMatrix()
    return matrix.build(graph)


def eigenvalue_map(
    graph: Graph, similarity: Similarity, *, beta: float | None = None
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
    """Return f with ``M = f(A)`` if there is one: M then has the eigenvectors of A.

    For undirected graphs that is so for Katz, ``f(λ) = β λ / (1 - β λ)``, and common neighbors, ``f(λ) = λ^2``.
    """
    if graph.directed or similarity not in ("katz", "common-neighbors"):
        return None
    if similarity == "common-neighbors":
        return np.square
    rate, _ = _katz_series(graph, beta)
    return lambda values: rate * values / (1 - rate * values)


def katz(graph: Graph, beta: float | None = None) -> LinearOperator:
    """Return ``(I - β A)^-1 β A``; see :func:`similarity_matrix`."""
    rate, terms = _katz_series(graph, beta)
    B = graph.adjacency.astype(np.float64) * rate
    times, transposed_times = block_product(B), block_product(B.T)
    return _operator(
        lambda x: _series(times, times(x), terms),
        lambda x: transposed_times(_series(transposed_times, x, terms)),
        B.shape,
    )


def rooted_pagerank(graph: Graph, alpha: float = 0.5) -> LinearOperator:
    """Return ``(1 - α) (I - α S)^-1``; see :func:`similarity_matrix`."""
    check_alpha(alpha)
    B = transition(graph) * alpha
    terms = _n_terms(B, f"alpha must not be as close to 1 as {alpha!r}")
    times, transposed_times = block_product(B), block_product(B.T)
    return _operator(
        lambda x: (1 - alpha) * _series(times, x, terms),
        lambda x: (1 - alpha) * _series(transposed_times, x, terms),
        B.shape,
    )


def check_alpha(alpha: float) -> None:
    """Raise ParameterError unless ``alpha`` is a probability between 0 and 1."""
    check_number("alpha", alpha, 0, strict=True)
    if not alpha < 1:
        raise ParameterError(f"alpha must be above 0 and below 1; got {alpha!r}")


def _katz_series(graph: Graph, beta: float | None) -> tuple[float, int]:
    """Return β and the number of terms of ``(I - β A)^-1``; raise ParameterError if the series diverges."""
    A = graph.adjacency.astype(np.float64)
    if beta is None:
        _, (norm,), _ = truncated_svd(A, 1, seed=0)
        beta = 1 / (2 * norm) if norm else 1.0
    terms = _n_terms(
        A * beta,
        f"beta must be below 1 / ρ(A), the spectral radius of the adjacency, and not too close to it; got {beta:g}. "
        "beta=None uses at most half of it",
    )
    return beta, terms


def _operator(product: Callable[..., Any], transposed: Callable[..., Any], shape: Any) -> LinearOperator:
    return LinearOperator(
        shape, matvec=product, rmatvec=transposed, matmat=product, rmatmat=transposed, dtype=np.dtype(np.float64)
    )


def _series(times: Product, x: NDArray[np.float64], terms: int) -> NDArray[np.float64]:
    """``x + B x + … + B^terms x``, by Horner's rule; ``times`` is the product with B."""
    total = x
    for _ in range(terms):
        total = x + times(total)
    return total


def _n_terms(B: sparse.csr_array, message: str) -> int:
    """Return the smallest k with a negligible ``B^k``; raise ParameterError with a message if there is none.

    B is non-negative, so the largest entries of ``B^k 1`` and of its transpose are the norms of ``B^k``.
    """
    rows, columns = np.ones(B.shape[0]), np.ones(B.shape[0])
    for k in range(MAX_TERMS):
        largest = max(rows.max(), columns.max())
        if largest <= SERIES_TOLERANCE:
            return k
        if not largest < DIVERGENCE:
            break
        rows, columns = B @ rows, B.T @ columns
    raise ParameterError(message)
