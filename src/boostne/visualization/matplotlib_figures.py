"""Charts in files (SVG and PNG), drawn by matplotlib from the same data as those in pages."""

from pathlib import Path
from typing import Any

from boostne.io.atomic import atomic_path
from boostne.visualization.charts import Chart, Line
from boostne.visualization.palette import LIGHT, MARKERS

# Formats of figures, and metadata that would change from run to run.
FIGURE_METADATA = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
_DPI = 200


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
    axes.set_title(chart.title, loc="left", fontsize=11, pad=18)
    axes.annotate(chart.subtitle, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e5e5e5", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(loc="best", fontsize=8, framealpha=0.8, edgecolor="none")
    save_vector_and_bitmap(figure, folder / chart.name)


def _draw_line(axes: Any, line: Line) -> None:
    color, marker = LIGHT[line.style % len(LIGHT)], MARKERS[line.style % len(MARKERS)].matplotlib
    style = {"linestyle": "--", "linewidth": 1.2} if line.reference else {"marker": marker, "capsize": 2}
    axes.errorbar(line.x, line.y, yerr=line.error, color=color, label=escape_text(line.name), **style)


def escape_text(text: str) -> str:
    """Escape text that matplotlib would parse as math, or hide from the legend (a leading underscore)."""
    escaped = text.replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped


def save_vector_and_bitmap(figure: Any, path: Path) -> None:
    """Save a figure as ``path`` + ``.svg`` and ``.png``."""
    for suffix in (".svg", ".png"):
        save_figure(figure, path.with_name(path.name + suffix))


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure atomically, in the format of the suffix, with the same bytes for the same figure."""
    import matplotlib

    # A fixed salt makes the ids inside an SVG, and so its bytes, reproducible.
    with atomic_path(path) as temporary, matplotlib.rc_context({"svg.hashsalt": "boostne"}):
        figure.savefig(temporary, dpi=_DPI, metadata=FIGURE_METADATA[path.suffix.lower()])
