"""Spectral Clustering: eigenvectors of the normalized adjacency matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.eigensolvers import signs
from boostne.graph import Graph
from boostne.matrices.deepwalk.spectral import component_eigenpairs
from boostne.models.base import Capabilities
from boostne.models.connected_base import ConnectedEmbedder
from boostne.progress import Progress, ProgressCallback


class SpectralClustering(ConnectedEmbedder):
    """The leading eigenvectors of the normalized adjacency matrix.

    ``D^-1/2 A D^-1/2 Q = Q Λ``;  the embedding is ``√n Q``, for the d largest eigenvalues.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of each vector.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the vectors; eigenvectors are computed in float64.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the eigensolver; it affects only the last digits.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes.
    eigenvalues_ : ndarray of shape (d,)
        Λ, descending.

    Notes
    -----
    **Differences from the paper.** The vectors are multiplied by √n, where n is the number of nodes with edges: the
    entries of unit vectors shrink as the graph grows, so that a regularized classifier would ignore them. The sign
    of each eigenvector makes its entry of largest magnitude positive. Each connected component has
    an eigenvalue 1; components are solved separately, so that none is missed.

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
        weights=True, direction=False, engines=("local",), cost="(m·d + n·d²) per iteration", paper="Tang, Liu 2011"
    )

    def _embed(self, graph: Graph, seed: int, progress: ProgressCallback) -> NDArray[Any]:
        progress(Progress("eigenvectors", 0.0, f"{self.dimensions} of the normalized adjacency matrix"))
        self.eigenvalues_, Q = component_eigenpairs(graph.rescaled()[0], self.dimensions, seed)
        Q *= signs(Q) * np.sqrt(graph.n_nodes)
        return Q
