"""The factors of a level on a device, and the operations of a pass."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from boostne.factorization.cuda.blocks import DeviceBlock
from boostne.kernels.cuda import operations as gpu
from boostne.kernels.cuda.operations import CudaGraphRunner, Tensor


def blocks_with_rows(blocks: Sequence[DeviceBlock]) -> Iterator[tuple[DeviceBlock, slice]]:
    """Yield each block with its rows of R."""
    ends = np.cumsum([0, *(block.n_rows for block in blocks)]).tolist()
    for block, rows in zip(blocks, pairwise(ends), strict=True):
        yield block, slice(*rows)


class DeviceLevel:
    """U and V, the accepted version of both, and the buffers of a pass.

    All of it, including the blocks, keeps its address from level to level, so the operations are recorded once.

    Attributes
    ----------
    width : int
        Components, padding included.
    U, V, accepted_U, accepted_V : Tensor
        The factors, one row for each row or column of R.
    C : Tensor
        ``R^T U``, as a sum over its first dimension.
    summaries : Tensor of float64
        Of U and of V: the Gram matrix and, in a last row, the inner product of each component with its target.
    """

    def __init__(
        self, blocks: Sequence[DeviceBlock], shape: tuple[int, int], width: int, dtype: torch.dtype, device: str
    ) -> None:
        n, m = shape
        new = partial(torch.zeros, dtype=dtype, device=device)
        self.width = width
        self.U, self.accepted_U = new(n, width), new(n, width)
        self.V, self.accepted_V = new(m, width), new(m, width)
        self.C = new(max(block.transposed_parts for block in blocks), m, width)
        self.summaries = torch.zeros(2, width + 1, width, dtype=torch.float64, device=device)
        self._P = new(max(block.parts * block.n_rows for block in blocks) * width)
        self._n_partials = [gpu.n_partials(block.n_rows, device) for block in blocks]
        self._partial_U = gpu.allocate_partials(sum(self._n_partials), width, device)
        self._partial_V = gpu.allocate_partials(gpu.n_partials(m, device), width, device)
        self._extrapolation = torch.zeros(1, dtype=torch.float64, device=device)
        self._blocks = blocks
        self._device = device
        self._recorded: dict[tuple[str, int], CudaGraphRunner] = {}

    def start(self, V: NDArray[Any]) -> None:
        """Copy V to the device, padded, and set U = 0."""
        components = V.shape[1]
        self.V[:, components:] = 0
        self.V[:, :components].copy_(torch.from_numpy(V))
        self.U.zero_()
        self.accept(0.0)

    def step(self, inner_sweeps: int) -> None:
        """Run HALS sweeps of U, ``R^T U``, and HALS sweeps of V."""
        self._run("sweep", inner_sweeps, lambda: self._sweep(inner_sweeps))
        self._run("update", inner_sweeps, lambda: self._update(inner_sweeps))

    def accept(self, extrapolation: float) -> None:
        """Accept U and V, and extrapolate V."""
        self._extrapolation.fill_(extrapolation)
        self._run("accept", 0, self._accept)

    def revert(self) -> None:
        """Copy back what was accepted."""
        self.U.copy_(self.accepted_U)
        self.V.copy_(self.accepted_V)
        self.accept(0.0)

    def _run(self, name: str, inner_sweeps: int, work: Callable[[], None]) -> None:
        self._recorded.setdefault((name, inner_sweeps), CudaGraphRunner(self._device))(work)

    def _sweep(self, inner_sweeps: int) -> None:
        gram_V = self.summaries[1]
        self.C.zero_()
        parts = self._partial_U.split(self._n_partials)  # type: ignore[no-untyped-call]
        for (block, rows), partial_U in zip(blocks_with_rows(self._blocks), parts, strict=True):
            U = self.U[rows]
            P = self._P[: block.parts * U.numel()].view(block.parts, *U.shape)
            block.matmul(self.V, P)
            gpu.hals_update(U, P, gram_V, inner_sweeps, partial_U)
            block.add_transposed_matmul(U, self.C[: block.transposed_parts])
        gpu.reduce_partials(self._partial_U, self.summaries[0])

    def _update(self, inner_sweeps: int) -> None:
        gpu.hals_update(self.V, self.C, self.summaries[0], inner_sweeps, self._partial_V)
        gpu.reduce_partials(self._partial_V, self.summaries[1])

    def _accept(self) -> None:
        gpu.extrapolate(self.V, self.accepted_V, self._extrapolation, self._partial_V)
        gpu.reduce_partials(self._partial_V, self.summaries[1, :-1])
        self.accepted_U.copy_(self.U)


def host_copy(tensor: Tensor) -> NDArray[Any]:
    """Copy a tensor to the host, which waits for it."""
    # Through pinned memory, which the device writes to directly; it is scarce, so it is not kept.
    staged = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
    array: NDArray[Any] = staged.copy_(tensor).numpy()
    return array.copy()
