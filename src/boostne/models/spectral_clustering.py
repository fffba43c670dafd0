"""Spectral Clustering: eigenvectors of the normalized adjacency."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.eigensolvers import signs
from boostne.graph import Graph
from boostne.matrices.deepwalk.spectral import component_eigenpairs
from boostne.models.base import Capabilities
from boostne.models.decomposed import DecompositionEmbedder
from boostne.progress import Progress, ProgressCallback


class SpectralClustering(DecompositionEmbedder):
    """The leading eigenvectors of the normalized adjacency matrix.

    ``D^-1/2 A D^-1/2 Q = Q Λ``;  the embedding is ``√n Q``, for the d largest eigenvalues.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the vectors; the eigenvectors are found in float64.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the eigensolver's start. Other seeds change the last digits only.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes.
    eigenvalues_ : ndarray of shape (d,)
        Λ, descending.

    Notes
    -----
    **Differences from the paper.** The vectors are multiplied by √n, where n counts the nodes that have an edge:
    the entries of a unit vector shrink as the graph grows, and a regularized classifier sees nothing in them.
    The sign of each vector makes its largest entry positive. Every connected component has the eigenvalue 1, and
    each is solved by itself, so that none is missed.

    References
    ----------
    L. Tang, H. Liu: "Leveraging Social Media Networks for Classification", Data Mining and Knowledge
    Discovery 2011.

    Examples
    --------
    >>> from boostne import SpectralClustering
    >>> model = SpectralClustering(dimensions=2)
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 2)
    >>> model.eigenvalues_.round(3).tolist()
    [1.0, 0.229]
    """

    capabilities = Capabilities(
        weights=True,
        direction=False,
        engines=("local",),
        cost="(m·d + n·d²) per iteration",
        paper="Tang, Liu 2011",
    )

    def __init__(self, dimensions: int = 128, *, dtype: Any = "float32", random_state: Any = 0) -> None:
        self.dimensions = dimensions
        self.dtype = dtype
        self.random_state = random_state

    def _embed(self, graph: Graph, seed: int, report: ProgressCallback) -> NDArray[Any]:
        report(Progress("eigenvectors", 0.0, f"{self.dimensions} of the normalized adjacency"))
        self.eigenvalues_, Q = component_eigenpairs(graph, self.dimensions, seed)
        Q *= signs(Q) * np.sqrt(graph.n_nodes)
        return Q
