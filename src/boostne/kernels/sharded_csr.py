"""CSR matrices split into shards of whole rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Each shard needs an accumulator of the size of V, cleared and added once per pass. The number of shards is limited
# for short rows, so that this overhead stays small compared to the pass.
MAX_SHARDS = 16
ROW_ENTRIES_PER_SHARD = 64
MIN_SHARD_ENTRIES = 32_768


@dataclass
class Shards(ABC):
    """Base class of both layouts.

    The shard boundaries depend on the matrix only, not on the number of threads, and so do sums over shards. Shard s
    holds rows ``cuts[s]`` to ``cuts[s + 1]``. Its entries are contiguous in ``data``; a shard that shrinks leaves a gap
    at its end, so no other shard has to move.

    Attributes
    ----------
    cuts : ndarray of int64
        Shard boundaries.
    data : ndarray
        Values of the entries.
    n_columns : int
    first_shard : int
        If the matrix is part of a larger one, the number of its first shard in the larger one.
    """

    cuts: NDArray[np.int64]
    data: NDArray[Any]
    n_columns: int
    first_shard: int

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.cuts) - 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.cuts[-1])

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return sum(len(self.values(s)) for s in range(self.n_shards))

    @abstractmethod
    def span(self, s: int) -> slice:
        """Return the range of ``data`` that holds the entries of shard ``s``."""

    @abstractmethod
    def positions(self, s: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of each entry of shard ``s``, in the whole matrix."""

    @abstractmethod
    def compact(self, s: int, keep: NDArray[np.bool_]) -> None:
        """Drop the entries of shard ``s`` that are not in ``keep``; the caller then sets the values of the others."""

    @abstractmethod
    def shard(self, s: int) -> sparse.csr_array:
        """Return shard ``s`` as a separate matrix."""

    def values(self, s: int) -> NDArray[Any]:
        """Return a view of the values of shard ``s``."""
        return self.data[self.span(s)]

    def to_csr(self) -> sparse.csr_array:
        """Return a copy as a single CSR matrix."""
        return sparse.vstack([self.shard(s) for s in range(self.n_shards)], format="csr")


@dataclass
class ShardedCSR(Shards):
    """Shards in CSR format, each with its own row pointers.

    Attributes
    ----------
    indptr : ndarray of int64
        Row pointers of shard s are ``indptr[cuts[s] + s : cuts[s + 1] + s + 1]``, as offsets into ``indices`` and
        ``data``.
    indices : ndarray of int32
        Column indices.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @classmethod
    def from_csr(
        cls, matrix: sparse.csr_array, *, copy: bool = True, cuts: NDArray[np.int64] | None = None, first_shard: int = 0
    ) -> "ShardedCSR":
        """Split a CSR matrix into shards; with ``copy=False`` its arrays are reused and will be overwritten.

        If the matrix is part of a larger one, ``cuts`` are the boundaries of the larger one's shards relative to the
        part's first row, and ``first_shard`` is the number of its first shard.
        """
        indptr = matrix.indptr.astype(np.int64, copy=False)
        if cuts is None:
            cuts = cut_rows(indptr, matrix.shape[1])
        pointers = np.concatenate([indptr[a : b + 1] for a, b in pairwise(cuts)])
        indices = matrix.indices.astype(np.int32, copy=copy)
        data = matrix.data.astype(matrix.data.dtype, copy=copy)
        return cls(cuts, data, matrix.shape[1], first_shard, pointers, indices)

    def row_pointers(self, s: int) -> NDArray[np.int64]:
        """Return a view of the row pointers of shard ``s``."""
        return self.indptr[self.cuts[s] + s : self.cuts[s + 1] + s + 1]

    def span(self, s: int) -> slice:
        """Return the range of ``data`` that holds the entries of shard ``s``."""
        return slice(self.indptr[self.cuts[s] + s], self.indptr[self.cuts[s + 1] + s])

    def positions(self, s: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of each entry of shard ``s``, in the whole matrix."""
        rows = np.repeat(np.arange(self.cuts[s], self.cuts[s + 1]), np.diff(self.row_pointers(s)))
        return rows, self.indices[self.span(s)].astype(np.int64)

    def compact(self, s: int, keep: NDArray[np.bool_]) -> None:
        """Drop the entries of shard ``s`` that are not in ``keep``; the caller then sets the values of the others."""
        span, pointers = self.span(s), self.row_pointers(s)
        kept = self.indices[span][keep]
        self.indices[span.start : span.start + len(kept)] = kept
        pointers[:] = compacted_pointers(pointers, keep)

    def shard(self, s: int) -> sparse.csr_array:
        """Return shard ``s`` as a separate matrix that shares memory with this one."""
        pointers = self.row_pointers(s)
        shape = (len(pointers) - 1, self.n_columns)
        columns = self.indices[self.span(s)]
        return sparse.csr_array((self.values(s), columns, pointers - pointers[0]), shape=shape)


def compacted_pointers(pointers: NDArray[np.int64], keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the pointers into the entries that remain after dropping those not in ``keep``."""
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    first = pointers.flat[0]
    return np.asarray(first + kept_before[pointers - first])


def cut_rows(indptr: NDArray[np.int64], n_columns: int, at_least: int = 1) -> NDArray[np.int64]:
    """Return row boundaries that split a CSR matrix into shards with nearly equal numbers of entries.

    The number of shards depends on the matrix only, unless ``at_least`` requires more.
    """
    nnz, n_rows = int(indptr[-1]), len(indptr) - 1
    by_row_length = max(4, nnz // (ROW_ENTRIES_PER_SHARD * max(n_columns, 1)))
    n_shards = max(at_least, min(MAX_SHARDS, by_row_length, nnz // MIN_SHARD_ENTRIES, n_rows))
    targets = nnz * np.arange(1, n_shards) // n_shards
    inner = np.searchsorted(indptr, targets, side="left")
    return np.unique(np.concatenate([[0], inner, [n_rows]])).astype(np.int64)
