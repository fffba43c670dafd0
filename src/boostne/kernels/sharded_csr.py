"""A sparse matrix cut into shards of whole rows, entry by entry or strip by strip: what the kernels work on."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# A shard costs one accumulator of the size of V, zeroed and added once a pass: fewer shards where rows are
# short, and never so many that the accumulators outweigh the pass.
MAX_SHARDS = 16
ROW_ENTRIES_PER_SHARD = 64
MIN_SHARD_ENTRIES = 32_768


@dataclass
class Shards(ABC):
    """What both layouts have in common.

    The cuts depend on the matrix alone, never on the number of threads: sums taken shard by shard are the same
    whatever the machine. Shard s holds rows ``cuts[s]`` to ``cuts[s + 1]``; its entries lie one after the other in
    ``data``, and one that shrank leaves a gap behind it, so that nothing needs to move.

    Attributes
    ----------
    cuts : ndarray of int64
        Between the shards.
    data : ndarray
        Values of the entries.
    n_columns : int
    first_shard : int
        Where the matrix is a part of a larger one, the number of its first shard there.
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
        """Rows of all shards."""
        return int(self.cuts[-1])

    @property
    def nnz(self) -> int:
        """Entries left in all shards."""
        return sum(len(self.values(s)) for s in range(self.n_shards))

    @abstractmethod
    def span(self, s: int) -> slice:
        """Where the entries of a shard are."""

    @abstractmethod
    def positions(self, s: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows, in the whole matrix, and columns of the entries of shard ``s``."""

    @abstractmethod
    def compact(self, s: int, keep: NDArray[np.bool_]) -> None:
        """Drop the entries of shard ``s`` that are not to be kept; the values of others are to be set anew."""

    @abstractmethod
    def shard(self, s: int) -> sparse.csr_array:
        """Shard ``s`` as a matrix of its own."""

    def values(self, s: int) -> NDArray[Any]:
        """Values of the entries of shard ``s``; a view."""
        return self.data[self.span(s)]

    def to_csr(self) -> sparse.csr_array:
        """Copy everything that is left into one matrix."""
        return sparse.vstack([self.shard(s) for s in range(self.n_shards)], format="csr")


@dataclass
class ShardedCSR(Shards):
    """Shards row by row, each with row pointers of its own.

    Attributes
    ----------
    indptr : ndarray of int64
        Shard s has ``indptr[cuts[s] + s : cuts[s + 1] + s + 1]``: pointers into ``indices`` and ``data``.
    indices : ndarray of int32
        Columns.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @classmethod
    def from_csr(
        cls,
        matrix: sparse.csr_array,
        *,
        copy: bool = True,
        cuts: NDArray[np.int64] | None = None,
        first_shard: int = 0,
    ) -> "ShardedCSR":
        """Cut a CSR matrix; with ``copy=False`` its arrays are taken over and will be overwritten.

        Where the matrix is a part of a larger one, ``cuts`` are those of the larger one, counted from the part's
        first row, and ``first_shard`` is the number of its first shard there.
        """
        indptr = matrix.indptr.astype(np.int64, copy=False)
        if cuts is None:
            cuts = cut_rows(indptr, matrix.shape[1])
        pointers = np.concatenate([indptr[a : b + 1] for a, b in pairwise(cuts)])
        indices = np.array(matrix.indices, dtype=np.int32, copy=copy or None)
        data = np.array(matrix.data, copy=copy or None)
        return cls(cuts, data, matrix.shape[1], first_shard, pointers, indices)

    def span(self, s: int) -> slice:
        """Where the entries of a shard are."""
        return slice(self.indptr[self.cuts[s] + s], self.indptr[self.cuts[s + 1] + s])

    def positions(self, s: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows, in the whole matrix, and columns of the entries of shard ``s``."""
        pointers = self.indptr[self.cuts[s] + s : self.cuts[s + 1] + s + 1]
        rows = np.repeat(np.arange(self.cuts[s], self.cuts[s + 1]), np.diff(pointers))
        return rows, self.indices[self.span(s)].astype(np.int64)

    def compact(self, s: int, keep: NDArray[np.bool_]) -> None:
        """Drop the entries of shard ``s`` that are not to be kept; the values of others are to be set anew."""
        span = self.span(s)
        pointers = self.indptr[self.cuts[s] + s : self.cuts[s + 1] + s + 1]
        kept = self.indices[span][keep]
        self.indices[span.start : span.start + len(kept)] = kept
        pointers[:] = moved(pointers, keep)

    def shard(self, s: int) -> sparse.csr_array:
        """Shard ``s`` as a matrix of its own; it shares memory with this one."""
        pointers = self.indptr[self.cuts[s] + s : self.cuts[s + 1] + s + 1]
        shape = (len(pointers) - 1, self.n_columns)
        columns = self.indices[self.span(s)]
        return sparse.csr_array((self.values(s), columns, pointers - pointers[0]), shape=shape)


def moved(pointers: NDArray[np.int64], keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Pointers into entries, once those that are not to be kept are gone; the first stays."""
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    first = pointers.flat[0]
    return np.asarray(first + kept_before[pointers - first])


def cut_rows(indptr: NDArray[np.int64], n_columns: int, at_least: int = 1) -> NDArray[np.int64]:
    """Row numbers that cut a CSR matrix into shards of nearly equal numbers of entries.

    Their number follows from the matrix alone, unless ``at_least`` asks for more.
    """
    nnz, n_rows = int(indptr[-1]), len(indptr) - 1
    by_row_length = max(4, nnz // (ROW_ENTRIES_PER_SHARD * max(n_columns, 1)))
    n_shards = max(at_least, min(MAX_SHARDS, by_row_length, nnz // MIN_SHARD_ENTRIES, n_rows))
    targets = nnz * np.arange(1, n_shards) // n_shards
    inner = np.searchsorted(indptr, targets, side="left")
    return np.unique(np.concatenate([[0], inner, [n_rows]])).astype(np.int64)
