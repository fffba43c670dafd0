"""The command ``transform``."""

from typing import Any

import click

from boostne.cli.command import Command, debug_option, quiet_option
from boostne.cli.file_options import GRAPH_FILE_OPTIONS, GRAPH_FILE_SECTION
from boostne.cli.inputs import load_graph_of
from boostne.cli.options import threads_option, to_undirected_option
from boostne.cli.outputs import check_embedding_output
from boostne.cli.screen import describe_embedding, print_pairs
from boostne.cli.session import session_of
from boostne.progress import Progress


@click.command(
    cls=Command,
    help="""Embed new nodes of a graph with a model, without fitting it again.

    MODEL is a file written by 'boostne embed --model'. GRAPH is the whole graph as it is now, a file or the name of a
    data set: nodes are recognized by their ids. Known nodes keep their vectors, and new ones get vectors in the same
    space, so that classifiers trained on the model's vectors apply to them. The file is read as directed or bipartite
    if the graph of the model was; target vectors are then written, too.
    """,
    examples=[
        "boostne embed edges.csv -o vectors.npz --model model.npz",
        "boostne transform model.npz edges-today.csv -o vectors-today.npz",
        "boostne transform model.npz edges-today.csv -o new.csv --new-only",
    ],
    sections={GRAPH_FILE_SECTION: GRAPH_FILE_OPTIONS},
)
@click.argument("model")
@click.argument("graph")
@click.option(
    "-o", "--output", metavar="FILE", required=True, help="File to write: .npz, .npy, .parquet, .csv, .emb or .txt."
)
@click.option("--refresh", is_flag=True, help="Compute the vectors of known nodes again whose neighborhood changed.")
@click.option("--new-only", is_flag=True, help="Write the computed vectors only, not those that known nodes keep.")
@threads_option
@to_undirected_option
@quiet_option
@debug_option
@click.pass_context
def transform(
    ctx: click.Context,
    /,
    model: str,
    graph: str,
    output: str,
    refresh: bool,
    new_only: bool,
    threads: int | None,
    **_: Any,
) -> None:
    """Run ``boostne transform``."""
    from boostne.io import write_embedding
    from boostne.models import BoostNE

    check_embedding_output(output, [model, graph])
    screen = session_of(ctx).screen
    with screen.progress() as progress:
        progress(Progress("reading", 0, f"{model}, {graph}"))
        fitted = BoostNE.load(model).set_params(threads=threads)
        embed = fitted.fold_in if new_only else fitted.embed
        found = embed(load_graph_of(ctx, graph, fitted), refresh=refresh, progress=progress)
        progress(Progress("writing", 0.9, output))
        write_embedding(found, output)
    if not screen.quiet:
        known = f"{model}: {fitted.n_features_in_:,} nodes"
        print_pairs({"model": known, "vectors": describe_embedding(found), "written": output})
