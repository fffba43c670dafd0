"""Plots of embeddings, models and results with matplotlib; the methods ``plot`` of these objects call them."""

import logging
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.labels import as_labels
from boostne.visualization.extras import require_matplotlib
from boostne.visualization.layout import flat_map
from boostne.visualization.matplotlib_figures import escape_text
from boostne.visualization.palette import LIGHT, MARKERS, class_style

if TYPE_CHECKING:
    from boostne.embedding import Embedding
    from boostne.evaluation import Comparison
    from boostne.evaluation.result import Scores
    from boostne.refinement import TuningResult

logger = logging.getLogger("boostne")

MAX_NODES = 5000  # t-SNE of more takes minutes
MAP_SIZE = (7.2, 6.4)  # inches
_MAX_CLASSES = 12  # of a legend; the others are drawn in gray
OTHER = "other or none"  # name in a legend
NO_LABELED_NODE = "none of the labeled nodes is in the embedding; check that the ids have the same type"
_GRAY, _LIGHT_GRAY, _BLUE = "#666666", "#c8c8c8", "#0072b2"
_MAX_POINT, _MIN_POINT = 60.0, 4.0  # areas in square points
_MAX_NAME = 24
_LEVELS_CAPTION = "Each level factorizes the residual R that the levels before it left of X."


def plot_embedding(
    embedding: "Embedding", labels: Any = None, *, level: int | None = None, ax: Any = None, seed: int = 0
) -> Any:
    """Draw a map of the nodes; see :meth:`boostne.Embedding.plot`."""
    axes = _axes(ax, MAP_SIZE)
    vectors = embedding.vectors if level is None else embedding.level(level)
    rows = shown_rows(len(embedding), seed)
    names, class_of = ([], np.full(len(rows), -1)) if labels is None else classify(embedding.nodes, labels, rows)
    points = flat_map(vectors[rows], seed) if len(rows) else np.zeros((0, 2))
    draw_nodes(axes, points, names, class_of)
    _finish_map(axes, embedding, level, len(rows))
    return axes


def draw_nodes(axes: Any, points: NDArray[np.float64], names: Sequence[str], class_of: NDArray[np.int64]) -> None:
    """Draw nodes in the colors of their classes, which :func:`classify` returns, on axes without ticks."""
    style = {"s": _point_area(len(points)), "alpha": _opacity(len(points)), "linewidths": 0, "rasterized": True}
    background = class_of < 0
    label = None if background.all() or not background.any() else OTHER
    color = _LIGHT_GRAY if names else _BLUE
    axes.scatter(*points[background].T, color=color, label=label, zorder=1, **style)
    for i, name in enumerate(names):
        shade, marker = class_style(i)
        members = points[class_of == i].T
        axes.scatter(*members, color=LIGHT[shade], marker=marker.matplotlib, label=name, zorder=2, **style)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.04)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_legend(axes: Any, entries: tuple[list[Any], list[str]], **options: Any) -> None:
    """Draw a legend of handles and names of classes, with others last."""
    handles, names = entries
    order = sorted(range(len(names)), key=lambda i: names[i] == OTHER)
    legend = axes.legend(
        [handles[i] for i in order], [names[i] for i in order], fontsize=9, framealpha=0.85, edgecolor="none",
        borderpad=0.3, handletextpad=0.2, labelspacing=0.3, **options
    )  # fmt: skip
    for handle in legend.legend_handles:
        handle.set_sizes([36])
        handle.set_alpha(1)


def plot_levels(residual_norms: NDArray[np.float64], *, ax: Any = None) -> Any:
    """Draw the norm of the residual after each level; see :meth:`boostne.BoostNE.plot_levels`."""
    axes = _axes(ax, (6.4, 4.4))
    shares = residual_norms / (residual_norms[0] or 1.0)
    levels = np.arange(len(shares))
    bars = axes.bar(levels, shares, color=[_LIGHT_GRAY, *[_BLUE] * (len(shares) - 1)], width=0.72)
    if len(shares) <= _MAX_CLASSES:
        axes.bar_label(bars, labels=[f"{share:.2f}" for share in shares], padding=2, fontsize=9, color=_GRAY)
        axes.set_xticks(levels)
    axes.set(xlabel=f"levels\n\n{_LEVELS_CAPTION}", ylabel="‖R‖ / ‖X‖", ylim=(0, 1.08))
    last = len(shares) - 1
    levels_text = "1 level leaves" if last == 1 else f"{last} levels leave"
    _titles(axes, "Residual after each level", f"{levels_text} {shares[-1]:.0%} of the norm of X unexplained")
    _open_frame(axes)
    return axes


def plot_scores(result: "Scores", groups: Sequence[str], subtitle: str, *, ax: Any = None) -> Any:
    """Draw the mean and standard error of each metric by group; see :meth:`boostne.evaluation.Evaluation.plot`."""
    axes = _axes(ax, (6.4, 4.4))
    if len(groups) == 1:
        _draw_metrics(axes, result)
        axes.set_xlabel(groups[0])
    else:
        _draw_groups(axes, result, groups)
    _titles(axes, result.task, subtitle)
    _open_frame(axes)
    return axes


def _draw_metrics(axes: Any, result: "Scores") -> None:
    means = [float(np.ravel(result.mean(metric))[0]) for metric in result.measured]
    errors = [float(np.ravel(result.standard_error(metric))[0]) for metric in result.measured]
    colors = LIGHT[: len(means)]
    bars = axes.bar(list(result.measured.values()), means, yerr=errors, color=colors, width=0.5, capsize=4)
    axes.bar_label(bars, labels=[f"{mean:.3f}" for mean in means], padding=3, fontsize=9, color=_GRAY)
    axes.set_xlim(-0.75, len(means) - 0.25)
    axes.set_ylim(min(0.0, *means), max(1.0, *means) * 1.08)


def _draw_groups(axes: Any, result: "Scores", groups: Sequence[str]) -> None:
    ordered = hasattr(result, "train")  # training ratios, which a line connects
    x = np.arange(len(groups))
    for i, (metric, title) in enumerate(result.measured.items()):
        style = {"color": LIGHT[i], "marker": MARKERS[i].matplotlib, "linestyle": "-" if ordered else "none"}
        offset = 0.06 * (2 * i - len(result.measured) + 1)
        axes.errorbar(
            x + offset, result.mean(metric), yerr=result.standard_error(metric), capsize=3, label=title, **style
        )
    axes.set_xticks(x, groups)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_xlabel("training nodes" if ordered else "operator")
    axes.set_ylabel("score")
    axes.legend(frameon=False, loc="best")


def plot_comparison(comparison: "Comparison", *, ax: Any = None) -> Any:
    """Draw the mean difference of each pair; see :meth:`boostne.evaluation.Comparison.plot`."""
    from boostne.evaluation import Evaluation

    pairs = list(dict.fromkeys((test.first, test.second) for test in comparison.tests))
    axes = _axes(ax, (7.2, 1.8 + 0.6 * len(pairs)))
    for i, (metric, title) in enumerate(Evaluation.metrics.items()):
        tests = [test for test in comparison.tests if test.metric == metric]
        y = np.array([-pairs.index((test.first, test.second)) for test in tests]) + 0.18 - 0.36 * i
        bars = axes.barh(y, [test.difference for test in tests], color=LIGHT[i], height=0.34, label=title)
        stars = ["*" if test.p_holm < comparison.alpha else "" for test in tests]
        axes.bar_label(bars, labels=stars, padding=3, fontsize=11, color=_GRAY)
    axes.axvline(0, color=_GRAY, linewidth=0.8)
    axes.set_yticks(-np.arange(len(pairs)), [f"{_name(first)} − {_name(second)}" for first, second in pairs])
    axes.margins(x=0.08)
    axes.set_xlabel("mean difference")
    _titles(axes, "Difference of each pair", f"* p < {comparison.alpha:g} after Holm's correction")
    axes.legend(frameon=False, loc="best")
    _open_frame(axes, grid="x")
    return axes


def plot_trials(result: "TuningResult", *, ax: Any = None) -> Any:
    """Draw the scores of all trials by rung; see :meth:`boostne.TuningResult.plot`."""
    axes = _axes(ax, (6.4, 4.4))
    trials = [(i, trial) for i, trial in enumerate(result.trials, 1) if not math.isnan(trial.score)]
    for rung in sorted({trial.rung for _, trial in trials}):
        chosen = [(i, trial.score) for i, trial in trials if trial.rung == rung]
        last = " (full fits)" if rung == result.best.rung else ""
        axes.scatter(*zip(*chosen, strict=True), s=26, color=LIGHT[(rung - 1) % len(LIGHT)],
                     marker=MARKERS[(rung - 1) % len(MARKERS)].matplotlib, label=f"rung {rung}{last}")  # fmt: skip
    axes.axhline(result.default.score, color=_GRAY, linestyle="--", linewidth=1, label="default setting")
    axes.axhline(result.best.score, color=LIGHT[3], linewidth=1, label="best setting")
    axes.set(xlabel="trial", ylabel=result.criterion)
    _titles(axes, "Scores of the trials", "scores of different rungs do not compare")
    axes.legend(frameon=False, loc="best", fontsize=9)
    _open_frame(axes)
    return axes


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers inside of text by their value.

    Examples
    --------
    >>> sorted(["c10", "c9", "b"], key=natural_key)
    ['b', 'c9', 'c10']
    """
    parts = re.split(r"([0-9]+)", text)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part]


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the given axes, or those of a new figure, which pyplot shows in notebooks and closes."""
    require_matplotlib()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def shown_rows(n: int, seed: int) -> NDArray[np.int64]:
    """Return the rows of the nodes to draw: all of them, or a random sample."""
    if n <= MAX_NODES:
        return np.arange(n)
    logger.info("the map shows a random sample of %d of the %d nodes", MAX_NODES, n)
    return np.sort(np.random.default_rng(seed).permutation(n)[:MAX_NODES])


def classify(nodes: NDArray[Any], labels: Any, rows: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of the classes in natural order, and the class of each row; -1 is another one or none.

    A node with several labels belongs to the most frequent one.
    """
    known = as_labels(labels)
    indicator, n_unknown = known.align(nodes)
    if n_unknown:
        logger.info("%d labeled nodes are not in the embedding and are ignored", n_unknown)
    if indicator.nnz == 0 and known.n_labels:
        raise ParameterError(NO_LABELED_NODE)
    counts = np.bincount(indicator.indices, minlength=len(known.classes))
    frequent = [i for i in np.argsort(-counts, kind="stable")[:_MAX_CLASSES].tolist() if counts[i]]
    rank = np.full(len(known.classes), len(frequent))
    rank[frequent] = np.arange(len(frequent))
    best = np.full(len(nodes), len(frequent))
    np.minimum.at(best, np.repeat(np.arange(len(nodes)), np.diff(indicator.indptr)), rank[indicator.indices])
    texts = [str(known.classes.tolist()[i]) for i in frequent]
    order = sorted(range(len(frequent)), key=lambda i: natural_key(texts[i]))
    position = np.full(len(frequent) + 1, -1)
    position[order] = np.arange(len(frequent))
    return [_name(texts[i]) for i in order], position[best[rows]]


def _name(text: str) -> str:
    """Return text for a legend: short, and neither parsed as math nor hidden."""
    line = " ".join(text.split())
    return escape_text(line if len(line) <= _MAX_NAME else f"{line[: _MAX_NAME - 1]}…")


def _point_area(n: int) -> float:
    return float(np.clip(30_000 / max(n, 1), _MIN_POINT, _MAX_POINT))


def _opacity(n: int) -> float:
    return float(np.clip(1.1 - 0.1 * math.log10(max(n, 1)), 0.6, 0.9))


def _finish_map(axes: Any, embedding: "Embedding", level: int | None, n_shown: int) -> None:
    part = "all levels" if level is None and embedding.n_levels > 1 else "" if level is None else f"level {level}"
    shown = f"{n_shown:,} of {len(embedding):,} nodes" if n_shown < len(embedding) else f"{n_shown:,} nodes"
    _titles(axes, "Map of the nodes", ", ".join(filter(None, (shown, part, "positions by t-SNE"))))
    axes.spines[:].set_visible(False)
    entries = axes.get_legend_handles_labels()
    if entries[1]:
        draw_legend(axes, entries, loc="best")


def _titles(axes: Any, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", pad=20)
    axes.annotate(
        subtitle, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", fontsize=9.5, color=_GRAY
    )


def _open_frame(axes: Any, grid: str = "y") -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#e5e5e5", linewidth=0.6)
    axes.set_axisbelow(True)
