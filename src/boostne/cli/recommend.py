"""The command ``recommend``."""

import json
from typing import Any

import click

from boostne.cli.command import Command, debug_option, json_option, quiet_option
from boostne.cli.file_options import GRAPH_FILE_OPTIONS, GRAPH_FILE_SECTION
from boostne.cli.inputs import load_graph_of
from boostne.cli.node_arguments import find_node
from boostne.cli.options import at_least
from boostne.cli.outputs import check_output
from boostne.cli.session import session_of
from boostne.progress import Progress


@click.command(
    cls=Command,
    help="""Recommend nodes of the other side of a bipartite graph, such as items for users, or targets of links.

    MODEL is a file written by 'boostne embed --model' with --bipartite or --directed. NODE is a node of either side, or
    the source of links. Nodes with the highest scores come first; those that are neighbors in the graph are left out.
    A model of a directed graph does not keep the edges, so that it needs --graph or --include-known.
    """,
    examples=[
        "boostne embed purchases.csv -o users.npz --bipartite --model model.npz",
        "boostne recommend model.npz ann bob -n 5",
        "boostne recommend model.npz ann -o recommended.csv",
        "boostne recommend model.npz zoe --graph purchases-today.csv",
    ],
    sections={GRAPH_FILE_SECTION: GRAPH_FILE_OPTIONS},
)
@click.argument("model")
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
@click.option(
    "-n", "--count", type=int, metavar="N", default=10, show_default=True, callback=at_least(1), help="How many nodes."
)
@click.option("-o", "--output", metavar="FILE", help="CSV file to write instead of printing.")
@click.option("--graph", metavar="GRAPH", help="The graph as it is now: its new nodes get vectors from the model.")
@click.option("--include-known", is_flag=True, help="Do not leave out the neighbors in the graph.")
@json_option
@quiet_option
@debug_option
@click.pass_context
def recommend(
    ctx: click.Context,
    /,
    model: str,
    nodes: tuple[str, ...],
    count: int,
    output: str | None,
    graph: str | None,
    include_known: bool,
    as_json: bool,
    **_: Any,
) -> None:
    """Run ``boostne recommend``."""
    from boostne.io.writing import write_columns
    from boostne.models import BoostNE

    if output is not None:
        if as_json:
            raise click.UsageError("--json prints, and -o writes a CSV file: give one of them.")
        check_output(output, [model, *([] if graph is None else [graph])])
    screen = session_of(ctx).screen
    with screen.progress() as progress:
        progress(Progress("reading", 0, model))
        fitted = BoostNE.load(model)
        progress(Progress("scoring", 0.5))
        # One by one, since they may be on different sides.
        network = None if graph is None else load_graph_of(ctx, graph, fitted)
        candidates = [fitted.embedding_, fitted.targets_, network]
        wanted = [find_node(node, *(one for one in candidates if one is not None)) for node in nodes]
        found = {node: fitted.recommend(node, count, exclude_known=not include_known, graph=network) for node in wanted}
    rows = [(node, other, score) for node, best in found.items() for other, score in best]
    if as_json:
        click.echo(json.dumps([dict(zip(_COLUMNS, row, strict=True)) for row in rows], indent=2))
    elif output is not None:
        write_columns({name: [_cell(row[i]) for row in rows] for i, name in enumerate(_COLUMNS)}, output)
    elif rows:
        _print(rows)
    if not screen.quiet:
        for node in (node for node, best in found.items() if not best):
            screen.note("note", f"there is nothing to recommend for {node!r}: it has no edges, or knows all that score")


_COLUMNS = ("node", "recommended", "score")


def _cell(value: Any) -> Any:
    from boostne.io.spreadsheets import escape_formula

    return escape_formula(value) if isinstance(value, str) else value


def _print(rows: list[tuple[Any, Any, float]]) -> None:
    table = [_COLUMNS, *((str(node), str(other), f"{score:.4g}") for node, other, score in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(2)]
    for row in table:
        click.echo(f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}")
