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


def slices(length: int) -> Iterator[slice]:
    """Yield the slices that divide an array of the given length.

    Examples
    --------
    >>> list(slices(300_000))
    [slice(0, 262144, None), slice(262144, 300000, None)]
    """
    for start in range(0, length, CHUNK):
        yield slice(start, min(start + CHUNK, length))


def row_slices(indptr: NDArray[Any]) -> Iterator[slice]:
    """Yield the slices that divide the rows of a CSR matrix, each with at most as many entries as a chunk, or one row.

    Examples
    --------
    >>> list(row_slices(np.array([0, 200_000, 260_000, 900_000, 900_000])))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    start, n = 0, len(indptr) - 1
    while start < n:
        # Of the same type: NumPy would convert all pointers.
        end = np.array(min(int(indptr[start]) + CHUNK, int(indptr[n])), dtype=indptr.dtype)
        stop = n if end == indptr[n] else int(np.searchsorted(indptr, end, side="right")) - 1
        stop = min(max(stop, start + 1), n, start + CHUNK)
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
    for span in slices(len(positions)):
        found[span] = values[positions[span]]
    return found


def mark(length: int, positions: NDArray[np.signedinteger[Any]]) -> NDArray[np.bool_]:
    """Return an array that is True at the given positions.

    Examples
    --------
    >>> mark(4, np.array([1, 3, 1]))
    array([False,  True, False,  True])
    """
    marked = np.zeros(length, dtype=bool)
    for span in slices(len(positions)):
        marked[positions[span]] = True
    return marked


def hash_array(digest: Digest, array: NDArray[Any], dtype: str) -> None:
    """Hash the bytes of an array of one dimension, converted to a dtype."""
    for span in slices(len(array)):
        digest.update(array[span].astype(dtype).tobytes())
