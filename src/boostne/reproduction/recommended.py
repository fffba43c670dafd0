"""The recommended setting of BoostNE: one rule for all graphs, based on the graph alone.

docs/method.md reports the experiments behind it.
"""

from typing import Any, NamedTuple

from boostne.graph import Graph

# In graphs with a higher mean degree a few steps reach almost every node: long walks carry little information, and
# the leading eigenpairs suppress the noise of individual paths.
DENSE_DEGREE = 32


class RecommendedSetting(NamedTuple):
    """The recommended setting for a graph.

    Attributes
    ----------
    parameters : dict
        Parameters of BoostNE.
    scale : float
        Factor applied to the vectors before classification; for a classifier with L2 regularization, a factor of 2
        is equivalent to C = 4 instead of 1.
    """

    parameters: dict[str, Any]
    scale: float


def recommended(graph: Graph) -> RecommendedSetting:
    """Return the form of X, the window and the scale for a graph, depending on its mean degree."""
    if graph.adjacency.nnz / graph.n_nodes > DENSE_DEGREE:
        return RecommendedSetting(
            {"approximation": "spectral", "eigenpairs": 256, "window": 5, "negative": 1.0}, scale=1.0
        )
    return RecommendedSetting({"approximation": "exact", "window": 10, "negative": 1.0}, scale=2.0)
