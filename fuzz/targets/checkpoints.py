"""Checkpoint folders: damaged, incomplete, or mixed with files of other runs."""

import io
import warnings
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne import BoostNE, Checkpoint, Graph
from boostne.factorization.boosting import Level
from boostne.factorization.checkpoint import CheckpointFolder
from boostne.factorization.factor_files import FACTORS, FactorFiles, FactorName, FactorParts
from fuzz.arrays import npy_bytes
from fuzz.case import OK, Case, attempt, require
from fuzz.mutations import mutate, zip_archive

_RUNS = ("a", "a", "a", "other seed", "other graph", "other width", "wide")
_COMPARED = ("context_", "residual_norms_", "n_iter_")


class _Run(NamedTuple):
    """A finished run: the files of its checkpoint folder, and its results."""

    files: dict[str, bytes]
    results: list[Any]


def checkpoints(case: Case) -> str:
    """Resume from a changed folder: same bits as the uninterrupted run, or CheckpointError."""
    rng = case.rng
    name = rng.choice(_RUNS)
    run = _finished(name)
    files = dict(run.files)
    for _ in range(rng.choice((1, 1, 2))):
        _change(rng, files, name)
    folder = case.folder / "run"
    folder.mkdir()
    for file, data in files.items():
        (folder / file).write_bytes(data)
    case.announce(f"resume run {name!r}")
    model, outcome = attempt(lambda: _fit(name, folder))
    if outcome == OK:
        for found, wanted in zip(_results(model), run.results, strict=True):
            require(_same_bits(found, wanted), "a resumed run ends with another result")
    else:
        require(outcome == "CheckpointError", f"undocumented error {outcome}")
    return outcome


def factor_files(case: Case) -> str:
    """Read changed levels whose factors are in files: their values, fewer levels, or CheckpointError."""
    rng, folder = case.rng, case.folder / "run"
    seed = rng.randrange(2)
    contents = _written(seed)
    names, foreign = sorted(contents), _written(1 - seed)
    changed = dict(contents)
    for name in rng.choices(names, k=rng.choice((1, 1, 2))):
        changes = (
            mutate(rng, contents[name]),
            _damaged_arrays(rng, contents[name]),
            contents[rng.choice(names)],
            foreign[name],
        )
        changed[name] = rng.choice(changes)
    folder.mkdir()
    for name, data in changed.items():
        (folder / name).write_bytes(data)
    case.announce(f"read the levels of run {seed}")
    found, outcome = attempt(lambda: _read_levels(seed, folder))
    require(outcome in (OK, "CheckpointError"), f"undocumented error {outcome}")
    for number, level in enumerate(found or []):
        for factor, rows in level.items():
            require(_same_bits(rows, _factors(seed, number)[factor]), "a level has other values than were stored")
    return outcome


@cache
def _written(seed: int) -> dict[str, bytes]:
    """Return the files of a run with two levels, whose factors have two files each."""
    with TemporaryDirectory() as folder:
        files, checkpoint = FactorFiles(folder, 2, np.dtype("float32")), CheckpointFolder(folder, {"seed": seed})
        for level in range(2):
            factors = {}
            for name, rows in _factors(seed, level).items():
                written = [files.write(level, name, first, rows[first : first + 3]) for first in (0, 3)]
                factors[name] = FactorParts.of(written)
            checkpoint.save_level(level + 1, Level(**factors, objective=np.ones(1), n_iter=1, residual_norm=1.0, nnz=1))
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def _factors(seed: int, level: int) -> dict[FactorName, NDArray[np.float32]]:
    rng = np.random.default_rng([seed, level])
    return {name: rng.random((5, 2), np.float32) for name in FACTORS}


def _read_levels(seed: int, folder: Path) -> list[dict[FactorName, NDArray[Any]]]:
    """Read the finished levels of a run as a cluster does."""
    files = FactorFiles(str(folder), 2, np.dtype("float32"))

    def find_damage(level: int, found: Level) -> tuple[Path, str] | None:
        for name, parts in (("U", found.U), ("V", found.V)):
            for number, rows in enumerate(parts.spans):
                problem = files.problem(level, name, parts, number)
                if problem is not None:
                    return files.path(level, name, rows.start), problem
        return None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        levels = list(CheckpointFolder(folder, {"seed": seed}).levels_in_parts(8, 5, find_damage))
    return [
        {name: files.read(number, name, getattr(level, name), range(5)) for name in FACTORS}
        for number, level in enumerate(levels)
    ]


@cache
def _finished(name: str) -> _Run:
    with TemporaryDirectory() as folder:
        model = _fit(name, Path(folder))
        files = {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
    return _Run(files, _results(model))


def _fit(name: str, folder: Path) -> Any:
    settings = {"dimensions": 4, "levels": 2, "max_iter": 4, "tol": 0.0, "threads": 1, "random_state": 0}
    settings |= {"other seed": {"random_state": 1}, "other width": {"dimensions": 6}, "wide": {"dtype": "float64"}}.get(
        name, {}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpoint = Checkpoint(folder, keep_matrix=name != "wide")
        return BoostNE(connectivity="adjacency", checkpoint=checkpoint, **settings).fit(_graph(name))


@cache
def _graph(name: str) -> Graph:
    rng = Random(name == "other graph")
    u = [rng.randrange(20) for _ in range(60)]
    v = [rng.randrange(20) for _ in range(60)]
    return Graph.from_edges(u, v, [rng.randint(1, 9) for _ in u], nodes=range(20))


def _results(model: Any) -> list[Any]:
    return [model.embedding_.vectors, *(getattr(model, name) for name in _COMPARED)]


def _same_bits(found: Any, wanted: Any) -> bool:
    found, wanted = np.asarray(found), np.asarray(wanted)
    return found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()


def _change(rng: Random, files: dict[str, bytes], name: str) -> None:
    """Damage, remove, replace or exchange one of the files."""
    file = rng.choice(sorted(files))
    other = rng.choice([run for run in sorted(set(_RUNS)) if run != name])
    kind = rng.random()
    if kind < 0.35:
        files[file] = mutate(rng, files[file])
    elif kind < 0.6 and file.endswith(".npz"):
        files[file] = _damaged_arrays(rng, files[file])
    elif kind < 0.85:
        stored = _finished(other).files
        files[file] = stored.get(file, stored["checkpoint.json"])
    elif kind < 0.95:
        files[file] = files[rng.choice(sorted(files))]
    elif file != "checkpoint.json":
        del files[file]


def _damaged_arrays(rng: Random, data: bytes) -> bytes:
    """Change a value or the type of an array in a file, and keep its checksums valid."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = {name: archive.read(name) for name in archive.namelist()}
        name = rng.choice(sorted(members))
        array = np.load(io.BytesIO(members[name]))
    except Exception:  # it was damaged before, in a way that zipfile or NumPy report as they like
        return mutate(rng, data)
    if array.dtype.kind not in "iuf":
        array = np.array(rng.choice(("", "x", "0" * 64)))
    elif rng.random() < 0.5 and array.size:
        with np.errstate(all="ignore"):
            array.flat[rng.randrange(array.size)] = np.array(rng.choice((-1, 0, 1, 2**30, 127))).astype(array.dtype)
    else:
        array = rng.choice((
            lambda: array.astype("f8" if array.dtype != np.float64 else "f4"),
            lambda: array.astype(">i4"),
            lambda: array[..., None],
            lambda: array.ravel()[:-1],
            array.T.copy,
        ))()  # fmt: skip
    return zip_archive(rng, members | {name: npy_bytes(array)}, damage=rng.random() < 0.2)
