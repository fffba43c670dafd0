"""Leading eigenpairs and singular triplets, the same bits and the same signs always.

A block of vectors, somewhat wider than what is wanted, is multiplied by a polynomial of the matrix that is steep
above the block's smallest eigenvalue and flat below it (Chebyshev's), made orthonormal, and turned into the best
eigenvectors that it holds (Rayleigh-Ritz); so on until the residuals are small. Unlike the Lanczos methods, which see
a matrix through one vector, a block finds an eigenvalue as often as it repeats; and its products are the kernels',
on all cores. (Y. Zhou, Y. Saad, M. Tiago, J. Chelikowsky: "Self-consistent-field calculations using
Chebyshev-filtered subspace iteration", 2006.)
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.kernels import get_kernels
from boostne.kernels.sharded_csr import ShardedCSR

DENSE_SIZE = 512  # rows of a matrix that is solved as a dense one
TOLERANCE = 1e-6  # of a residual, relative to the largest eigenvalue or singular value
GUARDS = 16  # vectors beyond those wanted, at least
GUARD_SHARE = 4  # one for so many wanted
BOUND_STEPS = 24  # of Lanczos, for the lower end of the spectrum
MARGIN = 1e-3  # of the spectrum: an eigenvalue that fills the block must still be told from those below
LARGEST_GROWTH = 1e12  # of the first vector over the last in one polynomial
START_DEGREE = 3  # while the largest eigenvalue is not known
MAX_DEGREE = 40
MAX_ITERATIONS = 200

Float = NDArray[np.float64]
Product = Callable[[Float], Float]


def largest_eigenpairs(M: Any, count: int, *, seed: int, threads: int | None = None) -> tuple[Float, Float]:
    """Return the largest eigenvalues of a symmetric matrix, descending, and their vectors.

    Parameters
    ----------
    M : sparse array or LinearOperator of shape (n, n)
        Symmetric.
    count : int
        Pairs wanted; those beyond n are zero.
    seed : int
        Of the solver's start, which touches no more than the last digits.
    threads : int, optional
        Of the products with a sparse array; by default every core. The result does not depend on it.

    Returns
    -------
    values : ndarray of shape (count,)
    vectors : ndarray of shape (n, count)
        Of norm 1; the entry of largest magnitude is positive.
    """
    from scipy.linalg import eigh
    from threadpoolctl import threadpool_limits

    n = M.shape[0]
    # One BLAS thread: the order of its sums, and so the last bits, must not depend on the machine's cores.
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
    """Return eigenvalues of a symmetric matrix from both ends of its spectrum, and their vectors.

    Parameters
    ----------
    M, count, seed, threads
        As for :func:`largest_eigenpairs`.

    Returns
    -------
    values : ndarray
        The ``count`` largest and the ``count`` smallest, descending; all of them where M is small.
    vectors : ndarray of shape (n, len(values))
        Orthonormal; the entry of largest magnitude is positive.
    """
    from threadpoolctl import threadpool_limits

    if _is_small(M.shape[0], count):
        return largest_eigenpairs(M, M.shape[0], seed=seed, threads=threads)
    ends = [largest_eigenpairs(sign * M, count, seed=seed, threads=threads)[1] for sign in (1, -1)]
    with threadpool_limits(limits=1, user_api="blas"):
        # The ends meet where all between them is one eigenvalue; made orthonormal once more they hold it as often as
        # it is wanted.
        values, vectors, _ = _rayleigh_ritz(block_product(M, threads), np.hstack(ends))
    return values, vectors * signs(vectors)


def truncated_svd(X: Any, count: int, *, seed: int, threads: int | None = None) -> tuple[Float, Float, Float]:
    """Return the largest singular values of a square matrix, descending, and its left and right vectors.

    Parameters
    ----------
    X : sparse array or LinearOperator of shape (n, n)
        A LinearOperator with ``rmatmat``.
    count : int
        Triplets wanted; those beyond the rank of X are zero.
    seed : int
        Of the solver's start.
    threads : int, optional
        As for :func:`largest_eigenpairs`.

    Returns
    -------
    U : ndarray of shape (n, count)
        Of norm 1; the entry of largest magnitude in each column is positive.
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
            # What X^T X says of an eigenvalue below this share is rounding.
            rounding = n * np.finfo(np.float64).eps
            _, V = _filtered_subspace(
                _gram_product(X, threads),
                n,
                count,
                0.0,
                # |X^T u - σ v| is the residual of X^T X over σ.
                lambda share: np.sqrt(np.maximum(share, rounding)),
                np.random.default_rng(seed),
            )
            U, s, Wt = svd(block_product(X, threads)(V), full_matrices=False)
            V = V @ Wt.T
            s[s <= np.sqrt(rounding) * s[0]] = 0
    sign = signs(U) * (s > 0)
    return padded(U * sign, count), padded(s, count), padded(V * sign, count)


def block_product(M: Any, threads: int | None = None) -> Product:
    """Return the function ``V -> M V`` for vectors and blocks V in float64, on the kernels where M is sparse."""
    if not sparse.issparse(M):
        return lambda V: np.asarray(M.matmat(V))
    kernels, R = get_kernels(threads=threads), ShardedCSR.from_csr(M.tocsr(), copy=False)

    def product(V: Float) -> Float:
        block = np.ascontiguousarray(V.reshape(len(V), -1), np.float64)
        return kernels.product(R, block).reshape(V.shape)

    return product


def _gram_product(X: Any, threads: int | None) -> Product:
    """``V -> X^T X V``; a sparse X is read once for it."""
    if not sparse.issparse(X):
        return lambda V: np.asarray(X.rmatmat(X.matmat(V)))
    kernels, R = get_kernels(threads=threads), ShardedCSR.from_csr(X.tocsr(), copy=False)
    return lambda V: kernels.gram_product(R, np.ascontiguousarray(V))


def _filtered_subspace(
    product: Product,
    n: int,
    count: int,
    low: float,
    weight: Callable[[Float], Float],
    rng: np.random.Generator,
) -> tuple[Float, Float]:
    """Largest eigenpairs; ``weight`` makes of ``λ / λ_1`` what a residual is allowed in units of the tolerance."""
    width = min(count + max(GUARDS, count // GUARD_SHARE), n)
    values, V, MV = _rayleigh_ritz(product, rng.normal(size=(n, width)))
    for start in (True, *(False,) * MAX_ITERATIONS):
        scale = np.abs(values).max() or 1.0
        residuals = np.linalg.norm(MV - V * values, axis=0)[:count]
        worst = float((residuals / (scale * weight(values[:count] / scale))).max())
        if worst <= TOLERANCE:
            break
        margin = MARGIN * (values[0] - low)
        low = min(low, values[-1] - 2 * margin)
        cut = values[-1] - margin
        degree = START_DEGREE if start else _degree(values[[0, count - 1]], low, cut, gain=worst / TOLERANCE)
        values, V, MV = _rayleigh_ritz(product, _chebyshev(product, V, MV, low, cut, values[0], degree))
    else:
        warnings.warn(
            f"the {count} leading vectors were not found to {TOLERANCE:g}: the largest residual is {worst:.1e} after "
            f"{MAX_ITERATIONS} iterations",
            stacklevel=3,
        )
    return values[:count], V[:, :count]


def _rayleigh_ritz(product: Product, Z: Float) -> tuple[Float, Float, Float]:
    """Best approximations from the span of Z: eigenvalues, descending; their vectors V; and M V."""
    from scipy.linalg import eigh, qr

    Q, _ = qr(Z, mode="economic", overwrite_a=True, check_finite=False)
    MQ = product(Q)
    values, Y = eigh(Q.T @ MQ)
    Y = np.ascontiguousarray(Y[:, ::-1])
    return values[::-1], Q @ Y, MQ @ Y


def _degree(ends: Float, low: float, cut: float, *, gain: float) -> int:
    """How high a polynomial to take: enough for the last vector wanted, and no more than rounding allows the first."""
    center, half = (cut + low) / 2, (cut - low) / 2
    rates = np.arccosh(np.maximum((ends - center) / half, 1 + MARGIN))
    # What a vector holds along the first grows with it, and drowns the rest if it grows too far.
    allowed = np.log(LARGEST_GROWTH) / rates[0]
    needed = np.log(2 * gain) / rates[1] + 1
    return int(np.clip(min(allowed, needed), 2, MAX_DEGREE))


def _chebyshev(
    product: Product, V: Float, MV: Float, low: float, cut: float, top: float, degree: int
) -> Float:
    """``p(M) V``: p is Chebyshev's polynomial for ``[low, cut]``, scaled to 1 at ``top``."""
    center, half = (cut + low) / 2, (cut - low) / 2
    first = factor = half / (top - center)
    before, now = V, (MV - center * V) * (factor / half)
    for _ in range(degree - 1):
        following = 1 / (2 / first - factor)
        after = product(now)
        after -= center * now
        after *= 2 * following / half
        after -= (factor * following) * before
        before, now, factor = now, after, following
    return now


def _lower_bound(product: Product, x: Float) -> float:
    """Return a number below all eigenvalues, and near the smallest: some steps of Lanczos and what they may miss."""
    Q = np.zeros((len(x), BOUND_STEPS + 1))
    Q[:, 0] = x / np.linalg.norm(x)
    T = np.zeros((BOUND_STEPS, BOUND_STEPS))
    for k in range(BOUND_STEPS):
        y = product(Q[:, k : k + 1].copy())[:, 0]
        for _ in range(2):  # once is not enough to stay orthogonal
            overlap = Q.T @ y
            T[:, k] += overlap[:BOUND_STEPS]
            y = y - Q @ overlap
        rest = np.linalg.norm(y)
        Q[:, k + 1] = y / (rest or 1.0)
    values, Y = np.linalg.eigh(T, UPLO="U")
    return float(values[0] - rest * np.abs(Y[-1]).max())


def signs(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return for each column the sign of its entry of largest magnitude.

    A solver leaves the sign of a vector open. Multiplied by these, equal vectors look equal.
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
    """Return the first ``count`` columns (or numbers), zeros where there are fewer."""
    kept = array[..., :count]
    missing = count - kept.shape[-1]
    return np.pad(kept, [(0, 0)] * (array.ndim - 1) + [(0, missing)]) if missing else kept
