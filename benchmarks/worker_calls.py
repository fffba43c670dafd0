"""Calls between Dask workers: the engine's actors, compared with handlers on Dask's undocumented rpc.

Both run the communication of a pass without its arithmetic: the client calls the first worker, which calls the others;
each of them fetches a slice from every other, twice. Both take turns, so that they see the same load.
"""

import asyncio
import time
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.common import save, show
from boostne.factorization.dask.block_actor import GroupTask, WorkerGroup
from boostne.factorization.dask.block_placement import BlockPlacement
from boostne.factorization.dask.cluster import Cluster
from boostne.matrices import CSRSource

# Workers, and rows of V: blogcatalog, and the generated graph of the benchmark "cluster".
CASES = ((2, 10_312), (4, 10_312), (2, 300_000))
WIDTH = 16
ROUNDS, WARM_UP = 40, 5
HANDLER = "boostne_benchmark"


def run() -> None:
    """Measure both kinds of calls."""
    rows = [measure(*case) for case in CASES]
    show("Communication of a pass", rows)
    save("worker_calls", rows, rounds=ROUNDS)


@cache
def context_slice(n_rows: int) -> Any:
    """Return a slice of this worker."""
    return np.ones((n_rows, WIDTH), np.float32)


async def actor_rows(_: WorkerGroup, n_rows: int) -> Any:
    """Return the slice."""
    return context_slice(n_rows)


async def actor_gather(group: WorkerGroup, n_rows: int) -> list[int]:
    """Fetch the slices of all others, twice; returns their rows."""
    others = [block for block in range(group.n_blocks) if block != group.index]
    for _ in range(2):
        found = await asyncio.gather(*(group.ask(block, actor_rows, n_rows) for block in others))
    return [sum(map(len, found))]


async def actor_pass(group: WorkerGroup, n_rows: int) -> list[int]:
    """Run :func:`actor_gather` on all blocks."""
    return await group.run_on_all(GroupTask(actor_gather, (n_rows,)))


class Handlers:
    """A worker's side with handlers; as with actors, a request is a function with its arguments."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker

    @property
    def address(self) -> str:
        """Address of the worker."""
        return str(self._worker.address)

    async def ask(self, address: str, function: Any, *arguments: Any) -> Any:
        """Return ``function(handlers, *arguments)``, called on another worker."""
        reply = await getattr(self._worker.rpc(address), HANDLER)(**request(function, *arguments))
        return reply["result"]


def request(function: Any, *arguments: Any) -> dict[str, Any]:
    """Return the message of a call."""
    return {"call": serialized((function, arguments))}


def serialized(value: Any) -> Any:
    """Return a value that Dask sends as a pickle or as the buffers of arrays."""
    from distributed.protocol.serialize import to_serialize

    return to_serialize(value)  # type: ignore[no-untyped-call]


def register_handler(dask_worker: Any) -> None:
    """Register the handler; Dask passes the worker to a parameter of this name."""

    async def serve(call: Any) -> dict[str, Any]:
        function, arguments = call
        return {"result": serialized(await function(Handlers(dask_worker), *arguments))}

    dask_worker.handlers[HANDLER] = serve


async def handler_rows(_: Handlers, n_rows: int) -> Any:
    """Return the slice."""
    return context_slice(n_rows)


async def handler_gather(worker: Handlers, addresses: list[str], n_rows: int) -> int:
    """Fetch the slices of all others, twice; returns their rows."""
    others = [address for address in addresses if address != worker.address]
    for _ in range(2):
        found = await asyncio.gather(*(worker.ask(other, handler_rows, n_rows) for other in others))
    return sum(map(len, found))


async def handler_pass(worker: Handlers, addresses: list[str], n_rows: int) -> list[int]:
    """Run :func:`handler_gather` on all workers, of which this is the first."""
    others = [worker.ask(other, handler_gather, addresses, n_rows) for other in addresses[1:]]
    return await asyncio.gather(handler_gather(worker, addresses, n_rows), *others)


def measure(workers: int, n: int) -> dict[str, Any]:
    """Return the milliseconds of a pass for both kinds of calls."""
    from distributed import Client

    rows = n // workers
    with Client(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        client.wait_for_workers(workers)
        addresses = sorted(client.scheduler_info()["workers"])
        client.run(register_handler)
        X = sparse.csr_array(np.ones((1000, 1000), np.float32))  # with a shard for each worker
        placement = BlockPlacement(Cluster(client), CSRSource(X), WIDTH, 1)

        def with_handlers() -> Any:
            message = {"op": HANDLER, **request(handler_pass, addresses, rows)}
            return client.sync(client.scheduler.proxy, worker=addresses[0], msg=message)["result"]

        def with_actors() -> Any:
            return placement.call(actor_pass, rows)

        kinds = {"handlers": with_handlers, "actors": with_actors}
        seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
        for i in range(ROUNDS + WARM_UP):
            for kind in sorted(kinds, reverse=i % 2 == 1):
                begin = time.perf_counter()
                found = kinds[kind]()
                seconds[kind].append(time.perf_counter() - begin)
                if list(found) != [rows * (workers - 1)] * workers:
                    raise RuntimeError(f"{kind} fetched {found} rows")
    times = {f"{kind}_ms": float(np.median(seconds[kind][WARM_UP:])) * 1e3 for kind in seconds}
    return {"workers": workers, "rows": n, **times, "actors/handlers": times["actors_ms"] / times["handlers_ms"]}
