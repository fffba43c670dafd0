"""The kernels in NumPy and SciPy: slow, short, and what the compiled ones are tested against."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.kernels.column_blocked_csr import Residual
from boostne.kernels.push_graph import PushGraph
from boostne.kernels.reference import skipgram as reference_skipgram
from boostne.kernels.reference.walks import Random, Walks
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.skipgram import Edges, SkipGram
from boostne.kernels.tree_reduction import Part, join

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
    threads = 1

    def stripe(
        self,
        indptr: NDArray[np.int64],
        columns: NDArray[np.int32],
        data: NDArray[Any],
        rows: NDArray[np.int64],
        starts: NDArray[np.int64],
        bits: int,
    ) -> None:
        """Sort the entries of each block of rows by strips of ``2**bits`` columns, in place, otherwise as they were.

        Columns become places and ``starts`` is filled; see :class:`boostne.kernels.column_blocked_csr.StripedCSR`.
        """
        for b, (first, last) in enumerate(pairwise(rows)):
            span = slice(indptr[first], indptr[last])
            strips = columns[span] >> bits
            order = np.argsort(strips, kind="stable")
            row = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
            places = (row << bits) | (columns[span] & ((1 << bits) - 1))
            columns.view(np.uint32)[span] = places[order]
            data[span] = data[span][order]
            starts[b] = span.start + np.searchsorted(strips[order], np.arange(starts.shape[1]))

    def sweep(
        self, R: Residual, V: NDArray[Any], gram_v: NDArray[np.float64], U: NDArray[Any], *, inner: int
    ) -> tuple[list[Part], NDArray[np.float64]]:
        """Fused pass over the residual: for each row i, ``p = R_i V``, then HALS sweeps of U_i.

        U is updated in place. Returns ``C = R^T U`` with the new U as sums over shards, which
        :func:`boostne.kernels.tree_reduction.total` adds up, and ``U^T U`` of each shard.
        """
        parts: list[Part] = []
        grams = np.empty((R.n_shards, V.shape[1], V.shape[1]))
        for s in range(R.n_shards):
            rows = slice(R.cuts[s], R.cuts[s + 1])
            shard = R.shard(s)
            hals_sweeps(U[rows], shard @ V, gram_v, inner)
            parts = join(parts, [Part(0, R.first_shard + s, np.asarray(shard.T @ U[rows]))])
            grams[s] = gram_of(U[rows])
        return parts, grams

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

    def deflate(self, R: Residual, U: NDArray[Any], V: NDArray[Any]) -> NDArray[np.float64]:
        """``R <- max(R - U V^T, 0)`` on R's pattern, in place; entries that became 0 are dropped.

        Returns the squared norm of each shard.
        """
        norms = np.empty(R.n_shards)
        for s in range(R.n_shards):
            span = R.span(s)
            rows, columns = R.positions(s)
            left = R.data[span] - np.einsum("ij,ij->i", U[rows], V[columns])
            keep = ~(left <= 0)  # so that a NaN is kept, and seen in the norm
            R.compact(s, keep)
            R.values(s)[:] = left[keep]
            norms[s] = np.square(left[keep], dtype=np.float64).sum()
        return norms

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

    def random_walks(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        cumulative: NDArray[np.float64] | None,
        starts: NDArray[np.int32],
        length: int,
        *,
        p: float = 1.0,
        q: float = 1.0,
        seed: int = 0,
        first: int = 0,
    ) -> NDArray[np.int32]:
        """Random walks with node2vec's return and in-out parameters.

        A walk that came from t and is at v goes on to x with a chance in proportion to the weight of (v, x), times
        ``1/p`` if x is t, 1 if there is an edge (t, x), and ``1/q`` otherwise; its first step, or any if
        ``p = q = 1``, goes by weight alone. A walk ends where no edge leaves; what follows in its row is -1.

        Parameters
        ----------
        indptr, indices
            Rows of the adjacency; columns ascend in each.
        cumulative
            In each row the sums of its weights up to and with each edge; None means that all weights are 1.
        starts
            First node of each walk.
        length
            Nodes of a walk, the first one included.
        p, q
            Return parameter and in-out parameter.
        seed
            Only its lower 64 bits count.
        first
            Number of the first walk. A walk depends on the seed, its number and its start alone, so that walks
            may be made in chunks, on any number of threads.
        """
        made = Walks(indptr, indices, cumulative, p, q)
        walks = np.empty((len(starts), length), np.int32)
        for i, start in enumerate(starts):
            walks[i] = made.walk(int(start), length, Random(seed, first + i))
        return walks

    def step_rows(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[Any] | None,
        inverse_degree: NDArray[Any],
        scales: tuple[NDArray[Any], NDArray[Any]],
        steps: int,
        rows: range,
    ) -> list[tuple[NDArray[np.int32], NDArray[Any]]]:
        """Rows of ``log max(from_i (S^steps)_{ji} to_j, 1)``, ``S = D^-1 A``; ``scales`` are from and to.

        A is symmetric, so ``(S^p)_ij = d_j / d_i (S^p)_ji``, and a row comes from a column: ``B <- S B``, on a
        block of columns. Each row comes back as the columns in which it is positive, ascending, and its values
        there.
        """
        n = len(inverse_degree)
        data = np.ones(len(indices), inverse_degree.dtype) if weights is None else weights
        A = sparse.csr_array((data, indices, indptr), shape=(n, n))
        B = np.zeros((n, len(rows)), inverse_degree.dtype)
        B[np.arange(rows.start, rows.stop), np.arange(len(rows))] = 1
        for _ in range(steps):
            B = inverse_degree[:, None] * (A @ B)
        B *= scales[0][rows.start : rows.stop] * scales[1][:, None]
        kept = [np.flatnonzero(row > 1).astype(np.int32) for row in B.T]
        return [(at, np.log(B[at, i])) for i, at in enumerate(kept)]

    def product(self, R: ShardedCSR, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """``R V`` of a dense block V; R may be in float32, its entries are widened one by one."""
        return np.vstack([R.shard(s) @ V for s in range(R.n_shards)])

    def gram_product(self, R: ShardedCSR, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """``R^T R V`` of a dense block V, summed shard by shard."""
        total = np.zeros_like(V)
        for s in range(R.n_shards):
            total += R.shard(s).T @ (R.shard(s) @ V)
        return total

    def train_walks(
        self,
        model: SkipGram,
        walks: NDArray[np.int32],
        *,
        window: int,
        rates: tuple[float, float],
        seed: int,
    ) -> None:
        """Train on walks, (walks, length) and padded with -1, while the rate goes from the first to the second.

        Every node of a walk is the output of pairs whose inputs lie up to b steps before and after it on the walk;
        b is drawn from 1 … window for each.
        """
        reference_skipgram.train_walks(model, walks, window=window, rates=rates, seed=seed)

    def train_edges(
        self, model: SkipGram, edges: Edges, samples: int, *, rates: tuple[float, float], seed: int
    ) -> None:
        """Train on so many edges, drawn by their weights; the source is the input, the target the output."""
        reference_skipgram.train_edges(model, edges, samples, rates=rates, seed=seed)

    def push_rows(
        self, graph: PushGraph, *, factor: float, epsilon: float, window: int, cap: int, rows: range
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[np.float64]]:
        """Rows of ``log max(factor (S + S^2 + … + S^window)_{ik} / d_k, 1)`` by forward push, ``cap`` entries at most.

        A unit of mass starts at node i and takes ``window`` steps; mass below ``epsilon`` times the degree of a
        node other than the start goes no further. Of a row the largest entries are kept, among equal ones those of
        the first columns. Returns the number of entries of each row, their columns, ascending, their values, and the
        share of the row's mass that was dropped: by ε, with the steps it would still have taken, and by the cap.
        """
        n, inverse_degree = graph.n, graph.inverse_degree
        data = np.ones(len(graph.indices), inverse_degree.dtype) if graph.weights is None else graph.weights
        A = sparse.csr_array((data, graph.indices, graph.indptr), shape=(n, n))
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
            entries = total * inverse_degree * inverse_degree.dtype.type(factor)
            columns = np.flatnonzero(entries > 1)
            by_strength = columns[np.argsort(-entries[columns], kind="stable")]
            dropped[at] += total[by_strength[cap:]].sum(dtype=np.float64)
            columns = np.sort(by_strength[:cap])
            made.append((columns, np.log(entries[columns])))
        counts = np.array([len(columns) for columns, _ in made], np.int64)
        columns, values = (np.concatenate(parts) for parts in zip(*made, strict=True))
        return counts, columns.astype(np.int32), values, dropped / window

    def communities(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[np.float32] | None,
        *,
        most: int,
        rounds: int,
        settled: int,
    ) -> NDArray[np.int32]:
        """Find communities by label propagation.

        Every node begins with a label of its own. In each round, one after the other, nodes take the label that weighs
        most among their neighbors, if it weighs more than the one that they have and fewer than ``most`` nodes hold
        it; among equals the one of the first neighbor. It ends after ``rounds``, or when at most ``settled`` nodes
        changed their label.
        """
        n = len(indptr) - 1
        labels, size = list(range(n)), [1] * n
        for _ in range(rounds):
            changed = 0
            for v in range(n):
                edges = range(indptr[v], indptr[v + 1])
                score = {labels[v]: 0.0}
                for e in edges:
                    label = labels[indices[e]]
                    score[label] = score.get(label, 0.0) + (1.0 if weights is None else float(weights[e]))
                best = own = labels[v]
                for label, weight in score.items():
                    if weight > score[best] and size[label] < most:
                        best = label
                size[own] -= 1
                size[best] += 1
                labels[v] = best
                changed += best != own
            if changed <= settled:
                break
        return np.array(labels, np.int32)
