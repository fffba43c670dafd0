"""Files that are whole or not there: written under a temporary name, then renamed over the target."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from boostne.errors import ParameterError

_OURS = ".boostne-"  # how names begin that are only there for a while


def check_writable(path: str | Path) -> None:
    """Raise a clear error when a file cannot be written at `path`; call it before hours of work.

    Parameters
    ----------
    path : str or Path
        The file to be written later. An existing file is left alone.

    Raises
    ------
    ParameterError
        When `path` is a folder or a device, or when its folder is missing, is no folder or refuses new files.
    """
    target = _resolve(path)
    folder = target.parent
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "not a regular file"
        raise ParameterError(f"cannot write {path}: it is {kind}; give the name of a file")
    if not folder.exists():
        raise ParameterError(f"cannot write {path}: the folder {folder} does not exist; create it first")
    if not folder.is_dir():
        raise ParameterError(f"cannot write {path}: {folder} is not a folder")
    # Permission bits do not tell the truth for root, read-only mounts or network drives: try it.
    probe = _temporary_name(target)
    try:
        probe.touch(exist_ok=False)
    except OSError as error:
        raise ParameterError(
            f"cannot write {path}: the folder {folder} does not accept new files ({error.strerror})"
        ) from error
    probe.unlink()


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name beside `path`; on success what was written there replaces `path` in one step.

    On any exception, an interrupt included, the temporary file is removed and `path` stays as it was. A
    killed process may leave a hidden ``.boostne-…`` file, never a part of a file under the final name.

    Parameters
    ----------
    path : str or Path

    Yields
    ------
    Path
        A name in the same folder with the same suffix; the body of the ``with`` creates the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    check_writable(path)
    target = _resolve(path)
    temporary = _temporary_name(target)
    try:
        yield temporary
        _flush_to_disk(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    # The rename itself lives in the folder; Windows and some network drives cannot flush folders.
    with suppress(OSError):
        _flush_to_disk(target.parent)


def make_folder(folder: Path) -> str | None:
    """Make a folder unless it is there; returns the name of a file in it that is not a leftover of ours."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir() if not path.name.startswith(_OURS))
    except OSError as error:
        raise ParameterError(f"cannot use {folder} as a folder ({error.strerror})") from error
    return names[0] if names else None


def _resolve(path: str | Path) -> Path:
    """Follow symbolic links, so that a link stays a link and the file behind it is replaced."""
    return Path(os.path.realpath(path))


def _temporary_name(target: Path) -> Path:
    # Not tempfile.mkstemp: its files are readable by their owner only, and the mode would stay.
    return target.with_name(f"{_OURS}{secrets.token_hex(8)}{target.suffix}")


def _flush_to_disk(path: Path) -> None:
    # Windows flushes only handles opened for writing; folders open only for reading.
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
