"""The engine of a Dask cluster: each worker stores consecutive shards of R and their rows of U.

In a pass, workers exchange slices of V and of ``R^T U`` directly, and each updates a slice of V (:mod:`.exchange`).
Neither X nor R is ever on the client. Shards are cut and added up as on the local engine, so the
result has the same bits if the workers have the same instruction set and X has a shard for each of them.

If a worker dies, its blocks are rebuilt elsewhere, the finished levels are subtracted from them again, and the current
level starts over.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.budget import Workload
from boostne.errors import BoostneWarning, warn_caller
from boostne.factorization.boosting import Level
from boostne.factorization.dask import level_calls, worker_block
from boostne.factorization.dask.block_placement import LOSSES, BlockPlacement
from boostne.factorization.dask.cluster import Cluster
from boostne.factorization.dask.cluster_graph import ClusterGraph, StoredForm
from boostne.factorization.dask.exchange import ContextSlices
from boostne.factorization.dask.factor_store import Factors, FactorStore, FileFactorStore, check_written
from boostne.factorization.dask.worker_block import BlockState, TaskStamp, Transition
from boostne.factorization.dask.worker_graph import GraphFile, MakeJob, MappedStart, form_within, node_ids
from boostne.factorization.engine import Engine, LevelLost, PassResult
from boostne.graph import Graph
from boostne.io.parts import part_path
from boostne.kernels import KERNELS
from boostne.matrices import ConnectivityMatrix, MatrixForm, MatrixSource
from boostne.memory import format_bytes
from boostne.progress import Progress, ProgressCallback, silent


class DaskEngine(Engine):
    """Stores R on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client or str
        See :class:`~boostne.factorization.dask.cluster.Cluster`.
    components : int
        Width of a level, for the memory estimate.
    store : FactorStore
        Where the factors of finished levels are stored.
    threads : int, optional
        Threads of each worker to use; by default those that it has.
    """

    name = "dask"

    def __init__(self, client: Any, components: int, store: FactorStore, threads: int | None = None) -> None:
        self._cluster = Cluster(client)
        self._components = components
        self._store = store
        try:
            store.check(self._cluster)
        except BaseException:
            self._cluster.close()
            raise
        self._threads = threads
        self._attempt = self._number = 0
        self._transition: Transition = "none"
        self._extrapolation = 0.0
        self._warned = False

    def plan(self, matrix: ConnectivityMatrix, graph: Graph, work: Workload, memory_limit: Any = None) -> MatrixForm:
        """Use the memory of all workers together; see :meth:`Engine.plan`. :meth:`load` checks each worker."""
        return form_within(self._free_memory(), matrix, graph, work)

    def read_graph(self, file: GraphFile, make_job: MakeJob, stored_form: StoredForm) -> ClusterGraph:
        """Have the workers read a graph, which :meth:`load` takes instead of a source; see :class:`ClusterGraph`."""
        return ClusterGraph(self._cluster, file, make_job, stored_form, self._free_memory(), self._threads)

    def load(self, source: MatrixSource | ClusterGraph, progress: ProgressCallback = silent) -> None:
        progress(Progress("connectivity", 0.0, "on the workers"))
        self.shape, self.dtype = source.shape, source.dtype
        self._level = 0
        self._placement = BlockPlacement(self._cluster, source, self._components, self._threads)
        self._restore()  # workers may have died since

    def close(self) -> None:
        """Have the workers drop what they hold."""
        self._cluster.close()

    def start_level(self, V: NDArray[Any] | MappedStart) -> None:
        """Start a level from this V, or from the V that the workers draw; see :meth:`Engine.start_level`."""
        self._attempt += 1
        self._transition = "none"
        slices = ContextSlices.divide(self.shape[1], len(self._placement.placed))
        self._gram_v: NDArray[np.float64] = self._call(
            level_calls.start_level, self._stamp(), V, slices, self._components
        )

    def step(self, inner_sweeps: int) -> PassResult:
        result: PassResult = self._call(level_calls.run_pass, self._stamp(), inner_sweeps)
        self._gram_v = result.gram_v
        return result

    def accept(self, extrapolation: float) -> None:
        """Send it with the next call to the workers; see :meth:`Engine.accept`."""
        self._apply_pending()
        self._transition, self._extrapolation = "accept", extrapolation

    def revert(self) -> None:
        self._apply_pending()
        self._transition = "revert"

    def gram_v(self) -> NDArray[np.float64]:
        self._apply_pending()
        return self._gram_v

    def reseed(self, component: int, values: NDArray[Any]) -> None:
        self._apply_pending()
        self._call(level_calls.reseed, self._stamp(), component, values)

    def rescale(self, ratio: NDArray[np.float64]) -> None:
        self._call(level_calls.rescale, self._stamp(), ratio)

    def factors(self) -> Factors:
        """Store the factors and return them, or the lists of their files; see :meth:`Engine.factors`."""
        self._apply_pending()
        with self._current_level():
            return self._store.collect(self._placement, self._stamp(), self._components)

    def zero_factors(self, components: int) -> Factors:
        """Return lists without files if the workers write the factors; see :meth:`Engine.zero_factors`."""
        return self._store.zero_factors or super().zero_factors(components)

    def deflate(self) -> None:
        stamp = self._stamp()
        self._level += 1
        try:
            self._record(self._placement.call(level_calls.deflate, stamp))
        except LOSSES:
            self._restore()
        self._store.release()

    def replay(self, U: Any, V: Any) -> None:
        # Blocks that are lost now are rebuilt from X and need the levels before this one, too.
        self._store.resume(self._level, (U, V))
        self._level += 1
        self._restore()
        self._store.release()

    def find_damage(self, level: int, found: Level) -> tuple[Path, str] | None:
        """Have the workers verify the files of a level before it is replayed.

        Parameters
        ----------
        level : int
            Counted from 0.
        found : Level
            With the lists of its files.

        Returns
        -------
        tuple of Path and str, or None
            A damaged file and what is wrong with it.

        Raises
        ------
        CheckpointError
            If a file is intact and not the one listed.
        """
        while True:
            try:
                return self._file_store.find_damage(self._placement, level, (found.U, found.V))
            except LOSSES:
                self._restore()

    def write_parts(self, folder: Path, nodes: NDArray[Any] | ClusterGraph, levels: int) -> list[Path]:
        """Have each worker write the vectors of its rows as a Parquet file, from the files of all levels.

        Parameters
        ----------
        folder : Path
            Shared by all machines.
        nodes : ndarray or ClusterGraph
            Node ids of the rows, or the graph that has them.
        levels : int
            k.
        """
        while True:
            try:
                return self._write_parts(self._file_store, folder, nodes, levels)
            except LOSSES:
                self._restore()

    def _write_parts(
        self, store: FileFactorStore, folder: Path, nodes: NDArray[Any] | ClusterGraph, levels: int
    ) -> list[Path]:
        factors = [store.stored[level][0] if level in store.stored else None for level in range(levels)]
        paths, tasks = [], []
        for i, placed in enumerate(self._placement.placed):
            rows = placed.place.rows
            paths.append(part_path(folder, i))
            if isinstance(nodes, ClusterGraph):
                ids = self._placement.submit(placed.worker, node_ids, nodes.files(), rows)
            else:
                ids = self._placement.send(nodes[rows.start : rows.stop], {placed.worker.address})
            arguments = (store.files, factors, ids, rows, str(paths[-1].resolve()))
            tasks.append(self._placement.submit(placed.worker, worker_block.write_part, *arguments))
        size = self.shape[0] * levels * store.files.components * store.files.dtype.itemsize
        check_written(self._placement.results(tasks), f"the vectors take {format_bytes(size)} there")
        return paths

    @property
    def _file_store(self) -> FileFactorStore:
        if not isinstance(self._store, FileFactorStore):
            raise TypeError("this engine stores factors on the client, not in files")
        return self._store

    def _free_memory(self) -> int | None:
        """Return the bytes that all workers together may allocate, or None if one of them has no limit."""
        workers = self._cluster.workers()
        free = self._cluster.free_memory(workers.values())
        return max(sum(free.values()), 0) if len(free) == len(workers) else None

    def _call(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
        """Call the first worker about all blocks; see :meth:`BlockPlacement.call`."""
        with self._current_level():
            return self._placement.call(function, *arguments)

    def _apply_pending(self) -> None:
        """Apply a pending transition now; between passes there is none, so this costs no call."""
        if self._transition != "none":
            self._gram_v = self._call(level_calls.apply_transition, self._stamp())

    def _stamp(self) -> TaskStamp:
        """Return the stamp of a task on the blocks, which carries a pending transition."""
        self._number += 1
        stamp = TaskStamp(self._level, self._attempt, self._number, self._transition, self._extrapolation)
        self._transition = "none"
        return stamp

    @contextmanager
    def _current_level(self) -> Iterator[None]:
        """Turn a loss into :class:`LevelLost`, once everything is rebuilt."""
        try:
            yield
        except LOSSES as error:
            self._restore()
            raise LevelLost from error

    def _restore(self) -> None:
        states = self._placement.restore(self._level, self._store)
        self._warn_of_instruction_sets(states)
        self._record(states)

    def _warn_of_instruction_sets(self, states: list[BlockState]) -> None:
        """Warn once if workers have different ones: a lost block, built again by another worker, has other bits."""
        workers: dict[str, list[str]] = {}
        for state, placed in zip(states, self._placement.placed, strict=True):
            workers.setdefault(state.instruction_set, []).append(placed.worker.address)
        if len(workers) == 1 or self._warned:
            return
        self._warned = True
        named = "; ".join(f"{name}: {', '.join(sorted(found))}" for name, found in sorted(workers.items()))
        warn_caller(
            f"the workers have different instruction sets ({named}), so that results depend on which worker has which "
            "rows, up to rounding; for the same bits in every run, start all workers with BOOSTNE_KERNELS="
            f"{min(workers, key=KERNELS.index)}",
            BoostneWarning,
        )

    def _record(self, states: list[BlockState]) -> None:
        norms = np.concatenate([state.norms for state in states])
        # As the local engine adds them: sequentially after loading, pairwise after a deflation.
        self.norm2 = float(norms.sum() if self._level else sum(norms.tolist()))
        self.nnz = sum(state.nnz for state in states)
