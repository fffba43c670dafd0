"""The setting that we recommend: one rule for all graphs, that looks at the graph alone.

docs/method.md has the experiments behind it.
"""

from typing import Any, NamedTuple

from boostne.graph import Graph

# In a graph denser than this a few steps reach almost every node: long walks tell little, and the accidents of
# single paths are better left out, as the leading eigenpairs do.
DENSE_DEGREE = 32


class Rule(NamedTuple):
    """What the rule says for a graph.

    Attributes
    ----------
    parameters : dict
        For BoostNE.
    scale : float
        Factor for all vectors before a regularized classifier sees them; 2 does what C = 4 instead of 1 would.
    """

    parameters: dict[str, Any]
    scale: float


def recommended(graph: Graph) -> Rule:
    """Return the setting for a graph: form of X, window and scale, from its mean degree."""
    if graph.adjacency.nnz / graph.n_nodes > DENSE_DEGREE:
        return Rule({"approximation": "spectral", "eigenpairs": 256, "window": 5, "negative": 1.0}, 1.0)
    return Rule({"approximation": "exact", "window": 10, "negative": 1.0}, 2.0)
