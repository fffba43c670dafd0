"""A sparse matrix in strips of columns, for factors that outgrow the cache.

A pass reads the row of V, and adds to the row of C, that each entry's column names: beyond a cache's size two waits for
memory an entry. So rows are put into blocks, columns into strips, and the entries of a block lie strip by strip: while
one is treated, its rows of V stay close at hand.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.kernels.sharded_csr import ShardedCSR, Shards, cut_rows, moved

if TYPE_CHECKING:
    from boostne.kernels import Kernels

STRIPED_FROM = (
    1 << 17
)  # columns: 8 MB of V, in numbers of 32 bits and 16 of them a row; below that rows are as quick
STRIP_BITS = 13  # 8,192 columns: half a megabyte of V
BLOCK_ROWS = 1 << 16
BLOCK_ENTRIES = 1 << 24  # about: as many are copied at a time while they are sorted


@dataclass
class StripedCSR(Shards):
    """Shards in blocks of rows, and those in strips of columns.

    Attributes
    ----------
    blocks : ndarray of int64
        The first block of each shard, and the one behind the last.
    rows : ndarray of int64
        The first row of each block, and the one behind the last.
    starts : ndarray of int64, of shape (blocks, strips + 1)
        Where the strips of each block begin in ``places`` and ``data``, and where the last ends.
    places : ndarray of uint32
        Of each entry the row in its block and, in the last ``bits`` bits, the column in its strip.
    bits : int
    """

    blocks: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    places: NDArray[np.uint32]
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
    ) -> "StripedCSR":
        """Sort the entries of a CSR matrix; its arrays are taken over and overwritten.

        ``cuts`` and ``first_shard`` are as for :meth:`ShardedCSR.from_csr`.
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
        inner = [
            np.linspace(first, last, count, endpoint=False)
            for (first, last), count in zip(pairwise(cuts), counts, strict=True)
        ]
        rows = np.concatenate([*inner, cuts[-1:]]).astype(np.int64)
        starts = np.empty((len(rows) - 1, -(-matrix.shape[1] >> bits) + 1), np.int64)
        columns = matrix.indices.astype(np.int32, copy=False)
        kernels.stripe(indptr, columns, matrix.data, rows, starts, bits)
        blocks = np.concatenate([[0], np.cumsum(counts)])
        return cls(
            cuts,
            matrix.data,
            matrix.shape[1],
            first_shard,
            blocks,
            rows,
            starts,
            columns.view(np.uint32),
            bits,
        )

    @property
    def n_strips(self) -> int:
        """Number of strips."""
        return int(self.starts.shape[1]) - 1

    def span(self, s: int) -> slice:
        """Where the entries of a shard are."""
        return slice(self.starts[self.blocks[s], 0], self.starts[self.blocks[s + 1] - 1, -1])

    def positions(self, s: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows, in the whole matrix, and columns of the entries of shard ``s``."""
        of_shard = slice(self.blocks[s], self.blocks[s + 1])
        lengths = np.diff(self.starts[of_shard])
        places = self.places[self.span(s)].astype(np.int64)
        rows = np.repeat(self.rows[of_shard], lengths.sum(axis=1)) + (places >> self.bits)
        strips = np.repeat(np.tile(np.arange(self.n_strips), len(lengths)), lengths.ravel())
        return rows, (strips << self.bits) + (places & ((1 << self.bits) - 1))

    def compact(self, s: int, keep: NDArray[np.bool_]) -> None:
        """Drop the entries of shard ``s`` that are not to be kept; the values of others are to be set anew."""
        span = self.span(s)
        starts = self.starts[self.blocks[s] : self.blocks[s + 1]]
        kept = self.places[span][keep]
        self.places[span.start : span.start + len(kept)] = kept
        starts[:] = moved(starts, keep)

    def shard(self, s: int) -> sparse.csr_array:
        """Shard ``s`` as a matrix of its own; a copy."""
        rows, columns = self.positions(s)
        shape = (int(self.cuts[s + 1] - self.cuts[s]), self.n_columns)
        made = sparse.csr_array((self.values(s), (rows - self.cuts[s], columns)), shape=shape)
        made.sort_indices()
        return made


Residual = ShardedCSR | StripedCSR


def residual(
    matrix: sparse.csr_array,
    kernels: "Kernels",
    *,
    cuts: NDArray[np.int64] | None = None,
    first_shard: int = 0,
) -> Residual:
    """Take over a CSR matrix in the layout that suits its size, which depends on its columns alone."""
    if matrix.shape[1] < STRIPED_FROM:
        return ShardedCSR.from_csr(matrix, copy=False, cuts=cuts, first_shard=first_shard)
    return StripedCSR.from_csr(matrix, kernels, cuts=cuts, first_shard=first_shard)
