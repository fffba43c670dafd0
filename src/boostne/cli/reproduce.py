"""The command that computes the paper's tables anew."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boostne.cli.command import Command, debug_option, quiet_option
from boostne.cli.screen import Screen, duration, print_table
from boostne.cli.session import session_of
from boostne.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from boostne.reproduction import Reproduction

PAPER = ("cora", "wiki", "ppi", "blogcatalog")
# Built-in data for a try without a network; the paper has no figures for it.
KNOWN = (*PAPER, "digits")
SECONDS_BETWEEN_LINES = 10.0


def _names(value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


@click.command(
    cls=Command,
    examples=[
        "boostne reproduce --dataset cora --quick",
        "boostne reproduce --dataset cora --methods NetMF,BoostNE -o cora-results",
        "boostne reproduce -o results",
    ],
)
@click.option(
    "--dataset",
    "datasets",
    type=click.Choice(KNOWN),
    multiple=True,
    metavar="NAME",
    help=f"{', '.join(PAPER)} or digits; may be given several times. By default the paper's four.",
)
@click.option(
    "--methods",
    type=_names,
    default="",
    metavar="NAME,NAME,…",
    help="Some of the paper's seven methods. By default all of them.",
)
@click.option("--quick", is_flag=True, help="A first look: 3 splits, 3 ratios, 3 numbers of levels.")
@click.option(
    "-o",
    "--out",
    "folder",
    metavar="FOLDER",
    default="results",
    show_default=True,
    help="Where the files go; made if missing.",
)
@click.option(
    "--cache", metavar="FOLDER", help="Where computed pieces are kept. By default the user's cache."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of splits, methods and maps."
)
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="By default every core.")
@quiet_option
@debug_option
@click.pass_context
def reproduce(
    ctx: click.Context,
    /,
    datasets: tuple[str, ...],
    methods: tuple[str, ...],
    quick: bool,
    folder: str,
    cache: str | None,
    seed: int,
    threads: int | None,
) -> None:
    """Compute the paper's tables and figures anew.

    Seven methods on four networks, scored at nine ratios by ten splits each, beside the paper's figures; the
    Wilcoxon test; the approximation error and F1 by the number of levels; maps of the levels. Some hours for
    everything, minutes for cora alone.

    Every piece is kept in the cache as soon as it is computed: after Ctrl-C, or a crash, the same command goes
    on where it stopped, and a second run computes nothing. Writes CSV files, results.md with figures,
    report.html, and run.json, which says what was run on what.
    """
    from boostne.reproduction import Protocol, choose_methods
    from boostne.reproduction import reproduce as compute
    from boostne.reproduction.cache import Cache, default_folder

    session = session_of(ctx)
    store = Cache(Path(cache) if cache else default_folder())
    session.interrupted = (
        f"interrupted; what was computed is in {store.folder}: the same command goes on from there"
    )
    begin = time.perf_counter()
    with _progress(session.screen) as report:
        found = compute(
            dict.fromkeys(datasets or PAPER),
            choose_methods(methods),
            Path(folder),
            store,
            protocol=Protocol.quick(seed) if quick else Protocol(seed=seed),
            threads=threads,
            progress=report,
        )
    page = _write_pages(found.folder, session.screen)
    if not session.screen.quiet:
        _print_scores(found)
        took = duration(time.perf_counter() - begin)
        click.echo(f"wrote {len(found.files)} files and their pages to {found.folder} after {took}")
        click.echo(f"next: {page}")


def _write_pages(folder: Path, screen: Screen) -> Path:
    """Write the pages; without the packages for report.html say so, since all numbers are there already."""
    from boostne.reproduction import write_reproduction_report, write_results_page
    from boostne.visualization import MissingExtraError

    try:
        report = write_reproduction_report(folder)
    except MissingExtraError as error:
        if not screen.quiet:
            screen.note("note", f"no report.html and no figures: {error}")
        return write_results_page(folder)
    write_results_page(folder)
    return report


@contextmanager
def _progress(screen: Screen) -> Iterator[ProgressCallback]:
    """Show a bar on a terminal; elsewhere a line now and then, since this takes long."""
    if screen.quiet or sys.stderr.isatty():
        with screen.progress() as report:
            yield report
        return
    begin = last = time.monotonic()

    def report_line(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS_BETWEEN_LINES or not progress.done:
            return
        last = now
        left = (now - begin) * (1 - progress.done) / progress.done
        screen.note(
            "progress", f"{100 * progress.done:.0f} %, about {duration(left)} left; {progress.detail}"
        )

    yield report_line


def _print_scores(found: "Reproduction") -> None:
    """Print a table for each data set and metric: our value, the paper's, the difference."""
    from boostne.reproduction.csv_tables import METRIC_NAMES, distinct, row_name

    for dataset in distinct(found.scores, "dataset"):
        for metric, title in METRIC_NAMES.items():
            rows = [row for row in found.scores if (row["dataset"], row["metric"]) == (dataset, metric)]
            ratios = distinct(rows, "train_percent")
            lines: list[list[str]] = []
            for name in dict.fromkeys(row_name(row) for row in rows):
                lines += _lines(name, [row for row in rows if row_name(row) == name])
            click.echo(f"{dataset}, {title}, by the per cent of labeled nodes to train on")
            print_table(["", *map(str, ratios)], lines, right=tuple(range(1, 1 + len(ratios))))
            click.echo()
    if found.shortfalls:
        click.echo(
            f"{len(found.shortfalls)} cells of BoostNE's better setting are under the paper's by more than their "
            f"standard error: {found.folder / 'shortfalls.csv'}"
        )


def _lines(name: str, rows: list[dict[str, Any]]) -> list[list[str]]:
    lines = [[name, *(f"{float(row['mean']):.3f}" for row in rows)]]
    if all(row["paper"] for row in rows):
        lines.append(["  the paper", *(f"{float(row['paper']):.3f}" for row in rows)])
        lines.append(["  difference", *(f"{float(row['difference']):+.3f}" for row in rows)])
    return lines
