"""HALS updates, deflation and sparse products in NumPy."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.kernels.column_blocked_csr import Residual
from boostne.kernels.contract import DEAD_COMPONENT
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.tree_reduction import PartialSum, merge_partials


def hals_sweeps(X: NDArray[Any], P: NDArray[Any], gram: NDArray[np.float64], inner: int) -> None:
    """Coordinate descent on ``min_{X >= 0} ||target - X F||^2``, given ``P = target F^T`` and ``gram = F F^T``.

    Updates the columns of X in place, one after the other, ``inner`` times::

        X_c <- max(0, X_c + (P_c - X gram_c) / gram_cc)

    Dead components, whose ``gram_cc`` vanished, are set to zero.
    """
    gram = gram.astype(X.dtype)
    alive = np.diag(gram) > DEAD_COMPONENT * np.diag(gram).max(initial=0.0)
    X[:, ~alive] = 0
    for _ in range(inner):
        for c in np.flatnonzero(alive):
            X[:, c] = np.maximum(X[:, c] + (P[:, c] - X @ gram[:, c]) / gram[c, c], 0)


def gram_of(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``X^T X`` in double precision."""
    X64 = X.astype(np.float64)
    return np.asarray(X64.T @ X64)


def stripe(
    indptr: NDArray[np.int64],
    columns: NDArray[np.int32],
    data: NDArray[Any],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    bits: int,
) -> None:
    """Sort entries by strips of columns."""
    for b, (first, last) in enumerate(pairwise(rows)):
        span = slice(indptr[first], indptr[last])
        strips = columns[span] >> bits
        order = np.argsort(strips, kind="stable")
        row = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
        packed = (row << bits) | (columns[span] & ((1 << bits) - 1))
        columns.view(np.uint32)[span] = packed[order]
        data[span] = data[span][order]
        starts[b] = span.start + np.searchsorted(strips[order], np.arange(starts.shape[1]))


def sweep(
    R: Residual, V: NDArray[Any], gram_v: NDArray[np.float64], U: NDArray[Any], *, inner: int
) -> tuple[list[PartialSum], NDArray[np.float64]]:
    """Update U and compute ``R^T U``."""
    partials: list[PartialSum] = []
    grams = np.empty((R.n_shards, V.shape[1], V.shape[1]))
    for s in range(R.n_shards):
        rows = slice(R.cuts[s], R.cuts[s + 1])
        shard = R.shard(s)
        hals_sweeps(U[rows], shard @ V, gram_v, inner)
        new = PartialSum(0, R.first_shard + s, np.asarray(shard.T @ U[rows]))
        partials = merge_partials(partials, [new])
        grams[s] = gram_of(U[rows])
    return partials, grams


def hals(
    V: NDArray[Any], C: NDArray[Any], gram_u: NDArray[np.float64], *, inner: int
) -> tuple[NDArray[np.float64], float]:
    """Update V."""
    hals_sweeps(V, C, gram_u, inner)
    return gram_of(V), float(np.einsum("ij,ij->", C, V, dtype=np.float64))


def extrapolate(V: NDArray[Any], W: NDArray[Any], step: float) -> NDArray[np.float64]:
    """Extrapolate from W through V."""
    W[:] = np.maximum(V + V.dtype.type(step) * (V - W), 0)
    return gram_of(W)


def deflate(R: Residual, U: NDArray[Any], V: NDArray[Any]) -> NDArray[np.float64]:
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


def product(R: ShardedCSR, V: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute ``R V``."""
    return np.vstack([R.shard(s) @ V for s in range(R.n_shards)])


def gram_product(R: ShardedCSR, V: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute ``R^T R V``."""
    result = np.zeros_like(V)
    for s in range(R.n_shards):
        result += R.shard(s).T @ (R.shard(s) @ V)
    return result
