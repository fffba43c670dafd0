"""Calls between Dask workers: our handlers on Dask's rpc, compared with the public `Actor` interface.

Both run the communication of a pass without its arithmetic: the client calls the first worker, which calls the others;
each of them fetches a slice from every other, twice. Rounds alternate, so that both see the same load.
"""

import asyncio
import time
from typing import Any

import numpy as np

from benchmarks.common import save, show
from boostne.factorization.dask import worker_rpc
from boostne.factorization.dask.cluster import Cluster

# Workers, and rows of V: blogcatalog, and the generated graph of the benchmark "cluster".
CASES = ((2, 10_312), (4, 10_312), (2, 300_000))
WIDTH = 16
ROUNDS, WARM_UP = 30, 5


def run() -> None:
    """Measure both kinds of calls."""
    rows = [measure(*case) for case in CASES]
    show("Communication of a pass", rows)
    save("worker_calls", rows, rounds=ROUNDS)


class Block:
    """A worker's side as an actor: a slice, and methods that others call."""

    def __init__(self, n_rows: int) -> None:
        self._slice = np.ones((n_rows, WIDTH), np.float32)

    async def rows(self) -> Any:
        """Return the slice."""
        return self._slice

    async def gather(self, others: list[Any]) -> int:
        """Fetch the slices of all others, twice; returns their rows."""
        for _ in range(2):
            found = await asyncio.gather(*(fetch(other) for other in others))
        return sum(map(len, found))

    async def run_pass(self, blocks: list[Any]) -> list[int]:
        """Run :meth:`gather` on all blocks, of which this is the first."""
        rest = blocks[1:]
        calls = [first_awaited(other.gather([b for b in blocks if b is not other])) for other in rest]
        return await asyncio.gather(self.gather(rest), *calls)


async def first_awaited(future: Any) -> Any:
    """Return the result of an actor's future, which is awaitable but no coroutine."""
    return await future


async def fetch(other: Any) -> Any:
    """Fetch the slice of an actor."""
    return await other.rows()


async def handler_rows(_: Any, n_rows: int) -> Any:
    """Return a slice."""
    if not hasattr(handler_rows, "slice") or len(handler_rows.slice) != n_rows:
        handler_rows.slice = np.ones((n_rows, WIDTH), np.float32)
    return handler_rows.slice


async def handler_gather(group: Any, sites: list[Any], n_rows: int) -> list[int]:
    """Fetch the slices of all others, twice; returns their rows."""
    others = [site for site in sites if site != group.site]
    for _ in range(2):
        found = await asyncio.gather(*(group.ask(site, handler_rows, n_rows) for site in others))
    return [sum(map(len, found))]


async def handler_pass(group: Any, sites: list[Any], n_rows: int) -> list[int]:
    """Run :func:`handler_gather` on all blocks."""
    found: list[int] = await group.run_on_all(worker_rpc.GroupTask(handler_gather, (sites, n_rows)))
    return found


def serve_calls(dask_worker: Any) -> None:
    """Register our handler; Dask passes the worker to a parameter of this name."""
    worker_rpc.register_handler(dask_worker)


def measure(workers: int, n: int) -> dict[str, Any]:
    """Return the milliseconds of a pass for both kinds of calls."""
    from distributed import Client

    rows = n // workers
    with Client(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        client.wait_for_workers(workers)
        addresses = sorted(client.scheduler_info()["workers"])
        client.run(serve_calls)
        sites = [(address, str(i)) for i, address in enumerate(addresses)]
        cluster = Cluster(client)
        actors = [client.submit(Block, rows, actor=True, workers=[at], pure=False).result() for at in addresses]

        def handlers() -> Any:
            message = worker_rpc.request(sites, handler_pass, sites, rows)
            reply = cluster.call(lambda client: worker_rpc.send_request(client, addresses[0], message), set(addresses))
            return worker_rpc.unpack_reply(reply)

        def with_actors() -> Any:
            return actors[0].run_pass(actors).result()

        kinds = {"handlers": handlers, "actors": with_actors}
        seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(ROUNDS + WARM_UP):
            for kind, call in kinds.items():
                begin = time.perf_counter()
                found = call()
                seconds[kind].append(time.perf_counter() - begin)
                if found != [rows * (workers - 1)] * workers:
                    raise RuntimeError(f"{kind} fetched {found} rows")
    times = {f"{kind}_ms": float(np.median(seconds[kind][WARM_UP:])) * 1e3 for kind in kinds}
    return {"workers": workers, "rows": n, **times, "actors/handlers": times["actors_ms"] / times["handlers_ms"]}
