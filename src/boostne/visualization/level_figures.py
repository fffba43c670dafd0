"""Maps of all levels side by side, in files."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from boostne.labels import Labels
from boostne.node_ids import as_ids
from boostne.visualization.matplotlib_figures import save_vector_and_bitmap
from boostne.visualization.plots import classify, draw_legend, draw_nodes


def save_level_maps(
    path: Path, title: str, nodes: Sequence[str], labels: Labels | None, layouts: Sequence[NDArray[np.float64]]
) -> None:
    """Draw the maps of all levels together and of each level, and save them as ``path`` + ``.svg`` and ``.png``.

    Parameters
    ----------
    path : Path
        Without suffix.
    title : str
    nodes : sequence of str
    labels : Labels, optional
    layouts : sequence of arrays of shape (n, 2)
        The first one is of all levels, and the only one if there are no levels; item i is of level i.
    """
    from matplotlib.figure import Figure

    rows = np.arange(len(nodes))
    names, class_of = ([], np.full(len(nodes), -1)) if labels is None else classify(as_ids(nodes), labels, rows)
    width = math.ceil(math.sqrt(len(layouts) + 1))  # one cell for the legend
    height = math.ceil((len(layouts) + 1) / width)
    figure = Figure(figsize=(2.9 * width, 3.1 * height), layout="constrained")
    cells = list(figure.subplots(height, width, squeeze=False).flat)
    for level, (axes, points) in enumerate(zip(cells, layouts, strict=False)):
        draw_nodes(axes, points, names, class_of)
        axes.set_title(f"level {level}" if level else "all levels", fontsize=10)
    for axes in cells:
        axes.set_axis_off()
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    if names:
        draw_legend(cells[len(layouts)], cells[0].get_legend_handles_labels(), loc="upper left")
    save_vector_and_bitmap(figure, path)
