"""The command line: parse, call, print."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from boostne.cli.limited_memory import is_out_of_memory, load_blas, out_of_memory_message

__all__ = ["main"]

MEMORY = 3  # exit code


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and exit with its code; a lack of memory is reported even if it prevents imports."""
    try:
        load_blas()
        from boostne.cli.program import run

        code = run(sys.argv[1:] if arguments is None else arguments)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        code, message = MEMORY, f"boostne: error: {out_of_memory_message(error)}\n"
        if sys.stderr is not None:
            sys.stderr.write(message)
    sys.exit(code)
