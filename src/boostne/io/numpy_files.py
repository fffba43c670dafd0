"""Reading ``.npy`` and ``.npz`` files that may be damaged or malicious.

NumPy allocates the array that a header announces before it reads the first value, and its parsers raise anything from
tokenize.TokenError to NotImplementedError. Here the announced size is compared with that of the file first, objects
are never unpickled, and every error is a FileFormatError that names the file.
"""

import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from boostne.errors import FileFormatError
from boostne.io.files import errors_naming
from boostne.memory import check_memory

# Version 3 differs from 2 only in the names of structured types, which no file of this library has.
_HEADER_READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
_MAX_DEFLATE_RATIO = 1032  # of the DEFLATE format
_ENCRYPTED = 1  # flag of a ZIP entry
_CHUNK_BYTES = 1 << 20

WRONG_SUFFIX = "its suffix is wrong"


class ArrayArchive:
    """The arrays of an ``.npz`` file, read one at a time.

    Parameters
    ----------
    path : Path
        For error messages.
    file : ZipFile
        Opened for reading.
    archive_bytes : int
        Size of the archive.
    """

    def __init__(self, path: Path, file: zipfile.ZipFile, archive_bytes: int) -> None:
        self._path = path
        self._file = file
        self._archive_bytes = archive_bytes
        self.names = tuple(name.removesuffix(".npy") for name in file.namelist())

    def read(self, name: str) -> NDArray[Any]:
        """Read an array; raise FileFormatError if it is missing or damaged."""
        entry = self._entry(name)
        self._check_entry(name, entry)
        with self._file.open(entry) as stream:
            return read_array(stream, entry.file_size, f"{self._path}, array {name!r}")

    def n_bytes(self, *names: str) -> int:
        """Return the announced size of some arrays; raise FileFormatError if one is missing."""
        return sum(self._entry(name).file_size for name in names)

    def _entry(self, name: str) -> zipfile.ZipInfo:
        if name not in self.names:
            found = " ".join(", ".join(self.names).split()) or "none"  # names can contain line breaks
            raise FileFormatError(f"{self._path}: the array {name!r} is missing; it contains {found}")
        return self._file.getinfo(f"{name}.npy")

    def _check_entry(self, name: str, entry: zipfile.ZipInfo) -> None:
        problem = None
        if entry.flag_bits & _ENCRYPTED:
            problem = "is encrypted"
        elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            problem = f"is compressed by method {entry.compress_type}, which NumPy does not write"
        elif entry.compress_size > self._archive_bytes or entry.file_size > _MAX_DEFLATE_RATIO * entry.compress_size:
            problem = f"announces {entry.file_size:,} bytes, more than the file can contain"
        if problem:
            raise FileFormatError(f"{self._path}: the array {name!r} {problem}; write the file again with numpy.savez")


@contextmanager
def open_archive(path: Path) -> Iterator[ArrayArchive]:
    """Open an ``.npz`` file; in the body of the ``with``, any error of a parser becomes a FileFormatError."""
    with errors_naming(path, "an .npz file", WRONG_SUFFIX), zipfile.ZipFile(path) as file:
        yield ArrayArchive(path, file, path.stat().st_size)


def read_npy_file(path: Path) -> NDArray[Any]:
    """Read an ``.npy`` file."""
    with errors_naming(path, "an .npy file", WRONG_SUFFIX), path.open("rb") as stream:
        return read_array(stream, path.stat().st_size, str(path))


def read_array(stream: IO[bytes], size: int, name: str) -> NDArray[Any]:
    """Read an array in ``.npy`` format from a stream of ``size`` bytes; ``name`` is for error messages."""
    shape, fortran_order, dtype, header_bytes = _read_header(stream, name)
    if dtype.hasobject or dtype.itemsize == 0:
        reason = "loading them could run code (allow_pickle=False)" if dtype.hasobject else "they have no size"
        raise FileFormatError(f"{name}: values of type {dtype} are not read, since {reason}; store numbers or strings")
    needed = prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or needed != size - header_bytes:
        raise FileFormatError(
            f"{name}: the header announces shape {shape} of {dtype}, but {size - header_bytes:,} bytes follow; "
            "the file is damaged: write it again"
        )
    check_memory(needed, f"reading {name}", "Close other programs or use a machine with more memory.")
    array = np.empty(shape, dtype, order="F" if fortran_order else "C")
    _fill(array.T if fortran_order else array, stream, name)
    if dtype.kind == "U" and array.size:
        _check_code_points(array, name)
    return array


def _read_header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    try:
        version = npy_format.read_magic(stream)
        if version not in _HEADER_READERS:
            raise ValueError(f"version {version}")
        shape, fortran_order, dtype = _HEADER_READERS[version](stream)
    except OSError:  # of the disk, not of the content
        raise
    except Exception as error:
        # Also MemoryError: a header has at most 10,000 characters, but the parser's stack can overflow.
        reason = str(error).split("\n")[0] or type(error).__name__
        raise FileFormatError(f"{name}: invalid header ({reason}); the file is damaged: write it again") from error
    return shape, fortran_order, dtype, stream.tell()


def _check_code_points(array: NDArray[Any], name: str) -> None:
    # NumPy makes Python strings of any 32-bit numbers, even of those that are no characters.
    codes = array.reshape(-1).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if codes.max() > sys.maxunicode:
        raise FileFormatError(
            f"{name}: {codes.max():#x} is not a Unicode character; the file is damaged: write it again"
        )


def _fill(array: NDArray[Any], stream: IO[bytes], name: str) -> None:
    if not array.nbytes:
        stream.read(1)  # the end of a ZIP entry is where its checksum is verified
        return
    content = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(content), _CHUNK_BYTES):
        chunk = content[start : start + _CHUNK_BYTES]
        found = stream.read(len(chunk))
        if len(found) < len(chunk):
            raise FileFormatError(f"{name}: the file ends too early; it is damaged: write it again")
        chunk[:] = found
