"""Arrays in a file that all worker processes of a machine map into their memory: one copy per machine.

An object is pickled without its arrays: these are written to the file as they are, and the rest, which is small, is
sent in Dask's messages. A process that opens the file gets the object with read-only arrays whose memory is the
operating system's page cache.
"""

import mmap
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from boostne.errors import ClusterError
from boostne.factorization.dask.exchange import BlockLostError
from boostne.kernels.layout import round_up
from boostne.memory import format_bytes

ALIGNMENT = 64  # bytes: a cache line


@dataclass(frozen=True)
class ArrayFile:
    """A file with the arrays of an object.

    Attributes
    ----------
    path : str
    rest : bytes
        The object without its arrays.
    spans : tuple of pairs of int
        Where each array begins and ends in the file.
    """

    path: str
    rest: bytes
    spans: tuple[tuple[int, int], ...]

    @property
    def exists(self) -> bool:
        """Whether this process can open the file."""
        try:
            with Path(self.path).open("rb"):
                return True
        except OSError:
            return False


class OwnedFile:
    """An :class:`ArrayFile` that is removed with this object, which stays on the worker that wrote the file."""

    def __init__(self, file: ArrayFile) -> None:
        self.file = file
        weakref.finalize(self, remove_files, [file])

    def __reduce__(self) -> NoReturn:
        raise TypeError("a file is owned by the worker that wrote it")


def write_arrays(content: Any, folder: str) -> ArrayFile:
    """Write the arrays of an object to a file in a new folder below the given one; raise if the disk is too small."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(content, protocol=5, buffer_callback=buffers.append)
    spans, end = [], 0
    for buffer in buffers:
        begin = round_up(end, ALIGNMENT)
        end = begin + buffer.raw().nbytes
        spans.append((begin, end))
    free = shutil.disk_usage(folder).free
    if free < end:
        raise ClusterError(
            f"the graph needs {format_bytes(end)} in the folder {folder}, which has {format_bytes(free)} free; start "
            "the workers with --local-directory and a folder with more space"
        )
    path = Path(tempfile.mkdtemp(prefix="boostne-graph-", dir=folder)) / "arrays.bin"
    try:
        with path.open("wb") as stream:
            stream.truncate(max(end, 1))  # an empty file cannot be mapped
            for buffer, (begin, _) in zip(buffers, spans, strict=True):
                stream.seek(begin)
                stream.write(buffer.raw())
    except BaseException:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise
    return ArrayFile(str(path), rest, tuple(spans))


def open_arrays(files: Sequence[ArrayFile]) -> Any:
    """Return the object from the first file that this machine has; raise BlockLostError if there is none."""
    for file in files:
        try:
            with Path(file.path).open("rb") as stream:
                mapped = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError:
            continue
        return pickle.loads(file.rest, buffers=[mapped[begin:end] for begin, end in file.spans])  # noqa: S301  from a Dask message
    raise BlockLostError


def remove_files(files: Sequence[ArrayFile]) -> None:
    """Remove files with their folders; processes that have mapped them keep their content."""
    for file in files:
        shutil.rmtree(Path(file.path).parent, ignore_errors=True)
