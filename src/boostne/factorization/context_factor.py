"""The context factor V of the current level: the whole of it, or the rows that a worker of a cluster updates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.kernels import Kernels
from boostne.kernels.layout import aligned_empty, row_chunks
from boostne.kernels.tree_reduction import sequential_sum
from boostne.matrices.adjacency import reciprocal

SWAPPED_ROWS = 1 << 14  # exchanged at a time


class ContextFactor:
    """Rows of V of the current level, with the version that was last accepted.

    Parameters
    ----------
    kernels : Kernels
    V : ndarray of shape (columns of R, padded components)
        From :func:`~boostne.kernels.layout.padded_factor`, or some rows of it. Modified in place.
    components : int
        Width without padding.
    cuts : ndarray of int64, optional
        Boundaries of the chunks in which rows are updated and summed; by default those of the whole V.

    Attributes
    ----------
    V : ndarray
    grams : ndarray of float64
        ``V^T V`` of each chunk.
    """

    def __init__(
        self, kernels: Kernels, V: NDArray[Any], components: int, cuts: NDArray[np.int64] | None = None
    ) -> None:
        self._kernels = kernels
        self._components = components
        self._cuts = row_chunks(len(V)) if cuts is None else cuts
        self.V = V
        self._accepted = aligned_empty((V.shape[0], V.shape[1]), V.dtype)
        self._accepted[:] = V
        self.grams = kernels.extrapolate(V, self._accepted, 0.0, self._cuts)

    @property
    def gram(self) -> NDArray[np.float64]:
        """``V^T V`` of these rows."""
        return sequential_sum(self.grams)

    def update(self, C: NDArray[Any], gram_u: NDArray[np.float64], inner_sweeps: int) -> NDArray[np.float64]:
        """Run HALS sweeps of V against ``C = R^T U``; returns ``<C, V>`` of each chunk."""
        self.grams, products = self._kernels.hals(self.V, C, gram_u, inner=inner_sweeps, cuts=self._cuts)
        return products

    def accept(self, extrapolation: float) -> None:
        """Accept V and extrapolate; see :meth:`Engine.accept`. The older of two buffers becomes the new V."""
        self.grams = self._kernels.extrapolate(self.V, self._accepted, extrapolation, self._cuts)
        self.V, self._accepted = self._accepted, self.V

    def revert(self) -> None:
        """Copy back what was accepted; see :meth:`Engine.revert`."""
        self.grams = self._kernels.extrapolate(self._accepted, self.V, 0.0, self._cuts)

    def reseed(self, component: int, values: NDArray[Any]) -> None:
        """Replace one component; see :meth:`Engine.reseed`."""
        self.V[:, component] = values

    def rescale(self, ratio: NDArray[np.float64]) -> None:
        """Divide the columns; see :meth:`Engine.rescale`."""
        self.V *= reciprocal(ratio).astype(self.V.dtype)

    def unpadded(self) -> NDArray[Any]:
        """Return a copy without padding."""
        return self.V[:, : self._components].copy()


class ContextSlice(ContextFactor):
    """Rows of a larger array that holds the whole V; they stay where they are in that array."""

    def accept(self, extrapolation: float) -> None:
        """Accept V and extrapolate; see :meth:`Engine.accept`."""
        rows = self.V
        super().accept(extrapolation)
        for first in range(0, len(rows), SWAPPED_ROWS):  # swap the contents, without a copy of all of them
            part = slice(first, first + SWAPPED_ROWS)
            rows[part], self.V[part] = self.V[part], rows[part].copy()
        self.V, self._accepted = rows, self.V
