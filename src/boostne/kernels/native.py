"""The compiled kernels behind their C ABI, with the signatures of :mod:`boostne.kernels.reference`."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.kernels.sharded import ShardedCSR

LIBRARY_NAMES = ("boostne_kernels.so", "boostne_kernels.dylib", "boostne_kernels.dll")
INSTRUCTION_SETS = ("baseline", "avx2", "avx512")
BLOCK_COLUMNS = 16  # kBlockColumns of row_kernels.h
CHUNK_ROWS = 256
MAX_CHUNKS = 64
ALIGNMENT = 64
SUFFIX = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}


def find_library(folders: list[str]) -> Path | None:
    """Return the compiled library in one of the package's folders, if it was built."""
    candidates = (Path(folder) / name for folder in folders for name in LIBRARY_NAMES)
    return next((path for path in candidates if path.is_file()), None)


def aligned_empty(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Uninitialised array on a cache-line boundary: a row of 16 float32 is then one line, not two."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    array: NDArray[Any] = raw[start : start + size].view(dtype).reshape(shape)
    return array


def _pointer(array: NDArray[Any] | None) -> ctypes.c_void_p:
    if array is not None and not array.flags.c_contiguous:
        raise ValueError("kernels take C-contiguous arrays")
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


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
        self._threads = threads
        self._scratch: NDArray[Any] = np.empty((0, 0))

    def _call(self, name: str, dtype: np.dtype[Any], *arguments: Any) -> None:
        function = getattr(self._library, f"boostne_{name}_{SUFFIX[dtype]}")
        function.restype = None
        function(ctypes.c_int(self._isa), ctypes.c_int(self._threads), *arguments)

    def _scratch_for(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        # Kept between calls: fresh pages would cost more than the work that many calls do in them.
        if self._scratch.shape != shape or self._scratch.dtype != dtype:
            self._scratch = aligned_empty(shape, dtype)
        return self._scratch

    def sweep(
        self, R: ShardedCSR, V: NDArray[Any], gram_v: NDArray[np.float64], U: NDArray[Any], *, inner: int
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Fused pass; see :meth:`boostne.kernels.reference.ReferenceKernels.sweep`."""
        n_columns, width = V.shape
        C = aligned_empty(V.shape, V.dtype)
        gram_u = np.empty((width, width))
        scratch = self._scratch_for(((1 + min(self._threads, R.n_shards)) * n_columns, width), V.dtype)
        self._call(
            "sweep", V.dtype, ctypes.c_int64(R.n_shards), _pointer(R.cuts), _pointer(R.indptr),
            _pointer(R.indices), _pointer(R.data), ctypes.c_int64(n_columns), ctypes.c_int64(width),
            ctypes.c_int(inner), _pointer(V), _pointer(gram_v), _pointer(U), _pointer(C), _pointer(gram_u),
            _pointer(scratch),
        )  # fmt: skip
        return C, gram_u

    def hals(
        self, V: NDArray[Any], C: NDArray[Any], gram_u: NDArray[np.float64], *, inner: int
    ) -> tuple[NDArray[np.float64], float]:
        """HALS on V; see :meth:`boostne.kernels.reference.ReferenceKernels.hals`."""
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
        """Step beyond V; see :meth:`boostne.kernels.reference.ReferenceKernels.extrapolate`."""
        n_rows, width = V.shape
        gram_w = np.empty((width, width))
        self._call(
            "extrapolate", V.dtype, _chunks(n_rows), ctypes.c_int64(n_rows), ctypes.c_int64(width),
            ctypes.c_double(step), _pointer(V), _pointer(W), _pointer(gram_w),
        )  # fmt: skip
        return gram_w

    def deflate(self, R: ShardedCSR, U: NDArray[Any], V: NDArray[Any]) -> float:
        """Deflation; see :meth:`boostne.kernels.reference.ReferenceKernels.deflate`."""
        norms = np.empty(R.n_shards)
        self._call(
            "deflate", V.dtype, ctypes.c_int64(R.n_shards), _pointer(R.cuts), _pointer(R.indptr),
            _pointer(R.indices), _pointer(R.data), ctypes.c_int64(V.shape[1]), _pointer(U), _pointer(V),
            _pointer(norms),
        )  # fmt: skip
        return float(norms.sum())

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
        """DeepWalk's columns; see :meth:`boostne.kernels.reference.ReferenceKernels.walk_columns`."""
        n, dtype = len(inverse_degree), inverse_degree.dtype
        slots = -(-len(columns) // BLOCK_COLUMNS) * BLOCK_COLUMNS
        work = self._scratch_for((2 * self._threads * n, BLOCK_COLUMNS), dtype)
        counts = np.empty(slots, np.int64)
        rows = np.empty((slots, n), np.int32)
        values = np.empty((slots, n), dtype)
        self._call(
            "walk_columns", dtype, ctypes.c_int64(columns.start), ctypes.c_int64(columns.stop), ctypes.c_int64(n),
            _pointer(indptr), _pointer(indices), _pointer(weights), _pointer(inverse_degree), _pointer(scale),
            ctypes.c_int(window), _pointer(work), _pointer(rows), _pointer(values), _pointer(counts),
        )  # fmt: skip
        return [(rows[c, : counts[c]], values[c, : counts[c]]) for c in range(len(columns))]

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
        """Forward push; see :meth:`boostne.kernels.reference.ReferenceKernels.push_rows`."""
        n, dtype = len(inverse_degree), inverse_degree.dtype
        counts, dropped = np.empty(len(rows), np.int64), np.empty(len(rows))
        columns, values = np.empty(len(rows) * cap, np.int32), np.empty(len(rows) * cap, dtype)
        self._call(
            "push_rows", dtype, ctypes.c_int64(rows.start), ctypes.c_int64(rows.stop), ctypes.c_int64(n),
            _pointer(indptr), _pointer(indices), _pointer(weights), _pointer(inverse_degree), _pointer(scale),
            ctypes.c_double(epsilon), ctypes.c_int(window), ctypes.c_int64(cap), _pointer(columns), _pointer(values),
            _pointer(counts), _pointer(dropped),
        )  # fmt: skip
        total = int(counts.sum())
        return counts, columns[:total], values[:total], dropped
