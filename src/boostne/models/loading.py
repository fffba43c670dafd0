"""From a graph to an engine that holds its X: built here, on the workers of a cluster, or on a GPU."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import EngineError, MemoryLimitError
from boostne.factorization import Engine, make_engine
from boostne.factorization.checkpoint import Checkpoint
from boostne.factorization.dask.factor_store import Keeping
from boostne.factorization.ordering import Ordered
from boostne.graph import Graph
from boostne.models.resuming import Matrix, kept_choice, kept_matrix
from boostne.models.targets import DEEPWALK
from boostne.models.walk_matrix import Choice, WalkOptions
from boostne.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from boostne.models.boostne import BoostNE

AUTO, CUDA = "auto", "cuda"

logger = logging.getLogger("boostne")


@dataclass(frozen=True)
class DeviceMatrix:
    """DeepWalk's X, to be built on a device; ``form`` is "exact" or "spectral"."""

    graph: Graph
    options: WalkOptions
    form: str
    dtype: Any
    seed: int

    def rows(self, device: str) -> Any:
        """Return the recipe for its rows."""
        from boostne.matrices.deepwalk.device import ExactRows, SpectralRows

        options = self.options
        common = {
            "window": options.window,
            "negative": options.negative,
            "dtype": self.dtype,
            "device": device,
        }
        if self.form == "exact":
            return ExactRows(self.graph, **common)
        return SpectralRows(self.graph, eigenpairs=options.eigenpairs, seed=self.seed, **common)


class Loading:
    """X of one fit: which form it takes, where it is built, and the engine that gets it.

    Parameters
    ----------
    model : BoostNE
        With checked parameters.
    ordered : Ordered
        The graph, in the order in which it is worked on.
    report : callable
        Told how far it is.
    seed : int
    checkpoint : Checkpoint, optional
        Keeps the choice and, if asked to, the matrix.

    Attributes
    ----------
    choice : Choice
        The form of X, once it is loaded.
    dropped : ndarray or None
        Share of each node's walks that a pruned X lost; None for another, or where it stayed elsewhere.
    engine_name : str
    ordered : Ordered
        What was given: the order of the rows of X.
    """

    def __init__(
        self,
        model: "BoostNE",
        ordered: Ordered,
        report: ProgressCallback,
        seed: int,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._model = model
        self._graph = ordered.graph
        self.ordered = ordered
        self._report = report
        self.seed = seed
        self._checkpoint = checkpoint
        self.choice = Choice("exact")
        self.dropped: NDArray[np.float64] | None = None

    def matrix(self) -> sparse.csr_array:
        """Build X here."""
        model = self._model
        build: Callable[[], Matrix] = self._other_matrix
        if model._is(DEEPWALK):
            walks = model._walk_matrix(self._graph)
            self.choice = kept_choice(self._checkpoint, lambda: walks.choose(model._room()))
            build = partial(walks.build, self.choice, self.seed, self._report)
        X, dropped = kept_matrix(self._checkpoint, model.keep_matrix, self._graph.n_nodes, build)
        self.dropped = None if dropped is None else dropped[self.ordered.back]
        return X

    @contextmanager
    def engine(self, keeping: Keeping) -> Iterator[Engine]:
        """Give the engine that was asked for, with X; it is closed afterwards.

        ``keeping`` has U and V of finished levels, for an engine that lost what it held.
        """
        model = self._model
        gpu = self._on_gpu() if model.engine in (CUDA, AUTO) else None
        if gpu is not None:
            self.engine_name = CUDA
            yield gpu
            return
        self.engine_name = "local" if model.engine == AUTO else model.engine
        with make_engine(
            self.engine_name,
            threads=model.threads,
            client=model.client,
            components=model._settings().components,
            keeping=keeping,
        ) as engine:
            self._load(engine)
            yield engine

    def _load(self, engine: Engine) -> None:
        if self._model.engine == "dask" and self._model._is(DEEPWALK):
            walks = self._model._walk_matrix(self._graph)
            # What was asked for is checked by the engine, worker by worker.
            self.choice = kept_choice(self._checkpoint, lambda: walks.asked or walks.choose(engine.room()))
            self._report(Progress("connectivity", 0.0, "on the workers"))
            engine.load_rows(walks.rows(self.choice, self.seed))
        else:
            engine.load(self.matrix())

    def _on_gpu(self) -> Engine | None:
        """Return the GPU's engine with X; "auto" may get none."""
        choice = self._choice_on_gpu()
        on_device = None
        if choice is not None:
            model = self._model
            on_device = DeviceMatrix(self._graph, model._walk_options(), choice.form, model.dtype, self.seed)
        engine = load_gpu(self._model.engine, self.matrix, on_device, self._report)
        if engine is not None and choice is not None:
            self.choice = kept_choice(self._checkpoint, lambda: choice)
        return engine

    def _choice_on_gpu(self) -> Choice | None:
        """Return the form of X if it is one that is built on the GPU."""
        if not self._model._is(DEEPWALK) or self._model.keep_matrix:
            return None
        kept = self._checkpoint.notes() if self._checkpoint is not None else None
        form = kept["form"] if kept is not None else self._model.approximation
        return None if form == "push" else Choice("spectral" if form == "spectral" else "exact")

    def _other_matrix(self) -> Matrix:
        model, name = self._model, self._model.connectivity
        self._report(Progress("connectivity", 0.0, name if isinstance(name, str) else ""))
        X, work = model._target(self._graph), model._workload(self._graph)
        model._room().check(
            work.peak_bytes(X.nnz) - X.nnz * work.entry_bytes,
            f"embedding {self._graph.n_nodes:,} nodes through X with {X.nnz:,} entries",
            "Lower dimensions, or choose a sparser connectivity such as 'adjacency'.",
        )
        return X, None


def load_gpu(
    name: str,
    matrix: Callable[[], sparse.csr_array],
    on_device: DeviceMatrix | None,
    report: ProgressCallback,
) -> Engine | None:
    """Return the GPU's engine with X; None for "auto" where there is no GPU that X fits.

    Parameters
    ----------
    name : {"cuda", "auto"}
        What was asked for.
    matrix : callable
        Builds X on the host.
    on_device : DeviceMatrix, optional
        Builds it on a device; where there is none, what ``matrix`` built is copied.
    report : callable
        Told how far it is.
    """
    try:
        return _on_gpu(matrix, on_device, report)
    except (EngineError, MemoryLimitError) as error:
        if name != AUTO:
            raise
        logger.info("engine='auto' uses the local engine: %s", error)
        return None


def _on_gpu(
    matrix: Callable[[], sparse.csr_array], on_device: DeviceMatrix | None, report: ProgressCallback
) -> Engine:
    if find_spec("torch") is None:  # asked first: importing it takes seconds
        raise EngineError(
            "engine='cuda' needs PyTorch, which is not installed: pip install \"boostne[gpu]\", "
            "or use engine='local'"
        )
    from boostne.factorization.cuda.engine import CudaEngine, gpu_device

    engine = CudaEngine(gpu_device())
    logger.info("the residual lives on the GPU: %s", engine.describe())
    if on_device is None:
        engine.load(matrix())
    else:
        report(Progress("connectivity", 0.0, "on the GPU"))
        engine.build(
            on_device.rows(engine.device),
            lambda done, n: report(Progress("connectivity", done / n, f"{done:,} of {n:,} rows")),
        )
    return engine
