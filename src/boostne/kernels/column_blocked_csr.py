"""A sparse matrix stored by strips of columns, for factors larger than the cache.

For each entry, a pass reads a row of V and updates a row of C, both selected by the entry's column. If V does not fit
in the cache, these are two cache misses per entry. Here rows are grouped into blocks and columns into strips, and the
entries of a block are stored strip by strip, so that the rows of V of one strip stay in the cache.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.kernels.sharded_csr import ShardedCSR, Shards, compacted_pointers, cut_rows

if TYPE_CHECKING:
    from boostne.kernels.contract import Kernels

# Number of columns from which this layout is faster than row order: V in float32 with 16 columns is then 8 MB.
COLUMN_BLOCKED_FROM = 1 << 17
STRIP_BITS = 13  # 8,192 columns per strip: 512 kB of V
BLOCK_ROWS = 1 << 16
BLOCK_ENTRIES = 1 << 24  # target; limits the temporary copy made while sorting a block


@dataclass
class ColumnBlockedCSR(Shards):
    """Shards divided into blocks of rows, whose entries are sorted by strips of ``2**bits`` columns.

    Attributes
    ----------
    blocks : ndarray of int64
        First block of each shard, followed by the number of blocks.
    rows : ndarray of int64
        First row of each block, followed by the number of rows.
    starts : ndarray of int64, of shape (blocks, strips + 1)
        Offsets of the strips of each block in ``packed_indices`` and ``data``.
    packed_indices : ndarray of uint32
        For each entry its row within the block and, in the lowest ``bits`` bits, its column within the strip.
    bits : int
    """

    blocks: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    packed_indices: NDArray[np.uint32]
    bits: int

    @classmethod
    def from_csr(
        cls,
        matrix: sparse.csr_array,
        kernels: "Kernels",
        *,
        cuts: NDArray[np.int64] | None = None,
        first_shard: int = 0,
        bits: int = STRIP_BITS,
        block_rows: int = BLOCK_ROWS,
    ) -> "ColumnBlockedCSR":
        """Sort the entries of a CSR matrix in place; its arrays are reused and overwritten.

        ``cuts`` and ``first_shard`` are as in :meth:`ShardedCSR.from_csr`.
        """
        indptr = matrix.indptr.astype(np.int64, copy=False)
        if cuts is None:
            cuts = cut_rows(indptr, matrix.shape[1])
        counts = [
            max(
                -(-int(last - first) // block_rows),
                min(int(indptr[last] - indptr[first]) // BLOCK_ENTRIES, int(last - first)),
            )
            for first, last in pairwise(cuts)
        ]
        firsts = [
            np.linspace(first, last, count, endpoint=False)
            for (first, last), count in zip(pairwise(cuts), counts, strict=True)
        ]
        rows = np.concatenate([*firsts, cuts[-1:]]).astype(np.int64)
        starts = np.empty((len(rows) - 1, -(-matrix.shape[1] >> bits) + 1), np.int64)
        columns = matrix.indices.astype(np.int32, copy=False)
        blocks = np.concatenate([[0], np.cumsum(counts)])
        unpacked = columns.view(np.uint32)
        R = cls(cuts, matrix.data, matrix.shape[1], first_shard, blocks, rows, starts, unpacked, bits)
        kernels.stripe(indptr, R)
        return R

    @property
    def n_strips(self) -> int:
        """Number of strips."""
        return int(self.starts.shape[1]) - 1

    def span(self, s: int) -> slice:
        """Return the range of ``data`` that holds the entries of shard ``s``."""
        return slice(self.starts[self.blocks[s], 0], self.starts[self.blocks[s + 1] - 1, -1])

    def positions(self, s: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of each entry of shard ``s``, in the whole matrix."""
        blocks = slice(self.blocks[s], self.blocks[s + 1])
        lengths = np.diff(self.starts[blocks])
        packed = self.packed_indices[self.span(s)].astype(np.int64)
        rows = np.repeat(self.rows[blocks], lengths.sum(axis=1)) + (packed >> self.bits)
        strips = np.repeat(np.tile(np.arange(self.n_strips), len(lengths)), lengths.ravel())
        return rows, (strips << self.bits) + (packed & ((1 << self.bits) - 1))

    def compact(self, s: int, keep: NDArray[np.bool_]) -> None:
        """Drop the entries of shard ``s`` that are not in ``keep``; the caller then sets the values of the others."""
        span = self.span(s)
        starts = self.starts[self.blocks[s] : self.blocks[s + 1]]
        kept = self.packed_indices[span][keep]
        self.packed_indices[span.start : span.start + len(kept)] = kept
        starts[:] = compacted_pointers(starts, keep)

    def shard(self, s: int) -> sparse.csr_array:
        """Return a copy of shard ``s`` as a separate matrix."""
        rows, columns = self.positions(s)
        shape = (int(self.cuts[s + 1] - self.cuts[s]), self.n_columns)
        matrix = sparse.csr_array((self.values(s), (rows - self.cuts[s], columns)), shape=shape)
        matrix.sort_indices()
        return matrix


Residual = ShardedCSR | ColumnBlockedCSR


def as_residual(
    matrix: sparse.csr_array, kernels: "Kernels", *, cuts: NDArray[np.int64] | None = None, first_shard: int = 0
) -> Residual:
    """Convert a CSR matrix, reusing its arrays, to the layout that is fastest for its number of columns."""
    if matrix.shape[1] < COLUMN_BLOCKED_FROM:
        return ShardedCSR.from_csr(matrix, copy=False, cuts=cuts, first_shard=first_shard)
    return ColumnBlockedCSR.from_csr(matrix, kernels, cuts=cuts, first_shard=first_shard)
