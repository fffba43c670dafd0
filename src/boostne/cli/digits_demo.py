"""The demo: the graph of the handwritten digits, embedded, scored with few labels, plotted and explored."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.datasets import load_dataset
from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.evaluation import evaluate
from boostne.io.atomic import atomic_path, check_writable
from boostne.models import BoostNE, DeepWalk, SpectralClustering
from boostne.progress import Progress, ProgressCallback
from boostne.visualization.explorer import write_explorer_page
from boostne.visualization.layout import flat_map
from boostne.visualization.palette import LIGHT

TRAIN = (1, 2, 5)  # with more labels, all methods score alike
REPEATS = 10
DIMENSIONS = 128
FACTION_COLORS = (LIGHT[0], LIGHT[1])


class DemoFiles(NamedTuple):
    """Output files of the demo."""

    embedding: Path
    picture: Path
    explorer: Path


@dataclass(frozen=True, eq=False)
class DemoResult:
    """Results of the demo.

    Attributes
    ----------
    embedding : Embedding
        Multi-level embedding of the digits.
    digits : ndarray
        The digit of each node.
    train : tuple of int
        Percentages of the nodes used for training.
    scores : dict
        Mean Micro-F1 for each of ``train``, by kind of vectors.
    """

    embedding: Embedding
    digits: NDArray[np.int64]
    train: tuple[int, ...]
    scores: dict[str, list[float]]


def prepare(folder: Path) -> DemoFiles:
    """Create the folder if it is missing, and check that files can be written there."""
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{folder} is a file; give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    files = DemoFiles(folder / "digits.npz", folder / "digits.png", folder / "digits.html")
    for file in files:
        check_writable(file)
    return files


def compute(progress: ProgressCallback) -> DemoResult:
    """Embed the digits by several methods, and score the vectors and the pixels."""
    progress(Progress("digits", 0.0, "10 nearest neighbors of 1,797 images"))
    data = load_dataset("digits")
    methods = {
        "boostne, 8 levels × 16": BoostNE(DIMENSIONS, levels=8),
        "boostne, 1 level × 128": BoostNE(DIMENSIONS, levels=1),
        "DeepWalk": DeepWalk(DIMENSIONS, walks=10),
        "spectral clustering": SpectralClustering(DIMENSIONS),
    }
    candidates: dict[str, Any] = {
        name: method.fit(data.graph, progress=progress).embedding_ for name, method in methods.items()
    }
    boosted = next(iter(candidates.values()))
    candidates["the 64 pixels"] = (data.graph.nodes, data.features)
    scores = {}
    for i, (name, vectors) in enumerate(candidates.items()):
        progress(Progress("scoring", i / len(candidates), name))
        scores[name] = evaluate(vectors, data.labels, train=TRAIN, repeats=REPEATS).mean("micro").tolist()
    digits = data.labels.classes[data.labels.matrix.indices]
    return DemoResult(embedding=boosted, digits=digits, train=TRAIN, scores=scores)


def write_explorer(result: DemoResult, path: Path, progress: ProgressCallback) -> None:
    """Write an interactive map of all levels."""
    data = load_dataset("digits")
    write_explorer_page(path, result.embedding, data.labels, data.graph, title="Handwritten digits", progress=progress)


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def plot(result: DemoResult, path: Path, progress: ProgressCallback) -> None:
    """Plot the digits by level 1 and by all levels, and the two factions of the karate club."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.2, h_pad=0.15, wspace=0.03)
    figure = Figure(figsize=(15, 5.8), dpi=120, layout=layout)
    axes = figure.subplots(1, 3, width_ratios=(1, 1, 0.85))
    maps = {
        "Digits, level 1: coarse": ("16 of 128 numbers per image, from links alone", result.embedding.level(1)),
        "Digits, all levels: fine": ("colors are the true digits, which were not used", result.embedding.vectors),
    }
    for i, (title, (subtitle, vectors)) in enumerate(maps.items()):
        progress(Progress("map", i / len(maps), f"t-SNE: {title}"))
        _plot_digits(axes[i], flat_map(vectors), result.digits)
        _finish_map(axes[i], title, subtitle)
    _plot_club(axes[2])
    with atomic_path(path) as temporary:
        figure.savefig(temporary)


def _plot_digits(axes: Any, points: NDArray[np.float64], digits: NDArray[np.int64]) -> None:
    from matplotlib.patheffects import withStroke

    for digit, color in enumerate(LIGHT):
        axes.scatter(*points[digits == digit].T, s=13, color=color, alpha=0.75, linewidths=0)
    for digit, color in enumerate(LIGHT):
        axes.annotate(
            str(digit),
            _medoid(points[digits == digit]),
            ha="center",
            va="center",
            fontsize=26,
            fontweight="bold",
            color=color,
            path_effects=[withStroke(linewidth=6, foreground="white", alpha=0.9)],
        )


def _medoid(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the point with the smallest total distance to all others, which is robust to outliers."""
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    return np.asarray(points[distances.sum(axis=1).argmin()])


def _plot_club(axes: Any) -> None:
    """Draw the karate club with its friendships, the nodes placed by their vectors and colored by faction."""
    data = load_dataset("karate")
    points = flat_map(BoostNE(8, levels=2).fit_transform(data.graph))
    rows, columns = data.graph.adjacency.nonzero()
    for u, v in zip(rows.tolist(), columns.tolist(), strict=True):
        axes.plot(*points[[u, v]].T, color="#cccccc", linewidth=0.8, zorder=1)
    faction = data.labels.matrix.indices
    for i, (name, color) in enumerate(zip(data.labels.classes, FACTION_COLORS, strict=True)):
        axes.scatter(*points[faction == i].T, s=70, color=color, label=str(name), zorder=2)
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, -0.08), ncols=2, fontsize=11)
    _finish_map(axes, "Karate club: two factions", "placed by the friendships before the split, colored by side")


def _finish_map(axes: Any, title: str, subtitle: str) -> None:
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.02)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.set_title(title, loc="left", fontsize=14, fontweight="bold", pad=26)
    axes.annotate(
        subtitle, (0, 1), (0, 10), xycoords="axes fraction", textcoords="offset points", fontsize=11, color="#555555"
    )
