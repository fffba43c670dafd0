"""What a computation will take, from a small part of it."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.factorization import LocalEngine
from boostne.factorization.boosting import Settings, random_start
from boostne.kernels import Kernels
from boostne.kernels.column_blocked_csr import COLUMN_BLOCKED_FROM
from boostne.kernels.sharded_csr import MAX_SHARDS
from boostne.kernels.tree_reduction import max_pending_nodes
from boostne.matrices.source import GROWTH, RowSource

TIMED_PASSES = 4
TIMED_ENTRIES = 4_000_000  # at least, or all there will be: fewer are over before all threads have begun
# Of a level at the default tolerance, and mean entries of the residual over those of X, at so many nodes: of a larger X
# a level explains less and less.
NODES, TYPICAL_PASSES, TYPICAL_SHRINKAGE = (10_000, 100_000), (14, 6), (0.5, 1.0)
TYPICAL_DECAY = 0.25  # a pass of level i takes i^-0.25 of the work of the first level's
LATER_PASSES = 11  # of a level after the first, whose passes also take longest
NODE_ENTRIES = 250  # a pass's work on a node beside its entries, in entries
THREAD_BYTES = 1_000_000  # that each thread takes for its stack, and its allocator for itself


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
    form : str
        What was chosen for X, in words, such as ``"exact"``.
    """

    nnz: int
    connectivity_bytes: int
    peak_bytes: int
    connectivity_seconds: float
    levels_seconds: float
    form: str


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

    def peak_bytes(self, nnz: int, building: int = 0) -> int:
        """Return the memory for X with ``nnz`` entries and all that is there beside it.

        ``building`` is what is there beside X while it is built; what the levels take comes after that.
        """
        X = nnz * self.entry_bytes
        return int(max(GROWTH * X + building, X + self._levels_bytes)) + self.threads * THREAD_BYTES

    def most_entries(self, size: int, building: int = 0) -> int:
        """Return the entries that X may have for the peak to stay within ``size`` bytes."""
        left = size - self.threads * THREAD_BYTES
        return int(min((left - building) / GROWTH, left - self._levels_bytes) / self.entry_bytes)

    @property
    def _levels_bytes(self) -> int:
        width = self.settings.components
        # Both factors of every level; of the level in hand U, V, both before, two of C, the start and the kernel's
        # copy of V, with two that were collected, an accumulator for each thread, and the sums that wait to be
        # added. Rows are padded to 16 numbers.
        numbers = 2 * self.levels * width + (10 + self.threads + max_pending_nodes(0, MAX_SHARDS)) * max(
            width, 16
        )
        row_pointers = 3 * np.dtype(np.int64).itemsize
        return self.n_nodes * (row_pointers + numbers * self.dtype.itemsize)


@dataclass(frozen=True)
class Sample:
    """Some rows of X, and the seconds that all of X would take to build."""

    rows: sparse.csr_array
    seconds: float

    @property
    def density(self) -> float:
        """Entries over all pairs."""
        return float(self.rows.nnz / (self.rows.shape[0] * self.rows.shape[1]))


def estimate(
    sample: Sample, work: Workload, kernels: Kernels, *, form: str, building: int = 0, growth: float = 1.0
) -> Estimate:
    """Estimate from rows of X and a pass over them.

    Parameters
    ----------
    sample : Sample
        Rows of X; all of them, or a few.
    work : Workload
        What will be done with them.
    kernels : Kernels
        With which it will be done.
    form : str
        What X is.
    building : int
        Bytes beside X while it is built.
    growth : float
        Entries that X will have over those expected from the rows.
    """
    nnz = int(min(growth * sample.density, 1.0) * work.n_nodes**2)
    passes = work.levels * min(_typical(work.n_nodes, TYPICAL_PASSES), work.settings.max_iter)
    fixed = _time_pass(sample.rows[:1], work.settings, kernels)
    rows = _repeated(_folded(sample.rows), min(TIMED_ENTRIES, nnz))
    variable = _time_pass(rows, work.settings, kernels) - _time_pass(rows[:1], work.settings, kernels)
    entries = _typical(work.n_nodes, TYPICAL_SHRINKAGE) * growth
    return Estimate(
        nnz=nnz,
        connectivity_bytes=nnz * work.entry_bytes,
        peak_bytes=work.peak_bytes(nnz, building),
        connectivity_seconds=sample.seconds,
        levels_seconds=passes * (fixed + entries * max(variable, 0.0) * work.n_nodes / rows.shape[0]),
        form=form,
    )


def share_done(
    n_nodes: int, levels: int, passes: NDArray[np.int64], entries: NDArray[np.int64], n_iter: int
) -> float:
    """Return how much of the levels' work is done, by passes times entries; the rest as what is done lets expect.

    Parameters
    ----------
    n_nodes, levels : int
        n and k.
    passes : ndarray of int
        Of each finished level.
    entries : ndarray of int
        Of the residual before each finished level, and before the one in hand.
    n_iter : int
        Passes of the level in hand so far.
    """
    level, work = len(passes), entries + NODE_ENTRIES * max(n_nodes, 1)
    now = work[-1]
    # What is typical counts as one level more.
    seen = level * np.log(work[0] / now) / np.log(level + 1) if level else 0.0
    decay = (seen + TYPICAL_DECAY) / (level + 1)
    # A first level that takes long lets expect others that do: a share that was told is not taken back.
    typical = LATER_PASSES if level else max(n_iter, LATER_PASSES)
    expected = np.exp(np.log([typical, *np.maximum(passes, 1)]).mean())
    done = float(np.dot(passes, work[:-1])) + n_iter * now
    later = (np.arange(level + 2, levels + 1) / (level + 1)) ** -decay
    left = now * (max(expected - n_iter, 0) + expected * later.sum())
    return float(done / (done + left)) if done + left else 1.0


def sample_rows(source: RowSource, size: int, blocks: int) -> Sample:
    """Build a few blocks of rows, spread evenly."""
    n = source.n
    starts = np.unique(np.linspace(0, max(n - size, 0), blocks).astype(int))
    begin = time.perf_counter()
    pieces = [piece for start in starts for piece in source(range(start, min(start + size, n)))]
    seconds = time.perf_counter() - begin
    counts, columns, values = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    pointers = np.concatenate([[0], np.cumsum(counts)])
    rows = sparse.csr_array((values, columns, pointers), shape=(len(counts), n))
    return Sample(rows, seconds * n / len(counts))


def _typical(n_nodes: int, values: tuple[float, float]) -> float:
    """Interpolate between what is typical at both numbers of nodes."""
    return float(np.interp(np.log(max(n_nodes, 1)), np.log(NODES), values))


def _folded(rows: sparse.csr_array) -> sparse.csr_array:
    """Return rows with no more columns than a pass can do without strips for.

    In strips a pass works from the cache, however many columns there are; but only over many rows, not over a few.
    """
    n_columns = min(rows.shape[1], COLUMN_BLOCKED_FROM - 1)
    return sparse.csr_array(
        (rows.data, rows.indices % n_columns, rows.indptr), shape=(rows.shape[0], n_columns)
    )


def _repeated(rows: sparse.csr_array, entries: int) -> sparse.csr_array:
    """Repeat rows until they have so many entries."""
    return sparse.vstack([rows] * max(1, -(-entries // max(rows.nnz, 1))), format="csr")


def _time_pass(rows: sparse.csr_array, settings: Settings, kernels: Kernels) -> float:
    engine = LocalEngine(kernels)
    engine.load(rows.copy())
    context = engine.begin(random_start(0, engine, settings.components)(0))
    seconds = []
    for _ in range(TIMED_PASSES):
        begin = time.perf_counter()
        engine.update(context, engine.sweep(context, settings.inner), settings.inner)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)  # the first warms the caches, others may be disturbed
