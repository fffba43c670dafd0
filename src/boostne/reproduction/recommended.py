"""The recommended setting of BoostNE: one rule for all graphs, based on the graph alone.

docs/method.md reports the experiments behind it.
"""

from typing import NamedTuple

from boostne.graph import Graph
from boostne.matrices import DeepWalkMatrix

# In graphs with a higher mean degree a few steps reach almost every node: long walks carry little information, and
# the leading eigenpairs suppress the noise of individual paths.
DENSE_DEGREE = 32


class RecommendedSetting(NamedTuple):
    """The recommended setting for a graph.

    Attributes
    ----------
    connectivity : DeepWalkMatrix
    scale : float
        Factor applied to the vectors before classification; for a classifier with L2 regularization, a factor of 2
        is equivalent to C = 4 instead of 1.
    """

    connectivity: DeepWalkMatrix
    scale: float


def recommended(graph: Graph) -> RecommendedSetting:
    """Return the form of X, the window and the scale for a graph, depending on its mean degree."""
    if graph.adjacency.nnz / graph.n_nodes > DENSE_DEGREE:
        matrix = DeepWalkMatrix(window=5, negative=1.0, approximation="spectral", eigenpairs=256)
        return RecommendedSetting(matrix, scale=1.0)
    return RecommendedSetting(DeepWalkMatrix(window=10, negative=1.0, approximation="exact"), scale=2.0)
