"""Where a cluster's finished factors are kept: on the client, or in files that all of its machines see.

They are wanted twice: by the user, and by a block that was lost with its worker, is built again, and has the finished
levels taken from it once more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.factorization.dask import worker_block
from boostne.factorization.dask.cluster import Cluster
from boostne.factorization.dask.worker_block import LevelFiles, Moment

if TYPE_CHECKING:
    from distributed import Future

    from boostne.factorization.dask.block_placement import Held, Holdings

Factors = tuple[NDArray[Any], NDArray[Any]]
Recall = Callable[[int], Factors]


class Keeping(Protocol):
    """Keeps U and V of each level, counted from 0, from the moment it is found."""

    def check(self, cluster: Cluster) -> None:
        """Raise, before the work, where the workers could not do their part."""

    def keep(self, holdings: "Holdings", moment: Moment, components: int) -> Factors:
        """Take the factors of the level in hand from the workers; returns what of them comes to the client."""

    def let_go(self) -> None:
        """Hear that the level in hand is finished and whoever asked for it has it."""

    def take_again(self, holdings: "Holdings", level: int, behind: Sequence["Held"]) -> list["Future[Any]"]:
        """Start the tasks that deflate some blocks by a level once more."""


@dataclass
class OnClient:
    """Fetches the factors; ``recall(i)`` asks whoever has those of a finished level."""

    recall: Recall
    in_hand: tuple[int, Factors] | None = None

    def check(self, cluster: Cluster) -> None:
        """Ask nothing of the workers."""

    def keep(self, holdings: "Holdings", moment: Moment, components: int) -> Factors:
        """Fetch U from all workers and V from the first."""
        tasks = holdings.on_all(worker_block.rows_of, moment, components)
        columns = holdings.on_first(worker_block.columns, moment)
        *rows, found = holdings.results([*tasks, columns])
        self.in_hand = moment.level, (np.concatenate(rows), found)
        return self.in_hand[1]

    def let_go(self) -> None:
        """Forget the level: from now on it is recalled."""
        self.in_hand = None

    def take_again(self, holdings: "Holdings", level: int, behind: Sequence["Held"]) -> list["Future[Any]"]:
        """Send V to all of them, and to each its rows of U."""
        known = self.in_hand
        U, V = known[1] if known is not None and known[0] == level else self.recall(level)
        sent = holdings.send(np.ascontiguousarray(V), {held.worker.address for held in behind})
        tasks = []
        for held in behind:
            rows = np.ascontiguousarray(U[held.place.rows.start : held.place.rows.stop])
            mine = holdings.send(rows, {held.worker.address})
            tasks.append(
                holdings.submit(held.worker, worker_block.deflate_again, held.block, level, mine, sent)
            )
        return tasks


@dataclass
class InFiles:
    """Has the workers write the factors, each its own rows; nothing of them comes to the client."""

    folder: Path

    @property
    def files(self) -> LevelFiles:
        """Names of the files, as workers know them."""
        return LevelFiles(str(self.folder.resolve()))

    def check(self, cluster: Cluster) -> None:
        """Raise unless all workers see the folder."""
        blind = [address for address, seen in cluster.ask(worker_block.sees, self.files).items() if not seen]
        if blind:
            raise ParameterError(
                f"{sorted(blind)[0]} does not see the folder {self.folder.parent}; give one that is on all machines, "
                "such as a network drive"
            )

    def keep(self, holdings: "Holdings", moment: Moment, components: int) -> Factors:
        """Have U and V written."""
        tasks = holdings.on_all(worker_block.save_rows, moment, components, self.files)
        columns = holdings.on_first(worker_block.save_columns, moment, self.files)
        holdings.results([*tasks, columns])
        return _nothing(components), _nothing(components)

    def let_go(self) -> None:
        """Keep the files: they are what the user gets."""

    def take_again(self, holdings: "Holdings", level: int, behind: Sequence["Held"]) -> list["Future[Any]"]:
        """Let each worker read its rows of U, and V."""
        return [
            holdings.submit(held.worker, worker_block.deflate_from_files, held.block, level, self.files)
            for held in behind
        ]


def _nothing(components: int) -> NDArray[Any]:
    return np.empty((0, components))
