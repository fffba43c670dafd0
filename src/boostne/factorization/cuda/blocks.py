"""Rows of the residual on a device: as a dense matrix, or as a sparse one beside its transpose."""

from abc import ABC, abstractmethod

import torch

from boostne.kernels.cuda import operations as gpu
from boostne.kernels.cuda.operations import CSR, Tensor

ALIGN = 32  # numbers to which a dense row is padded, so that each begins on a boundary of the memory


class Block(ABC):
    """Some rows of R, in memory that stays where it is.

    Attributes
    ----------
    n_rows : int
        How many.
    parts, transposed_parts : int
        Parts in which the products are left, to be added by whoever reads them.
    nnz : int
        Positive entries.
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


class DenseBlock(Block):
    """A dense matrix: the fastest to read unless most of it is 0."""

    def __init__(self, R: Tensor) -> None:
        self.R = R
        self.n_rows = len(R)
        self.parts, self.transposed_parts = (gpu.dense_parts(size, str(R.device)) for size in R.shape)
        self.norm2, self.nnz = float(gpu.norm2(R)), int(torch.count_nonzero(R))

    def matmul(self, V: Tensor, out: Tensor) -> None:
        """``out = R V``."""
        gpu.dense_matmul(self.R, V, out)

    def add_transposed_matmul(self, U: Tensor, out: Tensor) -> None:
        """``out += R^T U``."""
        gpu.dense_matmul(self.R.T, U, out, add=True)

    def deflate(self, U: Tensor, V: Tensor) -> None:
        """Subtract in place."""
        self.norm2, self.nnz = gpu.dense_deflate(self.R, U, V)


class SparseBlock(Block):
    """A sparse matrix, and its transpose: ``R^T U`` from the matrix alone would need atomic additions."""

    def __init__(self, R: CSR, transpose: CSR) -> None:
        self._R, self._transpose = R, transpose
        self.n_rows = len(R.starts)
        self.parts = self.transposed_parts = 1
        self.norm2, self.nnz = float(gpu.norm2(R.data)), len(R.data)

    @classmethod
    def from_dense(cls, R: Tensor) -> "SparseBlock":
        """Keep what is positive."""
        return cls(gpu.csr_from_dense(R), gpu.csr_from_dense(R.T.contiguous()))

    @classmethod
    def from_entries(
        cls, rows: Tensor, columns: Tensor, data: Tensor, shape: tuple[int, int]
    ) -> "SparseBlock":
        """Sort the entries, which come row by row, both ways."""
        n, m = shape
        return cls(gpu.csr_from_entries(rows, columns, data, n), gpu.csr_from_entries(columns, rows, data, m))

    def matmul(self, V: Tensor, out: Tensor) -> None:
        """``out = R V``."""
        gpu.csr_matmul(self._R, V, out[0])

    def add_transposed_matmul(self, U: Tensor, out: Tensor) -> None:
        """``out += R^T U``."""
        gpu.csr_matmul(self._transpose, U, out[0], add=True)

    def deflate(self, U: Tensor, V: Tensor) -> None:
        """Subtract, and drop what became 0, from both."""
        norms = gpu.csr_deflate(self._R, U, V)
        gpu.csr_deflate(self._transpose, V, U)
        self.norm2, self.nnz = float(norms.sum()), self._R.nnz


def dense_rows(n_rows: int, n_columns: int, dtype: torch.dtype, device: str) -> Tensor:
    """Uninitialized rows, each on a boundary of the memory."""
    padded = -(-n_columns // ALIGN) * ALIGN
    return torch.empty(n_rows, padded, dtype=dtype, device=device)[:, :n_columns]
