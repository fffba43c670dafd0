"""A process that runs computations of a reproduction for its parent.

Computations cannot be sent to another process. A worker receives their names, and plans the experiments of the data set
itself; it caches the values as the parent would.
"""

import logging
import multiprocessing
import os
import threading
import traceback
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from boostne.datasets import load_dataset
from boostne.errors import BoostneError
from boostne.reproduction.cache import Cache
from boostne.reproduction.computations import FIT, Pending, compute
from boostne.reproduction.experiments import plan_experiments
from boostne.reproduction.plan import Protocol
from boostne.reproduction.tuned_comparison import plan_tuned

PAPER_PART, TUNED_PART = "paper", "tuned"
PLANNERS = {PAPER_PART: plan_experiments, TUNED_PART: plan_tuned}
_LIBRARIES = ("scipy.linalg", "sklearn.linear_model")  # with the BLAS and OpenMP threads of a computation
_EXPECTED = (BoostneError, OSError, MemoryError, FloatingPointError)


class Task(NamedTuple):
    """Computations that share a fit.

    Attributes
    ----------
    part : str
        "paper" or "tuned".
    dataset : str
    title : str
        As in :class:`Pending`.
    names : tuple
        Names of the computations.
    """

    part: str
    dataset: str
    title: str
    names: tuple[str | int, ...]


class Assignment(NamedTuple):
    """What all tasks have in common.

    Attributes
    ----------
    methods : tuple of str
    protocol : Protocol
    threads : int or None
    cache : Path
    log_level : int
        Level from which log records are sent to the parent.
    """

    methods: tuple[str, ...]
    protocol: Protocol
    threads: int | None
    cache: Path
    log_level: int


class Started(NamedTuple):
    """A computation began."""

    name: str | int


class Finished(NamedTuple):
    """The value of a computation, which is cached."""

    name: str | int
    value: dict[str, Any]


class Warned(NamedTuple):
    """A warning."""

    category: type[Warning]
    text: str


class Logged(NamedTuple):
    """A log record."""

    level: int
    text: str


class Failed(NamedTuple):
    """The error that ended a task."""

    error: Exception


def work(connection: Connection, assignment: Assignment) -> None:
    """Run the tasks that the parent sends until it sends None."""
    from threadpoolctl import threadpool_limits

    threading.Thread(target=_exit_with_parent, daemon=True).start()
    send = _sender(connection)
    _forward_notes(send, assignment.log_level)
    for library in _LIBRARIES:  # limits apply to loaded libraries only
        import_module(library)
    with threadpool_limits(assignment.threads):
        while (task := connection.recv()) is not None:
            _run(task, assignment, send)


def _exit_with_parent() -> None:
    """End this process with its parent, even if that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _sender(connection: Connection) -> Callable[[object], None]:
    """Return a function that sends a message from any thread."""
    lock = threading.Lock()

    def send(message: object) -> None:
        with lock:
            connection.send(message)

    return send


def _forward_notes(send: Callable[[object], None], log_level: int) -> None:
    """Send warnings and log records to the parent instead of printing them."""

    class Forwarder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            send(Logged(record.levelno, record.getMessage()))

    def forward(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        send(Warned(category, str(message)))

    warnings.showwarning = forward
    logger = logging.getLogger("boostne")
    logger.addHandler(Forwarder())
    logger.setLevel(log_level)
    logger.propagate = False


def _run(task: Task, assignment: Assignment, send: Callable[[object], None]) -> None:
    """Run the computations of a task, and send their values or an error."""
    try:
        plan = _plan(task.part, task.dataset, assignment)
        by_name = {one.computation.name: one for one in plan if one.title == task.title}
        if FIT not in task.names:  # so that the first score does not include the time of the fit
            by_name[FIT].computation.compute()
        cache = Cache(assignment.cache)
        for name in task.names:
            send(Started(name))
            compute([by_name[name]], cache)
            send(Finished(name, by_name[name].values[name]))
    except _EXPECTED as error:
        send(Failed(error))
    except Exception as error:
        failure = BoostneError(f"{task.title} failed with {type(error).__name__}: {error}")
        failure.add_note(traceback.format_exc())
        send(Failed(failure))


@lru_cache(maxsize=1)  # tasks of the same data set share X
def _plan(part: str, dataset: str, assignment: Assignment) -> list[Pending]:
    """Return all computations of a data set."""
    _, pending = PLANNERS[part](
        [load_dataset(dataset)], assignment.methods, assignment.protocol, None, assignment.threads
    )
    return pending
