"""The command ``update``."""

from pathlib import Path
from typing import Any

import click

from boostne.cli.command import Command, debug_option, quiet_option
from boostne.cli.file_options import GRAPH_FILE_OPTIONS, GRAPH_FILE_SECTION
from boostne.cli.inputs import load_graph_of
from boostne.cli.options import threads_option, to_undirected_option
from boostne.cli.outputs import check_embedding_output, check_output
from boostne.cli.screen import describe_embedding, print_pairs
from boostne.cli.session import session_of
from boostne.progress import Progress


@click.command(
    cls=Command,
    help="""Adapt a model to its graph after nodes, edges or weights changed.

    MODEL is a file written by 'boostne embed --model', and is replaced by the updated model when that is complete,
    unless --model names another file. GRAPH is the whole graph as it is now, a file or the name of a data set: nodes
    are recognized by their ids, and the file is read as directed or bipartite if the graph of the model was. The basis
    of the vectors stays: classifiers trained on earlier vectors still apply.
    """,
    examples=[
        "boostne embed edges.csv -o vectors.npz --model model.npz",
        "boostne update model.npz edges-today.csv -o vectors-today.npz",
        "boostne update model.npz edges-today.csv -o today.npz --model new.npz",
    ],
    sections={GRAPH_FILE_SECTION: GRAPH_FILE_OPTIONS},
)
@click.argument("model")
@click.argument("graph")
@click.option(
    "-o", "--output", metavar="FILE", required=True, help="Vectors to write: .npz, .npy, .parquet, .csv, .emb or .txt."
)
@click.option(
    "--model", "new_model", metavar="FILE", help="Write the updated model to this file (.npz) and leave MODEL as it is."
)
@threads_option
@to_undirected_option
@quiet_option
@debug_option
@click.pass_context
def update(
    ctx: click.Context, /, model: str, graph: str, output: str, new_model: str | None, threads: int | None, **_: Any
) -> None:
    """Run ``boostne update``."""
    from boostne.io import write_embedding
    from boostne.io.embeddings import known_suffix
    from boostne.models import BoostNE
    from boostne.models.model_files import check_suffix

    known_suffix(Path(output))
    check_embedding_output(output, [model, graph])
    target = model if new_model is None else new_model
    check_suffix(target)
    check_output(target, [graph, output])
    session = session_of(ctx)
    session.saved = "nothing was written"
    with session.screen.progress() as progress:
        progress(Progress("reading", 0, f"{model}, {graph}"))
        fitted = BoostNE.load(model).set_params(threads=threads)
        report = fitted.update(load_graph_of(ctx, graph, fitted), progress=progress)
        # The vectors first: if the model cannot be written, the same command can be repeated.
        progress(Progress("writing", 0.8, output))
        write_embedding(fitted.embedding_, output)
        session.saved = f"{output} was written; the model was not"
        progress(Progress("writing", 0.9, target))
        fitted.save(target, graph=getattr(fitted, "graph_", None))
    session.saved = ""
    if not session.screen.quiet:
        counts = f"{report.added:,} added, {report.removed:,} removed, {report.changed:,} changed"
        cosines = ", ".join(f"{value:.3f} ({quantile:.0%})" for quantile, value in report.cosines.items())
        print_pairs(
            {
                "nodes": f"{counts}; {report.recomputed:,} computed again",
                "cosines": f"quantiles of the cosine to the previous vectors: {cosines}",
                "vectors": describe_embedding(fitted.embedding_),
                "written": output,
                "model": target,
            }
        )
