"""What a long computation says of itself while it runs."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One report.

    Attributes
    ----------
    stage : str
        What is being done, such as ``"connectivity"`` or ``"levels"``.
    done : float
        Share of the stage that is done, from 0 to 1.
    detail : str
        Where it stands, such as ``"level 3/8, pass 7, residual 0.512"``.
    """

    stage: str
    done: float
    detail: str = ""


ProgressCallback = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Take a report and say nothing."""
    del progress
