"""Progress reports of long computations."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """A progress report.

    Attributes
    ----------
    stage : str
        Current stage, such as ``"connectivity"`` or ``"levels"``.
    done : float
        Completed fraction of the stage, from 0 to 1.
    detail : str
        Current step, such as ``"level 3/8, pass 7, residual 0.512"``.
    """

    stage: str
    done: float
    detail: str = ""


ProgressCallback = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Ignore a progress report."""
    del progress
