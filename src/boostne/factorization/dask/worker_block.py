"""What a worker stores and does: consecutive shards of R, their rows of U, and tasks on them.

Some functions here are Dask tasks, others are called by other workers (:mod:`.block_actor`). A block is modified in
place, so it stays on the worker that built it. It counts the levels it was deflated by, and every task carries a
stamp with the expected count, so that a rebuilt block is never mistaken for the lost one.
"""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.factorization.context_factor import ContextSlice
from boostne.factorization.dask.exchange import BlockLostError, BlockSums, Exchange
from boostne.factorization.factor_files import FactorFiles, FactorParts, SavedRows
from boostne.factorization.local import squared_norm
from boostne.io import write_embedding
from boostne.io.atomic import check_writable
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.column_blocked_csr import Residual, as_residual
from boostne.kernels.layout import aligned_empty, padded_factor, padded_width
from boostne.matrices import MatrixSource
from boostne.matrices.csr_builder import CSRBuilder, chunks

Transition = Literal["none", "accept", "revert"]
FactorLists = tuple[FactorParts, FactorParts]  # of U and V


@dataclass(frozen=True)
class BlockRange:
    """Position of a block in X: its rows, the cuts between its shards, and the index of its first shard."""

    rows: range
    cuts: NDArray[np.int64]
    first_shard: int


@dataclass(frozen=True)
class TaskStamp:
    """When a task runs: after how many levels, in which attempt at the next, and after which change of U and V.

    ``number`` counts the calls of an attempt, and ``extrapolation`` belongs to the transition "accept".
    """

    level: int
    attempt: int
    number: int = 0
    transition: Transition = "none"
    extrapolation: float = 0.0

    def applied(self) -> "TaskStamp":
        """Return the stamp of what follows in the same call, after the transition."""
        return TaskStamp(self.level, self.attempt, self.number)


@dataclass(frozen=True)
class BlockState:
    """What the engine knows about a block.

    Attributes
    ----------
    level : int
        Levels that it was deflated by.
    norms : ndarray of float64
        Squared norm of each shard.
    nnz : int
        Entries left.
    instruction_set : str
        Of the kernels of its worker.
    """

    level: int
    norms: NDArray[np.float64]
    nnz: int
    instruction_set: str


@dataclass(frozen=True)
class RowDraft:
    """Rows that were built before the final block boundaries were known."""

    rows: range
    builder: CSRBuilder


class WorkerBlock:
    """Consecutive shards of R with their rows of U, current and last accepted.

    V is whole, but between passes only the own slice of it is up to date.
    """

    def __init__(self, R: Residual, first_row: int, norms: NDArray[np.float64], kernels: Kernels) -> None:
        self.R = R
        self.first_row = first_row
        self.norms = norms
        self.level = 0
        self.kernels = kernels
        self.lock = threading.Lock()
        self.initial_v: tuple[int, NDArray[Any]] | None = None
        self._attempt = 0
        self._exchange: Exchange | None = None
        self._context: ContextSlice | None = None
        self.V = self._U = self._accepted = self._zeros(0, 0)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a block stays on the worker that built it")

    def __sizeof__(self) -> int:
        factors = 2 * self.V.nbytes + 2 * self._U.nbytes
        return self.R.data.nbytes + self.R.data.size * np.dtype(np.int32).itemsize + factors

    @property
    def state(self) -> BlockState:
        """What the engine should know."""
        return BlockState(self.level, self.norms, self.R.nnz, self.kernels.instruction_set)

    def start(self, stamp: TaskStamp, exchange: Exchange, components: int) -> NDArray[Any]:
        """Start an attempt at a level with U = 0; returns an array for V, of which the caller fills the own slice."""
        with self.lock:
            if stamp.level != self.level or stamp.attempt <= self._attempt:
                raise BlockLostError
            self._attempt, self._exchange, self._context = stamp.attempt, exchange, None
            self.V = self._U = self._accepted = self._zeros(0, 0)  # not kept while new ones are allocated
            width = padded_width(components)
            self.V = self._zeros(self.R.n_columns, width)
            self._U, self._accepted = (self._zeros(self.R.n_rows, width) for _ in range(2))
            return self.V

    def start_context(self, stamp: TaskStamp, components: int) -> ContextSlice:
        """Take the own slice of V as the start of the level."""
        exchange = self.exchange_at(stamp)
        rows = exchange.rows
        V, chunks = self.V[rows.start : rows.stop], exchange.slices.chunks(exchange.index)
        self._context = ContextSlice(self.kernels, V, components, chunks)
        return self._context

    def exchange_at(self, stamp: TaskStamp) -> Exchange:
        """Return the exchange of the stamp's attempt; raise BlockLostError if this block has none.

        It lasts until the next attempt, beyond a deflation: other blocks may be slower.
        """
        if self._exchange is None or stamp.attempt != self._attempt:
            raise BlockLostError
        return self._exchange

    def apply(self, stamp: TaskStamp) -> tuple[NDArray[Any], ContextSlice]:
        """Apply the stamp's transition; returns U and the slice of V. The caller holds the lock."""
        if self._context is None or (stamp.level, stamp.attempt) != (self.level, self._attempt):
            raise BlockLostError
        if stamp.transition == "accept":
            self._accepted[:] = self._U
            self._context.accept(stamp.extrapolation)
        elif stamp.transition == "revert":
            self._U[:] = self._accepted
            self._context.revert()
        return self._U, self._context

    def deflate(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        """Subtract one more level from R."""
        self.norms = self.kernels.deflate(self.R, U, V)
        self.level += 1
        self._context = None

    def _zeros(self, n_rows: int, width: int) -> NDArray[Any]:
        array = aligned_empty((n_rows, width), self.R.data.dtype)
        array[:] = 0
        return array


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


def sweep(block: WorkerBlock, stamp: TaskStamp, gram_v: NDArray[np.float64], inner_sweeps: int) -> BlockSums:
    """Run the fused pass; V is complete."""
    with block.lock:
        U, _ = block.apply(stamp)
        return BlockSums(*block.kernels.sweep(block.R, block.V, gram_v, U, inner=inner_sweeps))


def update_context(
    block: WorkerBlock, stamp: TaskStamp, C: NDArray[Any], gram_u: NDArray[np.float64], inner_sweeps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Update the slice of V; returns ``V^T V`` and ``<C, V>`` of each chunk."""
    with block.lock:
        _, context = block.apply(stamp)
        products = context.update(C, gram_u, inner_sweeps)
        return context.grams, products


def apply_transition(block: WorkerBlock, stamp: TaskStamp) -> ContextSlice:
    """Apply the stamp's transition to U and the slice of V; returns the latter."""
    with block.lock:
        return block.apply(stamp)[1]


def rescale(block: WorkerBlock, stamp: TaskStamp, ratio: NDArray[np.float64]) -> None:
    """Multiply the columns of U and divide those of the slice of V."""
    with block.lock:
        U, context = block.apply(stamp)
        U *= ratio.astype(U.dtype)
        context.rescale(ratio)


def row_factor(block: WorkerBlock, stamp: TaskStamp, components: int) -> NDArray[Any]:
    """Return the block's rows of U without padding."""
    with block.lock:
        return np.ascontiguousarray(block.apply(stamp)[0][:, :components])


def context_rows(block: WorkerBlock, stamp: TaskStamp) -> NDArray[Any]:
    """Return the block's slice of V without padding."""
    with block.lock:
        return block.apply(stamp)[1].unpadded()


def save_factors(
    block: WorkerBlock, stamp: TaskStamp, files: FactorFiles
) -> tuple[SavedRows, SavedRows | None] | OSError:
    """Write the block's rows of U and its slice of V, if it has one; returns the rows and checksums of the files.

    An error of the disk is returned: Dask would print the traceback of one that is raised.
    """
    U, rows = row_factor(block, stamp, files.components), block.exchange_at(stamp).rows
    V = context_rows(block, stamp) if rows else None
    try:
        saved = files.write(stamp.level, "U", block.first_row, U)
        return saved, None if V is None else files.write(stamp.level, "V", rows.start, V)
    except OSError as error:
        return error


def deflate(block: WorkerBlock, stamp: TaskStamp) -> BlockState:
    """Subtract the current level from R; V is complete."""
    with block.lock:
        block.deflate(block.apply(stamp)[0], block.V)
        return block.state


def replay(block: WorkerBlock, level: int, U: NDArray[Any], V: NDArray[Any]) -> BlockState:
    """Subtract a level with known factors from R, unless that was done before."""
    with block.lock:
        if block.level == level:
            block.deflate(padded_factor(U), padded_factor(V))
        return block.state


def replay_from_files(block: WorkerBlock, level: int, files: FactorFiles, factors: FactorLists) -> BlockState:
    """Subtract a level whose factors were written to files."""
    own = range(block.first_row, block.first_row + block.R.n_rows)
    U = files.read(level, "U", factors[0], own)
    return replay(block, level, U, files.read(level, "V", factors[1], range(block.R.n_columns)))


def write_part(
    files: FactorFiles, factors: Sequence[FactorParts | None], nodes: NDArray[Any], rows: range, path: str
) -> OSError | None:
    """Write the vectors of some rows, all levels side by side, as a Parquet file with their node ids.

    A level without files is zero: the residual was zero before it. An error of the disk is returned, as by
    :func:`save_factors`.
    """
    width = files.components
    vectors = np.zeros((len(rows), len(factors) * width), files.dtype)
    for level, parts in enumerate(factors):
        if parts is not None:
            vectors[:, level * width : (level + 1) * width] = files.read(level, "U", parts, rows)
    try:
        write_embedding(Embedding(nodes, vectors, [width] * len(factors)), path)
    except OSError as error:
        return error
    return None


def folder_problem(probe: str) -> str | None:
    """Return what keeps this worker from writing next to a file of the client, or None if nothing does."""
    if not os.path.isfile(probe):  # noqa: PTH113  Path.is_file raises if a folder cannot be searched
        return "does not see"
    try:
        check_writable(f"{probe}.npz")
    except ParameterError:
        return "cannot write into"
    return None
