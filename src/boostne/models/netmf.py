"""NetMF: one factorization of DeepWalk's matrix."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from boostne.budget import Estimate
from boostne.eigensolvers import truncated_svd
from boostne.errors import ParameterError
from boostne.factorization.local import squared_norm
from boostne.factorization.ordering import ReorderedGraph
from boostne.graph import Graph
from boostne.matrices import ConnectivityMatrix
from boostne.models.base import Capabilities
from boostne.models.factorization_base import FactorizationEmbedder
from boostne.progress import Progress, ProgressCallback
from boostne.validation import check_choice, seed_from


class NetMF(FactorizationEmbedder):
    """Network embedding as matrix factorization.

    ``X = log max( vol(G) / (b T) · (S + … + S^T) D^-1 , 1 )``,  ``S = D^-1 A``;  the embedding is the U of

    ``min_{U, V >= 0} ||X - U V||_F^2``  ("nmf"),  or  ``U √Σ``  of  ``X ~ U Σ V^T``  ("svd").

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector.
    factorization : {"nmf", "svd"}, default="nmf"
        "nmf" is BoostNE with one level, the baseline of its paper. "svd" is NetMF as published.
    connectivity : str, ConnectivityMatrix, matrix or callable, default="deepwalk"
        X, by default DeepWalk's; as for :class:`BoostNE`.
    window, memory_limit, threads, random_state
        As for :class:`BoostNE`; the window, too, is chosen for the graph by default.
    tol : float, default=2e-4
        For "nmf": stop when a pass over X lowers the objective by less than this share of ``||X||^2``.
    max_iter : int, default=100
        For "nmf": largest number of passes.
    dtype : {"float32", "float64"}, default="float32"
        Precision of X and of the vectors; singular vectors are computed in float64.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes.
    context_ : ndarray of shape (n, d)
        The other factor: ``embedding_.vectors @ context_.T`` approximates X.

    Notes
    -----
    **Differences from the paper.** With "svd", none: exact for small windows, from eigenpairs for large ones. The
    BoostNE paper uses it with a single non-negative factorization; for the solver see :class:`BoostNE`.

    References
    ----------
    J. Qiu, Y. Dong, H. Ma, J. Li, K. Wang, J. Tang: "Network Embedding as Matrix Factorization", WSDM 2018.

    Examples
    --------
    >>> from boostne import NetMF
    >>> model = NetMF(dimensions=2, factorization="svd", window=2)
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 2)
    """

    capabilities = Capabilities(
        weights=True,
        direction=False,
        engines=("local",),
        cost="X: T·m·n, factors: passes·nnz(X)·d",
        paper="Qiu et al. 2018",
    )

    levels = 1
    engine = "local"
    checkpoint = None

    def __init__(
        self,
        dimensions: int = 128,
        *,
        factorization: Literal["nmf", "svd"] = "nmf",
        connectivity: Any = "deepwalk",
        window: int | None = None,
        memory_limit: int | str | None = None,
        tol: float = 2e-4,
        max_iter: int = 100,
        dtype: Any = "float32",
        threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.dimensions = dimensions
        self.factorization = factorization
        self.connectivity = connectivity
        self.window = window
        self.memory_limit = memory_limit
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.threads = threads
        self.random_state = random_state

    def estimate(self, X: Any) -> Estimate:
        """Estimate the time and memory of :meth:`fit`; see :meth:`BoostNE.estimate`."""
        if self.factorization != "nmf":
            raise ParameterError(f"estimate() supports factorization='nmf' only; got {self.factorization!r}")
        return super().estimate(X)

    def _check_parameters(self, graph: Graph) -> ConnectivityMatrix:
        check_choice("factorization", self.factorization, ("nmf", "svd"))
        return super()._check_parameters(graph)

    def _check_width(self, graph: Graph) -> None:
        if self.dimensions > graph.n_nodes:
            raise ParameterError(
                f"NetMF computes at most as many dimensions as there are nodes: the graph has {graph.n_nodes}, and "
                f"dimensions={self.dimensions} is too many; lower dimensions"
            )

    def _fit(self, graph: Graph, progress: ProgressCallback) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if self.factorization != "svd":
            return super()._fit(graph, progress)
        matrix = self._check_parameters(graph)
        seed = seed_from(self.random_state)
        _, X, _ = self._job(ReorderedGraph(graph), matrix, seed, progress=progress).build()
        matrix.check_norm(X.nnz, squared_norm(X.data), graph, self.dtype)
        progress(Progress("vectors", 0.0, f"{self.dimensions} singular vectors"))
        U, s, V = truncated_svd(X, self.dimensions, seed=seed)
        root = np.sqrt(s)
        empty = np.diff(X.indptr) == 0  # their entries are rounding errors
        U[empty], V[empty] = 0, 0
        self.context_ = (V * root).astype(self.dtype)
        return (U * root).astype(self.dtype), np.array([self.dimensions])
