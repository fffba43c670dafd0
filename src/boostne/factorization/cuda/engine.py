"""The engine of a GPU: R in the card's memory, blocks of rows dense or sparse as suits them."""

from collections.abc import Callable, Iterator
from functools import wraps
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import EngineError, MemoryLimitError
from boostne.factorization.cuda.blocks import Block, DenseBlock, SparseBlock, dense_rows
from boostne.factorization.cuda.level import (
    DeviceContext,
    DevicePass,
    Factors,
    factors_of,
    host_copy,
    rows_of,
)
from boostne.factorization.engine import Context, Engine, Pass, inverse_ratio
from boostne.kernels.cuda.operations import Tensor
from boostne.matrices.source import chunks
from boostne.memory import available_memory, format_bytes

BLOCK_ENTRIES = 1 << 28  # of a dense block, zeros included; what is made of one in passing is no larger
DENSE_SHARE = 0.2  # of positive entries, above which a dense block is faster to read than a sparse one
SAMPLE_ROWS = 128
WIDTH = 16  # numbers to which the row of a factor is padded; a power of two, as Triton's tiles are
INSTEAD = (
    "Use engine='local', which needs the computer's own memory, or for DeepWalk's X approximation='push'."
)


class Rows(Protocol):
    """A recipe for X: ``recipe(nodes, out)`` writes the rows of some nodes to a dense tensor."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __call__(self, nodes: NDArray[np.int64], out: Tensor) -> None:
        """Write the rows of ``nodes``."""


def gpu_device() -> str:
    """Return PyTorch's name of the GPU; an error where there is none."""
    if not torch.cuda.is_available():
        raise EngineError(
            f"engine='cuda' needs a GPU, and PyTorch {torch.__version__} sees none here; install a build of PyTorch "
            "for your GPU (pytorch.org tells which), or use engine='local'"
        )
    if find_spec("triton") is None:
        raise EngineError(
            "engine='cuda' needs Triton, which PyTorch brings along on Linux only: pip install triton where there is "
            "a build of it, or use engine='local'"
        )
    return "cuda"


def _explained(method: Callable[..., Any]) -> Callable[..., Any]:
    """Turn PyTorch's out-of-memory error into ours."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except torch.OutOfMemoryError as error:
            raise MemoryLimitError(f"the GPU's memory ran out ({error}). {INSTEAD}") from error

    return call


class CudaEngine(Engine):
    """Holds R on a GPU as blocks of rows.

    Parameters
    ----------
    device : str, default="cuda"
        PyTorch's name of the device; "cpu" runs the same code without a GPU, slowly.
    block_entries : int
        Entries of a dense block, zeros included.
    dense_share : float
        Share of positive entries above which a block is kept dense.
    """

    def __init__(
        self, device: str = "cuda", *, block_entries: int = BLOCK_ENTRIES, dense_share: float = DENSE_SHARE
    ) -> None:
        self.device = device
        self._blocks: list[Block] = []
        self._factors: Factors | None = None
        self._block_entries = block_entries
        self._dense_share = dense_share

    def describe(self) -> str:
        """Name the device and its free memory."""
        name = torch.cuda.get_device_name(self.device) if self.device != "cpu" else "cpu"
        free = _free_memory(self.device)
        return name if free is None else f"{name}, {format_bytes(free)} free"

    @_explained
    def load(self, X: sparse.csr_array) -> None:
        """Copy X to the device; see :meth:`Engine.load`."""
        self._take_form(X.shape, X.dtype)
        dense = self._choose_dense(X.nnz)
        self._blocks = []
        for rows in self._spans(X, dense):
            part = X[rows.start : rows.stop]
            if dense:
                R = self._empty(len(rows))
                R.copy_(torch.from_numpy(part.toarray()))
                self._blocks.append(DenseBlock(R))
            else:
                at = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
                i, j, data = (torch.from_numpy(a).to(self.device) for a in (at, part.indices, part.data))
                self._blocks.append(SparseBlock.from_entries(i, j, data, part.shape))

    @_explained
    def build(self, recipe: Rows, progress: Callable[[int, int], None] | None = None) -> None:
        """Build X on the device, block by block, and take it as the residual."""
        self._take_form(recipe.shape, recipe.dtype)
        n, m = recipe.shape
        # Where X fits however full it is, each block may decide by what it holds; a sample would only cost time.
        dense = None if self._fits_anyway() else self._choose_dense(self._expected_entries(recipe))
        self._blocks = []
        for rows in chunks(range(n), max(1, self._block_entries // m)):
            R = self._empty(len(rows))
            recipe(np.arange(rows.start, rows.stop), R)
            self._blocks.append(self._block(R, dense))
            if progress is not None:
                progress(rows.stop, n)

    def _block(self, R: Tensor, dense: bool | None) -> Block:
        if dense is None:
            dense = int(torch.count_nonzero(R)) >= self._dense_share * R.numel()
        return DenseBlock(R) if dense else SparseBlock.from_dense(R)

    def _expected_entries(self, recipe: Rows) -> int:
        """Entries of the whole of X, from some of its rows."""
        n = recipe.shape[0]
        sample = np.unique(np.linspace(0, n - 1, min(n, SAMPLE_ROWS)).astype(np.int64))
        out = self._empty(len(sample))
        recipe(sample, out)
        return int(torch.count_nonzero(out)) * n // len(sample)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of R."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of R."""
        return self._dtype

    @property
    def norm2(self) -> float:
        """Squared norm of R."""
        return sum(block.norm2 for block in self._blocks)

    @property
    def nnz(self) -> int:
        """Positive entries of R."""
        return sum(block.nnz for block in self._blocks)

    @property
    def storage(self) -> list[str]:
        """How each block is kept: "dense" or "sparse"."""
        return ["dense" if isinstance(block, DenseBlock) else "sparse" for block in self._blocks]

    @_explained
    def begin(self, V: NDArray[Any]) -> Context:
        """Copy V to the device, padded; see :meth:`Engine.begin`. The level before is overwritten."""
        components = V.shape[1]
        width = max(WIDTH, 1 << (components - 1).bit_length())
        factors = self._factors
        if factors is None or factors.width != width:
            factors = Factors(self._blocks, self._shape, width, self._torch_dtype, self.device)
            self._factors = factors
        factors.V[:, components:] = 0
        factors.V[:, :components].copy_(torch.from_numpy(V))
        factors.U.zero_()
        context = DeviceContext(factors, components)
        self.extrapolate(context, 0.0)
        return context

    @_explained
    def sweep(self, context: Context, inner: int) -> Pass:
        """Two reads of each block, with the sweeps of its rows of U in between; see :meth:`Engine.sweep`."""
        factors = factors_of(context)
        factors.sweep(inner)
        return DevicePass(factors)

    def update(self, context: Context, swept: Pass, inner: int) -> float:
        """Run HALS on V; see :meth:`Engine.update`. The one place in a pass where the host waits."""
        factors = factors_of(context)
        factors.update(inner)
        summary_U, summary_V = host_copy(factors.summaries)
        swept.gram, context.gram = summary_U[:-1], summary_V[:-1]
        return float(summary_V[-1].sum())

    def extrapolate(self, context: Context, step: float) -> None:
        """Step on from V; see :meth:`Engine.extrapolate`."""
        factors_of(context).extrapolate(step)
        vars(context).pop("gram", None)  # fetched again when it is asked for

    def retreat(self, context: Context) -> None:
        """Copy what was accepted back; see :meth:`Engine.retreat`."""
        factors = factors_of(context)
        factors.U.copy_(factors.accepted_U)
        factors.V.copy_(factors.accepted_V)
        self.extrapolate(context, 0.0)

    def reseed(self, context: Context, component: int, values: NDArray[Any]) -> None:
        """Overwrite a column of V; see :meth:`Engine.reseed`."""
        context.V[:, component] = torch.from_numpy(values).to(self.device)

    def scale(self, context: Context, ratio: NDArray[np.float64]) -> None:
        """Scale U and V in place; see :meth:`Engine.scale`."""
        for factor, by in ((factors_of(context).U, ratio), (context.V, inverse_ratio(ratio))):
            factor.mul_(torch.from_numpy(by.astype(self._dtype)).to(self.device))

    @_explained
    def deflate(self, context: Context) -> None:
        """Deflate every block; one that has emptied becomes sparse. See :meth:`Engine.deflate`."""
        U = factors_of(context).U
        for i, (block, rows) in enumerate(rows_of(self._blocks)):
            block.deflate(U[rows], context.V)
            if isinstance(block, DenseBlock) and block.nnz < self._dense_share * block.R.numel():
                self._blocks[i] = SparseBlock.from_dense(block.R)
                self._factors = None  # what they recorded was of the dense block

    def replay(self, U: NDArray[Any], V: NDArray[Any]) -> None:
        """Begin a level and end it with these factors; see :meth:`Engine.replay`."""
        context = self.begin(V)
        factors_of(context).U[:, : U.shape[1]] = torch.from_numpy(U)
        self.deflate(context)

    def collect(self, context: Context) -> tuple[NDArray[Any], NDArray[Any]]:
        """Copy the factors to the host; see :meth:`Engine.collect`."""
        U, V = factors_of(context).U, context.V
        return host_copy(U[:, : context.components]), host_copy(V[:, : context.components])

    def _take_form(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self._shape, self._dtype = shape, dtype
        self._factors = None

    @property
    def _torch_dtype(self) -> torch.dtype:
        return torch.from_numpy(np.empty(0, self._dtype)).dtype

    def _empty(self, n_rows: int) -> Tensor:
        return dense_rows(n_rows, self._shape[1], self._torch_dtype, self.device)

    def _spans(self, X: sparse.csr_array, dense: bool) -> Iterator[range]:
        """Rows of each block: as many as have ``block_entries`` entries, zeros counted where they are stored."""
        n = X.shape[0]
        per_row = X.shape[1] if dense else max(1, int(np.diff(X.indptr).max(initial=0)))
        yield from chunks(range(n), max(1, self._block_entries // per_row))

    def _needs(self, nnz: int) -> tuple[int, int, int]:
        """Bytes of R if dense, of R if sparse, and of a block while it is built, with what is made in passing."""
        n, m = self._shape
        number = self._dtype.itemsize
        return n * m * number, 2 * nnz * (number + 4), 4 * min(self._block_entries, n * m) * number

    def _fits_anyway(self) -> bool:
        n, m = self._shape
        full, most_sparse, beside = self._needs(int(min(self._dense_share, 1) * n * m))
        free = _free_memory(self.device)
        return free is None or max(full, most_sparse) + beside <= free

    def _choose_dense(self, nnz: int) -> bool:
        """Say whether R is best kept dense; an error where it fits the device neither way."""
        n, m = self._shape
        full, sparse_bytes, beside = self._needs(nnz)
        free = _free_memory(self.device)
        fits = {size for size in (full, sparse_bytes) if free is None or size + beside <= free}
        if not fits:
            raise MemoryLimitError(
                f"X, {n:,} × {m:,} with about {nnz:,} entries, would need about "
                f"{format_bytes(min(full, sparse_bytes) + beside)} of the GPU's memory; {format_bytes(free or 0)} "
                f"is free. {INSTEAD}"
            )
        prefers_dense = nnz >= self._dense_share * n * m
        return full in fits and (prefers_dense or sparse_bytes not in fits)


def _free_memory(device: str) -> int | None:
    if torch.device(device).type != "cuda":
        return available_memory()
    # What PyTorch keeps for itself but does not use counts as free.
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + kept
