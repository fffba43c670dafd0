"""The demo: the graph of the handwritten digits, embedded, scored, plotted and explored."""

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
from boostne.models import BoostNE
from boostne.progress import Progress, ProgressCallback
from boostne.visualization.explorer import write_explorer_page
from boostne.visualization.layout import flat_map
from boostne.visualization.palette import LIGHT

TRAIN = (10, 50, 90)
REPEATS = 5


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
    residuals : ndarray
        ``||R_{i+1}|| / ||X||`` after i = 0 … k levels.
    train : tuple of int
        Percentages of the nodes used for training.
    scores : dict
        Mean Micro-F1 for each of ``train``, by kind of vectors.
    """

    embedding: Embedding
    digits: NDArray[np.int64]
    residuals: NDArray[np.float64]
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
    """Embed the digits with eight levels and with one, and score both and the pixels."""
    progress(Progress("digits", 0.0, "10 nearest neighbors of 1,797 images"))
    data = load_dataset("digits")
    boosted = BoostNE(dimensions=128, levels=8).fit(data.graph, progress=progress)
    single = BoostNE(dimensions=128, levels=1).fit(data.graph, progress=progress)
    candidates: dict[str, Any] = {
        "boostne, 8 levels × 16": boosted.embedding_,
        "boostne, 1 level × 128": single.embedding_,
        "the 64 pixels": (data.graph.nodes, data.features),
    }
    scores = {}
    for i, (name, vectors) in enumerate(candidates.items()):
        progress(Progress("scoring", i / len(candidates), name))
        found = evaluate(vectors, data.labels, train=TRAIN, repeats=REPEATS)
        scores[name] = found.mean("micro").tolist()
    return DemoResult(
        embedding=boosted.embedding_,
        digits=data.labels.classes[data.labels.matrix.indices],
        residuals=boosted.residual_norms_ / boosted.residual_norms_[0],
        train=TRAIN,
        scores=scores,
    )


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
    """Plot the map of the digits, and the norm of the residual after each level."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    progress(Progress("map", 0.0, "t-SNE of the vectors"))
    points = flat_map(result.embedding.vectors)
    layout = ConstrainedLayoutEngine(w_pad=0.2, h_pad=0.15, wspace=0.03)
    figure = Figure(figsize=(12, 6.4), dpi=150, layout=layout)
    left, right = figure.subplots(1, 2, width_ratios=(1.6, 1))
    _plot_map(left, points, result.digits)
    _plot_residuals(right, result.residuals)
    with atomic_path(path) as temporary:
        figure.savefig(temporary)


def _plot_map(axes: Any, points: NDArray[np.float64], digits: NDArray[np.int64]) -> None:
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
    _title(
        axes,
        "Handwritten digits, embedded from their links alone",
        "one dot per image; colors show the true digits, which were not used",
    )
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.02)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def _medoid(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the point with the smallest total distance to all others, which is robust to outliers."""
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    return np.asarray(points[distances.sum(axis=1).argmin()])


def _plot_residuals(axes: Any, residuals: NDArray[np.float64]) -> None:
    levels = np.arange(len(residuals))
    bars = axes.bar(levels, residuals, color=["#bbbbbb"] + ["#0072b2"] * (len(levels) - 1), width=0.72)
    axes.bar_label(bars, labels=[f"{value:.2f}" for value in residuals], padding=3, fontsize=10)
    _title(axes, "Residual after each level", "relative norm, ‖R‖ / ‖X‖")
    axes.set_xlabel("levels")
    axes.set_xticks(levels)
    axes.set_ylim(0, 1.06)
    axes.spines[["top", "right"]].set_visible(False)


def _title(axes: Any, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=14, fontweight="bold", pad=26)
    axes.annotate(
        subtitle, (0, 1), (0, 10), xycoords="axes fraction", textcoords="offset points", fontsize=11, color="#555555"
    )
