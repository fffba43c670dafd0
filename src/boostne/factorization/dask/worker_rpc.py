"""Calls between workers, without a round trip through the scheduler for each of them.

A task takes about ten milliseconds until the client has its result, and a pass would take several in sequence.
Instead the client calls the worker of the first block, and that one calls the others along a tree over the blocks;
results return up the tree, those of consecutive blocks joined in order. In between, blocks call each other directly
(:mod:`.exchange`).

This needs names that Dask does not document: ``handlers``, ``rpc``, ``data`` and ``executor`` of a worker, ``proxy`` of
a scheduler, and ``to_serialize``. They are used in this module only, and ``tests/test_dask.py`` looks for them.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from boostne.factorization.dask import worker_block
from boostne.factorization.dask.exchange import BlockLostError, Site
from boostne.factorization.dask.worker_block import WorkerBlock

HANDLER = "boostne"

Call = Callable[..., Coroutine[Any, Any, Any]]  # its first argument is a WorkerGroup


@dataclass(frozen=True)
class GroupTask:
    """What each block does: ``run(group, *arguments)``, which returns a list."""

    run: Call
    arguments: tuple[Any, ...]


class WorkerGroup:
    """Consecutive blocks, seen from the worker of the first of them."""

    def __init__(self, worker: Any, sites: list[Site]) -> None:
        self._worker = worker
        self._sites = sites

    @property
    def site(self) -> Site:
        """The first block, which is on this worker."""
        return self._sites[0]

    @property
    def block(self) -> WorkerBlock:
        """The block on this worker."""
        block: WorkerBlock | None = self._worker.data.get(self.site[1])
        if block is None:
            raise BlockLostError
        return block

    async def in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on a task thread, so that the worker can serve other calls in the meantime."""
        return await asyncio.get_running_loop().run_in_executor(self._worker.executor, function, *arguments)

    async def run_on_all(self, task: GroupTask) -> list[Any]:
        """Run a task on every block; returns the results of all, in order."""
        others = [self._ask(branch, WorkerGroup.run_on_all, task) for branch in branches(self._sites)]
        results = await asyncio.gather(task.run(self, *task.arguments), *others)
        return [result for some in results for result in some]

    async def ask(self, site: Site, function: Call, *arguments: Any) -> Any:
        """Return ``function(group, *arguments)`` for the group of one other block, called on its worker."""
        if site[0] == self.site[0]:
            return await function(WorkerGroup(self._worker, [site]), *arguments)
        return await self._ask([site], function, *arguments)

    async def _ask(self, sites: list[Site], function: Call, *arguments: Any) -> Any:
        peer = self._worker.rpc(sites[0][0])
        return unpack_reply(await getattr(peer, HANDLER)(**request(sites, function, *arguments)))


def branches(sites: list[Site]) -> list[list[Site]]:
    """Split all but the first of consecutive blocks into runs that double in length.

    >>> branches([("a", "0"), ("b", "1"), ("c", "2"), ("d", "3")])
    [[('b', '1')], [('c', '2'), ('d', '3')]]
    """
    found, size = [], 1
    while size < len(sites):
        found.append(sites[size : 2 * size])
        size *= 2
    return found


def host_block(*arguments: Any) -> WorkerBlock:
    """Build a block in a task, after registering the handler that serves calls to its worker."""
    from distributed import get_worker

    register_handler(get_worker())
    return worker_block.build_block(*arguments)


def register_handler(worker: Any) -> None:
    """Let a worker serve calls."""

    async def handler(sites: list[Site], call: Any) -> dict[str, Any]:
        return await _serve(worker, sites, *call)

    worker.handlers[HANDLER] = handler


def send_request(client: Any, address: str, message: dict[str, Any]) -> concurrent.futures.Future[Any]:
    """Send a request to a worker through the scheduler, which reaches every worker; the client may not."""

    async def send() -> Any:
        return await client.scheduler.proxy(worker=address, msg={"op": HANDLER, **message})

    return asyncio.run_coroutine_threadsafe(send(), client.loop.asyncio_loop)


def request(sites: list[Site], function: Call, *arguments: Any) -> dict[str, Any]:
    """Return the message that runs ``function(group, *arguments)`` on the worker of the first of these blocks."""
    return {"sites": sites, "call": _serialized((function, arguments))}


def unpack_reply(reply: dict[str, Any] | None) -> Any:
    """Return the result of a request; a worker without our block sends no reply."""
    if not reply or "lost" in reply:
        raise BlockLostError
    if "error" in reply:
        raise reply["error"]
    return reply["result"]


async def _serve(worker: Any, sites: list[Site], function: Call, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Run a request; errors are part of the reply, since an exception would lose its type on the scheduler."""
    try:
        result = await function(WorkerGroup(worker, sites), *arguments)
        return {"result": _serialized(result)}
    except (BlockLostError, OSError):  # a worker that does not answer is an OSError
        return {"lost": True}
    except Exception as error:
        return {"error": _serialized(error)}


def _serialized(value: Any) -> Any:
    from distributed.protocol.serialize import to_serialize

    return to_serialize(value)  # type: ignore[no-untyped-call]
