"""The context factor V in host memory: used by the local engine and by the first worker of a cluster."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.kernels import Kernels
from boostne.kernels.layout import padded_factor
from boostne.matrices.adjacency import reciprocal


class ContextFactor:
    """V of the current level, with the version that was last accepted.

    Parameters
    ----------
    kernels : Kernels
    V : ndarray of shape (columns of R, components)

    Attributes
    ----------
    V : ndarray
        Padded with zero components to whole vector registers.
    gram : ndarray of float64
        ``V^T V``.
    """

    def __init__(self, kernels: Kernels, V: NDArray[Any]) -> None:
        self._kernels = kernels
        self._components = V.shape[1]
        self.V, self._accepted = padded_factor(V), padded_factor(V)
        self.gram = kernels.extrapolate(self.V, self._accepted, 0.0)

    def update(self, C: NDArray[Any], gram_u: NDArray[np.float64], inner_sweeps: int) -> float:
        """Run HALS sweeps of V against ``C = R^T U``; returns ``<C, V>``."""
        self.gram, product = self._kernels.hals(self.V, C, gram_u, inner=inner_sweeps)
        return product

    def accept(self, extrapolation: float) -> None:
        """Accept V and extrapolate; see :meth:`Engine.accept`. The older of two buffers becomes the new V."""
        self.gram = self._kernels.extrapolate(self.V, self._accepted, extrapolation)
        self.V, self._accepted = self._accepted, self.V

    def revert(self) -> None:
        """Copy back what was accepted; see :meth:`Engine.revert`."""
        self.gram = self._kernels.extrapolate(self._accepted, self.V, 0.0)

    def reseed(self, component: int, values: NDArray[Any]) -> None:
        """Replace one component; see :meth:`Engine.reseed`."""
        self.V[:, component] = values

    def rescale(self, ratio: NDArray[np.float64]) -> None:
        """Divide the columns; see :meth:`Engine.rescale`."""
        self.V *= reciprocal(ratio).astype(self.V.dtype)

    def unpadded(self) -> NDArray[Any]:
        """Return a copy without padding."""
        return self.V[:, : self._components].copy()
