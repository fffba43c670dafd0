"""Finished levels on disk, so that a killed run resumes from the last of them.

A folder contains ``checkpoint.json``, which identifies the run, ``form.json`` with the form of X, one ``level-NN.npz``
per finished level and, if requested, the connectivity matrix. Files are written atomically. A resumed run deflates X by
the stored levels and continues; since the factors are stored exactly as the residual was deflated by them, the result
has the same bits as that of an uninterrupted run.

If the workers of a cluster write the factors, a level's file lists theirs, which are in the same folder
(:mod:`.factor_files`).

Every file states the run it belongs to, what it contains and what that was computed from, with a checksum over all of
this (:mod:`.checkpoint_files`). A damaged file is computed again. An intact file of another run, of another level or
computed from other files than those in the folder is an error.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from boostne.errors import CheckpointError, CheckpointWarning, FileFormatError, ParameterError, warn_caller
from boostne.factorization.boosting import Level
from boostne.factorization.checkpoint_files import (
    Arrays,
    Origin,
    check_array,
    checksum,
    describe_damage,
    level_name,
    parse_json,
    read_arrays,
    read_json,
    verified,
    write_arrays,
    write_json,
)
from boostne.factorization.level_arrays import NAMES, NAMES_IN_PARTS, as_level, as_level_in_parts, level_arrays
from boostne.io.atomic import check_writable, make_folder
from boostne.matrices import CSRSource, MatrixForm
from boostne.memory import format_bytes
from boostne.sparse_structure import find_structure_error

FORMAT = 2
MANIFEST = "checkpoint.json"
FORM = "form.json"
MATRIX = ("indptr", "indices", "data")

Fingerprint = Mapping[str, Any]
FindDamage = Callable[[int, Level], tuple[Path, str] | None]


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit stores its finished levels.

    Attributes
    ----------
    folder : str or Path
        Created if missing. A run that was killed and is started again with the same graph and parameters resumes from
        here and ends with the same bits; a folder of another run is an error. For :meth:`boostne.BoostNE.fit_to_parts`
        it must be shared by all workers, which write the factors.
    keep_matrix : bool, default=False
        Store the connectivity matrix too. It takes as much disk space as memory and need not be built again.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from boostne import BoostNE, Checkpoint, load_dataset
    >>> Checkpoint("run", keep_matrix=True)  # the folder alone, as below, is enough without keep_matrix
    Checkpoint(folder='run', keep_matrix=True)
    >>> with TemporaryDirectory() as folder:
    ...     model = BoostNE(8, levels=2, checkpoint=folder)
    ...     first = model.fit_transform(load_dataset("karate").graph)
    ...     resumed = model.fit_transform(load_dataset("karate").graph)  # reads both levels
    >>> (first == resumed).all()
    np.True_
    """

    folder: str | Path
    keep_matrix: bool = False

    def open(self, fingerprint: Fingerprint) -> "CheckpointFolder":
        """Open the folder for one run."""
        return CheckpointFolder(self.folder, fingerprint, keep_matrix=self.keep_matrix)

    def check(self, known: Fingerprint) -> None:
        """Raise as :meth:`open` does if entries of the fingerprint that are known already differ."""
        folder = Path(self.folder)
        stored = _stored_run(folder)
        if stored is not None:
            _check_same_run(folder, stored, {**stored, **_as_json(known)})


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
        # What the next level is computed from, the latter two as checksums; None until they are read or stored.
        self._form: dict[str, Any] | None = None
        self._matrix: str | None = None
        self._previous: str | None = None
        self.n_levels = 0  # read or stored so far
        run, stored = _as_json(fingerprint), _stored_run(self._folder)
        if stored is None:
            write_json(self._folder / MANIFEST, {"boostne checkpoint": FORMAT, "run": run})
        else:
            _check_same_run(self._folder, stored, run)
            run = stored  # 0 and 0.0 are the same parameter, but not the same JSON
        self._run = checksum(run)

    def form(self) -> MatrixForm | None:
        """Return the form of X that the run started with, whatever memory is free now; a damaged file is a warning."""
        path = self._folder / FORM
        if not path.exists():
            return None
        try:
            return _as_form(path, read_json(path, self._origin("form")).get("form"))
        except (OSError, FileFormatError) as error:
            _warn_damaged(path, describe_damage(path, error), "the form of X is chosen again")
            return None

    def save_form(self, form: MatrixForm) -> None:
        """Store the form of X, from which all that is stored from now on is computed. A failure is a warning."""
        self._form = asdict(form)
        with self._failure_is_a_warning("the form of X"):
            write_json(self._folder / FORM, {**self._origin("form"), "form": self._form})

    def matrix(self, form: MatrixForm, shape: tuple[int, int], dtype: DTypeLike) -> CSRSource | None:
        """Return the connectivity matrix in a given form if it was stored; a damaged file is a warning."""
        path = self._folder / "connectivity.npz"
        if not path.exists():
            return None
        origin = {**self._origin("connectivity matrix"), "form": asdict(form)}
        try:
            arrays, total = read_arrays(path, origin, MATRIX, "dropped")
            source = _as_source(path, arrays, shape, np.dtype(dtype))
        except (OSError, FileFormatError) as error:
            _warn_damaged(path, describe_damage(path, error), "the matrix is built again")
            return None
        self._matrix = total
        return source

    def save_matrix(self, X: sparse.csr_array, dropped: NDArray[np.float64] | None = None) -> None:
        """Store the connectivity matrix, after its form. A failure is a warning, and the run continues."""
        arrays = {name: getattr(X, name) for name in MATRIX}
        if dropped is not None:
            arrays["dropped"] = dropped
        origin = {**self._origin("connectivity matrix"), "form": self._form}
        self._matrix = checksum(origin, arrays)
        with self._failure_is_a_warning("the connectivity matrix"):
            write_arrays(self._folder / "connectivity.npz", origin, arrays, self._matrix)

    def levels(
        self, most: int, shape: tuple[int, int], dtype: DTypeLike, n_columns: int | None = None
    ) -> Iterator[Level]:
        """Yield the finished levels, at most ``most``, one at a time; a damaged level is a warning and the end.

        Parameters
        ----------
        most : int
            k.
        shape : tuple of int
            Of U: rows of X by components.
        dtype : dtype
            Of the factors.
        n_columns : int, optional
            Columns of X, if they are not as many as its rows.
        """
        shapes = shape, (shape[0] if n_columns is None else n_columns, shape[1])
        return self._levels(most, NAMES, lambda path, arrays: as_level(path, arrays, shapes, np.dtype(dtype)))

    def levels_in_parts(self, most: int, n_rows: int, find_damage: FindDamage) -> Iterator[Level]:
        """Yield the finished levels whose factors are in files of the workers; see :meth:`levels`.

        Parameters
        ----------
        most : int
            k.
        n_rows : int
            Rows of U and of V.
        find_damage : callable
            ``find_damage(i, level)`` returns a damaged file of level i, counted from 0, and what is wrong with it, or
            None.
        """
        return self._levels(
            most, NAMES_IN_PARTS, lambda path, arrays: as_level_in_parts(path, arrays, n_rows), find_damage
        )

    def _levels(
        self,
        most: int,
        names: Sequence[str],
        parse: Callable[[Path, Arrays], Level],
        find_damage: FindDamage = lambda *_: None,
    ) -> Iterator[Level]:
        for number in range(1, most + 1):
            path = self._level_path(number)
            if not path.exists():
                break
            try:
                arrays, total = read_arrays(path, self._level_origin(number), names)
                level = parse(path, arrays)
            except (OSError, FileFormatError) as error:
                damaged: tuple[Path, str] | None = path, describe_damage(path, error)
            else:
                damaged = find_damage(number - 1, level)
            if damaged is not None:
                _warn_damaged(damaged[0], damaged[1], f"level {number} is computed again")
                break
            self._previous, self.n_levels = total, number
            yield level
            del level, arrays  # not held while the next is read

    def save_level(self, number: int, level: Level) -> None:
        """Store a finished level, counted from 1, after those before it. A failure is a warning."""
        arrays = level_arrays(level)
        origin = self._level_origin(number)
        self._previous, self.n_levels = checksum(origin, arrays), number
        size = format_bytes(sum(array.nbytes for array in arrays.values()))
        with self._failure_is_a_warning(f"level {number} ({size})"):
            # Later levels were computed from another copy of this one.
            later = number + 1
            while self._level_path(later).exists():
                self._level_path(later).unlink()
                later += 1
            write_arrays(self._level_path(number), origin, arrays, self._previous)

    def _level_path(self, number: int) -> Path:
        return self._folder / f"{level_name(number)}.npz"

    def _level_origin(self, number: int) -> Origin:
        origin = self._origin(f"level {number}")
        return {**origin, "form": self._form, "matrix": self._matrix, "previous": self._previous}

    def _origin(self, content: str) -> Origin:
        return {"run": self._run, "content": content}

    @contextmanager
    def _failure_is_a_warning(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ParameterError) as error:
            warn_caller(
                f"{what} could not be stored in {self._folder} ({error}); the run continues without it. "
                "What was stored before is safe",
                CheckpointWarning,
            )


def _warn_damaged(path: Path, problem: str, remedy: str) -> None:
    reason = problem.removeprefix(f"{path}: ")
    warn_caller(f"{path} is damaged ({reason}): {remedy}", CheckpointWarning)


def _create(folder: Path) -> None:
    found = make_folder(folder)
    if found is not None:
        raise CheckpointError(
            f"{folder} is not empty and holds no checkpoint (found {found!r}); give a new or empty folder"
        )
    check_writable(folder / MANIFEST)


def _as_json(fingerprint: Fingerprint) -> dict[str, Any]:
    """Return a fingerprint as it is after it was stored, so that both can be compared."""
    run: dict[str, Any] = json.loads(json.dumps(dict(fingerprint)))
    return run


def _stored_run(folder: Path) -> dict[str, Any] | None:
    """Return the run that a folder belongs to, or None if it is new or empty; raise unless it is writable."""
    manifest = folder / MANIFEST
    if not manifest.exists():
        _create(folder)
        return None
    stored = _read_manifest(manifest)
    check_writable(manifest)
    return stored


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(path)
        version, run = content.get("boostne checkpoint"), content.get("run")
        if version is None or not isinstance(run, dict):
            raise FileFormatError("the run is missing")
        if version != FORMAT:
            raise CheckpointError(
                f"{path} has format {version!r} and this version of boostne reads {FORMAT}; give another folder"
            )
        verified(path, content)
    except (OSError, FileFormatError) as error:
        raise CheckpointError(
            f"{path} is not part of a boostne checkpoint or is damaged; delete its folder or give another"
        ) from error
    return run


def _check_same_run(folder: Path, stored: dict[str, Any], given: dict[str, Any]) -> None:
    names = [name for name in {**stored, **given} if stored.get(name) != given.get(name)]
    if names:
        differences = "; ".join(f"{name} was {stored.get(name)!r} and is {given.get(name)!r}" for name in names)
        raise CheckpointError(
            f"the checkpoint in {folder} belongs to another run: {differences}. "
            "Run with the parameters it was made with, or give another folder"
        )


def _as_form(path: Path, content: Any) -> MatrixForm:
    try:
        form = MatrixForm(**content)
    except TypeError as error:
        raise FileFormatError(f"{path}: {error}") from error
    types = {"name": str, "epsilon": float | None, "max_per_row": int | None}
    if not all(isinstance(getattr(form, name), kind) for name, kind in types.items()):
        raise FileFormatError(f"{path}: invalid values in {content}")
    return form


def _as_source(path: Path, arrays: Arrays, shape: tuple[int, int], dtype: np.dtype[Any]) -> CSRSource:
    check_array(path, "data", arrays["data"], arrays["data"].shape[:1], dtype)
    if not all(arrays[name].dtype.kind == "i" for name in ("indptr", "indices")):  # SciPy would truncate floats
        raise FileFormatError(f"{path}: indptr and indices must be signed integers")
    try:
        X = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        problem = find_structure_error(X)
    except (ValueError, TypeError) as error:
        problem = str(error)
    if problem:
        raise FileFormatError(f"{path}: {problem}")
    dropped = arrays.get("dropped")
    if dropped is not None:
        check_array(path, "dropped", dropped, shape[:1], np.dtype(np.float64))
    return CSRSource(X, dropped)
