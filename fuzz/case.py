"""One case, and its possible outcomes."""

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from boostne.errors import BoostneError, FileFormatError

OK = "ok"
FAILURE = "failure"  # a wrong result or an undocumented exception
CRASH = "crash"
HANG = "hang"
FAILURES = (FAILURE, CRASH, HANG)


class WrongResultError(Exception):
    """A result or an error message that is not as documented."""


@dataclass
class Case:
    """One case of a target.

    Attributes
    ----------
    rng : Random
        The only source of randomness: the same seed and number give the same case.
    folder : Path
        An empty folder for the files of this case; it is kept if the case fails.
    call : str
        What is called, for the report of a failure.
    """

    rng: Random
    folder: Path
    call: str = ""

    def announce(self, call: str) -> None:
        """Store what is to be called, also in a file, which is all that is left after a crash."""
        self.call = call
        call_file(self.folder).write_text(call, "utf-8", "backslashreplace")


def call_file(folder: Path) -> Path:
    """Return the file next to a case's folder that contains its call."""
    return folder.with_name("call")


class Target(NamedTuple):
    """A part of the library to be fuzzed.

    Attributes
    ----------
    run : callable
        Executes a case and returns its outcome: "ok", or the name of a documented error.
    share : float
        Relative share of the time.
    """

    run: Callable[[Case], str]
    share: float = 1.0


class Report(NamedTuple):
    """The outcome of a case; ``detail`` describes a failure, and equal ``signature`` means probably the same cause."""

    outcome: str
    signature: str = ""
    detail: str = ""


def find_target(name: str) -> Target:
    """Return a target by its name; ``module:function`` names a target outside of this package."""
    module, _, function = name.partition(":")
    if function:
        return Target(getattr(import_module(module), function))
    from fuzz.targets import TARGETS

    return TARGETS[name]


def execute(name: str, seed: int, number: int, folder: Path) -> Report:
    """Execute a case in this process."""
    case = Case(Random(f"{name} {seed} {number}"), folder)
    try:
        return Report(find_target(name).run(case), detail=case.call)
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        return Report(FAILURE, f"{name}: {_signature(error)}", f"{case.call}\n{text}")


def _signature(error: BaseException) -> str:
    """Return the type of an error and the last function of the library that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = [frame for frame in frames if "boostne" in frame.filename] or frames
    place = f"{Path(inner[-1].filename).name}:{inner[-1].name}"
    text = re.split(r"[:'\"\[]", str(error))[0][:80] if isinstance(error, WrongResultError) else place
    return f"{type(error).__name__} {text}"


def require(condition: Any, message: str) -> None:
    """Raise WrongResultError unless the condition holds."""
    if not condition:
        raise WrongResultError(message)


def attempt(function: Callable[[], Any], *paths: Path) -> tuple[Any, str]:
    """Call a function; returns its result and the outcome, which is the name of the error if a documented one occurs.

    Parameters
    ----------
    function : callable
    *paths : Path
        The files that are read, one of which errors must name.
    """
    try:
        return function(), OK
    except BoostneError as error:
        message = str(error)
        require(message.strip() and "\n" not in message, f"not a message of one line: {message!r}")
        if paths and isinstance(error, FileFormatError):
            require(any(path.stem in message for path in paths), f"the message does not name the file: {message!r}")
        return None, type(error).__name__
    except OSError as error:
        if error.filename is None:
            raise
        return None, "OSError"
