"""The command line: parse, call, print."""

from collections.abc import Sequence
from typing import NoReturn

from boostne.cli.signals import ending_on_signals
from boostne.cli.streams import open_closed_streams


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and exit with its code."""
    open_closed_streams()
    with ending_on_signals():
        from boostne.cli import program

        program.main(arguments)
