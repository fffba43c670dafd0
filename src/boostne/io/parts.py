"""An embedding as a folder of Parquet files, each with some rows: what the workers of a cluster write."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from boostne.errors import FileFormatError, ParameterError
from boostne.io.atomic import check_writable, make_folder

_PATTERN = "part-*.parquet"
_LEVELS = ".boostne-levels"


def part_path(folder: Path, number: int) -> Path:
    """Return the name of a part, counted from 0; names sort as the rows do."""
    return folder / f"part-{number:05d}.parquet"


def part_paths(folder: Path) -> list[Path]:
    """Return the parts of a folder, in order."""
    found = sorted(folder.glob(_PATTERN))
    if not found:
        raise FileFormatError(f"{folder}: a folder without {_PATTERN}, so not an embedding in parts")
    return found


@contextmanager
def parts_folder(folder: str | Path) -> Iterator[tuple[Path, Path]]:
    """Give an empty folder for parts, and one inside for what is kept until they are written.

    The inner one goes in any case, and on failure so do the parts.
    """
    parts = Path(folder)
    found = make_folder(parts)
    if found is not None:
        raise ParameterError(f"{folder} is not empty (found {found!r}); give a new or empty folder")
    check_writable(part_path(parts, 0))
    levels = parts / _LEVELS
    shutil.rmtree(levels, ignore_errors=True)  # of a run that was killed
    levels.mkdir()
    try:
        yield parts, levels
    except BaseException:
        for path in parts.glob(_PATTERN):
            path.unlink()
        raise
    finally:
        shutil.rmtree(levels, ignore_errors=True)
