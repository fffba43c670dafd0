"""HALS updates, deflation and sparse products in NumPy."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from boostne.kernels.column_blocked_csr import ColumnBlockedCSR, Residual
from boostne.kernels.contract import DEAD_COMPONENT, Array, DoubleArray
from boostne.kernels.layout import row_chunks
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.tree_reduction import PartialSum, merge_partials


def hals_sweeps(X: Array, P: Array, gram: DoubleArray, inner: int) -> None:
    """Coordinate descent on ``min_{X >= 0} ||target - X F||^2``, given ``P = target F^T`` and ``gram = F F^T``.

    Updates the columns of X in place, one after the other, ``inner`` times::

        X_c <- max(0, X_c + (P_c - X gram_c) / gram_cc)

    Dead components, whose ``gram_cc`` vanished, are set to zero.
    """
    gram = gram.astype(X.dtype)
    # fmax ignores NaN: the other components stay alive, and NaN shows in their updates.
    alive = np.diag(gram) > DEAD_COMPONENT * np.fmax.reduce(np.diag(gram), initial=0.0)
    X[:, ~alive] = 0
    for _ in range(inner):
        for c in np.flatnonzero(alive):
            X[:, c] = np.maximum(X[:, c] + (P[:, c] - X @ gram[:, c]) / gram[c, c], 0)


def gram_of(X: Array) -> DoubleArray:
    """Return ``X^T X`` in double precision."""
    X64 = X.astype(np.float64)
    return np.asarray(X64.T @ X64)


def stripe(indptr: NDArray[np.int64], R: ColumnBlockedCSR) -> None:
    """Sort entries by strips of columns."""
    for b, (first, last) in enumerate(pairwise(R.rows)):
        span = slice(indptr[first], indptr[last])
        columns = R.packed_indices[span].astype(np.int64)
        strips = columns >> R.bits
        order = np.argsort(strips, kind="stable")
        rows = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
        packed = (rows << R.bits) | (columns & ((1 << R.bits) - 1))
        R.packed_indices[span] = packed[order]
        R.data[span] = R.data[span][order]
        R.starts[b] = span.start + np.searchsorted(strips[order], np.arange(R.n_strips + 1))


def solve_rows(R: Residual, V: Array, gram_v: DoubleArray, U: Array, *, inner: int) -> None:
    """Update U."""
    for s in range(R.n_shards):
        hals_sweeps(U[R.cuts[s] : R.cuts[s + 1]], R.shard(s) @ V, gram_v, inner)


def sweep(R: Residual, V: Array, gram_v: DoubleArray, U: Array, *, inner: int) -> tuple[list[PartialSum], DoubleArray]:
    """Update U and compute ``R^T U``."""
    solve_rows(R, V, gram_v, U, inner=inner)
    partials: list[PartialSum] = []
    grams = np.empty((R.n_shards, V.shape[1], V.shape[1]))
    for s in range(R.n_shards):
        rows = slice(R.cuts[s], R.cuts[s + 1])
        new = PartialSum(0, R.first_shard + s, np.asarray(R.shard(s).T @ U[rows]))
        partials = merge_partials(partials, [new])
        grams[s] = gram_of(U[rows])
    return partials, grams


def hals(
    V: Array, C: Array, gram_u: DoubleArray, *, inner: int, cuts: NDArray[np.int64] | None = None
) -> tuple[DoubleArray, DoubleArray]:
    """Update V."""
    products = []
    for rows in _chunks(V, cuts):
        hals_sweeps(V[rows], C[rows], gram_u, inner)
        products.append(np.einsum("ij,ij->", C[rows], V[rows], dtype=np.float64))
    return _grams(V, cuts), np.array(products)


def extrapolate(V: Array, W: Array, step: float, cuts: NDArray[np.int64] | None = None) -> DoubleArray:
    """Extrapolate from W through V."""
    W[:] = np.maximum(V + V.dtype.type(step) * (V - W), 0)
    return _grams(W, cuts)


def _chunks(V: Array, cuts: NDArray[np.int64] | None) -> list[slice]:
    return [slice(first, last) for first, last in pairwise(row_chunks(len(V)) if cuts is None else cuts)]


def _grams(V: Array, cuts: NDArray[np.int64] | None) -> DoubleArray:
    width = V.shape[1]
    return np.array([gram_of(V[rows]) for rows in _chunks(V, cuts)]).reshape(-1, width, width)


def deflate(R: Residual, U: Array, V: Array) -> DoubleArray:
    """Subtract ``U V^T`` from R."""
    norms = np.empty(R.n_shards)
    for s in range(R.n_shards):
        rows, columns = R.positions(s)
        left = R.values(s) - np.einsum("ij,ij->i", U[rows], V[columns])
        keep = ~(left <= 0)  # keeps a NaN, so that it shows in the norm
        R.compact(s, keep)
        R.values(s)[:] = left[keep]
        norms[s] = np.square(left[keep], dtype=np.float64).sum()
    return norms


def product(R: ShardedCSR, V: DoubleArray) -> DoubleArray:
    """Compute ``R V``."""
    return np.vstack([R.shard(s) @ V for s in range(R.n_shards)])


def average(R: ShardedCSR, own: DoubleArray, neighbors: DoubleArray, V: DoubleArray, averages: DoubleArray) -> None:
    """Compute ``own V + neighbors (R V)``, where both factors are the diagonals of matrices."""
    averages[:] = own[:, None] * V + neighbors[:, None] * product(R, V)


def gram_product(R: ShardedCSR, V: DoubleArray) -> DoubleArray:
    """Compute ``R^T R V``."""
    result = np.zeros_like(V)
    for s in range(R.n_shards):
        result += R.shard(s).T @ (R.shard(s) @ V)
    return result
