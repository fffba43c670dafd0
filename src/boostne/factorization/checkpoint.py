"""Finished levels on disk, so that a killed run resumes from the last of them.

A folder contains ``checkpoint.json``, which identifies the run, one ``level-NN.npz`` per finished level and, if
requested, the connectivity matrix. Files are written atomically. A resumed run deflates X by the stored levels and
continues; since the factors are stored exactly as the residual was deflated by them, the result has the same bits as
that of an uninterrupted run.
"""

import json
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import CheckpointError, ParameterError
from boostne.factorization.boosting import Level
from boostne.io.atomic import atomic_path, check_writable, make_folder
from boostne.matrices import CSRSource, MatrixForm

FORMAT = 1
MANIFEST = "checkpoint.json"
FORM = "form.json"
MATRIX = ("indptr", "indices", "data")
DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)  # what a damaged .npz raises

Fingerprint = Mapping[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit stores its finished levels.

    Attributes
    ----------
    folder : str or Path
        Created if missing. A run that was killed and is started again with the same graph and parameters resumes from
        here and ends with the same bits; a folder of another run is an error.
    keep_matrix : bool, default=False
        Store the connectivity matrix too. It takes as much disk space as memory and need not be built again.
    """

    folder: str | Path
    keep_matrix: bool = False

    def open(self, fingerprint: Fingerprint) -> "CheckpointFolder":
        """Open the folder for one run."""
        return CheckpointFolder(self.folder, fingerprint, keep_matrix=self.keep_matrix)


class CheckpointFolder:
    """The folder of one run.

    Parameters
    ----------
    folder : str or Path
        Created if missing.
    fingerprint : mapping
        What the result depends on: a checksum of the graph, the parameters, the version; JSON types only.
    keep_matrix : bool, default=False
        Whether :meth:`save_matrix` is wanted.

    Raises
    ------
    CheckpointError
        If the folder holds something else: another run (the differences are named), another format, other files.
    ParameterError
        If the folder is not writable.
    """

    def __init__(self, folder: str | Path, fingerprint: Fingerprint, *, keep_matrix: bool = False) -> None:
        self._folder = Path(folder)
        self.keep_matrix = keep_matrix
        manifest = self._folder / MANIFEST
        # Through JSON, so that what is compared is what was stored.
        run = json.loads(json.dumps(dict(fingerprint)))
        if manifest.exists():
            _check_same_run(self._folder, _read_manifest(manifest), run)
            check_writable(manifest)
            return
        _create(self._folder)
        _write_json(manifest, {"boostne checkpoint": FORMAT, "run": run})

    def levels(self, most: int) -> list[Level]:
        """Return the finished levels, at most ``most``; a damaged level ends the list with a warning."""
        found: list[Level] = []
        for number in range(1, most + 1):
            path = self._level_path(number)
            if not path.exists():
                break
            try:
                found.append(_read_level(path))
            except DAMAGED as error:
                warnings.warn(f"{path} is damaged ({error}): level {number} is computed again", stacklevel=2)
                break
        return found

    def save_level(self, number: int, level: Level) -> None:
        """Store a finished level, counted from 1. A failure is a warning, and the run continues."""
        arrays: dict[str, Any] = {name: getattr(level, name) for name in Level.__dataclass_fields__}
        self._save(self._level_path(number), f"level {number}", arrays)

    def form(self) -> MatrixForm | None:
        """Return the form of X that the run started with, whatever memory is free now."""
        path = self._folder / FORM
        return MatrixForm(**_read_json(path)) if path.exists() else None

    def save_form(self, form: MatrixForm) -> None:
        """Store the form of X."""
        _write_json(self._folder / FORM, asdict(form))

    def matrix(self, shape: tuple[int, int]) -> CSRSource | None:
        """Return the connectivity matrix if it was stored; a damaged file is a warning."""
        path = self._folder / "connectivity.npz"
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as file:
                indptr, indices, data = (file[name] for name in MATRIX)
                dropped = file.get("dropped")
        except DAMAGED as error:
            warnings.warn(f"{path} is damaged ({error}): the matrix is built again", stacklevel=2)
            return None
        return CSRSource(sparse.csr_array((data, indices, indptr), shape=shape), dropped)

    def save_matrix(self, X: sparse.csr_array, dropped: NDArray[np.float64] | None = None) -> None:
        """Store the connectivity matrix. A failure is a warning, and the run continues."""
        arrays = {name: getattr(X, name) for name in MATRIX}
        if dropped is not None:
            arrays["dropped"] = dropped
        self._save(self._folder / "connectivity.npz", "the connectivity matrix", arrays)

    def _level_path(self, number: int) -> Path:
        return self._folder / f"level-{number:02d}.npz"

    def _save(self, path: Path, what: str, arrays: dict[str, Any]) -> None:
        try:
            with atomic_path(path) as temporary:
                np.savez(temporary, allow_pickle=False, **arrays)
        except (OSError, ParameterError) as error:
            warnings.warn(
                f"{what} could not be stored in {self._folder} ({error}); the run continues without it. "
                "What was stored before is safe",
                stacklevel=2,
            )


def _create(folder: Path) -> None:
    found = make_folder(folder)
    if found is not None:
        raise CheckpointError(
            f"{folder} is not empty and holds no checkpoint (found {found!r}); give a new or empty folder"
        )
    check_writable(folder / MANIFEST)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _foreign(path) from error
    if not isinstance(content, dict):
        raise _foreign(path)
    return content


def _foreign(path: Path) -> CheckpointError:
    return CheckpointError(
        f"{path} is not part of a boostne checkpoint or is damaged; delete its folder or give another"
    )


def _read_manifest(path: Path) -> dict[str, Any]:
    content = _read_json(path)
    version, run = content.get("boostne checkpoint"), content.get("run")
    if version is None or not isinstance(run, dict):
        raise _foreign(path)
    if version != FORMAT:
        raise CheckpointError(
            f"{path} has format {version!r} and this version of boostne reads {FORMAT}; give another folder"
        )
    return run


def _check_same_run(folder: Path, stored: dict[str, Any], given: dict[str, Any]) -> None:
    names = [name for name in {**stored, **given} if stored.get(name) != given.get(name)]
    if names:
        differences = "; ".join(f"{name} was {stored.get(name)!r} and is {given.get(name)!r}" for name in names)
        raise CheckpointError(
            f"the checkpoint in {folder} belongs to another run: {differences}. "
            "Run with the parameters it was made with, or give another folder"
        )


def _read_level(path: Path) -> Level:
    with np.load(path, allow_pickle=False) as file:
        return Level(
            file["U"], file["V"], file["objective"], int(file["n_iter"]), float(file["residual_norm"]), int(file["nnz"])
        )
