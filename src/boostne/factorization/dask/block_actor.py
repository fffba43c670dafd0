"""Blocks as Dask actors: calls by the client to the first block, and by blocks to each other.

A task takes about ten milliseconds until the client has its result, and a pass would take several in sequence.
Instead the client calls the actor of the first block, and that one calls the others along a tree over the blocks;
results return up the tree, those of consecutive blocks joined in order. In between, blocks call each other directly
(:mod:`.exchange`).

All of this is documented by Dask. What it does not say: a call from one worker to another does not fail if their
connection breaks or the actor is gone, it waits forever. So each call is answered within :data:`WAIT_SECONDS`, if need
be by "not yet", after which the caller asks again; and a caller without an answer after :data:`REPLY_SECONDS` takes the
block as lost. Lost workers are noticed earlier, by the client (:mod:`.cluster`), which then starts a new attempt.

Methods of an actor that are coroutines run on the event loop of the worker, so kernels run on other threads.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from boostne.factorization.dask import worker_block
from boostne.factorization.dask.exchange import BlockLostError
from boostne.factorization.dask.worker_block import WorkerBlock

WAIT_SECONDS = 5.0  # until a call is answered by "not yet"
REPLY_SECONDS = 120.0  # until a block that does not answer is taken as lost

Call = Callable[..., Coroutine[Any, Any, Any]]  # its first argument is a WorkerGroup
Reply = tuple[Any] | None  # None: not yet
Peer = tuple[str, Any]  # the key of a block, and its actor


@dataclass(frozen=True)
class GroupTask:
    """What each block does: ``run(group, *arguments)``, which returns a list."""

    run: Call
    arguments: tuple[Any, ...]


class BlockActor:
    """A block on its worker, and the calls to it.

    Parameters
    ----------
    key : str
        Identifies the block.
    *arguments
        Of :func:`.worker_block.build_block`.
    """

    def __init__(self, key: str, *arguments: Any) -> None:
        self.block = worker_block.build_block(*arguments)
        self.index = 0
        self.peers: list[Peer] = []
        self._running: tuple[str, asyncio.Task[Any]] | None = None
        ACTORS[key] = self

    def __sizeof__(self) -> int:
        return self.block.__sizeof__()

    async def connect(self, index: int, peers: list[Peer]) -> None:
        """Note all blocks, in order, of which this one has the given index."""
        self.index, self.peers = index, peers

    async def run(self, request: tuple[str, range, Call, tuple[Any, ...]]) -> Reply:
        """Start ``function(group, *arguments)`` for the group of some blocks, of which this is the first.

        A request is one argument, since Dask serializes each of them. An earlier call that is still running is out of
        date and ends.
        """
        call, blocks, function, arguments = request
        if self._running is not None:
            self._running[1].cancel()
        self._running = call, asyncio.create_task(function(WorkerGroup(self, blocks), *arguments))
        return await self.wait(call)

    async def wait(self, call: str) -> Reply:
        """Return the result of a call that was started before, once: it is not kept."""
        task = self._task_of(call)
        await asyncio.wait({task}, timeout=WAIT_SECONDS)
        self._task_of(call)  # raises if another call was started in the meantime
        if not task.done():
            return None
        self._running = None
        return (task.result(),)

    def _task_of(self, call: str) -> asyncio.Task[Any]:
        if self._running is None or self._running[0] != call:
            raise BlockLostError
        return self._running[1]

    async def ask(self, request: tuple[Call, tuple[Any, ...]]) -> Any:
        """Return ``function(group, *arguments)`` for the group of this block; None means not yet."""
        function, arguments = request
        return await function(WorkerGroup(self, range(self.index, self.index + 1)), *arguments)


ACTORS: WeakValueDictionary[str, BlockActor] = WeakValueDictionary()  # of this process, as long as Dask holds them


class WorkerGroup:
    """Consecutive blocks, seen from the worker of the first of them."""

    def __init__(self, actor: BlockActor, blocks: range) -> None:
        self._actor = actor
        self._blocks = blocks

    @property
    def index(self) -> int:
        """Number of the first block, which is on this worker."""
        return self._blocks.start

    @property
    def n_blocks(self) -> int:
        """Number of all blocks, of which this group may have a part."""
        return len(self._actor.peers)

    @property
    def block(self) -> WorkerBlock:
        """The block on this worker."""
        return self._actor.block

    async def in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on another thread, so that the worker can serve other calls in the meantime."""
        return await asyncio.to_thread(function, *arguments)

    async def run_on_all(self, task: GroupTask) -> list[Any]:
        """Run a task on every block; returns the results of all, in order."""
        others = [self._run(branch, task) for branch in branches(self._blocks)]
        results = await asyncio.gather(task.run(self, *task.arguments), *others)
        return [result for some in results for result in some]

    async def ask(self, block: int, function: Call, *arguments: Any) -> Any:
        """Return ``function(group, *arguments)`` for the group of one block, called on its worker, unless None."""
        while (found := await self._call(block, "ask", (function, arguments))) is None:
            pass
        return found

    async def _run(self, blocks: range, task: GroupTask) -> list[Any]:
        call = uuid4().hex
        reply: Reply = await self._call(blocks.start, "run", (call, blocks, WorkerGroup.run_on_all, (task,)))
        while reply is None:
            reply = await self._call(blocks.start, "wait", call)
        found: list[Any] = reply[0]
        return found

    async def _call(self, block: int, method: str, argument: Any) -> Any:
        key, actor = self._actor.peers[block]
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                return await bound_method(ACTORS.get(key, actor), method)(argument)
        except OSError:  # a TimeoutError is one, and so is a worker that does not answer
            raise BlockLostError from None


def branches(blocks: range) -> list[range]:
    """Split all but the first of consecutive blocks into runs that double in length.

    >>> branches(range(4))
    [range(1, 2), range(2, 4)]
    """
    found, size = [], 1
    while size < len(blocks):
        found.append(blocks[size : 2 * size])
        size *= 2
    return found


def bound_method(actor: Any, name: str) -> Callable[..., Any]:
    """Return a method of an actor; raise BlockLostError if Dask knows that its worker is gone."""
    try:
        method: Callable[..., Any] = getattr(actor, name)
    except (RuntimeError, ValueError):  # the latter in earlier versions of Dask
        raise BlockLostError from None
    return method


def on_block(key: str, task: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task on a block of this worker."""
    actor = ACTORS.get(key)
    if actor is None:
        raise BlockLostError
    return task(actor.block, *arguments)
