"""BoostNE: a multi-level embedding by boosted non-negative matrix factorization."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.factorization.checkpoint import Checkpoint
from boostne.factorization.job import ENGINES
from boostne.graph import Graph
from boostne.matrices import ConnectivityMatrix, DeepWalkMatrix
from boostne.models import bipartite
from boostne.models.base import Capabilities
from boostne.models.fitted_graph import FittedGraph
from boostne.models.folding import PROPAGATION_STEPS
from boostne.models.inductive import InductiveEmbedder
from boostne.models.parts_base import PartsEmbedder
from boostne.models.recommendation import fit_score_map
from boostne.progress import Progress, ProgressCallback
from boostne.propagation import check_weight, propagate_directed, propagate_in_place
from boostne.validation import check_number
from boostne.vector_lengths import rescale_in_place, scale_in_place

# What "auto" stands for: the length of the vectors, and the weight of the neighbors by the form of X.
VECTOR_LENGTH = 2.5
NEIGHBOR_WEIGHTS = {"exact": 0.6, "spectral": 0.6, "push": 0.9}
DIRECTED_NEIGHBOR_WEIGHT = 0.8
# From section V.A of the paper; the number of eigenpairs is from NetMF's code.
PAPER_MATRIX = DeepWalkMatrix(window=10, negative=1.0, approximation="spectral", eigenpairs=256)


class BoostNE(InductiveEmbedder, PartsEmbedder):
    """Multi-level network embedding with boosted low-rank matrix approximation.

    ``BoostNE(64, levels=4).fit(graph).embedding_`` has a vector of 64 numbers for each node: four levels of 16, from
    coarse to fine. The graph is a :class:`~boostne.Graph`, a networkx graph, a matrix, a table or a list of edges, or
    ``boostne.read_graph(path)``. Usually only ``dimensions``, ``levels`` and ``random_state`` are worth setting;
    :func:`~boostne.tune` searches for the others, :meth:`transform` embeds new nodes, :meth:`update` follows a changed
    graph, and :meth:`save` stores the model.

    With X a connectivity matrix, by default DeepWalk's, and ``R_1 = X``, level i solves

    ``U_i, V_i = argmin_{U, V >= 0} ||R_i - U V||_F^2``  and leaves  ``R_{i+1} = max(R_i - U_i V_i, 0)``.

    The embedding is ``[U_1 … U_k]``, from coarse to fine. By default the window and the form of X are chosen for the
    graph, the vector of each node is averaged with those of its neighbors, and vectors are rescaled: the recommended
    setting, which ``settings_`` reports. :meth:`paper` gives the setting of the paper.

    In a directed graph, U has the vectors of nodes as sources of edges and V those of nodes as targets: ``embedding_``
    and ``targets_``, whose products are scores of edges.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector; a multiple of ``levels``.
    levels : int, default=8
        k. With one level this is NetMF with a non-negative factorization.
    connectivity : str, ConnectivityMatrix, matrix or callable, default="deepwalk"
        X: a name, which stands for the matrix with its default parameters ("deepwalk", "node2vec", "line", "grarep",
        "adjacency", "normalized", "common-neighbors", "adamic-adar", "katz" or "pagerank"); an object with parameters
        such as :class:`~boostne.matrices.DeepWalkMatrix`; a non-negative matrix of shape (n, n); or a function
        from a graph to such a matrix.
    window : int, optional
        T, the longest random walk, for a connectivity given by name. By default that of the matrix, which for
        "deepwalk" is chosen for the graph.
    propagation : float or "auto", default="auto"
        Weight w of the neighbors, from 0 to 1, when the vector of each node is averaged with those of its neighbors at
        the end; see :func:`boostne.propagate`. With the form "push" of X, which lacks entries for distant nodes, this
        is done four times. 0 leaves the vectors as they are; "auto" is 0.9 for "push" and 0.6 for other forms. In a
        directed graph, source vectors are averaged with the target vectors of the nodes that their edges lead to, and
        target vectors with the source vectors of those that they come from, six times; "auto" is 0.8.
    vector_length : float or "auto", default="auto"
        Mean length of the vectors, to which a regularized classifier is sensitive. Each vector is first divided by the
        square root of its length, so that long and short vectors differ less. 0 leaves the lengths as they are; "auto"
        is 2.5. In a directed graph, all vectors are only multiplied by a constant, so that the order of scores remains.
    memory_limit : int or str, optional
        Limit on the memory of the whole process, such as "2GB". The form of X is chosen to stay within it; if none
        does, an error is raised before the work starts. By default 80 % of the available memory.
    checkpoint : str, Path or Checkpoint, optional
        Folder for finished levels. A run that was killed and is started again with the same graph and
        parameters resumes from there and ends with the same bits. See :class:`~boostne.Checkpoint`.
    tol : float, default=2e-4
        A level ends when a pass over the residual, from the fourth on, lowers its objective by less than this share of
        ``||R_i||^2``; proportionally less if a level explains less than 0.4 % of that, as on graphs with more than
        100,000 nodes.
    max_iter : int, default=100
        Largest number of passes per level.
    dtype : {"float32", "float64"}, default="float32"
        Precision of X and of the vectors.
    engine : {"local", "cuda", "auto", "dask"}, distributed.Client or str, default="local"
        Where the residual is stored: in the memory of this machine, on its GPU (needs the extra ``gpu``), or on the
        workers of a Dask cluster, given as a client, as the address of its scheduler, or as "dask" for the current
        default client. "auto" uses the GPU if there is one and X fits, else the local engine; see ``engine_``.
    threads : int, optional
        Number of threads, on Dask of each worker; by default all. The result has the same bits for any number.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the initial factors.

    Attributes
    ----------
    engine_ : str
        The engine that ran: "local", "cuda" or "dask".
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes; row i belongs to ``embedding_.nodes[i]``. For a bipartite
        graph, those of the first side.
    targets_ : Embedding or None
        ``embedding_.targets``: for a directed graph the vectors of nodes as targets, for a bipartite graph those of the
        second side; else None. The product of a vector with that of a target is the score of an edge; see
        :meth:`recommend`.
    known_ : csr_array of bool
        Only for a bipartite graph: where its edges are, the first side in rows and the second in columns.
    score_map_ : ndarray of shape (d, d)
        Only for a bipartite graph: the matrix M with which :meth:`recommend` scores pairs of nodes.
    context_ : ndarray of shape (n, d)
        ``[V_1^T … V_k^T]``: the vectors of nodes as context, while ``embedding_`` has them as centers. Of graphs with
        about 200,000 nodes or more, both are memory-mapped from temporary files.
    settings_ : dict
        The setting of this fit: the matrix and, if it has them, its window and approximation, ``propagation``, and
        ``vector_length``.
    levels_ : list of ndarray
        ``U_1 … U_k``, each (n, d / k): views into the embedding. ``U_i V_i`` approximates ``R_i`` only without
        propagation and with the lengths left as they are.
    residual_norms_ : ndarray of shape (k + 1,)
        ``||R_1|| … ||R_{k+1}||``.
    n_iter_ : ndarray of shape (k,)
        Passes of each level.
    objective_ : list of ndarray
        ``||R_i - U V||^2 / ||R_i||^2`` after each pass, for each level.
    nnz_ : ndarray of shape (k + 1,)
        Entries of ``R_1 … R_{k+1}``.
    approximation_ : str
        The form of X: "exact", "spectral" or "push".
    epsilon_, max_per_row_ : float and int, or None
        For "push": as given or chosen.
    dropped_mass_ : ndarray of shape (n,), or None
        For "push": the share of each node's walks that was pruned, from 0 to 1; None on a cluster.
    graph_facts_ : GraphFacts
        Only after :meth:`fit_to_parts` with a path: ``n_nodes``, ``n_edges``, ``n_isolated``, ``weighted`` and
        ``first_node``, an id, of the graph that the workers read.

    Notes
    -----
    **Differences from the paper.** The paper leaves the solver open ("coordinate descent, projected gradient"); here
    it is HALS with extrapolation and a random start, or one from communities if X is pruned (see docs/method.md).
    Columns of U and V are scaled to equal norms, which the paper does not mention but which affects a regularized
    classifier. X averages the powers 1 to T of S, as in NetMF; in the paper the sum lacks its upper limit. In the
    spectral form each connected component is solved separately.

    References
    ----------
    J. Li, L. Wu, H. Liu: "Multi-Level Network Embedding with Boosted Low-Rank Matrix Approximation",
    ASONAM 2019.

    Examples
    --------
    >>> from boostne import BoostNE, DeepWalkMatrix
    >>> model = BoostNE(dimensions=4, levels=2, connectivity=DeepWalkMatrix(window=2))
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 4)
    >>> model.embedding_.nodes.tolist()
    ['a', 'b', 'c', 'd']
    """

    _uses_sides = True
    capabilities = Capabilities(
        weights=True,
        direction=True,
        engines=tuple(ENGINES),
        cost="X: T·m·n, levels: passes·nnz(X)·d/k",
        paper="Li, Wu, Liu 2019",
    )

    def __init__(
        self,
        dimensions: int = 128,
        *,
        levels: int = 8,
        connectivity: Any = "deepwalk",
        window: int | None = None,
        propagation: Any = "auto",
        vector_length: Any = "auto",
        memory_limit: int | str | None = None,
        checkpoint: str | Path | Checkpoint | None = None,
        tol: float = 2e-4,
        max_iter: int = 100,
        dtype: Any = "float32",
        engine: Any = "local",
        threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.dimensions = dimensions
        self.levels = levels
        self.connectivity = connectivity
        self.window = window
        self.propagation = propagation
        self.vector_length = vector_length
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.engine = engine
        self.threads = threads
        self.random_state = random_state

    @classmethod
    def paper(cls, **parameters: Any) -> "BoostNE":
        """Return an estimator with the setting of the paper: T = 10, X from 256 eigenpairs, vectors as factorized.

        Parameters
        ----------
        **parameters
            Further parameters, which take precedence.
        """
        return cls(**{"connectivity": clone(PAPER_MATRIX), "propagation": 0.0, "vector_length": 0.0, **parameters})

    def plot_levels(self, *, ax: Any = None) -> Any:
        """Draw the norm of the residual after each level, relative to that of X.

        Requires the extra ``viz``: ``pip install "boostne[viz]"``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure of pyplot.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from boostne.visualization.plots import plot_levels

        check_is_fitted(self, "residual_norms_")
        return plot_levels(self.residual_norms_, ax=ax)

    def _fit(self, graph: Graph, progress: ProgressCallback) -> tuple[NDArray[Any], NDArray[np.int64]]:
        vectors, levels = super()._fit(graph, progress)
        self.fitted_graph_ = FittedGraph.of(graph)
        self.settings_ |= self._refinement(graph)
        weight, length = self.settings_["propagation"], self.settings_["vector_length"]
        if weight:
            progress(Progress("propagation", 0.0))
        self.scale_ = None
        if not graph.directed and graph.sides is None:  # else vectors are refined together with those of the targets
            if weight:
                propagate_in_place(graph, vectors, weight, PROPAGATION_STEPS[self.approximation_], self.threads)
            self.scale_ = rescale_in_place(vectors, length) if length else None
        return vectors, levels

    def _refinement(self, graph: Graph) -> dict[str, float]:
        """Return the weight of the neighbors and the length of the vectors, chosen if they are "auto"."""
        if graph.sides is not None:
            # Lengths stay as they are: the score of an edge is the product of its two vectors.
            weight, length = bipartite.NEIGHBOR_WEIGHT, 0.0
        else:
            weight = DIRECTED_NEIGHBOR_WEIGHT if graph.directed else NEIGHBOR_WEIGHTS[self.approximation_]
            length = VECTOR_LENGTH
        return {
            "propagation": weight if self.propagation == "auto" else self.propagation,
            "vector_length": length if self.vector_length == "auto" else self.vector_length,
        }

    def _as_embedding(self, graph: Graph, vectors: NDArray[Any], levels: NDArray[np.int64]) -> Embedding:
        """Return the vectors; those of a directed or bipartite graph are refined, and have target vectors."""
        for name in ("known_", "score_map_", "centers_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.target_scales_ = None
        if not graph.directed and graph.sides is None:
            return super()._as_embedding(graph, vectors, levels)
        targets, weight, length = self.context_.copy(), self.settings_["propagation"], self.settings_["vector_length"]
        self.centers_ = vectors.copy()
        sources_at, targets_at = graph.nodes, graph.nodes
        if graph.sides is not None:
            sources_at, targets_at = graph.nodes[graph.sides], graph.nodes[~graph.sides]
            self.known_ = bipartite.edges_between(graph, graph.sides)
            if weight:
                bipartite.propagate_sides(graph, graph.sides, vectors, targets, weight, self.threads)
        elif weight:
            propagate_directed(graph, vectors, targets, weight, self.threads)
        self.target_scales_ = [scale_in_place(one, length) if length else 1.0 for one in (vectors, targets)]
        if graph.sides is not None:
            self.score_map_ = fit_score_map(self.known_, vectors, targets)
        return Embedding(sources_at, vectors, levels, targets=Embedding(targets_at, targets, levels))

    def _check_settings(self) -> ConnectivityMatrix:
        self._check_engine()
        if self.propagation != "auto":
            check_weight("propagation", self.propagation)
        if self.vector_length != "auto":
            check_number("vector_length", self.vector_length, 0)
        return super()._check_settings()

    def _check_engine(self) -> None:
        if isinstance(self.engine, str) and not (
            self.engine in (*self.capabilities.engines, "auto") or "://" in self.engine
        ):
            raise ParameterError(
                "engine must be 'local', 'cuda', 'auto', 'dask', a distributed.Client or the address of a scheduler "
                f"such as 'tcp://10.0.0.1:8786'; got {self.engine!r}"
            )
        keeps_matrix = isinstance(self.checkpoint, Checkpoint) and self.checkpoint.keep_matrix
        if not self._is_local() and (self.memory_limit is not None or keeps_matrix):
            raise ParameterError(
                "memory_limit and Checkpoint(keep_matrix=True) are for X on this machine; on a Dask cluster it is "
                "on the workers, whose own memory limits apply"
            )
