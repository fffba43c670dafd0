"""The command ``propagate``."""

from typing import Any

import click

from boostne.cli.command import Command, debug_option, quiet_option
from boostne.cli.file_options import (
    EMBEDDING_FILE_OPTIONS,
    EMBEDDING_FILE_SECTION,
    GRAPH_FILE_OPTIONS,
    GRAPH_FILE_SECTION,
)
from boostne.cli.inputs import load_embedding, load_graph
from boostne.cli.options import given, options_of, to_undirected_option
from boostne.cli.outputs import check_embedding_output
from boostne.cli.screen import describe_embedding, print_pairs
from boostne.cli.session import session_of
from boostne.progress import Progress

_parameter = options_of("boostne.propagation:propagate")

PROPAGATION_OPTIONS = (
    _parameter("--neighbor-weight", float, "Weight of the neighbors in the average, from 0 to 1."),
    _parameter("--steps", int, "How often to average; once is usually best."),
    _parameter("--threads", int, "Number of threads; the vectors do not depend on it. By default all cores."),
)  # fmt: skip


@click.command(
    cls=Command,
    help="""Average the vector of each node with those of its neighbors.

    GRAPH is a file or the name of a data set; EMBEDDING has vectors of its nodes by any method. Levels remain levels.
    'boostne embed --propagate' does the same for a new embedding.
    """,
    examples=[
        "boostne propagate edges.csv vectors.npz -o better.npz",
        "boostne propagate cora theirs.emb -o better.emb --neighbor-weight 0.5",
    ],
    sections={
        "Propagation": PROPAGATION_OPTIONS,
        GRAPH_FILE_SECTION: GRAPH_FILE_OPTIONS,
        EMBEDDING_FILE_SECTION: EMBEDDING_FILE_OPTIONS,
    },
)
@click.argument("graph")
@click.argument("vectors", metavar="EMBEDDING")
@click.option(
    "-o", "--output", metavar="FILE", required=True, help="File to write: .npz, .npy, .parquet, .csv, .emb or .txt."
)
@to_undirected_option
@quiet_option
@debug_option
@click.pass_context
def propagate(ctx: click.Context, /, graph: str, vectors: str, output: str, **_: Any) -> None:
    """Run ``boostne propagate``."""
    from boostne.io import write_embedding
    from boostne.propagation import propagate as average

    check_embedding_output(output, [graph, vectors])
    screen = session_of(ctx).screen
    with screen.progress() as progress:
        progress(Progress("reading", 0, f"{graph}, {vectors}"))
        network = load_graph(ctx, graph)
        embedding = load_embedding(ctx, vectors)
        progress(Progress("propagating", 0.5))
        found = average(network, embedding, **given(ctx, PROPAGATION_OPTIONS))
        progress(Progress("writing", 0.9, output))
        write_embedding(found, output)
    if not screen.quiet:
        print_pairs({"vectors": describe_embedding(found), "written": output})
