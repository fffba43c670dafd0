"""What a search maximizes: the contract of criteria."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from boostne.graph import Graph

CONFIDENCE = 2.0  # standard errors


@dataclass(frozen=True, eq=False)
class Score:
    """A score, and the contribution of each node or edge to it, to compare two scores in pairs."""

    parts: NDArray[np.float64]

    @property
    def value(self) -> float:
        """The score: the sum of the parts."""
        return float(self.parts.sum())


def is_better(candidate: Score, default: Score) -> bool:
    """Whether a score is higher by more than two standard errors of the difference.

    One is not enough: the candidate is the best of many, and some of them are that much better by chance.
    """
    gains = candidate.parts - default.parts
    return bool(gains.sum() > CONFIDENCE * np.sqrt(len(gains)) * gains.std())


class Criterion(Protocol):
    """What a search maximizes.

    Attributes
    ----------
    name : str
    graph : Graph
        The graph to embed.
    lengths_matter : bool
        Whether scores depend on the lengths of the vectors.
    """

    name: str
    graph: Graph
    lengths_matter: bool

    def score(self, vectors: NDArray[Any], length: float, rung: int) -> Score:
        """Score vectors, rescaled to a mean length unless it is 0, for a rung counted from the last, which is 0."""
