"""The paper's figures as charts, and what they show in words."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from boostne.reproduction.results_folder import LevelScore
from boostne.visualization.charts import Chart, Line
from boostne.visualization.tables import METRICS

_BOOSTED = "BoostNE"

Errors = Mapping[str, Sequence[tuple[int, float]]]


def approximation_chart(errors: Errors) -> Chart:
    """Return the error of the approximation against the number of levels, a line for each data set."""
    return Chart(
        name="approximation",
        title="Error of the approximation against the number of levels",
        x_label="levels k",
        y_label="relative error",
        lines=[
            Line(dataset, [float(k) for k, _ in points], [error for _, error in points], look=i)
            for i, (dataset, points) in enumerate((name, sorted(found)) for name, found in errors.items())
        ],
        doubling=True,
        from_zero=True,
    )


def approximation_in_words(errors: Errors) -> list[str]:
    """Say, for each data set, whether the error falls with k, and whether k = 8 is below k = 1."""
    return [f"{dataset}: {_falls(dict(points))}" for dataset, points in errors.items()]


def level_charts(scores: Sequence[LevelScore]) -> list[Chart]:
    """Return F1 against the number of levels, a chart for each data set and metric, with NetMF's lines."""
    kinds = dict.fromkeys((score.dataset, score.metric) for score in scores)
    return [
        _level_chart(dataset, metric, [s for s in scores if (s.dataset, s.metric) == (dataset, metric)])
        for dataset, metric in kinds
    ]


def _level_chart(dataset: str, metric: str, scores: Sequence[LevelScore]) -> Chart:
    boosted = [score for score in scores if score.method == _BOOSTED]
    ends = [float(end) for end in (min(_ks(boosted)), max(_ks(boosted)))] if boosted else [1.0, 1.0]
    shares = list(dict.fromkeys(score.train for score in scores))
    lines = []
    for look, share in enumerate(shares):
        curve = sorted((s for s in boosted if s.train == share), key=lambda score: score.k)
        if curve:
            y, error = [s.mean for s in curve], [s.se for s in curve]
            lines.append(Line(f"{_BOOSTED}, {share:g} %", _ks(curve), y, look, error=error))
        lines += [
            Line(f"{score.method}, {share:g} %", ends, [score.mean] * 2, look, level=True)
            for score in scores
            if score.method != _BOOSTED and score.train == share
        ]
    return Chart(
        name=f"levels-{dataset}-{metric}",
        title=f"{dataset}: {METRICS[metric]} against the number of levels",
        x_label="levels k",
        y_label=METRICS[metric],
        lines=lines,
        doubling=True,
    )


def _ks(scores: Sequence[LevelScore]) -> list[float]:
    return [float(score.k) for score in scores]


def _falls(error: Mapping[int, float]) -> str:
    rises = [f"{a} to {b}" for a, b in pairwise(sorted(error)) if error[b] >= error[a]]
    words = f"does not fall from k = {', '.join(rises)}" if rises else "falls with every step of k"
    if 1 in error and 8 in error:  # noqa: PLR2004 - the paper's own choice of k
        side = "below" if error[8] < error[1] else "not below"
        words += f"; k = 8 ({error[8]:.4f}) is {side} k = 1 ({error[1]:.4f})"
    return words
