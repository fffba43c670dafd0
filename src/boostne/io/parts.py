"""Embeddings in a folder of Parquet files, each written by one worker of a cluster."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from boostne.errors import FileFormatError, ParameterError
from boostne.io.atomic import TEMPORARY_PREFIX, check_writable, make_folder

_PATTERN = "part-*.parquet"
# A folder with nothing but these is empty.
_TEMPORARY = f"{TEMPORARY_PREFIX}levels"
_UNFINISHED = f"{TEMPORARY_PREFIX}unfinished"  # a file that exists while a run writes into the folder


def part_path(folder: Path, number: int) -> Path:
    """Return the path of a part, numbered from 0; paths sort in the order of the rows."""
    return folder / f"part-{number:05d}.parquet"


def part_paths(folder: Path) -> list[Path]:
    """Return the paths of the parts in a folder, sorted; raise FileFormatError unless they are complete."""
    if (folder / _UNFINISHED).exists():
        raise FileFormatError(
            f"{folder}: the run that writes this embedding has not finished; start it again if it was killed"
        )
    found = sorted(folder.glob(_PATTERN))
    if not found:
        raise FileFormatError(f"{folder}: a folder without {_PATTERN} files is not an embedding")
    return found


@contextmanager
def parts_folder(folder: str | Path) -> Iterator[Path]:
    """Yield a temporary folder in the given one, in which workers write parts; on success they are moved up.

    The folder must be new, empty or left by a run that was killed, whose parts are removed.

    Raises
    ------
    ParameterError
        If the folder has other files, cannot be written to, or was meanwhile used by another run.
    """
    parts = Path(folder)
    found = make_folder(parts)
    unfinished = parts / _UNFINISHED
    if unfinished.exists():
        _remove_parts(parts)
        found = make_folder(parts)
    if found is not None:
        raise ParameterError(f"{folder} is not empty (found {found!r}); use a new or empty folder")
    check_writable(part_path(parts, 0))
    for left in parts.glob(f"{_TEMPORARY}*"):  # by a killed run
        shutil.rmtree(left, ignore_errors=True)
    # Another name in each run: workers of an interrupted one may still write.
    temporary = parts / f"{_TEMPORARY}-{secrets.token_hex(8)}"
    temporary.mkdir()
    unfinished.write_text(temporary.name)
    try:
        yield temporary
        if not _is_used_by(temporary):
            raise ParameterError(f"another run has begun to write into {folder}; give each run a folder of its own")
        for path in temporary.glob(_PATTERN):
            path.replace(parts / path.name)
    except BaseException:
        if _is_used_by(temporary):
            _remove_parts(parts)
        raise
    finally:
        if _is_used_by(temporary):
            unfinished.unlink()
        shutil.rmtree(temporary, ignore_errors=True)


def _is_used_by(temporary: Path) -> bool:
    """Return whether no later run has begun to write into the folder."""
    with suppress(FileNotFoundError):
        return (temporary.parent / _UNFINISHED).read_text() == temporary.name
    return False


def _remove_parts(folder: Path) -> None:
    for pattern in (_PATTERN, f"{TEMPORARY_PREFIX}*.parquet"):  # the latter of workers that were killed
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
