"""The engine of one machine: R in memory, the kernels on its cores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.factorization import context_factor
from boostne.factorization.engine import Context, Engine, Pass
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.column_blocked_csr import as_residual
from boostne.kernels.layout import aligned_empty
from boostne.kernels.tree_reduction import sequential_sum, tree_sum


class LocalEngine(Engine):
    """Holds R in shards and runs the kernels on threads.

    Parameters
    ----------
    kernels : Kernels, optional
        By default the fastest there are, on every core.
    """

    def __init__(self, kernels: Kernels | None = None) -> None:
        self._kernels = kernels or get_kernels()

    def load(self, X: sparse.csr_array) -> None:
        """Take over X's arrays; see :meth:`Engine.load`."""
        self._R = as_residual(X, self._kernels)
        self._norm2 = sum(squared_norm(self._R.values(s)) for s in range(self._R.n_shards))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of R."""
        return self._R.n_rows, self._R.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of R."""
        return self._R.data.dtype

    @property
    def norm2(self) -> float:
        """Squared norm of R, from the last deflation."""
        return self._norm2

    @property
    def nnz(self) -> int:
        """Positive entries of R."""
        return self._R.nnz

    def begin(self, V: NDArray[Any]) -> Context:
        """Start with U = 0; see :meth:`Engine.begin`."""
        context = context_factor.start(self._kernels, V)
        self._U = aligned_empty((self._R.n_rows, context.V.shape[1]), self.dtype)
        self._U[:] = 0
        self._accepted_U = aligned_empty(self._U.shape, self.dtype)
        return context

    def sweep(self, context: Context, inner: int) -> Pass:
        """Run the fused kernel; see :meth:`Engine.sweep`."""
        parts, grams = self._kernels.sweep(self._R, context.V, context.gram, self._U, inner=inner)
        return Pass(tree_sum(parts), sequential_sum(grams))

    def update(self, context: Context, swept: Pass, inner: int) -> float:
        """Run HALS on V; see :meth:`Engine.update`."""
        return context_factor.update(self._kernels, context, swept, inner)

    def extrapolate(self, context: Context, step: float) -> None:
        """Keep U and move on from V; see :meth:`Engine.extrapolate`."""
        context_factor.extrapolate(self._kernels, context, step)
        self._accepted_U[:] = self._U

    def retreat(self, context: Context) -> None:
        """Copy what was accepted back; see :meth:`Engine.retreat`."""
        context_factor.retreat(self._kernels, context)
        self._U[:] = self._accepted_U

    def reseed(self, context: Context, component: int, values: NDArray[Any]) -> None:
        """Overwrite a column of V; see :meth:`Engine.reseed`."""
        context.V[:, component] = values

    def scale(self, context: Context, ratio: NDArray[np.float64]) -> None:
        """Scale U and V in place; see :meth:`Engine.scale`."""
        self._U *= ratio.astype(self.dtype)
        context_factor.scale(context, ratio)

    def deflate(self, context: Context) -> None:
        """Deflate every shard in place; see :meth:`Engine.deflate`."""
        self._norm2 = float(self._kernels.deflate(self._R, self._U, context.V).sum())

    def replay(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        """Begin a level and end it with these factors; see :meth:`Engine.replay`."""
        context = self.begin(V)
        self._U[:, : U.shape[1]] = U
        self.deflate(context)

    def collect(self, context: Context) -> tuple[NDArray[Any], NDArray[Any]]:
        """Drop the padding; see :meth:`Engine.collect`."""
        return self._U[:, : context.components].copy(), context_factor.columns(context)


def squared_norm(data: NDArray[Any], chunk: int = 1 << 20) -> float:
    """Return the sum of squares in float64."""
    # In chunks, so that the float64 copy stays small beside the data.
    return sum(
        float(np.square(data[at : at + chunk], dtype=np.float64).sum()) for at in range(0, len(data), chunk)
    )
