"""Memory layout that all kernels share: alignment, padding, block sizes and chunk sizes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64  # bytes in a cache line
BLOCK_COLUMNS = 16  # columns of X computed together: kBlockColumns in walk_kernels.h
NARROW_WIDTH = 8  # padded width of a factor with at most 8 components: kPad in row_kernels.h
WIDE_WIDTH = 16  # wider factors are padded to a multiple of this: one cache line of float32

CHUNK_BYTES = 1 << 23  # target size of the rows computed per kernel call
MAX_CHUNKS = 64  # per graph: each push call first scans all nodes
MIN_CHUNK_ROWS = 64
MAX_CHUNK_ROWS = 1 << 14

# Rows of V are updated in chunks, and sums over rows are sums over chunks.
UPDATE_CHUNK_ROWS = 256
MAX_UPDATE_CHUNKS = 64


def tile_width(dtype: Any) -> int:
    """Return the number of values in a cache line: ``kTile`` in row_kernels.h."""
    return ALIGNMENT // int(np.dtype(dtype).itemsize)


def round_up(n: int, multiple: int) -> int:
    """Round ``n`` up to a multiple of ``multiple``."""
    return -(-n // multiple) * multiple


def aligned_empty(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Return an uninitialized array that starts on a cache line, so that a row of 16 float32 values is one line."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    array: NDArray[Any] = raw[start : start + size].view(dtype).reshape(shape)
    return array


def padded_width(components: int) -> int:
    """Return the width of a factor that is padded to whole vector registers."""
    return round_up(components, NARROW_WIDTH if components <= NARROW_WIDTH else WIDE_WIDTH)


def padded_factor(factor: NDArray[Any]) -> NDArray[Any]:
    """Return an aligned copy of a factor, padded with zero columns to whole vector registers."""
    rows, components = factor.shape
    copy = aligned_empty((rows, padded_width(components)), factor.dtype)
    copy[:, :components] = factor
    copy[:, components:] = 0
    return copy


def row_chunks(n_rows: int, at_least: int = 1) -> NDArray[np.int64]:
    """Return the boundaries of the chunks in which rows of V are updated.

    They depend on the number of rows only, so that sums over chunks do not depend on the number of threads;
    ``at_least`` is for clusters with more workers than there are chunks.
    """
    count = max(1, min(max(MAX_UPDATE_CHUNKS, at_least), n_rows // UPDATE_CHUNK_ROWS))
    return np.arange(count + 1, dtype=np.int64) * n_rows // count


def chunk_columns(n: int, dtype: np.dtype[Any], threads: int) -> int:
    """Return how many columns of length ``n`` to compute per call: few, but enough to keep all threads busy."""
    column_bytes = n * (dtype.itemsize + np.dtype(np.int32).itemsize)
    blocks = CHUNK_BYTES // (column_bytes * BLOCK_COLUMNS)
    return int(max(blocks, 2 * threads)) * BLOCK_COLUMNS


def push_chunk_rows(n: int, max_per_row: int, dtype: np.dtype[Any]) -> int:
    """Return how many rows to push per call: few enough for their entries to stay small compared to X."""
    row_bytes = max_per_row * (dtype.itemsize + np.dtype(np.int32).itemsize)
    return int(np.clip(max(CHUNK_BYTES // row_bytes, n // MAX_CHUNKS), MIN_CHUNK_ROWS, MAX_CHUNK_ROWS))
