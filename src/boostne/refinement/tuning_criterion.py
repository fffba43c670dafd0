"""What a search maximizes: the contract of criteria."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from boostne.graph import Graph


@dataclass(frozen=True, eq=False)
class Score:
    """A score, and the contribution of each node or edge to it, to compare two scores in pairs."""

    parts: NDArray[np.float64]

    @property
    def value(self) -> float:
        """The score: the sum of the parts."""
        return float(self.parts.sum())


def is_better(candidate: Score, default: Score, margin: float) -> bool:
    """Whether a score is higher by more than ``margin`` standard errors of the difference."""
    gains = candidate.parts - default.parts
    return bool(gains.sum() > margin * np.sqrt(len(gains)) * gains.std())


class Criterion(Protocol):
    """What a search maximizes.

    Attributes
    ----------
    name : str
    graph : Graph
        The graph to embed.
    lengths_matter : bool
        Whether scores depend on the lengths of the vectors.
    margin : float
        Standard errors by which a setting must be better than the default.
    """

    name: str
    graph: Graph
    lengths_matter: bool
    margin: float

    def score(self, vectors: NDArray[Any], length: float | None, rung: int) -> Score:
        """Score the vectors of the graph's nodes, rescaled to a mean length, for a rung counted from the last, 0."""
