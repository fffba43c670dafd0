"""The setting that we recommend: one rule for all graphs, that looks at the graph alone.

docs/method.md has the experiments behind it.
"""

from typing import Any, NamedTuple

from boostne.graph import Graph

# In a graph denser than this a few steps reach almost every node. Long walks then tell little, and the chance of
# single paths is better left out, which the leading eigenpairs do.
DENSE_DEGREE = 32
SCALE = (
    2.0  # as C = 4 instead of 1 would do: the paper's classifier is held back too much for balanced factors
)


class Rule(NamedTuple):
    """What the rule says for a graph.

    Attributes
    ----------
    parameters : dict
        For BoostNE.
    scale : float
        Factor for all vectors before a regularised classifier sees them.
    """

    parameters: dict[str, Any]
    scale: float


def recommended(graph: Graph) -> Rule:
    """Return the setting for a graph: form of X, window and scale, from its mean degree."""
    if graph.adjacency.nnz / graph.n_nodes > DENSE_DEGREE:
        form: dict[str, Any] = {"approximation": "spectral", "eigenpairs": 256, "window": 5}
    else:
        form = {"approximation": None, "window": 10}
    return Rule({"negative": 1.0, **form}, SCALE)
