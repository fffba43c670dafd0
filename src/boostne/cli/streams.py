"""The standard streams, which may be closed, full, or a pipe that nobody reads."""

import os
import sys
from contextlib import suppress


def open_closed_streams() -> None:
    """Connect closed standard streams to the null device; files opened later would take their descriptors."""
    for descriptor, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # has this descriptor, the lowest that is free
            os.set_inheritable(descriptor, True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8", errors="replace", closefd=False))


def one_line(text: str) -> str:
    r"""Join lines, and escape characters that a terminal would obey.

    >>> one_line("two \n  lines, \x1b[1mbold")
    'two lines, \\x1b[1mbold'
    """
    joined = " ".join(line.strip() for line in text.splitlines())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in joined)


def print_error(*lines: str) -> None:
    """Write ``boostne: line`` to stderr, and further lines below; what cannot be written is lost."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write("".join(["boostne: ", *(f"{one_line(line)}\n" for line in lines)]))
        sys.stderr.flush()
    except OSError:
        _discard(2)


def flush_stdout() -> None:
    """Write what is buffered for stdout."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError as error:
            raise stdout_error(error) from error


def stdout_error(error: OSError) -> OSError:
    """Return an error of stdout with a name for it; what is buffered is discarded, or Python would write it at exit."""
    _discard(1)
    return OSError(error.errno, error.strerror, "standard output")


def _discard(descriptor: int) -> None:
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
