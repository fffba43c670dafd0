"""The edges themselves, as they are (Graph Factorization) and normalized (Spectral Clustering)."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.graph import Graph


def adjacency(graph: Graph) -> sparse.csr_array:
    """Return ``A``: entry (i, j) is the weight of the edge from i to j.

    It is the graph's own matrix, whose arrays are read-only.
    """
    return graph.adjacency


def normalized_adjacency(graph: Graph) -> sparse.csr_array:
    """Return ``N = D^-1/2 A D^-1/2`` of an undirected graph, in float64; rows of isolated nodes are empty.

    Its eigenvalues lie between -1 and 1; each connected component has the eigenvalue 1 once.
    """
    root = sparse.diags_array(inverse_root_degrees(graph))
    return (root @ graph.adjacency.astype(np.float64) @ root).tocsr()


def inverse_root_degrees(graph: Graph) -> NDArray[np.float64]:
    """Return the diagonal of ``D^-1/2``, 0 for isolated nodes."""
    return np.sqrt(inverse_degrees(graph))


def inverse_degrees(graph: Graph) -> NDArray[np.float64]:
    """Return the diagonal of ``D^-1``, 0 for nodes that no edge leaves."""
    degrees = graph.degrees
    return np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)


def transition(graph: Graph) -> sparse.csr_array:
    """Return ``S = D^-1 A``, the chance of each step of a random walk, in float64."""
    return (sparse.diags_array(inverse_degrees(graph)) @ graph.adjacency.astype(np.float64)).tocsr()
