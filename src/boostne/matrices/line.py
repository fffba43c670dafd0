"""LINE's connectivity matrix: DeepWalk's with a window of one."""

import numpy as np
from scipy import sparse

from boostne.graph import Graph
from boostne.matrices.adjacency import inverse_degrees, transition


def line(graph: Graph, *, negative: float = 1.0) -> sparse.csr_array:
    """Return ``X = log max( vol(G) / b · S D^-1 , 1 )`` of an undirected graph, with ``S = D^-1 A``.

    Parameters
    ----------
    graph : Graph
        Weights count; isolated nodes get empty rows.
    negative : float, default=1.0
        b, the number of negative samples.

    Returns
    -------
    csr_array of shape (n, n)
        Non-negative, symmetric, in float64, with entries only where the graph has edges.
    """
    scale = sparse.diags_array(graph.volume / negative * inverse_degrees(graph))
    X = (transition(graph) @ scale).tocsr()
    X.data = np.log(np.maximum(X.data, 1))
    X.eliminate_zeros()
    return X
