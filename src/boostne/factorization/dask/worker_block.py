"""What a worker of a cluster holds and does: some neighboring shards of R, their rows of U, and tasks on them.

Some of the functions are tasks of Dask, others are what workers ask of one another (:mod:`.worker_rpc`). A
block is changed in place and so must stay on the worker that built it; it counts the levels that were taken from it,
and whoever asks says how many they expect, so that a block that had to be built again is never taken for the one that
was lost.
"""

import threading
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from boostne.factorization import context_factor
from boostne.factorization.engine import Context, Pass
from boostne.factorization.local import squared_norm
from boostne.io.atomic import atomic_path
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.column_blocked_csr import Residual, as_residual
from boostne.kernels.layout import ALIGNMENT, aligned_empty
from boostne.kernels.tree_reduction import PartialSum, merge_partials, sequential_sum, tree_sum
from boostne.matrices.source import RowCollector, RowSource, chunks

Change = Literal["none", "begin", "accept", "retreat"]
Numbers = tuple[NDArray[np.float64], NDArray[np.float64], float]


class BlockLostError(Exception):
    """A block that is not in the state that a task expects: it was built again, or the task is out of date."""


@dataclass(frozen=True)
class Place:
    """Where a block lies in X: its rows, the cuts between its shards, and the number of the first of them."""

    rows: range
    cuts: NDArray[np.int64]
    first_shard: int


@dataclass(frozen=True)
class Moment:
    """When something happens: after so many levels, in which attempt at the next, and what became of U and V before.

    The ``step`` is that of an extrapolation, which is what follows where both were accepted.
    """

    level: int
    attempt: int
    change: Change = "none"
    step: float = 0.0


@dataclass(frozen=True)
class State:
    """What the engine knows of a block: levels taken from it, squared norm of each shard, entries left."""

    level: int
    norms: NDArray[np.float64]
    nnz: int


@dataclass(frozen=True)
class Sums:
    """``R^T U`` as sums over shards, and ``U^T U`` of each shard, of one block or of several neighbors."""

    parts: list[PartialSum]
    grams: NDArray[np.float64]


@dataclass(frozen=True)
class Draft:
    """Rows that were built before the cuts were known."""

    rows: range
    collector: RowCollector


@dataclass(frozen=True)
class LevelFiles:
    """Names of the files of finished levels, in a folder that all machines see: U by blocks of rows, V whole."""

    folder: str

    def rows(self, level: int, first_row: int) -> Path:
        """Return where a block's rows of U are."""
        return Path(self.folder) / f"level-{level + 1:02d}-rows-{first_row}.npy"

    def columns(self, level: int) -> Path:
        """Return where V is."""
        return Path(self.folder) / f"level-{level + 1:02d}-context.npy"


class Block:
    """Some neighboring shards of R, with their rows of U as they are and as they were last accepted.

    The first block also has V.
    """

    def __init__(self, R: Residual, first_row: int, norms: NDArray[np.float64], kernels: Kernels) -> None:
        self.R = R
        self.first_row = first_row
        self.norms = norms
        self.level = 0
        self.kernels = kernels
        self.lock = threading.Lock()
        self._context: tuple[int, Context] | None = None
        self._attempt = 0
        self._U = self._accepted = np.empty((0, 0), R.data.dtype)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a block stays on the worker that built it")

    def __sizeof__(self) -> int:
        return self.R.data.nbytes + self.R.data.size * np.dtype(np.int32).itemsize + 2 * self._U.nbytes

    @property
    def state(self) -> State:
        """What the engine should know."""
        return State(self.level, self.norms, self.R.nnz)

    def rows_at(self, moment: Moment, width: int) -> NDArray[Any]:
        """Return U after the change that was due; refuse a task that belongs to another time."""
        if moment.change == "begin" and moment.attempt > self._attempt and moment.level == self.level:
            self._attempt = moment.attempt
            self._U, self._accepted = (
                aligned_empty((self.R.n_rows, width), self.R.data.dtype) for _ in range(2)
            )
            self._U[:] = 0
        elif (moment.level, moment.attempt) != (self.level, self._attempt):
            raise BlockLostError
        elif moment.change == "accept":
            self._accepted[:] = self._U
        elif moment.change == "retreat":
            self._U[:] = self._accepted
        return self._U

    def begin(self, moment: Moment, V: NDArray[Any]) -> Context:
        """Take V in."""
        self._context = moment.attempt, context_factor.start(self.kernels, V)
        return self._context[1]

    def context_at(self, moment: Moment) -> Context:
        """Return V after the change that was due; refuse as :meth:`rows_at` does."""
        attempt, context = self._context or (None, None)
        if context is None or (moment.level, moment.attempt) != (self.level, attempt):
            raise BlockLostError
        if moment.change == "accept":
            context_factor.extrapolate(self.kernels, context, moment.step)
        elif moment.change == "retreat":
            context_factor.retreat(self.kernels, context)
        return context

    def deflate(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        """Take one more level from R."""
        self.norms = self.kernels.deflate(self.R, U, V)
        self.level += 1
        self._context = None


def sample_rows(source: RowSource, ranges: list[range], threads: int) -> list[float]:
    """Return the mean number of entries of a row in each range."""
    source = source.with_threads(threads)
    return [sum(len(columns) for _, columns, _ in source(rows)) / len(rows) for rows in ranges]


def draft_rows(source: RowSource, rows: range, threads: int) -> Draft:
    """Build rows of X."""
    source = source.with_threads(threads)
    collector = RowCollector(source.n, source.dtype)
    for chunk in chunks(rows, source.chunk_rows()):
        collector.extend(source(chunk))
    return Draft(rows, collector)


def count_entries(draft: Draft) -> NDArray[np.int64]:
    """Return the number of entries of each row."""
    return draft.collector.counts


def build_block(
    source: RowSource,
    place: Place,
    threads: int,
    draft: Draft | None = None,
    missing: NDArray[np.int64] | None = None,
) -> Block:
    """Build the rows of a block, from a draft for a slightly different place where there is one.

    The draft is used up: rows that are too many go, rows that are missing are built. ``missing`` has the numbers
    of entries of those that are missing in front.
    """
    source = source.with_threads(threads)
    rows, size = place.rows, source.chunk_rows()
    if draft is None or missing is None or draft.rows.stop <= rows.start or rows.stop <= draft.rows.start:
        draft = draft_rows(source, rows, threads)
    begin, end = max(rows.start, draft.rows.start), min(rows.stop, draft.rows.stop)
    collector = draft.collector
    collector.keep(begin - draft.rows.start, end - draft.rows.start)
    if rows.start < begin and missing is not None:
        in_front = chunks(range(rows.start, begin), size)
        collector.prepend(missing, (piece for chunk in in_front for piece in source(chunk)))
    for chunk in chunks(range(end, rows.stop), size):
        collector.extend(source(chunk))
    kernels = get_kernels(threads=threads)
    R = as_residual(collector.finish(), kernels, cuts=place.cuts, first_shard=place.first_shard)
    norms = np.array([squared_norm(R.values(s)) for s in range(R.n_shards)])
    return Block(R, rows.start, norms, kernels)


def describe(block: Block) -> State:
    """Return a block's state."""
    with block.lock:
        return block.state


def sweep(block: Block, moment: Moment, V: NDArray[Any], gram: NDArray[np.float64], inner: int) -> Sums:
    """Run the fused pass over a block."""
    V = _aligned(V)
    with block.lock:
        U = block.rows_at(moment, V.shape[1])
        return Sums(*block.kernels.sweep(block.R, V, gram, U, inner=inner))


def join_sums(neighbors: list[Sums]) -> Sums:
    """Add the sums of neighbors."""
    grams = np.concatenate([sums.grams for sums in neighbors])
    return Sums(reduce(merge_partials, [sums.parts for sums in neighbors]), grams)


def update(block: Block, context: Context, swept: Sums, inner: int) -> Numbers:
    """Update V against the sums of all blocks; returns ``V^T V``, ``U^T U`` and ``<R^T U, V>``."""
    made = Pass(tree_sum(swept.parts), sequential_sum(swept.grams))
    product = context_factor.update(block.kernels, context, made, inner)
    return context.gram, made.gram, product


def settle_rows(block: Block, moment: Moment, width: int) -> None:
    """Do nothing but what was due to U."""
    with block.lock:
        block.rows_at(moment, width)


def scale_rows(block: Block, moment: Moment, ratio: NDArray[np.float64]) -> None:
    """Multiply the columns of U."""
    with block.lock:
        U = block.rows_at(moment, len(ratio))
        U *= ratio.astype(U.dtype)


def rows_of(block: Block, moment: Moment, components: int) -> NDArray[Any]:
    """Return the block's rows of U without their padding."""
    with block.lock:
        return np.ascontiguousarray(block.rows_at(moment, components)[:, :components])


def save_rows(block: Block, moment: Moment, components: int, files: LevelFiles) -> None:
    """Write what :func:`rows_of` would return."""
    _save(files.rows(moment.level, block.first_row), rows_of(block, moment, components))


def columns(block: Block, moment: Moment) -> NDArray[Any]:
    """Return V without its padding."""
    return context_factor.columns(block.context_at(moment))


def save_columns(block: Block, moment: Moment, files: LevelFiles) -> None:
    """Write what :func:`columns` would return."""
    _save(files.columns(moment.level), columns(block, moment))


def deflate(block: Block, moment: Moment, V: NDArray[Any]) -> list[State]:
    """Take the level in hand from R."""
    with block.lock:
        if block.level == moment.level:
            V = _aligned(V)
            block.deflate(block.rows_at(moment, V.shape[1]), V)
        return [block.state]


def deflate_again(block: Block, level: int, U: NDArray[Any], V: NDArray[Any]) -> State:
    """Take a level from R whose factors are known, unless that has been done."""
    with block.lock:
        if block.level == level:
            block.deflate(context_factor.padded(U), context_factor.padded(V))
        return block.state


def deflate_from_files(block: Block, level: int, files: LevelFiles) -> State:
    """Do the same with factors that were written."""
    return deflate_again(
        block, level, np.load(files.rows(level, block.first_row)), np.load(files.columns(level))
    )


def write_part(
    files: LevelFiles, nodes: NDArray[Any], first_row: int, widths: list[int], dtype: Any, path: str
) -> None:
    """Write the vectors of a block's rows, all levels side by side, as a Parquet file with the ids of their nodes.

    A level that has no file is zero: nothing was left for it.
    """
    from boostne.embedding import Embedding
    from boostne.io import write_embedding

    vectors = np.zeros((len(nodes), sum(widths)), dtype)
    for level, end in enumerate(np.cumsum(widths)):
        rows = files.rows(level, first_row)
        if rows.exists():
            vectors[:, end - widths[level] : end] = np.load(rows)
    write_embedding(Embedding(nodes, vectors, widths), path)


def sees(files: LevelFiles) -> bool:
    """Whether this machine has the folder."""
    return Path(files.folder).is_dir()


def _save(path: Path, array: NDArray[Any]) -> None:
    with atomic_path(path) as temporary:
        np.save(temporary, array, allow_pickle=False)


def _aligned(V: NDArray[Any]) -> NDArray[Any]:
    # What came from another worker lies anywhere, and rows across cache lines would be read twice.
    return V if V.ctypes.data % ALIGNMENT == 0 else context_factor.padded(V)
