"""Finished levels on disk, so that a run that was killed goes on from the last of them.

A folder holds ``checkpoint.json``, which says what the run is, one ``level-NN.npz`` for each finished level and,
if asked for, the connectivity matrix. Each file is whole or not there. A run that is started again deflates X by
the levels it finds and goes on; since a level's factors are kept as they were deflated by, it ends with the bits
of a run that was never interrupted.
"""

import hashlib
import json
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import CheckpointError, ParameterError
from boostne.factorization.boosting import Level
from boostne.io.atomic import atomic_path, check_writable, make_folder

FORMAT = 1
MANIFEST = "checkpoint.json"
NOTES = "notes.json"
MATRIX = ("indptr", "indices", "data")
DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)  # what a broken .npz raises

Fingerprint = Mapping[str, str | int | float | None]


class Checkpoint:
    """One run's folder. Opening it makes it, or refuses what belongs to another run.

    Parameters
    ----------
    folder : str or Path
        Made if missing.
    fingerprint : mapping
        What the result depends on: a checksum of the graph, the parameters, the version. JSON's own types.

    Raises
    ------
    CheckpointError
        When the folder holds something else: another run (the difference is named), another format, other files.
    ParameterError
        When the folder cannot be written to.
    """

    def __init__(self, folder: str | Path, fingerprint: Fingerprint) -> None:
        self.folder = Path(folder)
        manifest = self.folder / MANIFEST
        if manifest.exists():
            _check_same(self.folder, _read_manifest(manifest), dict(fingerprint))
            check_writable(manifest)
            return
        _make_ours(self.folder)
        _write_json(manifest, {"boostne checkpoint": FORMAT, "run": dict(fingerprint)})

    def levels(self, most: int) -> list[Level]:
        """Return the finished levels, at most so many; a damaged one is warned of, and the list ends before it."""
        found: list[Level] = []
        for number in range(1, most + 1):
            path = self._level_path(number)
            if not path.exists():
                break
            try:
                found.append(_read_level(path))
            except DAMAGE as error:
                warnings.warn(f"{path} is damaged ({error}): level {number} is made anew", stacklevel=2)
                break
        return found

    def save_level(self, number: int, level: Level) -> None:
        """Keep a finished level, counted from 1. If that fails, the run goes on and a warning says so."""
        arrays: dict[str, Any] = {name: getattr(level, name) for name in Level.__dataclass_fields__}
        self._save(self._level_path(number), f"level {number}", arrays)

    def notes(self) -> dict[str, Any] | None:
        """Return what the run noted down when it began."""
        path = self.folder / NOTES
        return _read_json(path) if path.exists() else None

    def save_notes(self, notes: Mapping[str, Any]) -> None:
        """Note down what the run decided and must decide again."""
        _write_json(self.folder / NOTES, notes)

    def matrix(self, shape: tuple[int, int]) -> tuple[sparse.csr_array, NDArray[np.float64] | None] | None:
        """Return the connectivity matrix, and the mass that its rows lost, if it was kept whole."""
        path = self.folder / "connectivity.npz"
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as file:
                indptr, indices, data = (file[name] for name in MATRIX)
                dropped = file.get("dropped")
        except DAMAGE as error:
            warnings.warn(f"{path} is damaged ({error}): the matrix is built anew", stacklevel=2)
            return None
        return sparse.csr_array((data, indices, indptr), shape=shape), dropped

    def save_matrix(self, X: sparse.csr_array, dropped: NDArray[np.float64] | None = None) -> None:
        """Keep the connectivity matrix. If that fails, the run goes on and a warning says so."""
        arrays = {name: getattr(X, name) for name in MATRIX}
        if dropped is not None:
            arrays["dropped"] = dropped
        self._save(self.folder / "connectivity.npz", "the connectivity matrix", arrays)

    def _level_path(self, number: int) -> Path:
        return self.folder / f"level-{number:02d}.npz"

    def _save(self, path: Path, what: str, arrays: dict[str, Any]) -> None:
        try:
            with atomic_path(path) as temporary:
                np.savez(temporary, allow_pickle=False, **arrays)
        except (OSError, ParameterError) as error:
            warnings.warn(
                f"{what} could not be kept in {self.folder} ({error}); the run goes on without. "
                "What was kept before is safe",
                stacklevel=2,
            )


def matrix_sha256(matrix: Any) -> str:
    """Return a SHA-256 of a matrix's entries and where they are."""
    X = sparse.csr_array(matrix)
    digest = hashlib.sha256(f"matrix 1 {X.shape} {X.dtype.name}\n".encode())
    for places in (X.indptr, X.indices):
        digest.update(places.astype("<i8").data)
    digest.update(X.data.astype(X.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def _make_ours(folder: Path) -> None:
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
        f"{path} is not of a boostne checkpoint or is damaged; delete its folder or give another"
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


def _check_same(folder: Path, kept: dict[str, Any], asked: dict[str, Any]) -> None:
    names = [name for name in {**kept, **asked} if kept.get(name) != asked.get(name)]
    if names:
        differences = "; ".join(f"{name} was {kept.get(name)!r} and is {asked.get(name)!r}" for name in names)
        raise CheckpointError(
            f"the checkpoint in {folder} is of another run: {differences}. "
            "Run with what it was made with, or give another folder"
        )


def _read_level(path: Path) -> Level:
    with np.load(path, allow_pickle=False) as file:
        return Level(
            file["U"],
            file["V"],
            file["objective"],
            int(file["n_iter"]),
            float(file["residual_norm"]),
            int(file["nnz"]),
        )
