"""What workers do with a graph that they read themselves: read it, choose the form of X, and share it on a machine.

One worker of each machine reads the graph and writes the arrays from which rows of X are built to a file; all workers
of the machine map it (:mod:`.mapped_arrays`).
"""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from boostne.budget import Workload
from boostne.errors import ClusterError, MemoryLimitError, ParameterError
from boostne.factorization.dask.mapped_arrays import ArrayFile, OwnedFile, open_arrays, write_arrays
from boostne.factorization.job import Job
from boostne.factorization.level_start import LevelStart
from boostne.graph import Graph
from boostne.io.atomic import describe_os_error
from boostne.io.edge_tables import is_parquet
from boostne.io.files import PARQUET_SUFFIXES
from boostne.io.graphs import read_graph
from boostne.io.reading_notes import ReadingNotes, notes_collected
from boostne.matrices import ConnectivityMatrix, MatrixForm, MatrixSource
from boostne.matrices.csr_builder import RowBlock
from boostne.memory import MemoryBudget

MakeJob = Callable[[Graph, int], Job]  # from a graph and a number of threads


@dataclass(frozen=True)
class GraphFile:
    """A Parquet file, or a folder of them, as the workers see it, and the options of ``read_graph``."""

    path: str
    options: dict[str, Any]


@dataclass(frozen=True)
class GraphFacts:
    """What the client knows of a graph that the workers read.

    Attributes
    ----------
    n_nodes, n_edges, n_isolated : int
    weighted : bool
    first_node : int or str
        The id of one of the nodes.
    fingerprint : str
        Of the graph in the order of the rows of X; see :meth:`boostne.Graph.fingerprint`.
    notes : list of ReadingNotes
        How the file was read.
    """

    n_nodes: int
    n_edges: int
    n_isolated: int
    weighted: bool
    first_node: Any
    fingerprint: str
    notes: list[ReadingNotes]


@dataclass(frozen=True)
class SharedGraph:
    """What is in the file of a machine: the rows of X, their nodes, and V from which levels start."""

    source: MatrixSource
    nodes: NDArray[Any]
    start: LevelStart


class WorkerJob:
    """The job of a graph that this worker has read."""

    def __init__(self, job: Job, facts: GraphFacts) -> None:
        self.job = job
        self.facts = facts

    def __reduce__(self) -> NoReturn:
        raise TypeError("a graph stays on the worker that read it")


class MappedSource(MatrixSource):
    """Rows of X from the file of the machine on which they are built.

    Parameters
    ----------
    files : sequence of ArrayFile
        One for each machine.
    """

    def __init__(self, files: Sequence[ArrayFile], shape: tuple[int, int], dtype: np.dtype[Any], nbytes: int) -> None:
        self._files = files
        self.shape = shape
        self.dtype = dtype
        self._nbytes = nbytes

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def rows(self, rows: range) -> list[RowBlock]:
        return self._source.rows(rows)

    def chunk_rows(self) -> int:
        return self._source.chunk_rows()

    def with_threads(self, threads: int) -> MatrixSource:
        return self._source.with_threads(threads)

    @property
    def _source(self) -> MatrixSource:
        shared: SharedGraph = open_arrays(self._files)
        return shared.source


@dataclass(frozen=True)
class MappedStart:
    """V from which a level starts; each worker draws its own rows, and the client none."""

    files: Sequence[ArrayFile]
    level: int

    def rows(self, rows: range) -> NDArray[Any]:
        """Return some rows of V."""
        shared: SharedGraph = open_arrays(self.files)
        return shared.start.rows(self.level, rows)


def check_path(path: str) -> str | None:
    """Return why this worker cannot read a path, or None if it can; raise ParameterError if it is not Parquet."""
    found = Path(path)
    try:
        if found.is_dir():
            next(found.iterdir(), None)
        else:
            found.open("rb").close()
    except OSError as error:
        return describe_os_error(error)
    check_format(found)
    return None


def check_format(path: Path) -> None:
    """Raise ParameterError unless a path is that of a Parquet file or of a folder."""
    if not is_parquet(path):
        raise ParameterError(
            f"workers read Parquet files ({', '.join(PARQUET_SUFFIXES)}) and folders of them, and {path} is neither; "
            "convert it, or read it here: fit_to_parts(boostne.read_graph(path), …)"
        )


def machine_without(files: Sequence[ArrayFile]) -> str | None:
    """Return the name of this machine, or None if it has one of the files."""
    return None if any(file.exists for file in files) else socket.gethostname()


def read_job(file: GraphFile, memory_limit: int | None, make_job: MakeJob, threads: int) -> WorkerJob:
    """Read the graph, check it, and put its nodes into the order of the rows of X."""
    from distributed import get_worker

    address = get_worker().address
    try:
        with notes_collected() as notes:
            graph = read_graph(file.path, **file.options, memory_limit=memory_limit)
    except MemoryLimitError as error:
        raise MemoryLimitError(f"{address}, which reads the graph: {error}") from None
    except OSError as error:
        raise ClusterError(f"{address} cannot read {file.path}: {error}") from error
    job = make_job(graph, threads)
    facts = GraphFacts(
        n_nodes=graph.n_nodes,
        n_edges=graph.n_edges,
        n_isolated=len(graph.isolated),
        weighted=graph.weighted,
        first_node=graph.nodes[:1].tolist()[0],
        fingerprint=job.reordered.graph.fingerprint(),
        notes=notes,
    )
    return WorkerJob(job, facts)


def facts_of(read: WorkerJob) -> tuple[GraphFacts, ConnectivityMatrix]:
    """Return the facts about a graph, and the matrix with the parameters that were chosen for it."""
    return read.facts, read.job.matrix


def choose_form(read: WorkerJob, memory: int | None) -> MatrixForm:
    """Return the form of X that fits into the memory of all workers together."""
    return form_within(memory, read.job.matrix, read.job.reordered.graph, read.job.work)


def form_within(memory: int | None, matrix: ConnectivityMatrix, graph: Graph, work: Workload) -> MatrixForm:
    """Return the form that was requested, or that fits into ``memory`` bytes; None means unlimited."""
    return matrix.requested_form or matrix.plan(graph, work, MemoryBudget(memory, 0, None))


def share_graph(read: WorkerJob, form: MatrixForm) -> OwnedFile:
    """Write what this machine's workers need to a file, in the folder of this worker."""
    from distributed import get_worker

    worker, job = get_worker(), read.job
    content = SharedGraph(job.source(form), job.reordered.graph.nodes, job.start(form))
    try:
        return OwnedFile(write_arrays(content, worker.local_directory))
    except (OSError, ClusterError) as error:
        raise ClusterError(f"{worker.address} cannot store the graph: {error}") from error


def file_of(owned: OwnedFile) -> tuple[ArrayFile, tuple[int, int], np.dtype[Any], int]:
    """Return a file, and the shape, dtype and bytes of the source in it."""
    source = open_arrays([owned.file]).source
    return owned.file, source.shape, source.dtype, source.nbytes


def node_ids(files: Sequence[ArrayFile], rows: range) -> NDArray[Any]:
    """Return the ids of the nodes of some rows."""
    shared: SharedGraph = open_arrays(files)
    return np.array(shared.nodes[rows.start : rows.stop])
