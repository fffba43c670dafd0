"""The factors of a level on a device, and the steps of a pass over them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from boostne.factorization.cuda.blocks import Block
from boostne.factorization.engine import Context, Pass
from boostne.kernels.cuda import operations as gpu
from boostne.kernels.cuda.operations import CudaGraphRunner, Tensor


def rows_of(blocks: Sequence[Block]) -> Iterator[tuple[Block, slice]]:
    """Each block with its rows of R."""
    ends = np.cumsum([0, *(block.n_rows for block in blocks)]).tolist()
    for block, rows in zip(blocks, pairwise(ends), strict=True):
        yield block, slice(*rows)


class Factors:
    """U and V, what was last accepted of them, and the memory that a pass over the blocks needs.

    All of it, the blocks included, stays where it is from level to level, so that the steps are recorded once.

    Attributes
    ----------
    width : int
        Components, padding included.
    U, V, accepted_U, accepted_V : Tensor
        The factors, one row for each row or column of R.
    C : Tensor
        ``R^T U``, as a sum over its first dimension.
    summaries : Tensor of float64
        Of U and of V: the Gram matrix and, in a last row, the inner product of each component with what it was
        fitted to.
    """

    def __init__(
        self, blocks: Sequence[Block], shape: tuple[int, int], width: int, dtype: torch.dtype, device: str
    ) -> None:
        n, m = shape
        new = partial(torch.zeros, dtype=dtype, device=device)
        self.width = width
        self.U, self.accepted_U = new(n, width), new(n, width)
        self.V, self.accepted_V = new(m, width), new(m, width)
        self.C = new(max(block.transposed_parts for block in blocks), m, width)
        self.summaries = torch.zeros(2, width + 1, width, dtype=torch.float64, device=device)
        self._P = new(max(block.parts * block.n_rows for block in blocks) * width)
        self._programs = [gpu.n_partials(block.n_rows, device) for block in blocks]
        self._partial_U = gpu.allocate_partials(sum(self._programs), width, device)
        self._partial_V = gpu.allocate_partials(gpu.n_partials(m, device), width, device)
        self._step = torch.zeros(1, dtype=torch.float64, device=device)
        self._blocks = blocks
        self._device = device
        self._recorded: dict[tuple[str, int], CudaGraphRunner] = {}

    def sweep(self, inner: int) -> None:
        """``inner`` HALS sweeps of U, and ``R^T U``."""
        self._run("sweep", inner, lambda: self._sweep(inner))

    def update(self, inner: int) -> None:
        """``inner`` HALS sweeps of V."""
        self._run("update", inner, lambda: self._update(inner))

    def extrapolate(self, step: float) -> None:
        """Accept U and V, and step on from V."""
        self._step.fill_(step)
        self._run("extrapolate", 0, self._extrapolate)

    def _run(self, name: str, inner: int, work: Callable[[], None]) -> None:
        self._recorded.setdefault((name, inner), CudaGraphRunner(self._device))(work)

    def _sweep(self, inner: int) -> None:
        gram_V = self.summaries[1]
        self.C.zero_()
        parts = self._partial_U.split(self._programs)  # type: ignore[no-untyped-call]
        for (block, rows), partial_U in zip(rows_of(self._blocks), parts, strict=True):
            U = self.U[rows]
            P = self._P[: block.parts * U.numel()].view(block.parts, *U.shape)
            block.matmul(self.V, P)
            gpu.hals_update(U, P, gram_V, inner, partial_U)
            block.add_transposed_matmul(U, self.C[: block.transposed_parts])
        gpu.reduce_partials(self._partial_U, self.summaries[0])

    def _update(self, inner: int) -> None:
        gpu.hals_update(self.V, self.C, self.summaries[0], inner, self._partial_V)
        gpu.reduce_partials(self._partial_V, self.summaries[1])

    def _extrapolate(self) -> None:
        gpu.extrapolate(self.V, self.accepted_V, self._step, self._partial_V)
        gpu.reduce_partials(self._partial_V, self.summaries[1, :-1])
        self.accepted_U.copy_(self.U)


class DeviceContext(Context):
    """V on the device. Its Gram matrix stays there too until the host asks for it."""

    def __init__(self, factors: Factors, components: int) -> None:
        self.factors = factors
        self.V, self.accepted, self.components = factors.V, factors.accepted_V, components

    def __getattr__(self, name: str) -> Any:
        """Fetch the Gram matrix."""
        if name != "gram":
            raise AttributeError(name)
        self.gram = host_copy(self.factors.summaries[1])[:-1]
        return self.gram


class DevicePass(Pass):
    """C on the device. ``U^T U`` stays there too until the host asks for it."""

    def __init__(self, factors: Factors) -> None:
        self.C, self.factors = factors.C, factors

    def __getattr__(self, name: str) -> Any:
        """Fetch the Gram matrix."""
        if name != "gram":
            raise AttributeError(name)
        self.gram = host_copy(self.factors.summaries[0])[:-1]
        return self.gram


def factors_of(context: Context) -> Factors:
    """Return the factors behind a context of this engine."""
    return cast(DeviceContext, context).factors


def host_copy(tensor: Tensor) -> NDArray[Any]:
    """Copy a tensor to the host, which waits for it."""
    # The way through memory that the card writes to by itself is the fastest; such memory is not for keeping.
    staged = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
    array: NDArray[Any] = staged.copy_(tensor).numpy()
    return array.copy()
