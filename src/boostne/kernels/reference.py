"""The kernels in NumPy and SciPy: slow, short, and what the compiled ones are tested against."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.kernels.sharded import ShardedCSR

# Below this share of the strongest component's weight a component counts as dead.
DEAD = 1e-12


def hals_sweeps(X: NDArray[Any], P: NDArray[Any], gram: NDArray[np.float64], inner: int) -> None:
    """Coordinate descent on ``min_{X >= 0} ||target - X F||^2``, given ``P = target F^T`` and ``gram = F F^T``.

    One column after the other, ``inner`` times, in place::

        X_c <- max(0, X_c + (P_c - X gram_c) / gram_cc)

    A component whose ``gram_cc`` vanished is set to zero.
    """
    gram = gram.astype(X.dtype)
    alive = np.diag(gram) > DEAD * np.diag(gram).max(initial=0.0)
    X[:, ~alive] = 0
    for _ in range(inner):
        for c in np.flatnonzero(alive):
            X[:, c] = np.maximum(X[:, c] + (P[:, c] - X @ gram[:, c]) / gram[c, c], 0)


def gram_of(X: NDArray[Any]) -> NDArray[np.float64]:
    """``X^T X`` in double precision."""
    X64 = X.astype(np.float64)
    return np.asarray(X64.T @ X64)


class ReferenceKernels:
    """The kernels of this module, on one thread."""

    instruction_set = "reference"

    def sweep(
        self, R: ShardedCSR, V: NDArray[Any], gram_v: NDArray[np.float64], U: NDArray[Any], *, inner: int
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Fused pass over the residual: for each row i, ``p = R_i V``, then HALS sweeps of U_i.

        U is updated in place. Returns ``C = R^T U`` with the new U, and ``U^T U``, summed shard by shard.
        """
        C = np.zeros_like(V)
        gram_u = np.zeros((V.shape[1], V.shape[1]))
        for s in range(R.n_shards):
            rows = slice(R.cuts[s], R.cuts[s + 1])
            shard = R.shard(s)
            hals_sweeps(U[rows], shard @ V, gram_v, inner)
            C += shard.T @ U[rows]
            gram_u += gram_of(U[rows])
        return C, gram_u

    def hals(
        self, V: NDArray[Any], C: NDArray[Any], gram_u: NDArray[np.float64], *, inner: int
    ) -> tuple[NDArray[np.float64], float]:
        """HALS sweeps of V against ``C = R^T U`` and ``U^T U``, in place; returns ``V^T V`` and ``<C, V>``."""
        hals_sweeps(V, C, gram_u, inner)
        return gram_of(V), float(np.einsum("ij,ij->", C, V, dtype=np.float64))

    def extrapolate(self, V: NDArray[Any], W: NDArray[Any], step: float) -> NDArray[np.float64]:
        """``W <- max(V + step (V - W), 0)``, in place: a step on from W through V; returns ``W^T W``."""
        W[:] = np.maximum(V + V.dtype.type(step) * (V - W), 0)
        return gram_of(W)

    def deflate(self, R: ShardedCSR, U: NDArray[Any], V: NDArray[Any]) -> float:
        """``R <- max(R - U V^T, 0)`` on R's pattern, in place; entries that became 0 are dropped."""
        norm2 = 0.0
        for s in range(R.n_shards):
            shard = R.shard(s)
            rows = np.repeat(np.arange(R.cuts[s], R.cuts[s + 1]), np.diff(shard.indptr))
            left = shard.data - np.einsum("ij,ij->i", U[rows], V[shard.indices])
            keep = ~(left <= 0)  # so that a NaN is kept, and seen in the norm
            kept_before = np.concatenate([[0], np.cumsum(keep)])
            pointers = R.indptr[R.cuts[s] + s : R.cuts[s + 1] + s + 1]
            span = slice(pointers[0], pointers[0] + kept_before[-1])
            R.indices[span] = shard.indices[keep]
            R.data[span] = left[keep]
            pointers[:] = pointers[0] + kept_before[shard.indptr]
            norm2 += float(np.square(left[keep], dtype=np.float64).sum())
        return norm2

    def walk_columns(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[Any] | None,
        inverse_degree: NDArray[Any],
        scale: NDArray[Any],
        window: int,
        columns: range,
    ) -> list[tuple[NDArray[np.int32], NDArray[Any]]]:
        """Columns of ``log max(scale_c (S + S^2 + … + S^window)_{ic}, 1)``, ``S = D^-1 A``, by Horner's rule.

        ``B <- S (B + I)``, ``window`` times, on a block of columns. Each column comes back as the rows in which
        it is positive, ascending, and its values there.
        """
        n = len(inverse_degree)
        data = np.ones(len(indices), inverse_degree.dtype) if weights is None else weights
        A = sparse.csr_array((data, indices, indptr), shape=(n, n))
        identity = np.zeros((n, len(columns)), inverse_degree.dtype)
        identity[np.arange(columns.start, columns.stop), np.arange(len(columns))] = 1
        B = np.zeros_like(identity)
        for _ in range(window):
            B = inverse_degree[:, None] * (A @ (B + identity))
        B *= scale[columns.start : columns.stop]
        rows = [np.flatnonzero(column > 1).astype(np.int32) for column in B.T]
        return [(kept, np.log(B[kept, c])) for c, kept in enumerate(rows)]

    def push_rows(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[Any] | None,
        inverse_degree: NDArray[Any],
        scale: NDArray[Any],
        epsilon: float,
        window: int,
        cap: int,
        rows: range,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[np.float64]]:
        """Rows of ``log max(scale_k (S + S^2 + … + S^window)_{ik}, 1)`` by forward push, at most ``cap`` entries each.

        A unit of mass starts at node i and takes ``window`` steps; mass below ``epsilon`` times the degree of a
        node other than the start goes no further. Of a row the largest entries are kept, among equal ones those of
        the first columns. Returns the number of entries of each row, their columns, ascending, their values, and the
        share of the row's mass that was dropped: by ε, with the steps it would still have taken, and by the cap.
        """
        n = len(inverse_degree)
        data = np.ones(len(indices), inverse_degree.dtype) if weights is None else weights
        A = sparse.csr_array((data, indices, indptr), shape=(n, n))
        made, dropped = [], np.zeros(len(rows))
        for at, i in enumerate(rows):
            mass, total = np.zeros(n, A.dtype), np.zeros(n, A.dtype)
            mass[i] = 1
            for step in range(window):
                if step > 0:
                    weak = inverse_degree * mass < epsilon
                    dropped[at] += mass[weak].sum(dtype=np.float64) * (window - step)
                    mass[weak] = 0
                mass = A @ (inverse_degree * mass)  # A is symmetric
                total += mass
            entries = total * scale
            columns = np.flatnonzero(entries > 1)
            by_strength = columns[np.argsort(-entries[columns], kind="stable")]
            dropped[at] += total[by_strength[cap:]].sum(dtype=np.float64)
            columns = np.sort(by_strength[:cap])
            made.append((columns, np.log(entries[columns])))
        counts = np.array([len(columns) for columns, _ in made], np.int64)
        columns, values = (np.concatenate(parts) for parts in zip(*made, strict=True))
        return counts, columns.astype(np.int32), values, dropped / window
