"""A Dask cluster as the engine sees it: its workers, their memory, and its failures."""

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from boostne.errors import ClusterError, MemoryLimitError, ParameterError
from boostne.factorization.dask.block_actor import bound_method
from boostne.memory import format_bytes

if TYPE_CHECKING:
    from distributed import Future

CONNECT_SECONDS = 10
WORKERS_SECONDS = 10  # to wait for the first worker
REPLACEMENT_SECONDS = 60  # to wait for a replacement of a lost worker
POLL_SECONDS = 0.5  # between checks for lost workers
GATHER_SECONDS = 5  # initial timeout for gathering finished results
PAUSE_SECONDS = 60  # that a worker may be paused for lack of memory
USABLE = 0.8  # share of a worker's memory limit beyond which Dask pauses it


class WorkerLostError(Exception):
    """A worker is gone with its blocks; the engine rebuilds them."""


@dataclass(frozen=True)
class Worker:
    """A worker: its threads, the memory it may use (None: unlimited) and last reported, and whether Dask paused it."""

    address: str
    threads: int
    usable: int | None
    used: int
    paused: bool

    @property
    def free(self) -> int | None:
        """Memory that it may still allocate, or None if unlimited."""
        return None if self.usable is None else self.usable - self.used


class Cluster:
    """The workers behind a Dask client.

    Parameters
    ----------
    client : distributed.Client or str
        A client, the address of a scheduler, or "dask" for the current default client.
    """

    def __init__(self, client: Any) -> None:
        self._owned = isinstance(client, str) and client != "dask"
        self._client: Any = connect(client) if self._owned else _checked_client(client)
        self.address: str = self._client.scheduler.address
        self._futures: WeakSet[Future[Any]] = WeakSet()  # of all that was submitted and sent
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Have the workers drop all results, even if a traceback refers to them; close the client if opened here."""
        if self._client.status == "running":
            self._client.cancel(list(self._futures))
        if self._owned:
            self._client.close()

    def workers(self) -> dict[str, Worker]:
        """Return the workers that are alive."""
        found = self._worker_info()
        return {
            address: Worker(
                address,
                info["nthreads"],
                int(USABLE * info["memory_limit"]) if info["memory_limit"] else None,
                info["metrics"]["memory"],
                info["status"] == "paused",
            )
            for address, info in found.items()
            if info["status"] in ("running", "paused")
        }

    def _worker_info(self) -> dict[str, Any]:
        """Return what the scheduler knows about each worker."""
        while True:
            try:
                found = self._client.scheduler_info(n_workers=-1)
                workers: dict[str, Any] = found["workers"]
                count: int = found["n_workers"]
            except (OSError, KeyError, ValueError, RuntimeError, TimeoutError) as error:
                raise self._gone() from error
            if self._client.status != "running":
                raise self._gone()
            # The client's own refresh, in another thread, may have replaced the answer by one that names no workers.
            if len(workers) == count:
                return workers

    def place_for(self, size: int, n_blocks: dict[str, int]) -> Worker:
        """Return the worker with the fewest blocks among those with ``size`` bytes free, or wait for one."""
        deadline = time.monotonic() + REPLACEMENT_SECONDS
        while True:
            alive = self.workers()
            fit = [worker for worker in alive.values() if worker.free is None or worker.free >= size]
            if fit:
                return min(fit, key=lambda worker: (n_blocks.get(worker.address, 0), worker.address))
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"a worker was lost, and none of the {len(alive)} left at {self.address} has the "
                    f"{format_bytes(size)} that its rows need; start another and run again"
                )
            time.sleep(POLL_SECONDS)

    def free_memory(self, workers: Iterable[Worker]) -> dict[str, int]:
        """Return the memory that workers with a limit may still allocate, by address."""
        # Measured now: a report may be from before the worker imported this package and received the graph.
        used = self.run_on_all(_used_memory)
        return {
            worker.address: worker.usable - used.get(worker.address, worker.used)
            for worker in workers
            if worker.usable is not None
        }

    def check_memory(self, workers: Sequence[Worker], size: int, purpose: str) -> None:
        """Raise MemoryLimitError unless each worker can allocate ``size`` bytes."""
        limited = self.free_memory(workers)
        least = min(limited.values(), default=size)
        if least < size:
            address = min(limited, key=limited.__getitem__)
            raise MemoryLimitError(
                f"{purpose} would need about {format_bytes(size)} on each of {len(workers)} workers; "
                f"{address} has {format_bytes(max(least, 0))} free ({USABLE:.0%} of its memory limit, less what it "
                "holds). Start more workers, or give them more memory (--memory-limit)."
            )

    def broadcast(self, source: object) -> "Future[Any]":
        """Send an object to every worker."""
        return self._scatter(source, broadcast=True)

    def send(self, array: object, workers: set[str]) -> "Future[Any]":
        """Send an object to some workers."""
        return self._scatter(array, workers=sorted(workers), broadcast=True)

    def _scatter(self, value: object, **options: Any) -> "Future[Any]":
        try:
            return self._remembered(self._client.scatter(value, hash=False, **options))
        except (OSError, KeyError, ValueError, TimeoutError) as error:
            self.workers()  # raises ClusterError if the scheduler is gone
            raise WorkerLostError from error

    def run_on_all(self, function: Callable[..., Any], *arguments: Any, on_error: str = "raise") -> dict[str, Any]:
        """Call a function on every worker; returns the results by address. Workers that die meanwhile have none."""
        while True:
            try:
                return dict(self._client.run(function, *arguments, on_error=on_error))
            except OSError:
                self.workers()  # raises ClusterError if the scheduler is gone
                time.sleep(POLL_SECONDS)  # until the scheduler has noticed

    def submit(self, worker: Worker, task: Callable[..., Any], *arguments: Any, **options: Any) -> "Future[Any]":
        """Run a task on this worker and no other; options are those of Dask."""
        return self._remembered(self._client.submit(task, *arguments, workers=[worker.address], pure=False, **options))

    def _remembered(self, future: "Future[Any]") -> "Future[Any]":
        self._futures.add(future)
        return future

    def results(self, futures: Sequence["Future[Any]"], used: set[str]) -> list[Any]:
        """Wait for futures that depend on the workers ``used``; raise WorkerLostError if one of them is gone."""
        from distributed import CancelledError, KilledWorker, wait

        last_running = time.monotonic()
        timeout = GATHER_SECONDS
        try:
            while True:
                try:
                    with self._client.as_current():
                        wait(futures, timeout=POLL_SECONDS)  # type: ignore[no-untyped-call]
                except TimeoutError as error:
                    _break_cycle(error)
                    last_running = self._check_alive(used, last_running)
                    continue
                try:
                    return self._gather(futures, timeout)
                except TimeoutError as error:
                    if any(future.status == "error" for future in futures):
                        raise  # that of a task, as on a network drive
                    _break_cycle(error)
                    # Dask would wait forever for a worker that died with a finished result.
                    last_running = self._check_alive(used, last_running)
                    timeout *= 2
        except (KilledWorker, CancelledError) as error:
            self.workers()  # raises ClusterError if the scheduler is gone
            raise WorkerLostError from error
        except RuntimeError:  # that of a lost actor, or of a task
            self._check_alive(used, last_running)
            raise

    def call(self, actor: Any, method: str, *arguments: Any, actors: Sequence["Future[Any]"], used: set[str]) -> Any:
        """Call an actor and wait for the reply, which depends on these actors on the workers ``used``."""
        with self._client.as_current():
            reply = bound_method(actor, method)(*arguments)
        last_running = time.monotonic()
        try:
            while True:
                try:
                    return self._within(POLL_SECONDS, lambda: reply)
                except TimeoutError as error:
                    _break_cycle(error)
                    if reply.done():  # since, or with an error of this type
                        return reply.result()
                    last_running = self._check_alive(used, last_running)
                    if any(future.status != "finished" for future in actors):
                        raise WorkerLostError from None  # another worker has its address now
        except OSError as error:
            self.workers()  # raises ClusterError if the scheduler is gone
            raise WorkerLostError from error

    def _gather(self, futures: Sequence["Future[Any]"], seconds: float) -> list[Any]:
        """Fetch finished results; raise TimeoutError if that takes too long."""
        gather = self._client.gather
        with self._client.as_current():  # to which actors among the results are then bound
            return list(self._within(seconds, lambda: gather(list(futures), asynchronous=True)))

    def _within(self, seconds: float, start: Callable[[], Awaitable[Any]]) -> Any:
        """Start something on the client's event loop and wait for it; raise TimeoutError if it takes too long."""

        # With a timeout of Dask's own, an interrupt at the wrong moment would leave what was started unawaited, and
        # Python would warn of that.
        async def bounded() -> Any:
            return await asyncio.wait_for(start(), seconds)

        return self._client.sync(bounded)

    def _check_alive(self, used: set[str], last_running: float) -> float:
        """Raise if a worker is gone or was paused for too long; else return when all were last running."""
        alive = self.workers()
        if not used <= alive.keys():
            raise WorkerLostError
        paused = [address for address in sorted(used) if alive[address].paused]
        if not paused:
            return time.monotonic()
        if time.monotonic() - last_running > PAUSE_SECONDS:
            raise MemoryLimitError(
                f"{paused[0]} is paused because it uses {USABLE:.0%} of its memory limit; start more workers, or give "
                "them more memory (--memory-limit)"
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
        found = self.run_on_all(version, "boostne", on_error="return")
        other = {
            address: "none" if isinstance(theirs, Exception) else theirs
            for address, theirs in found.items()
            if theirs != ours and not isinstance(theirs, OSError)  # a worker that has died
        }
        if other:
            named = ", ".join(f"{address} has {theirs}" for address, theirs in sorted(other.items()))
            raise ClusterError(f"this is boostne {ours}, but {named}; install boostne=={ours} on every worker")

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"the scheduler at {self.address} is gone and the run cannot continue. Start the cluster and run again"
        )


def _break_cycle(error: TimeoutError) -> None:
    """Drop the traceback of an error that Dask stores in one of its frames.

    In such a cycle the frames, their callers' included, hold futures until garbage is collected, and as long the
    workers would hold the graph and drafts of rows.
    """
    error.__traceback__ = None


def _used_memory() -> int:
    """Return the resident memory of this process, which Dask compares with the limit of a worker."""
    import psutil  # a dependency of Dask

    return int(psutil.Process().memory_info().rss)


def connect(address: str) -> Any:
    """Open a client for a scheduler; raise ClusterError within seconds if none answers."""
    distributed = _import()
    options = _connection_options(address)
    try:
        # In a separate thread, since a notebook runs an event loop in the main one.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(_try_connection(address, options))).result()
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address}; start one with 'dask scheduler' and give the address that "
            "it prints, such as tcp://10.0.0.1:8786, or tls://… if it uses TLS"
        ) from error
    except (TypeError, RuntimeError) as error:  # a protocol that Dask's configuration does not allow, or not support
        raise ClusterError(f"Dask cannot connect to {address}: {error}") from error


async def _try_connection(address: str, options: dict[str, Any]) -> None:
    """Connect and disconnect; a client would wait forever on a port that accepts connections and sends nothing."""
    opening = _import().core.connect(address, timeout=CONNECT_SECONDS, **options)
    comm = await asyncio.wait_for(opening, CONNECT_SECONDS)
    comm.abort()


def _connection_options(address: str) -> dict[str, Any]:
    keys = "distributed.comm.tls: ca-file, client.cert and client.key in Dask's configuration"
    try:
        options: dict[str, Any] = _import().Security().get_connection_args("client")
    except (OSError, ValueError) as error:
        raise ClusterError(f"the TLS certificates cannot be used ({error}); see {keys}") from error
    if address.startswith("tls://") and options["ssl_context"] is None:
        raise ClusterError(f"connecting to {address} needs TLS certificates; set {keys}")
    return options


def local_cluster(workers: int) -> AbstractContextManager[Any]:
    """Start a cluster on this machine; see :func:`boostne.factorization.dask.local_cluster.local_cluster`."""
    _import()
    from boostne.factorization.dask import local_cluster as module

    return module.local_cluster(workers)


def silence_logging() -> None:
    """Keep Dask from printing log records, which have tracebacks; our errors say in one line what happened."""
    _import()
    for name in ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())  # a logger without any handler prints, too
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
                logger.removeHandler(handler)


def _checked_client(client: Any) -> Any:
    distributed = _import()
    if client == "dask":
        try:
            client = distributed.default_client()
        except ValueError:
            raise ParameterError(
                "engine='dask' uses the current default client of Dask, and there is none; give a distributed.Client "
                "or the address of a scheduler as the engine (on the command line --scheduler ADDRESS or --workers N)"
            ) from None
    if not isinstance(client, distributed.Client):
        raise ParameterError(
            "engine must be 'local', 'cuda', 'auto', 'dask', a distributed.Client or the address of a scheduler; got "
            f"{client!r}"
        )
    if client.asynchronous:
        raise ParameterError("the client given as engine is asynchronous; open it with Client(…, asynchronous=False)")
    if client.status != "running":
        raise ClusterError(f"the client given as engine is {client.status}; open a new one with distributed.Client(…)")
    return client


def _import() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ParameterError("engine='dask' needs Dask: pip install \"boostne[dask]\"") from error
    return distributed
