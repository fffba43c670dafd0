"""A connectivity matrix given by the user, as an array or as a function of the graph."""

from typing import Any

from scipy import sparse

from boostne.edges import checked_matrix, summed_csr
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices.base import SparseMatrix


class ExplicitMatrix(SparseMatrix):
    """The matrix itself, or a function that returns it.

    Parameters
    ----------
    matrix : sparse array, ndarray or callable
        Of shape (n, n) with rows and columns in the order of the graph's nodes, finite and non-negative; or a function
        from a :class:`~boostne.Graph` to such a matrix. It is not modified.
    """

    directed = True
    reorderable = False
    empty_remedy = "the matrix passed as connectivity needs positive entries"

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def for_graph(self, graph: Graph) -> "ExplicitMatrix":
        """Return this matrix; raise ParameterError if its order and that of the two sides of a graph can differ."""
        if graph.sides is not None and not callable(self.matrix):
            raise ParameterError(
                "connectivity cannot be a matrix if the graph has sides, whose nodes are reordered; pass a function "
                "from a graph to its matrix, or call with_sides(None) on the graph"
            )
        return self

    def build(self, graph: Graph) -> Any:
        found = self.matrix(graph) if callable(self.matrix) else self.matrix
        if not sparse.issparse(found):
            return found
        return summed_csr(checked_matrix(found, "connectivity", ParameterError))
