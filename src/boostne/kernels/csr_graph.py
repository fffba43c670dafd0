"""Adjacency matrices as the kernels read them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CSRGraph:
    """Adjacency matrix of a graph in CSR format.

    Attributes
    ----------
    indptr, indices : ndarray of int64 and int32
        The neighbors of node i are ``indices[indptr[i]:indptr[i + 1]]``.
    weights : ndarray or None
        Edge weights; None if all weights are 1.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[Any] | None

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Total size of the arrays in bytes."""
        return sum(array.nbytes for array in vars(self).values() if array is not None)


@dataclass(frozen=True)
class TransitionGraph(CSRGraph):
    """A graph with the transition matrix ``S = D^-1 A`` of its random walk.

    Attributes
    ----------
    inverse_degree : ndarray
        Inverse degree of each node; 0 for nodes without outgoing edges.
    transpose : CSRGraph, optional
        The transpose of A, if A is not symmetric.
    """

    inverse_degree: NDArray[Any]
    transpose: CSRGraph | None = None

    @property
    def reversed(self) -> CSRGraph:
        """The edges in the other direction."""
        return self.transpose or self


@dataclass(frozen=True)
class WalkGraph:
    """A graph as random walks read it.

    Attributes
    ----------
    indptr, indices : ndarray of int64 and int32
        The neighbors of node i, in ascending order, are ``indices[indptr[i]:indptr[i + 1]]``.
    cumulative : ndarray of float64 or None
        Cumulative sums of the edge weights within each row; None if all weights are 1.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    cumulative: NDArray[np.float64] | None
