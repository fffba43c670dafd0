"""One factorization job: the matrix of a graph, planned for an engine and loaded into it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.budget import Workload
from boostne.errors import EngineError, MemoryLimitError
from boostne.factorization.boosting import are_enough
from boostne.factorization.checkpoint import CheckpointFolder
from boostne.factorization.engine import Engine, Recall
from boostne.factorization.level_start import LevelStart
from boostne.factorization.ordering import ReorderedGraph
from boostne.matrices import ConnectivityMatrix, CSRSource, MatrixForm, MatrixSource
from boostne.memory import MemoryBudget
from boostne.progress import Progress, ProgressCallback, silent

# Each module has open_engine(engine, components, recall, threads), and is imported when its engine is used.
ENGINES = {
    "local": "boostne.factorization.local",
    "cuda": "boostne.factorization.cuda",
    "dask": "boostne.factorization.dask",
}

logger = logging.getLogger("boostne")


@dataclass(frozen=True)
class Job:
    """What an engine is to factorize.

    Attributes
    ----------
    reordered : ReorderedGraph
        The graph, in the order of the rows of X.
    matrix : ConnectivityMatrix
        With checked parameters.
    work : Workload
    seed : int
    memory_limit : int or str, optional
        Limit on the memory of this process.
    checkpoint : CheckpointFolder, optional
        Stores the form of X and, if requested, X itself.
    progress : callable, optional
    """

    reordered: ReorderedGraph
    matrix: ConnectivityMatrix
    work: Workload
    seed: int
    memory_limit: Any = None
    checkpoint: CheckpointFolder | None = None
    progress: ProgressCallback = silent

    def load(self, engine: Engine) -> MatrixForm:
        """Choose the form of X, load it into an engine, and return it."""
        form = self._stored_form() or self._plan(engine)
        engine.load(self._stored_matrix(form) or self.source(form), self.progress)
        self.matrix.check_norm(engine.nnz, engine.norm2, self.reordered.graph, self.work.dtype)
        if self.checkpoint is not None:
            self.checkpoint.save_form(form)
        return form

    def start(self, form: MatrixForm) -> LevelStart:
        """Return how levels start: from communities if X is pruned and there are enough of them, else randomly."""
        communities, width = self.reordered.column_communities, self.work.components
        if form.name != "push" or communities is None or not are_enough(communities, width):
            communities = None
        order = self.reordered.columns.order
        return LevelStart(self.seed, self.work.shape[1], width, self.work.dtype, order, communities)

    def build(self) -> tuple[MatrixForm, sparse.csr_array, NDArray[np.float64] | None]:
        """Build X in host memory; returns its form, X, and the walk mass that each row dropped, if any."""
        form = self._host_form()
        return form, *self.source(form).build(self.progress)

    def _stored_form(self) -> MatrixForm | None:
        return None if self.checkpoint is None else self.checkpoint.form()

    def _stored_matrix(self, form: MatrixForm) -> MatrixSource | None:
        return None if self.checkpoint is None else self.checkpoint.matrix(form, self.work.shape, self.work.dtype)

    def _plan(self, engine: Engine) -> MatrixForm:
        if self.checkpoint is not None and self.checkpoint.keep_matrix:
            return self._host_form()  # X passes through host memory to be stored
        return engine.plan(self.matrix, self.reordered.graph, self.work, self.memory_limit)

    def _host_form(self) -> MatrixForm:
        return self.matrix.plan(self.reordered.graph, self.work, MemoryBudget.within(self.memory_limit))

    def source(self, form: MatrixForm) -> MatrixSource:
        """Return the rows of X."""
        self.progress(Progress("connectivity", 0.0))
        source = self.matrix.source(
            self.reordered.graph, form, dtype=self.work.dtype, seed=self.seed, threads=self.work.threads
        )
        if isinstance(source, CSRSource):
            self._check_levels_memory(source.nnz)
        if self.checkpoint is None or not self.checkpoint.keep_matrix:
            return source
        X, dropped = source.build(self.progress)
        self.checkpoint.save_form(form)
        self.checkpoint.save_matrix(X, dropped)
        return CSRSource(X, dropped)

    def _check_levels_memory(self, nnz: int) -> None:
        """Check the memory beyond that of X, which exists already."""
        MemoryBudget.within(self.memory_limit).check(
            self.work.peak_bytes(nnz) - nnz * self.work.entry_bytes,
            f"embedding {self.work.n_nodes:,} nodes through X with {nnz:,} entries",
            "Lower dimensions, or choose a sparser connectivity such as 'adjacency'.",
        )


@contextmanager
def loaded_engine(engine: Any, job: Job, recall: Recall, threads: int | None) -> Iterator[tuple[Engine, MatrixForm]]:
    """Open an engine and load a job into it; yields it with the form of X, and closes it at the end.

    Parameters
    ----------
    engine : {"local", "cuda", "auto", "dask"}, distributed.Client or str
        As for :class:`boostne.BoostNE`.
    job : Job
    recall : callable
        ``recall(i)`` returns U and V of finished level i, counted from 0, for an engine that lost blocks of R.
    threads : int, optional
        Threads of this machine or of each worker; by default all.
    """
    if engine == "auto":
        try:
            on_device = _open("cuda", job.work.components, recall, threads)
            form = job.load(on_device)
        except (EngineError, MemoryLimitError) as error:
            logger.info("engine='auto' uses the local engine: %s", error)
            engine = "local"
        else:
            yield on_device, form
            return
    with _open(engine, job.work.components, recall, threads) as opened:
        yield opened, job.load(opened)


def _open(engine: Any, components: int, recall: Recall, threads: int | None) -> Engine:
    # Anything but a name is a cluster: a client, or the address of a scheduler.
    name = engine if isinstance(engine, str) and engine in ENGINES else "dask"
    opened: Engine = import_module(ENGINES[name]).open_engine(engine, components, recall, threads)
    return opened
