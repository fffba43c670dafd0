"""Which method is best when, from the scores and tests of the tuned comparison."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from boostne.reproduction.csv_tables import METRIC_NAMES
from boostne.reproduction.result_tables import ALPHA, Cells
from boostne.reproduction.results_folder import ResultsFolder, TunedScore

CLEAR = 2.0  # standard errors of a difference


@dataclass(frozen=True)
class Leader:
    """The best method of a column of a table of the tuned comparison.

    Attributes
    ----------
    best, runner_up : TunedScore
    """

    best: TunedScore
    runner_up: TunedScore

    @property
    def difference(self) -> float:
        """Difference of the two means."""
        return self.best.mean - self.runner_up.mean

    @property
    def is_clear(self) -> bool:
        """Whether the difference is more than `CLEAR` standard errors, as if the splits were independent."""
        return self.difference > CLEAR * math.hypot(self.best.se, self.runner_up.se)


def leaders(results: ResultsFolder, dataset: str, metric: str) -> dict[str, Leader]:
    """Return the leader of each column in which at least two methods have a score."""
    found = {}
    columns, scores = results.tuned_table(dataset, metric)
    for column, cells in zip(columns, zip(*scores.values(), strict=True), strict=True):
        best, *others = sorted((cell for cell in cells if cell), key=lambda score: -score.mean)
        if others:
            found[column] = Leader(best, others[0])
    return found


def mean_ranks(results: ResultsFolder, metric: str) -> dict[str, dict[str, float]]:
    """Return the mean rank over the data sets by method and column; 1 is the best, and ties share their mean rank."""
    ranks: dict[str, dict[str, list[float]]] = {}
    for dataset in results.tuned_datasets:
        columns, scores = results.tuned_table(dataset, metric)
        for i, column in enumerate(columns):
            means = {method: cell.mean for method, cells in scores.items() if (cell := cells[i])}
            for method, rank in zip(means, rankdata([-mean for mean in means.values()]).tolist(), strict=True):
                ranks.setdefault(method, {}).setdefault(column, []).append(rank)
    return {
        method: {column: float(np.mean(values)) for column, values in by_column.items()}
        for method, by_column in ranks.items()
    }


def leader_table(results: ResultsFolder, metric: str) -> tuple[Cells, list[Cells]]:
    """Return header and cells of the best method and its lead by data set and column; bold if the lead is clear."""
    by_dataset = {dataset: leaders(results, dataset, metric) for dataset in results.tuned_datasets}
    columns = _columns(by_dataset.values())
    return ["", *columns], [
        [dataset, *(_leader_cell(found[column]) if column in found else "" for column in columns)]
        for dataset, found in by_dataset.items()
    ]


def _leader_cell(leader: Leader) -> str:
    name = f"**{leader.best.method}**" if leader.is_clear else leader.best.method
    return f"{name} +{leader.difference:.3f}"


def rank_table(results: ResultsFolder, metric: str) -> tuple[Cells, list[Cells]]:
    """Return header and cells of the mean rank by method and column; the best of each column is bold."""
    ranks = mean_ranks(results, metric)
    columns = _columns(ranks.values())
    best = {column: min(row[column] for row in ranks.values() if column in row) for column in columns}
    return ["", *columns], [
        [method, *(_rank_cell(row.get(column), best[column]) for column in columns)] for method, row in ranks.items()
    ]


def _rank_cell(rank: float | None, best: float) -> str:
    if rank is None:
        return ""
    return f"**{rank:.1f}**" if rank == best else f"{rank:.1f}"


def _columns(rows: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def describe_leaders(results: ResultsFolder, metric: str) -> str:
    """Return a sentence on how often each method is best, over all data sets and training ratios."""
    found = [
        leader
        for dataset in results.tuned_datasets
        for column, leader in leaders(results, dataset, metric).items()
        if column.endswith("%")
    ]
    counts: dict[str, list[bool]] = {}
    for leader in found:
        counts.setdefault(leader.best.method, []).append(leader.is_clear)
    ordered = sorted(counts.items(), key=lambda item: -len(item[1]))
    listed = ", ".join(f"{method} {len(clear)} ({sum(clear)} clearly)" for method, clear in ordered)
    return f"Best in {METRIC_NAMES[metric]}, of {len(found)} data sets and ratios: {listed}."


def describe_tests(results: ResultsFolder, metric: str) -> Iterator[str]:
    """Yield a sentence for each data set on the methods that differ significantly from BoostNE."""
    for dataset in results.tuned_datasets:
        tests = [row for row in results.tuned_wilcoxon if (row["dataset"], row["metric"]) == (dataset, metric)]
        if not tests:
            continue
        significant = [row for row in tests if float(row["p_holm"]) < ALPHA]
        worse = [row["method"] for row in significant if float(row["effect"]) > 0]
        better = [row["method"] for row in significant if float(row["effect"]) < 0]
        yield (
            f"{dataset}: BoostNE is significantly better than {len(worse)} of {len(tests)} methods, and worse than "
            f"{', '.join(better) or 'none'}."
        )
