"""Reads the folder written by a reproduction."""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from boostne.errors import FileFormatError, ParameterError
from boostne.labels import as_labels
from boostne.reproduction.csv_tables import ALL_RATIOS, METRICS, CsvRow, read_csv, row_name
from boostne.reproduction.node_maps import NodeMaps
from boostne.reproduction.result_rows import better_setting

FILES = (
    "scores.csv", "wilcoxon.csv", "approximation.csv", "levels.csv", "shortfalls.csv",
    "tuned_scores.csv", "tuned_choices.csv", "tuned_wilcoxon.csv", "run.json",
)  # fmt: skip


@dataclass(frozen=True)
class Score:
    """A score of the tables.

    `name` is the method with its setting, `train` the training ratio in percent, `difference` ours minus the paper's
    value, NaN if it has none.
    """

    dataset: str
    method: str
    setting: str
    name: str
    metric: str
    train: float
    mean: float
    std: float
    se: float
    paper: float | None
    difference: float


@dataclass(frozen=True)
class LevelScore:
    """F1 with k levels; NetMF has one."""

    dataset: str
    method: str
    k: int
    metric: str
    train: float
    mean: float
    se: float


@dataclass(frozen=True)
class TunedScore:
    """A score of the tuned comparison; `column` is its training ratio as shown, or "mean" over all ratios."""

    dataset: str
    method: str
    metric: str
    column: str
    mean: float
    std: float
    se: float


@dataclass(frozen=True)
class TunedChoice:
    """What a method chose for a split of the tuned comparison."""

    dataset: str
    method: str
    train: float
    candidate: str
    C: float


@dataclass(frozen=True)
class PaperComparison:
    """The scores of BoostNE in one setting that have a value in the paper.

    `is_better` tells whether the setting has the higher mean difference on the data set.
    """

    dataset: str
    setting: str
    is_better: bool
    scores: list[Score]

    @property
    def differences(self) -> list[float]:
        """Ours minus the paper's."""
        return [score.difference for score in self.scores]

    @property
    def mean_difference(self) -> float:
        """Mean of the differences."""
        return sum(self.differences) / len(self.differences)


@dataclass(frozen=True, eq=False)
class ResultsFolder:
    """The content of the folder of a reproduction.

    Attributes
    ----------
    scores : list of Score
    errors : dict
        Maps each data set to pairs of k and the relative approximation error.
    levels : list of LevelScore
    tuned_scores : list of TunedScore
    tuned_choices : list of TunedChoice
    wilcoxon, shortfalls, tuned_wilcoxon : list of dict
        Rows of the CSV files.
    maps : list of NodeMaps
    run : dict
        Content of ``run.json``.
    files : list of str
        Names of the data files in the folder.
    """

    scores: list[Score]
    errors: dict[str, list[tuple[int, float]]]
    levels: list[LevelScore]
    tuned_scores: list[TunedScore]
    tuned_choices: list[TunedChoice]
    wilcoxon: list[CsvRow]
    shortfalls: list[CsvRow]
    tuned_wilcoxon: list[CsvRow]
    maps: list[NodeMaps]
    run: dict[str, Any]
    files: list[str]

    @property
    def datasets(self) -> list[str]:
        """The data sets, in the order of the tables."""
        return list(dict.fromkeys(score.dataset for score in self.scores))

    @property
    def tuned_datasets(self) -> list[str]:
        """The data sets of the tuned comparison, in the order of its tables."""
        return list(dict.fromkeys(score.dataset for score in self.tuned_scores))

    def tuned_table(self, dataset: str, metric: str) -> tuple[list[str], dict[str, list[TunedScore | None]]]:
        """Return the columns of a table of the tuned comparison, and the scores of each method by these columns."""
        scores = [s for s in self.tuned_scores if (s.dataset, s.metric) == (dataset, metric)]
        columns = list(dict.fromkeys(score.column for score in scores))
        cells = {(score.method, score.column): score for score in scores}
        methods = dict.fromkeys(score.method for score in scores)
        return columns, {name: [cells.get((name, column)) for column in columns] for name in methods}

    def score_table(self, dataset: str, metric: str) -> tuple[list[float], dict[str, list[Score | None]]]:
        """Return the training ratios and the scores of each row of a table by these ratios."""
        scores = [s for s in self.scores if (s.dataset, s.metric) == (dataset, metric)]
        train = sorted({score.train for score in scores})
        cells = {(score.name, score.train): score for score in scores}
        names = dict.fromkeys(score.name for score in scores)
        return train, {name: [cells.get((name, ratio)) for ratio in train] for name in names}

    def compare_with_paper(self) -> list[PaperComparison]:
        """Compare each setting of BoostNE with the paper on each data set."""
        comparisons = []
        for dataset in self.datasets:
            boostne = [s for s in self.scores if (s.dataset, s.method) == (dataset, "BoostNE")]
            scores = [score for score in boostne if score.paper is not None]
            best = better_setting((score.setting, score.difference) for score in scores)
            comparisons += [
                PaperComparison(dataset, setting, setting == best, [s for s in scores if s.setting == setting])
                for setting in dict.fromkeys(score.setting for score in scores)
            ]
        return comparisons


def read_results_folder(folder: Path) -> ResultsFolder:
    """Read the files of a reproduction; only ``run.json`` and the scores of one of its parts are required."""
    for names in (("scores.csv", "tuned_scores.csv"), ("run.json",)):
        if not any((folder / name).is_file() for name in names):
            raise ParameterError(
                f"{folder} has no {names[0]}; it must be a folder written by 'boostne reproduce -o FOLDER'"
            )
    scores = read_csv(folder / "scores.csv", _parse_score)
    errors: dict[str, list[tuple[int, float]]] = {}
    for dataset, k, error in read_csv(folder / "approximation.csv", _parse_error):
        errors.setdefault(dataset, []).append((k, error))
    maps = (folder / "maps" / f"{name}.csv" for name in dict.fromkeys(score.dataset for score in scores))
    return ResultsFolder(
        scores=scores,
        errors=errors,
        levels=read_csv(folder / "levels.csv", _parse_level),
        tuned_scores=read_csv(folder / "tuned_scores.csv", _parse_tuned_score),
        tuned_choices=read_csv(folder / "tuned_choices.csv", _parse_tuned_choice),
        wilcoxon=read_csv(folder / "wilcoxon.csv", dict),
        shortfalls=read_csv(folder / "shortfalls.csv", dict),
        tuned_wilcoxon=read_csv(folder / "tuned_wilcoxon.csv", dict),
        maps=[_read_map(path) for path in maps if path.is_file()],
        run=_read_json(folder / "run.json"),
        files=[name for name in FILES if (folder / name).is_file()],
    )


def _read_map(path: Path) -> NodeMaps:
    rows = read_csv(path, _parse_position)
    if not rows:
        raise FileFormatError(f"{path} has no nodes")
    by_level: dict[int, dict[str, tuple[float, float]]] = {}
    label_of: dict[str, str] = {}
    for node, level, x, y, label in rows:
        by_level.setdefault(level, {})[node] = (x, y)
        label_of[node] = label
    if sorted(by_level) != list(range(len(by_level))):
        raise FileFormatError(f"{path}: levels must be 0, for all together, and 1 to k, got {sorted(by_level)}")
    for level, positions in by_level.items():
        if len(positions) != len(label_of):
            raise FileFormatError(f"{path}: level {level} has {len(positions)} of the {len(label_of)} nodes")
    labels = {node: label for node, label in label_of.items() if label}
    return NodeMaps(
        name=path.stem,
        nodes=list(label_of),
        labels=as_labels(labels) if labels else None,
        layouts=[np.array([by_level[level][node] for node in label_of]) for level in range(len(by_level))],
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise FileFormatError(f"{path} must contain a JSON object, got {type(content).__name__}")
    return content


def _parse_score(row: CsvRow) -> Score:
    return Score(
        dataset=_dataset(row),
        method=row["method"],
        setting=row["setting"],
        name=row_name(row),
        metric=_metric(row),
        train=_number(row["train_percent"]),
        mean=_number(row["mean"]),
        std=_number(row["std"]),
        se=_number(row["se"]),
        paper=_number(row["paper"]) if row["paper"] else None,
        difference=_number(row["difference"]) if row["paper"] else math.nan,
    )


def _parse_level(row: CsvRow) -> LevelScore:
    return LevelScore(
        dataset=_dataset(row),
        method=row["method"],
        k=int(row["k"]),
        metric=_metric(row),
        train=_number(row["train_percent"]),
        mean=_number(row["mean"]),
        se=_number(row["se"]),
    )


def _parse_tuned_score(row: CsvRow) -> TunedScore:
    train = row["train_percent"]
    return TunedScore(
        dataset=_dataset(row),
        method=row["method"],
        metric=_metric(row),
        column="mean" if train == ALL_RATIOS else f"{_number(train):g} %",
        mean=_number(row["mean"]),
        std=_number(row["std"]),
        se=_number(row["se"]),
    )


def _parse_tuned_choice(row: CsvRow) -> TunedChoice:
    return TunedChoice(
        dataset=_dataset(row),
        method=row["method"],
        train=_number(row["train_percent"]),
        candidate=row["candidate"],
        C=_number(row["C"]),
    )


def _parse_error(row: CsvRow) -> tuple[str, int, float]:
    return _dataset(row), int(row["k"]), _number(row["relative_error"])


def _parse_position(row: CsvRow) -> tuple[str, int, float, float, str]:
    return row["node"], int(row["level"]), _number(row["x"]), _number(row["y"]), row["label"]


def _dataset(row: CsvRow) -> str:
    name: str = row["dataset"]
    if not re.fullmatch(r"\w[\w.-]*", name):  # used in file names
        raise ValueError(f"dataset must consist of letters, digits, '-', '_' and '.', got {name!r}")
    return name


def _metric(row: CsvRow) -> str:
    metric: str = row["metric"]
    if metric not in METRICS:
        raise ValueError(f"metric must be {' or '.join(METRICS)}, got {metric!r}")
    return metric


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {text!r}")
    return value
