"""A Dask cluster as the engine sees it: who is there, how much memory they have, and what may go wrong."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from boostne.errors import ClusterError, MemoryLimitError, ParameterError
from boostne.memory import format_bytes

if TYPE_CHECKING:
    from distributed import Future

CONNECT_SECONDS = 10
WORKERS_SECONDS = 10  # until the first worker has come
REPLACEMENT_SECONDS = 60  # until another takes a lost one's place
POLL_SECONDS = 0.5  # between two looks at who is still there
GATHER_SECONDS = 5  # for results that are there to arrive, at first
PAUSE_SECONDS = 60  # that a worker may wait for memory to be freed
USABLE = 0.8  # of a worker's memory limit: beyond that Dask pauses it


class WorkerLostError(Exception):
    """A worker went away with what it held; the engine builds that again."""


@dataclass(frozen=True)
class Worker:
    """A worker of the cluster: its threads, the bytes that it may still take (None: no limit), whether it waits."""

    address: str
    threads: int
    room: int | None
    paused: bool


class Cluster:
    """The workers behind a Dask client.

    Parameters
    ----------
    client : distributed.Client, str or None
        A client, the address of a scheduler, or None for the client that was made last.
    """

    def __init__(self, client: Any) -> None:
        self._owned = isinstance(client, str)
        self._client: Any = connect(client) if isinstance(client, str) else _given(client)
        self.address: str = self._client.scheduler.address
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the client if it was opened here."""
        if self._owned:
            self._client.close()

    def workers(self) -> dict[str, Worker]:
        """Return those that are there now."""
        try:
            found = self._client.scheduler_info()["workers"]
        except (OSError, KeyError, ValueError, RuntimeError, TimeoutError) as error:
            raise self._gone() from error
        if self._client.status != "running":
            raise self._gone()
        return {
            address: Worker(
                address,
                info["nthreads"],
                int(USABLE * info["memory_limit"]) - info["metrics"]["memory"]
                if info["memory_limit"]
                else None,
                info["status"] == "paused",
            )
            for address, info in found.items()
            if info["status"] in ("running", "paused")
        }

    def place_for(self, size: int, holding: dict[str, int]) -> Worker:
        """Return the worker that holds least among those with room for ``size`` bytes, or wait for one."""
        deadline = time.monotonic() + REPLACEMENT_SECONDS
        while True:
            there = self.workers()
            fit = [worker for worker in there.values() if worker.room is None or worker.room >= size]
            if fit:
                return min(fit, key=lambda worker: (holding.get(worker.address, 0), worker.address))
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"a worker was lost, and none of the {len(there)} left at {self.address} has the "
                    f"{format_bytes(size)} that its rows need; start another and run this again"
                )
            time.sleep(POLL_SECONDS)

    def check_room(self, workers: Sequence[Worker], size: int, purpose: str) -> None:
        """Raise unless each worker has room for so many bytes."""
        small = min((worker for worker in workers if worker.room is not None), key=_room, default=None)
        if small is not None and _room(small) < size:
            raise MemoryLimitError(
                f"{purpose} would need about {format_bytes(size)} on each of {len(workers)} workers; "
                f"{small.address} has room for {format_bytes(max(_room(small), 0))} ({USABLE:.0%} of its memory "
                "limit, less what it holds). Start more workers, or give them more memory (--memory-limit)."
            )

    def share(self, source: object) -> "Future[Any]":
        """Send something to every worker."""
        return self._scatter(source, broadcast=True)

    def send(self, array: object, workers: set[str]) -> "Future[Any]":
        """Send something to some workers."""
        return self._scatter(array, workers=sorted(workers), broadcast=True)

    def _scatter(self, what: object, **options: Any) -> "Future[Any]":
        try:
            return self._client.scatter(what, hash=False, **options)  # type: ignore[no-any-return]
        except (OSError, KeyError, ValueError, TimeoutError) as error:
            self.workers()  # raises where the scheduler is what went away
            raise WorkerLostError from error

    def ask(self, question: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function on every worker; returns the answers by address."""
        return dict(self._client.run(question, *arguments))

    def submit(self, worker: Worker, task: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Let a worker, and no other, do something."""
        return self._client.submit(task, *arguments, workers=[worker.address], pure=False)  # type: ignore[no-any-return]

    def results(self, futures: Sequence["Future[Any]"], used: set[str]) -> list[Any]:
        """Wait for futures that need the workers ``used``; raise WorkerLostError once one of these is missing."""
        from distributed import CancelledError, KilledWorker, wait

        last_running = time.monotonic()
        patience = GATHER_SECONDS
        try:
            while True:
                try:
                    with self._client.as_current():
                        wait(futures, timeout=POLL_SECONDS)  # type: ignore[no-untyped-call]
                except TimeoutError:
                    last_running = self._look_after(used, last_running)
                    continue
                try:
                    return self._gathered(futures, patience)
                except TimeoutError:
                    # A worker that died with a finished result would be waited for without end.
                    last_running = self._look_after(used, last_running)
                    patience *= 2
        except (KilledWorker, CancelledError) as error:
            self.workers()  # raises where the scheduler is what went away
            raise WorkerLostError from error

    def call(self, address: str, handler: str, request: dict[str, Any], used: set[str]) -> Any:
        """Wait for the answer of a worker's handler, which may need all the workers ``used``; see :meth:`results`."""

        async def asked() -> Any:
            # Through the scheduler: it reaches every worker, the client may not.
            return await self._client.scheduler.proxy(worker=address, msg={"op": handler, **request})

        reply = asyncio.run_coroutine_threadsafe(asked(), self._client.loop.asyncio_loop)
        last_running = time.monotonic()
        try:
            while True:
                try:
                    return reply.result(POLL_SECONDS)
                except TimeoutError:
                    if reply.done():
                        raise
                    last_running = self._look_after(used, last_running)
        except OSError as error:
            self.workers()  # raises where the scheduler is what went away
            raise WorkerLostError from error
        finally:
            reply.cancel()

    def _gathered(self, futures: Sequence["Future[Any]"], seconds: float) -> list[Any]:
        """Fetch finished results, or raise TimeoutError."""
        gather = self._client.gather
        found = self._client.sync(lambda: gather(list(futures), asynchronous=True), callback_timeout=seconds)
        return list(found)

    def _look_after(self, used: set[str], last_running: float) -> float:
        """Raise if one of these workers is missing, or has been out of memory for long; else tell when none was."""
        there = self.workers()
        if not used <= there.keys():
            raise WorkerLostError
        paused = [address for address in sorted(used) if there[address].paused]
        if not paused:
            return time.monotonic()
        if time.monotonic() - last_running > PAUSE_SECONDS:
            raise MemoryLimitError(
                f"{paused[0]} has used {USABLE:.0%} of its memory limit and waits; start more workers, or give them "
                "more memory (--memory-limit)"
            )
        return last_running

    def _check(self) -> None:
        """Raise unless there are workers, all with this version of boostne."""
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        except TimeoutError:
            raise ClusterError(
                f"the scheduler at {self.address} has no workers; start some with: dask worker {self.address}"
            ) from None
        ours = version("boostne")
        found = self._client.run(version, "boostne", on_error="return")
        other = {
            address: "none" if isinstance(theirs, Exception) else theirs
            for address, theirs in found.items()
            if theirs != ours
        }
        if other:
            named = ", ".join(f"{address} has {theirs}" for address, theirs in sorted(other.items()))
            raise ClusterError(
                f"this is boostne {ours}, but {named}; install boostne=={ours} on every worker"
            )

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"the scheduler at {self.address} went away; the run cannot go on. Start the cluster and run it again"
        )


def connect(address: str) -> Any:
    """Open a client for the scheduler at an address, or say within some seconds that there is none."""
    distributed = _import()
    try:
        # In a thread of its own: a notebook has a running loop in the main one.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(_shake_hands(address))).result()
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address}; start one with 'dask scheduler' and give the address that "
            "it prints, such as tcp://10.0.0.1:8786"
        ) from error


async def _shake_hands(address: str) -> None:
    """Connect and leave again; a client would wait for ever on a port that takes connections and says nothing."""
    distributed = _import()
    options = distributed.Security().get_connection_args("client")
    opening = distributed.core.connect(address, timeout=CONNECT_SECONDS, **options)
    comm = await asyncio.wait_for(opening, CONNECT_SECONDS)
    comm.abort()


@contextmanager
def local_cluster(workers: int) -> Iterator[str]:
    """Start workers as processes of this machine, one thread each; gives the scheduler's address."""
    distributed = _import()
    with _deaf_to_interrupts():
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
        )
    with cluster:
        yield cluster.scheduler_address


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Have processes that are started now ignore Ctrl-C: a terminal sends it to them too, and we end them ourselves."""
    if threading.current_thread() is not threading.main_thread():  # which alone may say so
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)  # None: not Python's


def _given(client: Any) -> Any:
    distributed = _import()
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ParameterError(
                "engine='dask' needs a cluster: as client a distributed.Client or the address of a scheduler; on "
                "the command line --scheduler ADDRESS or --workers N"
            ) from None
    if not isinstance(client, distributed.Client):
        raise ParameterError(
            f"client must be a distributed.Client or the address of a scheduler; got {client!r}"
        )
    if client.asynchronous:
        raise ParameterError("client must not be asynchronous; open it with Client(…, asynchronous=False)")
    if client.status != "running":
        raise ClusterError(f"the client is {client.status}; open a new one with distributed.Client(…)")
    return client


def _import() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ParameterError("engine='dask' needs Dask: pip install \"boostne[dask]\"") from error
    return distributed


def _room(worker: Worker) -> int:
    return worker.room or 0
