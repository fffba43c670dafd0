"""The commands that score embeddings, and that show scores as a page."""

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.command import Command, debug_option, json_option, quiet_option
from boostne.cli.inputs import LABELS_SECTION, load_labels
from boostne.cli.options import Source, values
from boostne.cli.session import session_of
from boostne.progress import Progress

if TYPE_CHECKING:
    from boostne.evaluation import Evaluation

EMBEDDING_SECTION = "How the embedding file is read"
EVALUATION_SECTION = "How the embedding is scored"


def _evaluation_sources(_: str) -> list[Source]:
    from boostne.evaluation import evaluate as score
    from boostne.io import read_embedding, read_labels

    return [
        Source(score, EVALUATION_SECTION),
        Source(read_labels, LABELS_SECTION),
        Source(read_embedding, EMBEDDING_SECTION),
    ]


@click.command(
    cls=Command,
    sources=_evaluation_sources,
    examples=[
        "boostne evaluate digits.npz digits",
        "boostne evaluate vectors.emb labels.txt --train 10,50,90 --repeats 5 --json",
        "boostne evaluate vectors.npz labels.txt --csv > scores.csv",
        "boostne evaluate ours.npz theirs.emb labels.txt --report scores.html",
    ],
)
@click.argument("embeddings", metavar="EMBEDDING...", nargs=-1, required=True)
@click.argument("labels")
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Print the scores of every split as CSV.")
@click.option(
    "--report",
    "page",
    metavar="FILE",
    help="Write a page (.html) with the scores, the protocol and a map of each level.",
)
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
    """Score embeddings by node classification.

    EMBEDDING is a file that 'embed' or another tool wrote; several are scored on the same splits and compared.
    LABELS is a file, or the name of a data set; a file of that name in the current folder wins.

    In each random split, one logistic regression per label learns from the training nodes. A test node with l
    labels is given the l most probable ones (rule top-k), or all of probability ½ and more (rule threshold).
    Micro- and Macro-F1 are means over the splits, with their standard deviation.
    """
    from boostne.evaluation import evaluate as score
    from boostne.io import read_embedding

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other: give one of them.")
    names = _names(embeddings)
    if page is not None:
        _prepare(page)
    session = session_of(ctx)
    results = {}
    with session.screen.progress() as report:
        report(Progress("reading", 0, ", ".join(embeddings)))
        options = values(ctx, EMBEDDING_SECTION)
        vectors = {name: read_embedding(path, **options) for name, path in names.items()}
        truth = load_labels(ctx, labels)
        for i, (name, one) in enumerate(vectors.items()):
            report(Progress("scoring", i / len(vectors), name))
            results[name] = score(one, truth, **values(ctx, EVALUATION_SECTION))
        if page is not None:
            from boostne.visualization import write_evaluation_report

            write_evaluation_report(Path(page), vectors, truth, results, report)
    if as_csv:
        click.echo(_csv(results), nl=False)
    else:
        click.echo(json.dumps(_plain(results), indent=2) if as_json else _text(results))
    if page is not None:
        session.screen.note("note", f"wrote {page}")


@click.command(cls=Command, examples=["boostne report results"])
@click.argument("folder")
@quiet_option
@debug_option
@click.pass_context
def report(ctx: click.Context, /, folder: str) -> None:
    """Make the pages of a reproduction again.

    FOLDER is what 'boostne reproduce' wrote. Writes report.html there, one page that opens from disk without a
    network, the figures for print to the folder figures, and results.md, which shows them.
    """
    from boostne.reproduction import write_reproduction_report, write_results_page

    page = write_reproduction_report(Path(folder))
    write_results_page(Path(folder))
    if not session_of(ctx).screen.quiet:
        click.echo(f"wrote {page}")


def _names(paths: Sequence[str]) -> dict[str, str]:
    """Return the files by their names, or as they were given where two have the same name."""
    count = Counter(Path(path).name for path in paths)
    names = {path if count[Path(path).name] > 1 else Path(path).name: path for path in paths}
    if len(names) < len(paths):
        raise click.UsageError("an embedding was given twice: give each of them once.")
    return names


def _prepare(page: str) -> None:
    """Find out whether the page can be made before anything is scored."""
    from boostne.io.atomic import check_writable
    from boostne.visualization.extras import require_extras

    check_writable(page)
    require_extras()


def _text(results: Mapping[str, "Evaluation"]) -> str:
    from boostne.evaluation import compare

    if len(results) == 1:
        return next(iter(results.values())).table()
    tables = (f"{name}: {result.table()}" for name, result in results.items())
    return "\n\n".join([*tables, compare(results).table()])


def _plain(results: Mapping[str, "Evaluation"]) -> dict[str, Any]:
    from boostne.evaluation import compare

    if len(results) == 1:
        return next(iter(results.values())).to_dict()
    return {
        "embeddings": {name: result.to_dict() for name, result in results.items()},
        "comparison": compare(results).to_dict(),
    }


def _csv(results: Mapping[str, "Evaluation"]) -> str:
    """Return the scores of every split; with several embeddings, their names stand in the first column."""
    if len(results) == 1:
        return next(iter(results.values())).to_csv()
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for i, (name, result) in enumerate(results.items()):
        heads, *rows = csv.reader(io.StringIO(result.to_csv()))
        if i == 0:
            writer.writerow(["embedding", *heads])
        writer.writerows([name, *row] for row in rows)
    return buffer.getvalue()
