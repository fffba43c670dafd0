"""What a worker stores and does: consecutive shards of R, their rows of U, and tasks on them.

Some functions here are Dask tasks, others are called by other workers (:mod:`.worker_rpc`). A block is modified in
place, so it stays on the worker that built it. It counts the levels it was deflated by, and every task carries a
stamp with the expected count, so that a rebuilt block is never mistaken for the lost one.
"""

import threading
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.factorization.context_factor import ContextFactor
from boostne.factorization.engine import PassResult
from boostne.factorization.local import squared_norm
from boostne.io import write_embedding
from boostne.io.atomic import atomic_path
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.column_blocked_csr import Residual, as_residual
from boostne.kernels.layout import ALIGNMENT, aligned_empty, padded_factor
from boostne.kernels.tree_reduction import PartialSum, merge_partials, sequential_sum, tree_sum
from boostne.matrices import MatrixSource
from boostne.matrices.csr_builder import CSRBuilder, chunks

Transition = Literal["none", "start", "accept", "revert"]


class BlockLostError(Exception):
    """A block is not in the state that a task expects: it was rebuilt, or the task is out of date."""


@dataclass(frozen=True)
class BlockRange:
    """Position of a block in X: its rows, the cuts between its shards, and the index of its first shard."""

    rows: range
    cuts: NDArray[np.int64]
    first_shard: int


@dataclass(frozen=True)
class TaskStamp:
    """When a task runs: after how many levels, in which attempt at the next, and after which change of U and V.

    ``extrapolation`` belongs to the transition "accept".
    """

    level: int
    attempt: int
    transition: Transition = "none"
    extrapolation: float = 0.0


@dataclass(frozen=True)
class BlockState:
    """What the engine knows about a block: levels it was deflated by, squared norm of each shard, entries left."""

    level: int
    norms: NDArray[np.float64]
    nnz: int


@dataclass(frozen=True)
class PartialSums:
    """``R^T U`` as sums over shards, and ``U^T U`` of each shard, of one block or of consecutive ones."""

    parts: list[PartialSum]
    grams: NDArray[np.float64]


@dataclass(frozen=True)
class RowDraft:
    """Rows that were built before the final block boundaries were known."""

    rows: range
    builder: CSRBuilder


@dataclass(frozen=True)
class FactorFiles:
    """Paths of the factors of finished levels in a folder that all machines share: U by blocks of rows, V whole."""

    folder: str

    def rows(self, level: int, first_row: int) -> Path:
        """Return the path of a block's rows of U."""
        return Path(self.folder) / f"level-{level + 1:02d}-rows-{first_row}.npy"

    def context(self, level: int) -> Path:
        """Return the path of V."""
        return Path(self.folder) / f"level-{level + 1:02d}-context.npy"


class WorkerBlock:
    """Consecutive shards of R with their rows of U, current and last accepted. The first block also stores V."""

    def __init__(self, R: Residual, first_row: int, norms: NDArray[np.float64], kernels: Kernels) -> None:
        self.R = R
        self.first_row = first_row
        self.norms = norms
        self.level = 0
        self.kernels = kernels
        self.lock = threading.Lock()
        self._context: tuple[int, ContextFactor] | None = None
        self._attempt = 0
        self._U = self._accepted = np.empty((0, 0), R.data.dtype)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a block stays on the worker that built it")

    def __sizeof__(self) -> int:
        return self.R.data.nbytes + self.R.data.size * np.dtype(np.int32).itemsize + 2 * self._U.nbytes

    @property
    def state(self) -> BlockState:
        """What the engine should know."""
        return BlockState(self.level, self.norms, self.R.nnz)

    def rows_at(self, stamp: TaskStamp, width: int) -> NDArray[Any]:
        """Return U after the stamp's transition; raise BlockLostError if the stamp does not match."""
        if stamp.transition == "start" and stamp.attempt > self._attempt and stamp.level == self.level:
            self._attempt = stamp.attempt
            self._U, self._accepted = (aligned_empty((self.R.n_rows, width), self.R.data.dtype) for _ in range(2))
            self._U[:] = self._accepted[:] = 0
        elif (stamp.level, stamp.attempt) != (self.level, self._attempt):
            raise BlockLostError
        elif stamp.transition == "accept":
            self._accepted[:] = self._U
        elif stamp.transition == "revert":
            self._U[:] = self._accepted
        return self._U

    def start_context(self, stamp: TaskStamp, V: NDArray[Any]) -> ContextFactor:
        """Store V of a new level."""
        context = ContextFactor(self.kernels, V)
        self._context = stamp.attempt, context
        return context

    def context_at(self, stamp: TaskStamp) -> ContextFactor:
        """Return V after the stamp's transition; raise BlockLostError as :meth:`rows_at` does."""
        attempt, context = self._context or (None, None)
        if context is None or (stamp.level, stamp.attempt) != (self.level, attempt):
            raise BlockLostError
        if stamp.transition == "accept":
            context.accept(stamp.extrapolation)
        elif stamp.transition == "revert":
            context.revert()
        return context

    def deflate(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        """Subtract one more level from R."""
        self.norms = self.kernels.deflate(self.R, U, V)
        self.level += 1
        self._context = None


def mean_row_entries(source: MatrixSource, ranges: list[range], threads: int) -> list[float]:
    """Return the mean number of entries per row in each range."""
    source = source.with_threads(threads)
    return [sum(len(block.columns) for block in source.rows(rows)) / len(rows) for rows in ranges]


def draft_rows(source: MatrixSource, rows: range, threads: int) -> RowDraft:
    """Build rows of X."""
    source = source.with_threads(threads)
    builder = CSRBuilder(source.shape[1], source.dtype)
    for chunk in chunks(rows, source.chunk_rows()):
        builder.extend(source.rows(chunk))
    return RowDraft(rows, builder)


def count_entries(draft: RowDraft) -> NDArray[np.int64]:
    """Return the number of entries of each row."""
    return draft.builder.counts


def build_block(
    source: MatrixSource,
    place: BlockRange,
    threads: int,
    draft: RowDraft | None = None,
    missing: NDArray[np.int64] | None = None,
) -> WorkerBlock:
    """Build the rows of a block, reusing a draft of a slightly different range if there is one.

    The draft is consumed: surplus rows are dropped, missing rows are built. ``missing`` has the numbers of entries of
    the rows that are missing at the front.
    """
    source = source.with_threads(threads)
    rows, size = place.rows, source.chunk_rows()
    if draft is None or missing is None or draft.rows.stop <= rows.start or rows.stop <= draft.rows.start:
        draft = draft_rows(source, rows, threads)
    begin, end = max(rows.start, draft.rows.start), min(rows.stop, draft.rows.stop)
    builder = draft.builder
    builder.keep(begin - draft.rows.start, end - draft.rows.start)
    if rows.start < begin and missing is not None:
        front = chunks(range(rows.start, begin), size)
        builder.prepend(missing, (block for chunk in front for block in source.rows(chunk)))
    for chunk in chunks(range(end, rows.stop), size):
        builder.extend(source.rows(chunk))
    kernels = get_kernels(threads=threads)
    R = as_residual(builder.finish(), kernels, cuts=place.cuts, first_shard=place.first_shard)
    norms = np.array([squared_norm(R.values(s)) for s in range(R.n_shards)])
    return WorkerBlock(R, rows.start, norms, kernels)


def block_state(block: WorkerBlock) -> BlockState:
    """Return the state of a block."""
    with block.lock:
        return block.state


def sweep(
    block: WorkerBlock, stamp: TaskStamp, V: NDArray[Any], gram_v: NDArray[np.float64], inner_sweeps: int
) -> PartialSums:
    """Run the fused pass over a block."""
    V = _aligned(V)
    with block.lock:
        U = block.rows_at(stamp, V.shape[1])
        return PartialSums(*block.kernels.sweep(block.R, V, gram_v, U, inner=inner_sweeps))


def join_sums(consecutive: list[PartialSums]) -> PartialSums:
    """Add the sums of consecutive blocks."""
    grams = np.concatenate([sums.grams for sums in consecutive])
    return PartialSums(reduce(merge_partials, [sums.parts for sums in consecutive]), grams)


def update_context(context: ContextFactor, sums: PartialSums, inner_sweeps: int) -> PassResult:
    """Update V against the sums of all blocks."""
    gram_u = sequential_sum(sums.grams)
    product = context.update(tree_sum(sums.parts), gram_u, inner_sweeps)
    return PassResult(gram_u, context.gram, product)


def apply_transition(block: WorkerBlock, stamp: TaskStamp, width: int) -> None:
    """Apply the stamp's transition to U and nothing else."""
    with block.lock:
        block.rows_at(stamp, width)


def rescale_rows(block: WorkerBlock, stamp: TaskStamp, ratio: NDArray[np.float64]) -> None:
    """Multiply the columns of U."""
    with block.lock:
        U = block.rows_at(stamp, len(ratio))
        U *= ratio.astype(U.dtype)


def row_factor(block: WorkerBlock, stamp: TaskStamp, components: int) -> NDArray[Any]:
    """Return the block's rows of U without padding."""
    with block.lock:
        return np.ascontiguousarray(block.rows_at(stamp, components)[:, :components])


def save_row_factor(block: WorkerBlock, stamp: TaskStamp, components: int, files: FactorFiles) -> None:
    """Write the block's rows of U to their file."""
    _save(files.rows(stamp.level, block.first_row), row_factor(block, stamp, components))


def context_factor(block: WorkerBlock, stamp: TaskStamp) -> NDArray[Any]:
    """Return V without padding."""
    return block.context_at(stamp).unpadded()


def save_context_factor(block: WorkerBlock, stamp: TaskStamp, files: FactorFiles) -> None:
    """Write V to its file."""
    _save(files.context(stamp.level), context_factor(block, stamp))


def deflate(block: WorkerBlock, stamp: TaskStamp, V: NDArray[Any]) -> list[BlockState]:
    """Subtract the current level from R."""
    with block.lock:
        if block.level == stamp.level:
            V = _aligned(V)
            block.deflate(block.rows_at(stamp, V.shape[1]), V)
        return [block.state]


def replay(block: WorkerBlock, level: int, U: NDArray[Any], V: NDArray[Any]) -> BlockState:
    """Subtract a level with known factors from R, unless that was done before."""
    with block.lock:
        if block.level == level:
            block.deflate(padded_factor(U), padded_factor(V))
        return block.state


def replay_from_files(block: WorkerBlock, level: int, files: FactorFiles) -> BlockState:
    """Subtract a level whose factors were written to files."""
    U, V = np.load(files.rows(level, block.first_row)), np.load(files.context(level))
    return replay(block, level, U, V)


def write_part(
    files: FactorFiles, nodes: NDArray[Any], first_row: int, widths: list[int], dtype: Any, path: str
) -> None:
    """Write the vectors of a block's rows, all levels side by side, as a Parquet file with their node ids.

    A level without a file is zero: the residual was zero before it.
    """
    vectors = np.zeros((len(nodes), sum(widths)), dtype)
    for level, end in enumerate(np.cumsum(widths)):
        rows = files.rows(level, first_row)
        if rows.exists():
            vectors[:, end - widths[level] : end] = np.load(rows)
    write_embedding(Embedding(nodes, vectors, widths), path)


def folder_exists(files: FactorFiles) -> bool:
    """Return whether this machine sees the folder."""
    return Path(files.folder).is_dir()


def _save(path: Path, array: NDArray[Any]) -> None:
    with atomic_path(path) as temporary:
        np.save(temporary, array, allow_pickle=False)


def _aligned(V: NDArray[Any]) -> NDArray[Any]:
    # An array from another worker may be unaligned, so that its rows straddle cache lines.
    return V if V.ctypes.data % ALIGNMENT == 0 else padded_factor(V)
