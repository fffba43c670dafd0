"""The command ``clusters``."""

import json
from typing import Any

import click

from boostne.cli.command import Command, debug_option, json_option, no_notes_option
from boostne.cli.file_options import (
    EMBEDDING_FILE_OPTIONS,
    EMBEDDING_FILE_SECTION,
    LABEL_FILE_OPTIONS,
    LABEL_FILE_SECTION,
)
from boostne.cli.inputs import check_order, load_embedding, load_labels
from boostne.cli.options import given, options_of
from boostne.cli.session import session_of
from boostne.progress import Progress

_parameter = options_of("boostne.evaluation:evaluate_clusters")

CLUSTER_OPTIONS = (
    _parameter("--repeats", int, "Number of clusterings."),
    _parameter("--seed", int, "Random seed of the clusterings."),
    _parameter("--normalize/--no-normalize", None, "Whether to scale vectors to length 1 first. By default yes."),
    _parameter("--starts", int, "Number of starts of k-means, of which the best counts."),
    _parameter("--threads", int, "Number of threads; the scores do not depend on it. By default all cores."),
)


@click.command(
    cls=Command,
    help="""Score an embedding by clustering: k-means, compared with the labels.

    EMBEDDING is a file written by 'boostne embed' or another tool. LABELS is a file or the name of a data set; nodes
    with several labels are left out. NMI and ARI are 1 if the clusters are the classes.
    """,
    examples=["boostne clusters digits.npz digits", "boostne clusters vectors.npz labels.csv --label team --json"],
    sections={
        "Evaluation": CLUSTER_OPTIONS,
        LABEL_FILE_SECTION: LABEL_FILE_OPTIONS,
        EMBEDDING_FILE_SECTION: EMBEDDING_FILE_OPTIONS,
    },
)
@click.argument("embedding")
@click.argument("labels")
@json_option
@no_notes_option
@debug_option
@click.pass_context
def clusters(ctx: click.Context, /, embedding: str, labels: str, as_json: bool, **_: Any) -> None:
    """Run ``boostne clusters``."""
    from boostne.evaluation import evaluate_clusters

    check_order([embedding], labels)
    with session_of(ctx).screen.progress() as progress:
        progress(Progress("reading", 0, f"{embedding}, {labels}"))
        vectors = load_embedding(ctx, embedding)
        truth = load_labels(ctx, labels)
        result = evaluate_clusters(vectors, truth, progress=progress, **given(ctx, CLUSTER_OPTIONS))
    click.echo(json.dumps(result.to_dict(), indent=2) if as_json else result.table())
