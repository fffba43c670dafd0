"""GraRep: one factorization per number of steps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from boostne.budget import entry_bytes
from boostne.eigensolvers import truncated_svd
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.matrices.grarep import StepSource
from boostne.memory import check_memory
from boostne.models.base import Capabilities
from boostne.models.connected_base import ConnectedEmbedder
from boostne.progress import Progress, ProgressCallback
from boostne.validation import check_integer, check_number


class GraRep(ConnectedEmbedder):
    """Singular vectors of the log-probabilities of walks of one step, two steps, … K steps.

    ``X_p = max( log( S^p_ij / Σ_t S^p_tj ) - log b , 0 ) ~ U_p Σ_p V_p^T``,  ``S = D^-1 A``;  the embedding is
    ``[U_1 √Σ_1 … U_K √Σ_K]``, the rows of each part scaled to norm 1.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector; a multiple of ``steps``.
    steps : int, default=8
        K.
    shift : float, optional
        b; by default 1/n, where n is the number of nodes with an edge.
    dtype : {"float32", "float64"}, default="float32"
        Precision of X and of the vectors; singular vectors are computed in float64.
    threads : int, optional
        Number of threads; by default all. The result has the same bits for any number.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the solver's starting block; it affects the last digits only.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes; level p has the d / K columns of step p.
    singular_values_ : ndarray of shape (K, d / K)
        Of ``X_1 … X_K``.
    nnz_ : ndarray of shape (K,)
        Entries of ``X_1 … X_K``.

    Notes
    -----
    The powers of S fill up, and with them X: up to n² entries after many steps (half of that on blogcatalog). So only
    one of ``X_1 … X_K`` is stored at a time, as a sparse matrix, and the powers only by blocks of rows. Each X starts
    from the edges again: that is ``K (K + 1) / 2`` products rather than K, less work than factorizing X.

    **Differences from the paper.** The paper does not say how the steps are weighted when they are concatenated. Here
    each node's part from each step has norm 1, like the two orders of LINE, so that a classifier with a single
    penalty uses every step. This raises Micro-F1 on blogcatalog by 0.015.

    References
    ----------
    S. Cao, W. Lu, Q. Xu: "GraRep: Learning Graph Representations with Global Structural Information", CIKM 2015.

    Examples
    --------
    >>> from boostne import GraRep
    >>> model = GraRep(dimensions=4, steps=2)
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 4)
    >>> model.embedding_.levels.tolist()
    [2, 2]
    """

    capabilities = Capabilities(
        weights=True,
        direction=False,
        engines=("local",),
        cost="X: K²·m·n, vectors: nnz(X)·d per iteration",
        paper="Cao, Lu, Xu 2015",
    )

    def __init__(
        self,
        dimensions: int = 128,
        *,
        steps: int = 8,
        shift: float | None = None,
        dtype: Any = "float32",
        threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.dimensions = dimensions
        self.steps = steps
        self.shift = shift
        self.dtype = dtype
        self.threads = threads
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("steps", self.steps, 1)
        if self.shift is not None:
            check_number("shift", self.shift, 0, strict=True)
        if self.dimensions % self.steps:
            raise ParameterError(
                "dimensions must be a multiple of steps, so that all steps have the same width; got "
                f"dimensions={self.dimensions} and steps={self.steps}"
            )

    def _widths(self) -> list[int]:
        return [self.dimensions // self.steps] * self.steps

    def _embed(self, graph: Graph, seed: int, progress: ProgressCallback) -> NDArray[Any]:
        graph, _ = graph.rescaled()
        width = self.dimensions // self.steps
        vectors = np.empty((graph.n_nodes, self.dimensions))
        self.singular_values_ = np.empty((self.steps, width))
        self.nnz_ = np.empty(self.steps, np.int64)
        self._check_memory(graph)
        for p in range(1, self.steps + 1):
            share = (p - 1) / self.steps
            progress(Progress("connectivity", share, f"step {p}/{self.steps}"))
            X, _ = self._source(graph, p).build()
            progress(Progress("vectors", share, f"step {p}/{self.steps}, {X.nnz:,} entries"))
            U, s, _ = truncated_svd(X, width, seed=seed, threads=self.threads)
            vectors[:, (p - 1) * width : p * width] = normalize(U * np.sqrt(s))
            self.singular_values_[p - 1], self.nnz_[p - 1] = s, X.nnz
            del X  # not kept while the next one is built
        return vectors

    def _source(self, graph: Graph, step: int) -> StepSource:
        kernels = get_kernels(threads=self.threads)
        return StepSource(graph, step, shift=self.shift, dtype=self.dtype, kernels=kernels)

    def _check_memory(self, graph: Graph) -> None:
        n_entries = max(self._source(graph, p).sample().n_entries for p in range(1, self.steps + 1))
        check_memory(
            n_entries * entry_bytes(self.dtype),
            f"{n_entries:,} entries of GraRep's X",
            "Lower steps, so that walks reach fewer nodes, or raise shift; SpectralClustering needs the edges alone.",
        )
