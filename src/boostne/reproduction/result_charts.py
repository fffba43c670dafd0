"""The charts of a reproduction: approximation error and F1 against the number of levels."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from boostne.reproduction.csv_tables import METRIC_NAMES
from boostne.reproduction.results_folder import LevelScore, ResultsFolder
from boostne.visualization.charts import Chart, Line

Errors = Mapping[str, Sequence[tuple[int, float]]]


def result_charts(results: ResultsFolder) -> list[Chart]:
    """Return the chart of the approximation error, if computed, and those of F1 by data set and metric."""
    errors = [_approximation_chart(results.errors)] if results.errors else []
    kinds = dict.fromkeys((score.dataset, score.metric) for score in results.levels)
    return [
        *errors,
        *(_level_chart(*kind, [s for s in results.levels if (s.dataset, s.metric) == kind]) for kind in kinds),
    ]


def describe_errors(errors: Errors) -> list[str]:
    """Say for each data set whether the error decreases with k, and whether k = 8 is below k = 1."""
    return [f"{dataset}: {_describe_trend(dict(points))}" for dataset, points in errors.items()]


def _approximation_chart(errors: Errors) -> Chart:
    return Chart(
        name="approximation",
        title="Approximation error against the number of levels",
        x_label="levels k",
        y_label="relative error",
        lines=[
            Line(dataset, [float(k) for k, _ in points], [error for _, error in points], style=i)
            for i, (dataset, points) in enumerate((name, sorted(points)) for name, points in errors.items())
        ],
        log_x=True,
        from_zero=True,
    )


def _level_chart(dataset: str, metric: str, scores: Sequence[LevelScore]) -> Chart:
    """Return one curve of BoostNE per training ratio, with NetMF as a horizontal reference line."""
    boostne = [score for score in scores if score.method == "BoostNE"]
    ks = [float(score.k) for score in boostne] or [1.0]
    lines = []
    for style, ratio in enumerate(dict.fromkeys(score.train for score in scores)):
        curve = sorted((s for s in boostne if s.train == ratio), key=lambda score: score.k)
        if curve:
            x, y, error = ([float(getattr(s, name)) for s in curve] for name in ("k", "mean", "se"))
            lines.append(Line(f"BoostNE, {ratio:g} %", x, y, style, error=error))
        lines += [
            Line(f"{s.method}, {ratio:g} %", [min(ks), max(ks)], [s.mean] * 2, style, reference=True)
            for s in scores
            if s.method != "BoostNE" and s.train == ratio
        ]
    return Chart(
        name=f"levels-{dataset}-{metric}",
        title=f"{dataset}: {METRIC_NAMES[metric]} against the number of levels",
        x_label="levels k",
        y_label=METRIC_NAMES[metric],
        lines=lines,
        log_x=True,
    )


def _describe_trend(error: Mapping[int, float]) -> str:
    rises = [f"{a} to {b}" for a, b in pairwise(sorted(error)) if error[b] >= error[a]]
    trend = f"does not decrease from k = {', '.join(rises)}" if rises else "decreases with every step of k"
    if 1 in error and 8 in error:  # noqa: PLR2004 - the paper's k
        side = "below" if error[8] < error[1] else "not below"
        trend += f"; k = 8 ({error[8]:.4f}) is {side} k = 1 ({error[1]:.4f})"
    return trend
