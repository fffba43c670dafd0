"""What a computation will take, from a small part of it."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from boostne.boosting import Settings, random_start
from boostne.connectivity import WalkColumns
from boostne.connectivity.deepwalk import CHUNK_BYTES
from boostne.engines import LocalEngine
from boostne.kernels import Kernels
from boostne.kernels.native import BLOCK_COLUMNS
from boostne.kernels.shard_sums import most_nodes
from boostne.kernels.sharded import MAX_SHARDS

SAMPLED_BLOCKS = 8
TYPICAL_PASSES = 14  # of a level at the default tolerance
TYPICAL_SHRINKAGE = 0.6  # mean entries of the residual over those of X, eight levels


@dataclass(frozen=True)
class Estimate:
    """Time and memory, before they are spent.

    Attributes
    ----------
    nnz : int
        Entries of the connectivity matrix X.
    connectivity_bytes : int
        Memory of X.
    peak_bytes : int
        Largest memory at any time, beyond what the program takes before it begins.
    connectivity_seconds, levels_seconds : float
        Time of X and of the levels.
    """

    nnz: int
    connectivity_bytes: int
    peak_bytes: int
    connectivity_seconds: float
    levels_seconds: float


@dataclass(frozen=True)
class Workload:
    """The sizes that time and memory depend on, apart from the entries of X."""

    n_nodes: int
    levels: int
    settings: Settings
    dtype: np.dtype[Any]
    threads: int

    @property
    def entry_bytes(self) -> int:
        """Bytes of an entry of X: its value and its column."""
        return self.dtype.itemsize + np.dtype(np.int32).itemsize

    def peak_bytes(self, nnz: int) -> int:
        """Return the memory for X with ``nnz`` entries and all that is there beside it."""
        width = self.settings.components
        # Both factors of every level; of the level in hand U, V, both before, C and the kernel's copy of V, with
        # two more while they are collected, an accumulator for each thread, and the sums that wait to be added.
        # Rows are padded to 16 numbers.
        numbers = 2 * self.levels * width + (8 + self.threads + most_nodes(0, MAX_SHARDS)) * max(width, 16)
        row_pointers = 2 * np.dtype(np.int64).itemsize
        chunk = min(CHUNK_BYTES, self.n_nodes**2 * self.entry_bytes)
        beside = max(chunk, self.n_nodes * (row_pointers + numbers * self.dtype.itemsize))
        return nnz * self.entry_bytes + beside


def estimate(columns: WalkColumns, work: Workload, kernels: Kernels, growth: float) -> Estimate:
    """Estimate from some hundred columns of X and one pass over them.

    Parameters
    ----------
    columns : WalkColumns
        Makes the columns.
    work : Workload
        What will be done with them.
    kernels : Kernels
        With which it will be done.
    growth : float
        Entries that X will have over those of the columns built here.
    """
    sample, seconds = _sample(columns)
    return estimate_from(sample, seconds, work, kernels, growth)


def estimate_from(
    sample: sparse.csr_array, seconds: float, work: Workload, kernels: Kernels, growth: float = 1.0
) -> Estimate:
    """Estimate from rows of X, which took so many seconds, and one pass over them; parameters as above."""
    share = work.n_nodes / sample.shape[0]
    nnz = int(min(growth * sample.nnz * share, work.n_nodes**2))
    passes = work.levels * min(TYPICAL_PASSES, work.settings.max_iter)
    per_entry = _time_pass(sample, work.settings, kernels) / max(sample.nnz, 1)
    return Estimate(
        nnz=nnz,
        connectivity_bytes=nnz * work.entry_bytes,
        peak_bytes=work.peak_bytes(nnz),
        connectivity_seconds=seconds * share,
        levels_seconds=passes * TYPICAL_SHRINKAGE * nnz * per_entry,
    )


def _sample(columns: WalkColumns) -> tuple[sparse.csr_array, float]:
    """Build a few blocks of X's columns, spread evenly; returns them as rows, and the seconds they took."""
    n = columns.n
    starts = np.unique(np.linspace(0, max(n - BLOCK_COLUMNS, 0), SAMPLED_BLOCKS).astype(int))
    begin = time.perf_counter()
    rows = [row for start in starts for row in columns(range(start, min(start + BLOCK_COLUMNS, n)))]
    seconds = time.perf_counter() - begin
    ends = np.cumsum([0, *(len(indices) for indices, _ in rows)])
    indices = np.concatenate([indices for indices, _ in rows])
    values = np.concatenate([values for _, values in rows])
    return sparse.csr_array((values, indices, ends), shape=(len(rows), n)), seconds


def _time_pass(sample: sparse.csr_array, settings: Settings, kernels: Kernels) -> float:
    engine = LocalEngine(kernels)
    engine.load(sample)
    context = engine.begin(random_start(0, engine, settings.components)(0))
    engine.sweep(context, settings.inner)  # warms the caches
    begin = time.perf_counter()
    engine.sweep(context, settings.inner)
    return time.perf_counter() - begin
