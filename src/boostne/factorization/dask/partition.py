"""How the rows of X are divided among workers: by their entries, first estimated and then counted."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.dask.worker_block import BlockRange
from boostne.kernels.sharded_csr import MIN_SHARD_ENTRIES, cut_rows

SAMPLED_RANGES = 32
RANGE_ROWS = 16


def sampled_ranges(n: int, n_workers: int) -> list[range]:
    """Return ranges of rows to sample, evenly spaced."""
    count = max(SAMPLED_RANGES, n_workers)
    starts = np.unique(np.linspace(0, max(n - RANGE_ROWS, 0), count).astype(int)).tolist()
    return [range(first, min(first + RANGE_ROWS, n)) for first in starts]


def estimated_counts(n: int, ranges: list[range], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entries of each row, interpolated linearly between the sampled ranges."""
    centers = [(rows.start + rows.stop - 1) / 2 for rows in ranges]
    return np.asarray(np.interp(np.arange(n), centers, means))


def even_cuts(counts: NDArray[np.float64], n_workers: int) -> list[range]:
    """Divide the rows into as many ranges as there will be blocks, with nearly equal numbers of entries."""
    ends = np.cumsum(counts)
    n_blocks = _max_blocks(int(ends[-1]), n_workers)
    inner = np.searchsorted(ends, ends[-1] * np.arange(1, n_blocks) / n_blocks)
    cuts = np.unique([0, *inner, len(counts)]).tolist()
    return [range(first, last) for first, last in pairwise(cuts)]


def block_ranges(counts: NDArray[np.int64], n_columns: int, n_workers: int) -> list[BlockRange]:
    """Cut X into the shards of the local engine, into more only if workers would get none, and distribute them."""
    indptr = np.concatenate([[0], np.cumsum(counts)])
    cuts = cut_rows(indptr, n_columns, at_least=_max_blocks(int(indptr[-1]), n_workers))
    shares = np.array_split(np.arange(len(cuts) - 1), min(n_workers, len(cuts) - 1))
    return [
        BlockRange(
            rows=range(int(cuts[shards[0]]), int(cuts[shards[-1] + 1])),
            cuts=cuts[shards[0] : shards[-1] + 2] - cuts[shards[0]],
            first_shard=int(shards[0]),
        )
        for shards in shares
    ]


def _max_blocks(nnz: int, n_workers: int) -> int:
    # A shard below the smallest size is not worth a worker.
    return max(1, min(n_workers, nnz // MIN_SHARD_ENTRIES))
