"""The blocks of R on the workers of a cluster: how they get there, and how they come back after a loss."""

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostne.factorization.dask import worker_block, worker_rpc
from boostne.factorization.dask.cluster import Cluster, Worker, WorkerLostError
from boostne.factorization.dask.factor_store import Keeping
from boostne.factorization.dask.partition import (
    block_bytes,
    estimated_counts,
    even_cuts,
    places,
    sampled_ranges,
)
from boostne.factorization.dask.worker_block import BlockLostError, Place, State
from boostne.matrices.source import RowSource

if TYPE_CHECKING:
    from distributed import Future

LOSSES = (WorkerLostError, BlockLostError)


@dataclass
class Held:
    """A block: its place in X, the worker that holds it, and Dask's handle of it."""

    place: Place
    worker: Worker
    block: "Future[Any]"


class Holdings:
    """Builds the blocks of X on the workers, runs tasks on them, and builds again what was lost.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    source : RowSource
        Makes the rows of X.
    components : int
        Width of a level, for the reckoning of memory.
    threads : int, optional
        Threads of each worker to use; by default those that it has.
    """

    def __init__(self, cluster: Cluster, source: RowSource, components: int, threads: int | None) -> None:
        self._cluster = cluster
        self._source = source
        self._components = components
        self._threads = threads
        self.held: list[Held] = []
        while True:
            try:
                self._build()
                return
            except LOSSES:
                continue

    def threads_of(self, worker: Worker) -> int:
        """Return how many threads a worker should use."""
        return self._threads or worker.threads

    def submit(self, worker: Worker, task: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Let a worker, and no other, do something."""
        return self._cluster.submit(worker, task, *arguments)

    def send(self, array: NDArray[Any], workers: set[str]) -> "Future[Any]":
        """Send an array to some workers."""
        return self._cluster.send(array, workers)

    def results(self, futures: Sequence["Future[Any]"]) -> list[Any]:
        """Wait for results that may depend on any of the workers with a block."""
        return self._cluster.results(futures, {held.worker.address for held in self.held})

    def on_all(self, task: Callable[..., Any], *arguments: Any) -> list["Future[Any]"]:
        """Start a task on every block."""
        return [self.submit(held.worker, task, held.block, *arguments) for held in self.held]

    def on_first(self, task: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Start a task on the block that has V."""
        return self.submit(self.held[0].worker, task, self.held[0].block, *arguments)

    def ask(self, do: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
        """Have ``do(team, *arguments)`` done by all blocks as a team, where V is, and wait for it."""
        sites = [(held.worker.address, str(held.block.key)) for held in self.held]
        request = worker_rpc.message(sites, do, *arguments)
        used = {address for address, _ in sites}
        return worker_rpc.outcome(self._cluster.call(sites[0][0], worker_rpc.HANDLER, request, used))

    def states(self) -> list[State]:
        """Ask for the state of every block."""
        return self.results(self.on_all(worker_block.describe))

    def restore(self, level: int, keeping: Keeping) -> list[State]:
        """Build again what was lost, and take the first ``level`` levels from each block that still has them."""
        while True:
            try:
                self._build_lost()
                return self._take_levels(level, keeping)
            except LOSSES:
                continue

    def _build(self) -> None:
        self._cluster.place_for(0, {})
        workers = sorted(self._cluster.workers().values(), key=lambda worker: worker.address)
        used = {worker.address for worker in workers}
        shared = self._cluster.share(self._source)
        estimate = self._estimate(workers, shared)
        self._check_room(workers, int(estimate.sum()))
        drafted = even_cuts(estimate, len(workers))
        drafts = [
            self.submit(worker, worker_block.draft_rows, shared, rows, self.threads_of(worker))
            for worker, rows in zip(workers, drafted, strict=False)
        ]
        counted = [
            self.submit(worker, worker_block.count_entries, draft)
            for worker, draft in zip(workers, drafts, strict=False)
        ]
        counts = np.concatenate(self._cluster.results(counted, used))
        self.held = []
        for i, place in enumerate(places(counts, self._source.n, len(workers))):
            worker, draft = workers[i], drafts[i] if i < len(drafts) else None
            missing = counts[place.rows.start : drafted[i].start] if draft else None
            threads = self.threads_of(worker)
            block = self.submit(worker, worker_rpc.host_block, shared, place, threads, draft, missing)
            self.held.append(Held(place, worker, block))
        self.states()

    def _estimate(self, workers: Sequence[Worker], shared: Any) -> NDArray[np.float64]:
        """Entries of each row of X, reckoned from some of them."""
        ranges = sampled_ranges(self._source.n, len(workers))
        futures = [
            self.submit(
                worker, worker_block.sample_rows, shared, ranges[i :: len(workers)], self.threads_of(worker)
            )
            for i, worker in enumerate(workers)
        ]
        means = np.empty(len(ranges))
        for i, found in enumerate(self._cluster.results(futures, {worker.address for worker in workers})):
            means[i :: len(workers)] = found
        return estimated_counts(self._source.n, ranges, means)

    def _check_room(self, workers: Sequence[Worker], nnz: int) -> None:
        threads = max(self.threads_of(worker) for worker in workers)
        self._block_bytes = block_bytes(self._source, nnz, len(workers), self._components, threads)
        purpose = f"embedding {self._source.n:,} nodes through X with about {nnz:,} entries"
        self._cluster.check_room(workers, self._block_bytes, purpose)

    def _build_lost(self) -> None:
        there = self._cluster.workers()
        kept = [
            held for held in self.held if held.worker.address in there and held.block.status == "finished"
        ]
        lost = [held for held in self.held if held not in kept]
        if not lost:
            return
        holding = Counter(held.worker.address for held in kept)
        for held in lost:
            held.worker = self._cluster.place_for(self._block_bytes, holding)
            holding[held.worker.address] += 1
        shared = self._cluster.share(self._source)
        for held in lost:
            threads = self.threads_of(held.worker)
            held.block = self.submit(held.worker, worker_rpc.host_block, shared, held.place, threads)

    def _take_levels(self, last: int, keeping: Keeping) -> list[State]:
        states = self.states()
        for level in range(min(state.level for state in states), last):
            behind = [held for held, state in zip(self.held, states, strict=True) if state.level <= level]
            self.results(keeping.take_again(self, level, behind))
        return self.states()
