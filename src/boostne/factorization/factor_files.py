"""Factors of finished levels in files that all machines of a cluster share.

Each worker writes its rows of U and its slice of V; the client only gets the list of these files, a
:class:`FactorParts`, and stores it in the file of the level (:mod:`.checkpoint`). Rows are read from the files that
contain them, whichever worker wrote these: a run that resumes with another number of workers has other blocks.

Every file states its level, factor and rows with a checksum (:mod:`.checkpoint_files`), and must have the checksum that
is listed: a file of another run, or another copy of the level, is an error.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from boostne.errors import CheckpointError, FileFormatError
from boostne.factorization.checkpoint_files import (
    CHECKSUM_BYTES,
    Origin,
    check_array,
    checksum,
    describe_damage,
    level_name,
    read_arrays,
    write_arrays,
)
from boostne.io.atomic import TEMPORARY_PREFIX

FactorName = Literal["U", "V"]
SavedRows = tuple[range, str]  # in a file, and the checksum of the file

FACTORS: tuple[FactorName, FactorName] = ("U", "V")


@dataclass(frozen=True, eq=False)
class FactorParts:
    """The files of one factor of a level.

    Attributes
    ----------
    cuts : ndarray of int64, shape (k + 1,)
        Boundaries between the rows of the k files. A level that explains nothing has no files.
    checksums : ndarray of uint8, shape (k, 32)
        Checksum of each file.
    """

    cuts: NDArray[np.int64]
    checksums: NDArray[np.uint8]

    @classmethod
    def of(cls, files: Iterable[SavedRows]) -> Self:
        """List files, given their rows and checksums in any order."""
        written = sorted(files, key=lambda file: file[0].start)
        cuts = np.array([0, *(rows.stop for rows, _ in written)], np.int64)
        digests = np.frombuffer(bytes.fromhex("".join(total for _, total in written)), np.uint8)
        return cls(cuts, digests.reshape(-1, CHECKSUM_BYTES))

    @property
    def spans(self) -> list[range]:
        """The rows of each file."""
        return [range(first, last) for first, last in pairwise(self.cuts.tolist())]


@dataclass(frozen=True)
class FactorFiles:
    """The files of a run, as any machine writes and reads them.

    Attributes
    ----------
    folder : str
        Shared by all machines under this name.
    components : int
        Width of a level.
    dtype : numpy dtype
        Of the factors.
    """

    folder: str
    components: int
    dtype: np.dtype[Any]

    def path(self, level: int, factor: FactorName, first_row: int) -> Path:
        """Return the path of the file that begins with this row; levels are counted from 0."""
        return Path(self.folder) / f"{level_name(level + 1)}-{factor}-{first_row}.npz"

    def write(self, level: int, factor: FactorName, first_row: int, rows: NDArray[Any]) -> SavedRows:
        """Write consecutive rows of a factor; returns their positions and the checksum of the file."""
        span = range(first_row, first_row + len(rows))
        origin = _origin(level, factor, span)
        total = checksum(origin, {"rows": rows})
        write_arrays(self.path(level, factor, first_row), origin, {"rows": rows}, total)
        return span, total

    def read(self, level: int, factor: FactorName, parts: FactorParts, rows: range) -> NDArray[Any]:
        """Read rows of a factor from the files that contain them; raise if one is damaged or not the one listed."""
        found = np.empty((len(rows), self.components), self.dtype)
        for number, span in enumerate(parts.spans):
            first, last = max(span.start, rows.start), min(span.stop, rows.stop)
            if first < last:
                part = self._read_file(level, factor, parts, number)
                found[first - rows.start : last - rows.start] = part[first - span.start : last - span.start]
        return found

    def problem(self, level: int, factor: FactorName, parts: FactorParts, number: int) -> str | None:
        """Return how one of the files is damaged, or None.

        Raises CheckpointError if it is not the one that is listed, or if this worker cannot read it.
        """
        try:
            self._read_file(level, factor, parts, number)
        except (OSError, FileFormatError) as error:
            return describe_damage(self.path(level, factor, parts.spans[number].start), error)
        return None

    def remove_from(self, level: int) -> None:
        """Remove the files of a level and of those after it, and temporary files of workers that were killed."""
        folder = Path(self.folder)
        unwanted = list(folder.glob(f"{TEMPORARY_PREFIX}*.npz"))
        while found := sorted(folder.glob(f"{level_name(level + 1)}[.-]*npz"), reverse=True):  # lists of files first
            unwanted.extend(found)
            level += 1
        for path in unwanted:
            path.unlink(missing_ok=True)

    def _read_file(self, level: int, factor: FactorName, parts: FactorParts, number: int) -> NDArray[Any]:
        span = parts.spans[number]
        path = self.path(level, factor, span.start)
        arrays, total = read_arrays(path, _origin(level, factor, span), ["rows"])
        if bytes.fromhex(total) != parts.checksums[number].tobytes():
            raise CheckpointError(
                f"{path} belongs to another run, or to another copy of the level, than the list of files in "
                f"{level_name(level + 1)}.npz; restore the file of this run, or delete it: the level is then computed "
                "again"
            )
        rows = arrays["rows"]
        check_array(path, "rows", rows, (len(span), self.components), self.dtype)
        return rows


def _origin(level: int, factor: FactorName, rows: range) -> Origin:
    return {"content": f"level {level + 1}, {factor}, rows {rows.start} to {rows.stop - 1}"}
