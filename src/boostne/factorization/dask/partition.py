"""How the rows of X are shared among workers: by their entries, reckoned at first and then counted."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.dask.worker_block import Place
from boostne.kernels.sharded_csr import MAX_SHARDS, MIN_SHARD_ENTRIES, cut_rows
from boostne.kernels.tree_reduction import max_pending_nodes
from boostne.matrices.source import RowSource

SAMPLED_RANGES = 32
RANGE_ROWS = 16
MARGIN = 1.15  # a block over its even share: the reckoning is one from a sample, and shards are whole rows
CHUNK_BYTES = 1 << 26  # working space while rows are built, generously


def sampled_ranges(n: int, n_workers: int) -> list[range]:
    """Rows to be counted for the reckoning, spread evenly."""
    count = max(SAMPLED_RANGES, n_workers)
    starts = np.unique(np.linspace(0, max(n - RANGE_ROWS, 0), count).astype(int)).tolist()
    return [range(first, min(first + RANGE_ROWS, n)) for first in starts]


def estimated_counts(n: int, ranges: list[range], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entries of each row, between the sampled ones on a straight line."""
    centers = [(rows.start + rows.stop - 1) / 2 for rows in ranges]
    return np.asarray(np.interp(np.arange(n), centers, means))


def even_cuts(counts: NDArray[np.float64], n_workers: int) -> list[range]:
    """Cut the rows into as many parts as there will be blocks, with nearly the same entries each."""
    ends = np.cumsum(counts)
    n_blocks = _most_blocks(int(ends[-1]), n_workers)
    inner = np.searchsorted(ends, ends[-1] * np.arange(1, n_blocks) / n_blocks)
    cuts = np.unique([0, *inner, len(counts)]).tolist()
    return [range(first, last) for first, last in pairwise(cuts)]


def places(counts: NDArray[np.int64], n_columns: int, n_workers: int) -> list[Place]:
    """Cut X into the shards that the local engine has, more only where workers would go without, and share them."""
    indptr = np.concatenate([[0], np.cumsum(counts)])
    cuts = cut_rows(indptr, n_columns, at_least=_most_blocks(int(indptr[-1]), n_workers))
    shares = np.array_split(np.arange(len(cuts) - 1), min(n_workers, len(cuts) - 1))
    return [
        Place(
            rows=range(int(cuts[shards[0]]), int(cuts[shards[-1] + 1])),
            cuts=cuts[shards[0] : shards[-1] + 2] - cuts[shards[0]],
            first_shard=int(shards[0]),
        )
        for shards in shares
    ]


def block_bytes(source: RowSource, nnz: int, n_workers: int, components: int, threads: int) -> int:
    """Memory that a worker needs for its block, the source of its rows and the factors of a level."""
    item = source.dtype.itemsize
    rows = -(-source.n // n_workers)
    entries = MARGIN * nnz / n_workers * (item + np.dtype(np.int32).itemsize)
    # Of V: two versions, the kernel's copy, the accumulators, the sums that wait; of C: this worker's, those of the
    # others that it asks, and what they add up to.
    asked = (n_workers - 1).bit_length()
    factors = (5 + asked + threads + max_pending_nodes(0, MAX_SHARDS)) * source.n + 4 * rows
    pointers = 2 * np.dtype(np.int64).itemsize * rows
    return int(entries + pointers + factors * max(components, 16) * item + source.nbytes + CHUNK_BYTES)


def _most_blocks(nnz: int, n_workers: int) -> int:
    # A shard below the smallest size is not worth a worker.
    return max(1, min(n_workers, nnz // MIN_SHARD_ENTRIES))
