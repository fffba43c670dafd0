"""Progress reports of long computations, and the progress bar that shows them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from boostne.errors import ParameterError


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

    Examples
    --------
    >>> import boostne
    >>> stages = []
    >>> graph = boostne.load_dataset("karate").graph
    >>> model = boostne.BoostNE(8, levels=2).fit(graph, progress=lambda report: stages.append(report.stage))
    >>> "levels" in stages
    True
    """

    stage: str
    done: float
    detail: str = ""


ProgressCallback = Callable[[Progress], None]
ProgressOption = ProgressCallback | bool

Item = TypeVar("Item")


def silent(progress: Progress) -> None:
    """Ignore a progress report."""
    del progress


@contextmanager
def reporting(progress: ProgressOption) -> Iterator[ProgressCallback]:
    """Yield the callback that a parameter ``progress`` stands for.

    Parameters
    ----------
    progress : callable or bool
        A callback; True for a progress bar on a terminal or in a notebook; False for nothing.
    """
    if callable(progress):
        yield progress
    elif not isinstance(progress, bool):
        raise ParameterError(f"progress must be a callable, True or False, got {progress!r}")
    elif progress:
        with progress_bar() as (_, show):
            yield show
    else:
        yield silent


def tracked(items: Iterable[Item], total: int, progress: ProgressCallback, stage: str) -> Iterator[Item]:
    """Yield the items, and report how many of them are done."""
    progress(Progress(stage, 0.0))
    for done, item in enumerate(items, 1):
        yield item
        progress(Progress(stage, done / total, f"{done} of {total}"))


@contextmanager
def progress_bar() -> Iterator[tuple[Any, ProgressCallback]]:
    """Show a bar for the current stage on stderr or in a notebook until the end of the ``with``.

    Yields
    ------
    console
        The console (of rich) to print to while the bar is shown.
    callback : callable
    """
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield console, silent
        return
    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=max(12, min(40, console.width - 64))),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    stages: dict[str, Any] = {}
    with Bars(*columns, console=console, transient=True) as live:

        def show(progress: Progress) -> None:
            if progress.stage not in stages:
                for earlier in stages.values():
                    live.update(earlier, visible=False)
                # Rich animates the bar while the total is unknown.
                stages[progress.stage] = live.add_task(progress.stage, total=None, detail="")
            live.update(
                stages[progress.stage],
                total=1.0 if progress.done else None,
                completed=progress.done,
                detail=progress.detail,
            )

        yield live.console, show
