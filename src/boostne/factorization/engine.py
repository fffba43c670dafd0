"""The contract between the boosting loop and the place where the residual lives.

An engine holds the residual R and the row factor U. The loop in :mod:`.boosting` sees only the context
factor V, as a handle, and matrices of the size of a level. An engine is free to keep R, U and V on threads of
this machine, on the workers of a cluster or on a GPU.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.matrices.source import Progress, RowSource, collect_rows
from boostne.memory import MemoryBudget


@dataclass
class Context:
    """The factor V of the level in hand, wherever it lives.

    Attributes
    ----------
    V : array of the engine's own kind
        Transposed: one row for each column of R. May be padded with zero components.
    accepted : array of the engine's own kind
        V as of the last extrapolation, to go back to.
    gram : ndarray of float64
        ``V^T V``, padded alike.
    components : int
        Components that count; the rest is padding.
    """

    V: Any
    accepted: Any
    gram: NDArray[np.float64]
    components: int


@dataclass
class Pass:
    """What one pass over R leaves behind: ``C = R^T U`` (the engine's own kind of array) and ``U^T U``."""

    C: Any
    gram: NDArray[np.float64]


class LevelLost(Exception):  # noqa: N818
    """Raised where the factors of the level in hand are gone; the engine is ready for the level to begin again."""


class Engine(ABC):
    """Holds the residual R; see the module's text for the division of labour."""

    @abstractmethod
    def load(self, X: sparse.csr_array) -> None:
        """Take X as the residual R. The engine owns X's arrays from then on and may overwrite them."""

    def load_rows(self, source: RowSource, progress: Progress | None = None) -> None:
        """Build X from a source of its rows, and take it as the residual R."""
        self.load(collect_rows(source, progress))

    def room(self) -> MemoryBudget:
        """Return the memory that R and the factors may take where they live."""
        return MemoryBudget.within()

    def close(self) -> None:  # noqa: B027
        """Give back what the engine holds outside of this process; it cannot be used afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns of R."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Number type of R and of the factors."""

    @property
    @abstractmethod
    def norm2(self) -> float:
        """Squared Frobenius norm of R, summed in float64."""

    @property
    @abstractmethod
    def nnz(self) -> int:
        """Positive entries of R."""

    @abstractmethod
    def begin(self, V: NDArray[Any]) -> Context:
        """Start a level from this V (columns of R by components), with U = 0."""

    @abstractmethod
    def sweep(self, context: Context, inner: int) -> Pass:
        """Update U by ``inner`` HALS sweeps of each row against V, then form ``R^T U``: one pass over R."""

    @abstractmethod
    def update(self, context: Context, swept: Pass, inner: int) -> float:
        """Update V (and its Gram matrix) by ``inner`` HALS sweeps against the pass; returns ``<R^T U, V>``."""

    @abstractmethod
    def extrapolate(self, context: Context, step: float) -> None:
        """Accept U and V, and move on from V: ``V <- max(V + step (V - V accepted before), 0)``."""

    @abstractmethod
    def retreat(self, context: Context) -> None:
        """Go back to the U and V that were last accepted."""

    @abstractmethod
    def reseed(self, context: Context, component: int, values: NDArray[Any]) -> None:
        """Give one component of V new values."""

    @abstractmethod
    def scale(self, context: Context, ratio: NDArray[np.float64]) -> None:
        """Multiply each column of U by its ratio and divide that of V by it; where it is 0, both become 0."""

    @abstractmethod
    def deflate(self, context: Context) -> None:
        """End the level: ``R <- max(R - U V, 0)``; entries that became 0 are dropped.

        The factors are those that :meth:`collect` returned, so that whoever keeps them can repeat it.
        """

    @abstractmethod
    def replay(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        """Deflate R by the factors of a level that was found before, as :meth:`collect` returned them."""

    @abstractmethod
    def collect(self, context: Context) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the level's U and V as host arrays without padding; called before the level is deflated."""


def inverse_ratio(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what V is multiplied by where U is multiplied by ``ratio``; see :meth:`Engine.scale`."""
    return np.divide(1, ratio, out=np.zeros_like(ratio), where=ratio > 0)
