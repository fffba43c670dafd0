"""Graph Factorization: a low-rank approximation of the adjacency matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.eigensolvers import largest_eigenpairs
from boostne.graph import Graph
from boostne.models.base import Capabilities
from boostne.models.connected_base import ConnectedEmbedder
from boostne.progress import Progress, ProgressCallback


class GraphFactorization(ConnectedEmbedder):
    """Vectors whose inner products best approximate the adjacency matrix.

    ``U = argmin_U ||A - U U^T||_F^2 = Q √max(Λ, 0)``,  with  ``A Q = Q Λ``  for the d largest eigenvalues;  the
    embedding is ``√n U``.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of each vector.
    dtype, random_state
        As for :class:`SpectralClustering`.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes. If A has fewer than d positive eigenvalues, the last columns are
        zero.
    eigenvalues_ : ndarray of shape (d,)
        Λ, descending, including negative ones.

    Notes
    -----
    **Differences from the paper.** Ahmed et al. minimize the error over the edges only, with a penalty on ``||U||``,
    by gradient descent. This is the problem stated in the BoostNE paper, over all pairs and without a penalty. It
    has a closed-form solution, so there is no learning rate or number of epochs to choose. The vectors are
    multiplied by √n, where n is the number of nodes with edges: the entries of U shrink as the graph grows, so that
    a regularized classifier would ignore them.

    References
    ----------
    A. Ahmed, N. Shervashidze, S. Narayanamurthy, V. Josifovski, A. J. Smola: "Distributed Large-scale Natural
    Graph Factorization", WWW 2013.

    Examples
    --------
    >>> from boostne import GraphFactorization
    >>> model = GraphFactorization(dimensions=2)
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 2)
    """

    capabilities = Capabilities(
        weights=True, direction=False, engines=("local",), cost="(m·d + n·d²) per iteration", paper="Ahmed et al. 2013"
    )

    def _embed(self, graph: Graph, seed: int, progress: ProgressCallback) -> NDArray[Any]:
        progress(Progress("eigenvectors", 0.0, f"{self.dimensions} of the adjacency matrix"))
        scaled, unit = graph.rescaled()
        A = scaled.adjacency.astype(np.float64)
        values, Q = largest_eigenpairs(A, self.dimensions, seed=seed)
        self.eigenvalues_ = values * unit
        Q *= np.sqrt(graph.n_nodes * np.maximum(values, 0)) * np.sqrt(unit)
        return Q
