"""The command line: parse, call, print."""

import atexit
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from boostne.cli.limited_memory import is_out_of_memory, load_blas, out_of_memory_message
from boostne.cli.signals import ending_on_signals
from boostne.cli.streams import open_closed_streams, print_error

__all__ = ["main"]

FAILURE, MEMORY = 1, 3  # exit codes


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and exit with its code; without arguments, those of this process, which ends with the program."""
    if arguments is not None:
        _main(arguments)
    last = _LastExitHandler()
    try:
        _main(sys.argv[1:])
    except SystemExit as leaving:
        last.code = int(leaving.code or 0)
        raise


def _main(arguments: Sequence[str]) -> NoReturn:
    open_closed_streams()
    with ending_on_signals():
        sys.exit(_run(arguments))


class _LastExitHandler:
    """Ends the process after all other exit handlers, since this one is registered first.

    What would follow are destructors of native libraries: Arrow's sometimes abort the process if it ends right after a
    file was read.
    """

    def __init__(self) -> None:
        self.code = FAILURE  # of an exception that is a bug
        atexit.register(self)

    def __call__(self) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # full, closed, or None
                stream.flush()
        os._exit(self.code)


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
