"""Putting a sparse matrix together row by row without holding it twice."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Block = TypeVar("Block")

FIRST_CAPACITY = 1 << 16
GROWTH = 1.1


def blocks_in_order(
    build: Callable[[range], Block], n_rows: int, size: int, threads: int
) -> Iterator[tuple[range, Block]]:
    """Build blocks of ``size`` rows and give them back in order, with at most ``threads`` of them under way."""
    blocks = [range(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]
    with ThreadPoolExecutor(threads) as pool:
        for batch in range(0, len(blocks), threads):
            group = blocks[batch : batch + threads]
            yield from zip(group, pool.map(build, group), strict=True)


class RowCollector:
    """Collects the rows of a CSR matrix in arrays that grow in place.

    The arrays are enlarged by ``realloc``, which moves pages rather than bytes for arrays of this size. NumPy clears
    what it adds, and pages that were written take memory; so they grow by small steps, and the peak is the matrix
    and a tenth of it, not twice that.
    """

    def __init__(self, n_columns: int, dtype: Any) -> None:
        self._n_columns = n_columns
        self._indices = np.empty(FIRST_CAPACITY, np.int32)
        self._data = np.empty(FIRST_CAPACITY, dtype)
        self._end = 0
        self._counts = [np.zeros(1, np.int64)]

    def extend(self, rows: Iterable[tuple[NDArray[np.int32], NDArray[Any]]]) -> None:
        """Append rows, each as its column numbers and values."""
        for indices, values in rows:
            self.append(np.array([len(indices)]), indices, values)

    def append(self, counts: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any]) -> None:
        """Append rows that lie one after the other, with ``counts`` entries each."""
        begin, self._end = self._end, self._end + len(indices)
        if self._end > len(self._data):
            self._resize(max(int(GROWTH * len(self._data)), self._end))
        self._indices[begin : self._end] = indices
        self._data[begin : self._end] = values
        self._counts.append(counts)

    def finish(self) -> sparse.csr_array:
        """Return the matrix; the collector is empty afterwards."""
        self._resize(self._end)
        # SciPy widens the indices to the type of the pointers, a copy larger than the data.
        small = self._end <= np.iinfo(np.int32).max
        pointers = np.cumsum(np.concatenate(self._counts), dtype=np.int32 if small else np.int64)
        shape = (len(pointers) - 1, self._n_columns)
        matrix = sparse.csr_array((self._data, self._indices, pointers), shape=shape)
        del self._data, self._indices
        return matrix

    def _resize(self, size: int) -> None:
        # Nobody else holds a view of these arrays, which is what refcheck would look for.
        self._indices.resize(size, refcheck=False)
        self._data.resize(size, refcheck=False)
