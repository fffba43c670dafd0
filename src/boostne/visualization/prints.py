"""The figures for print, drawn by matplotlib from the same data as the page's: SVG and PNG."""

from pathlib import Path
from typing import Any

import numpy as np

from boostne.io.atomic import atomic_path
from boostne.visualization.charts import Chart, Line
from boostne.visualization.maps import LevelMap, level_name
from boostne.visualization.palette import LIGHT, MARKS, look

_DPI = 200
_LEGEND_CLASSES = 20  # more names than these make a legend that nobody reads


def print_chart(chart: Chart, folder: Path) -> list[Path]:
    """Draw a chart; returns the files written."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4.2), layout="constrained")
    axes = figure.subplots()
    for line in chart.lines:
        _draw_line(axes, line)
    if chart.doubling:
        axes.set_xscale("log", base=2)
    axes.set_xticks(chart.ticks, [f"{tick:g}" for tick in chart.ticks])
    axes.minorticks_off()
    if chart.from_zero:
        axes.set_ylim(bottom=0)
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    axes.set_title(chart.title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e5e5e5", linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=9)
    return _save(figure, folder / chart.name)


def print_map(found: LevelMap, path: Path) -> list[Path]:
    """Draw the maps of all levels beside each other; returns the files written."""
    from matplotlib.figure import Figure

    levels = sorted(found.places)
    across = min(3, len(levels))
    down = -(-len(levels) // across)
    figure = Figure(figsize=(3 * across, 3.2 * down + 1), layout="constrained")
    classes, class_of = found.classes()
    for axes, level in zip(figure.subplots(down, across, squeeze=False).flat, levels, strict=False):
        _draw_map(axes, found.places[level], np.array(class_of), classes)
        name = level_name(level, levels[-1])
        axes.set_title("all levels joined" if name == "all" else f"level {name}", fontsize=10)
    for axes in figure.axes:
        axes.set_axis_off()
    figure.suptitle(found.name, x=0.01, ha="left", fontsize=12)
    if len(classes) <= _LEGEND_CLASSES:
        handles, names = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles, names, loc="outside lower left", ncols=5, frameon=False, fontsize=8, markerscale=2.5
        )
    return _save(figure, path)


def _draw_line(axes: Any, line: Line) -> None:
    color, mark = LIGHT[line.look % len(LIGHT)], MARKS[line.look % len(MARKS)]
    style = {"linestyle": "--", "linewidth": 1.2} if line.level else {"marker": mark.matplotlib, "capsize": 2}
    axes.errorbar(line.x, line.y, yerr=line.error, color=color, label=_literal(line.name), **style)


def _draw_map(axes: Any, places: Any, class_of: Any, classes: list[str]) -> None:
    axes.set_aspect("equal", adjustable="datalim")
    # Dots as a picture inside the SVG: thousands of shapes make it slow to open, and larger.
    common: dict[str, Any] = {"s": 5, "alpha": 0.75, "linewidths": 0, "rasterized": True}
    axes.scatter(*places[class_of < 0].T, color="#cccccc", **common)
    for i, name in enumerate(classes):
        color, mark = look(i)
        points = places[class_of == i].T
        axes.scatter(*points, color=LIGHT[color], marker=mark.matplotlib, label=_literal(name), **common)


def _literal(text: str) -> str:
    """Return a text that matplotlib does not take for mathematics, or for a name to leave out."""
    shown = text.replace("$", r"\$")
    return f"\u200b{shown}" if shown.startswith("_") else shown


def _save(figure: Any, path: Path) -> list[Path]:
    import matplotlib

    written = []
    for suffix, metadata in ((".svg", {"Date": None}), (".png", {"Software": None})):
        target = path.with_name(path.name + suffix)
        # The salt makes the names inside an SVG, and so its bytes, the same each time.
        with atomic_path(target) as temporary, matplotlib.rc_context({"svg.hashsalt": "boostne"}):
            figure.savefig(temporary, dpi=_DPI, metadata=metadata)
        written.append(target)
    return written
