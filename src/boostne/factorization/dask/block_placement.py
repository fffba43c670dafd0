"""Placement of the blocks of R on the workers of a cluster: how they are built, and rebuilt after a loss."""

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostne.budget import worker_block_bytes
from boostne.factorization.dask import worker_block, worker_rpc
from boostne.factorization.dask.cluster import Cluster, Worker, WorkerLostError
from boostne.factorization.dask.cluster_graph import ClusterGraph
from boostne.factorization.dask.exchange import BlockLostError, Site
from boostne.factorization.dask.partition import block_ranges, estimated_counts, even_cuts, sampled_ranges
from boostne.factorization.dask.worker_block import BlockRange, BlockState
from boostne.matrices import MatrixSource

if TYPE_CHECKING:
    from distributed import Future

    from boostne.factorization.dask.factor_store import FactorStore

LOSSES = (WorkerLostError, BlockLostError)


@dataclass
class PlacedBlock:
    """A block: its range of X, the worker that stores it, and its Dask future."""

    place: BlockRange
    worker: Worker
    block: "Future[Any]"


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
        return self._cluster.results(futures, {placed.worker.address for placed in self.placed})

    def submit_to_all(self, task: Callable[..., Any], *arguments: Any) -> list["Future[Any]"]:
        """Start a task on every block."""
        return [self.submit(placed.worker, task, placed.block, *arguments) for placed in self.placed]

    @property
    def sites(self) -> list[Site]:
        """Where the blocks are."""
        return [(placed.worker.address, str(placed.block.key)) for placed in self.placed]

    def call(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
        """Run ``function(group, *arguments)`` for the group of all blocks, on the worker of the first, and wait."""
        sites = self.sites
        message = worker_rpc.request(sites, function, *arguments)
        reply = self._cluster.call(
            lambda client: worker_rpc.send_request(client, sites[0][0], message), {address for address, _ in sites}
        )
        return worker_rpc.unpack_reply(reply)

    def restore(self, level: int, store: "FactorStore") -> list[BlockState]:
        """Rebuild lost blocks, and deflate by the first ``level`` levels each block that still contains them."""
        while True:
            try:
                self._rebuild_lost()
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
            block = self.submit(worker, worker_rpc.host_block, shared, place, threads, draft, missing)
            self.placed.append(PlacedBlock(place, worker, block))
        self._states()

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
            placed for placed in self.placed if placed.worker.address in alive and placed.block.status == "finished"
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
            placed.block = self.submit(placed.worker, worker_rpc.host_block, shared, placed.place, threads)

    def _replay_levels(self, last: int, store: "FactorStore") -> list[BlockState]:
        states = self._states()
        for level in range(min(state.level for state in states), last):
            behind = [placed for placed, state in zip(self.placed, states, strict=True) if state.level <= level]
            self.results(store.replay(self, level, behind))
        return self._states()

    def _states(self) -> list[BlockState]:
        return self.results(self.submit_to_all(worker_block.block_state))

    def _threads_of(self, worker: Worker) -> int:
        return self._threads or worker.threads
