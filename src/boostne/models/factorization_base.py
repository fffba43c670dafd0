"""What BoostNE and NetMF share: a connectivity matrix, planned, loaded into an engine and factorized in levels."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.address_space import affordable_threads
from boostne.budget import ON_DISK_BYTES, ON_DISK_COPIES, Estimate, Workload, share_done
from boostne.errors import ParameterError
from boostne.factorization.boosting import InitialV, Level, LevelSettings, PassCallback, Start, boost
from boostne.factorization.checkpoint import Checkpoint, CheckpointFolder
from boostne.factorization.engine import Engine
from boostne.factorization.estimate import estimate
from boostne.factorization.job import Job, loaded_engine
from boostne.factorization.ordering import ReorderedGraph, by_side, reorder
from boostne.factorization.stored_factors import has_space_on_disk, stored_factor
from boostne.graph import Graph
from boostne.kernels import available_threads
from boostne.matrices import ConnectivityMatrix, MatrixForm, as_connectivity
from boostne.memory import MemoryBudget
from boostne.models.base import NodeEmbedder, to_json
from boostne.progress import Progress, ProgressCallback, ProgressOption, reporting, silent
from boostne.validation import check_integer, check_number, seed_from
from boostne.version import installed_version


class FactorizationEmbedder(NodeEmbedder):
    """Base of the estimators that factorize a connectivity matrix in levels.

    A subclass has the parameters below, or fixes them as class attributes; see :class:`~boostne.BoostNE`.
    """

    dimensions: int
    levels: int
    connectivity: Any
    window: int | None
    memory_limit: int | str | None
    checkpoint: str | Path | Checkpoint | None
    tol: float
    max_iter: int
    dtype: Any
    engine: Any
    threads: int | None
    random_state: Any

    _execution_parameters: ClassVar[tuple[str, ...]] = ("threads", "engine", "memory_limit", "checkpoint")
    _start: InitialV | None = None  # V from which levels start, in the order of the nodes; random if None

    def connectivity_matrix(self, X: Any, *, progress: ProgressOption = False) -> sparse.csr_array:
        """Return the connectivity matrix of a graph, as :meth:`fit` would factorize it."""
        graph = self._check_graph(X)
        matrix = self._check_parameters(graph)
        with reporting(progress) as report:
            job = self._job(by_side(graph), matrix, seed_from(self.random_state), progress=report)
            form, connectivity, self.dropped_mass_ = job.build()
        self._store_form(matrix, form)
        return connectivity

    def estimate(self, X: Any) -> Estimate:
        """Estimate the time and memory of :meth:`fit` from a small part of the work.

        The form of DeepWalk's X is chosen as in :meth:`fit`; some of its rows are built and a few passes run over them.
        For the spectral form the entries of the exact one are scaled up by the largest growth observed, and the time of
        the eigensolver is not included. Most other matrices are built as a whole.
        """
        graph = self._check_graph(X)
        matrix = self._check_parameters(graph)
        reordered = self._reorder(graph, matrix)
        work = self._workload(graph)
        # A form that was requested is estimated even if it does not fit: that is what people want to know.
        form = matrix.requested_form or matrix.plan(reordered.graph, work, MemoryBudget.within(self.memory_limit))
        found = estimate(matrix.sample(reordered.graph, form, work), work, form)
        return replace(found, peak_bytes=found.peak_bytes + reordered.nbytes)

    def result_parameters(self) -> dict[str, Any]:
        """Return the parameters that determine the result; see :meth:`NodeEmbedder.result_parameters`."""
        parameters = super().result_parameters()
        if isinstance(self.connectivity, str):
            # A name and an object with the default parameters give the same matrix.
            parameters["connectivity"] = to_json("connectivity", as_connectivity(self.connectivity, self.window))
        del parameters["window"]
        return parameters

    def _fit(self, graph: Graph, progress: ProgressCallback) -> tuple[NDArray[Any], NDArray[np.int64]]:
        matrix = self._check_parameters(graph)  # check
        seed = seed_from(self.random_state)
        checkpoint = self._open_checkpoint(graph, seed)
        reordered = self._reorder(graph, matrix, progress)
        job = self._job(reordered, matrix, seed, checkpoint, progress)
        U, V = (stored_factor(n, job.work) for n in job.work.shape)
        orders = reordered.rows.order, reordered.columns.order
        recall = lambda level: (U.level(level)[orders[0]], V.level(level)[orders[1]])  # noqa: E731
        with loaded_engine(self.engine, job, recall, self.threads) as (engine, form):  # plan and load
            self._store_start(engine, matrix, form, reordered)
            n_rows, n_columns = job.work.shape
            finished: Iterable[Level] = ()
            if checkpoint is not None:
                finished = checkpoint.levels(self.levels, (n_rows, job.work.components), self.dtype, n_columns)
            initial_v = self._initial_v(job, form)
            for level in self._boost(engine, initial_v, progress, finished):  # boost, and store each level
                self._store_level(level, checkpoint)
                U.append(level.U, reordered.rows)
                V.append(level.V, reordered.columns)
                del level  # not kept while the next is computed
        vectors, self.context_ = U.merged(), V.merged()
        self.levels_ = np.split(vectors, self.levels, axis=1)
        return vectors, np.full(self.levels, job.work.components)

    def _boost(
        self, engine: Engine, initial_v: Start, progress: ProgressCallback, finished: Iterable[Level] = ()
    ) -> Iterator[Level]:
        progress(Progress("levels", 0.0))
        settings = LevelSettings(self.dimensions // self.levels, self.tol, self.max_iter)
        on_pass = self._on_pass(engine.shape[1], progress)
        return boost(engine, settings, self.levels, initial_v, on_pass, finished)

    def _initial_v(self, job: Job, form: MatrixForm) -> InitialV:
        start = self._start
        return job.start(form) if start is None else lambda level: start(level)[job.reordered.columns.order]

    def _store_start(
        self, engine: Engine, matrix: ConnectivityMatrix, form: MatrixForm, reordered: ReorderedGraph | None = None
    ) -> None:
        self._store_form(matrix, form)
        dropped = engine.dropped_mass
        self.dropped_mass_ = None if dropped is None or reordered is None else dropped[reordered.rows.inverse]
        self.engine_ = engine.name
        self.objective_: list[NDArray[np.float64]] = []
        self.n_iter_ = np.zeros(0, np.int64)
        self.residual_norms_ = np.array([np.sqrt(engine.norm2)])
        self.nnz_ = np.array([engine.nnz])

    def _store_form(self, matrix: ConnectivityMatrix, form: MatrixForm) -> None:
        self.approximation_, self.epsilon_, self.max_per_row_ = form.name, form.epsilon, form.max_per_row
        self.connectivity_: ConnectivityMatrix | None = matrix
        window = getattr(matrix, "window", None)
        self.settings_: dict[str, Any] = {
            "connectivity": type(matrix).__name__,
            **({} if window is None else {"window": window}),
            "approximation": form.name,
        }

    def _store_level(self, level: Level, checkpoint: CheckpointFolder | None) -> None:
        """Store the history of a finished level, and in a checkpoint the level, unless it was read from there."""
        number = len(self.n_iter_) + 1
        if checkpoint is not None and number > checkpoint.n_levels:
            checkpoint.save_level(number, level)
        self.objective_.append(level.objective)
        self.n_iter_ = np.append(self.n_iter_, level.n_iter)
        self.residual_norms_ = np.append(self.residual_norms_, level.residual_norm)
        self.nnz_ = np.append(self.nnz_, level.nnz)

    def _on_pass(self, n_nodes: int, progress: ProgressCallback) -> PassCallback:
        done = 0.0

        def on_pass(level: int, n_iter: int, objective: float) -> None:
            nonlocal done
            # Progress is monotone, although the extrapolation of the remaining work is not.
            done = max(done, share_done(n_nodes, self.levels, self.n_iter_, self.nnz_, n_iter))
            residual = self.residual_norms_[-1] * np.sqrt(objective) / self.residual_norms_[0]
            detail = f"level {level + 1}/{self.levels}, pass {n_iter}, residual {residual:.3f}"
            progress(Progress("levels", done, detail))

        return on_pass

    def _check_parameters(self, graph: Graph) -> ConnectivityMatrix:
        """Raise ParameterError if a parameter is out of range; else return the connectivity matrix."""
        matrix = self._check_settings()
        matrix.check_graph(graph)
        self._check_width(graph)
        return matrix.for_graph(graph)

    def _check_settings(self) -> ConnectivityMatrix:
        """Check what does not depend on the graph; see :meth:`_check_parameters`."""
        self._check_common_parameters()
        for name in ("levels", "max_iter"):
            check_integer(name, getattr(self, name), 1)
        check_number("tol", self.tol, 0)
        MemoryBudget.within(self.memory_limit)
        matrix = as_connectivity(self.connectivity, self.window)
        matrix.check()
        if self.dimensions % self.levels:
            raise ParameterError(
                "dimensions must be a multiple of levels, so that all levels have the same width; got "
                f"dimensions={self.dimensions} and levels={self.levels}"
            )
        return matrix

    def _check_width(self, graph: Graph) -> None:
        width = self.dimensions // self.levels
        n_nodes, of = min(self._workload(graph).shape), "graph" if graph.sides is None else "smaller side"
        if n_nodes < width:
            raise ParameterError(
                f"the width of a level is {width} (dimensions={self.dimensions} over levels={self.levels}) but the "
                f"{of} has only {n_nodes} nodes; lower dimensions or raise levels"
            )

    def _open_checkpoint(self, graph: Graph, seed: int) -> CheckpointFolder | None:
        checkpoint = self._given_checkpoint()
        if checkpoint is None:
            return None
        return checkpoint.open({**self._fingerprint(seed), "graph": graph.fingerprint()})

    def _given_checkpoint(self) -> Checkpoint | None:
        given = self.checkpoint
        return given if given is None or isinstance(given, Checkpoint) else Checkpoint(given)

    def _fingerprint(self, seed: int) -> dict[str, Any]:
        """Return what the result depends on besides the graph."""
        return {"version": installed_version(), **self.result_parameters(), "random_state": seed}

    def _reorder(self, graph: Graph, matrix: ConnectivityMatrix, progress: ProgressCallback = silent) -> ReorderedGraph:
        return reorder(graph, reorderable=matrix.reorderable, threads=self.threads, progress=progress)

    def _job(
        self,
        reordered: ReorderedGraph,
        matrix: ConnectivityMatrix,
        seed: int,
        checkpoint: CheckpointFolder | None = None,
        progress: ProgressCallback = silent,
    ) -> Job:
        work = self._workload(reordered.graph)
        return Job(reordered, matrix, work, seed, self.memory_limit, checkpoint, progress)

    def _workload(self, graph: Graph) -> Workload:
        size = graph.n_nodes * self.dimensions * np.dtype(self.dtype).itemsize
        return Workload(
            n_nodes=graph.n_nodes,
            levels=self.levels,
            components=self.dimensions // self.levels,
            max_iter=self.max_iter,
            dtype=np.dtype(self.dtype),
            threads=affordable_threads(self.threads or available_threads()),
            n_rows=None if graph.sides is None else int(np.count_nonzero(graph.sides)),
            on_disk=size >= ON_DISK_BYTES and has_space_on_disk(ON_DISK_COPIES * size),
        )
