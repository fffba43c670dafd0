"""Workers of a cluster that ask one another: what every pass needs, without a way through the scheduler for each step.

A task costs some ten milliseconds until the client has its result, and a pass takes several, one after the other. Here
the client asks the worker of the first block, which has V, and that one asks the others: V goes down a tree over the
blocks, and results come back up it, those of neighbors joined in order.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.factorization import context_factor
from boostne.factorization.dask import worker_block
from boostne.factorization.dask.worker_block import Block, BlockLostError, Moment, Numbers, State
from boostne.factorization.engine import Context

HANDLER = "boostne"

Site = tuple[str, str]  # of a block: the address of its worker, and its key there


@dataclass(frozen=True)
class Work:
    """What each block is to do, and what makes one result of those of neighbors."""

    do: Callable[..., Any]
    arguments: tuple[Any, ...]
    join: Callable[[list[Any]], Any]


class Team:
    """Neighboring blocks, seen by the worker of the first of them."""

    def __init__(self, worker: Any, sites: list[Site]) -> None:
        self._worker = worker
        self._sites = sites

    @property
    def block(self) -> Block:
        """The block that is here."""
        block: Block | None = self._worker.data.get(self._sites[0][1])
        if block is None:
            raise BlockLostError
        return block

    async def here(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on a thread for tasks, so that the worker can answer others meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._worker.executor, function, *arguments)

    async def on_all(self, work: Work) -> Any:
        """Have every block do its work; returns their result."""
        block = self.block
        asked = [self._on_branch(branch, work) for branch in branches(self._sites)]
        results = await asyncio.gather(self.here(work.do, block, *work.arguments), *asked)
        return await self.here(work.join, results)

    async def _on_branch(self, sites: list[Site], work: Work) -> Any:
        peer = self._worker.rpc(sites[0][0])
        return outcome(await getattr(peer, HANDLER)(**message(sites, Team.on_all, work)))


def branches(sites: list[Site]) -> list[list[Site]]:
    """Cut all but the first of a run of blocks into runs that double in length.

    >>> branches([("a", "0"), ("b", "1"), ("c", "2"), ("d", "3")])
    [[('b', '1')], [('c', '2'), ('d', '3')]]
    """
    found, size = [], 1
    while size < len(sites):
        found.append(sites[size : 2 * size])
        size *= 2
    return found


def host_block(*arguments: Any) -> Block:
    """Build a block in a task, and answer from now on whoever asks its worker."""
    from distributed import get_worker

    worker = get_worker()

    async def answered(sites: list[Site], request: Any) -> dict[str, Any]:
        return await answer(worker, sites, *request)

    worker.handlers[HANDLER] = answered
    return worker_block.build_block(*arguments)


def _packed(what: Any) -> Any:
    from distributed.protocol.serialize import to_serialize

    return to_serialize(what)  # type: ignore[no-untyped-call]


def message(
    sites: list[Site], do: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any
) -> dict[str, Any]:
    """Return what to send to the worker of the first of these blocks, for ``do(team, *arguments)`` there."""
    return {"sites": sites, "request": _packed((do, arguments))}


async def answer(
    worker: Any, sites: list[Site], do: Callable[..., Coroutine[Any, Any, Any]], arguments: tuple[Any, ...]
) -> dict[str, Any]:
    """Do what was asked for; what goes wrong is told, since an exception would lose its type on the scheduler."""
    try:
        result = await do(Team(worker, sites), *arguments)
        return {"result": _packed(result)}
    except (BlockLostError, OSError):  # a worker that does not answer is an OSError
        return {"lost": True}
    except Exception as error:
        return {"error": _packed(error)}


def outcome(reply: dict[str, Any] | None) -> Any:
    """Return the result of a request; a worker that has no block for us any more has no reply, either."""
    if not reply or "lost" in reply:
        raise BlockLostError
    if "error" in reply:
        raise reply["error"]
    return reply["result"]


async def begin(team: Team, moment: Moment, V: NDArray[Any]) -> NDArray[np.float64]:
    """Start a level from this V; returns its Gram matrix."""
    context: Context = await team.here(team.block.begin, moment, V)
    return context.gram


async def run_pass(team: Team, moment: Moment, inner: int) -> Numbers:
    """Sweep all blocks and update V; returns the Gram matrices of V and U, and the product."""
    block = team.block
    context = await team.here(block.context_at, moment)
    sweep = Work(worker_block.sweep, (moment, context.V, context.gram, inner), worker_block.join_sums)
    numbers: Numbers = await team.here(worker_block.update, block, context, await team.on_all(sweep), inner)
    return numbers


async def settle(team: Team, moment: Moment) -> NDArray[np.float64]:
    """Do nothing but what was due to U and V; returns V's Gram matrix."""
    context: Context = await team.here(team.block.context_at, moment)
    await team.on_all(Work(worker_block.settle_rows, (moment, context.V.shape[1]), _nothing))
    return context.gram


async def reseed(team: Team, moment: Moment, component: int, values: NDArray[Any]) -> None:
    """Give a component of V new values."""
    team.block.context_at(moment).V[:, component] = values


async def scale(team: Team, moment: Moment, ratio: NDArray[np.float64]) -> None:
    """Scale U wherever it is, and V."""
    context = await team.here(team.block.context_at, moment)
    await team.on_all(Work(worker_block.scale_rows, (moment, ratio), _nothing))
    await team.here(context_factor.scale, context, ratio)


async def deflate(team: Team, moment: Moment) -> list[State]:
    """Take the level in hand from all blocks."""
    context = await team.here(team.block.context_at, moment)
    states: list[State] = await team.on_all(Work(worker_block.deflate, (moment, context.V), _in_a_row))
    return states


def _nothing(_: list[None]) -> None:
    """Join what has no results."""


def _in_a_row(states: list[list[State]]) -> list[State]:
    return [state for some in states for state in some]
