"""HOPE: source and target vectors whose products approximate an asymmetric proximity."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.eigensolvers import outermost_eigenpairs, padded, truncated_svd
from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices.hope import SIMILARITIES, Similarity, eigenvalue_map, similarity_matrix
from boostne.models.base import Capabilities
from boostne.models.connected_base import ConnectedEmbedder
from boostne.progress import Progress, ProgressCallback
from boostne.validation import check_choice, check_number


class HOPE(ConnectedEmbedder):
    """High-order proximity preserved embedding of directed and undirected graphs.

    ``M = M_g^-1 M_l ~ U Σ V^T``;  the embedding is ``√n [U √Σ, V √Σ]``: d / 2 columns for a node as source and d / 2
    for it as target.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of each vector; even.
    similarity : {"katz", "pagerank", "common-neighbors", "adamic-adar"}, default="katz"
        The proximity: ``(I - β A)^-1 β A``, ``(1 - α) (I - α S)^-1``, ``A A`` or ``A W A``; see
        :mod:`boostne.matrices.hope`.
    beta : float, optional
        β of "katz", below ``1 / ρ(A)``; by default ``1 / (2 ||A||)``.
    alpha : float, default=0.5
        α of "pagerank", the probability that a walk continues.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the vectors; singular vectors are computed in float64.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the solver; it affects only the last digits.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes, in two levels of equal width: source and target.
    source_, target_ : ndarray of shape (n, d / 2)
        The two halves; ``source_ @ target_.T / n`` is the best approximation of M of rank d / 2.
    sources_, targets_ : Embedding
        The same with the ids of the nodes, as for :class:`BoostNE` of a directed graph.
    singular_values_ : ndarray of shape (d / 2,)
        Σ, descending.

    Notes
    -----
    **Differences from the paper.** The vectors are multiplied by √n, where n is the number of nodes with edges:
    proximities such as the probability that a walk ends at a node shrink as the graph grows, so that a regularized
    classifier would ignore the vectors. The authors use a generalized singular value decomposition of
    ``(M_g, M_l)``; here ``M`` is a linear operator, evaluated as a truncated series, and its singular vectors are
    computed directly. For "katz" and "common-neighbors" on undirected graphs they are derived from the eigenvectors of
    A. In rooted PageRank the authors normalize the columns of the transition matrix; here its rows are normalized,
    so that entry (i, j) is the probability that a walk from i ends at j. On undirected graphs source and target
    vectors are equal up to sign.

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
    def sources_(self) -> Embedding:
        """Source vectors of the nodes, with the target vectors as their targets."""
        nodes = self.embedding_.nodes
        return Embedding(nodes, self.source_, targets=Embedding(nodes, self.target_))

    @property
    def source_(self) -> NDArray[Any]:
        """Source vectors of the nodes."""
        return self.embedding_.level(1)

    @property
    def target_(self) -> NDArray[Any]:
        """Target vectors of the nodes."""
        return self.embedding_.level(2)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("similarity", self.similarity, SIMILARITIES)
        if self.beta is not None:
            check_number("beta", self.beta, 0, strict=True)
        check_number("alpha", self.alpha, 0, strict=True)
        if self.dimensions % 2:
            raise ParameterError(
                f"dimensions must be even, half for source and half for target vectors; got {self.dimensions}"
            )

    def _widths(self) -> list[int]:
        return [self.dimensions // 2] * 2

    def _embed(self, graph: Graph, seed: int, progress: ProgressCallback) -> NDArray[Any]:
        half = self.dimensions // 2
        progress(Progress("vectors", 0.0, f"{half} pairs of singular vectors"))
        with np.errstate(over="ignore", invalid="ignore"):  # checked by the caller
            U, self.singular_values_, V = self._triplets(*graph.rescaled(), half, seed)
            scale = np.sqrt(graph.n_nodes * self.singular_values_)
            return np.hstack([U * scale, V * scale])

    def _triplets(self, graph: Graph, unit: float, count: int, seed: int) -> tuple[NDArray[Any], ...]:
        """Return singular triplets of M, derived from eigenpairs of A if M = f(A), which is ten times as fast.

        The weights of the graph are given in a unit.
        """
        beta = None if self.beta is None else self.beta * unit
        power = {"common-neighbors": 2, "adamic-adar": 1}.get(self.similarity, 0)  # of the weights in M
        f = eigenvalue_map(graph, self.similarity, beta=beta)
        if f is None:
            M = similarity_matrix(graph, self.similarity, beta=beta, alpha=self.alpha)
            U, s, V = truncated_svd(M, count, seed=seed)
            return U, s * np.float64(unit) ** power, V
        # |f| is monotone on either side of zero, so its largest values are at the ends of the spectrum.
        values, vectors = outermost_eigenpairs(graph.adjacency.astype(np.float64), count, seed=seed)
        transformed = f(values)
        largest = np.argsort(-np.abs(transformed), kind="stable")[:count]
        U, s = padded(vectors[:, largest], count), padded(transformed[largest], count)
        return U, np.abs(s) * np.float64(unit) ** power, U * np.sign(s)
