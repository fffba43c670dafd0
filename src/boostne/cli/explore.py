"""The command ``explore``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.command import Command, debug_option, quiet_option
from boostne.cli.file_options import (
    EMBEDDING_FILE_OPTIONS,
    EMBEDDING_FILE_SECTION,
    GRAPH_FILE_OPTIONS,
    GRAPH_FILE_SECTION,
    LABEL_FILE_OPTIONS,
    LABEL_FILE_SECTION,
)
from boostne.cli.inputs import load_embedding, load_graph, load_labels
from boostne.cli.options import at_least, to_undirected_option
from boostne.cli.outputs import check_output
from boostne.cli.screen import Screen, describe_embedding, print_pairs
from boostne.cli.session import session_of
from boostne.progress import Progress

if TYPE_CHECKING:
    from boostne.embedding import Embedding


@click.command(
    cls=Command,
    help="""Show an interactive map of an embedding, level by level.

    EMBEDDING is a file of vectors by any method. With -o, the map is one HTML page that opens from disk and needs no
    network. Without, it is served on this computer until Ctrl-C, which also works for a million nodes. LABELS and
    GRAPH are files or names of data sets.
    """,
    examples=[
        "boostne explore digits.npz --labels digits --graph digits -o digits.html",
        "boostne explore vectors.npz --labels labels.txt",
    ],
    sections={
        EMBEDDING_FILE_SECTION: EMBEDDING_FILE_OPTIONS,
        LABEL_FILE_SECTION: LABEL_FILE_OPTIONS,
        GRAPH_FILE_SECTION: GRAPH_FILE_OPTIONS,
    },
)
@click.argument("vectors", metavar="EMBEDDING")
@click.option("--labels", metavar="LABELS", help="Color the nodes by label and name the regions of the map.")
@click.option("--graph", metavar="GRAPH", help="Add degrees, communities and the edges of the selected node.")
@click.option("-o", "--output", metavar="FILE", help="HTML page to write; without it, the map is served.")
@click.option("--title", metavar="TEXT", help="Heading of the page; by default the name of the file.")
@click.option(
    "--seed", type=int, metavar="N", default=0, show_default=True, callback=at_least(0), help="Seed of the layout."
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Port of the server; by default the first free one from 8765 on.",
)
@to_undirected_option
@quiet_option
@debug_option
@click.pass_context
def explore(
    ctx: click.Context,
    /,
    vectors: str,
    labels: str | None,
    graph: str | None,
    output: str | None,
    title: str | None,
    seed: int,
    port: int | None,
    **_: Any,
) -> None:
    """Run ``boostne explore``."""
    _check_file_options(ctx)
    if output is not None:
        if port is not None:
            raise click.UsageError("--port belongs to the server: give either --port or -o.")
        check_output(output, [name for name in (vectors, labels, graph) if name])
    screen = session_of(ctx).screen
    with screen.progress() as progress:
        progress(Progress("reading", 0, ", ".join(filter(None, (vectors, labels, graph)))))
        embedding = load_embedding(ctx, vectors)
        settings: dict[str, Any] = {
            "labels": load_labels(ctx, labels) if labels else None,
            "graph": load_graph(ctx, graph) if graph else None,
            "title": title or Path(vectors).name,
            "seed": seed,
        }
        if output is not None:
            from boostne.visualization.explorer import write_explorer_page

            write_explorer_page(output, embedding, **settings, progress=progress)
    if output is None:
        _serve(screen, embedding, settings, port)
    elif not screen.quiet:
        size = f"{Path(output).stat().st_size / 1e6:.1f} MB"
        print_pairs({"vectors": describe_embedding(embedding), "written": f"{output}, {size}"})


def _check_file_options(ctx: click.Context) -> None:
    """Raise UsageError for an option on a file that is not given."""
    for argument, options in (("labels", LABEL_FILE_OPTIONS), ("graph", GRAPH_FILE_OPTIONS)):
        if ctx.params[argument] is None:
            for option in options:
                if ctx.params[option.name] is not None:
                    raise click.UsageError(f"{option.flag} needs --{argument} {argument.upper()}.")
    if ctx.params["to_undirected"] and ctx.params["graph"] is None:
        raise click.UsageError("--to-undirected needs --graph GRAPH.")


def _serve(screen: Screen, embedding: "Embedding", settings: dict[str, Any], port: int | None) -> None:
    from boostne.visualization.explorer import ExplorerServer

    with ExplorerServer(embedding, **settings, port=port) as server:
        # Printed with --quiet, too: nobody could open the map without the address.
        click.echo(server.address)
        if not screen.quiet:
            screen.note("note", "open this address in a browser on this computer; Ctrl-C stops the server")
        try:
            server.serve()
        except KeyboardInterrupt as error:
            if type(error) is not KeyboardInterrupt:  # SIGTERM and SIGHUP keep their exit codes
                raise
