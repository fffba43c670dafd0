"""Rows of a sparse matrix: what makes them, and how they are put together without holding the matrix twice."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.kernels import Kernels, get_kernels

Block = TypeVar("Block")
Row = tuple[NDArray[np.int32], NDArray[Any]]  # columns and values
# One row or more: the entries of each, then the columns and the values of all.
Piece = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]
Progress = Callable[[int, int], None]

# 32 MB of numbers: arrays of that size an allocator has from the system itself, and enlarges without a copy.
FIRST_CAPACITY = 1 << 23
GROWTH = 1.1


class RowSource(Protocol):
    """Makes rows of X wherever it is sent, always the same ones; it holds arrays, and nothing of one machine."""

    @property
    def n(self) -> int:
        """Rows and columns of X."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of X."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""

    def __call__(self, rows: range, /) -> list[Piece]:
        """Return the positive entries of some rows, columns ascending, in as many pieces as they are made in."""

    def chunk_rows(self) -> int:
        """Return how many rows to ask for at a time: few enough to stay small beside X."""

    def with_threads(self, threads: int) -> Self:
        """Return the same source for this machine, with so many of its threads."""


@dataclass(frozen=True)
class MatrixRows:
    """Gives the rows of a matrix that is there already."""

    X: sparse.csr_array

    @property
    def n(self) -> int:
        """Rows and columns of X."""
        return int(self.X.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of X."""
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        """Memory of X."""
        return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)

    def with_threads(self, threads: int) -> "MatrixRows":
        """Return itself: copying needs one thread."""
        del threads
        return self

    def chunk_rows(self) -> int:
        """Return all rows: they are there."""
        return max(self.n, 1)

    def __call__(self, rows: range, /) -> list[Piece]:
        """Return some rows."""
        ends = self.X.indptr[rows.start : rows.stop + 1]
        entries = slice(ends[0], ends[-1])
        columns = self.X.indices[entries].astype(np.int32, copy=False)
        return [(np.diff(ends).astype(np.int64, copy=False), columns, self.X.data[entries])]


class KernelRows:
    """What row sources share that run on kernels: arrays that travel, and kernels that do not."""

    _kernels: Kernels | None

    @property
    def kernels(self) -> Kernels:
        """Those that were given, or this machine's."""
        return self._kernels or get_kernels()

    def __getstate__(self) -> dict[str, Any]:
        # On its way to another machine: the kernels are looked up there.
        return {**self.__dict__, "_kernels": None}

    def with_threads(self, threads: int) -> Self:
        """Return the same rows, made by this machine's kernels."""
        made = copy(self)
        made._kernels = get_kernels(threads=threads)
        return made

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in self.__dict__.values() if isinstance(array, np.ndarray))


def collect_rows(source: RowSource, progress: Progress | None = None) -> sparse.csr_array:
    """Build the whole X; the memory needed beside it is that of one chunk of rows.

    Parameters
    ----------
    source : RowSource
        What makes the rows.
    progress : callable, optional
        Called as ``progress(done, n)`` after each chunk.
    """
    collector = RowCollector(source.n, source.dtype)
    for rows in chunks(range(source.n), source.chunk_rows()):
        collector.extend(source(rows))
        if progress is not None:
            progress(rows.stop, source.n)
    return collector.finish()


def row_by_row(rows: Iterable[Row]) -> list[Piece]:
    """Return a piece for each row."""
    return [(np.array([len(columns)]), columns, values) for columns, values in rows]


def log_above_one(rows: NDArray[Any]) -> list[Piece]:
    """Return the positive entries of ``log max(rows, 1)``, a piece for each row."""
    places = [np.flatnonzero(row > 1) for row in rows]
    return row_by_row((at.astype(np.int32), np.log(row[at])) for at, row in zip(places, rows, strict=True))


def chunks(rows: range, size: int) -> list[range]:
    """Cut a range into ranges of ``size``, the last of which may be shorter."""
    return [range(first, min(first + size, rows.stop)) for first in range(rows.start, rows.stop, size)]


def blocks_in_order(
    build: Callable[[range], Block], n_rows: int, size: int, threads: int, first: int = 0
) -> Iterator[tuple[range, Block]]:
    """Build blocks of ``size`` rows and give them back in order, with at most ``threads`` of them under way."""
    blocks = chunks(range(first, n_rows), size)
    with ThreadPoolExecutor(threads) as pool:
        for batch in range(0, len(blocks), threads):
            group = blocks[batch : batch + threads]
            yield from zip(group, pool.map(build, group), strict=True)


class RowCollector:
    """Collects the rows of a CSR matrix in arrays that grow in place.

    The arrays are enlarged by ``realloc``, which moves pages rather than bytes for arrays of this size; those that are
    not written to yet take no memory. NumPy clears what it adds, and so writes to it: it is added by small steps, and
    the peak is the matrix and a tenth of it, not twice that.
    """

    def __init__(self, n_columns: int, dtype: Any) -> None:
        self._n_columns = n_columns
        self._indices = np.empty(FIRST_CAPACITY, np.int32)
        self._data = np.empty(FIRST_CAPACITY, dtype)
        self._end = 0
        self._counts: list[NDArray[np.int64]] = []

    def extend(self, pieces: Iterable[Piece]) -> None:
        """Append rows."""
        for counts, columns, values in pieces:
            begin, self._end = self._end, self._end + len(columns)
            if self._end > len(self._data):
                self._resize(max(int(GROWTH * len(self._data)), self._end))
            self._put(begin, columns, values)
            self._counts.append(counts)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Entries of each row."""
        return np.concatenate([np.zeros(0, np.int64), *self._counts])

    def keep(self, first: int, last: int) -> None:
        """Drop all rows but those from ``first`` to ``last - 1``."""
        counts = self.counts
        begin = int(counts[:first].sum())
        self._end = int(counts[first:last].sum())
        if begin:
            self._indices[: self._end] = self._indices[begin : begin + self._end]
            self._data[: self._end] = self._data[begin : begin + self._end]
        self._counts = [counts[first:last]]
        self._resize(self._end)

    def prepend(self, counts: NDArray[np.int64], pieces: Iterable[Piece]) -> None:
        """Put rows before the others; ``counts`` are the entries of all of them."""
        room, size = int(counts.sum()), self._end
        self._end += room
        self._resize(self._end)
        self._indices[room:] = self._indices[:size]
        self._data[room:] = self._data[:size]
        begin = 0
        for _, columns, values in pieces:
            self._put(begin, columns, values)
            begin += len(columns)
        self._counts.insert(0, counts)

    def finish(self) -> sparse.csr_array:
        """Return the matrix; the collector is empty afterwards."""
        self._resize(self._end)
        # SciPy widens the indices to the type of the pointers, a copy larger than the data.
        small = self._end <= np.iinfo(np.int32).max
        counts = self.counts
        pointers = np.zeros(len(counts) + 1, np.int32 if small else np.int64)
        np.cumsum(counts, out=pointers[1:])
        shape = (len(counts), self._n_columns)
        matrix = sparse.csr_array((self._data, self._indices, pointers), shape=shape)
        del self._data, self._indices
        return matrix

    def _put(self, begin: int, columns: NDArray[np.int32], values: NDArray[Any]) -> None:
        self._indices[begin : begin + len(columns)] = columns
        self._data[begin : begin + len(values)] = values

    def _resize(self, size: int) -> None:
        # Nobody else holds a view of these arrays, which is what refcheck would look for.
        self._indices.resize(size, refcheck=False)
        self._data.resize(size, refcheck=False)
