"""Signals that end the program: Ctrl-C, requests to terminate, and a closed terminal."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from boostne.cli.streams import print_error

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)
_RETRY_SECONDS = 0.02
PATIENCE_SECONDS = 10  # after which another signal ends the program at once


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived. Derived from KeyboardInterrupt, since everything cleans up after one."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code(error: KeyboardInterrupt) -> int:
    """Return 128 plus the number of the signal, as shells do."""
    return 128 + (error.number if isinstance(error, Terminated) else signal.SIGINT)


def describe(error: KeyboardInterrupt) -> str:
    """Return what happened to the program, in one word."""
    return "terminated" if isinstance(error, Terminated) else "interrupted"


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt in the body when a signal arrives, and exit with one line if it leaves the body.

    A signal that arrives while the program is ending has no effect, so that files and processes are cleaned up however
    often Ctrl-C is pressed, unless that takes more than a few seconds. Signals that were ignored, as with nohup, stay
    ignored.
    """
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    handled = [number for number in numbers if signal.getsignal(number) in _DEFAULTS]
    handler = _Handler()
    for number in handled:
        signal.signal(number, handler)
    sys.unraisablehook = _raise_again
    try:
        yield
    except KeyboardInterrupt as error:
        print_error(describe(error))
        sys.exit(exit_code(error))
    finally:
        # All is cleaned up; an exception while the interpreter shuts down would print a traceback.
        for number in handled:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)


class _Handler:
    """Raises an exception for the first signal, and ignores those that arrive while it is handled."""

    def __init__(self) -> None:
        self._first = math.inf  # time of the first exception

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if _ending():
            if time.monotonic() > self._first + PATIENCE_SECONDS:
                os._exit(128 + number)
        elif _loading_extension(frame):
            _send_again(number)
        else:
            self._first = min(self._first, time.monotonic())
            raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _ending() -> bool:
    """Return whether the exception that is being handled ends the program."""
    error = sys.exception()
    while error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
        error = error.__context__
    return error is not None


def _loading_extension(frame: FrameType | None) -> bool:
    """Return whether an extension module is being initialized, which prints an exception and raises ImportError."""
    while frame is not None and not frame.f_code.co_qualname.startswith("ExtensionFileLoader."):
        frame = frame.f_back
    return frame is not None


def _raise_again(unraisable: Any) -> None:
    """Send a signal again whose exception was raised in a destructor, where it has no effect."""
    error = unraisable.exc_value
    if isinstance(error, KeyboardInterrupt):
        _send_again(exit_code(error) - 128)
    else:
        sys.__unraisablehook__(unraisable)


def _send_again(number: int) -> None:
    timer = threading.Timer(_RETRY_SECONDS, os.kill, (os.getpid(), number))
    timer.daemon = True
    timer.start()
