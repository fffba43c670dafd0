"""State of one run, shared by the program and its commands."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from boostne.cli.screen import Screen
from boostne.cli.wording import Wording

if TYPE_CHECKING:
    from boostne.datasets import Dataset


@dataclass
class Session:
    """One run of the program.

    Attributes
    ----------
    debug : bool
        Whether errors are printed with their traceback.
    screen : Screen
        Where notes and progress are shown.
    wording : Wording
        How messages of the library are printed.
    saved : str
        What is left if the program is interrupted now, for its message.
    datasets : dict
        Data sets that were read, by name: commands take the graph and the labels of one.
    """

    debug: bool = False
    screen: Screen = field(default_factory=Screen)
    wording: Wording = field(default_factory=Wording)
    saved: str = ""
    datasets: "dict[str, Dataset]" = field(default_factory=dict)


def session_of(ctx: click.Context) -> Session:
    """Return the session of a command."""
    return ctx.ensure_object(Session)
