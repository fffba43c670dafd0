"""Rows of the residual on a device: stored dense, or sparse together with their transpose."""

from abc import ABC, abstractmethod

import torch

from boostne.kernels.cuda import operations as gpu
from boostne.kernels.cuda.operations import CSR, Tensor

ALIGN = 32  # dense rows are padded to a multiple of this, so that each starts on a memory boundary


class DeviceBlock(ABC):
    """Some rows of R at a fixed address.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    parts, transposed_parts : int
        Parts into which the products are split; the caller adds them.
    nnz : int
        Number of positive entries.
    norm2 : float
        Squared norm.
    """

    n_rows: int
    parts: int
    transposed_parts: int
    nnz: int
    norm2: float

    @abstractmethod
    def matmul(self, V: Tensor, out: Tensor) -> None:
        """``out = R V``; ``out`` is (parts, rows, components)."""

    @abstractmethod
    def add_transposed_matmul(self, U: Tensor, out: Tensor) -> None:
        """``out += R^T U``; ``out`` is (transposed parts, columns, components)."""

    @abstractmethod
    def deflate(self, U: Tensor, V: Tensor) -> None:
        """``R <- max(R - U V^T, 0)``."""


class DenseBlock(DeviceBlock):
    """A dense matrix: the fastest to read unless most entries are 0."""

    def __init__(self, R: Tensor) -> None:
        self.R = R
        self.n_rows = len(R)
        self.parts, self.transposed_parts = (gpu.dense_parts(size, str(R.device)) for size in R.shape)
        self.norm2, self.nnz = float(gpu.norm2(R)), int(torch.count_nonzero(R))

    def matmul(self, V: Tensor, out: Tensor) -> None:
        gpu.dense_matmul(self.R, V, out)

    def add_transposed_matmul(self, U: Tensor, out: Tensor) -> None:
        gpu.dense_matmul(self.R.T, U, out, add=True)

    def deflate(self, U: Tensor, V: Tensor) -> None:
        self.norm2, self.nnz = gpu.dense_deflate(self.R, U, V)


class SparseBlock(DeviceBlock):
    """A sparse matrix and its transpose: ``R^T U`` from the matrix alone would need atomic additions."""

    def __init__(self, R: CSR, transpose: CSR) -> None:
        self._R, self._transpose = R, transpose
        self.n_rows = len(R.starts)
        self.parts = self.transposed_parts = 1
        self.norm2, self.nnz = float(gpu.norm2(R.data)), len(R.data)

    @classmethod
    def from_dense(cls, R: Tensor) -> "SparseBlock":
        """Store the positive entries of a dense matrix."""
        return cls(gpu.csr_from_dense(R), gpu.csr_from_dense(R.T.contiguous()))

    @classmethod
    def from_entries(cls, rows: Tensor, columns: Tensor, data: Tensor, shape: tuple[int, int]) -> "SparseBlock":
        """Sort entries, given row by row, by rows and by columns."""
        n, m = shape
        return cls(gpu.csr_from_entries(rows, columns, data, n), gpu.csr_from_entries(columns, rows, data, m))

    def matmul(self, V: Tensor, out: Tensor) -> None:
        gpu.csr_matmul(self._R, V, out[0])

    def add_transposed_matmul(self, U: Tensor, out: Tensor) -> None:
        gpu.csr_matmul(self._transpose, U, out[0], add=True)

    def deflate(self, U: Tensor, V: Tensor) -> None:
        norms = gpu.csr_deflate(self._R, U, V)
        gpu.csr_deflate(self._transpose, V, U)
        self.norm2, self.nnz = float(norms.sum()), self._R.nnz


def dense_rows(n_rows: int, n_columns: int, dtype: torch.dtype, device: str) -> Tensor:
    """Return uninitialized rows, each starting on a memory boundary."""
    padded = -(-n_columns // ALIGN) * ALIGN
    return torch.empty(n_rows, padded, dtype=dtype, device=device)[:, :n_columns]
