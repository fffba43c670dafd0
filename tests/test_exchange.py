"""The exchange of V and C among blocks, with all blocks in this process: same bits as the local engine, few bytes."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from boostne.factorization import LocalEngine, random_start
from boostne.factorization.dask import block_actor, exchange, level_calls, worker_block
from boostne.factorization.dask.block_actor import BlockActor
from boostne.factorization.dask.exchange import BlockLostError, ContextSlices, Exchange, messages, request_bytes
from boostne.factorization.dask.partition import block_ranges
from boostne.factorization.dask.worker_block import TaskStamp
from boostne.kernels import get_kernels
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.matrices import CSRSource

COMPONENTS = 5


class CountedPeer:
    """An actor as others see it; counts the rows that it sends."""

    def __init__(self, actor):
        self._actor, self.sent = actor, 0

    def __getattr__(self, method):
        async def call(*arguments):
            reply = await getattr(self._actor, method)(*arguments)
            for part in getattr(reply, "parts", []):
                self.sent += len(part.sum)
            self.sent += len(getattr(reply, "V", []))
            return reply

        return call


async def result_of(actor, request):
    """Run a request as the client does."""
    reply = await actor.run(request)
    while reply is None:
        reply = await actor.wait(request[0])
    return reply[0]


class BlocksInProcess:
    """The calls of the Dask engine, on actors of this process."""

    def __init__(self, X, n_blocks):
        source = CSRSource(X)
        places = block_ranges(np.diff(X.indptr), X.shape[1], n_blocks)
        self.actors = [BlockActor(str(i), source, place, 1) for i, place in enumerate(places)]
        self.blocks = [actor.block for actor in self.actors]
        self.peers = [CountedPeer(actor) for actor in self.actors]
        for i, actor in enumerate(self.actors):
            asyncio.run(actor.connect(i, [(f"elsewhere-{j}", peer) for j, peer in enumerate(self.peers)]))
        self.slices = ContextSlices.divide(X.shape[1], len(self.blocks))
        self.stamp = TaskStamp(0, 0)

    def call(self, function, *arguments, attempt=0, **transition):
        number = self.stamp.number + 1
        self.stamp = TaskStamp(self.stamp.level, self.stamp.attempt + attempt, number, **transition)
        request = str(number), range(len(self.actors)), function, (self.stamp, *arguments)
        return asyncio.run(result_of(self.actors[0], request))

    def start(self, V):
        return self.call(level_calls.start_level, V, self.slices, COMPONENTS, attempt=1)

    def factors(self):
        stamp = self.stamp.applied()
        U = [worker_block.row_factor(block, stamp, COMPONENTS) for block in self.blocks]
        V = [worker_block.context_rows(block, stamp) for block in self.blocks]
        return np.concatenate(U), np.concatenate(V)


@pytest.fixture(scope="module")
def matrix():
    """Seven shards, which only some numbers of workers divide into complete subtrees."""
    X = sparse.random_array((700, 1100), density=0.65, format="csr", dtype="float32", rng=np.random.default_rng(0))
    assert ShardedCSR.from_csr(X).n_shards == 7
    return X


@pytest.mark.parametrize(("n_blocks", "wait"), [(1, 5), (2, 5), (3, 0), (4, 5), (7, 0)])
def test_a_level_has_the_bits_of_the_local_engine(matrix, n_blocks, wait, monkeypatch):
    X = matrix
    monkeypatch.setattr(block_actor, "WAIT_SECONDS", wait)  # 0: "not yet" is a frequent answer
    monkeypatch.setattr(exchange, "RECEIVED_BYTES", 10_000)  # several messages for each slice
    local, blocks = LocalEngine(get_kernels()), BlocksInProcess(X.copy(), n_blocks)
    local.load(CSRSource(X.copy()))
    V = random_start(0, X.shape[1], COMPONENTS, X.dtype)(0)
    for _ in range(2):
        local.start_level(V)
        np.testing.assert_array_equal(blocks.start(V), local.gram_v())
        transition = {}
        for extrapolation in (0.0, 0.7, None, 0.4, 0.0):
            result = blocks.call(level_calls.run_pass, 3, **transition)
            for found, expected in zip(result, local.step(3), strict=True):
                np.testing.assert_array_equal(found, expected)
            if extrapolation is None:
                local.revert()
                transition = {"transition": "revert"}
            else:
                local.accept(extrapolation)
                transition = {"transition": "accept", "extrapolation": extrapolation}
        np.testing.assert_array_equal(blocks.call(level_calls.apply_transition, **transition), local.gram_v())
        values = np.linspace(0, 1, X.shape[1], dtype="float32")
        blocks.call(level_calls.reseed, 2, values)
        local.reseed(2, values)
        ratio = np.array([1, 0.5, 0, 2, 3, 0, 0, 0], float)
        blocks.call(level_calls.rescale, ratio)
        local.rescale(ratio)
        for found, expected in zip(blocks.factors(), local.factors(), strict=True):
            np.testing.assert_array_equal(found, expected)
        states = blocks.call(level_calls.deflate)
        local.deflate()
        assert np.concatenate([state.norms for state in states]).sum() == local.norm2
        blocks.stamp = replace(blocks.stamp, level=blocks.stamp.level + 1)


@pytest.mark.parametrize("n_blocks", [1, 2, 4, 8])
def test_rows_sent_per_pass(n_blocks):
    # The shards of each block are a complete subtree.
    X = sparse.random_array((1024, 2048), density=0.54, format="csr", dtype="float32", rng=np.random.default_rng(0))
    assert ShardedCSR.from_csr(X).n_shards == 8
    blocks = BlocksInProcess(X, n_blocks)
    blocks.start(random_start(0, 2048, COMPONENTS, X.dtype)(0))
    before = [peer.sent for peer in blocks.peers]
    blocks.call(level_calls.run_pass, 1)
    share = 2 * (n_blocks - 1) / n_blocks
    assert [peer.sent - sent for peer, sent in zip(blocks.peers, before, strict=True)] == [share * 2048] * n_blocks


def test_a_new_call_ends_the_one_before(matrix, monkeypatch):
    monkeypatch.setattr(block_actor, "WAIT_SECONDS", 0)
    actor = BlocksInProcess(matrix, 1).actors[0]
    ended = []

    async def endless(_):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(None)

    async def index(group):
        return group.index

    async def calls():
        assert await actor.run(("first", range(1), endless, ())) is None
        monkeypatch.setattr(block_actor, "WAIT_SECONDS", 5)
        waiting = asyncio.create_task(actor.wait("first"))
        await asyncio.sleep(0)
        assert await result_of(actor, ("second", range(1), index, ())) == 0
        for call in (waiting, actor.wait("first"), actor.wait("second")):  # the last was answered before
            with pytest.raises(BlockLostError):
                assert await call is not None

    asyncio.run(calls())
    assert ended


@pytest.mark.parametrize("n_rows", [1, 61, 511, 512, 5000, 10**6])
@pytest.mark.parametrize("n_blocks", [1, 2, 3, 64, 100])
def test_slices_cover_all_rows_in_whole_chunks(n_rows, n_blocks):
    slices = ContextSlices.divide(n_rows, n_blocks)
    rows = [slices.rows(block) for block in range(n_blocks)]
    assert [row for part in rows for row in (part.start, part.stop)][::2] == [0, *(part.stop for part in rows)][:-1]
    assert rows[-1].stop == n_rows
    assert len(rows[0]) > 0  # the first reports U^T U
    boundaries = {int(part.start + cut) for block, part in enumerate(rows) for cut in slices.chunks(block)}
    assert boundaries == set(slices.cuts.tolist())
    if n_rows == 10**6:
        assert min(len(part) for part in rows) > 0


def test_messages_are_limited():
    assert list(messages(range(5, 12), exchange.RECEIVED_BYTES // 3)) == [range(5, 8), range(8, 11), range(11, 12)]
    assert list(messages(range(2), exchange.RECEIVED_BYTES * 2)) == [range(1), range(1, 2)]
    assert not list(messages(range(3, 3), 1))
    assert list(messages(range(4), 10, 20)) == [range(2), range(2, 4)]


def test_the_number_of_messages_does_not_grow_with_v():
    assert request_bytes(10**6) == exchange.RECEIVED_BYTES
    assert request_bytes(64 * 10**9) == 2 * 10**9


def test_data_that_will_not_come_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(exchange, "CHECK_SECONDS", 0.001)
    waiting = Exchange(1, 0, ContextSlices.divide(10, 1))
    checks = []

    def check():
        checks.append(None)
        if len(checks) >= 3:
            raise BlockLostError

    with pytest.raises(BlockLostError):
        asyncio.run(waiting.offered("sums", 1, check))

    async def offered_later():
        request = asyncio.create_task(waiting.offered("sums", 2, lambda: None))
        await asyncio.sleep(0)
        waiting.offer("context", 2, "V")
        waiting.offer("sums", 2, "C")
        return await request

    assert asyncio.run(offered_later()) == "C"
    waiting.offer("context", 3, "V")
    with pytest.raises(BlockLostError):  # released with its call
        asyncio.run(waiting.offered("sums", 2, check))
