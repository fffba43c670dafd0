"""A graph as a push takes it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PushGraph:
    """Edges, and the degrees that mass is divided by.

    Attributes
    ----------
    indptr, indices : ndarray of int64 and int32
        Neighbors of node i: ``indices[indptr[i]:indptr[i + 1]]``.
    weights : ndarray or None
        Of the edges; None where all are 1.
    inverse_degree : ndarray
        Of each node; 0 where it has no edges.
    target_inverse_degree : ndarray
        Of the node that each edge leads to: it is then read with the edge, and not from anywhere in memory.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[Any] | None
    inverse_degree: NDArray[Any]
    target_inverse_degree: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "target_inverse_degree", self.inverse_degree[self.indices])

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.inverse_degree)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in self.__dict__.values() if array is not None)
