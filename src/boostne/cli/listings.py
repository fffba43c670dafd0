"""The commands ``methods`` and ``datasets``."""

import json

import click

from boostne.cli.command import Command, debug_option, json_option, no_notes_option
from boostne.cli.screen import print_table


@click.command(
    cls=Command,
    help="""List the methods and the graphs they support.

    A method that does not support weights or direction rejects such graphs. Nodes without edges get zero vectors.
    """,
    examples=["boostne methods", "boostne embed karate -o karate.csv --method hope"],
)
@json_option
@no_notes_option
@debug_option
def methods(as_json: bool) -> None:
    """Run ``boostne methods``."""
    from dataclasses import asdict

    from boostne.models import METHODS

    known = {name: asdict(method.capabilities) for name, method in METHODS.items()}
    if as_json:
        rows = [{"method": name, **row, "isolated_nodes": "zero vectors"} for name, row in known.items()]
        click.echo(json.dumps(rows, indent=2))
        return
    words = {True: "used", False: "rejected"}
    print_table(
        ["method", "paper", "weights", "direction", "engines"],
        [
            [name, row["paper"], words[row["weights"]], words[row["direction"]], ", ".join(row["engines"])]
            for name, row in known.items()
        ],
    )
    # A table of its own, because both together are too wide for a terminal.
    click.echo()
    print_table(["method", "cost"], [[name, row["cost"]] for name, row in known.items()])


@click.command(
    cls=Command,
    help="""List the data sets that can be given as GRAPH and LABELS.

    Data sets that are not on this machine are downloaded on first use, and their checksum is verified.
    """,
    examples=["boostne datasets", "boostne embed karate -o karate.csv"],
)
@json_option
@no_notes_option
@debug_option
def datasets(as_json: bool) -> None:
    """Run ``boostne datasets``."""
    from boostne.datasets import list_datasets

    rows = list_datasets()
    if as_json:
        click.echo(json.dumps([row._asdict() for row in rows], indent=2))
        return
    print_table(
        ["name", "nodes", "edges", "classes", "local", "source"],
        [
            [
                row.name,
                f"{row.nodes:,}",
                f"{row.edges:,}",
                str(row.classes),
                "yes" if row.present else "no",
                # The repository without the commit, which the JSON has.
                row.source if " " in row.source else "/".join(row.source.split("/")[:2]),
            ]
            for row in rows
        ],
        right=(1, 2, 3),
    )
