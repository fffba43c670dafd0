"""Reading sparse matrices written by ``scipy.sparse.save_npz``, without trust in what the file claims."""

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import FileFormatError
from boostne.io.files import open_seekable
from boostne.io.numpy_files import ArrayArchive
from boostne.io.reading_budget import ReadingBudget

_MAGIC = b"\x93NUMPY"
_INDEX_ARRAYS: dict[str, tuple[str, ...]] = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}


def read_sparse_npz(path: Path, budget: ReadingBudget) -> Any:
    """Return the sparse matrix in an ``.npz`` file; its index arrays are checked when it is converted to a graph."""
    with open_seekable(path, budget) as stream:
        if stream.read(len(_MAGIC)) == _MAGIC:
            raise FileFormatError(f"{path}: not a matrix written by scipy.sparse.save_npz; it contains a plain array")
        n_bytes = stream.seek(0, 2)
        with ZipFile(stream) as file:
            return _read_matrix(path, ArrayArchive(path, file, n_bytes), budget)


def _read_matrix(path: Path, archive: ArrayArchive, budget: ReadingBudget) -> Any:
    if "vectors" in archive.names:
        raise FileFormatError(f"{path}: an embedding instead of a graph: give the file of edges")
    if "format" not in archive.names:
        raise FileFormatError(
            f"{path}: not a matrix written by scipy.sparse.save_npz; "
            f"it contains {', '.join(map(repr, archive.names)) or 'no arrays'}"
        )
    budget.check(archive.n_bytes("format"))
    name = archive.read("format").tobytes()[:20].replace(b"\0", b"").decode("ascii", "replace")
    if name not in _INDEX_ARRAYS:
        raise ValueError(f"the format of the matrix must be one of {', '.join(_INDEX_ARRAYS)}; got {name!r}")
    budget.check(archive.n_bytes("shape"))
    shape = _as_integers("shape", archive.read("shape"))
    if shape.shape != (2,) or shape.min() < 0:
        raise ValueError(f"the shape of a matrix must be two numbers, got {shape.tolist()[:10]}")
    arrays = ("data", *_INDEX_ARRAYS[name])
    budget.check(archive.n_bytes(*arrays))
    data = archive.read("data")
    budget.check_matrix(int(shape.max()), data.size, working=archive.n_bytes(*_INDEX_ARRAYS[name]))
    indices = tuple(_as_integers(part, archive.read(part)) for part in _INDEX_ARRAYS[name])
    parts = (data, indices) if name == "coo" else (data, *indices)
    return getattr(sparse, f"{name}_array")(parts, shape=tuple(shape.tolist()))


def _as_integers(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name!r} must be a vector of integers, got {array.ndim} dimensions of {array.dtype}")
    # SciPy would wrap around larger numbers: offsets of diagonals are stored in 32 bits.
    limit = np.iinfo(np.int32 if name == "offsets" else np.int64)
    for bound in (array.min(initial=0), array.max(initial=0)):
        if not limit.min <= int(bound) <= limit.max:
            raise ValueError(f"{name!r} contains {bound}, which is out of range")
    return array.astype(array.dtype.newbyteorder("="), copy=False)
