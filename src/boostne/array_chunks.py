"""Operations on long arrays, a chunk at a time, so that temporary arrays are short."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 18  # entries


class Digest(Protocol):
    """A hash object of :mod:`hashlib`."""

    def update(self, data: Any, /) -> None:
        """Hash more bytes."""


def chunks(length: int, size: int | None = None) -> Iterator[slice]:
    """Yield the slices that divide an array of the given length.

    Examples
    --------
    >>> list(chunks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    size = size or CHUNK
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))


def row_chunks(indptr: NDArray[Any], entries: int | None = None) -> Iterator[slice]:
    """Yield the slices that divide the rows of a CSR matrix, each with at most that many entries, or with one row.

    Examples
    --------
    >>> list(row_chunks(np.array([0, 2, 3, 9, 9]), 4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    start, n = 0, len(indptr) - 1
    entries = entries or CHUNK
    while start < n:
        # Of the same type: NumPy would convert all pointers.
        end = np.array(min(int(indptr[start]) + entries, int(indptr[n])), dtype=indptr.dtype)
        stop = n if end == indptr[n] else int(np.searchsorted(indptr, end, side="right")) - 1
        stop = min(max(stop, start + 1), n, start + entries)
        yield slice(start, stop)
        start = stop


def gather(values: NDArray[Any], positions: NDArray[np.signedinteger[Any]]) -> NDArray[Any]:
    """Return ``values[positions]``; NumPy alone would copy all positions to 64-bit integers.

    Examples
    --------
    >>> gather(np.array([5.0, 7.0]), np.array([1, 0, 1], dtype=np.int32))
    array([7., 5., 7.])
    """
    found = np.empty(len(positions), dtype=values.dtype)
    for span in chunks(len(positions)):
        found[span] = values[positions[span]]
    return found


def mark(length: int, *positions: NDArray[np.signedinteger[Any]]) -> NDArray[np.bool_]:
    """Return an array that is True at the given positions.

    Examples
    --------
    >>> mark(4, np.array([1, 1]), np.array([3]))
    array([False,  True, False,  True])
    """
    marked = np.zeros(length, dtype=bool)
    for array in positions:
        for span in chunks(len(array)):
            marked[array[span]] = True
    return marked


def hash_array(digest: Digest, array: NDArray[Any], dtype: str) -> None:
    """Hash the bytes of an array of one dimension, converted to a dtype."""
    for span in chunks(len(array)):
        digest.update(array[span].astype(dtype).tobytes())
