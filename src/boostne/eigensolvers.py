"""Leading eigenpairs and singular triplets with reproducible bits and signs.

The solver is Chebyshev-filtered subspace iteration: a block of vectors, somewhat wider than requested, is multiplied
by a Chebyshev polynomial of the matrix that amplifies the wanted end of the spectrum and damps the rest, and is
then orthonormalized and rotated to the best eigenvectors in its span (Rayleigh-Ritz), until the residuals are small.

It is written here, instead of using ``scipy.sparse.linalg``, because repeated eigenvalues are common in graphs
(identical components, symmetric structures). Lanczos methods such as ``eigsh`` iterate on a single vector and can miss
copies of a repeated eigenvalue, depending on rounding; a block finds as many copies as it is wide. The matrix
products also run on the package's own kernels, so the result does not depend on the number of threads.

References
----------
Y. Zhou, Y. Saad, M. Tiago, J. Chelikowsky: "Self-consistent-field calculations using Chebyshev-filtered subspace
iteration", Journal of Computational Physics 219, 2006.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import ConvergenceWarning, warn_caller
from boostne.kernels import get_kernels
from boostne.kernels.sharded_csr import ShardedCSR

DENSE_SIZE = 512  # matrices with at most this many rows are solved densely
TOLERANCE = 1e-6  # of the residuals, relative to the largest eigenvalue or singular value
MIN_GUARDS = 16  # additional vectors in the block, at least
VECTORS_PER_GUARD = 4  # one additional vector per this many requested ones
BOUND_STEPS = 24  # Lanczos steps for the lower bound of the spectrum
MARGIN = 1e-3  # gap below the block's smallest eigenvalue, relative to the width of the spectrum
MAX_GROWTH = 1e12  # amplification of the first vector relative to the last by one polynomial
INITIAL_DEGREE = 3  # of the polynomial while the largest eigenvalue is unknown
MAX_DEGREE = 40
MAX_ITERATIONS = 200

Float = NDArray[np.float64]
Product = Callable[[Float], Float]


def largest_eigenpairs(M: Any, count: int, *, seed: int, threads: int | None = None) -> tuple[Float, Float]:
    """Return the largest eigenvalues of a symmetric matrix, in descending order, and their eigenvectors.

    Parameters
    ----------
    M : sparse array or LinearOperator of shape (n, n)
        Symmetric.
    count : int
        Number of pairs; pairs beyond n are zero.
    seed : int
        Seed of the initial block; it affects only the last digits.
    threads : int, optional
        Threads of the products with a sparse array; by default all cores. The result does not depend on it.

    Returns
    -------
    values : ndarray of shape (count,)
    vectors : ndarray of shape (n, count)
        Unit vectors, whose entry of largest magnitude is positive.
    """
    from scipy.linalg import eigh
    from threadpoolctl import threadpool_limits

    n = M.shape[0]
    # A single BLAS thread: the order of sums, and so the last bits, must not depend on the number of cores.
    with threadpool_limits(limits=1, user_api="blas"):
        if _is_small(n, count):
            values, vectors = eigh(_dense(M))
            values, vectors = values[::-1], vectors[:, ::-1]
        else:
            rng = np.random.default_rng(seed)
            product = block_product(M, threads)
            low = _lower_bound(product, rng.normal(size=n))
            values, vectors = _filtered_subspace(product, n, count, low, np.ones_like, rng)
    return padded(values, count), padded(vectors * signs(vectors), count)


def outermost_eigenpairs(M: Any, count: int, *, seed: int, threads: int | None = None) -> tuple[Float, Float]:
    """Return eigenvalues from both ends of the spectrum of a symmetric matrix, and their eigenvectors.

    Parameters
    ----------
    M, count, seed, threads
        As for :func:`largest_eigenpairs`.

    Returns
    -------
    values : ndarray
        The ``count`` largest and the ``count`` smallest, in descending order; all eigenvalues if M is small.
    vectors : ndarray of shape (n, len(values))
        Orthonormal vectors, whose entry of largest magnitude is positive.
    """
    from threadpoolctl import threadpool_limits

    if _is_small(M.shape[0], count):
        return largest_eigenpairs(M, M.shape[0], seed=seed, threads=threads)
    ends = [largest_eigenpairs(sign * M, count, seed=seed, threads=threads)[1] for sign in (1, -1)]
    with threadpool_limits(limits=1, user_api="blas"):
        # The two blocks overlap if one repeated eigenvalue fills the spectrum between them. Orthonormalizing both
        # together restores its multiplicity.
        values, vectors, _ = _rayleigh_ritz(block_product(M, threads), np.hstack(ends))
    return values, vectors * signs(vectors)


def truncated_svd(X: Any, count: int, *, seed: int, threads: int | None = None) -> tuple[Float, Float, Float]:
    """Return the largest singular values of a square matrix, in descending order, with both singular vectors.

    Parameters
    ----------
    X : sparse array or LinearOperator of shape (n, n)
        A LinearOperator must implement ``rmatmat``.
    count : int
        Number of triplets; triplets beyond the rank of X are zero.
    seed : int
        Seed of the initial block.
    threads : int, optional
        As for :func:`largest_eigenpairs`.

    Returns
    -------
    U : ndarray of shape (n, count)
        Unit vectors, whose entry of largest magnitude is positive.
    s : ndarray of shape (count,)
    V : ndarray of shape (n, count)
        ``X ~ U diag(s) V^T``.
    """
    from scipy.linalg import svd
    from threadpoolctl import threadpool_limits

    n = X.shape[0]
    with threadpool_limits(limits=1, user_api="blas"):
        if _is_small(n, count):
            U, s, Vt = svd(_dense(X))
            V = Vt.T
        else:
            # Eigenvalues of X^T X below this fraction of the largest are rounding errors.
            rounding = n * np.finfo(np.float64).eps
            _, V = _filtered_subspace(
                _gram_product(X, threads),
                n,
                count,
                0.0,
                # The residual |X^T u - σ v| is that of X^T X divided by σ.
                lambda fraction: np.sqrt(np.maximum(fraction, rounding)),
                np.random.default_rng(seed),
            )
            U, s, Wt = svd(block_product(X, threads)(V), full_matrices=False)
            V = V @ Wt.T
            s[s <= np.sqrt(rounding) * s[0]] = 0
    sign = signs(U) * (s > 0)
    return padded(U * sign, count), padded(s, count), padded(V * sign, count)


def block_product(M: Any, threads: int | None = None) -> Product:
    """Return the function ``V -> M V`` for float64 vectors and blocks V; a sparse M uses the kernels."""
    if not sparse.issparse(M):
        return lambda V: np.asarray(M.matmat(V))
    kernels, R = get_kernels(threads=threads), ShardedCSR.from_csr(M.tocsr(), copy=False)

    def product(V: Float) -> Float:
        block = np.ascontiguousarray(V.reshape(len(V), -1), np.float64)
        return kernels.product(R, block).reshape(V.shape)

    return product


def _gram_product(X: Any, threads: int | None) -> Product:
    """Return the function ``V -> X^T X V``; a sparse X is read once per call."""
    if not sparse.issparse(X):
        return lambda V: np.asarray(X.rmatmat(X.matmat(V)))
    kernels, R = get_kernels(threads=threads), ShardedCSR.from_csr(X.tocsr(), copy=False)
    return lambda V: kernels.gram_product(R, np.ascontiguousarray(V))


def _filtered_subspace(
    product: Product, n: int, count: int, low: float, weight: Callable[[Float], Float], rng: np.random.Generator
) -> tuple[Float, Float]:
    """Return the largest eigenpairs.

    ``low`` is a lower bound of the spectrum. Residuals may be at most ``TOLERANCE * weight(λ / λ_1)``.
    """
    width = min(count + max(MIN_GUARDS, count // VECTORS_PER_GUARD), n)
    values, V, MV = _rayleigh_ritz(product, rng.normal(size=(n, width)))
    for is_first in (True, *(False,) * MAX_ITERATIONS):
        scale = np.abs(values).max() or 1.0
        residuals = np.linalg.norm(MV - V * values, axis=0)[:count]
        worst = float((residuals / (scale * weight(values[:count] / scale))).max())
        if worst <= TOLERANCE:
            break
        margin = MARGIN * (values[0] - low)
        low = min(low, values[-1] - 2 * margin)
        cut = values[-1] - margin
        ends = values[[0, count - 1]]
        degree = INITIAL_DEGREE if is_first else _degree(ends, low, cut, gain=worst / TOLERANCE)
        values, V, MV = _rayleigh_ritz(product, _chebyshev(product, V, MV, low, cut, values[0], degree))
    else:
        warn_caller(
            f"the eigensolver did not converge to {TOLERANCE:g} for {count} vectors: the largest residual is "
            f"{worst:.1e} after {MAX_ITERATIONS} iterations",
            ConvergenceWarning,
        )
    return values[:count], V[:, :count]


def _rayleigh_ritz(product: Product, Z: Float) -> tuple[Float, Float, Float]:
    """Return the eigenvalues of M restricted to the span of Z, descending, the Ritz vectors V, and M V."""
    from scipy.linalg import eigh, qr

    Q, _ = qr(Z, mode="economic", overwrite_a=True, check_finite=False)
    MQ = product(Q)
    values, Y = eigh(Q.T @ MQ)
    Y = np.ascontiguousarray(Y[:, ::-1])
    return values[::-1], Q @ Y, MQ @ Y


def _degree(ends: Float, low: float, cut: float, *, gain: float) -> int:
    """Return the degree that converges the last requested vector, as far as rounding allows.

    ``ends`` are the largest and the smallest of the requested eigenvalues, ``[low, cut]`` is the interval to damp and
    ``gain`` the required reduction of the residual.
    """
    center, half = (cut + low) / 2, (cut - low) / 2
    rates = np.arccosh(np.maximum((ends - center) / half, 1 + MARGIN))
    # Components along the first eigenvector are amplified most; beyond this growth the others are lost to rounding.
    allowed = np.log(MAX_GROWTH) / rates[0]
    needed = np.log(2 * gain) / rates[1] + 1
    return int(np.clip(min(allowed, needed), 2, MAX_DEGREE))


def _chebyshev(product: Product, V: Float, MV: Float, low: float, cut: float, top: float, degree: int) -> Float:
    """Return ``p(M) V`` with the Chebyshev polynomial p of ``[low, cut]``, scaled to 1 at ``top``."""
    center, half = (cut + low) / 2, (cut - low) / 2
    first_scale = scale = half / (top - center)
    previous, current = V, (MV - center * V) * (scale / half)
    for _ in range(degree - 1):
        next_scale = 1 / (2 / first_scale - scale)
        following = product(current)
        following -= center * current
        following *= 2 * next_scale / half
        following -= (scale * next_scale) * previous
        previous, current, scale = current, following, next_scale
    return current


def _lower_bound(product: Product, x: Float) -> float:
    """Return a lower bound close to the smallest eigenvalue: Lanczos's estimate minus its error bound."""
    Q = np.zeros((len(x), BOUND_STEPS + 1))
    Q[:, 0] = x / np.linalg.norm(x)
    T = np.zeros((BOUND_STEPS, BOUND_STEPS))
    for k in range(BOUND_STEPS):
        y = product(Q[:, k : k + 1].copy())[:, 0]
        for _ in range(2):  # Gram-Schmidt twice: a single pass loses orthogonality
            overlap = Q.T @ y
            T[:, k] += overlap[:BOUND_STEPS]
            y = y - Q @ overlap
        remainder = np.linalg.norm(y)
        Q[:, k + 1] = y / (remainder or 1.0)
    values, Y = np.linalg.eigh(T, UPLO="U")
    return float(values[0] - remainder * np.abs(Y[-1]).max())


def signs(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return the sign of the entry of largest magnitude of each column.

    Eigenvectors are defined up to sign; multiplying by these signs makes them comparable.
    """
    if not vectors.size:
        return np.ones(vectors.shape[1])
    largest = np.abs(vectors).argmax(axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _is_small(n: int, count: int) -> bool:
    return n <= max(DENSE_SIZE, 2 * count)


def _dense(M: Any) -> Float:
    dense = M.toarray() if sparse.issparse(M) else M @ np.eye(M.shape[0])
    return np.asarray(dense, np.float64)


def padded(array: Float, count: int) -> Float:
    """Return the first ``count`` entries along the last axis, padded with zeros."""
    kept = array[..., :count]
    missing = count - kept.shape[-1]
    return np.pad(kept, [(0, 0)] * (array.ndim - 1) + [(0, missing)]) if missing else kept
