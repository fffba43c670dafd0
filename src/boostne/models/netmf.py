"""NetMF: DeepWalk's matrix in one factorization."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.eigensolvers import truncated_svd
from boostne.errors import ParameterError
from boostne.factorization.estimate import Estimate
from boostne.graph import Graph
from boostne.models.base import Capabilities, NodeEmbedder
from boostne.models.boostne import BoostNE
from boostne.models.walk_matrix import Form
from boostne.progress import Progress, ProgressCallback, silent
from boostne.validation import check_choice, check_integer, seed_from


class NetMF(NodeEmbedder):
    """Network embedding as matrix factorization.

    ``X = log max( vol(G) / (b T) · (S + … + S^T) D^-1 , 1 )``,  ``S = D^-1 A``;  the embedding is the U of

    ``min_{U, V >= 0} ||X - U V||_F^2``  ("nmf"),  or  ``U √Σ``  of  ``X ~ U Σ V^T``  ("svd").

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector.
    factorization : {"nmf", "svd"}, default="nmf"
        "nmf" is BoostNE with one level, the rival that its paper has. "svd" is what NetMF's authors do.
    window : int, default=10
        T, the longest random walk that counts.
    negative : float, default=1.0
        b, the number of negative samples; larger values keep fewer entries of X.
    approximation : {"auto", "exact", "spectral", "push"}, default="auto"
        Form of X. "exact" builds it as it stands, "spectral" from the leading eigenpairs, "push" keeps the strongest
        entries of each row. "auto" is "exact" where that fits into memory, and "push" where it does not.
    eigenpairs : int, default=256
        h, for the spectral form; above the number of connected components.
    epsilon, max_per_row : float and int, optional
        For the pruned form: ε, and the entries of a row at most; see :class:`BoostNE`.
    memory_limit : int or str, optional
        Most memory that the whole process may take, such as "2GB"; see :class:`BoostNE`.
    tol : float, default=2e-4
        For "nmf": it ends when a pass over X lowers the objective by less than this share of ``||X||^2``.
    max_iter : int, default=100
        For "nmf": passes at most.
    dtype : {"float32", "float64"}, default="float32"
        Precision of X and of the vectors; singular vectors are found in float64.
    threads : int, optional
        Threads to use; by default every core. The result is the same, bit for bit, for any number.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the factorization's start.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes.
    context_ : ndarray of shape (n, d)
        The other factor: ``embedding_.vectors @ context_.T`` comes nearest to X.

    Notes
    -----
    **Differences from the paper.** In the form "svd", none from NetMF's: exactly for small windows, from
    eigenpairs for large ones. The paper on BoostNE has it as a single non-negative factorization; for that see
    what :class:`BoostNE` says of its solver.

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

    def __init__(
        self,
        dimensions: int = 128,
        *,
        factorization: Literal["nmf", "svd"] = "nmf",
        window: int = 10,
        negative: float = 1.0,
        approximation: Form = "auto",
        eigenpairs: int = 256,
        epsilon: float | None = None,
        max_per_row: int | None = None,
        memory_limit: int | str | None = None,
        tol: float = 2e-4,
        max_iter: int = 100,
        dtype: Any = "float32",
        threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.dimensions = dimensions
        self.factorization = factorization
        self.window = window
        self.negative = negative
        self.approximation = approximation
        self.eigenpairs = eigenpairs
        self.epsilon = epsilon
        self.max_per_row = max_per_row
        self.memory_limit = memory_limit
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.threads = threads
        self.random_state = random_state

    def connectivity_matrix(self, X: Any, *, progress: ProgressCallback = silent) -> sparse.csr_array:
        """Return the connectivity matrix of a graph, as :meth:`fit` would factorize it."""
        graph = self._check_graph(X)
        return self._one_level(graph)._connectivity(graph, progress, seed_from(self.random_state))

    def estimate(self, X: Any) -> Estimate:
        """Return the time and memory that :meth:`fit` will take; see :meth:`BoostNE.estimate`."""
        if self.factorization != "nmf":
            raise ParameterError(f"estimate() knows factorization='nmf' alone; got {self.factorization!r}")
        graph = self._check_graph(X)
        return self._one_level(graph).estimate(graph)

    def _one_level(self, graph: Graph) -> BoostNE:
        """Return BoostNE with one level and these parameters, which it checks."""
        check_integer("dimensions", self.dimensions, 1)
        check_choice("factorization", self.factorization, ("nmf", "svd"))
        if self.dimensions > graph.n_nodes:
            raise ParameterError(
                f"NetMF finds no more dimensions than there are nodes: the graph has {graph.n_nodes}, and "
                f"dimensions={self.dimensions} is too many; lower dimensions"
            )
        shared = {name: value for name, value in self.get_params().items() if name != "factorization"}
        model = BoostNE(**shared, levels=1)
        model._check_parameters(graph)
        return model

    def _fit(self, graph: Graph, report: ProgressCallback) -> tuple[NDArray[Any], NDArray[np.int64]]:
        model = self._one_level(graph)
        if self.factorization == "nmf":
            vectors, levels = model._fit(graph, report)
            self.context_ = model.context_
            return vectors, levels
        seed = seed_from(self.random_state)
        X = model._connectivity(graph, report, seed)
        report(Progress("vectors", 0.0, f"{self.dimensions} singular vectors"))
        U, s, V = truncated_svd(X, self.dimensions, seed=seed)
        root = np.sqrt(s)
        empty = np.diff(X.indptr) == 0  # their entries are rounding
        U[empty], V[empty] = 0, 0
        self.context_ = (V * root).astype(self.dtype)
        return (U * root).astype(self.dtype), np.array([self.dimensions])
