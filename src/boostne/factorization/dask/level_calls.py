"""The calls of a level: what the first worker does for the client, and what every block does for that."""

import asyncio
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.dask import block_actor, worker_block
from boostne.factorization.dask.block_actor import GroupTask, WorkerGroup
from boostne.factorization.dask.exchange import (
    BlockLostError,
    BlockSums,
    ContextRows,
    ContextSlices,
    Exchange,
    messages,
)
from boostne.factorization.dask.worker_block import BlockState, TaskStamp
from boostne.factorization.dask.worker_graph import MappedStart
from boostne.factorization.engine import PassResult
from boostne.kernels.tree_reduction import sequential_sum

Grams = NDArray[np.float64]


async def start_level(
    group: WorkerGroup, stamp: TaskStamp, V: NDArray[Any] | MappedStart, slices: ContextSlices, components: int
) -> Grams:
    """Start a level from V, of which each block fetches its slice from here or draws it; returns its Gram matrix."""
    if isinstance(V, MappedStart):
        return await _gram(group, GroupTask(_start, (stamp, slices, components, V)))
    block = group.block
    block.initial_v = stamp.attempt, V
    try:
        return await _gram(group, GroupTask(_start, (stamp, slices, components)))
    finally:
        if block.initial_v is not None and block.initial_v[0] == stamp.attempt:
            block.initial_v = None


async def run_pass(group: WorkerGroup, stamp: TaskStamp, inner_sweeps: int) -> PassResult:
    """Sweep all blocks and update V."""
    results = await group.run_on_all(GroupTask(_run_pass, (stamp, inner_sweeps)))
    grams_u, grams_v, products = zip(*results, strict=True)
    product = sequential_sum(np.concatenate(products))
    return PassResult(grams_u[0], sequential_sum(np.concatenate(grams_v)), float(product))


async def apply_transition(group: WorkerGroup, stamp: TaskStamp) -> Grams:
    """Apply the stamp's transition to U and V and nothing else; returns V's Gram matrix."""
    return await _gram(group, GroupTask(_apply_transition, (stamp,)))


async def reseed(group: WorkerGroup, stamp: TaskStamp, component: int, values: NDArray[Any]) -> None:
    """Replace one component of V."""
    await group.run_on_all(GroupTask(_reseed, (stamp, component, values)))


async def rescale(group: WorkerGroup, stamp: TaskStamp, ratio: NDArray[np.float64]) -> None:
    """Scale U and V on all workers."""
    await group.run_on_all(GroupTask(_rescale, (stamp, ratio)))


async def deflate(group: WorkerGroup, stamp: TaskStamp) -> list[BlockState]:
    """Subtract the current level from all blocks."""
    return await group.run_on_all(GroupTask(_deflate, (stamp,)))


async def _gram(group: WorkerGroup, task: GroupTask) -> Grams:
    return sequential_sum(np.concatenate(await group.run_on_all(task)))


async def _start(
    group: WorkerGroup, stamp: TaskStamp, slices: ContextSlices, components: int, start: MappedStart | None = None
) -> list[Grams]:
    block, exchange = group.block, Exchange(group.n_blocks, group.index, slices)
    V = await group.in_thread(block.start, stamp, exchange, components)
    if start is not None:
        V[exchange.rows.start : exchange.rows.stop, :components] = await group.in_thread(start.rows, exchange.rows)
    else:
        for rows in messages(exchange.rows, V.shape[1] * V.itemsize):
            V[rows.start : rows.stop, :components] = await group.ask(0, _initial_rows, stamp, rows)
    context = await group.in_thread(block.start_context, stamp, components)
    return [context.grams]


async def _initial_rows(group: WorkerGroup, stamp: TaskStamp, rows: range) -> NDArray[Any]:
    attempt, V = group.block.initial_v or (0, np.empty((0, 0)))
    if attempt != stamp.attempt:
        raise BlockLostError
    return V[rows.start : rows.stop]


async def _run_pass(group: WorkerGroup, stamp: TaskStamp, inner_sweeps: int) -> list[tuple[Grams, Grams, Grams]]:
    """Run the five steps of :mod:`.exchange`; returns ``U^T U``, and ``V^T V`` and ``<C, V>`` of each own chunk."""
    block = group.block
    exchange = block.exchange_at(stamp)
    gram_v = await _gather_context(group, stamp)
    stamp = stamp.applied()
    own: BlockSums = await group.in_thread(worker_block.sweep, block, stamp, gram_v, inner_sweeps)
    exchange.offer("sums", stamp.number, own)
    C, grams_u = await exchange.reduce(
        own, lambda owner, rows: group.ask(owner, _sums_of_rows, stamp, rows), group.in_thread
    )
    gram_u = sequential_sum(grams_u)
    grams_v, products = await group.in_thread(worker_block.update_context, block, stamp, C, gram_u, inner_sweeps)
    return [(gram_u, grams_v, products)]


async def _gather_context(group: WorkerGroup, stamp: TaskStamp) -> Grams:
    """Apply the stamp's transition and complete V; returns its Gram matrix."""
    block = group.block
    exchange = block.exchange_at(stamp)
    context = await group.in_thread(worker_block.apply_transition, block, stamp)
    V = block.V
    exchange.offer("context", stamp.number, ContextRows(V, context.grams))
    grams = await exchange.gather(V, context.grams, lambda owner, rows: group.ask(owner, _context_rows, stamp, rows))
    return sequential_sum(grams)


async def _context_rows(group: WorkerGroup, stamp: TaskStamp, rows: range) -> ContextRows | None:
    context: ContextRows | None = await _offered(group, "context", stamp)
    return None if context is None else context.rows(rows)


async def _sums_of_rows(group: WorkerGroup, stamp: TaskStamp, rows: range) -> BlockSums | None:
    sums: BlockSums | None = await _offered(group, "sums", stamp)
    return None if sums is None else sums.rows(rows)


async def _offered(group: WorkerGroup, kind: str, stamp: TaskStamp) -> Any:
    """Return what the block offers, or None if it does not yet."""
    exchange = group.block.exchange_at(stamp)
    try:
        async with asyncio.timeout(block_actor.WAIT_SECONDS):
            return await exchange.offered(kind, stamp.number, lambda: group.block.exchange_at(stamp))
    except TimeoutError:
        return None


async def _apply_transition(group: WorkerGroup, stamp: TaskStamp) -> list[Grams]:
    context = await group.in_thread(worker_block.apply_transition, group.block, stamp)
    return [context.grams]


async def _reseed(group: WorkerGroup, stamp: TaskStamp, component: int, values: NDArray[Any]) -> list[None]:
    rows = group.block.exchange_at(stamp).rows
    context = await group.in_thread(worker_block.apply_transition, group.block, stamp)
    context.reseed(component, values[rows.start : rows.stop])
    return []


async def _rescale(group: WorkerGroup, stamp: TaskStamp, ratio: NDArray[np.float64]) -> list[None]:
    await group.in_thread(worker_block.rescale, group.block, stamp, ratio)
    return []


async def _deflate(group: WorkerGroup, stamp: TaskStamp) -> list[BlockState]:
    await _gather_context(group, stamp)
    return [await group.in_thread(worker_block.deflate, group.block, stamp.applied())]
