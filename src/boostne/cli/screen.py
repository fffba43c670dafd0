"""Notes and progress on stderr, and tables on stdout."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import click

from boostne.cli.streams import one_line, print_error
from boostne.progress import ProgressCallback, progress_bar, silent

if TYPE_CHECKING:
    from boostne.embedding import Embedding

_MINUTE, _HOUR = 60, 3600
_FEW_SECONDS = 10
_LONG_WORD = 16
_UNBOUNDED = 1000  # columns of a table that is not printed to a terminal


class Screen:
    """Notes, one per line, and a progress bar, both on stderr."""

    def __init__(self) -> None:
        self.quiet = False
        self._console: Any = None

    def note(self, kind: str, message: object) -> None:
        """Write ``boostne: kind: message``, above the progress bar if there is one."""
        line = f"{kind}: {message}"
        if self._console is None:
            print_error(line)
        else:
            self._console.print(f"boostne: {one_line(line)}", markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def progress(self) -> Iterator[ProgressCallback]:
        """Show a progress bar for the current stage; nothing if quiet or if stderr is not a terminal."""
        if self.quiet or not sys.stderr.isatty():
            yield silent
            return
        with progress_bar() as (console, show):
            self._console = console
            try:
                yield show
            finally:
                self._console = None


def print_table(heads: list[str], rows: list[list[str]], *, right: tuple[int, ...] = ()) -> None:
    """Print a table; the columns with the indices ``right`` are aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for i, head in enumerate(heads):
        # Words are broken only if they are very long.
        longest = max(len(word) for row in [heads, *rows] for word in (row[i].split() or [""]))
        justify: Literal["right", "left"] = "right" if i in right else "left"
        table.add_column(head, justify=justify, overflow="fold", no_wrap=i == 0, min_width=min(longest, _LONG_WORD))
    for row in rows:
        table.add_row(*row)
    # Written by click, because rich pads every line and exits with its own code on a broken pipe.
    text, terminal = io.StringIO(), sys.stdout.isatty()
    # Lines of a file or pipe are not wrapped.
    width = None if terminal else _UNBOUNDED
    Console(file=text, force_terminal=terminal, width=width, highlight=False, markup=False).print(table)
    click.echo("\n".join(line.rstrip() for line in text.getvalue().splitlines() if line.strip()))


def print_pairs(pairs: dict[str, str]) -> None:
    """Print names and values, one pair per line."""
    width = max(map(len, pairs)) + 2
    for name, value in pairs.items():
        click.echo(f"{name:<{width}}{value}")


def describe_embedding(embedding: "Embedding") -> str:
    """Return the shape, the number of levels and the dtype."""
    levels = f", {embedding.n_levels} levels" if embedding.n_levels > 1 else ""
    return f"{len(embedding):,} × {embedding.dimensions}{levels}, {embedding.vectors.dtype}"


def duration(seconds: float) -> str:
    """Format a duration.

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
