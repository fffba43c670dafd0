"""Static figures (SVG and PNG), drawn by matplotlib from the data of the interactive ones."""

from pathlib import Path
from typing import Any

import numpy as np

from boostne.io.atomic import atomic_path
from boostne.visualization.charts import Chart, Line
from boostne.visualization.level_map import LevelMap, level_name
from boostne.visualization.palette import LIGHT, MARKERS, class_style

# Formats of figures, and metadata that would change from run to run.
FIGURE_METADATA = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
_DPI = 200
_MAX_LEGEND_CLASSES = 20  # with more classes a legend is unreadable


def save_chart(chart: Chart, folder: Path) -> None:
    """Draw a chart and save it as ``folder/<chart name>.svg`` and ``.png``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4.2), layout="constrained")
    axes = figure.subplots()
    for line in chart.lines:
        _draw_line(axes, line)
    if chart.log_x:
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
    _save(figure, folder / chart.name)


def save_level_map(level_map: LevelMap, folder: Path) -> None:
    """Draw the maps of all levels side by side and save them as ``folder/map-<name>.svg`` and ``.png``."""
    from matplotlib.figure import Figure

    levels = sorted(level_map.positions)
    columns = min(3, len(levels))
    rows = -(-len(levels) // columns)
    figure = Figure(figsize=(3 * columns, 3.2 * rows + 1), layout="constrained")
    classes, class_of = level_map.classes()
    for axes, level in zip(figure.subplots(rows, columns, squeeze=False).flat, levels, strict=False):
        _draw_map(axes, level_map.positions[level], np.array(class_of), classes)
        name = level_name(level, levels[-1])
        axes.set_title("all levels" if name == "all" else f"level {name}", fontsize=10)
    for axes in figure.axes:
        axes.set_axis_off()
    figure.suptitle(level_map.name, x=0.01, ha="left", fontsize=12)
    if len(classes) <= _MAX_LEGEND_CLASSES:
        handles, names = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=5, frameon=False, fontsize=8, markerscale=2.5)
    _save(figure, folder / f"map-{level_map.name}")


def _draw_line(axes: Any, line: Line) -> None:
    color, marker = LIGHT[line.style % len(LIGHT)], MARKERS[line.style % len(MARKERS)].matplotlib
    style = {"linestyle": "--", "linewidth": 1.2} if line.reference else {"marker": marker, "capsize": 2}
    axes.errorbar(line.x, line.y, yerr=line.error, color=color, label=escape_text(line.name), **style)


def _draw_map(axes: Any, positions: Any, class_of: Any, classes: list[str]) -> None:
    axes.set_aspect("equal", adjustable="datalim")
    # Rasterized inside the SVG, which thousands of vector shapes would make large and slow to open.
    common: dict[str, Any] = {"s": 5, "alpha": 0.75, "linewidths": 0, "rasterized": True}
    axes.scatter(*positions[class_of < 0].T, color="#cccccc", **common)
    for i, name in enumerate(classes):
        color, marker = class_style(i)
        points = positions[class_of == i].T
        axes.scatter(*points, color=LIGHT[color], marker=marker.matplotlib, label=escape_text(name), **common)


def escape_text(text: str) -> str:
    """Escape text that matplotlib would parse as math, or hide from the legend (a leading underscore)."""
    escaped = text.replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped


def _save(figure: Any, path: Path) -> None:
    for suffix in (".svg", ".png"):
        save_figure(figure, path.with_name(path.name + suffix))


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure atomically, in the format of the suffix, with the same bytes for the same figure."""
    import matplotlib

    # A fixed salt makes the ids inside an SVG, and so its bytes, reproducible.
    with atomic_path(path) as temporary, matplotlib.rc_context({"svg.hashsalt": "boostne"}):
        figure.savefig(temporary, dpi=_DPI, metadata=FIGURE_METADATA[path.suffix.lower()])
