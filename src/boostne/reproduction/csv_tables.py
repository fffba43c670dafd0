"""The CSV files of a reproduction: columns, writing, and reading with validation."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from boostne.errors import FileFormatError
from boostne.evaluation import Evaluation
from boostne.io.atomic import atomic_path

METRICS = {"micro-f1": "micro", "macro-f1": "macro"}  # metric in the files and in an Evaluation
METRIC_NAMES = {metric: Evaluation.metrics[field] for metric, field in METRICS.items()}
ALL_RATIOS = "all"  # in the column of the training ratio: the mean over all of them
COLUMNS = {
    "scores": (
        "dataset", "method", "setting", "metric", "train_percent", "mean", "std", "se", "paper", "difference",
    ),
    "wilcoxon": (
        "dataset", "setting", "method", "metric", "wins", "ties", "losses", "difference", "effect", "p", "p_holm",
    ),
    "approximation": ("dataset", "k", "relative_error"),
    "levels": ("dataset", "method", "k", "metric", "train_percent", "mean", "std", "se"),
    "shortfalls": (
        "dataset", "metric", "train_percent", "paper", "setting", "mean", "se", "difference",
        "other_setting", "other_mean",
    ),
    "tuned_scores": ("dataset", "method", "metric", "train_percent", "mean", "std", "se"),
    "tuned_choices": ("dataset", "method", "train_percent", "repeat", "candidate", "C"),
    "tuned_wilcoxon": (
        "dataset", "setting", "method", "metric", "wins", "ties", "losses", "difference", "effect", "p", "p_holm",
    ),
    "map": ("node", "level", "x", "y", "label"),
}  # fmt: skip

CsvRow = dict[str, Any]
T = TypeVar("T")


def to_csv(table: str, rows: Iterable[CsvRow]) -> str:
    """Return the rows of a table as CSV."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS[table], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def write_text(path: Path, text: str) -> Path:
    """Write a text file atomically and return its path."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return path


def read_csv(path: Path, parse: Callable[[CsvRow], T]) -> list[T]:
    """Parse every row of a CSV file; a missing file gives no rows."""
    if not path.is_file():
        return []
    parsed = []
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream, strict=True)
        try:
            for row in reader:
                if None in row or None in row.values():
                    raise ValueError("the number of values differs from the number of columns")
                parsed.append(parse(row))
        except KeyError as error:
            raise FileFormatError(f"{path} has no column {error.args[0]!r}") from error
        except (ValueError, csv.Error) as error:
            raise FileFormatError(f"{path}, line {reader.line_num}: {error}") from error
    return parsed


def row_name(row: Mapping[str, Any]) -> str:
    """Return the name of a row of the score tables: the method and its setting, if any.

    Examples
    --------
    >>> row_name({"method": "BoostNE", "setting": "paper"})
    'BoostNE (paper)'
    """
    return f"{row['method']} ({row['setting']})" if row["setting"] else str(row["method"])


def distinct(rows: Iterable[CsvRow], column: str) -> list[Any]:
    """Return the distinct values of a column in order of appearance."""
    return list(dict.fromkeys(row[column] for row in rows))
