"""The command line: parse, call, print."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from boostne.cli.limited_memory import is_out_of_memory, load_blas, out_of_memory_message
from boostne.cli.signals import ending_on_signals
from boostne.cli.streams import open_closed_streams, print_error

__all__ = ["main"]

MEMORY = 3  # exit code


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and exit with its code."""
    open_closed_streams()
    with ending_on_signals():
        sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: Sequence[str]) -> int:
    """Import and run the program; a lack of memory is reported even if it prevents imports."""
    try:
        load_blas()
        from boostne.cli.program import run

        return run(arguments)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        print_error(f"error: {out_of_memory_message(error)}")
        return MEMORY
