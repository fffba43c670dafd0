"""What a reproduction left in its folder, read back."""

import csv
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from boostne.errors import FileFormatError, ParameterError
from boostne.visualization.maps import LevelMap
from boostne.visualization.tables import METRICS

FILES = ("scores.csv", "wilcoxon.csv", "approximation.csv", "levels.csv", "shortfalls.csv", "run.json")

Row = dict[str, str]
T = TypeVar("T")


@dataclass(frozen=True)
class Score:
    """One cell of the tables; `paper` is the paper's value, or None."""

    dataset: str
    method: str
    setting: str
    metric: str
    train: float
    mean: float
    std: float
    se: float
    paper: float | None


@dataclass(frozen=True)
class LevelScore:
    """F1 at one number k of levels; NetMF has one."""

    dataset: str
    method: str
    k: int
    metric: str
    train: float
    mean: float
    se: float


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The content of the folder.

    Attributes
    ----------
    scores : list of Score
    errors : dict
        For each data set, pairs of k and the relative error of the approximation.
    levels : list of LevelScore
    wilcoxon, shortfalls : list of dict
        Rows as they stand in the files.
    maps : list of LevelMap
    run : dict
        What was run.
    files : list of str
        Names of the files with numbers that are there.
    """

    scores: list[Score]
    errors: dict[str, list[tuple[int, float]]]
    levels: list[LevelScore]
    wilcoxon: list[Row]
    shortfalls: list[Row]
    maps: list[LevelMap]
    run: dict[str, Any]
    files: list[str]

    @property
    def datasets(self) -> list[str]:
        """The data sets, in the order of the tables."""
        return list(dict.fromkeys(score.dataset for score in self.scores))


def read_reproduction(folder: Path) -> Reproduction:
    """Read the files of a reproduction; only those of the scores and of the run must be there."""
    for name in ("scores.csv", "run.json"):
        if not (folder / name).is_file():
            raise ParameterError(
                f"{folder} has no {name}; give the folder that 'boostne reproduce -o FOLDER' wrote"
            )
    scores = _records(folder / "scores.csv", _score)
    errors: dict[str, list[tuple[int, float]]] = {}
    for dataset, k, error in _records(folder / "approximation.csv", _error):
        errors.setdefault(dataset, []).append((k, error))
    order = list(dict.fromkeys(score.dataset for score in scores))
    maps = [path for name in order if (path := folder / "maps" / f"{name}.csv").is_file()]
    return Reproduction(
        scores=scores,
        errors=errors,
        levels=_records(folder / "levels.csv", _level),
        wilcoxon=_records(folder / "wilcoxon.csv", dict),
        shortfalls=_records(folder / "shortfalls.csv", dict),
        maps=[read_map(path) for path in maps],
        run=_read_json(folder / "run.json"),
        files=[name for name in FILES if (folder / name).is_file()],
    )


def read_map(path: Path) -> LevelMap:
    """Read the map of one data set: a row for each node and level."""
    rows = _records(path, _place)
    if not rows:
        raise FileFormatError(f"{path}: there are no nodes")
    by_level: dict[int, dict[str, tuple[float, float]]] = {}
    label_of: dict[str, str] = {}
    for node, level, x, y, label in rows:
        by_level.setdefault(level, {})[node] = (x, y)
        label_of[node] = label
    for level, places in by_level.items():
        if len(places) != len(label_of):
            raise FileFormatError(f"{path}: level {level} has {len(places)} of the {len(label_of)} nodes")
    return LevelMap(
        name=path.stem,
        nodes=list(label_of),
        labels=[[label] if label else [] for label in label_of.values()],
        places={level: np.array([places[node] for node in label_of]) for level, places in by_level.items()},
    )


def _records(path: Path, make: Callable[[Row], T]) -> list[T]:
    """Return what `make` makes of each row; nothing for a file that is not there."""
    if not path.is_file():
        return []
    made = []
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream, strict=True)
        try:
            for row in reader:
                if None in row or None in row.values():
                    raise FileFormatError(f"{path}, line {reader.line_num}: not as many values as names")
                made.append(make(row))
        except KeyError as error:
            raise FileFormatError(f"{path}: there is no column {error.args[0]!r}") from error
        except FileFormatError:
            raise
        except (ValueError, csv.Error) as error:
            raise FileFormatError(f"{path}, line {reader.line_num}: {error}") from error
    return made


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(f"{path}: not JSON: {error}") from error
    if not isinstance(found, dict):
        raise FileFormatError(f"{path}: expected an object, got {type(found).__name__}")
    return found


def _score(row: Row) -> Score:
    return Score(
        _dataset(row),
        row["method"],
        row["setting"],
        _metric(row),
        _number(row["train_percent"]),
        _number(row["mean"]),
        _number(row["std"]),
        _number(row["se"]),
        _number(row["paper"]) if row["paper"] else None,
    )


def _level(row: Row) -> LevelScore:
    return LevelScore(
        _dataset(row),
        row["method"],
        int(row["k"]),
        _metric(row),
        _number(row["train_percent"]),
        _number(row["mean"]),
        _number(row["se"]),
    )


def _error(row: Row) -> tuple[str, int, float]:
    return _dataset(row), int(row["k"]), _number(row["relative_error"])


def _place(row: Row) -> tuple[str, int, float, float, str]:
    return row["node"], int(row["level"]), _number(row["x"]), _number(row["y"]), row["label"]


def _dataset(row: Row) -> str:
    # Files are named after it.
    name = row["dataset"]
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(f"the name of a data set has letters, digits, '-', '_' and '.', got {name!r}")
    return name


def _metric(row: Row) -> str:
    if row["metric"] not in METRICS:
        raise ValueError(f"the metric must be {' or '.join(METRICS)}, got {row['metric']!r}")
    return row["metric"]


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {text!r}")
    return value
