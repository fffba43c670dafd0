"""HOPE's proximities, ``M = M_g^-1 M_l``: Katz, rooted PageRank, common neighbors, Adamic-Adar.

No inverse is formed. Where ``M_g = I - B`` with ``B >= 0``, a product with ``M_g^-1`` is the series
``x + B x + B^2 x + …``, cut off where ``B^k`` no longer counts.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from boostne.eigensolvers import Product, block_product, truncated_svd
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices.adjacency import transition
from boostne.validation import check_choice

Similarity = Literal["katz", "pagerank", "common-neighbors", "adamic-adar"]
SIMILARITIES: tuple[str, ...] = ("katz", "pagerank", "common-neighbors", "adamic-adar")

SERIES_TOLERANCE = 1e-12  # of the largest row or column sum of B^k
MOST_TERMS = 10_000
OVERFLOW = 1e12  # row sums of B^k that large will not come down again


def hope(
    graph: Graph, similarity: Similarity = "katz", *, beta: float | None = None, alpha: float = 0.5
) -> sparse.csr_array | LinearOperator:
    """Return ``M = M_g^-1 M_l`` of a directed or undirected graph; entry (i, j) is how near j is to i.

    ================== ============ =========== ==================================================
    similarity         ``M_g``      ``M_l``     entry (i, j)
    ================== ============ =========== ==================================================
    katz               I - β A      β A         walks from i to j, a step counting β
    pagerank           I - α S      (1 - α) I   chance that a walk from i ends at j; S = D^-1 A
    common-neighbors  I            A A         paths of two steps from i to j
    adamic-adar        I            A W A       the same, each over the degree of the node between
    ================== ============ =========== ==================================================

    Parameters
    ----------
    graph : Graph
        Weights and direction count.
    similarity : str
        Which of the four.
    beta : float, optional
        β of Katz, below ``1 / ρ(A)`` (the spectral radius); by default ``1 / (2 ||A||_2)``, which is at most
        half of that.
    alpha : float, default=0.5
        α of rooted PageRank, between 0 and 1: the chance that a walk goes on. At a node that no edge leaves it
        ends in any case.

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
    return common_neighbors(graph) if similarity == "common-neighbors" else adamic_adar(graph)


def of_eigenvalues(
    graph: Graph, similarity: Similarity, *, beta: float | None = None
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
    """Return f with ``M = f(A)``, where there is one: then M has the eigenvectors of A, and f of its eigenvalues.

    That is so without direction for Katz, ``f(λ) = β λ / (1 - β λ)``, and for common neighbors, ``f(λ) = λ^2``.
    """
    if graph.directed or similarity not in ("katz", "common-neighbors"):
        return None
    if similarity == "common-neighbors":
        return np.square
    rate, _ = _katz_series(graph, beta)
    return lambda values: rate * values / (1 - rate * values)


def katz(graph: Graph, beta: float | None = None) -> LinearOperator:
    """Return ``(I - β A)^-1 β A``; see :func:`hope`."""
    rate, terms = _katz_series(graph, beta)
    B = graph.adjacency.astype(np.float64) * rate
    times, back = block_product(B), block_product(B.T)
    return _operator(
        lambda x: _series(times, times(x), terms),
        lambda x: back(_series(back, x, terms)),
        (graph.n_nodes,) * 2,
    )


def rooted_pagerank(graph: Graph, alpha: float = 0.5) -> LinearOperator:
    """Return ``(1 - α) (I - α S)^-1``; see :func:`hope`."""
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must be above 0 and below 1; got {alpha!r}")
    B = transition(graph) * alpha
    terms = _terms(B, f"alpha must not be so near to 1 as {alpha!r}")
    times, back = block_product(B), block_product(B.T)
    return _operator(
        lambda x: (1 - alpha) * _series(times, x, terms),
        lambda x: (1 - alpha) * _series(back, x, terms),
        (graph.n_nodes,) * 2,
    )


def common_neighbors(graph: Graph) -> sparse.csr_array:
    """Return ``A A``: the nodes between i and j, counted by the weights of the two edges."""
    A = graph.adjacency.astype(np.float64)
    return (A @ A).tocsr()


def adamic_adar(graph: Graph) -> sparse.csr_array:
    """Return ``A W A`` with ``W_tt = 1 / Σ_j (A_tj + A_jt)``: common neighbors, those of high degree counting less.

    This is HOPE's form. Adamic and Adar divide by the logarithm of the degree.
    """
    A = graph.adjacency.astype(np.float64)
    both = graph.degrees + np.asarray(A.sum(axis=0))
    W = sparse.diags_array(np.divide(1, both, out=np.zeros_like(both), where=both > 0))
    return (A @ W @ A).tocsr()


def _katz_series(graph: Graph, beta: float | None) -> tuple[float, int]:
    """Return β, and the terms of ``(I - β A)^-1`` that count; a series that does not end is refused."""
    A = graph.adjacency.astype(np.float64)
    if beta is None:
        _, (norm,), _ = truncated_svd(A, 1, seed=0)
        beta = 1 / (2 * norm) if norm else 1.0
    terms = _terms(
        A * beta,
        f"beta must be below 1 / ρ(A), the spectral radius of the adjacency, and not too near to it; got {beta:g}. "
        "beta=None takes half of it or less",
    )
    return beta, terms


def _operator(product: Callable[..., Any], transposed: Callable[..., Any], shape: Any) -> LinearOperator:
    return LinearOperator(
        shape,
        matvec=product,
        rmatvec=transposed,
        matmat=product,
        rmatmat=transposed,
        dtype=np.dtype(np.float64),
    )


def _series(times: Product, x: NDArray[np.float64], terms: int) -> NDArray[np.float64]:
    """``x + B x + … + B^terms x``, by Horner's rule; ``times`` is the product with B."""
    total = x
    for _ in range(terms):
        total = x + times(total)
    return total


def _terms(B: sparse.csr_array, refusal: str) -> int:
    """Return the k from which on ``B^k`` does not count.

    B is non-negative, so the largest entries of ``B^k 1`` and of its transpose are the norms of ``B^k``.
    """
    rows, columns = np.ones(B.shape[0]), np.ones(B.shape[0])
    for k in range(MOST_TERMS):
        largest = max(rows.max(), columns.max())
        if largest <= SERIES_TOLERANCE:
            return k
        if not largest < OVERFLOW:
            break
        rows, columns = B @ rows, B.T @ columns
    raise ParameterError(refusal)
