"""State of one run, shared by the program and its commands."""

from dataclasses import dataclass, field

import click

from boostne.cli.screen import Screen


@dataclass
class Session:
    """One run of the program.

    Attributes
    ----------
    debug : bool
        Whether errors are printed with their traceback.
    screen : Screen
        Where notes and progress are shown.
    interrupted : str
        The message after Ctrl-C.
    """

    debug: bool = False
    screen: Screen = field(default_factory=Screen)
    interrupted: str = "interrupted"


def session_of(ctx: click.Context) -> Session:
    """Return the session of a command."""
    return ctx.ensure_object(Session)
