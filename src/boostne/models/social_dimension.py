"""Social Dimension: eigenvectors of the modularity matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.eigensolvers import largest_eigenpairs
from boostne.graph import Graph
from boostne.matrices.modularity import modularity
from boostne.models.base import Capabilities
from boostne.models.connected_base import ConnectedEmbedder
from boostne.progress import Progress, ProgressCallback


class SocialDimension(ConnectedEmbedder):
    """The leading eigenvectors of the modularity matrix.

    ``B = A - d d^T / 2m``,  ``B Q = Q Λ``;  the embedding is ``√n Q``, for the d largest eigenvalues.

    Parameters
    ----------
    dimensions : int, default=128
        The length of each vector.
    dtype, random_state
        As for :class:`SpectralClustering`.

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
    of each eigenvector makes its entry of largest magnitude positive.

    References
    ----------
    L. Tang, H. Liu: "Relational Learning via Latent Social Dimensions", KDD 2009.

    Examples
    --------
    >>> from boostne import SocialDimension
    >>> model = SocialDimension(dimensions=2)
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 2)
    """

    capabilities = Capabilities(
        weights=True, direction=False, engines=("local",), cost="(m·d + n·d²) per iteration", paper="Tang, Liu 2009"
    )

    def _embed(self, graph: Graph, seed: int, progress: ProgressCallback) -> NDArray[Any]:
        progress(Progress("eigenvectors", 0.0, f"{self.dimensions} of the modularity matrix"))
        scaled, unit = graph.rescaled()
        values, Q = largest_eigenpairs(modularity(scaled), self.dimensions, seed=seed)
        self.eigenvalues_ = values * unit
        return Q * float(np.sqrt(graph.n_nodes))
