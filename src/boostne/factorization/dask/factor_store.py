"""Where the factors of finished levels are stored: on the client, or in files that all workers share.

They are needed twice: by the user, and by a block that was lost with its worker, is rebuilt, and must be deflated by
the finished levels again.
"""

import errno
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from boostne.errors import ParameterError
from boostne.factorization.dask import worker_block
from boostne.factorization.dask.block_placement import BlockPlacement, PlacedBlock
from boostne.factorization.dask.cluster import Cluster
from boostne.factorization.dask.worker_block import FactorLists, TaskStamp
from boostne.factorization.engine import Recall
from boostne.factorization.factor_files import FACTORS, FactorFiles, FactorParts
from boostne.io.atomic import TEMPORARY_PREFIX, describe_os_error
from boostne.memory import format_bytes

if TYPE_CHECKING:
    from distributed import Future

Factors = tuple[Any, Any]  # arrays, or lists of files

_OUT_OF_SPACE = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # no quotas on Windows


class FactorStore(Protocol):
    """Stores U and V of each level, counted from 0.

    Attributes
    ----------
    zero_factors : pair of lists of files, or None
        The factors of a level that explains nothing, if they are not arrays.
    """

    zero_factors: ClassVar[FactorLists | None]

    def check(self, cluster: Cluster) -> None:
        """Raise, before the work starts, if the workers cannot do their part."""

    def collect(self, placement: BlockPlacement, stamp: TaskStamp, components: int) -> Factors:
        """Store the factors of the current level; returns them, or the lists of their files."""

    def resume(self, level: int, factors: Factors) -> None:
        """Take the factors of a level of an earlier run, as :meth:`collect` returned them."""

    def release(self) -> None:
        """Note that the current level is finished and the caller has its factors."""

    def replay(self, placement: BlockPlacement, level: int, behind: Sequence[PlacedBlock]) -> list["Future[Any]"]:
        """Start the tasks that deflate some blocks by a finished level."""


@dataclass
class ClientFactorStore:
    """Gathers the factors on the client; ``recall(i)`` returns those of a finished level."""

    zero_factors: ClassVar[FactorLists | None] = None
    recall: Recall
    current: tuple[int, Factors] | None = None

    def check(self, cluster: Cluster) -> None:
        """Require nothing of the workers."""

    def collect(self, placement: BlockPlacement, stamp: TaskStamp, components: int) -> Factors:
        """Gather the rows of U and the slices of V from all workers."""
        rows = placement.submit_to_all(worker_block.row_factor, stamp, components)
        slices = placement.submit_to_all(worker_block.context_rows, stamp)
        found = placement.results([*rows, *slices])
        U, V = (np.concatenate(parts) for parts in (found[: len(rows)], found[len(rows) :]))
        self.current = stamp.level, (U, V)
        return self.current[1]

    def resume(self, level: int, factors: Factors) -> None:
        """Hold them until the caller has stored them."""
        self.current = level, factors

    def release(self) -> None:
        """Drop the level: from now on it is recalled."""
        self.current = None

    def replay(self, placement: BlockPlacement, level: int, behind: Sequence[PlacedBlock]) -> list["Future[Any]"]:
        """Send V to all of them, and to each its rows of U."""
        current = self.current
        U, V = current[1] if current is not None and current[0] == level else self.recall(level)
        sent = placement.send(np.ascontiguousarray(V), {placed.worker.address for placed in behind})
        tasks = []
        for placed in behind:
            rows = np.ascontiguousarray(U[placed.place.rows.start : placed.place.rows.stop])
            own = placement.send(rows, {placed.worker.address})
            tasks.append(placement.submit_to_block(placed, worker_block.replay, level, own, sent))
        return tasks


@dataclass
class FileFactorStore:
    """Has each worker write its own rows; no factors are sent to the client.

    Attributes
    ----------
    files : FactorFiles
    output : Path
        Temporary folder in which the workers will write the vectors.
    stored : dict
        Lists of the files of U and V of each level.
    """

    zero_factors: ClassVar[FactorLists | None] = (FactorParts.of([]), FactorParts.of([]))
    files: FactorFiles
    output: Path
    stored: dict[int, FactorLists] = field(default_factory=dict)

    def check(self, cluster: Cluster) -> None:
        """Raise unless all workers see the files in both folders, and can write there."""
        folders = {folder.resolve(): folder for folder in (self.output, Path(self.files.folder))}
        for resolved, folder in folders.items():
            with NamedTemporaryFile(prefix=TEMPORARY_PREFIX, dir=resolved) as probe:
                problems = cluster.run_on_all(worker_block.folder_problem, probe.name)
            for address, problem in sorted(problems.items()):
                if problem is not None:
                    known = folder.parent if folder.name.startswith(TEMPORARY_PREFIX) else folder
                    raise ParameterError(
                        f"{address} {problem} the folder {known}; give one that all machines share and can write to, "
                        "such as on a network drive"
                    )

    def collect(self, placement: BlockPlacement, stamp: TaskStamp, components: int) -> Factors:
        """Have U and V written; returns the lists of their files."""
        self.files.remove_from(stamp.level)
        saved = placement.results(placement.submit_to_all(worker_block.save_factors, stamp, self.files))
        check_written(saved, f"U and V of each level take {format_bytes(self._level_bytes(placement))} there")
        U, V = zip(*saved, strict=True)
        self.stored[stamp.level] = FactorParts.of(U), FactorParts.of(rows for rows in V if rows is not None)
        return self.stored[stamp.level]

    def resume(self, level: int, factors: Factors) -> None:
        """Note where they are."""
        self.stored[level] = factors

    def release(self) -> None:
        """Keep the files: the parts are written from them."""

    def replay(self, placement: BlockPlacement, level: int, behind: Sequence[PlacedBlock]) -> list["Future[Any]"]:
        """Let each worker read its rows of U, and V."""
        task, arguments = worker_block.replay_from_files, (level, self.files, self.stored[level])
        return [placement.submit_to_block(placed, task, *arguments) for placed in behind]

    def find_damage(self, placement: BlockPlacement, level: int, factors: FactorLists) -> tuple[Path, str] | None:
        """Have the workers verify the files of a level, each some of them; see :meth:`.DaskEngine.find_damage`."""
        paths: list[Path] = []
        tasks: list[Future[Any]] = []
        for factor, parts in zip(FACTORS, factors, strict=True):
            for number, rows in enumerate(parts.spans):
                worker = placement.placed[len(tasks) % len(placement.placed)].worker
                paths.append(self.files.path(level, factor, rows.start))
                tasks.append(placement.submit(worker, self.files.problem, level, factor, parts, number))
        problems = zip(paths, placement.results(tasks), strict=True)
        return next(((path, problem) for path, problem in problems if problem is not None), None)

    def _level_bytes(self, placement: BlockPlacement) -> int:
        n = placement.placed[-1].place.rows.stop
        return 2 * n * self.files.components * self.files.dtype.itemsize


def check_written(results: Sequence[Any], needed: str) -> None:
    """Raise the first error of the disk among the results of workers, with the space that is needed."""
    error = next((result for result in results if isinstance(result, OSError)), None)
    if error is not None:
        remedy = f"; {needed}. Free some space" if error.errno in _OUT_OF_SPACE else ". Make the folder writable again"
        reason = f"{describe_os_error(error)}{remedy}; with a checkpoint, the run resumes after the last level"
        raise OSError(error.errno, reason, error.filename) from error
