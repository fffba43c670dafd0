"""Calls between workers: what every pass needs, without a round trip through the scheduler for each step.

A task takes about ten milliseconds until the client has its result, and a pass would take several in sequence.
Instead the client calls the worker of the first block, which stores V, and that one calls the others: V is sent down
a tree over the blocks, and results return up the tree, those of consecutive blocks joined in order.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.context_factor import ContextFactor
from boostne.factorization.dask import worker_block
from boostne.factorization.dask.worker_block import BlockLostError, BlockState, TaskStamp, WorkerBlock
from boostne.factorization.engine import PassResult

HANDLER = "boostne"

Site = tuple[str, str]  # of a block: the address of its worker and its key there


@dataclass(frozen=True)
class GroupTask:
    """What each block does, and how the results of consecutive blocks are joined."""

    run: Callable[..., Any]
    arguments: tuple[Any, ...]
    join: Callable[[list[Any]], Any]


class WorkerGroup:
    """Consecutive blocks, seen from the worker of the first of them."""

    def __init__(self, worker: Any, sites: list[Site]) -> None:
        self._worker = worker
        self._sites = sites

    @property
    def block(self) -> WorkerBlock:
        """The block on this worker."""
        block: WorkerBlock | None = self._worker.data.get(self._sites[0][1])
        if block is None:
            raise BlockLostError
        return block

    async def in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on a task thread, so that the worker can serve other calls in the meantime."""
        return await asyncio.get_running_loop().run_in_executor(self._worker.executor, function, *arguments)

    async def run_on_all(self, task: GroupTask) -> Any:
        """Run a task on every block; returns the joined result."""
        block = self.block
        others = [self._run_on_branch(branch, task) for branch in branches(self._sites)]
        results = await asyncio.gather(self.in_thread(task.run, block, *task.arguments), *others)
        return await self.in_thread(task.join, results)

    async def _run_on_branch(self, sites: list[Site], task: GroupTask) -> Any:
        peer = self._worker.rpc(sites[0][0])
        return unpack_reply(await getattr(peer, HANDLER)(**request(sites, WorkerGroup.run_on_all, task)))


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
    """Build a block in a task, and register the handler that serves calls to its worker."""
    from distributed import get_worker

    worker = get_worker()

    async def handler(sites: list[Site], call: Any) -> dict[str, Any]:
        return await _serve(worker, sites, *call)

    worker.handlers[HANDLER] = handler
    return worker_block.build_block(*arguments)


def request(sites: list[Site], function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> dict[str, Any]:
    """Return the message that runs ``function(group, *arguments)`` on the worker of the first of these blocks."""
    return {"sites": sites, "call": _serialized((function, arguments))}


def unpack_reply(reply: dict[str, Any] | None) -> Any:
    """Return the result of a request; a worker without our block sends no reply."""
    if not reply or "lost" in reply:
        raise BlockLostError
    if "error" in reply:
        raise reply["error"]
    return reply["result"]


async def _serve(
    worker: Any, sites: list[Site], function: Callable[..., Coroutine[Any, Any, Any]], arguments: tuple[Any, ...]
) -> dict[str, Any]:
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


async def start_level(group: WorkerGroup, stamp: TaskStamp, V: NDArray[Any]) -> NDArray[np.float64]:
    """Start a level from this V; returns its Gram matrix."""
    context: ContextFactor = await group.in_thread(group.block.start_context, stamp, V)
    return context.gram


async def run_pass(group: WorkerGroup, stamp: TaskStamp, inner_sweeps: int) -> PassResult:
    """Sweep all blocks, then update V."""
    context: ContextFactor = await group.in_thread(group.block.context_at, stamp)
    arguments = (stamp, context.V, context.gram, inner_sweeps)
    sums = await group.run_on_all(GroupTask(worker_block.sweep, arguments, worker_block.join_sums))
    result: PassResult = await group.in_thread(worker_block.update_context, context, sums, inner_sweeps)
    return result


async def apply_transition(group: WorkerGroup, stamp: TaskStamp) -> NDArray[np.float64]:
    """Apply the stamp's transition to U and V and nothing else; returns V's Gram matrix."""
    context: ContextFactor = await group.in_thread(group.block.context_at, stamp)
    task = GroupTask(worker_block.apply_transition, (stamp, context.V.shape[1]), _no_result)
    await group.run_on_all(task)
    return context.gram


async def reseed(group: WorkerGroup, stamp: TaskStamp, component: int, values: NDArray[Any]) -> None:
    """Replace one component of V."""
    group.block.context_at(stamp).reseed(component, values)


async def rescale(group: WorkerGroup, stamp: TaskStamp, ratio: NDArray[np.float64]) -> None:
    """Scale U on all workers, and V."""
    context: ContextFactor = await group.in_thread(group.block.context_at, stamp)
    await group.run_on_all(GroupTask(worker_block.rescale_rows, (stamp, ratio), _no_result))
    await group.in_thread(context.rescale, ratio)


async def deflate(group: WorkerGroup, stamp: TaskStamp) -> list[BlockState]:
    """Subtract the current level from all blocks."""
    context: ContextFactor = await group.in_thread(group.block.context_at, stamp)
    task = GroupTask(worker_block.deflate, (stamp, context.V), _concatenated)
    states: list[BlockState] = await group.run_on_all(task)
    return states


def _no_result(_: list[None]) -> None:
    """Join the results of a task that has none."""


def _concatenated(states: list[list[BlockState]]) -> list[BlockState]:
    return [state for some in states for state in some]
