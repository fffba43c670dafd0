"""Where the factors of finished levels are stored: on the client, or in files that all workers share.

They are needed twice: by the user, and by a block that was lost with its worker, is rebuilt, and must be deflated by
the finished levels again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.factorization.dask import worker_block
from boostne.factorization.dask.block_placement import BlockPlacement, PlacedBlock
from boostne.factorization.dask.cluster import Cluster
from boostne.factorization.dask.worker_block import FactorFiles, TaskStamp
from boostne.factorization.engine import Recall

if TYPE_CHECKING:
    from distributed import Future

Factors = tuple[NDArray[Any], NDArray[Any]]


class FactorStore(Protocol):
    """Stores U and V of each level, counted from 0."""

    def check(self, cluster: Cluster) -> None:
        """Raise, before the work starts, if the workers cannot do their part."""

    def collect(self, placement: BlockPlacement, stamp: TaskStamp, components: int) -> Factors:
        """Store the factors of the current level; returns those rows of them that are on the client."""

    def release(self) -> None:
        """Note that the current level is finished and the caller has its factors."""

    def replay(self, placement: BlockPlacement, level: int, behind: Sequence[PlacedBlock]) -> list["Future[Any]"]:
        """Start the tasks that deflate some blocks by a finished level."""


@dataclass
class ClientFactorStore:
    """Gathers the factors on the client; ``recall(i)`` returns those of a finished level."""

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
    """Has each worker write its own rows; no factors are sent to the client."""

    folder: Path

    @property
    def files(self) -> FactorFiles:
        """Paths of the files, as the workers see them."""
        return FactorFiles(str(self.folder.resolve()))

    def check(self, cluster: Cluster) -> None:
        """Raise unless all workers see the folder."""
        seen = cluster.run_on_all(worker_block.folder_exists, self.files)
        blind = sorted(address for address, exists in seen.items() if not exists)
        if blind:
            raise ParameterError(
                f"{blind[0]} does not see the folder {self.folder.parent}; give one that all machines share, "
                "such as a network drive"
            )

    def collect(self, placement: BlockPlacement, stamp: TaskStamp, components: int) -> Factors:
        """Have U and V written; returns factors without rows."""
        placement.results(placement.submit_to_all(worker_block.save_factors, stamp, components, self.files))
        return np.empty((0, components)), np.empty((0, components))

    def release(self) -> None:
        """Keep the files: the parts are written from them."""

    def replay(self, placement: BlockPlacement, level: int, behind: Sequence[PlacedBlock]) -> list["Future[Any]"]:
        """Let each worker read its rows of U, and V."""
        return [
            placement.submit_to_block(placed, worker_block.replay_from_files, level, self.files) for placed in behind
        ]
