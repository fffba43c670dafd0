"""The exchange of V and C among the blocks of a cluster: who owns which rows, and how they travel.

Every block needs the whole V for its pass over R, and V is updated against ``C = R^T U``, the sum over all blocks. So
that no worker holds more than one V and one C and none is a bottleneck, each block owns a slice of the rows of V:

1. Each owner applies the pending transition (accept with extrapolation, or revert) to its slice.
2. All-gather: each block copies the slices of all others into its V, with their parts of ``V^T V``.
3. Each block sweeps its shards: U is updated, and C of its shards is complete.
4. Reduce-scatter: each owner adds up its rows of C from all blocks, with their parts of ``U^T U``.
5. Each owner runs HALS on its slice. HALS treats the rows of V independently, so this needs nothing else.

Per pass a block sends ``2 (w - 1) / w`` times the size of V, whatever the number w of blocks.

The result has the bits of the local engine, which a reduction around a ring would not have: there each slice would be
added up in the order of the ring, and floating-point sums depend on the order. Here the owner gets the sums of all
blocks unchanged and adds them along the tree over shards of :mod:`boostne.kernels.tree_reduction`, in whose order the
local engine adds. The bytes are the same as around a ring, since each sum travels once, straight to the owner. A block
whose shards are no complete subtree sends each of its subtrees; that happens if the number of workers does not divide
that of the shards, and only rows with hundreds of entries give more than four shards. Slices are whole chunks of
:func:`boostne.kernels.layout.row_chunks`, since sums over the rows of V are added chunk by chunk.

Rows are pulled by their receiver, a limited number of bytes at a time. A request that arrives before its data exist
waits for them: blocks need no other synchronization, and a pass needs one call by the client.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.budget import MESSAGE_SHARE
from boostne.kernels.layout import row_chunks
from boostne.kernels.tree_reduction import PartialSum, merge_partials, tree_sum

RECEIVED_BYTES = 1 << 24  # that a block requests at a time, from all others together; more if V is large
CHECK_SECONDS = 1.0  # between checks whether data that are waited for will still come


class BlockLostError(Exception):
    """A block is not in the state that a task expects: it was rebuilt, or the task is out of date."""


@dataclass(frozen=True)
class ContextSlices:
    """The rows of V that each block owns: whole chunks, in order. There may be fewer chunks than blocks.

    Attributes
    ----------
    cuts : ndarray of int64
        Boundaries of the chunks.
    firsts : ndarray of int64
        First chunk of each block, followed by the number of chunks.
    """

    cuts: NDArray[np.int64]
    firsts: NDArray[np.int64]

    @classmethod
    def divide(cls, n_rows: int, n_blocks: int) -> "ContextSlices":
        """Divide the rows of V evenly.

        >>> slices = ContextSlices.divide(1000, 2)
        >>> slices.rows(0), slices.rows(1), slices.chunks(1)
        (range(0, 666), range(666, 1000), array([  0, 334]))
        """
        cuts = row_chunks(n_rows, at_least=n_blocks)
        shares = [len(share) for share in np.array_split(np.arange(len(cuts) - 1), n_blocks)]
        return cls(cuts, np.concatenate([[0], np.cumsum(shares)]))

    def rows(self, block: int) -> range:
        """Return the rows of a block."""
        first, last = self.cuts[self.firsts[block : block + 2]].tolist()
        return range(first, last)

    def chunks(self, block: int) -> NDArray[np.int64]:
        """Return the boundaries of a block's chunks, relative to its first row."""
        cuts = self.cuts[self.firsts[block] : self.firsts[block + 1] + 1]
        return np.asarray(cuts - cuts[0])


@dataclass(frozen=True)
class BlockSums:
    """What a block contributes to a pass: rows of ``R^T U`` as sums over shards, and ``U^T U`` of each shard."""

    parts: list[PartialSum]
    grams: NDArray[np.float64]

    def rows(self, rows: range) -> "BlockSums":
        """Return some rows of the sums."""
        picked = [PartialSum(part.level, part.index, part.sum[rows.start : rows.stop]) for part in self.parts]
        return BlockSums(picked, self.grams)


@dataclass(frozen=True)
class ContextRows:
    """Rows of V, and ``V^T V`` of each chunk of the slice to which they belong."""

    V: NDArray[Any]
    grams: NDArray[np.float64]

    def rows(self, rows: range) -> "ContextRows":
        """Return some rows of V."""
        return ContextRows(self.V[rows.start : rows.stop], self.grams)


@dataclass
class Exchange:
    """A block's side of the exchange during one attempt at a level.

    Attributes
    ----------
    n_blocks : int
        Number of all blocks.
    index : int
        Number of this block.
    slices : ContextSlices
    """

    n_blocks: int
    index: int
    slices: ContextSlices
    _offered: dict[tuple[str, int], Any] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def rows(self) -> range:
        """The rows of V that this block owns."""
        return self.slices.rows(self.index)

    @property
    def others(self) -> list[int]:
        """The other blocks, beginning with the next: not all ask the same one first."""
        return [*range(self.index + 1, self.n_blocks), *range(self.index)]

    def offer(self, kind: str, number: int, data: Any) -> None:
        """Let others have the data of a numbered call; those of earlier calls are released."""
        self._offered = {key: value for key, value in self._offered.items() if key[1] == number}
        self._offered[kind, number] = data
        self._changed.set()
        self._changed = asyncio.Event()

    async def offered(self, kind: str, number: int, check: Callable[[], object]) -> Any:
        """Return what this block offers, or wait for it; ``check()`` raises when it will not come any more."""
        while (kind, number) not in self._offered:
            check()
            changed = self._changed
            try:
                await asyncio.wait_for(changed.wait(), CHECK_SECONDS)
            except TimeoutError:
                continue
        return self._offered[kind, number]

    async def gather(
        self, V: NDArray[Any], grams: NDArray[np.float64], ask: Callable[[int, range], Awaitable[ContextRows]]
    ) -> NDArray[np.float64]:
        """Fill V with the slices of all other blocks; returns ``V^T V`` of all chunks. ``grams`` are this block's."""
        found = {self.index: grams}
        row_bytes, limit = V.shape[1] * V.itemsize * max(len(self.others), 1), request_bytes(V.nbytes)

        async def pull(block: int) -> None:
            for rows in messages(self.slices.rows(block), row_bytes, limit):
                received = await ask(block, rows)
                V[rows.start : rows.stop] = received.V
                found[block] = received.grams

        await asyncio.gather(*(pull(block) for block in self.others))
        return np.concatenate([found[block] for block in sorted(found)])

    async def reduce(
        self,
        own: BlockSums,
        ask: Callable[[int, range], Awaitable[BlockSums]],
        in_thread: Callable[..., Awaitable[Any]],
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return this block's rows of C, and ``U^T U`` of all shards.

        The rows are added up in the memory of the block's own sums: no other block requests them.
        """
        C, grams = own.parts[0].sum, own.grams
        row_bytes = C.shape[1] * C.itemsize * max(len(self.others), 1)
        for rows in messages(self.rows, row_bytes, request_bytes(C.nbytes)):
            sums = dict(zip(self.others, await self._ask_all(ask, rows), strict=True))
            sums[self.index] = own.rows(rows)
            in_order = [sums[block] for block in range(self.n_blocks)]
            await in_thread(_add_sums, [each.parts for each in in_order], C[rows.start : rows.stop])
            grams = np.concatenate([each.grams for each in in_order])
        return C[self.rows.start : self.rows.stop], grams

    async def _ask_all(self, ask: Callable[[int, range], Awaitable[BlockSums]], rows: range) -> list[BlockSums]:
        return await asyncio.gather(*(ask(block, rows) for block in self.others))


def request_bytes(v_bytes: int) -> int:
    """Return how many bytes a block requests at a time, from all others together, given the size of V.

    A share of V, so that the number of calls does not grow with it: each takes CPU time, whatever its size.
    """
    return max(RECEIVED_BYTES, v_bytes // MESSAGE_SHARE)


def messages(rows: range, row_bytes: int, limit: int | None = None) -> Iterator[range]:
    """Divide rows so that each part has at most ``limit`` or :data:`RECEIVED_BYTES`, but at least one row."""
    size = max(1, (limit or RECEIVED_BYTES) // row_bytes)
    for first in range(rows.start, rows.stop, size):
        yield range(first, min(first + size, rows.stop))


def _add_sums(parts: Sequence[list[PartialSum]], total: NDArray[Any]) -> None:
    """Add the sums of all blocks as the local engine does."""
    found = tree_sum(reduce(merge_partials, parts))
    if found is not total:
        total[:] = found
