"""The factors of finished levels: in memory or, of large graphs, in a temporary file until the last level is done."""

import shutil
import tempfile
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.budget import Workload
from boostne.errors import MemoryLimitError
from boostne.factorization.ordering import Permutation
from boostne.memory import format_bytes

BLOCK_ROWS = 1 << 16


class StoredFactor(ABC):
    """Collects U, or V, of all levels, in the order of the original nodes."""

    @abstractmethod
    def append(self, factor: NDArray[Any], permutation: Permutation) -> None:
        """Store the factor of the next level, whose rows are in the order of the engine."""

    @abstractmethod
    def level(self, i: int) -> NDArray[Any]:
        """Return the factor of a stored level, counted from 0."""

    @abstractmethod
    def merged(self) -> NDArray[Any]:
        """Return the factors of all levels side by side, once all are stored; nothing can be stored afterwards."""


class FactorInMemory(StoredFactor):
    """A factor in one array, of which each level fills some columns.

    Parameters
    ----------
    n_rows : int
    work : Workload
    """

    def __init__(self, n_rows: int, work: Workload) -> None:
        self._array = np.empty((n_rows, work.levels * work.components), work.dtype)
        self._width = work.components
        self._n_levels = 0

    def append(self, factor: NDArray[Any], permutation: Permutation) -> None:
        self._n_levels += 1
        self.level(self._n_levels - 1)[:] = factor[permutation.inverse]

    def level(self, i: int) -> NDArray[Any]:
        return self._array[:, i * self._width : (i + 1) * self._width]

    def merged(self) -> NDArray[Any]:
        return self._array


class FactorOnDisk(StoredFactor):
    """A factor in a temporary file, level after level; at the end it is copied to a second one, row after row.

    The files have no names, and their space is free again as soon as nothing refers to them.

    Parameters
    ----------
    n_rows : int
    work : Workload
    """

    def __init__(self, n_rows: int, work: Workload) -> None:
        self._shape, self._dtype, self._levels = (n_rows, work.components), work.dtype, work.levels
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  open until the levels are merged

    def append(self, factor: NDArray[Any], permutation: Permutation) -> None:
        for rows in self._blocks():
            # Not the whole factor: in another order it would be a copy.
            block = factor[rows] if isinstance(permutation.inverse, slice) else factor[permutation.inverse[rows]]
            self._write(self._file, np.ascontiguousarray(block))
        self._flush(self._file)

    def level(self, i: int) -> NDArray[Any]:
        offset = i * self._shape[0] * self._shape[1] * self._dtype.itemsize
        return np.memmap(self._file, self._dtype, "r", offset, self._shape)

    def merged(self) -> NDArray[Any]:
        shape = self._shape[0], self._levels * self._shape[1]
        with tempfile.TemporaryFile() as file:
            for rows in self._blocks():
                self._write(file, np.hstack([self._read(i, rows) for i in range(self._levels)]))
            self._flush(file)
            self._file.close()
            return np.memmap(file, self._dtype, "r+", shape=shape)

    def _blocks(self) -> list[slice]:
        n = self._shape[0]
        return [slice(first, min(first + BLOCK_ROWS, n)) for first in range(0, n, BLOCK_ROWS)]

    def _read(self, i: int, rows: slice) -> NDArray[Any]:
        # Not memory-mapped: all that was read would count as memory of this process.
        n_rows, width = self._shape
        self._file.seek((i * n_rows + rows.start) * width * self._dtype.itemsize)
        count = (rows.stop - rows.start) * width
        data = self._file.read(count * self._dtype.itemsize)
        return np.frombuffer(data, self._dtype, count).reshape(-1, width)

    def _write(self, file: Any, block: NDArray[Any]) -> None:
        try:
            file.write(block.data)
        except OSError as error:
            raise self._full(error) from error

    def _flush(self, file: Any) -> None:
        try:
            file.flush()
        except OSError as error:
            raise self._full(error) from error

    def _full(self, error: OSError) -> MemoryLimitError:
        size = self._shape[0] * self._shape[1] * self._levels * self._dtype.itemsize
        return MemoryLimitError(
            f"finished levels cannot be written to the folder of temporary files, {tempfile.gettempdir()} "
            f"({error.strerror}): up to {format_bytes(3 * size)} are needed there. Free some space, or set the "
            "environment variable TMPDIR to another folder; with a checkpoint, the run resumes after the last level"
        )


def stored_factor(n_rows: int, work: Workload) -> StoredFactor:
    """Return where to store the factors of finished levels."""
    return FactorOnDisk(n_rows, work) if work.on_disk else FactorInMemory(n_rows, work)


def has_space_on_disk(size: int) -> bool:
    """Whether temporary files of this size fit on the disk."""
    try:
        return shutil.disk_usage(tempfile.gettempdir()).free >= size
    except OSError:
        return False
