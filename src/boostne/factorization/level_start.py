"""V from which the levels of a job start: drawn as a whole, or the rows that a worker of a cluster needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.boosting import InitialV, community_start, random_start
from boostne.factorization.ordering import Positions


@dataclass(frozen=True)
class LevelStart:
    """Draws V in the order of the original nodes, so that reordering does not change the result.

    Attributes
    ----------
    seed, n_columns, components : int
        Of the job, of X, and of a level.
    dtype : numpy dtype
    order : ndarray of int or slice
        Where the nodes of the columns of X were in the original.
    communities : ndarray of int or None
        The community of each original column, or None for a random start.
    """

    seed: int
    n_columns: int
    components: int
    dtype: np.dtype[Any]
    order: Positions
    communities: NDArray[np.int32] | None

    def __call__(self, level: int) -> NDArray[Any]:
        """Return V of a level, counted from 0."""
        return self._draw(level)[self.order]

    def rows(self, level: int, rows: range) -> NDArray[Any]:
        """Return some rows of V."""
        wanted = slice(rows.start, rows.stop)
        return self._draw(level)[wanted if isinstance(self.order, slice) else self.order[wanted]]

    @property
    def _draw(self) -> InitialV:
        if self.communities is None:
            return random_start(self.seed, self.n_columns, self.components, self.dtype)
        return community_start(self.seed, self.communities, self.components, self.dtype)
