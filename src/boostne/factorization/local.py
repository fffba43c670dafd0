"""The engine of one machine: R in host memory, kernels on its cores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.context_factor import ContextFactor
from boostne.factorization.engine import Engine, PassResult, Recall
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.column_blocked_csr import as_residual
from boostne.kernels.layout import aligned_empty, padded_factor
from boostne.kernels.tree_reduction import sequential_sum, tree_sum
from boostne.matrices import MatrixSource
from boostne.progress import ProgressCallback, silent


class LocalEngine(Engine):
    """Stores R in shards and runs the kernels on threads.

    Parameters
    ----------
    kernels : Kernels, optional
        By default the fastest available, on every core.
    """

    name = "local"

    def __init__(self, kernels: Kernels | None = None) -> None:
        self._kernels = kernels or get_kernels()

    def load(self, source: MatrixSource, progress: ProgressCallback = silent) -> None:
        X, self.dropped_mass = source.build(progress)
        self.shape, self.dtype = X.shape, X.dtype
        self._R = as_residual(X, self._kernels)
        self.norm2 = sum(squared_norm(self._R.values(s)) for s in range(self._R.n_shards))
        self.nnz = self._R.nnz

    def start_level(self, V: NDArray[Any]) -> None:
        self._context = ContextFactor(self._kernels, padded_factor(V), V.shape[1])
        self._components = V.shape[1]
        shape = (self.shape[0], self._context.V.shape[1])
        self._U, self._accepted_U = (aligned_empty(shape, self.dtype) for _ in range(2))
        self._U[:] = self._accepted_U[:] = 0

    def step(self, inner_sweeps: int) -> PassResult:
        context = self._context
        parts, grams = self._kernels.sweep(self._R, context.V, context.gram, self._U, inner=inner_sweeps)
        gram_u = sequential_sum(grams)
        products = context.update(tree_sum(parts), gram_u, inner_sweeps)
        return PassResult(gram_u, context.gram, float(sequential_sum(products)))

    def accept(self, extrapolation: float) -> None:
        self._context.accept(extrapolation)
        self._accepted_U[:] = self._U

    def revert(self) -> None:
        self._context.revert()
        self._U[:] = self._accepted_U

    def gram_v(self) -> NDArray[np.float64]:
        return self._context.gram

    def reseed(self, component: int, values: NDArray[Any]) -> None:
        self._context.reseed(component, values)

    def rescale(self, ratio: NDArray[np.float64]) -> None:
        self._U *= ratio.astype(self.dtype)
        self._context.rescale(ratio)

    def factors(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._U[:, : self._components].copy(), self._context.unpadded()

    def deflate(self) -> None:
        self.norm2 = float(self._kernels.deflate(self._R, self._U, self._context.V).sum())
        self.nnz = self._R.nnz
        # Not kept while the next level starts: both are as large as a level.
        del self._U, self._accepted_U, self._context

    def close(self) -> None:
        """Release R, which is larger than the result."""
        self.__dict__.pop("_R", None)

    def replay(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        self.start_level(V)
        self._U[:, : U.shape[1]] = U
        self.deflate()


def open_engine(engine: object, components: int, recall: Recall, threads: int | None) -> LocalEngine:  # noqa: ARG001
    """Return the engine of this machine."""
    return LocalEngine(get_kernels(threads=threads))


def squared_norm(data: NDArray[Any], chunk: int = 1 << 20) -> float:
    """Return the sum of squares in float64."""
    # In chunks, so that the float64 copy stays small compared with the data.
    return sum(float(np.square(data[at : at + chunk], dtype=np.float64).sum()) for at in range(0, len(data), chunk))
