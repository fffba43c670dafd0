"""The command ``tune``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.command import Command, debug_option, json_option, quiet_option
from boostne.cli.file_options import GRAPH_FILE_OPTIONS, GRAPH_FILE_SECTION, LABEL_FILE_OPTIONS, LABEL_FILE_SECTION
from boostne.cli.inputs import load_graph, load_labels
from boostne.cli.options import at_least, given, options_of, to_undirected_option
from boostne.cli.outputs import check_embedding_output, check_output
from boostne.cli.screen import describe_embedding, print_pairs, print_table
from boostne.cli.session import session_of
from boostne.errors import GraphError
from boostne.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from boostne.labels import Labels
    from boostne.refinement import TuningResult

_TOP = 8  # rows of the printed table
_parameter = options_of("boostne.refinement:tune")
_fixed = options_of("boostne.models:BoostNE")

TUNING_OPTIONS = (
    _parameter("--budget", float,
               "Number of full fits; those with fewer passes count as a quarter or half. At least 2; 11 suffices for "
               "all settings."),
    _parameter("-C", float, "With labels: inverse regularization strength of the classifier.", name="C"),
    _parameter("--folds", int, "With labels: number of folds of the cross-validation."),
)  # fmt: skip
FIXED_OPTIONS = (
    _fixed("--dimensions", int, "Vector length: a multiple of --levels."),
    _fixed("--levels", int, "Number of levels."),
    _fixed("--dtype", ["float32", "float64"], "Precision of the vectors."),
    _fixed("--max-iter", int, "Maximum number of passes per level."),
    _fixed("--memory", "SIZE", "Memory limit of the process, such as 2GB; settings that exceed it fail.",
           name="memory_limit"),
    _fixed("--seed", int, "Random seed; the same seed gives the same result, with any number of threads.",
           name="random_state", callback=at_least(0)),
    _fixed("--threads", int, "Number of threads. By default all cores."),
)  # fmt: skip


@click.command(
    cls=Command,
    help="""Search for the parameters that suit a graph, and embed it with them.

    GRAPH and LABELS are files or names of data sets. With LABELS, settings are compared by the cross-validated
    Micro-F1 of the labeled nodes, and level weights are learned; without, by how well they predict hidden edges.

    Ctrl-C writes the best vectors so far and exits with 130.
    """,
    examples=[
        "boostne tune edges.csv labels.txt -o vectors.npz",
        "boostne tune edges.csv -o vectors.npz --budget 6 --trials trials.json",
        "boostne tune cora cora -o cora.npz --dimensions 64",
    ],
    sections={
        "Search": TUNING_OPTIONS,
        "Parameters that are not searched": FIXED_OPTIONS,
        GRAPH_FILE_SECTION: GRAPH_FILE_OPTIONS,
        LABEL_FILE_SECTION: LABEL_FILE_OPTIONS,
    },
)
@click.argument("graph")
@click.argument("labels", required=False)
@click.option(
    "-o", "--output", metavar="FILE", required=True, help="File to write: .npz, .npy, .parquet, .csv, .emb or .txt."
)
@click.option("--trials", metavar="FILE", help="Write the winner and all trials as JSON.")
@click.option("--report", "page", metavar="FILE", help="Write an HTML page with the winner, all trials and a map.")
@to_undirected_option
@json_option
@quiet_option
@debug_option
@click.pass_context
def tune(ctx: click.Context, /, graph: str, labels: str | None, output: str, as_json: bool, **_: Any) -> None:
    """Run ``boostne tune``."""
    from boostne.models import BoostNE
    from boostne.refinement import TuningInterrupted
    from boostne.refinement import tune as search

    inputs = [graph] if labels is None else [graph, labels]
    _check_outputs(ctx, inputs)
    session = session_of(ctx)
    session.saved = "nothing was written"
    with session.screen.progress() as progress:
        progress(Progress("reading", 0, ", ".join(inputs)))
        network = load_graph(ctx, graph)
        if network.directed:
            raise GraphError("the graph is directed, and tune takes undirected graphs only; use --to-undirected")
        truth = None if labels is None else load_labels(ctx, labels)
        fixed = given(ctx, FIXED_OPTIONS)
        options = given(ctx, TUNING_OPTIONS) | {"random_state": fixed.get("random_state", 0)}
        try:
            result = search(network, truth, estimator=BoostNE(**fixed), progress=progress, **options)
        except TuningInterrupted as interrupt:
            _write(ctx, interrupt.result, truth, progress)
            session.saved = f"the best of {len(interrupt.result.trials)} trials was written to {output}"
            # The cause has the number of the signal, which determines the exit code.
            raise (interrupt.__cause__ or interrupt) from None
        progress(Progress("writing", 0, output))
        _write(ctx, result, truth, progress)
    session.saved = ""
    if as_json:
        click.echo(result.to_json())
    elif not session.screen.quiet:
        _print(result, _outputs(ctx))


def _check_outputs(ctx: click.Context, inputs: list[str]) -> None:
    """Check that all files can be written, before the search."""
    check_embedding_output(ctx.params["output"], inputs)
    used = list(inputs)
    for path in _outputs(ctx):
        check_output(path, used)
        used.append(path)


def _outputs(ctx: click.Context) -> list[str]:
    """Return the files to write."""
    return [ctx.params[name] for name in ("output", "trials", "page") if ctx.params[name] is not None]


def _write(ctx: click.Context, result: "TuningResult", labels: "Labels | None", progress: ProgressCallback) -> None:
    from boostne.io import write_embedding
    from boostne.io.atomic import atomic_path

    write_embedding(result.embedding, ctx.params["output"])
    if ctx.params["trials"] is not None:
        with atomic_path(ctx.params["trials"]) as temporary:
            temporary.write_text(result.to_json() + "\n", encoding="utf-8")
    if ctx.params["page"] is not None:
        from boostne.visualization import write_tuning_report

        write_tuning_report(Path(ctx.params["page"]), Path(ctx.params["graph"]).name, result, labels, progress)


def _print(result: "TuningResult", written: list[str]) -> None:
    from boostne.refinement.tuning_result import TABLE_HEADS

    print_table(list(TABLE_HEADS), result.rows(_TOP), right=tuple(range(len(TABLE_HEADS))))
    lines = {
        "best": result.describe(),
        "score": f"{result.best.score:.4f} ({result.criterion}; default setting {result.default.score:.4f})",
    }
    if result.level_weights is not None:
        lines["levels"] = "weights " + " ".join(f"{weight:.2f}" for weight in result.level_weights)
    lines["trials"] = f"{len(result.trials)}, at the cost of {result.spent:g} full fits"
    print_pairs(lines | {"vectors": describe_embedding(result.embedding), "written": ", ".join(written)})
