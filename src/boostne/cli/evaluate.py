"""The command ``evaluate``."""

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.command import Command, debug_option, json_option, no_notes_option
from boostne.cli.file_options import (
    EMBEDDING_FILE_OPTIONS,
    EMBEDDING_FILE_SECTION,
    LABEL_FILE_OPTIONS,
    LABEL_FILE_SECTION,
)
from boostne.cli.inputs import check_order, load_embedding, load_labels
from boostne.cli.options import given, numbers, options_of
from boostne.cli.outputs import check_output
from boostne.cli.session import session_of
from boostne.errors import FileFormatError
from boostne.progress import Progress

if TYPE_CHECKING:
    from boostne.evaluation import Evaluation

_parameter = options_of("boostne.evaluation:evaluate")

EVALUATION_OPTIONS = (
    _parameter("--train", numbers,
               "Labeled nodes to train on: percentages such as 10,50,90, or fractions such as 0.1,0.5,0.9."),
    _parameter("--repeats", int, "Number of random splits per percentage."),
    _parameter("--seed", int, "Random seed of the splits."),
    _parameter("-C", float, "Inverse regularization strength of the classifier.", name="C"),
    _parameter("--rule", ["top-k", "threshold"],
               "How labels are predicted, see above; top-k uses the true number of labels of each test node."),
    _parameter("--classifier", ["liblinear", "fast"],
               "Solver of the logistic regressions; fast solves all labels at once, with the same scores to 3 digits."),
    _parameter("--level-weights", bool,
               "Multiply each level by a weight that is learned from the training nodes of each split."),
    _parameter("--threads", int, "Number of threads; the scores do not depend on it. By default all cores."),
)  # fmt: skip


@click.command(
    cls=Command,
    help="""Score embeddings by node classification.

    EMBEDDING is a file written by 'boostne embed' or another tool; several are scored on the same splits and
    compared. LABELS is a file or the name of a data set; a file takes precedence.

    For each random split, one logistic regression per label is trained. A test node with k labels is assigned the k
    most probable ones (rule top-k), or all with a probability of at least ½ (rule threshold). Micro- and Macro-F1
    are averaged over the splits and printed with their standard error.
    """,
    examples=[
        "boostne evaluate digits.npz digits",
        "boostne evaluate vectors.emb labels.txt --train 10,50,90 --repeats 5 --json",
        "boostne evaluate vectors.npz labels.txt --csv > scores.csv",
        "boostne evaluate ours.npz theirs.emb labels.txt --report scores.html",
    ],
    sections={
        "Evaluation": EVALUATION_OPTIONS,
        LABEL_FILE_SECTION: LABEL_FILE_OPTIONS,
        EMBEDDING_FILE_SECTION: EMBEDDING_FILE_OPTIONS,
    },
)
@click.argument("embeddings", metavar="EMBEDDING...", nargs=-1, required=True)
@click.argument("labels")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print the scores of each split as CSV.")
@click.option(
    "--report",
    "page",
    metavar="FILE",
    help="Write an HTML page with the conclusion, the scores, the protocol and a map of each level.",
)
@no_notes_option
@debug_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    embeddings: Sequence[str],
    labels: str,
    as_json: bool,
    as_csv: bool,
    page: str | None,
    **_: Any,
) -> None:
    """Run ``boostne evaluate``."""
    from boostne.evaluation import evaluate as score

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other: give one of them.")
    check_order(embeddings, labels)
    names = _names(embeddings)
    if page is not None:
        check_output(page, [*embeddings, labels])
    session = session_of(ctx)
    results = {}
    with session.screen.progress() as progress:
        progress(Progress("reading", 0, ", ".join(embeddings)))
        vectors = {name: load_embedding(ctx, path) for name, path in names.items()}
        for name, embedding in vectors.items():
            if not len(embedding):
                raise FileFormatError(f"{names[name]}: no vectors, so there is nothing to score")
        truth = load_labels(ctx, labels)
        for i, (name, embedding) in enumerate(vectors.items()):
            progress(Progress("scoring", i / len(vectors), name))
            results[name] = score(embedding, truth, **given(ctx, EVALUATION_OPTIONS))
        if page is not None:
            from boostne.visualization import write_evaluation_report

            write_evaluation_report(Path(page), vectors, truth, results, progress)
    if as_csv:
        click.echo(_csv(results), nl=False)
    else:
        click.echo(json.dumps(_json(results), indent=2) if as_json else _text(results))
    if page is not None:
        session.screen.note("note", f"wrote {page}")


def _names(paths: Sequence[str]) -> dict[str, str]:
    """Return the paths by file name, or by the path as typed if two files have the same name."""
    count = Counter(Path(path).name for path in paths)
    names = {path if count[Path(path).name] > 1 else Path(path).name: path for path in paths}
    if len(names) < len(paths):
        raise click.UsageError("an embedding was given twice: give each of them once.")
    return names


def _text(results: Mapping[str, "Evaluation"]) -> str:
    from boostne.evaluation import compare, conclude

    if len(results) == 1:
        return next(iter(results.values())).table()
    tables = (f"{name}: {result.table()}" for name, result in results.items())
    comparison = compare(results)
    return "\n\n".join(["\n".join(map(str, conclude(comparison))), *tables, comparison.table()])


def _json(results: Mapping[str, "Evaluation"]) -> dict[str, Any]:
    from boostne.evaluation import compare

    if len(results) == 1:
        return next(iter(results.values())).to_dict()
    return {
        "embeddings": {name: result.to_dict() for name, result in results.items()},
        "comparison": compare(results).to_dict(),
    }


def _csv(results: Mapping[str, "Evaluation"]) -> str:
    """Return the scores of each split; with several embeddings, the first column is their name."""
    from boostne.io.spreadsheets import escape_formula

    if len(results) == 1:
        return next(iter(results.values())).to_csv()
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for i, (name, result) in enumerate(results.items()):
        heads, *rows = csv.reader(io.StringIO(result.to_csv()))
        if i == 0:
            writer.writerow(["embedding", *heads])
        writer.writerows([escape_formula(name), *row] for row in rows)
    return buffer.getvalue()
