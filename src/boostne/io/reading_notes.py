"""What a reader assumed about a file, in one line."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from boostne.errors import InputWarning, warn_caller

_logger = logging.getLogger("boostne.io")


@dataclass
class ReadingNotes:
    """The assumptions of a reader, published in one line when the file has been read.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> notes = ReadingNotes(Path("edges.csv"))
    >>> notes.assume("separated by commas")
    >>> notes.assume("no header")
    >>> notes.line()
    'edges.csv: separated by commas; no header'
    """

    path: Path
    assumptions: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def assume(self, text: str) -> None:
        """Add how the file was read."""
        self.assumptions.append(text)

    def doubt(self, text: str) -> None:
        """Add what was left out, or a guess that changes the result, with the parameter that decides otherwise."""
        self.doubts.append(text)

    def line(self) -> str:
        """Return all notes in one line."""
        return f"{self.path}: {'; '.join([*self.assumptions, *self.doubts])}"

    def publish(self) -> None:
        """Issue an InputWarning if there is a doubt, and a log record otherwise; call it from the public function."""
        collected = _collected.get()
        if collected is not None:
            collected.append(self)
        elif self.doubts:
            warn_caller(self.line(), InputWarning)
        else:
            _logger.info("%s", self.line())


_collected: ContextVar[list[ReadingNotes] | None] = ContextVar("collected", default=None)


@contextmanager
def notes_collected() -> Iterator[list[ReadingNotes]]:
    """Collect the notes of readers instead of publishing them, so that another process can do that."""
    notes: list[ReadingNotes] = []
    token = _collected.set(notes)
    try:
        yield notes
    finally:
        _collected.reset(token)


def count_of(n: int, noun: str) -> str:
    """Return a number and its noun.

    Examples
    --------
    >>> count_of(1, "edge"), count_of(2000, "edge")
    ('1 edge', '2,000 edges')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
