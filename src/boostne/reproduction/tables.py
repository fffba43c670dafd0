"""The tables and curves as rows: what the CSV files, the page and the screen show.

Numbers are rounded here, once, so that equal results give equal bytes.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from boostne.evaluation import Evaluation, compare
from boostne.evaluation.comparison import PairTest, holm
from boostne.io.atomic import atomic_path
from boostne.reproduction.paper import Cell, paper_values
from boostne.reproduction.plan import Protocol
from boostne.reproduction.run import FIT, MAP, DatasetResults, Found

METRICS = {"micro-f1": "micro", "macro-f1": "macro"}
METRIC_NAMES = {"micro-f1": "Micro-F1", "macro-f1": "Macro-F1"}
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
    "map": ("node", "level", "x", "y", "label"),
}  # fmt: skip

Row = dict[str, Any]


def score_rows(results: Iterable[DatasetResults], protocol: Protocol) -> Iterator[Row]:
    """Compare every cell of the paper's tables with ours."""
    for result in results:
        for setting, found in _table_rows(result):
            method = found.work.recipe.method
            for row in _summaries(found.evaluation(protocol.train)):
                paper = paper_values().get(
                    Cell(result.data.name, method, row["metric"], row["train_percent"])
                )
                difference = None if paper is None else float(row["mean"]) - paper
                yield {
                    "dataset": result.data.name,
                    "method": method,
                    "setting": setting,
                    **row,
                    "paper": "" if paper is None else f"{paper:.4f}",
                    "difference": "" if difference is None else f"{difference:.6f}",
                }


def wilcoxon_rows(results: Iterable[DatasetResults], protocol: Protocol) -> Iterator[Row]:
    """Test BoostNE, in each setting, against each other method; Holm's correction is for all tests of a data set."""
    for result in results:
        rows = list(_table_rows(result))
        boosted = [(setting, found) for setting, found in rows if found.work.recipe.method == "BoostNE"]
        others = [found for _, found in rows if found.work.recipe.method != "BoostNE"]
        tests: list[tuple[str, PairTest]] = [
            (setting, test)
            for setting, found in boosted
            for other in others
            for test in compare(
                {
                    "BoostNE": found.evaluation(protocol.train),
                    other.work.recipe.method: other.evaluation(protocol.train),
                }
            ).tests
        ]
        corrected = holm(test.p for _, test in tests)
        names = {short: metric for metric, short in METRICS.items()}
        for (setting, test), p_holm in zip(tests, corrected.tolist(), strict=True):
            yield {
                "dataset": result.data.name,
                "setting": setting,
                "method": test.second,
                "metric": names[test.metric],
                "wins": test.wins,
                "ties": test.ties,
                "losses": test.losses,
                "difference": f"{test.difference:.6f}",
                "effect": f"{test.effect:.4f}",
                "p": f"{test.p:.4g}",
                "p_holm": f"{p_holm:.4g}",
            }


def approximation_rows(results: Iterable[DatasetResults]) -> Iterator[Row]:
    """Give what k levels leave of X: ``||R_{k+1}||_F / ||X||_F``, with the residual as the paper clips it at 0."""
    for result in results:
        for levels, found in _curve(result):
            residual = found.values[FIT]["residual"]
            yield {"dataset": result.data.name, "k": levels, "relative_error": f"{residual:.6f}"}


def level_rows(results: Iterable[DatasetResults], protocol: Protocol) -> Iterator[Row]:
    """Give the scores of BoostNE by the number of levels, and NetMF's, which has one."""
    for result in results:
        netmf = [(1, found) for _, found in _table_rows(result) if found.work.recipe.method == "NetMF"]
        for levels, found in [*_curve(result), *(netmf if any(_curve(result)) else [])]:
            for row in _summaries(found.evaluation(protocol.curve_train)):
                yield {
                    "dataset": result.data.name,
                    "method": found.work.recipe.method,
                    "k": levels,
                    **row,
                }


def map_rows(result: DatasetResults) -> Iterator[Row]:
    """Give the places of nodes on the maps: level 0 is all levels together."""
    for found in result.found:
        drawn = found.values.get(MAP)
        if drawn is None:
            continue
        for level, places in enumerate(drawn["places"]):
            for node, label, (x, y) in zip(drawn["nodes"], drawn["labels"], places, strict=True):
                yield {"node": node, "level": level, "x": f"{x:.2f}", "y": f"{y:.2f}", "label": label}


def shortfall_rows(scores: Iterable[Row]) -> Iterator[Row]:
    """List BoostNE's cells that are under the paper's by more than their standard error.

    Of the two settings the one that is better on a data set, over all its cells, is taken there; the other's
    mean stands beside it.
    """
    cells = [row for row in scores if row["method"] == "BoostNE" and row["paper"]]
    for dataset in dict.fromkeys(row["dataset"] for row in cells):
        here = [row for row in cells if row["dataset"] == dataset]
        best = better_setting(here)
        others = {(row["metric"], row["train_percent"]): row for row in here if row["setting"] != best}
        for row in here:
            if row["setting"] == best and float(row["difference"]) < -float(row["se"]):
                other = others.get((row["metric"], row["train_percent"]))
                yield {name: row.get(name, "") for name in COLUMNS["shortfalls"]} | {
                    "other_setting": other["setting"] if other else "",
                    "other_mean": other["mean"] if other else "",
                }


def better_setting(rows: Iterable[Row]) -> str:
    """Return the setting whose mean difference from the paper is highest."""
    differences: dict[str, list[float]] = {}
    for row in rows:
        differences.setdefault(row["setting"], []).append(float(row["difference"]))
    return max(differences, key=lambda setting: float(np.mean(differences[setting])))


def to_csv(name: str, rows: Iterable[Row]) -> str:
    """Return rows as the text of a CSV file."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS[name], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write a file in one step."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def read_rows(path: Path) -> list[Row]:
    """Read a CSV file that :func:`to_csv` made."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _table_rows(result: DatasetResults) -> Iterator[tuple[str, Found]]:
    """Give what stands in the tables, with its setting."""
    for found in result.found:
        for setting in found.work.rows:
            yield setting, found


def _curve(result: DatasetResults) -> list[tuple[int, Found]]:
    """Return the points of the curves, by their number of levels."""
    points = [(found.work.levels, found) for found in result.found if found.work.levels is not None]
    return sorted(points, key=lambda point: point[0])


def _summaries(found: Evaluation) -> Iterator[Row]:
    """Give mean, standard deviation and standard error by metric and ratio."""
    for metric, short in METRICS.items():
        means, stds = found.mean(short), found.std(short)
        for ratio, mean, std in zip(found.train, means.tolist(), stds.tolist(), strict=True):
            yield {
                "metric": metric,
                "train_percent": int(ratio),
                "mean": f"{mean:.6f}",
                "std": f"{std:.6f}",
                "se": f"{std / np.sqrt(found.repeats):.6f}",
            }


def row_name(row: Row) -> str:
    """Return how a row of the tables is called: its method and, for BoostNE, its setting.

    Examples
    --------
    >>> row_name({"method": "BoostNE", "setting": "paper"})
    'BoostNE, paper'
    """
    return ", ".join(part for part in (row["method"], row["setting"]) if part)


def distinct(rows: Iterable[Row], column: str) -> list[Any]:
    """Return the values of a column, each once, in their order."""
    return list(dict.fromkeys(row[column] for row in rows))
