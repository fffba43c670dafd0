"""The adjacency matrix, as it is and normalized, and the transition matrix of a random walk."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import GraphError
from boostne.graph import Graph
from boostne.kernels.csr_graph import TransitionGraph
from boostne.matrices.base import SparseMatrix

HEADROOM = 2.0**24  # what inverse degrees may be multiplied by, such as the number of edges


class AdjacencyMatrix(SparseMatrix):
    """``X = A``: the weights of the edges.

    Examples
    --------
    >>> from boostne import AdjacencyMatrix, as_graph
    >>> AdjacencyMatrix().build(as_graph([("a", "b", 2.0)])).toarray()
    array([[0., 2.],
           [2., 0.]])
    """

    directed = True

    def build(self, graph: Graph) -> sparse.csr_array:
        return graph.adjacency.copy()


class NormalizedAdjacencyMatrix(SparseMatrix):
    """``X = D^-1/2 A D^-1/2``.

    Examples
    --------
    >>> from boostne import NormalizedAdjacencyMatrix, as_graph
    >>> NormalizedAdjacencyMatrix().build(as_graph([("a", "b", 2.0)])).toarray()
    array([[0., 1.],
           [1., 0.]])
    """

    scale_invariant = True

    def build(self, graph: Graph) -> sparse.csr_array:
        return normalized_adjacency(graph)


def normalized_adjacency(graph: Graph) -> sparse.csr_array:
    """Return ``N = D^-1/2 A D^-1/2`` of an undirected graph, in float64; rows of isolated nodes are empty.

    Its eigenvalues are between -1 and 1; each connected component contributes the eigenvalue 1 once.
    """
    root = sparse.diags_array(inverse_root_degrees(graph))
    return (root @ graph.adjacency.astype(np.float64) @ root).tocsr()


def inverse_root_degrees(graph: Graph) -> NDArray[np.float64]:
    """Return the diagonal of ``D^-1/2``, 0 for isolated nodes."""
    return np.sqrt(inverse_degrees(graph))


def inverse_degrees(graph: Graph) -> NDArray[np.float64]:
    """Return the diagonal of ``D^-1``, 0 for nodes without outgoing edges."""
    return reciprocal(graph.degrees)


def reciprocal(values: NDArray[np.float64]) -> NDArray[Any]:
    """Return ``1 / values``, 0 where a value is not positive."""
    return np.divide(1, values, out=np.zeros_like(values), where=values > 0)


def cast_inverse_degrees(inverse: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return inverse degrees in a precision; raise GraphError if the products with them would overflow."""
    largest = inverse.max(initial=0)
    if largest * HEADROOM > np.finfo(dtype).max:
        raise GraphError(
            f"the smallest weighted degree is {1 / largest:.1g} times the mean weight, which is too small for {dtype}: "
            "use dtype='float64', remove the edges with the smallest weights, or raise these"
        )
    return inverse.astype(dtype)


def transition_graph(graph: Graph, dtype: np.dtype[Any]) -> TransitionGraph:
    """Return the arrays of ``S = D^-1 A`` as the kernels take them."""
    A = graph.adjacency
    return TransitionGraph(
        A.indptr.astype(np.int64, copy=False),
        A.indices.astype(np.int32, copy=False),
        A.data.astype(dtype, copy=False) if graph.weighted else None,
        cast_inverse_degrees(inverse_degrees(graph), dtype),
    )


def transition(graph: Graph) -> sparse.csr_array:
    """Return ``S = D^-1 A``, the transition probabilities of a random walk, in float64."""
    return (sparse.diags_array(inverse_degrees(graph)) @ graph.adjacency.astype(np.float64)).tocsr()
