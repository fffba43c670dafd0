"""MatrixSource: the contract between a connectivity matrix X and the engines that factorize it."""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.kernels import Kernels, get_kernels
from boostne.matrices.csr_builder import CSRBuilder, RowBlock, chunks
from boostne.progress import Progress, ProgressCallback, silent


class DeviceRows(Protocol):
    """Rows of X built by PyTorch on a device: ``device_rows(nodes, out)`` writes those of some nodes to a tensor."""

    def __call__(self, nodes: NDArray[np.int64], out: Any) -> None:
        """Write the rows of ``nodes``, zeros included."""


class MatrixSource(ABC):
    """Builds rows of X on demand, the same bits wherever they are built.

    A source holds arrays and parameters only, so it can be pickled and sent to the workers of a cluster.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory of the source itself."""

    @abstractmethod
    def rows(self, rows: range) -> list[RowBlock]:
        """Return the positive entries of some rows."""

    @abstractmethod
    def chunk_rows(self) -> int:
        """Return how many rows to request at a time so that they stay small compared with X."""

    @abstractmethod
    def with_threads(self, threads: int) -> "MatrixSource":
        """Return the same source, running on this machine with a number of threads."""

    def device_rows(self, device: str) -> DeviceRows | None:
        """Return the rows as built on a PyTorch device, or None if they are built on the host only."""
        return None

    def build(self, progress: ProgressCallback = silent) -> tuple[sparse.csr_array, NDArray[np.float64] | None]:
        """Build all of X; beside it, one chunk of rows is held in memory.

        Returns
        -------
        X : csr_array
            Owned by the caller, who may overwrite its arrays.
        dropped : ndarray or None
            Share of each row's walk mass that pruning discarded.
        """
        n = self.shape[0]
        builder = CSRBuilder(self.shape[1], self.dtype)
        for rows in chunks(range(n), self.chunk_rows()):
            builder.extend(self.rows(rows))
            progress(Progress("connectivity", rows.stop / n, f"{rows.stop:,} of {n:,} rows"))
        return builder.finish(), builder.dropped


class CSRSource(MatrixSource):
    """Rows of a matrix that already exists; :meth:`build` hands it over without a copy."""

    def __init__(self, X: sparse.csr_array, dropped: NDArray[np.float64] | None = None) -> None:
        self._X = X
        self._dropped = dropped
        self.shape = X.shape
        self.dtype = X.dtype

    @property
    def nnz(self) -> int:
        """Entries of the matrix."""
        return int(self._X.nnz)

    @property
    def nbytes(self) -> int:
        return int(self._X.data.nbytes + self._X.indices.nbytes + self._X.indptr.nbytes)

    def rows(self, rows: range) -> list[RowBlock]:
        ends = self._X.indptr[rows.start : rows.stop + 1]
        entries = slice(ends[0], ends[-1])
        columns = self._X.indices[entries].astype(np.int32, copy=False)
        return [RowBlock(np.diff(ends).astype(np.int64, copy=False), columns, self._X.data[entries])]

    def chunk_rows(self) -> int:
        return max(self.shape[0], 1)

    def with_threads(self, threads: int) -> Self:
        """Return the source itself: copying takes one thread."""
        return self

    def build(self, progress: ProgressCallback = silent) -> tuple[sparse.csr_array, NDArray[np.float64] | None]:
        """Return the matrix itself."""
        progress(Progress("connectivity", 1.0, f"{self.nnz:,} entries"))
        return self._X, self._dropped


class KernelSource(MatrixSource):
    """Base of the sources whose rows come from the compiled kernels: arrays are pickled, kernels are not."""

    _kernels: Kernels | None

    @property
    def kernels(self) -> Kernels:
        """The kernels passed in, or this machine's."""
        return self._kernels or get_kernels()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kernels": None}

    def with_threads(self, threads: int) -> Self:
        clone = copy(self)
        clone._kernels = get_kernels(threads=threads)  # noqa: SLF001  a copy of this object
        return clone

    @property
    def nbytes(self) -> int:
        return sum(getattr(value, "nbytes", 0) for value in vars(self).values())
