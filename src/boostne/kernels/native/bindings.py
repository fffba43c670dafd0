"""The compiled kernels behind their C interface; :mod:`boostne.kernels.contract` documents the methods."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.kernels import KERNELS
from boostne.kernels.column_blocked_csr import ColumnBlockedCSR, Residual
from boostne.kernels.contract import DEAD_COMPONENT, Array, DoubleArray, IndexArray, Kernels, PushedRows, SparseRows
from boostne.kernels.csr_graph import CSRGraph, TransitionGraph, WalkGraph
from boostne.kernels.layout import BLOCK_COLUMNS, aligned_empty, round_up, row_chunks, tile_width
from boostne.kernels.native.library import load_library
from boostne.kernels.push_graph import PushGraph
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.skipgram import Edges, SkipGram
from boostne.kernels.tree_reduction import PartialSum, max_pending_nodes, tree_nodes

INSTRUCTION_SETS = KERNELS[1:]
SUFFIX = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}


def _residual(name: str, R: Residual) -> tuple[str, tuple[Any, ...]]:
    """Return the name of the function for R's layout and the arguments that describe R."""
    if isinstance(R, ColumnBlockedCSR):
        entries = R.starts, R.packed_indices, R.data
        return f"{name}_column_blocked", (R.n_shards, R.blocks, R.rows, R.n_strips, R.bits, *entries)
    return name, (R.n_shards, R.cuts, R.indptr, R.indices, R.data)


def _check_factors(R: Residual, U: Array, V: Array) -> None:
    if U.shape != (R.n_rows, V.shape[1]) or len(V) != R.n_columns:
        raise ValueError(f"factors of shapes {U.shape} and {V.shape} do not fit a {R.n_rows} by {R.n_columns} matrix")


def _checked_cuts(V: Array, cuts: NDArray[np.int64] | None) -> NDArray[np.int64]:
    if cuts is None:
        return row_chunks(len(V))
    if cuts[0] != 0 or cuts[-1] != len(V) or (np.diff(cuts) < 0).any():
        raise ValueError(f"chunks must cover {len(V)} rows in order; got the boundaries {cuts}")
    return cuts


def _check_same_shape(V: Array, W: Array) -> None:
    if V.shape != W.shape:
        raise ValueError(f"both matrices must have the same shape; got {V.shape} and {W.shape}")


class NativeKernels(Kernels):
    """Kernels of the compiled library, for one instruction set and a number of threads."""

    def __init__(self, library: Path, instruction_set: str | None, threads: int) -> None:
        self._library = load_library(library)
        best = self._library.boostne_best_isa()
        self._isa = best if instruction_set is None else INSTRUCTION_SETS.index(instruction_set)
        if self._isa > best:
            raise ParameterError(
                f"this machine does not support {instruction_set}; its best instruction set is {INSTRUCTION_SETS[best]}"
            )
        self.instruction_set = INSTRUCTION_SETS[self._isa]
        self.threads = threads
        self._scratch: Array = np.empty((0, 0))

    def _call(self, name: str, *arguments: Any) -> None:
        getattr(self._library, f"boostne_{name}")(*arguments)

    def _call_typed(self, name: str, dtype: np.dtype[Any], *arguments: Any) -> None:
        self._call(f"{name}_{SUFFIX[dtype]}", self._isa, self.threads, *arguments)

    def _scratch_for(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
        # Reused across calls: page faults on new memory can cost more than the call itself.
        if self._scratch.shape != shape or self._scratch.dtype != dtype:
            self._scratch = aligned_empty(shape, dtype)
        return self._scratch

    def stripe(self, indptr: NDArray[np.int64], R: ColumnBlockedCSR) -> None:
        entries = R.packed_indices, R.data, R.starts
        self._call_typed("stripe", R.data.dtype, len(R.rows) - 1, R.rows, R.n_strips, R.bits, indptr, *entries)

    def sweep(
        self, R: Residual, V: Array, gram_v: DoubleArray, U: Array, *, inner: int
    ) -> tuple[list[PartialSum], DoubleArray]:
        _check_factors(R, U, V)
        n_columns, width = V.shape
        nodes = tree_nodes(R.first_shard, R.n_shards)
        sums = aligned_empty((len(nodes) * n_columns, width), V.dtype)
        grams = np.empty((R.n_shards, width, width))
        pending = max_pending_nodes(R.first_shard, R.n_shards)
        # A column-blocked R needs accumulators for some columns at a time, which the kernel allocates itself.
        buffers = pending + (1 if isinstance(R, ColumnBlockedCSR) else min(self.threads, R.n_shards))
        n_tiles = n_columns if width > tile_width(V.dtype) else 0
        n_accumulated = 0 if isinstance(R, ColumnBlockedCSR) else buffers * n_columns
        scratch = self._scratch_for((n_tiles + n_accumulated, width), V.dtype)
        name, matrix = _residual("sweep", R)
        self._call_typed(
            name, V.dtype, R.first_shard, *matrix, n_columns, width, inner, DEAD_COMPONENT, V, gram_v, U, sums,
            grams, scratch[:n_tiles] if n_tiles else None, buffers, *([scratch[n_tiles:]] if n_accumulated else []),
        )  # fmt: skip
        return [PartialSum(*node, sums[i * n_columns :][:n_columns]) for i, node in enumerate(nodes)], grams

    def solve_rows(self, R: ShardedCSR, V: Array, gram_v: DoubleArray, U: Array, *, inner: int) -> None:
        _check_factors(R, U, V)
        n_columns, width = V.shape
        tiles = self._scratch_for(V.shape, V.dtype) if width > tile_width(V.dtype) else None
        _, matrix = _residual("solve_rows", R)
        self._call_typed("solve_rows", V.dtype, *matrix, n_columns, width, inner, DEAD_COMPONENT, V, gram_v, U, tiles)

    def hals(
        self, V: Array, C: Array, gram_u: DoubleArray, *, inner: int, cuts: NDArray[np.int64] | None = None
    ) -> tuple[DoubleArray, DoubleArray]:
        _check_same_shape(V, C)
        cuts, width = _checked_cuts(V, cuts), V.shape[1]
        grams, products = np.empty((len(cuts) - 1, width, width)), np.empty(len(cuts) - 1)
        self._call_typed(
            "hals", V.dtype, len(products), cuts, width, inner, DEAD_COMPONENT, C, gram_u, V, grams, products
        )  # fmt: skip
        return grams, products

    def extrapolate(self, V: Array, W: Array, step: float, cuts: NDArray[np.int64] | None = None) -> DoubleArray:
        _check_same_shape(V, W)
        cuts, width = _checked_cuts(V, cuts), V.shape[1]
        grams = np.empty((len(cuts) - 1, width, width))
        self._call_typed("extrapolate", V.dtype, len(grams), cuts, width, step, V, W, grams)
        return grams

    def deflate(self, R: Residual, U: Array, V: Array) -> DoubleArray:
        _check_factors(R, U, V)
        norms = np.empty(R.n_shards)
        name, matrix = _residual("deflate", R)
        self._call_typed(name, V.dtype, *matrix, V.shape[1], U, V, norms)
        return norms

    def walk_columns(
        self, graph: TransitionGraph, scale: Array, window: int, columns: range, row_scale: Array | None = None
    ) -> SparseRows:
        back = graph.reversed
        return self._walk_rows(
            "walk_columns", graph, columns, back.indptr, back.indices, back.weights, scale, row_scale, window
        )

    def step_rows(self, graph: TransitionGraph, scales: tuple[Array, Array], steps: int, rows: range) -> SparseRows:
        return self._walk_rows("step_rows", graph, rows, *scales, steps)

    def _walk_rows(self, name: str, graph: TransitionGraph, rows: range, *arguments: Any) -> SparseRows:
        """Allocate the output of a function that computes rows from walks, and call it."""
        dtype = graph.inverse_degree.dtype
        slots = round_up(len(rows), BLOCK_COLUMNS)
        threads = min(self.threads, slots // BLOCK_COLUMNS)
        scratch = self._scratch_for((2 * threads * graph.n, BLOCK_COLUMNS), dtype)
        counts = np.empty(slots, np.int64)
        indices, values = np.empty((slots, graph.n), np.int32), np.empty((slots, graph.n), dtype)
        self._call_typed(
            name, dtype, rows.start, rows.stop, graph.n, graph.indptr, graph.indices, graph.weights,
            graph.inverse_degree, *arguments, scratch, indices, values, counts,
        )  # fmt: skip
        return [(indices[i, : counts[i]], values[i, : counts[i]]) for i in range(len(rows))]

    def push_rows(
        self,
        graph: PushGraph,
        *,
        factor: float,
        epsilon: float,
        window: int,
        cap: int,
        rows: range,
        first_column: int = 0,
    ) -> PushedRows:
        dtype = graph.inverse_degree.dtype
        counts, dropped = np.empty(len(rows), np.int64), np.empty(len(rows))
        columns, values = np.empty(len(rows) * cap, np.int32), np.empty(len(rows) * cap, dtype)
        self._call_typed(
            "push_rows", dtype, rows.start, rows.stop, graph.n, graph.indptr, graph.indices, graph.weights,
            graph.inverse_degree, graph.target_inverse_degree, graph.directed, factor, epsilon, window, cap,
            first_column, columns,
            values, counts, dropped,
        )  # fmt: skip
        total = int(counts.sum())
        return counts, columns[:total], values[:total], dropped

    def communities(self, graph: CSRGraph, *, max_size: int, max_rounds: int, tolerated_changes: int) -> IndexArray:
        labels = np.empty(graph.n, np.int32)
        self._call(
            "communities", graph.n, graph.indptr, graph.indices, graph.weights, max_size, max_rounds,
            tolerated_changes, labels,
        )  # fmt: skip
        return labels

    def random_walks(
        self, graph: WalkGraph, starts: IndexArray, length: int, *, p: float, q: float, seed: int, first: int
    ) -> IndexArray:
        walks = np.empty((len(starts), length), np.int32)
        self._call(
            "random_walks", self.threads, len(starts), length, graph.indptr, graph.indices, graph.cumulative, starts,
            p, q, seed, first, walks,
        )  # fmt: skip
        return walks

    def train_walks(
        self, model: SkipGram, walks: IndexArray, *, window: int, rates: tuple[float, float], seed: int
    ) -> None:
        self._train("train_walks", model, rates, seed, walks, *walks.shape, window)

    def train_edges(
        self, model: SkipGram, edges: Edges, samples: int, *, rates: tuple[float, float], seed: int
    ) -> None:
        table = (edges.table.threshold, edges.table.alias) if edges.table else (None, None)
        source = edges.source, edges.target, *table, len(edges.source), samples
        self._train("train_edges", model, rates, seed, *source)

    def _train(self, name: str, model: SkipGram, rates: tuple[float, float], seed: int, *source: Any) -> None:
        noise, vectors = model.noise, model.vectors
        self._call_typed(
            name, vectors.dtype, noise.n_parts, noise.part, noise.cuts, noise.threshold, noise.node, noise.alias,
            model.negative, vectors.shape[1], vectors, model.contexts, *rates, seed, *source,
        )  # fmt: skip

    def product(self, R: ShardedCSR, V: DoubleArray) -> DoubleArray:
        return self._product(R, V, gram=False)

    def gram_product(self, R: ShardedCSR, V: DoubleArray) -> DoubleArray:
        return self._product(R, V, gram=True)

    def average(
        self, R: ShardedCSR, own: DoubleArray, neighbors: DoubleArray, V: DoubleArray, averages: DoubleArray
    ) -> None:
        shape = (R.n_columns, tile_width(V.dtype))
        if V.shape != shape or averages.shape != shape or not len(own) == len(neighbors) == R.n_rows == R.n_columns:
            raise ValueError(
                f"blocks of shapes {V.shape} and {averages.shape} do not fit {R.n_rows} rows and {R.n_columns} columns"
            )
        _, matrix = _residual("average", R)
        self._call_typed("average", R.data.dtype, *matrix, own, neighbors, V, averages)

    def _product(self, R: ShardedCSR, V: DoubleArray, *, gram: bool) -> DoubleArray:
        missing = -V.shape[1] % tile_width(V.dtype)
        padded = np.pad(V, [(0, 0), (0, missing)]) if missing else V
        n_columns, width = padded.shape
        U = aligned_empty((R.n_rows, width), V.dtype)
        C = aligned_empty(padded.shape, V.dtype) if gram else None
        accumulators = min(self.threads, R.n_shards) if gram else 0
        scratch = self._scratch_for(((1 + accumulators) * n_columns, width), V.dtype)
        _, matrix = _residual("product", R)
        self._call_typed("product", R.data.dtype, *matrix, n_columns, width, padded, U, C, scratch)
        return (U if C is None else C)[:, : V.shape[1]]
