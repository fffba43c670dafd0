"""The command ``links``."""

import json
from typing import Any

import click

from boostne.cli.command import Command, debug_option, json_option, no_notes_option
from boostne.cli.embed import method_option
from boostne.cli.estimator import check_direction, make_estimator
from boostne.cli.file_options import GRAPH_FILE_OPTIONS, GRAPH_FILE_SECTION
from boostne.cli.inputs import load_graph
from boostne.cli.model_options import MODEL_SECTIONS
from boostne.cli.options import check_model_options, given, names, options_of, to_undirected_option
from boostne.cli.session import session_of
from boostne.progress import Progress

_parameter = options_of("boostne.evaluation:evaluate_links")

LINK_OPTIONS = (
    _parameter("--test", float, "Fraction of the edges to hide, between 0 and 1."),
    _parameter("--repeats", int, "Number of random splits; the method is fitted for each."),
    _parameter(
        "--operator", names, "How a pair is scored, separated by commas: dot, cosine, hadamard, average, l1, l2."
    ),
)
# A checkpoint is of one fit, and each split has its own.
_METHOD_SECTIONS = {
    section: tuple(option for option in options if option.name not in ("checkpoint", "keep_matrix"))
    for section, options in MODEL_SECTIONS.items()
}
_METHOD_OPTIONS = tuple(option for options in _METHOD_SECTIONS.values() for option in options)


@click.command(
    cls=Command,
    help="""Score a method by link prediction.

    GRAPH is a file or the name of a data set. Some edges are hidden, the rest is embedded, and hidden edges are
    compared with pairs of nodes that are not linked: the AUC is the probability that a hidden edge has the higher
    score. Takes the options of 'boostne embed' but for checkpoints; --seed is also the seed of the splits.
    """,
    examples=[
        "boostne links karate --dimensions 16 --levels 4",
        "boostne links edges.csv --method node2vec --repeats 2",
    ],
    sections={"Evaluation": LINK_OPTIONS, **_METHOD_SECTIONS, GRAPH_FILE_SECTION: GRAPH_FILE_OPTIONS},
)
@click.argument("graph")
@method_option
@to_undirected_option
@json_option
@no_notes_option
@debug_option
@click.pass_context
def links(ctx: click.Context, /, graph: str, method: str, as_json: bool, **_: Any) -> None:
    """Run ``boostne links``."""
    from boostne.evaluation import evaluate_links

    check_model_options(ctx)
    model = make_estimator(method, given(ctx, _METHOD_OPTIONS))
    with session_of(ctx).screen.progress() as progress:
        progress(Progress("reading", 0, graph))
        network = load_graph(ctx, graph)
        check_direction(network, method)
        seed = {} if ctx.params["random_state"] is None else {"seed": ctx.params["random_state"]}
        result = evaluate_links(model, network, progress=progress, **seed, **given(ctx, LINK_OPTIONS))
    click.echo(json.dumps(result.to_dict(), indent=2) if as_json else result.table())
