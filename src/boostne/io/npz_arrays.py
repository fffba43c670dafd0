"""Reading arrays of ``.npz`` archives whose headers and sizes are checked before memory is allocated."""

import math
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from boostne.errors import FileFormatError
from boostne.io.reading_budget import ReadingBudget

_SUFFIX = ".npy"
_HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_MAX_DIMENSIONS = 3  # of the arrays of a sparse matrix
_INDEX_ARRAYS: dict[str, tuple[str, ...]] = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}


class NpzArrays:
    """The arrays of an archive, read by name.

    Parameters
    ----------
    stream
        The archive, at position 0.
    budget
        The memory that may be used, and the name of the file.
    """

    def __init__(self, stream: IO[bytes], budget: ReadingBudget) -> None:
        self._archive = ZipFile(stream)
        self._budget = budget
        self.names = [name.removesuffix(_SUFFIX) for name in self._archive.namelist()]

    def size(self, *names: str) -> int:
        """Return the size of some arrays in bytes."""
        return sum(self._member(name).file_size for name in names)

    def read(self, name: str) -> NDArray[Any]:
        """Read an array of numbers or strings; raise ValueError if its header disagrees with its size."""
        member = self._member(name)
        self._budget.check(member.file_size, f"the array {name!r}")
        with self._archive.open(member) as stream:
            self._check_header(name, stream, member.file_size)
        with self._archive.open(member) as stream:
            array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
            return array

    def _member(self, name: str) -> ZipInfo:
        if name not in self.names:
            raise ValueError(f"the array {name!r} is missing; it contains {self.names}")
        stored = self._archive.namelist()[self.names.index(name)]
        return self._archive.getinfo(stored)

    def _check_header(self, name: str, stream: IO[bytes], size: int) -> None:
        try:
            shape, _, dtype = _HEADER_READERS[npy.read_magic(stream)](stream)
        except (ArithmeticError, KeyError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
            reason = str(error).split("\n")[0] or type(error).__name__
            raise ValueError(f"the header of the array {name!r} is damaged: {reason}") from None
        if dtype.hasobject:
            raise ValueError(f"the array {name!r} contains pickled objects, which are not read")
        found = size - stream.tell()
        valid = len(shape) <= _MAX_DIMENSIONS and all(length >= 0 for length in shape)
        if not valid or math.prod(shape) * dtype.itemsize != found:
            raise ValueError(f"the array {name!r} claims shape {shape} of {dtype}, but has {found:,} bytes")


def read_sparse_npz(stream: IO[bytes], budget: ReadingBudget) -> Any:
    """Read a sparse matrix written by ``scipy.sparse.save_npz``; its index arrays are checked by the caller."""
    from scipy import sparse

    arrays = NpzArrays(stream, budget)
    if "format" not in arrays.names:
        raise FileFormatError(
            f"{budget.path}: not a matrix written by scipy.sparse.save_npz; "
            f"it contains {', '.join(map(repr, arrays.names)) or 'no arrays'}"
        )
    name = arrays.read("format").tobytes().replace(b"\0", b"").decode("ascii", "replace")
    if name not in _INDEX_ARRAYS:
        raise ValueError(f"the format of the matrix must be one of {', '.join(_INDEX_ARRAYS)}; got {name[:10]!r}")
    shape = _checked_integers(arrays, "shape")
    if shape.shape != (2,) or shape.min() < 0:
        raise ValueError(f"the shape of a matrix must be two numbers, got {shape.tolist()}")
    data = arrays.read("data")
    budget.check_matrix(int(shape.max()), data.size, working=arrays.size(*_INDEX_ARRAYS[name]))
    indices = tuple(_checked_integers(arrays, part) for part in _INDEX_ARRAYS[name])
    parts = (data, indices) if name == "coo" else (data, *indices)
    return getattr(sparse, f"{name}_array")(parts, shape=tuple(shape.tolist()))


def _checked_integers(arrays: NpzArrays, name: str) -> NDArray[np.int64]:
    array = arrays.read(name)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name!r} must be a vector of integers, got {array.ndim} dimensions of {array.dtype}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)
