"""Leading eigenpairs and singular triplets: SciPy's solvers, made to give the same bits, and the same signs, always.

Lanczos methods see a matrix through one vector, so they find an eigenvalue that repeats too few times. Here the
solver is sent again, with what it has found moved out of its way, until nothing is left above what is kept.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

DENSE_SIZE = 512  # rows of a matrix that is solved as a dense one
TOLERANCE = 1e-6  # relative, of an eigenvalue
CHECK_VECTORS = 64  # Lanczos vectors when it looks whether an eigenvalue was missed

Float = NDArray[np.float64]


def largest_eigenpairs(M: Any, count: int, *, floor: float, seed: int) -> tuple[Float, Float]:
    """Return the largest eigenvalues of a symmetric matrix, descending, and their vectors.

    Parameters
    ----------
    M : sparse array or LinearOperator of shape (n, n)
        Symmetric.
    count : int
        Pairs wanted; those beyond n are zero.
    floor : float
        A number below every eigenvalue.
    seed : int
        Of the solver's start, which touches no more than the last digits.

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
            nothing = np.zeros(0), np.zeros((n, 0))
            values, vectors = lanczos(M, count, nothing, floor=floor, rng=np.random.default_rng(seed))
    return _padded(values, count), _padded(vectors * signs(vectors), count)


def truncated_svd(X: Any, count: int, *, seed: int) -> tuple[Float, Float, Float]:
    """Return the largest singular values of a square matrix, descending, and its left and right vectors.

    Parameters
    ----------
    X : sparse array or LinearOperator of shape (n, n)
        A LinearOperator with ``rmatvec``.
    count : int
        Triplets wanted; those beyond the rank of X are zero.
    seed : int
        Of the solver's start.

    Returns
    -------
    U : ndarray of shape (n, count)
        Of norm 1; the entry of largest magnitude in each column is positive.
    s : ndarray of shape (count,)
    V : ndarray of shape (n, count)
        ``X ~ U diag(s) V^T``.
    """
    from scipy.linalg import svd
    from scipy.sparse.linalg import LinearOperator, aslinearoperator
    from threadpoolctl import threadpool_limits

    n = X.shape[0]
    if _is_small(n, count):
        with threadpool_limits(limits=1, user_api="blas"):
            U, s, Vt = svd(_dense(X))
        V = Vt.T
    else:
        operator = aslinearoperator(X.astype(np.float64) if sparse.issparse(X) else X)
        gram = LinearOperator(
            (n, n), matvec=lambda x: operator.matvec(operator.rmatvec(x)), dtype=np.dtype(np.float64)
        )
        values, U = largest_eigenpairs(gram, count, floor=0.0, seed=seed)
        s = np.sqrt(np.maximum(values, 0))
        V = np.column_stack([operator.rmatvec(u) for u in U.T])
        # What X X^T says of so small a value is rounding.
        s[s <= np.sqrt(n * np.finfo(np.float64).eps) * s[0]] = 0
        V = np.divide(V, s, out=np.zeros_like(V), where=s > 0)
    sign = signs(U) * (s > 0)
    return _padded(U * sign, count), _padded(s, count), _padded(V * sign, count)


def lanczos(
    M: Any, count: int, known: tuple[Float, Float], *, floor: float, rng: np.random.Generator
) -> tuple[Float, Float]:
    """Return the largest eigenpairs of a symmetric matrix, those that repeat included.

    Parameters
    ----------
    M : sparse array or LinearOperator of shape (n, n)
        n is well above ``count``.
    count : int
        Pairs wanted.
    known : values and vectors
        Pairs that need not be looked for, such as the first of a stochastic matrix; at most ``count``.
    floor : float
        A number below every eigenvalue; it is where the pairs that were found are moved to.
    rng : Generator
        Draws the starts.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = M.shape[0]
    values, vectors = known
    while True:
        Q, height = vectors, values - floor
        rest = LinearOperator(
            (n, n), matvec=lambda x, Q=Q, h=height: M @ x - Q @ (h * (Q.T @ x)), dtype=np.dtype(np.float64)
        )
        wanted = count - len(values) or 1
        ncv = min(max(2 * wanted + 1, CHECK_VECTORS), n - 1)
        found, new = eigsh(rest, k=wanted, which="LA", v0=rng.random(n), tol=TOLERANCE, ncv=ncv)
        complete = len(values) == count
        if complete and found.max() <= values.min() + TOLERANCE * np.abs(values).max():
            return values, vectors
        values, vectors = np.append(values, found), np.column_stack([vectors, new])
        largest = np.argsort(-values, kind="stable")[:count]
        values, vectors = values[largest], vectors[:, largest]


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


def _padded(array: Float, count: int) -> Float:
    """Return the first ``count`` columns (or numbers), zeros where there are fewer."""
    kept = array[..., :count]
    missing = count - kept.shape[-1]
    return np.pad(kept, [(0, 0)] * (array.ndim - 1) + [(0, missing)]) if missing else kept
