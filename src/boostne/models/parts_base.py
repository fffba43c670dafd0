"""Embeddings that stay with the workers of a cluster, which write them as parts; the graph may stay there, too."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostne.errors import GraphError, ParameterError
from boostne.factorization.boosting import Level, Start
from boostne.factorization.checkpoint import CheckpointFolder
from boostne.factorization.factor_files import FactorFiles
from boostne.factorization.job import Job
from boostne.graph import Graph
from boostne.io.parts import parts_folder
from boostne.matrices import MatrixForm
from boostne.models.factorization_base import FactorizationEmbedder
from boostne.progress import Progress, ProgressCallback, ProgressOption, reporting, silent
from boostne.validation import seed_from

if TYPE_CHECKING:
    from boostne.factorization.dask.engine import DaskEngine
    from boostne.factorization.dask.worker_graph import GraphFacts, GraphFile

LOCAL_ENGINES = ("local", "cuda", "auto")
# Of read_graph: those that apply to Parquet tables of undirected edges.
READ_OPTIONS = ("source", "target", "weight", "duplicates", "self_loops")


class PartsEmbedder(FactorizationEmbedder):
    """Base of the estimators whose vectors the workers of a Dask cluster can write."""

    propagation: Any
    vector_length: Any

    def fit_to_parts(
        self,
        X: Any,
        folder: str | Path,
        *,
        read_options: Mapping[str, Any] | None = None,
        progress: ProgressOption = False,
    ) -> list[Path]:
        """Embed on a cluster whose workers write the vectors: for embeddings too large for this machine.

        Each worker writes the vectors of its rows as a Parquet file, ``part-00000.parquet`` and so on;
        :func:`boostne.read_embedding` reads the folder, as do pandas, Dask and Spark. Afterwards the model has its
        attributes except ``embedding_``, ``levels_`` and ``context_``. Vectors are neither propagated nor rescaled: no
        machine has all of them.

        The folder of a ``checkpoint`` must be shared by all workers, too: they write the factors of the finished levels
        there. The same call resumes from it after the client, the scheduler or all workers were killed; the number of
        workers may differ.

        Parameters
        ----------
        X : str, Path, Graph, matrix, networkx graph, edge table or list of pairs
            The path of a Parquet file of edges, or of a folder of such files, that all workers can read: they read it
            themselves, so that the graph is never on this machine. Or a graph, as for :meth:`fit`.
        folder : str or Path
            Shared by all workers under this name, for instance on a network drive; new, empty or left by a run that
            was killed. Unless there is a checkpoint, it also holds the factors of the finished levels until the end,
            about twice the size of the vectors.
        read_options : mapping, optional
            For a path: ``source``, ``target``, ``weight``, ``duplicates`` and ``self_loops`` of
            :func:`boostne.read_graph`.
        progress : callable or bool, default False
            As for :meth:`fit`.

        Returns
        -------
        list of Path
            The files. The order of the rows is arbitrary; each has the id of its node.
        """
        self._check_engine_for_parts()
        from boostne.factorization.dask.engine import DaskEngine
        from boostne.factorization.dask.factor_store import FileFactorStore

        self._check_settings()
        seed, file = seed_from(self.random_state), _graph_file(X, read_options)
        self._check_parts_checkpoint(folder, seed)
        with reporting(progress) as report:
            if file is None:  # checked before the cluster is used
                job = self._parts_job(seed, self._check_graph(X), report)
                if self.checkpoint is not None:
                    opened = self._open_parts_checkpoint(job.reordered.graph.fingerprint(), seed)
                    job = replace(job, checkpoint=opened)
                embed = partial(self._write_parts_of_job, job)
            else:
                embed = partial(self._write_parts_of_file, file, seed)
            with parts_folder(folder) as temporary:
                checkpoint = self._given_checkpoint()
                levels = temporary if checkpoint is None else Path(checkpoint.folder)
                width = self.dimensions // self.levels
                store = FileFactorStore(FactorFiles(str(levels.resolve()), width, np.dtype(self.dtype)), temporary)
                with DaskEngine(self.engine, width, store, self.threads) as engine:
                    written = embed(engine, temporary, report)
                return [Path(folder) / path.name for path in written]

    def _write_parts_of_job(
        self, job: Job, engine: "DaskEngine", parts: Path, progress: ProgressCallback
    ) -> list[Path]:
        """Embed a graph of this process."""
        form = job.load(engine)
        self._store_start(engine, job.matrix, form)
        initial_v, nodes = self._initial_v(job, form), job.reordered.graph.nodes
        return self._write_parts(engine, initial_v, nodes, job.checkpoint, parts, progress)

    def _write_parts_of_file(
        self, file: "GraphFile", seed: int, engine: "DaskEngine", parts: Path, progress: ProgressCallback
    ) -> list[Path]:
        """Embed a graph that the workers read."""
        progress(Progress("reading", 0.0, "on the workers"))
        # The client of the cluster and what was learned before stay here.
        copy = type(self)(**{**self.get_params(deep=False), "engine": "dask", "random_state": seed})
        make_job = partial(copy._job_on_worker, seed)  # noqa: SLF001  of this class
        with engine.read_graph(file, make_job, partial(self._stored_form, seed)) as graph:
            self._warn_of_isolated(graph.facts.n_isolated, graph.facts.n_nodes)
            engine.load(graph, progress)
            graph.matrix.check_norm(engine.nnz, engine.norm2, graph.facts, engine.dtype)
            self._store_start(engine, graph.matrix, graph.form)
            self.graph_facts_ = graph.facts
            checkpoint = self._open_parts_checkpoint(graph.facts.fingerprint, seed)
            if checkpoint is not None:
                checkpoint.save_form(graph.form)
            return self._write_parts(engine, graph.start, graph, checkpoint, parts, progress)

    def _write_parts(
        self,
        engine: "DaskEngine",
        initial_v: Start,
        nodes: Any,
        checkpoint: CheckpointFolder | None,
        parts: Path,
        progress: ProgressCallback,
    ) -> list[Path]:
        finished: Iterable[Level] = ()
        if checkpoint is not None:
            finished = checkpoint.levels_in_parts(self.levels, engine.shape[0], engine.find_damage)
        for level in self._boost(engine, initial_v, progress, finished):
            self._store_level(level, checkpoint)
        self.settings_ |= {"propagation": 0.0, "vector_length": 0.0}
        progress(Progress("writing", 0.0, "on the workers"))
        return engine.write_parts(parts, nodes, self.levels)

    def _job_on_worker(self, seed: int, graph: Graph, threads: int) -> Job:
        """Return the job of a graph that a worker has read, which has its own copy of this model."""
        self.threads = threads
        return self._parts_job(seed, self._as_graph(graph))

    def _parts_job(self, seed: int, graph: Graph, progress: ProgressCallback = silent) -> Job:
        if graph.directed or graph.sides is not None:
            raise GraphError(
                "the workers write one vector per node, and a directed or bipartite graph has vectors of sources and "
                "of targets: use fit(), or call to_undirected() or with_sides(None) on the graph"
            )
        matrix = self._check_parameters(graph)
        return self._job(self._reorder(graph, matrix, progress), matrix, seed, progress=progress)

    def _check_parts_checkpoint(self, folder: str | Path, seed: int) -> None:
        """Raise unless the checkpoint, if there is one, and the parts are in separate folders, and it is of this run.

        Its graph is compared later.
        """
        checkpoint = self._given_checkpoint()
        if checkpoint is None:
            return
        kept, parts = Path(checkpoint.folder).resolve(), Path(folder).resolve()
        if kept.is_relative_to(parts) or parts.is_relative_to(kept):
            raise ParameterError(
                f"the checkpoint {checkpoint.folder} and the folder of the parts {folder} must not contain one "
                "another: choose separate folders"
            )
        checkpoint.check(self._parts_fingerprint(seed))

    def _open_parts_checkpoint(self, graph: str, seed: int) -> CheckpointFolder | None:
        """Open the checkpoint, if there is one, for the graph with this fingerprint, in the order of the rows of X."""
        checkpoint = self._given_checkpoint()
        return None if checkpoint is None else checkpoint.open({**self._parts_fingerprint(seed), "graph": graph})

    def _parts_fingerprint(self, seed: int) -> dict[str, Any]:
        # The factors are not where those of a fit are.
        return {**self._fingerprint(seed), "output": "parts"}

    def _stored_form(self, seed: int, facts: "GraphFacts") -> MatrixForm | None:
        """Return the form of X with which the run has started, if it is resumed."""
        checkpoint = self._open_parts_checkpoint(facts.fingerprint, seed)
        return None if checkpoint is None else checkpoint.form()

    def _check_engine_for_parts(self) -> None:
        given = {name: getattr(self, name) for name in ("engine", "propagation", "vector_length")}
        refined = self.propagation not in ("auto", 0) or self.vector_length not in ("auto", 0)
        if self._is_local() or refined:
            raise ParameterError(
                "parts are written by the workers of a Dask cluster, without propagation or a length of the vectors; "
                f"got {', '.join(f'{name}={value!r}' for name, value in given.items())}"
            )

    def _is_local(self) -> bool:
        return isinstance(self.engine, str) and self.engine in LOCAL_ENGINES


def _graph_file(X: Any, read_options: Mapping[str, Any] | None) -> "GraphFile | None":
    """Return the file that workers are to read, or None if X is a graph."""
    options = dict(read_options or {})
    if not isinstance(X, str | PathLike):
        if options:
            raise ParameterError(f"read_options are for a path; got a {type(X).__name__} and {options}")
        return None
    from boostne.factorization.dask.worker_graph import GraphFile, check_format

    unknown = sorted(options.keys() - set(READ_OPTIONS))
    if unknown:
        raise ParameterError(f"read_options must be among {', '.join(READ_OPTIONS)}; got {', '.join(unknown)}")
    # Links are left to the workers, where they may lead elsewhere.
    path = Path(os.path.abspath(X))  # noqa: PTH100
    if path.is_file():  # else it is for the workers to say
        check_format(path)
    return GraphFile(str(path), options)
