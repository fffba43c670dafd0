"""The rows of the result tables, computed from the results of the experiments.

Numbers are rounded here, once, so that equal results give equal bytes.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from boostne.evaluation import Evaluation, compare
from boostne.evaluation.comparison import PairTest, holm
from boostne.reproduction.computations import FIT
from boostne.reproduction.csv_tables import COLUMNS, METRICS, CsvRow, distinct
from boostne.reproduction.experiments import MAP, DatasetResults, ExperimentResult
from boostne.reproduction.paper import PaperCell, paper_values
from boostne.reproduction.plan import Protocol


def score_rows(datasets: Iterable[DatasetResults], protocol: Protocol) -> Iterator[CsvRow]:
    """Yield the scores of the tables next to the paper's values."""
    for dataset in datasets:
        name = dataset.data.name
        for setting, result in _table_results(dataset):
            method = result.experiment.method
            for row in summaries(result.evaluation(protocol.train)):
                paper = paper_values().get(PaperCell(name, method, row["metric"], row["train_percent"]))
                yield {
                    "dataset": name,
                    "method": method,
                    "setting": setting,
                    **row,
                    "paper": "" if paper is None else f"{paper:.4f}",
                    "difference": "" if paper is None else f"{float(row['mean']) - paper:.6f}",
                }


def wilcoxon_rows(datasets: Iterable[DatasetResults], protocol: Protocol) -> Iterator[CsvRow]:
    """Yield the tests of BoostNE, in each setting, against each other method.

    Holm's correction is over all tests of a data set.
    """
    for dataset in datasets:
        scored = [
            (setting, result.experiment.method, result.evaluation(protocol.train))
            for setting, result in _table_results(dataset)
        ]
        tests: list[tuple[str, PairTest]] = [
            (setting, test)
            for setting, method, evaluation in scored
            if method == "BoostNE"
            for _, other, baseline in scored
            if other != "BoostNE"
            for test in compare({method: evaluation, other: baseline}).tests
        ]
        yield from pair_test_rows(dataset.data.name, tests)


def pair_test_rows(dataset: str, tests: list[tuple[str, PairTest]]) -> Iterator[CsvRow]:
    """Yield the tests of a data set, each with the setting of the first method, with Holm's correction over all."""
    metric_of = {field: metric for metric, field in METRICS.items()}
    corrected = holm(test.p for _, test in tests).tolist()
    for (setting, test), p_holm in zip(tests, corrected, strict=True):
        yield {
            "dataset": dataset,
            "setting": setting,
            "method": test.second,
            "metric": metric_of[test.metric],
            "wins": test.wins,
            "ties": test.ties,
            "losses": test.losses,
            "difference": f"{test.difference:.6f}",
            "effect": f"{test.effect:.4f}",
            "p": f"{test.p:.4g}",
            "p_holm": f"{p_holm:.4g}",
        }


def approximation_rows(datasets: Iterable[DatasetResults]) -> Iterator[CsvRow]:
    """Yield the relative error of k levels, ``||R_{k+1}||_F / ||X||_F``, with the residual clipped at 0."""
    for dataset in datasets:
        for levels, result in _curve_results(dataset):
            residual = result.values[FIT]["residual"]
            yield {"dataset": dataset.data.name, "k": levels, "relative_error": f"{residual:.6f}"}


def level_rows(datasets: Iterable[DatasetResults], protocol: Protocol) -> Iterator[CsvRow]:
    """Yield the scores of BoostNE by number of levels, and those of NetMF, which has one level."""
    for dataset in datasets:
        curve = _curve_results(dataset)
        netmf = [(1, result) for _, result in _table_results(dataset) if result.experiment.method == "NetMF"]
        for levels, result in [*curve, *(netmf if curve else [])]:
            for row in summaries(result.evaluation(protocol.curve_train)):
                yield {"dataset": dataset.data.name, "method": result.experiment.method, "k": levels, **row}


def map_rows(dataset: DatasetResults) -> Iterator[CsvRow]:
    """Yield the positions of the nodes on the maps; level 0 is all levels together."""
    for result in dataset.results:
        maps = result.values.get(MAP)
        if maps is None:
            continue
        for level, positions in enumerate(maps["positions"]):
            for node, label, (x, y) in zip(maps["nodes"], maps["labels"], positions, strict=True):
                yield {"node": node, "level": level, "x": f"{x:.2f}", "y": f"{y:.2f}", "label": label}


def shortfall_rows(scores: Iterable[CsvRow]) -> Iterator[CsvRow]:
    """Yield BoostNE's scores that are below the paper's by more than their standard error.

    For each data set the setting with the higher mean difference counts; the score of the other setting is
    listed next to it.
    """
    cells = [row for row in scores if row["method"] == "BoostNE" and row["paper"]]
    for dataset in distinct(cells, "dataset"):
        rows = [row for row in cells if row["dataset"] == dataset]
        best = better_setting((row["setting"], float(row["difference"])) for row in rows)
        others = {(row["metric"], row["train_percent"]): row for row in rows if row["setting"] != best}
        for row in rows:
            if row["setting"] == best and float(row["difference"]) < -float(row["se"]):
                other = others.get((row["metric"], row["train_percent"]))
                yield {name: row.get(name, "") for name in COLUMNS["shortfalls"]} | {
                    "other_setting": other["setting"] if other else "",
                    "other_mean": other["mean"] if other else "",
                }


def better_setting(differences: Iterable[tuple[str, float]]) -> str | None:
    """Return the setting with the highest mean difference from the paper; None without differences."""
    by_setting: dict[str, list[float]] = {}
    for setting, difference in differences:
        by_setting.setdefault(setting, []).append(difference)
    return max(by_setting, key=lambda setting: float(np.mean(by_setting[setting])), default=None)


def _table_results(dataset: DatasetResults) -> Iterator[tuple[str, ExperimentResult]]:
    """Yield the results that appear in the tables, with their settings."""
    for result in dataset.results:
        for setting in result.experiment.settings:
            yield setting, result


def _curve_results(dataset: DatasetResults) -> list[tuple[int, ExperimentResult]]:
    """Return the points of the curves, sorted by number of levels."""
    points = [(result.experiment.levels, result) for result in dataset.results if result.experiment.levels is not None]
    return sorted(points, key=lambda point: point[0])


def summaries(evaluation: Evaluation) -> Iterator[CsvRow]:
    """Yield mean, standard deviation and standard error by metric and ratio."""
    for metric, field in METRICS.items():
        means, stds = evaluation.mean(field), evaluation.std(field)
        for ratio, mean, std in zip(evaluation.train, means.tolist(), stds.tolist(), strict=True):
            yield summary(metric, int(ratio), mean, std, evaluation.repeats)


def summary(metric: str, train_percent: int | str, mean: float, std: float, repeats: int) -> CsvRow:
    """Return the columns of a mean score over repeats."""
    return {
        "metric": metric,
        "train_percent": train_percent,
        "mean": f"{mean:.6f}",
        "std": f"{std:.6f}",
        "se": f"{std / np.sqrt(repeats):.6f}",
    }
