"""The command ``similar``."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.command import Command, debug_option, json_option, no_notes_option
from boostne.cli.file_options import EMBEDDING_FILE_OPTIONS, EMBEDDING_FILE_SECTION
from boostne.cli.inputs import load_embedding
from boostne.cli.node_arguments import find_node
from boostne.cli.options import at_least
from boostne.cli.screen import print_table
from boostne.cli.session import session_of
from boostne.cli.streams import one_line
from boostne.progress import Progress

if TYPE_CHECKING:
    pass


@click.command(
    cls=Command,
    help="""Find the nodes whose vectors are most similar to those of given nodes.

    EMBEDDING is a file written by 'boostne embed' or another tool. The similarity is the cosine of the angle between
    two vectors; the search is exact. Put '--' before the nodes if one begins with a hyphen.
    """,
    examples=[
        "boostne similar vectors.npz alice",
        "boostne similar vectors.npz alice bob -n 3 --level 1",
        "boostne similar vectors.npz --json -- -17",
    ],
    sections={EMBEDDING_FILE_SECTION: EMBEDDING_FILE_OPTIONS},
)
@click.argument("vectors", metavar="EMBEDDING")
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
@click.option(
    "-n",
    "--count",
    type=int,
    metavar="N",
    default=10,
    show_default=True,
    callback=at_least(1),
    help="Number of similar nodes.",
)
@click.option(
    "--level",
    type=int,
    metavar="I",
    callback=at_least(1),
    help="Compare the vectors of this level only, from 1, the coarsest.",
)
@click.option(
    "--threads",
    type=int,
    metavar="N",
    callback=at_least(1),
    help="Number of threads; the result does not depend on it. By default all cores.",
)
@json_option
@no_notes_option
@debug_option
@click.pass_context
def similar(
    ctx: click.Context,
    /,
    vectors: str,
    nodes: Sequence[str],
    count: int,
    level: int | None,
    threads: int | None,
    as_json: bool,
    **_: Any,
) -> None:
    """Run ``boostne similar``."""
    with session_of(ctx).screen.progress() as progress:
        progress(Progress("reading", 0, vectors))
        embedding = load_embedding(ctx, vectors)
        queried = [find_node(text, embedding) for text in nodes]
        progress(Progress("searching", 0, f"{len(embedding):,} vectors"))
        found = embedding.most_similar(queried, count, level=level, threads=threads)
    rows = [(node, *pair) for node, pairs in zip(queried, found, strict=True) for pair in pairs]
    if as_json:
        lists = (
            {"node": node, "similar": [{"node": other, "similarity": value} for other, value in pairs]}
            for node, pairs in zip(queried, found, strict=True)
        )
        click.echo(json.dumps(list(lists), indent=2))
    else:
        columns = [0, 1, 2] if len(queried) > 1 else [1, 2]  # the queried node only if there are several
        table = [[one_line(str(node)), one_line(str(other)), f"{value:.4f}"] for node, other, value in rows]
        print_table(
            [("node", "similar", "similarity")[j] for j in columns],
            [[row[j] for j in columns] for row in table],
            right=(len(columns) - 1,),
        )
