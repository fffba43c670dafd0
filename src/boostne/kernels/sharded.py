"""A sparse matrix cut into shards of whole rows: the layout that every kernel works on."""

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
class ShardedCSR:
    """Rows of a CSR matrix in shards, each with row pointers of its own.

    The cuts depend on the matrix alone, never on the number of threads: sums taken shard by shard are the same
    whatever the machine. Shard s holds rows ``cuts[s]`` to ``cuts[s + 1]``, whose pointers into ``indices`` and
    ``data`` are ``indptr[cuts[s] + s : cuts[s + 1] + s + 1]``; a shard that shrank leaves a gap behind it, so
    that nothing needs to move.
    """

    cuts: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[Any]
    n_columns: int
    first_shard: int = 0

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
        return cls(cuts, pointers, indices, data, matrix.shape[1], first_shard)

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
        ends = self.cuts[1:] + np.arange(self.n_shards)
        starts = self.cuts[:-1] + np.arange(self.n_shards)
        return int((self.indptr[ends] - self.indptr[starts]).sum())

    def shard(self, s: int) -> sparse.csr_array:
        """Shard ``s`` as a matrix of its own; it shares memory with this one."""
        pointers = self.indptr[self.cuts[s] + s : self.cuts[s + 1] + s + 1]
        span = slice(pointers[0], pointers[-1])
        shape = (len(pointers) - 1, self.n_columns)
        return sparse.csr_array((self.data[span], self.indices[span], pointers - pointers[0]), shape=shape)

    def to_csr(self) -> sparse.csr_array:
        """Copy everything that is left into one matrix."""
        return sparse.vstack([self.shard(s) for s in range(self.n_shards)], format="csr")


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
