"""V in a machine's own memory: what the local engine and the first worker of a cluster do with it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.engine import Context, Pass, inverse_ratio
from boostne.kernels import Kernels
from boostne.kernels.layout import aligned_empty

NARROW = 8  # numbers to which the row of a factor is padded: half a cache line of float32,
WIDE = 16  # and a whole one once it is wider than that


def start(kernels: Kernels, V: NDArray[Any]) -> Context:
    """Pad V to whole registers; see :meth:`Engine.begin`."""
    first, accepted = padded(V), padded(V)
    return Context(first, accepted, kernels.extrapolate(first, accepted, 0.0), V.shape[1])


def update(kernels: Kernels, context: Context, swept: Pass, inner: int) -> float:
    """Run HALS on V; see :meth:`Engine.update`."""
    context.gram, product = kernels.hals(context.V, swept.C, swept.gram, inner=inner)
    return product


def extrapolate(kernels: Kernels, context: Context, step: float) -> None:
    """Let the older of two buffers become the new V; see :meth:`Engine.extrapolate`."""
    context.gram = kernels.extrapolate(context.V, context.accepted, step)
    context.V, context.accepted = context.accepted, context.V


def retreat(kernels: Kernels, context: Context) -> None:
    """Copy what was accepted back; see :meth:`Engine.retreat`."""
    context.gram = kernels.extrapolate(context.accepted, context.V, 0.0)


def scale(context: Context, ratio: NDArray[np.float64]) -> None:
    """Divide the columns of V; see :meth:`Engine.scale`."""
    context.V *= inverse_ratio(ratio).astype(context.V.dtype)


def columns(context: Context) -> NDArray[Any]:
    """Return a copy of V without its padding."""
    V: NDArray[Any] = context.V[:, : context.components].copy()
    return V


def padded(factor: NDArray[Any]) -> NDArray[Any]:
    """Copy a factor to whole registers, with zeros as the components that it lacks."""
    rows, components = factor.shape
    pad = NARROW if components <= NARROW else WIDE
    copy = aligned_empty((rows, -(-components // pad) * pad), factor.dtype)
    copy[:, :components] = factor
    copy[:, components:] = 0
    return copy
