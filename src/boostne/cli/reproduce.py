"""The commands ``reproduce`` and ``report``."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.command import Command, debug_option, quiet_option
from boostne.cli.options import names
from boostne.cli.screen import Screen, duration, print_table
from boostne.cli.session import session_of
from boostne.errors import ParameterError
from boostne.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from boostne.reproduction import Reproduction

PAPER = ("cora", "wiki", "ppi", "blogcatalog")
# Built in, for a trial without a network; the paper has no results for it.
KNOWN = (*PAPER, "digits")
PARTS = ("paper", "tuned")
SECONDS_BETWEEN_LINES = 10.0


@click.command(
    cls=Command,
    help="""Reproduce the paper's tables and figures, and compare tuned methods.

    The part "paper" evaluates seven methods on four networks with nine training percentages and ten splits each, beside
    the paper's own results: Wilcoxon tests, the approximation error and F1 by number of levels, and maps of the levels.
    The part "tuned" compares ten methods, each with its parameters and the regularization chosen on the training nodes
    of each split, on five networks from 1 % to 90 % training nodes. Takes minutes for cora, hours for everything.

    Results are cached as soon as they are computed: after Ctrl-C or a crash the same command resumes. Writes CSV
    files, results.md with figures, report.html, and run.json, which describes the run.
    """,
    examples=[
        "boostne reproduce --dataset cora --quick",
        "boostne reproduce --dataset cora --methods NetMF,BoostNE -o cora-results",
        "boostne reproduce --parts tuned --dataset wiki -o wiki-results",
        "boostne reproduce -o results --jobs 4",
    ],
)
@click.option(
    "--dataset",
    "datasets",
    type=click.Choice(KNOWN),
    multiple=True,
    metavar="NAME",
    help=f"{', '.join(PAPER)} or digits; may be repeated. By default the four of the paper; tuned, all five.",
)
@click.option(
    "--parts",
    type=names,
    default=",".join(PARTS),
    show_default=True,
    metavar="NAME,NAME",
    help="Parts to run: paper, tuned.",
)
@click.option(
    "--methods",
    type=names,
    default="",
    metavar="NAME,NAME,…",
    help="Methods to run. By default the seven of the paper; tuned, all ten.",
)
@click.option("--quick", is_flag=True, help="Quick trial: 2 or 3 splits and training percentages, few methods.")
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    default="results",
    show_default=True,
    help="Output folder; created if missing.",
)
@click.option("--cache", metavar="FOLDER", help="Cache folder. By default in the user's cache directory.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed of splits, methods and maps."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Number of processes that compute at the same time; each needs its own memory.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of threads of each process. By default all cores divided by --jobs.",
)
@quiet_option
@debug_option
@click.pass_context
def reproduce(
    ctx: click.Context,
    /,
    datasets: tuple[str, ...],
    parts: tuple[str, ...],
    methods: tuple[str, ...],
    quick: bool,
    folder: str,
    cache: str | None,
    seed: int,
    jobs: int,
    threads: int | None,
) -> None:
    """Run ``boostne reproduce``."""
    from boostne.reproduction import Protocol
    from boostne.reproduction import reproduce as compute
    from boostne.reproduction.cache import Cache, default_folder

    session = session_of(ctx)
    _check_parts(parts)
    protocol = Protocol.quick(seed) if quick else Protocol(seed=seed)
    chosen = _choose_methods(methods, parts)
    store = Cache(Path(cache) if cache else default_folder())
    session.saved = f"results so far are cached in {store.folder}; run the same command again to resume"
    begin = time.perf_counter()
    with _progress(session.screen) as progress:
        found = compute(
            dict.fromkeys(datasets or PAPER) if "paper" in parts else (),
            chosen,
            Path(folder),
            store,
            tuned_datasets=dict.fromkeys(datasets or KNOWN) if "tuned" in parts else (),
            protocol=protocol,
            threads=threads,
            jobs=jobs,
            progress=progress,
        )
    page = _write_pages(found.folder, session.screen)
    if not session.screen.quiet:
        _print_scores(found)
        took = duration(time.perf_counter() - begin)
        click.echo(f"wrote {len(found.files)} files and their pages to {found.folder} after {took}")
        click.echo(f"next: {page}")


@click.command(
    cls=Command,
    help="""Rebuild the pages of a reproduction.

    FOLDER is the output of 'boostne reproduce'. Writes report.html, a single page that needs no network, results.md,
    and the figures folder.
    """,
    examples=["boostne report results"],
)
@click.argument("folder")
@quiet_option
@debug_option
@click.pass_context
def report(ctx: click.Context, /, folder: str) -> None:
    """Run ``boostne report``."""
    screen = session_of(ctx).screen
    page = _write_pages(Path(folder), screen)
    if not screen.quiet:
        click.echo(f"wrote {page}")


def _check_parts(parts: tuple[str, ...]) -> None:
    unknown = [part for part in parts if part not in PARTS]
    if unknown or not parts:
        raise ParameterError(f"parts must be among {', '.join(PARTS)}, got {unknown[0] if unknown else 'none'!r}")


def _choose_methods(names: tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the methods of the parts, or those of them that are named."""
    from boostne.reproduction import Protocol, choose_methods

    known = choose_methods(()) if "paper" in parts else ()
    more = Protocol().tuned_methods if "tuned" in parts else ()
    return choose_methods(names, dict.fromkeys((*known, *more)))


def _write_pages(folder: Path, screen: Screen) -> Path:
    """Write the figures, with a note if matplotlib is not installed, and the pages."""
    from boostne.reproduction import write_figures, write_reproduction_report, write_results_page
    from boostne.visualization import MissingExtraError

    try:
        write_figures(folder)
    except MissingExtraError as error:
        if not screen.quiet:
            screen.note("note", f"no figures: {error}")
    write_results_page(folder)
    return write_reproduction_report(folder)


@contextmanager
def _progress(screen: Screen) -> Iterator[ProgressCallback]:
    """Show a progress bar on a terminal, and a line every few seconds elsewhere."""
    if screen.quiet or sys.stderr.isatty():
        with screen.progress() as progress:
            yield progress
        return
    begin = last = time.monotonic()

    def show_line(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS_BETWEEN_LINES or not progress.done:
            return
        last = now
        left = (now - begin) * (1 - progress.done) / progress.done
        screen.note("progress", f"{100 * progress.done:.0f}%, about {duration(left)} left; {progress.detail}")

    yield show_line


def _print_scores(found: "Reproduction") -> None:
    """Print a table for each data set and metric: our result, the paper's, and the difference."""
    from boostne.reproduction.csv_tables import METRIC_NAMES, distinct, row_name

    tuned = [row | {"setting": "", "paper": ""} for row in found.tuned_scores]
    for scores, suffix in ((found.scores, ""), (tuned, ", tuned")):
        for dataset in distinct(scores, "dataset"):
            for metric, title in METRIC_NAMES.items():
                rows = [row for row in scores if (row["dataset"], row["metric"]) == (dataset, metric)]
                ratios = distinct(rows, "train_percent")
                lines: list[list[str]] = []
                for name in dict.fromkeys(row_name(row) for row in rows):
                    lines += _lines(name, [row for row in rows if row_name(row) == name])
                click.echo(f"{dataset}, {title}{suffix}, by percentage of labeled nodes used for training")
                print_table(["", *map(str, ratios)], lines, right=tuple(range(1, 1 + len(ratios))))
                click.echo()
    if found.shortfalls:
        click.echo(
            f"{len(found.shortfalls)} results of BoostNE's better setting are below the paper's by more than their "
            f"standard error: {found.folder / 'shortfalls.csv'}"
        )


def _lines(name: str, rows: list[dict[str, Any]]) -> list[list[str]]:
    lines = [[name, *(f"{float(row['mean']):.3f}" for row in rows)]]
    if all(row["paper"] for row in rows):
        lines.append(["  the paper", *(f"{float(row['paper']):.3f}" for row in rows)])
        lines.append(["  difference", *(f"{float(row['difference']):+.3f}" for row in rows)])
    return lines
