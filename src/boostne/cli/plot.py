"""The command ``plot``."""

from pathlib import Path
from typing import Any

import click

from boostne.cli.command import Command, debug_option, quiet_option
from boostne.cli.file_options import (
    EMBEDDING_FILE_OPTIONS,
    EMBEDDING_FILE_SECTION,
    LABEL_FILE_OPTIONS,
    LABEL_FILE_SECTION,
)
from boostne.cli.inputs import load_embedding, load_labels
from boostne.cli.options import at_least
from boostne.cli.outputs import check_output
from boostne.cli.session import session_of
from boostne.errors import FileFormatError, ParameterError
from boostne.progress import Progress


@click.command(
    cls=Command,
    help="""Draw a map of the nodes, with similar ones close to each other.

    EMBEDDING is a file written by 'boostne embed' or another tool. Positions are computed by t-SNE; of more than 5,000
    nodes, a random sample is drawn.
    """,
    examples=[
        "boostne plot vectors.npz -o map.png",
        "boostne plot vectors.npz --labels labels.txt -o map.svg",
        "boostne plot cora.npz --labels cora --level 1 -o cora.png",
    ],
    sections={LABEL_FILE_SECTION: LABEL_FILE_OPTIONS, EMBEDDING_FILE_SECTION: EMBEDDING_FILE_OPTIONS},
)
@click.argument("vectors", metavar="EMBEDDING")
@click.option("-o", "--output", metavar="FILE", required=True, help="Picture to write: .png, .svg or .pdf.")
@click.option("--labels", metavar="LABELS", help="Color the nodes by label: a file or the name of a data set.")
@click.option(
    "--level",
    type=int,
    metavar="I",
    callback=at_least(1),
    help="Draw the vectors of this level only, from 1, the coarsest.",
)
@click.option(
    "--seed",
    type=int,
    metavar="N",
    default=0,
    show_default=True,
    callback=at_least(0),
    help="Random seed of the positions and of the sample.",
)
@quiet_option
@debug_option
@click.pass_context
def plot(
    ctx: click.Context, /, vectors: str, output: str, labels: str | None, level: int | None, seed: int, **_: Any
) -> None:
    """Run ``boostne plot``."""
    from boostne.visualization.extras import require_matplotlib
    from boostne.visualization.matplotlib_figures import FIGURE_METADATA, save_figure
    from boostne.visualization.plots import MAP_SIZE

    suffix = Path(output).suffix.lower()
    if suffix not in FIGURE_METADATA:
        known = ", ".join(FIGURE_METADATA)
        raise ParameterError(f"{output}: the suffix of a picture must be one of {known}, got {suffix or 'none'!r}")
    check_output(output, [vectors] if labels is None else [vectors, labels])
    require_matplotlib()
    from matplotlib.figure import Figure

    screen = session_of(ctx).screen
    with screen.progress() as progress:
        progress(Progress("reading", 0, vectors))
        embedding = load_embedding(ctx, vectors)
        if not len(embedding):
            raise FileFormatError(f"{vectors}: no vectors, so there is nothing to draw")
        truth = None if labels is None else load_labels(ctx, labels)
        progress(Progress("map", 0, "t-SNE of the vectors"))
        figure = Figure(figsize=MAP_SIZE, layout="constrained")
        embedding.plot(truth, level=level, ax=figure.subplots(), seed=seed)
        save_figure(figure, Path(output))
    if not screen.quiet:
        click.echo(f"wrote {output}")
