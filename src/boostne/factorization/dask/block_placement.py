"""Placement of the blocks of R on the workers of a cluster: how they are built, and rebuilt after a loss."""

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from boostne.budget import worker_block_bytes
from boostne.factorization.dask import worker_block
from boostne.factorization.dask.block_actor import BlockActor, Peer, Reply, on_block
from boostne.factorization.dask.cluster import Cluster, Worker, WorkerLostError
from boostne.factorization.dask.cluster_graph import ClusterGraph
from boostne.factorization.dask.exchange import BlockLostError
from boostne.factorization.dask.partition import block_ranges, estimated_counts, even_cuts, sampled_ranges
from boostne.factorization.dask.worker_block import BlockRange, BlockState
from boostne.matrices import MatrixSource

if TYPE_CHECKING:
    from distributed import Future

    from boostne.factorization.dask.factor_store import FactorStore

LOSSES = (WorkerLostError, BlockLostError)


@dataclass
class PlacedBlock:
    """A block: its range of X, the worker that stores it, its key, and the future of its actor."""

    place: BlockRange
    worker: Worker
    key: str
    actor: "Future[Any]"


class BlockPlacement:
    """Builds the blocks of X on the workers, runs tasks on them, and rebuilds lost ones.

    Parameters
    ----------
    cluster : Cluster
    source : MatrixSource or ClusterGraph
        Rows of X.
    components : int
        Width of a level, for the memory estimate.
    threads : int, optional
        Threads of each worker to use; by default those that it has.

    Attributes
    ----------
    placed : list of PlacedBlock
    """

    def __init__(
        self, cluster: Cluster, source: MatrixSource | ClusterGraph, components: int, threads: int | None
    ) -> None:
        self._cluster = cluster
        self._source = source
        self._components = components
        self._threads = threads
        self.placed: list[PlacedBlock] = []
        self._peers: list[Peer] = []  # the blocks that all blocks know
        while True:
            try:
                self._build()
                return
            except LOSSES:
                continue

    def submit(self, worker: Worker, task: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Run a task on a given worker."""
        return self._cluster.submit(worker, task, *arguments)

    def send(self, array: NDArray[Any], workers: set[str]) -> "Future[Any]":
        """Send an array to some workers."""
        return self._cluster.send(array, workers)

    def results(self, futures: Sequence["Future[Any]"]) -> list[Any]:
        """Wait for results that may depend on any of the workers with a block."""
        return self._cluster.results(futures, self._used)

    def submit_to_block(self, placed: PlacedBlock, task: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Start a task on a block."""
        key = f"{task.__name__}-{uuid4().hex}"
        return self._cluster.submit(placed.worker, on_block, placed.key, task, *arguments, key=key)

    def submit_to_all(self, task: Callable[..., Any], *arguments: Any) -> list["Future[Any]"]:
        """Start a task on every block."""
        return [self.submit_to_block(placed, task, *arguments) for placed in self.placed]

    def call(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
        """Run ``function(group, *arguments)`` for the group of all blocks, on the worker of the first, and wait."""
        call, blocks, (_, first) = uuid4().hex, range(len(self.placed)), self._peers[0]
        reply: Reply = self._call_actor(first, "run", (call, blocks, function, arguments))
        while reply is None:
            reply = self._call_actor(first, "wait", call)
        return reply[0]

    def restore(self, level: int, store: "FactorStore") -> list[BlockState]:
        """Rebuild lost blocks, and deflate by the first ``level`` levels each block that still contains them."""
        while True:
            try:
                self._rebuild_lost()
                self._connect()
                return self._replay_levels(level, store)
            except LOSSES:
                continue

    def _build(self) -> None:
        self._cluster.place_for(0, {})
        workers = sorted(self._cluster.workers().values(), key=lambda worker: worker.address)
        used = {worker.address for worker in workers}
        shared = self._broadcast_source()
        estimate = self._estimate_counts(workers, shared)
        self._check_memory(workers, int(estimate.sum()))
        drafted = even_cuts(estimate, len(workers))
        drafts = [
            self.submit(worker, worker_block.draft_rows, shared, rows, self._threads_of(worker))
            for worker, rows in zip(workers, drafted, strict=False)
        ]
        counted = [
            self.submit(worker, worker_block.count_entries, draft)
            for worker, draft in zip(workers, drafts, strict=False)
        ]
        counts = np.concatenate(self._cluster.results(counted, used))
        self.placed = []
        for i, place in enumerate(block_ranges(counts, self._source.shape[1], len(workers))):
            worker, draft = workers[i], drafts[i] if i < len(drafts) else None
            missing = counts[place.rows.start : drafted[i].start] if draft else None
            threads = self._threads_of(worker)
            key, actor = self._host_block(worker, shared, place, threads, draft, missing)
            self.placed.append(PlacedBlock(place, worker, key, actor))
        self._connect()

    def _host_block(self, worker: Worker, *arguments: Any) -> tuple[str, "Future[Any]"]:
        """Start to build a block as an actor; returns its key and its future."""
        key = f"{BlockActor.__name__}-{uuid4().hex}"
        return key, self._cluster.submit(worker, BlockActor, key, *arguments, key=key, actor=True)

    def _connect(self) -> None:
        """Wait for all blocks, and let them know each other unless they do."""
        keys = [placed.key for placed in self.placed]
        if [key for key, _ in self._peers] == keys:
            return
        peers = list(zip(keys, self.results([placed.actor for placed in self.placed]), strict=True))
        for i, (_, actor) in enumerate(peers):
            self._call_actor(actor, "connect", i, peers)
        self._peers = peers

    def _call_actor(self, actor: Any, method: str, *arguments: Any) -> Any:
        actors = [placed.actor for placed in self.placed]
        return self._cluster.call(actor, method, *arguments, actors=actors, used=self._used)

    def _broadcast_source(self) -> "Future[Any]":
        source = self._source
        return self._cluster.broadcast(source.source() if isinstance(source, ClusterGraph) else source)

    def _estimate_counts(self, workers: Sequence[Worker], shared: Any) -> NDArray[np.float64]:
        """Estimate the entries of each row of X from some of them."""
        n = self._source.shape[0]
        ranges = sampled_ranges(n, len(workers))
        futures = [
            self.submit(
                worker, worker_block.mean_row_entries, shared, ranges[i :: len(workers)], self._threads_of(worker)
            )
            for i, worker in enumerate(workers)
        ]
        means = np.empty(len(ranges))
        for i, found in enumerate(self._cluster.results(futures, {worker.address for worker in workers})):
            means[i :: len(workers)] = found
        return estimated_counts(n, ranges, means)

    def _check_memory(self, workers: Sequence[Worker], nnz: int) -> None:
        self._block_bytes = worker_block_bytes(
            self._source.shape,
            self._source.dtype,
            source_bytes=self._source.nbytes,
            nnz=nnz,
            n_workers=len(workers),
            components=self._components,
            threads=max(self._threads_of(worker) for worker in workers),
        )
        purpose = f"embedding {self._source.shape[0]:,} nodes through X with about {nnz:,} entries"
        self._cluster.check_memory(workers, self._block_bytes, purpose)

    def _rebuild_lost(self) -> None:
        alive = self._cluster.workers()
        kept = [
            placed for placed in self.placed if placed.worker.address in alive and placed.actor.status == "finished"
        ]
        lost = [placed for placed in self.placed if placed not in kept]
        if not lost:
            return
        n_blocks = Counter(placed.worker.address for placed in kept)
        for placed in lost:
            placed.worker = self._cluster.place_for(self._block_bytes, n_blocks)
            n_blocks[placed.worker.address] += 1
        shared = self._broadcast_source()
        for placed in lost:
            threads = self._threads_of(placed.worker)
            placed.key, placed.actor = self._host_block(placed.worker, shared, placed.place, threads)

    def _replay_levels(self, last: int, store: "FactorStore") -> list[BlockState]:
        states = self._states()
        for level in range(min(state.level for state in states), last):
            behind = [placed for placed, state in zip(self.placed, states, strict=True) if state.level <= level]
            self.results(store.replay(self, level, behind))
        return self._states()

    def _states(self) -> list[BlockState]:
        return self.results(self.submit_to_all(worker_block.block_state))

    @property
    def _used(self) -> set[str]:
        return {placed.worker.address for placed in self.placed}

    def _threads_of(self, worker: Worker) -> int:
        return self._threads or worker.threads
