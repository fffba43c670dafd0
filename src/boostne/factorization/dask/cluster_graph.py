"""A graph that the workers of a cluster read from a file themselves, so that it is never on the client."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from boostne.errors import ClusterError, ParameterError
from boostne.factorization.dask import worker_graph
from boostne.factorization.dask.cluster import Cluster, Worker, WorkerLostError
from boostne.factorization.dask.mapped_arrays import ArrayFile, remove_files
from boostne.factorization.dask.worker_graph import GraphFacts, GraphFile, MakeJob, MappedSource, MappedStart
from boostne.matrices import ConnectivityMatrix, MatrixForm

if TYPE_CHECKING:
    from distributed import Future

StoredForm = Callable[[GraphFacts], MatrixForm | None]


class ClusterGraph:
    """Has one worker of each machine read the graph, and all workers of the machine share it.

    A context manager, which removes the shared files at the end.

    Parameters
    ----------
    cluster : Cluster
    file : GraphFile
    make_job : callable
        Checks a graph on a worker and returns its job.
    stored_form : callable
        ``stored_form(facts)`` returns the form of X that the run started with, or None if it starts now.
    memory : int or None
        Bytes that all workers together may allocate, for the choice of the form of X; None if unlimited.
    threads : int, optional
        Threads of each worker to use; by default those that it has.

    Attributes
    ----------
    facts : GraphFacts
    matrix : ConnectivityMatrix
        With the parameters that were chosen for the graph.
    form : MatrixForm
    shape, dtype
        Of X.
    nbytes : int
        Memory of the arrays from which rows of X are built.
    """

    facts: GraphFacts
    matrix: ConnectivityMatrix
    form: MatrixForm
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    nbytes: int

    def __init__(
        self,
        cluster: Cluster,
        file: GraphFile,
        make_job: MakeJob,
        stored_form: StoredForm,
        memory: int | None,
        threads: int | None = None,
    ) -> None:
        self._cluster = cluster
        self._file = file
        self._make_job = make_job
        self._stored_form = stored_form
        self._memory = memory
        self._threads = threads
        self._files: list[ArrayFile] = []
        self._owned: dict[str, Future[Any]] = {}  # by the address of the worker that owns the file
        self._check_access()
        self.files()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        files, self._files = self._files, []
        self._owned.clear()
        with suppress(ClusterError):  # without a scheduler, workers end, and Dask removes their folders
            self._cluster.run_on_all(remove_files, files)  # also those of workers that were killed

    def source(self) -> MappedSource:
        """Return the rows of X."""
        return MappedSource(self.files(), self.shape, self.dtype, self.nbytes)

    def start(self, level: int) -> MappedStart:
        """Return V from which a level starts."""
        return MappedStart(self.files(), level)

    def files(self) -> list[ArrayFile]:
        """Return the files of all machines; a machine without one, such as that of a new worker, reads the graph."""
        while True:
            try:
                readers = self._readers()
                if not readers:
                    return list(self._files)
                self._read_on(readers)
            except WorkerLostError:
                continue

    def _check_access(self) -> None:
        """Raise ParameterError unless all workers see the file, and it is Parquet."""
        found = self._cluster.run_on_all(worker_graph.check_path, self._file.path)
        blind = {address: problem for address, problem in sorted(found.items()) if problem is not None}
        for address, problem in blind.items():
            raise ParameterError(
                f"{address} cannot read {self._file.path} ({problem}); give a path that all workers can read, such as "
                f"on a network drive ({len(blind)} of {len(found)} workers cannot)"
            )

    def _readers(self) -> list[Worker]:
        """Return a worker of each machine that does not have the graph."""
        if not self._cluster.workers():
            self._cluster.place_for(0, {})  # waits for one
        machines = self._cluster.run_on_all(worker_graph.machine_without, self._files)
        alive = self._cluster.workers()
        self._owned = {address: owned for address, owned in self._owned.items() if address in alive}
        readers: dict[str, Worker] = {}
        for address, machine in sorted(machines.items()):
            if machine is not None and address in alive:
                readers.setdefault(machine, alive[address])
        return list(readers.values())

    def _read_on(self, readers: Sequence[Worker]) -> None:
        """Have workers read the graph and share it with those of their machines."""
        submit = self._cluster.submit
        read = [
            submit(
                worker,
                worker_graph.read_job,
                self._file,
                worker.usable,
                self._make_job,
                self._threads or worker.threads,
            )
            for worker in readers
        ]
        for worker, (facts, matrix) in zip(readers, self._on_each(readers, worker_graph.facts_of, read), strict=True):
            self._record(worker, facts, matrix)
        if not hasattr(self, "form"):
            stored = self._stored_form(self.facts)
            self.form = stored or self._on_each(readers[:1], worker_graph.choose_form, read[:1], self._memory)[0]
        owned = [
            submit(worker, worker_graph.share_graph, job, self.form) for worker, job in zip(readers, read, strict=True)
        ]
        for file, *size in self._on_each(readers, worker_graph.file_of, owned):
            self._files.append(file)
            self.shape, self.dtype, self.nbytes = size
        self._owned |= {worker.address: one for worker, one in zip(readers, owned, strict=True)}

    def _on_each(
        self, workers: Sequence[Worker], task: Any, results: Sequence["Future[Any]"], *arguments: Any
    ) -> list[Any]:
        """Run a task on the result of each worker, and wait."""
        futures = [
            self._cluster.submit(worker, task, result, *arguments)
            for worker, result in zip(workers, results, strict=True)
        ]
        return self._cluster.results(futures, {worker.address for worker in workers})

    def _record(self, worker: Worker, facts: GraphFacts, matrix: ConnectivityMatrix) -> None:
        """Store the facts of the first reader; raise ClusterError if another one has read another graph."""
        if not hasattr(self, "facts"):
            self.facts, self.matrix = facts, matrix
            for notes in facts.notes:
                notes.publish()
        elif facts.fingerprint != self.facts.fingerprint:
            raise ClusterError(
                f"{worker.address} has read another graph from {self._file.path} than the worker before it: the file "
                "has changed, or the machines have different instruction sets and order the nodes differently; run "
                "again when the file is complete, on machines of one kind"
            )
