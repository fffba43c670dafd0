"""BoostNE: a multi-level embedding by boosted non-negative matrix factorization."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import ParameterError
from boostne.factorization import Engine
from boostne.factorization.boosting import Level, Settings, boost, random_start
from boostne.factorization.boosting import Progress as LevelProgress
from boostne.factorization.dask.factor_store import InFiles, OnClient
from boostne.factorization.estimate import Estimate, Sample, Workload, estimate, share_done
from boostne.factorization.ordering import ORDERED_FROM, Ordered, Positions, by_community
from boostne.graph import Graph
from boostne.io.parts import parts_folder
from boostne.kernels import Kernels, available_threads, get_kernels
from boostne.memory import MemoryBudget
from boostne.models.base import Capabilities, NodeEmbedder
from boostne.models.loading import AUTO, Loading
from boostne.models.resuming import open_checkpoint
from boostne.models.targets import DEEPWALK, NODE2VEC, Connectivity, Options, build_target, check_name
from boostne.models.walk_matrix import Form, WalkMatrix, WalkOptions
from boostne.progress import Progress, ProgressCallback, silent
from boostne.validation import check_choice, check_dtype, check_integer, check_number, seed_from

if TYPE_CHECKING:
    from boostne.factorization.dask.engine import DaskEngine

INNER_SWEEPS = 4  # fewer need more passes over the residual, more gain nothing


class BoostNE(NodeEmbedder):
    """Multi-level network embedding with boosted low-rank matrix approximation.

    With X a connectivity matrix, by default DeepWalk's, and ``R_1 = X``, level i solves

    ``U_i, V_i = argmin_{U, V >= 0} ||R_i - U V||_F^2``  and leaves  ``R_{i+1} = max(R_i - U_i V_i, 0)``.

    The embedding is ``[U_1 … U_k]``, from coarse to fine.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector; a multiple of ``levels``.
    levels : int, default=8
        k. With one level this is NetMF with a non-negative factorization.
    connectivity : str, matrix or callable, default="deepwalk"
        X: "deepwalk", "node2vec" (small graphs), "line", "grarep", "adjacency", "normalized" (adjacency),
        "common-neighbors", "adamic-adar", "katz" or "pagerank"; in Python also a matrix, (n, n), or a
        function that makes one from a graph. No entry may be negative.
    window : int, default=10
        T, the longest random walk that counts; for "grarep" the number of its steps. Other matrices have none.
    negative : float, default=1.0
        b, the number of negative samples; larger values keep fewer entries of X. Counts for "deepwalk",
        "node2vec" and "line"; for "grarep" the shift is b/n.
    p, q : float, default=1.0
        Return and in-out parameter of "node2vec": a large p keeps its walks from going back, a large q from
        going far. Other matrices have none.
    approximation : {"auto", "exact", "spectral", "push"}, default="auto"
        Form of DeepWalk's X. "exact" builds it as it stands, "spectral" from the leading eigenpairs, as the paper
        did, "push" keeps the strongest entries of each row, for large graphs. "auto" is "exact" where that fits
        into memory, and "push" where it does not; on a GPU it is "exact".
    eigenpairs : int, default=256
        h, for the spectral form; above the number of connected components.
    epsilon : float, optional
        ε, for the pruned form: walks of less mass than ε times the degree of a node end there. 0 follows all of
        them. By default 0 up to 20,000 nodes, and beyond chosen from the entries of a row and the mean degree.
    max_per_row : int, optional
        For the pruned form: entries of a row of X at most. By default 200, more for graphs of less than 100,000
        nodes, and fewer where memory is short.
    memory_limit : int or str, optional
        Most memory that the whole process may take, such as "2GB"; it is kept by the choice of X, or else refused
        before the work begins. By default 80 % of what is free.
    checkpoint : str or Path, optional
        Folder in which every finished level is kept. A run that was killed, started again with the same graph and
        parameters, goes on from there, and ends with the same bits; anything else is refused.
    keep_matrix : bool, default=False
        With ``checkpoint``: keep X there too. Needs its space on disk, and saves building it again.
    tol : float, default=2e-4
        A level ends when a pass over the residual lowers its objective by less than this share of
        ``||R_i||^2``; where a level explains less than 0.4 % of that, as on graphs of more than 100,000 nodes, in
        proportion.
    max_iter : int, default=100
        Passes a level at most.
    dtype : {"float32", "float64"}, default="float32"
        Precision of X and of the vectors.
    engine : {"local", "cuda", "dask", "auto"}, default="local"
        Where the residual lives: in this machine's memory, on its GPU (needs the extra ``gpu``), or on the workers of
        a Dask cluster. "auto" takes the GPU where there is one and X fits it, else the local engine; see
        ``engine_``.
    client : distributed.Client or str, optional
        For "dask": a client or the address of a scheduler; by default the client that was made last.
    threads : int, optional
        Threads to use, on Dask of each worker; by default all there are. The result is the same, bit for bit,
        for any number.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the levels' starts.

    Attributes
    ----------
    engine_ : str
        The engine that did the work: "local", "cuda" or "dask".
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes; row i belongs to ``embedding_.nodes[i]``.
    context_ : ndarray of shape (n, d)
        ``[V_1^T … V_k^T]``: the vectors of nodes as context, where ``embedding_`` has them as center.
    levels_ : list of ndarray
        ``U_1 … U_k``, each (n, d / k): views into the embedding.
    residual_norms_ : ndarray of shape (k + 1,)
        ``||R_1|| … ||R_{k+1}||``.
    n_iter_ : ndarray of shape (k,)
        Passes that each level took.
    objective_ : list of ndarray
        ``||R_i - U V||^2 / ||R_i||^2`` after each pass, for each level.
    nnz_ : ndarray of shape (k + 1,)
        Entries of ``R_1 … R_{k+1}``.
    approximation_ : str
        The form that X took: "exact", "spectral" or "push".
    epsilon_, max_per_row_ : float and int, or None
        For "push": what was given or chosen.
    dropped_mass_ : ndarray of shape (n,), or None
        For "push": the share of each node's walks that was pruned away, from 0 to 1.

    Notes
    -----
    **Differences from the paper.** The paper leaves the solver open ("coordinate descent, projected
    gradient"); here it is HALS with extrapolation, started at random. Columns of U and V are scaled to equal
    norms, which the paper does not mention and a regularized classifier feels. X averages the powers 1 to T of
    S, as NetMF does, where the paper's sum has lost its upper limit. In the spectral form each
    connected component is solved by itself.

    References
    ----------
    J. Li, L. Wu, H. Liu: "Multi-Level Network Embedding with Boosted Low-Rank Matrix Approximation",
    ASONAM 2019.

    Examples
    --------
    >>> from boostne import BoostNE
    >>> model = BoostNE(dimensions=4, levels=2, window=2)
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 4)
    >>> model.embedding_.nodes.tolist()
    ['a', 'b', 'c', 'd']
    """

    capabilities = Capabilities(
        weights=True,
        direction=False,
        engines=("local", "cuda", "dask"),
        cost="X: T·m·n, levels: passes·nnz(X)·d/k",
        paper="Li, Wu, Liu 2019",
    )

    def __init__(
        self,
        dimensions: int = 128,
        *,
        levels: int = 8,
        connectivity: Connectivity = DEEPWALK,
        window: int = 10,
        negative: float = 1.0,
        p: float = 1.0,
        q: float = 1.0,
        approximation: Form = "auto",
        eigenpairs: int = 256,
        epsilon: float | None = None,
        max_per_row: int | None = None,
        memory_limit: int | str | None = None,
        checkpoint: str | Path | None = None,
        keep_matrix: bool = False,
        tol: float = 2e-4,
        max_iter: int = 100,
        dtype: Any = "float32",
        engine: Literal["local", "cuda", "dask", "auto"] = "local",
        client: Any = None,
        threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.dimensions = dimensions
        self.levels = levels
        self.connectivity = connectivity
        self.window = window
        self.negative = negative
        self.p = p
        self.q = q
        self.approximation = approximation
        self.eigenpairs = eigenpairs
        self.epsilon = epsilon
        self.max_per_row = max_per_row
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.keep_matrix = keep_matrix
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.engine = engine
        self.client = client
        self.threads = threads
        self.random_state = random_state

    def connectivity_matrix(self, X: Any, *, progress: ProgressCallback = silent) -> sparse.csr_array:
        """Return the connectivity matrix of a graph, as :meth:`fit` would factorize it."""
        graph = self._check_graph(X)
        self._check_parameters(graph)
        return self._connectivity(graph, progress, seed_from(self.random_state))

    def estimate(self, X: Any) -> Estimate:
        """Return the time and memory that :meth:`fit` will take, from a small part of the work.

        Chooses the form of DeepWalk's X as :meth:`fit` would, builds some of its rows and runs a pass over them. For
        the spectral form the entries of the exact one are scaled up by the largest growth seen, and the time of the
        eigensolver is left out. Any other matrix is built whole.
        """
        graph = self._check_graph(X)
        self._check_parameters(graph)
        if self._is(DEEPWALK):
            ordered = self._in_order(graph)
            matrix = self._walk_matrix(ordered.graph)
            # What was asked for is estimated even where it does not fit: that is what people want to know.
            found = matrix.estimate(matrix.asked or matrix.choose(self._room()))
            return replace(found, peak_bytes=found.peak_bytes + ordered.nbytes)
        begin = time.perf_counter()
        target = self._target(graph)
        sample = Sample(target, time.perf_counter() - begin)
        return estimate(sample, self._workload(graph), self._kernels(), form="exact")

    def fit_to_parts(self, X: Any, folder: str | Path, *, progress: ProgressCallback = silent) -> list[Path]:
        """Embed on a cluster whose workers write the vectors: for embeddings that do not fit this machine.

        Each worker writes the vectors of its rows as a Parquet file, ``part-00000.parquet`` and so on;
        :func:`boostne.read_embedding` reads the folder, as do pandas, Dask and Spark. What the model learned beside
        the vectors is in its attributes; it has no ``embedding_``, ``levels_`` and ``context_``.

        Parameters
        ----------
        X : Graph, matrix, networkx graph, edge table or list of pairs
            As for :meth:`fit`.
        folder : str or Path
            New or empty, and seen by all workers under this name, for instance on a network drive. Until the end
            it also holds the factors of the finished levels, about twice the size of the vectors.
        progress : callable, optional
            As for :meth:`fit`.

        Returns
        -------
        list of Path
            The files. The rows are those of the graph's nodes, in an order of their own from 50,000 nodes on; each
            has the id of its node.
        """
        if self.engine != "dask" or self.checkpoint is not None:
            raise ParameterError(
                "parts are written by the workers of engine='dask', without a checkpoint; got "
                f"engine={self.engine!r}, checkpoint={self.checkpoint!r}"
            )
        graph = self._check_graph(X)
        self._check_parameters(graph)
        with parts_folder(folder) as (parts, levels):
            seed = seed_from(self.random_state)
            ordered = self._in_order(graph, progress)
            loading = Loading(self, ordered, progress, seed)
            with loading.engine(InFiles(levels)) as engine:
                self._prepare(loading, engine)
                for level in self._boosted(engine, loading, progress):
                    self._learn(level)
                progress(Progress("writing", 0.0, "on the workers"))
                return cast("DaskEngine", engine).write_parts(parts, ordered.graph.nodes, self.levels)

    def _fit(self, graph: Graph, report: ProgressCallback) -> tuple[NDArray[Any], NDArray[np.int64]]:
        self._check_parameters(graph)
        seed = seed_from(self.random_state)
        checkpoint = open_checkpoint(self, graph, seed)
        loading = Loading(self, self._in_order(graph, report), report, seed, checkpoint)
        with loading.engine(OnClient(partial(self._recall, loading.ordered.rows))) as engine:
            vectors = np.empty((graph.n_nodes, self.dimensions), self.dtype)
            self.context_ = np.empty_like(vectors)
            self.levels_: list[NDArray[Any]] = []
            self._prepare(loading, engine)
            finished = checkpoint.levels(self.levels) if checkpoint is not None else []
            for i, level in enumerate(self._boosted(engine, loading, report, finished)):
                if checkpoint is not None and i >= len(finished):
                    checkpoint.save_level(i + 1, level)
                self._store(level, loading.ordered.back, vectors)
                self._learn(level)
        return vectors, np.full(self.levels, self._settings().components)

    def _boosted(
        self, engine: Engine, loading: Loading, report: ProgressCallback, finished: Sequence[Level] = ()
    ) -> Iterator[Level]:
        settings = self._settings()
        drawn = random_start(loading.seed, engine, settings.components)
        report(Progress("levels", 0.0))
        # The graph's own nodes get them: so the order in which they are worked on does not change the result.
        start = lambda level: drawn(level)[loading.ordered.rows]  # noqa: E731
        return boost(
            engine, settings, self.levels, start, self._level_report(engine.shape[0], report), finished
        )

    def _recall(self, rows: Positions, level: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return U and V of a level that is stored, in the order in which they are worked on."""
        width = self.levels_[level].shape[1]
        return self.levels_[level][rows], self.context_[rows, level * width : (level + 1) * width]

    def _prepare(self, loading: Loading, engine: Engine) -> None:
        self._note(loading)
        self.engine_ = loading.engine_name
        self.objective_: list[NDArray[np.float64]] = []
        self.n_iter_ = np.zeros(0, np.int64)
        self.residual_norms_ = np.array([np.sqrt(engine.norm2)])
        self.nnz_ = np.array([engine.nnz])

    def _store(self, level: Level, back: Positions, vectors: NDArray[Any]) -> None:
        width = level.U.shape[1]
        first = len(self.levels_) * width
        columns = slice(first, first + width)
        vectors[:, columns], self.context_[:, columns] = level.U[back], level.V[back]
        self.levels_.append(vectors[:, columns])

    def _learn(self, level: Level) -> None:
        self.objective_.append(level.objective)
        self.n_iter_ = np.append(self.n_iter_, level.n_iter)
        self.residual_norms_ = np.append(self.residual_norms_, level.residual_norm)
        self.nnz_ = np.append(self.nnz_, level.nnz)

    def _level_report(self, n_nodes: int, report: ProgressCallback) -> LevelProgress:
        done = 0.0

        def tell(level: int, n_iter: int, objective: float) -> None:
            nonlocal done
            # What is expected changes, and a bar that goes back is worse than one that waits.
            done = max(done, share_done(n_nodes, self.levels, self.n_iter_, self.nnz_, n_iter))
            residual = self.residual_norms_[-1] * np.sqrt(objective) / self.residual_norms_[0]
            detail = f"level {level + 1}/{self.levels}, pass {n_iter}, residual {residual:.3f}"
            report(Progress("levels", done, detail))

        return tell

    def _check_parameters(self, graph: Graph) -> None:
        for name in ("dimensions", "levels", "max_iter"):
            check_integer(name, getattr(self, name), 1)
        for name in ("p", "q"):
            check_number(name, getattr(self, name), 0, strict=True)
        check_number("tol", self.tol, 0)
        check_dtype("dtype", self.dtype)
        if self.threads is not None:
            check_integer("threads", self.threads, 1)
        self._walk_options().check()
        self._room()
        if isinstance(self.connectivity, str):
            check_name(self.connectivity)
        if (self.p != 1 or self.q != 1) and not self._is(NODE2VEC):
            raise ParameterError(
                f"p={self.p} and q={self.q} belong to connectivity='node2vec'; got connectivity={self._name()!r}"
            )
        if self.approximation not in ("auto", "exact") and not self._is(DEEPWALK):
            raise ParameterError(
                f"approximation={self.approximation!r} is a form of connectivity='deepwalk'; "
                f"got connectivity={self._name()!r}"
            )
        self._check_place()
        self._check_widths(graph)

    def _check_place(self) -> None:
        check_choice("engine", self.engine, (*self.capabilities.engines, AUTO))
        if self.client is not None and self.engine != "dask":
            raise ParameterError(f"client is for engine='dask'; got engine={self.engine!r}")
        if self.engine == "dask" and (self.memory_limit is not None or self.keep_matrix):
            raise ParameterError(
                "memory_limit and keep_matrix are for X on this machine; with engine='dask' it is on the workers, "
                "whose own memory limits count"
            )

    def _check_widths(self, graph: Graph) -> None:
        if self.dimensions % self.levels:
            raise ParameterError(
                "dimensions must be a multiple of levels, so that all levels are equally wide; got "
                f"dimensions={self.dimensions} and levels={self.levels}"
            )
        width = self.dimensions // self.levels
        if graph.n_nodes < width:
            raise ParameterError(
                f"a level is {width} wide (dimensions={self.dimensions} over levels={self.levels}) but the "
                f"graph has only {graph.n_nodes} nodes; lower dimensions or raise levels"
            )

    def _settings(self) -> Settings:
        return Settings(self.dimensions // self.levels, self.tol, self.max_iter, INNER_SWEEPS)

    def _threads(self) -> int:
        return self.threads or available_threads()

    def _kernels(self) -> Kernels:
        return get_kernels(threads=self._threads())

    def _name(self) -> str:
        return self.connectivity if isinstance(self.connectivity, str) else "…"

    def _is(self, name: str) -> bool:
        return isinstance(self.connectivity, str) and self.connectivity == name

    def _target(self, graph: Graph) -> sparse.csr_array:
        options = Options(self.window, self.negative, self._threads(), self.dtype, self.p, self.q)
        return build_target(self.connectivity, graph, options)

    def _connectivity(self, graph: Graph, report: ProgressCallback, seed: int) -> sparse.csr_array:
        loading = Loading(self, Ordered(graph), report, seed)
        X = loading.matrix()
        self._note(loading)
        return X

    def _note(self, loading: Loading) -> None:
        choice = loading.choice
        self.approximation_, self.dropped_mass_ = choice.form, loading.dropped
        self.epsilon_, self.max_per_row_ = choice.epsilon, choice.max_per_row

    def _in_order(self, graph: Graph, report: ProgressCallback = silent) -> Ordered:
        """Return the graph as it is worked on; a matrix or a function knows the nodes in their own order only."""
        if graph.n_nodes < ORDERED_FROM or not isinstance(self.connectivity, str):
            return Ordered(graph)
        report(Progress("connectivity", 0.0, "sorting nodes by community"))
        return by_community(graph, self._kernels())

    def _room(self) -> MemoryBudget:
        return MemoryBudget.within(self.memory_limit)

    def _walk_options(self) -> WalkOptions:
        return WalkOptions(
            self.window,
            self.negative,
            self.approximation,
            self.eigenpairs,
            self.epsilon,
            self.max_per_row,
        )

    def _walk_matrix(self, graph: Graph) -> WalkMatrix:
        return WalkMatrix(graph, self._walk_options(), self._workload(graph), self._kernels())

    def _workload(self, graph: Graph) -> Workload:
        return Workload(graph.n_nodes, self.levels, self._settings(), np.dtype(self.dtype), self._threads())
