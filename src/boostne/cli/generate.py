"""The command ``generate``."""

from typing import Any

import click

from boostne.cli.command import Command, debug_option, quiet_option
from boostne.cli.options import at_least, given, options_of
from boostne.cli.outputs import check_output
from boostne.cli.screen import print_pairs
from boostne.cli.session import session_of

_parameter = options_of("boostne.generators:planted_partition")

GENERATOR_OPTIONS = (
    _parameter("--communities", int,
               "Number of communities, of nearly equal size; the label of a node is the number of its community."),
    _parameter("--mean-degree", float, "Mean degree; at least 2."),
    _parameter("--mixing", float, "Fraction of the edges that ignore the communities."),
    _parameter("--exponent", float,
               "Exponent γ of the degree distribution p(θ) ~ θ^-γ, above 2; the larger, the more equal the degrees."),
    _parameter("--seed", int, "Random seed. The same seed gives the same graph.", callback=at_least(0)),
)  # fmt: skip


@click.command(
    cls=Command,
    help="""Write a random graph with communities and hubs.

    EDGES is the CSV file to write. A graph with a million nodes takes seconds.
    """,
    examples=["boostne generate edges.csv --labels labels.csv --nodes 100000 --communities 20"],
    sections={"Graph": GENERATOR_OPTIONS},
)
@click.argument("edges")
@click.option("--labels", metavar="FILE", help="CSV file for the community of each node.")
@click.option("--nodes", type=int, metavar="N", default=10_000, show_default=True, help="Number of nodes.")
@quiet_option
@debug_option
@click.pass_context
def generate(ctx: click.Context, /, edges: str, labels: str | None, nodes: int, **_: Any) -> None:
    """Run ``boostne generate``."""
    from boostne.generators import planted_partition
    from boostne.io.writing import write_edges, write_labels

    check_output(edges, [])
    if labels:
        check_output(labels, [edges])
    data = planted_partition(nodes, **given(ctx, GENERATOR_OPTIONS))
    write_edges(data.graph, edges)
    if labels:
        write_labels(data.labels, labels)
    if not session_of(ctx).screen.quiet:
        print_pairs({"graph": f"{edges}: {data.graph.n_nodes:,} nodes, {data.graph.n_edges:,} edges"})
