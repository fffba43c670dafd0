"""The paper's curves as SVG: approximation error and F1 against the number of levels."""

from pathlib import Path
from typing import Any

from boostne.io.atomic import atomic_path
from boostne.reproduction.tables import Row

# Apart for the colour-blind too, and in print by their markers.
LOOKS = (("#0072b2", "o"), ("#d55e00", "s"), ("#117733", "^"), ("#882255", "D"), ("#555555", "v"))
TITLES = {"micro-f1": "Micro-F1", "macro-f1": "Macro-F1"}


def draw_figures(errors: list[Row], levels: list[Row], folder: Path) -> list[Path]:
    """Draw what ``approximation.csv`` and ``levels.csv`` hold; nothing where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return []
    if not errors:
        return []
    folder.mkdir(exist_ok=True)
    pictures = [_save(_errors(errors), folder / "approximation.svg")]
    pictures += [
        _save(
            _curves([row for row in levels if row["dataset"] == dataset], dataset), folder / f"{dataset}.svg"
        )
        for dataset in dict.fromkeys(row["dataset"] for row in levels)
    ]
    return pictures


def _errors(rows: list[Row]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for (colour, marker), dataset in zip(LOOKS, dict.fromkeys(row["dataset"] for row in rows), strict=False):
        here = [row for row in rows if row["dataset"] == dataset]
        _line(axes, here, "relative_error", color=colour, marker=marker, label=dataset)
    axes.set_ylabel("‖residual‖ / ‖X‖")
    axes.set_title("What k levels leave of X", loc="left")
    _finish(axes, rows)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure


def _curves(rows: list[Row], dataset: str) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, (metric, title) in zip(figure.subplots(1, 2), TITLES.items(), strict=True):
        here = [row for row in rows if row["metric"] == metric]
        ratios = dict.fromkeys(row["train_percent"] for row in here)
        for (colour, marker), ratio in zip(LOOKS, ratios, strict=False):
            at = [row for row in here if row["train_percent"] == ratio]
            _line(
                axes,
                [row for row in at if row["method"] == "BoostNE"],
                "mean",
                color=colour,
                marker=marker,
                label=f"BoostNE, {ratio} %",
            )
            for row in at:
                if row["method"] == "NetMF":
                    axes.axhline(float(row["mean"]), color=colour, linestyle="--", label=f"NetMF, {ratio} %")
        axes.set_title(f"{dataset}: {title}", loc="left")
        _finish(axes, here)
    axes.legend(frameon=False, fontsize="small")
    return figure


def _line(axes: Any, rows: list[Row], column: str, **look: Any) -> None:
    axes.plot([int(row["k"]) for row in rows], [float(row[column]) for row in rows], **look)


def _finish(axes: Any, rows: list[Row]) -> None:
    ticks = sorted({int(row["k"]) for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.set_xlabel("levels k")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)


def _save(figure: Any, path: Path) -> Path:
    from matplotlib import rc_context

    # No date and no random names, so that the same curves give the same file.
    with rc_context({"svg.hashsalt": "boostne"}), atomic_path(path) as temporary:
        figure.savefig(temporary, metadata={"Date": None})
    return path
