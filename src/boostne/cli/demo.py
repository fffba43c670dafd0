"""The command ``demo``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from boostne.cli.command import Command, debug_option, quiet_option
from boostne.cli.screen import describe_embedding, print_table
from boostne.cli.session import session_of

if TYPE_CHECKING:
    from boostne.cli.digits_demo import DemoResult


@click.command(
    cls=Command,
    help="""Embed, score, plot and explore the built-in digits.

    The graph links each of 1,797 images of handwritten digits to its ten nearest neighbors; 1, 2 and 5 % of the images
    are labeled. Writes digits.npz (the embedding), digits.png (maps of its first level, of all levels, and of the
    karate club) and digits.html (an interactive map of all levels). Takes seconds and needs no network.
    """,
    examples=["boostne demo", "boostne demo -o digits-demo"],
)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    default="demo",
    show_default=True,
    help="Output folder; created if missing.",
)
@quiet_option
@debug_option
@click.pass_context
def demo(ctx: click.Context, /, folder: str) -> None:
    """Run ``boostne demo``."""
    from boostne.cli import digits_demo

    session = session_of(ctx)
    files = digits_demo.prepare(Path(folder))
    with session.screen.progress() as progress:
        result = digits_demo.compute(progress)
        result.embedding.save(files.embedding)
    if not session.screen.quiet:
        click.echo("Micro-F1 by percentage of digits that are labeled")
        _print_scores(result)
        click.echo(f"wrote {files.embedding}: {describe_embedding(result.embedding)}")
    if digits_demo.can_plot():
        with session.screen.progress() as progress:
            digits_demo.plot(result, files.picture, progress)
        picture = f"wrote {files.picture}: the digits by level 1 and by all levels; the karate club"
    else:
        picture = 'no picture, because matplotlib is not installed: pip install "boostne[viz]"'
    with session.screen.progress() as progress:
        digits_demo.write_explorer(result, files.explorer, progress)
    if not session.screen.quiet:
        click.echo(picture)
        click.echo(f"wrote {files.explorer}: interactive map of all levels; open it in a browser")
        click.echo(f"\nnext: boostne evaluate {files.embedding} digits")
        click.echo("      boostne embed YOUR_EDGES.csv -o vectors.npz")


def _print_scores(result: "DemoResult") -> None:
    print_table(
        ["vectors", *(f"{ratio:g}%" for ratio in result.train)],
        [[name, *(f"{score:.3f}" for score in scores)] for name, scores in result.scores.items()],
        right=tuple(range(1, 1 + len(result.train))),
    )
