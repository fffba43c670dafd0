"""The contract between the boosting loop and the engine that stores the residual.

An engine stores the residual R and the factors U and V of the current level. The loop in :mod:`.boosting` sees only
matrices of the width of a level, so R, U and V may be stored in host memory, on the workers of a cluster or on a GPU.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from boostne.budget import Workload
from boostne.graph import Graph
from boostne.matrices import ConnectivityMatrix, MatrixForm, MatrixSource
from boostne.memory import MemoryBudget
from boostne.progress import ProgressCallback, silent

Recall = Callable[[int], tuple[NDArray[Any], NDArray[Any]]]  # from a finished level, counted from 0, to its U and V


class LevelLost(Exception):  # noqa: N818
    """The factors of the current level are lost; the engine is ready to start the level again."""


class PassResult(NamedTuple):
    """What one pass reports: ``U^T U``, ``V^T V`` and ``<R^T U, V>``, in float64; the first two may be zero-padded."""

    gram_u: NDArray[np.float64]
    gram_v: NDArray[np.float64]
    product: float


class Engine(ABC):
    """Stores R, U and V.

    A level is: :meth:`start_level`; then :meth:`step` and either :meth:`accept` or :meth:`revert`, repeatedly; then
    :meth:`rescale`, :meth:`factors` and :meth:`deflate`. Any of these may raise :class:`LevelLost`, except
    :meth:`deflate`.

    Attributes
    ----------
    name : str
        Name of the engine, as in ``BoostNE(engine=…)``.
    shape, dtype
        Of R, once X is loaded.
    norm2 : float
        Squared Frobenius norm of R, summed in float64.
    nnz : int
        Number of positive entries of R.
    dropped_mass : ndarray or None
        Share of each node's walks that a pruned X lacks; None if X is not pruned or was built elsewhere.
    """

    name: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    norm2: float
    nnz: int
    dropped_mass: NDArray[np.float64] | None = None

    def plan(self, matrix: ConnectivityMatrix, graph: Graph, work: Workload, memory_limit: Any = None) -> MatrixForm:
        """Return the form of X that fits where this engine stores it; see :meth:`ConnectivityMatrix.plan`."""
        return matrix.plan(graph, work, MemoryBudget.within(memory_limit))

    @abstractmethod
    def load(self, source: MatrixSource, progress: ProgressCallback = silent) -> None:
        """Build X from its source and store it as the residual R."""

    def close(self) -> None:  # noqa: B027  engines of this process have nothing to release
        """Release what the engine holds outside of this process; it cannot be used afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @abstractmethod
    def start_level(self, V: NDArray[Any]) -> None:
        """Start a level from this V (columns of R by components) and U = 0."""

    @abstractmethod
    def step(self, inner_sweeps: int) -> PassResult:
        """Run one pass over R: HALS sweeps of each row of U against V, ``R^T U``, then HALS sweeps of V."""

    @abstractmethod
    def accept(self, extrapolation: float) -> None:
        """Accept U and V, then extrapolate: ``V <- max(V + extrapolation (V - V accepted before), 0)``."""

    @abstractmethod
    def revert(self) -> None:
        """Return to the U and V that were last accepted, or with which the level started."""

    @abstractmethod
    def gram_v(self) -> NDArray[np.float64]:
        """Return ``V^T V`` of the current V, in float64; it may be padded with zeros."""

    @abstractmethod
    def reseed(self, component: int, values: NDArray[Any]) -> None:
        """Replace one component of V."""

    @abstractmethod
    def rescale(self, ratio: NDArray[np.float64]) -> None:
        """Multiply each column of U by its ratio and divide that of V by it; both become 0 where the ratio is 0."""

    @abstractmethod
    def factors(self) -> tuple[Any, Any]:
        """Return the level's U and V as host arrays without padding; called before the level is deflated.

        An engine whose workers write the factors to files returns the list of these instead.
        """

    def zero_factors(self, components: int) -> tuple[Any, Any]:
        """Return U and V of a level that explains nothing, as :meth:`factors` would."""
        U, V = (np.zeros((size, components), self.dtype) for size in self.shape)
        return U, V

    @abstractmethod
    def deflate(self) -> None:
        """End the level: ``R <- max(R - U V^T, 0)``; entries that become 0 are dropped.

        U and V are those that :meth:`factors` returned, so that a stored level can be replayed.
        """

    @abstractmethod
    def replay(self, U: Any, V: Any) -> None:
        """Deflate R by the factors of an earlier level, as :meth:`factors` returned them."""
