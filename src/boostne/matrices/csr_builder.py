"""Assemble a CSR matrix from blocks of rows without holding it twice."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.budget import CSR_GROWTH

# 32 MB of float32: the allocator maps arrays of this size directly and can grow them without copying.
INITIAL_CAPACITY = 1 << 23


class RowBlock(NamedTuple):
    """One or more consecutive rows of a sparse matrix, columns ascending within a row.

    Attributes
    ----------
    counts : ndarray of int64
        Entries of each row.
    columns, values : ndarray
        Column indices and values of all rows, concatenated.
    dropped : ndarray of float64, optional
        Share of each row's walk mass that pruning discarded, from 0 to 1.
    """

    counts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[Any]
    dropped: NDArray[np.float64] | None = None


def one_block_per_row(rows: Iterable[tuple[NDArray[np.int32], NDArray[Any]]]) -> list[RowBlock]:
    """Wrap (columns, values) pairs, one per row."""
    return [RowBlock(np.array([len(columns)]), columns, values) for columns, values in rows]


def positive_entries(rows: NDArray[Any], above: float = 0.0) -> list[RowBlock]:
    """Return the entries of dense rows that exceed a bound, one block per row."""
    found = [np.flatnonzero(row > above) for row in rows]
    return one_block_per_row((at.astype(np.int32), row[at]) for at, row in zip(found, rows, strict=True))


def log_above_one(rows: NDArray[Any]) -> list[RowBlock]:
    """Return the positive entries of ``log max(rows, 1)``, one block per row."""
    return [block._replace(values=np.log(block.values)) for block in positive_entries(rows, above=1.0)]


def chunks(rows: range, size: int) -> list[range]:
    """Split a range into ranges of ``size``; the last may be shorter."""
    return [range(first, min(first + size, rows.stop)) for first in range(rows.start, rows.stop, size)]


def blocks_in_order(
    build: Callable[[range], list[RowBlock]], rows: range, size: int, threads: int
) -> Iterator[RowBlock]:
    """Build ranges of ``size`` rows in parallel and yield them in order, with at most ``threads`` of them in memory."""
    with ThreadPoolExecutor(threads) as pool:
        for batch in chunks(rows, size * threads):
            for blocks in pool.map(build, chunks(batch, size)):
                yield from blocks


class CSRBuilder:
    """Collects rows in arrays that grow in place.

    ``realloc`` moves pages rather than bytes for arrays of this size, and untouched pages take no memory. NumPy zeroes
    what it adds, which touches it, so the arrays grow in small steps: the peak is the matrix plus a tenth of it.
    """

    def __init__(self, n_columns: int, dtype: Any) -> None:
        self._n_columns = n_columns
        self._indices = np.empty(INITIAL_CAPACITY, np.int32)
        self._data = np.empty(INITIAL_CAPACITY, dtype)
        self._end = 0
        self._counts: list[NDArray[np.int64]] = []
        self._dropped: list[NDArray[np.float64]] = []

    def extend(self, blocks: Iterable[RowBlock]) -> None:
        """Append rows."""
        for counts, columns, values, dropped in blocks:
            begin, self._end = self._end, self._end + len(columns)
            if self._end > len(self._data):
                self._resize(max(int(CSR_GROWTH * len(self._data)), self._end))
            self._write(begin, columns, values)
            self._counts.append(counts)
            if dropped is not None:
                self._dropped.append(dropped)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Entries of each row."""
        return np.concatenate([np.zeros(0, np.int64), *self._counts])

    @property
    def dropped(self) -> NDArray[np.float64] | None:
        """Share of each row's walk mass that pruning discarded; None if the rows were not pruned."""
        return np.concatenate(self._dropped) if self._dropped else None

    def keep(self, first: int, last: int) -> None:
        """Drop all rows except ``first`` to ``last - 1``."""
        counts = self.counts
        begin = int(counts[:first].sum())
        self._end = int(counts[first:last].sum())
        if begin:
            self._indices[: self._end] = self._indices[begin : begin + self._end]
            self._data[: self._end] = self._data[begin : begin + self._end]
        self._counts = [counts[first:last]]
        self._resize(self._end)

    def prepend(self, counts: NDArray[np.int64], blocks: Iterable[RowBlock]) -> None:
        """Insert rows before the others; ``counts`` are the entries of all inserted rows."""
        added, size = int(counts.sum()), self._end
        self._end += added
        self._resize(self._end)
        self._indices[added:] = self._indices[:size]
        self._data[added:] = self._data[:size]
        begin = 0
        for block in blocks:
            self._write(begin, block.columns, block.values)
            begin += len(block.columns)
        self._counts.insert(0, counts)

    def finish(self) -> sparse.csr_array:
        """Return the matrix; the builder is empty afterwards."""
        self._resize(self._end)
        # SciPy widens the indices to the dtype of the pointers, a copy larger than the data.
        small = self._end <= np.iinfo(np.int32).max
        counts = self.counts
        pointers = np.zeros(len(counts) + 1, np.int32 if small else np.int64)
        np.cumsum(counts, out=pointers[1:])
        shape = (len(counts), self._n_columns)
        matrix = sparse.csr_array((self._data, self._indices, pointers), shape=shape)
        del self._data, self._indices
        return matrix

    def _write(self, begin: int, columns: NDArray[np.int32], values: NDArray[Any]) -> None:
        self._indices[begin : begin + len(columns)] = columns
        self._data[begin : begin + len(values)] = values

    def _resize(self, size: int) -> None:
        # No view of these arrays exists, which is what refcheck would look for.
        self._indices.resize(size, refcheck=False)
        self._data.resize(size, refcheck=False)
