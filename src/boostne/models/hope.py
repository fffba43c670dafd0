"""HOPE: a proximity that may lead one way only, as products of source and target vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.eigensolvers import outermost_eigenpairs, padded, truncated_svd
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices import hope
from boostne.matrices.hope import SIMILARITIES, Similarity, of_eigenvalues
from boostne.models.base import Capabilities
from boostne.models.decomposed import DecompositionEmbedder
from boostne.progress import Progress, ProgressCallback
from boostne.validation import check_choice, check_number


class HOPE(DecompositionEmbedder):
    """High-order proximity preserved embedding, of directed and undirected graphs.

    ``M = M_g^-1 M_l ~ U Σ V^T``;  the embedding is ``√n [U √Σ, V √Σ]``: d / 2 numbers for a node as source, and as
    many for it as target.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector; even.
    similarity : {"katz", "pagerank", "common-neighbors", "adamic-adar"}, default="katz"
        Which proximity: ``(I - β A)^-1 β A``, ``(1 - α) (I - α S)^-1``, ``A A`` or ``A W A``; see
        :func:`boostne.matrices.hope`.
    beta : float, optional
        β of "katz", below ``1 / ρ(A)``; by default ``1 / (2 ||A||)``.
    alpha : float, default=0.5
        α of "pagerank", the chance that a walk goes on.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the vectors; the singular vectors are found in float64.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the solver's start. Other seeds change the last digits only.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes, in two levels of equal width: source and target.
    source_, target_ : ndarray of shape (n, d / 2)
        The two halves; ``source_ @ target_.T / n`` comes nearest to M.
    singular_values_ : ndarray of shape (d / 2,)
        Σ, descending.

    Notes
    -----
    **Differences from the paper.** The vectors are multiplied by √n, where n counts the nodes that have an edge:
    proximities such as the chance of ending at a node shrink as the graph grows, and with them the vectors, in
    which a regularized classifier then sees nothing. HOPE's authors use a generalized singular value decomposition of
    ``(M_g, M_l)``; here ``M`` is an operator, whose products are summed series, and its singular vectors are
    found directly; without direction, those of "katz" and "common-neighbors" are made from the eigenvectors of A.
    They normalize the columns of the walk's matrix in rooted PageRank; here its rows are, so that entry (i, j) is the
    chance of a walk from i. Without direction source and target are equal up to sign.

    References
    ----------
    M. Ou, P. Cui, J. Pei, Z. Zhang, W. Zhu: "Asymmetric Transitivity Preserving Graph Embedding", KDD 2016.

    Examples
    --------
    >>> from boostne import HOPE, Graph
    >>> graph = Graph.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=True)
    >>> model = HOPE(dimensions=4).fit(graph)
    >>> model.source_.shape, model.target_.shape
    ((4, 2), (4, 2))
    """

    capabilities = Capabilities(
        weights=True,
        direction=True,
        engines=("local",),
        cost="(terms·m·d + n·d²) per iteration",
        paper="Ou et al. 2016",
    )

    def __init__(
        self,
        dimensions: int = 128,
        *,
        similarity: Similarity = "katz",
        beta: float | None = None,
        alpha: float = 0.5,
        dtype: Any = "float32",
        random_state: Any = 0,
    ) -> None:
        self.dimensions = dimensions
        self.similarity = similarity
        self.beta = beta
        self.alpha = alpha
        self.dtype = dtype
        self.random_state = random_state

    @property
    def source_(self) -> NDArray[Any]:
        """Vectors of the nodes as sources."""
        return self.embedding_.level(1)

    @property
    def target_(self) -> NDArray[Any]:
        """Vectors of the nodes as targets."""
        return self.embedding_.level(2)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("similarity", self.similarity, SIMILARITIES)
        if self.beta is not None:
            check_number("beta", self.beta, 0, strict=True)
        check_number("alpha", self.alpha, 0, strict=True)
        if self.dimensions % 2:
            raise ParameterError(
                f"dimensions must be even, one half for sources, the other for targets; got {self.dimensions}"
            )

    def _widths(self) -> list[int]:
        return [self.dimensions // 2] * 2

    def _embed(self, graph: Graph, seed: int, report: ProgressCallback) -> NDArray[Any]:
        half = self.dimensions // 2
        report(Progress("vectors", 0.0, f"{half} pairs of singular vectors"))
        U, self.singular_values_, V = self._triplets(graph, half, seed)
        scale = np.sqrt(graph.n_nodes * self.singular_values_)
        return np.hstack([U * scale, V * scale])

    def _triplets(self, graph: Graph, count: int, seed: int) -> tuple[NDArray[Any], ...]:
        """Singular triplets of M, from the eigenpairs of A where M is a function of it: a tenth of the time."""
        proximity = of_eigenvalues(graph, self.similarity, beta=self.beta)
        if proximity is None:
            M = hope(graph, self.similarity, beta=self.beta, alpha=self.alpha)
            return truncated_svd(M, count, seed=seed)
        # Either way from zero f only grows, so the largest of |f| lie at the ends.
        values, vectors = outermost_eigenpairs(graph.adjacency.astype(np.float64), count, seed=seed)
        shares = proximity(values)
        largest = np.argsort(-np.abs(shares), kind="stable")[:count]
        U, s = padded(vectors[:, largest], count), padded(shares[largest], count)
        return U, np.abs(s), U * np.sign(s)
