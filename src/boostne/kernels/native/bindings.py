"""The compiled kernels behind their C ABI, with the signatures of :mod:`boostne.kernels.reference.kernels`."""

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.kernels.column_blocked_csr import Residual, StripedCSR
from boostne.kernels.push_graph import PushGraph
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.tree_reduction import Part, most_nodes, tree_nodes

if TYPE_CHECKING:
    from boostne.kernels.skipgram import Edges, SkipGram

LIBRARY_NAMES = ("boostne_kernels.so", "boostne_kernels.dylib", "boostne_kernels.dll")
INSTRUCTION_SETS = ("baseline", "avx2", "avx512")
BLOCK_COLUMNS = 16  # kBlockColumns of row_kernels.h
TILE_COLUMNS = 8  # kTile<double> of row_kernels.h
CHUNK_ROWS = 256
MAX_CHUNKS = 64
ALIGNMENT = 64
SUFFIX = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}


def find_library(folders: list[str]) -> Path | None:
    """Return the compiled library in one of the package's folders, if it was built."""
    candidates = (Path(folder) / name for folder in folders for name in LIBRARY_NAMES)
    return next((path for path in candidates if path.is_file()), None)


def aligned_empty(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Uninitialized array on a cache-line boundary: a row of 16 float32 is then one line, not two."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    array: NDArray[Any] = raw[start : start + size].view(dtype).reshape(shape)
    return array


def _pointer(array: NDArray[Any] | None) -> ctypes.c_void_p:
    if array is not None and not array.flags.c_contiguous:
        raise ValueError("kernels take C-contiguous arrays")
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


def _matrix(name: str, R: Residual) -> tuple[str, tuple[Any, ...]]:
    """Return the function of this name for R's layout, and what it takes of R."""
    n_shards = ctypes.c_int64(R.n_shards)
    if isinstance(R, StripedCSR):
        strips = ctypes.c_int64(R.n_strips), ctypes.c_int(R.bits)
        entries = _pointer(R.starts), _pointer(R.places), _pointer(R.data)
        return f"{name}_striped", (n_shards, _pointer(R.blocks), _pointer(R.rows), *strips, *entries)
    return name, (n_shards, _pointer(R.cuts), _pointer(R.indptr), _pointer(R.indices), _pointer(R.data))


def _chunks(n_rows: int) -> ctypes.c_int64:
    # Depends on the rows alone: sums over chunks are then the same for any number of threads.
    return ctypes.c_int64(max(1, min(MAX_CHUNKS, n_rows // CHUNK_ROWS)))


class NativeKernels:
    """The kernels of one shared library, on one instruction set and a number of threads."""

    def __init__(self, library: Path, instruction_set: str | None, threads: int) -> None:
        self._library = ctypes.CDLL(str(library))
        best = self._library.boostne_best_isa()
        self._isa = best if instruction_set is None else INSTRUCTION_SETS.index(instruction_set)
        if self._isa > best:
            raise ParameterError(
                f"this machine has no {instruction_set}; its best is {INSTRUCTION_SETS[best]}"
            )
        self.instruction_set = INSTRUCTION_SETS[self._isa]
        self.threads = threads
        self._scratch: NDArray[Any] = np.empty((0, 0))

    def _call(self, name: str, dtype: np.dtype[Any], *arguments: Any) -> None:
        function = getattr(self._library, f"boostne_{name}_{SUFFIX[dtype]}")
        function.restype = None
        function(ctypes.c_int(self._isa), ctypes.c_int(self.threads), *arguments)

    def _scratch_for(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        # Kept between calls: fresh pages would cost more than the work that many calls do in them.
        if self._scratch.shape != shape or self._scratch.dtype != dtype:
            self._scratch = aligned_empty(shape, dtype)
        return self._scratch

    def stripe(
        self,
        indptr: NDArray[np.int64],
        columns: NDArray[np.int32],
        data: NDArray[Any],
        rows: NDArray[np.int64],
        starts: NDArray[np.int64],
        bits: int,
    ) -> None:
        """Sort entries by strips; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.stripe`."""
        self._call(
            "stripe", data.dtype, ctypes.c_int64(len(rows) - 1), _pointer(rows), ctypes.c_int64(starts.shape[1] - 1),
            ctypes.c_int(bits), _pointer(indptr), _pointer(columns), _pointer(data), _pointer(starts),
        )  # fmt: skip

    def sweep(
        self, R: Residual, V: NDArray[Any], gram_v: NDArray[np.float64], U: NDArray[Any], *, inner: int
    ) -> tuple[list[Part], NDArray[np.float64]]:
        """Fused pass; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.sweep`."""
        n_columns, width = V.shape
        nodes = tree_nodes(R.first_shard, R.n_shards)
        sums = aligned_empty((len(nodes) * n_columns, width), V.dtype)
        grams = np.empty((R.n_shards, width, width))
        buffers = min(self.threads, R.n_shards) + most_nodes(R.first_shard, R.n_shards)
        scratch = self._scratch_for(((1 + buffers) * n_columns, width), V.dtype)
        name, matrix = _matrix("sweep", R)
        self._call(
            name, V.dtype, ctypes.c_int64(R.first_shard), *matrix, ctypes.c_int64(n_columns),
            ctypes.c_int64(width), ctypes.c_int(inner), _pointer(V), _pointer(gram_v), _pointer(U),
            _pointer(sums), _pointer(grams), ctypes.c_int64(buffers), _pointer(scratch),
        )  # fmt: skip
        return [Part(*node, sums[i * n_columns :][:n_columns]) for i, node in enumerate(nodes)], grams

    def hals(
        self, V: NDArray[Any], C: NDArray[Any], gram_u: NDArray[np.float64], *, inner: int
    ) -> tuple[NDArray[np.float64], float]:
        """HALS on V; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.hals`."""
        n_rows, width = V.shape
        gram_v = np.empty((width, width))
        product = ctypes.c_double()
        self._call(
            "hals", V.dtype, _chunks(n_rows), ctypes.c_int64(n_rows), ctypes.c_int64(width),
            ctypes.c_int(inner), _pointer(C), _pointer(gram_u), _pointer(V), _pointer(gram_v),
            ctypes.byref(product),
        )  # fmt: skip
        return gram_v, product.value

    def extrapolate(self, V: NDArray[Any], W: NDArray[Any], step: float) -> NDArray[np.float64]:
        """Step beyond V; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.extrapolate`."""
        n_rows, width = V.shape
        gram_w = np.empty((width, width))
        self._call(
            "extrapolate", V.dtype, _chunks(n_rows), ctypes.c_int64(n_rows), ctypes.c_int64(width),
            ctypes.c_double(step), _pointer(V), _pointer(W), _pointer(gram_w),
        )  # fmt: skip
        return gram_w

    def deflate(self, R: Residual, U: NDArray[Any], V: NDArray[Any]) -> NDArray[np.float64]:
        """Deflation; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.deflate`."""
        norms = np.empty(R.n_shards)
        name, matrix = _matrix("deflate", R)
        self._call(
            name, V.dtype, *matrix, ctypes.c_int64(V.shape[1]), _pointer(U), _pointer(V), _pointer(norms)
        )
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
        """DeepWalk's columns; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.walk_columns`."""
        return self._walks(
            "walk_columns",
            columns,
            inverse_degree,
            *map(_pointer, (indptr, indices, weights, inverse_degree, scale)),
            ctypes.c_int(window),
        )

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
        """GraRep's rows; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.step_rows`."""
        return self._walks(
            "step_rows",
            rows,
            inverse_degree,
            *map(_pointer, (indptr, indices, weights, inverse_degree, *scales)),
            ctypes.c_int(steps),
        )

    def _walks(
        self, name: str, made: range, inverse_degree: NDArray[Any], *arguments: Any
    ) -> list[tuple[NDArray[np.int32], NDArray[Any]]]:
        """Call what makes rows or columns from walks, with room for them: positions and values of each."""
        n, dtype = len(inverse_degree), inverse_degree.dtype
        slots = -(-len(made) // BLOCK_COLUMNS) * BLOCK_COLUMNS
        work = self._scratch_for((2 * self.threads * n, BLOCK_COLUMNS), dtype)
        counts = np.empty(slots, np.int64)
        at = np.empty((slots, n), np.int32)
        values = np.empty((slots, n), dtype)
        self._call(
            name, dtype, ctypes.c_int64(made.start), ctypes.c_int64(made.stop), ctypes.c_int64(n), *arguments,
            _pointer(work), _pointer(at), _pointer(values), _pointer(counts),
        )  # fmt: skip
        return [(at[c, : counts[c]], values[c, : counts[c]]) for c in range(len(made))]

    def product(self, R: ShardedCSR, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Product with a block; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.product`."""
        return self._products(R, V, gram=False)

    def gram_product(self, R: ShardedCSR, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Product there and back; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.gram_product`."""
        return self._products(R, V, gram=True)

    def _products(self, R: ShardedCSR, V: NDArray[np.float64], *, gram: bool) -> NDArray[np.float64]:
        missing = -V.shape[1] % TILE_COLUMNS
        padded = np.pad(V, [(0, 0), (0, missing)]) if missing else V
        n_columns, width = padded.shape
        U = aligned_empty((R.n_rows, width), V.dtype)
        C = aligned_empty(padded.shape, V.dtype) if gram else None
        accumulators = min(self.threads, R.n_shards) if gram else 0
        scratch = self._scratch_for(((1 + accumulators) * n_columns, width), V.dtype)
        self._call(
            "product", R.data.dtype, ctypes.c_int64(R.n_shards), _pointer(R.cuts), _pointer(R.indptr),
            _pointer(R.indices), _pointer(R.data), ctypes.c_int64(n_columns), ctypes.c_int64(width),
            _pointer(padded), _pointer(U), _pointer(C), _pointer(scratch),
        )  # fmt: skip
        return (U if C is None else C)[:, : V.shape[1]]

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
        """Random walks; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.random_walks`."""
        walks = np.empty((len(starts), length), np.int32)
        function = self._library.boostne_random_walks
        function.restype = None
        function(
            ctypes.c_int(self.threads), ctypes.c_int64(len(starts)), ctypes.c_int64(length), _pointer(indptr),
            _pointer(indices), _pointer(cumulative), _pointer(starts), ctypes.c_double(p), ctypes.c_double(q),
            ctypes.c_uint64(seed), ctypes.c_uint64(first), _pointer(walks),
        )  # fmt: skip
        return walks

    def train_walks(
        self,
        model: "SkipGram",
        walks: NDArray[np.int32],
        *,
        window: int,
        rates: tuple[float, float],
        seed: int,
    ) -> None:
        """Skip-gram on walks; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.train_walks`."""
        self._train(
            "train_walks", model, rates, seed, _pointer(walks), ctypes.c_int64(walks.shape[0]),
            ctypes.c_int64(walks.shape[1]), ctypes.c_int64(window),
        )  # fmt: skip

    def train_edges(
        self, model: "SkipGram", edges: "Edges", samples: int, *, rates: tuple[float, float], seed: int
    ) -> None:
        """Skip-gram on edges; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.train_edges`."""
        thresholds, aliases = (edges.table.threshold, edges.table.alias) if edges.table else (None, None)
        self._train(
            "train_edges", model, rates, seed, _pointer(edges.source), _pointer(edges.target),
            _pointer(thresholds), _pointer(aliases),
            ctypes.c_int64(len(edges.source)), ctypes.c_int64(samples),
        )  # fmt: skip

    def _train(
        self, name: str, model: "SkipGram", rates: tuple[float, float], seed: int, *source: Any
    ) -> None:
        noise = model.noise
        self._call(
            name, model.vectors.dtype, ctypes.c_int64(noise.n_parts), _pointer(noise.part), _pointer(noise.cuts),
            _pointer(noise.threshold), _pointer(noise.node), _pointer(noise.alias), ctypes.c_int(model.negative),
            ctypes.c_int64(model.vectors.shape[1]), _pointer(model.vectors), _pointer(model.contexts),
            ctypes.c_float(rates[0]), ctypes.c_float(rates[1]), ctypes.c_uint64(seed), *source,
        )  # fmt: skip

    def push_rows(
        self, graph: PushGraph, *, factor: float, epsilon: float, window: int, cap: int, rows: range
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[np.float64]]:
        """Forward push; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.push_rows`."""
        dtype = graph.inverse_degree.dtype
        counts, dropped = np.empty(len(rows), np.int64), np.empty(len(rows))
        columns, values = np.empty(len(rows) * cap, np.int32), np.empty(len(rows) * cap, dtype)
        self._call(
            "push_rows", dtype, ctypes.c_int64(rows.start), ctypes.c_int64(rows.stop), ctypes.c_int64(graph.n),
            _pointer(graph.indptr), _pointer(graph.indices), _pointer(graph.weights), _pointer(graph.inverse_degree),
            _pointer(graph.target_inverse_degree), ctypes.c_double(factor), ctypes.c_double(epsilon),
            ctypes.c_int(window), ctypes.c_int64(cap), _pointer(columns), _pointer(values), _pointer(counts),
            _pointer(dropped),
        )  # fmt: skip
        total = int(counts.sum())
        return counts, columns[:total], values[:total], dropped

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
        """Label propagation; see :meth:`boostne.kernels.reference.kernels.ReferenceKernels.communities`."""
        labels = np.empty(len(indptr) - 1, np.int32)
        function = self._library.boostne_communities
        function.restype = None
        function(
            ctypes.c_int64(len(labels)), _pointer(indptr), _pointer(indices), _pointer(weights),
            ctypes.c_int64(most), ctypes.c_int(rounds), ctypes.c_int64(settled), _pointer(labels),
        )  # fmt: skip
        return labels
