"""Opening files, and the formats, options and errors shared by all readers."""

import errno
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Generic, NamedTuple, TypeVar

from boostne.errors import BoostneError, FileFormatError, GraphError, MemoryLimitError, ParameterError
from boostne.io.compression import STDIN, is_compressed, open_binary
from boostne.io.reading_budget import ReadingBudget

PARQUET_SUFFIXES = (".parquet", ".pq")
_CHUNK = 1 << 22  # bytes decompressed between two checks of the budget

Content = TypeVar("Content")
Versions = dict[Path, tuple[int, int, int]]


class FileFormat(NamedTuple, Generic[Content]):
    """The reader of a file format and the names of the options that it accepts."""

    reader: Callable[..., Content]
    options: tuple[str, ...]

    def read(self, path: Path, format_name: str, options: dict[str, Any], **arguments: Any) -> Content:
        """Read a file; raise for options that are not None and that the format does not accept.

        Parameters
        ----------
        path
            The file.
        format_name
            Name of the format, for error messages.
        options
            Options that only some formats accept.
        **arguments
            Arguments that all formats accept.
        """
        for name, value in options.items():
            if name not in self.options and value is not None:
                raise ParameterError(f"{path}: {name}= does not apply to format {format_name!r}")
        with _unchanged(path), errors_naming(path, format_name):
            return self.reader(path, **arguments, **{name: options[name] for name in self.options})


def open_seekable(path: Path, budget: ReadingBudget) -> IO[bytes]:
    """Open a file for reading bytes at any position; compressed files and standard input are read into memory."""
    return read_into_memory(path, budget) if is_compressed(path) or path == STDIN else path.open("rb")


def read_into_memory(path: Path, budget: ReadingBudget) -> BytesIO:
    """Return the content of a file; raises MemoryLimitError before it exceeds the budget."""
    content = BytesIO()
    with open_binary(path, budget) as stream:
        while chunk := stream.read(_CHUNK):
            # A buffer that grows reserves an eighth more than it needs, and may be copied.
            budget.check_so_far(content.tell() // 8 + 2 * _CHUNK, f"{content.tell():,} bytes")
            content.write(chunk)
    content.seek(0)
    return content


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of the content of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _unchanged(path: Path) -> Iterator[None]:
    """Raise FileFormatError if a file, or a part of a table, is modified while it is read."""
    before = _versions(path)
    try:
        yield
    except Exception:
        _check_versions(path, before)  # this may be the reason
        raise
    _check_versions(path, before)


def _check_versions(path: Path, before: Versions) -> None:
    changed = before.items() ^ _versions(path).items()
    if changed:
        name = min(name for name, _ in changed)
        raise FileFormatError(f"{name}: changed while it was read; read it again when it is complete")


def _versions(path: Path) -> Versions:
    """Return the inode, size and modification time of a file, or of each part of a table; nothing for pipes."""
    found = {}
    for part in parquet_files(path) if path.is_dir() else [path]:
        if part.is_file():
            status = part.stat()
            found[part] = status.st_ino, status.st_size, status.st_mtime_ns
    return found


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder that are data, sorted; see :func:`is_parquet_data`."""
    return sorted(path for path in folder.iterdir() if is_parquet_data(path.relative_to(folder)) and path.is_file())


def is_parquet_data(path: Path) -> bool:
    """Return whether a path has the suffix of Parquet files, and no part of it begins with ``_`` or ``.``."""
    return path.suffix.lower() in PARQUET_SUFFIXES and not any(name.startswith(("_", ".")) for name in path.parts)


@contextmanager
def errors_naming(path: Path, format_name: str, alternative: str = "in another format: see format=") -> Iterator[None]:
    """Convert any exception of a parser to an error that names the file.

    Parsers raise anything from KeyError to zlib.error on damaged files. Errors of the operating system, such as a
    missing file, are not changed.
    """
    try:
        yield
    except (GraphError, ParameterError) as error:
        raise type(error)(f"{path}: {error}") from None
    except BoostneError:
        raise
    except MemoryError as error:
        raise MemoryLimitError(
            f"{path}: reading it as {format_name} takes more memory than is available ({error or 'out of memory'}); "
            "a damaged file can require any amount"
        ) from error
    except Exception as error:
        if isinstance(error, OSError):
            # A seek to a position that a damaged file names gives EINVAL; other error numbers come from the disk.
            if error.filename is None and error.errno not in (None, errno.EINVAL):
                error.filename = str(path)
            if error.filename is not None:
                raise
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise FileFormatError(
            f"{path}: cannot be read as {format_name}: {reason}; the file is damaged, or {alternative}"
        ) from error
