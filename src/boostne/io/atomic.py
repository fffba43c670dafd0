"""Atomic writing: files are written under a temporary name, then renamed."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from boostne.errors import ParameterError

TEMPORARY_PREFIX = ".boostne-"


def check_writable(path: str | Path) -> None:
    """Raise an error if `path` cannot be written; call it before a long computation.

    Parameters
    ----------
    path : str or Path
        The file to be written later. An existing file is not changed.

    Raises
    ------
    ParameterError
        If `path` is a folder or a device, or if its folder does not exist, is not a folder or is not writable.
    """
    target = _resolve(path)
    folder = target.parent
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "not a regular file"
        raise ParameterError(f"cannot write {path}: it is {kind}; specify a file")
    if not folder.exists():
        raise ParameterError(f"cannot write {path}: the folder {folder} does not exist; create it first")
    if not folder.is_dir():
        raise ParameterError(f"cannot write {path}: {folder} is not a folder")
    # Permission bits are unreliable for root, read-only mounts and network drives: create a file.
    probe = _temporary_name(target)
    try:
        probe.touch(exist_ok=False)
    except OSError as error:
        raise ParameterError(f"cannot write {path}: the folder {folder} is not writable ({error.strerror})") from error
    probe.unlink()


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; on success it atomically replaces `path`.

    On any exception, including KeyboardInterrupt, the temporary file is removed and `path` is not changed; an
    OSError, such as for a full disk, names `path`. A killed process can leave a hidden ``.boostne-…`` file, but never
    a partial file at `path`.

    Parameters
    ----------
    path : str or Path

    Yields
    ------
    Path
        A path in the same folder with the same suffix, at which the body of the ``with`` creates the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("complete")
    ...     (Path(folder) / "a.txt").read_text()
    'complete'
    """
    check_writable(path)
    target = _resolve(path)
    temporary = _temporary_name(target)
    try:
        yield temporary
        flush_to_disk(temporary)
        temporary.replace(target)
    except OSError as error:
        # Errors of writing, such as a full disk, name no file or the temporary one.
        if error.filename not in (None, str(temporary)):
            raise
        raise OSError(error.errno or errno.EIO, describe_os_error(error), str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
    # The rename is stored in the folder; Windows and some network drives cannot flush folders.
    with suppress(OSError):
        flush_to_disk(target.parent)


def describe_os_error(error: OSError) -> str:
    """Return the reason of an error, without the names of files."""
    return str(error) if error.errno is None else os.strerror(error.errno)


def make_folder(folder: Path) -> str | None:
    """Create a folder unless it exists; return the name of a file in it, ignoring temporary files, or None."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith(TEMPORARY_PREFIX))
    except OSError as error:
        raise ParameterError(f"cannot use {folder} as a folder ({error.strerror})") from error
    return names[0] if names else None


def _resolve(path: str | Path) -> Path:
    """Resolve symbolic links, so that the file they point to is replaced instead of the link."""
    return Path(os.path.realpath(path))


def _temporary_name(target: Path) -> Path:
    # Not tempfile.mkstemp, whose files only their owner can read.
    return target.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}{target.suffix}")


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    # Windows flushes only handles opened for writing; folders can only be opened for reading.
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
