"""What the commands share with the program that runs them."""

from dataclasses import dataclass, field

import click

from boostne.cli.screen import Screen


@dataclass
class Session:
    """One run of the program.

    Attributes
    ----------
    debug : bool
        Whether errors come with their traceback.
    screen : Screen
    options : list
        Those of the command that runs, for messages that speak of them.
    interrupted : str
        What to say after Ctrl-C.
    """

    debug: bool = False
    screen: Screen = field(default_factory=Screen)
    options: list[click.Parameter] = field(default_factory=list)
    interrupted: str = "interrupted"


def session_of(ctx: click.Context) -> Session:
    """Return the session that a command runs in."""
    session = ctx.find_object(Session)
    return session if session is not None else ctx.ensure_object(Session)
