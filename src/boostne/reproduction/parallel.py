"""Runs the computations of a reproduction in several processes."""

import logging
import math
import signal
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NoReturn
from warnings import warn

from boostne.child_processes import interrupts_blocked_in_children, signals_deferred
from boostne.errors import BoostneError
from boostne.progress import Progress, ProgressCallback
from boostne.reproduction.computations import Computation, Pending, display_name
from boostne.reproduction.worker import Assignment, Failed, Finished, Logged, Started, Task, Warned, work

TASKS_PER_PROCESS = 2  # of equal cost; larger groups of computations are split, and each part fits again


@dataclass(eq=False)
class _Worker:
    """A worker process.

    Attributes
    ----------
    process : SpawnProcess
    connection : Connection
    task : Task or None
        The task that it runs.
    n_left : int
        Number of computations of the task that are not finished.
    """

    process: SpawnProcess
    connection: Connection
    task: Task | None = None
    n_left: int = 0

    def assign(self, waiting: deque[Task]) -> bool:
        """Send the next task; without one, let the process end and return False."""
        self.task = waiting.popleft() if waiting else None
        self.n_left = len(self.task.names) if self.task else 0
        try:
            self.connection.send(self.task)
        except OSError:
            self.raise_lost()
        return self.task is not None

    def receive(self) -> object:
        """Return the next message; raise an error if the process has ended."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.raise_lost()

    def raise_lost(self) -> NoReturn:
        """Raise the error for a process that ended by itself."""
        self.process.join()
        code = self.process.exitcode or 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        task = f" of {self.task.title}" if self.task else ""
        raise BoostneError(
            f"a process{task} {how}; finished results are cached: run again, with fewer jobs if memory is short"
        )


def compute_in_processes(
    pending: Mapping[str, Sequence[Pending]], assignment: Assignment, jobs: int, progress: ProgressCallback
) -> None:
    """Run computations in processes, which cache each value as soon as it is computed.

    Parameters
    ----------
    pending : mapping from str to sequence of Pending
        Computations by part of the reproduction. Their values are added.
    assignment : Assignment
    jobs : int
        Maximum number of processes.
    progress : callable
        Called when a computation begins.
    """
    left = {(one.title, one.computation.name): one for part in pending.values() for one in part}
    total, done = sum(one.computation.cost for one in left.values()), 0.0
    waiting = deque(make_tasks(pending, jobs))
    with _started(min(jobs, len(waiting)), assignment) as workers:
        busy = {worker.connection: worker for worker in workers if worker.assign(waiting)}
        while busy:
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                match worker.receive():
                    case Started(name) if worker.task:
                        detail = f"{worker.task.title}, {display_name(name)}"
                        progress(Progress("reproduce", done / total, detail))
                    case Finished(name, value) if worker.task:
                        one = left.pop((worker.task.title, name))
                        one.values[name] = value
                        done += one.computation.cost
                        worker.n_left -= 1
                        if not worker.n_left and not worker.assign(waiting):
                            del busy[worker.connection]
                    case message:
                        _handle_note(message)


def _handle_note(message: object) -> None:
    """Repeat a warning, a log record or an error of a worker in this process."""
    match message:
        case Warned(category, text):
            warn(text, category, stacklevel=2)
        case Logged(level, text):
            logging.getLogger("boostne").log(level, text)
        case Failed(error):
            raise error


def make_tasks(pending: Mapping[str, Sequence[Pending]], jobs: int) -> list[Task]:
    """Return tasks sorted by decreasing cost: computations that share a fit, or a part of them if these take long."""
    groups: dict[tuple[str, str, str], list[Computation]] = {}
    for part, computations in pending.items():
        for one in computations:
            groups.setdefault((part, one.fitter.data.name, one.title), []).append(one.computation)
    total = _cost(one for group in groups.values() for one in group)
    tasks = [
        (_cost(share), Task(*key, tuple(one.name for one in share)))
        for key, group in groups.items()
        for share in _split(group, total / (TASKS_PER_PROCESS * jobs))
    ]
    return [task for _, task in sorted(tasks, key=lambda task: -task[0])]


def _split(computations: Sequence[Computation], cost: float) -> list[list[Computation]]:
    """Return the fewest shares of at most about this cost, each in the order of the computations."""
    n_shares = min(len(computations), math.ceil(_cost(computations) / cost))
    shares: list[list[Computation]] = [[] for _ in range(n_shares)]
    for one in sorted(computations, key=lambda one: -one.cost):
        min(shares, key=_cost).append(one)
    order = {one.name: i for i, one in enumerate(computations)}
    return [sorted(share, key=lambda one: order[one.name]) for share in shares]


def _cost(computations: Iterator[Computation] | Sequence[Computation]) -> float:
    return sum(one.cost for one in computations)


@contextmanager
def _started(count: int, assignment: Assignment) -> Iterator[list[_Worker]]:
    """Start worker processes; they have ended when the body has, by themselves unless it raises an exception."""
    context = get_context("spawn")
    workers: list[_Worker] = []
    try:
        with signals_deferred(), interrupts_blocked_in_children():
            for _ in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=work, args=(theirs, assignment), daemon=True)
                process.start()
                theirs.close()  # so that the end of the process ends the connection
                workers.append(_Worker(process, ours))
        yield workers
    except BaseException:
        with signals_deferred():
            for worker in workers:
                worker.process.kill()
        raise
    finally:
        for worker in workers:
            worker.process.join()
            worker.connection.close()
