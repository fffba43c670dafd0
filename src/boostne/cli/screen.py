"""What people see while they wait, and the notes beside it: all on the error stream, so that results stay clean."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from boostne.progress import Progress, ProgressCallback, silent

_MINUTE, _HOUR = 60, 3600
_FEW_SECONDS = 10
_UNBOUNDED = 1000  # columns


class Screen:
    """The error stream: one line a note, and a bar while something runs and a person looks on."""

    def __init__(self) -> None:
        self.quiet = False
        self._live: Any = None

    def note(self, kind: str, message: object) -> None:
        """Write ``boostne: kind: message``, above the bar if there is one."""
        line = f"boostne: {kind}: {message}"
        if self._live is None:
            click.echo(line, err=True)
        else:
            self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def progress(self) -> Iterator[ProgressCallback]:
        """Show a bar for each stage that is reported; nothing with ``--quiet`` or without a terminal."""
        if self.quiet or not sys.stderr.isatty():
            yield silent
            return
        with _bars() as live:
            self._live = live
            stages: dict[str, Any] = {}

            def report(progress: Progress) -> None:
                if progress.stage not in stages:
                    for earlier in stages.values():
                        live.update(earlier, visible=False)
                    # Rich draws a moving bar while the total is unknown.
                    stages[progress.stage] = live.add_task(progress.stage, total=None, detail="")
                live.update(
                    stages[progress.stage],
                    total=1.0 if progress.done else None,
                    completed=progress.done,
                    detail=progress.detail,
                )

            try:
                yield report
            finally:
                self._live = None


def _bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    return Bars(
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=12),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[detail]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )


def print_table(heads: list[str], rows: list[list[str]], *, right: tuple[int, ...] = ()) -> None:
    """Print a table to the standard output; the columns in ``right`` hold numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place, head in enumerate(heads):
        table.add_column(
            head, justify="right" if place in right else "left", overflow="fold", no_wrap=place == 0
        )
    for row in rows:
        table.add_row(*row)
    # A file or a pipe has no edge at which a number would have to be broken.
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _UNBOUNDED)
    # Not printed by rich itself: it pads every line, and leaves with a code of its own when nobody reads on.
    with console.capture() as capture:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in capture.get().splitlines() if line.strip()))


def print_pairs(pairs: dict[str, str]) -> None:
    """Print names and what belongs to them, one a line."""
    width = max(map(len, pairs)) + 2
    for name, value in pairs.items():
        click.echo(f"{name:<{width}}{value}")


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> [duration(seconds) for seconds in (0.314, 42, 125, 12_000)]
    ['0.3 s', '42 s', '2 min 5 s', '3 h 20 min']
    """
    if seconds < _FEW_SECONDS:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR:,} h {whole % _HOUR // _MINUTE} min"
