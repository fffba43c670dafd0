"""The engine of a GPU: R in device memory, in blocks of rows that are dense or sparse."""

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from boostne.budget import Workload, device_residual_bytes
from boostne.errors import EngineError, MemoryLimitError
from boostne.factorization.cuda.blocks import DenseBlock, DeviceBlock, SparseBlock, dense_rows
from boostne.factorization.cuda.level import DeviceLevel, blocks_with_rows, host_copy
from boostne.factorization.engine import Engine, PassResult
from boostne.graph import Graph
from boostne.kernels.cuda.operations import Tensor
from boostne.matrices import ConnectivityMatrix, MatrixForm, MatrixSource
from boostne.matrices.adjacency import reciprocal
from boostne.matrices.csr_builder import chunks
from boostne.matrices.source import DeviceRows
from boostne.memory import available_memory, format_bytes
from boostne.progress import Progress, ProgressCallback, silent

BLOCK_ENTRIES = 1 << 28  # of a dense block, zeros included; temporaries made of one are no larger
DENSE_SHARE = 0.2  # of positive entries: above it a dense block is faster to read than a sparse one
SAMPLED_ROWS = 128
MIN_WIDTH = 16  # factors are padded to a power of two of at least this, as Triton's tiles require
INSTEAD = "Use engine='local', which uses host memory, or for DeepWalk's X approximation='push'."


def gpu_device() -> str:
    """Return PyTorch's name of the GPU; raise EngineError if there is none."""
    if not torch.cuda.is_available():
        raise EngineError(
            f"engine='cuda' needs a GPU, and PyTorch {torch.__version__} finds none here; install a build of PyTorch "
            "for your GPU (see pytorch.org), or use engine='local'"
        )
    if find_spec("triton") is None:
        raise EngineError(
            "engine='cuda' needs Triton, which PyTorch installs on Linux only: pip install triton where a "
            "build of it exists, or use engine='local'"
        )
    return "cuda"


def _explain_out_of_memory(method: Callable[..., Any]) -> Callable[..., Any]:
    """Turn PyTorch's out-of-memory error into ours."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except torch.OutOfMemoryError as error:
            raise MemoryLimitError(f"the GPU ran out of memory ({error}). {INSTEAD}") from error

    return call


class CudaEngine(Engine):
    """Stores R on a GPU as blocks of rows.

    Parameters
    ----------
    device : str, default="cuda"
        Name of the device, as in PyTorch; "cpu" runs the same code without a GPU, slowly.
    block_entries : int
        Entries of a dense block, zeros included.
    dense_share : float
        Share of positive entries above which a block is stored dense.
    """

    name = "cuda"

    def __init__(
        self, device: str = "cuda", *, block_entries: int = BLOCK_ENTRIES, dense_share: float = DENSE_SHARE
    ) -> None:
        self._device = device
        self._blocks: list[DeviceBlock] = []
        self._level: DeviceLevel | None = None
        self._block_entries = block_entries
        self._dense_share = dense_share

    def describe(self) -> str:
        """Return the name of the device and its free memory."""
        name = torch.cuda.get_device_name(self._device) if self._device != "cpu" else "cpu"
        free = _free_memory(self._device)
        return name if free is None else f"{name}, {format_bytes(free)} free"

    def plan(self, matrix: ConnectivityMatrix, graph: Graph, work: Workload, memory_limit: Any = None) -> MatrixForm:
        """Prefer a form that is built on the device, whose memory :meth:`load` checks; see :meth:`Engine.plan`."""
        return matrix.device_form(graph) or super().plan(matrix, graph, work, memory_limit)

    @_explain_out_of_memory
    def load(self, source: MatrixSource, progress: ProgressCallback = silent) -> None:
        self.shape, self.dtype = source.shape, source.dtype
        self._level = None
        self._blocks = []
        device_rows = source.device_rows(self._device)
        if device_rows is None:
            X, self.dropped_mass = source.build(progress)
            self._copy(X)
        else:
            progress(Progress("connectivity", 0.0, "on the GPU"))
            self._build(device_rows, progress)
        self._record()

    def _copy(self, X: sparse.csr_array) -> None:
        dense = self._choose_dense(X.nnz)
        per_row = X.shape[1] if dense else max(1, int(np.diff(X.indptr).max(initial=0)))
        for rows in chunks(range(X.shape[0]), max(1, self._block_entries // per_row)):
            part = X[rows.start : rows.stop]
            if dense:
                R = self._empty(len(rows))
                R.copy_(torch.from_numpy(part.toarray()))
                self._blocks.append(DenseBlock(R))
            else:
                row = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
                i, j, data = (torch.from_numpy(a).to(self._device) for a in (row, part.indices, part.data))
                self._blocks.append(SparseBlock.from_entries(i, j, data, part.shape))

    def _build(self, device_rows: DeviceRows, progress: ProgressCallback) -> None:
        n, m = self.shape
        # If X fits even when full, each block decides by its own entries and no sample is needed.
        dense = None if self._fits_when_full() else self._choose_dense(self._sampled_entries(device_rows))
        for rows in chunks(range(n), max(1, self._block_entries // m)):
            R = self._empty(len(rows))
            device_rows(np.arange(rows.start, rows.stop), R)
            self._blocks.append(self._as_block(R, dense))
            progress(Progress("connectivity", rows.stop / n, f"{rows.stop:,} of {n:,} rows"))

    def _as_block(self, R: Tensor, dense: bool | None) -> DeviceBlock:
        if dense is None:
            dense = int(torch.count_nonzero(R)) >= self._dense_share * R.numel()
        return DenseBlock(R) if dense else SparseBlock.from_dense(R)

    def _sampled_entries(self, device_rows: DeviceRows) -> int:
        """Estimate the entries of X from some of its rows."""
        n = self.shape[0]
        nodes = np.unique(np.linspace(0, n - 1, min(n, SAMPLED_ROWS)).astype(np.int64))
        out = self._empty(len(nodes))
        device_rows(nodes, out)
        return int(torch.count_nonzero(out)) * n // len(nodes)

    @property
    def storage(self) -> list[str]:
        """How each block is stored: "dense" or "sparse"."""
        return ["dense" if isinstance(block, DenseBlock) else "sparse" for block in self._blocks]

    @_explain_out_of_memory
    def start_level(self, V: NDArray[Any]) -> None:
        self._components = V.shape[1]
        width = max(MIN_WIDTH, 1 << (self._components - 1).bit_length())
        if self._level is None or self._level.width != width:
            self._level = DeviceLevel(self._blocks, self.shape, width, self._torch_dtype, self._device)
        self._level.start(V)

    @_explain_out_of_memory
    def step(self, inner_sweeps: int) -> PassResult:
        """Read each block twice, then update V; see :meth:`Engine.step`. The host waits here, once per pass."""
        self._current.step(inner_sweeps)
        summary_u, summary_v = host_copy(self._current.summaries)
        return PassResult(summary_u[:-1], summary_v[:-1], float(summary_v[-1].sum()))

    def accept(self, extrapolation: float) -> None:
        self._current.accept(extrapolation)

    def revert(self) -> None:
        self._current.revert()

    def gram_v(self) -> NDArray[np.float64]:
        return host_copy(self._current.summaries[1])[:-1]

    def reseed(self, component: int, values: NDArray[Any]) -> None:
        self._current.V[:, component] = torch.from_numpy(values).to(self._device)

    def rescale(self, ratio: NDArray[np.float64]) -> None:
        for factor, scale in ((self._current.U, ratio), (self._current.V, reciprocal(ratio))):
            factor.mul_(torch.from_numpy(scale.astype(self.dtype)).to(self._device))

    def factors(self) -> tuple[NDArray[Any], NDArray[Any]]:
        U, V = self._current.U, self._current.V
        return host_copy(U[:, : self._components]), host_copy(V[:, : self._components])

    @_explain_out_of_memory
    def deflate(self) -> None:
        """Deflate every block; one that has become sparse is stored sparse. See :meth:`Engine.deflate`."""
        U, V = self._current.U, self._current.V
        for i, (block, rows) in enumerate(blocks_with_rows(self._blocks)):
            block.deflate(U[rows], V)
            if isinstance(block, DenseBlock) and block.nnz < self._dense_share * block.R.numel():
                self._blocks[i] = SparseBlock.from_dense(block.R)
                self._level = None  # its recorded operations refer to the dense block
        self._record()

    def replay(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        self.start_level(V)
        self._current.U[:, : U.shape[1]] = torch.from_numpy(U)
        self.deflate()

    def _record(self) -> None:
        self.norm2 = sum(block.norm2 for block in self._blocks)
        self.nnz = sum(block.nnz for block in self._blocks)

    @property
    def _current(self) -> DeviceLevel:
        if self._level is None:
            raise RuntimeError("no level was started")
        return self._level

    @property
    def _torch_dtype(self) -> torch.dtype:
        return torch.from_numpy(np.empty(0, self.dtype)).dtype

    def _empty(self, n_rows: int) -> Tensor:
        return dense_rows(n_rows, self.shape[1], self._torch_dtype, self._device)

    def _residual_bytes(self, nnz: int) -> tuple[int, int, int]:
        return device_residual_bytes(self.shape, nnz, self.dtype, self._block_entries)

    def _fits_when_full(self) -> bool:
        n, m = self.shape
        dense_bytes, sparse_bytes, block_bytes = self._residual_bytes(int(min(self._dense_share, 1) * n * m))
        free = _free_memory(self._device)
        return free is None or max(dense_bytes, sparse_bytes) + block_bytes <= free

    def _choose_dense(self, nnz: int) -> bool:
        """Return whether R is stored dense; raise MemoryLimitError if it fits the device neither way."""
        n, m = self.shape
        dense_bytes, sparse_bytes, block_bytes = self._residual_bytes(nnz)
        free = _free_memory(self._device)
        fits = {size for size in (dense_bytes, sparse_bytes) if free is None or size + block_bytes <= free}
        if not fits:
            raise MemoryLimitError(
                f"X, {n:,} × {m:,} with about {nnz:,} entries, would need about "
                f"{format_bytes(min(dense_bytes, sparse_bytes) + block_bytes)} of the GPU's memory; "
                f"{format_bytes(free or 0)} is free. {INSTEAD}"
            )
        prefers_dense = nnz >= self._dense_share * n * m
        return dense_bytes in fits and (prefers_dense or sparse_bytes not in fits)


def _free_memory(device: str) -> int | None:
    if torch.device(device).type != "cuda":
        return available_memory()
    # Memory that PyTorch has reserved but does not use counts as free.
    reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + reserved
