"""Embeddings in a folder of Parquet files, each written by one worker of a cluster."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from boostne.errors import FileFormatError, ParameterError
from boostne.io.atomic import check_writable, make_folder

_PATTERN = "part-*.parquet"
_TEMPORARY = ".boostne-levels"


def part_path(folder: Path, number: int) -> Path:
    """Return the path of a part, numbered from 0; paths sort in the order of the rows."""
    return folder / f"part-{number:05d}.parquet"


def part_paths(folder: Path) -> list[Path]:
    """Return the paths of the parts in a folder, sorted."""
    found = sorted(folder.glob(_PATTERN))
    if not found:
        raise FileFormatError(f"{folder}: a folder without {_PATTERN} files is not an embedding")
    return found


@contextmanager
def parts_folder(folder: str | Path) -> Iterator[tuple[Path, Path]]:
    """Yield an empty folder for parts and a temporary folder inside it.

    The temporary folder is always removed at the end; the parts are removed on failure.
    """
    parts = Path(folder)
    found = make_folder(parts)
    if found is not None:
        raise ParameterError(f"{folder} is not empty (found {found!r}); use a new or empty folder")
    check_writable(part_path(parts, 0))
    temporary = parts / _TEMPORARY
    shutil.rmtree(temporary, ignore_errors=True)  # left by a killed run
    temporary.mkdir()
    try:
        yield parts, temporary
    except BaseException:
        for path in parts.glob(_PATTERN):
            path.unlink()
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
