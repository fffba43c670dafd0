"""The random walk of a directed graph, and how often it visits each node.

A step follows an outgoing edge, chosen with probability proportional to its weight. At a node without outgoing edges,
the walk goes back along one of its incoming edges, chosen in the same way, so that it never ends. Walks start at nodes
with outgoing edges only. With S the transition matrix and p the mean of ``S, S^2, …, S^T``, whose rows are zero for
nodes where no walk starts,

``X_uv = log max( p_uv / (b m_v) , 1 )``  with  ``m_v = mean_u p_uv``.

In an undirected graph in which walks start at nodes in proportion to their degrees, ``m_v`` is ``d_v / vol(G)``, and X
is that of :mod:`boostne.matrices.deepwalk.exact`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.graph import Graph
from boostne.kernels.csr_graph import CSRGraph, TransitionGraph
from boostne.kernels.push_graph import PushGraph
from boostne.matrices.adjacency import cast_inverse_degrees, reciprocal


class DirectedWalk(NamedTuple):
    """A directed graph as walks see it.

    Attributes
    ----------
    adjacency : csr_array
        The edges; those of nodes without outgoing edges are their incoming edges, reversed.
    starts : ndarray of bool
        The nodes with outgoing edges, where walks start.
    inverse_degree : ndarray of float64
        Inverse row sums of ``adjacency``; 0 for isolated nodes.
    mean_visits : ndarray of float64
        m.
    """

    adjacency: sparse.csr_array
    starts: NDArray[np.bool_]
    inverse_degree: NDArray[np.float64]
    mean_visits: NDArray[np.float64]

    @classmethod
    def of(cls, graph: Graph, window: int) -> "DirectedWalk":
        """Return the walk of a graph, with visits in the first ``window`` steps."""
        A = graph.adjacency
        starts = np.diff(A.indptr) > 0
        if not starts.all():
            back: sparse.csr_array = sparse.diags_array((~starts).astype(A.dtype)) @ A.T
            A = (A + back).tocsr()
        inverse_degree = reciprocal(np.asarray(A.sum(axis=1, dtype=np.float64)))
        mass, total = starts / len(starts), np.zeros(len(starts))
        transposed = A.T.astype(np.float64)
        for _ in range(window):
            mass = transposed @ (inverse_degree * mass)
            total += mass
        return cls(A, starts, inverse_degree, total / window)

    def transition_graph(self, dtype: np.dtype[Any]) -> TransitionGraph:
        """Return ``S^T`` as the kernels take it: its columns, summed over steps, are rows of p."""
        S = (sparse.diags_array(self.inverse_degree) @ self.adjacency.astype(np.float64)).tocsr()
        edges, reverse = (_csr_graph(matrix, dtype) for matrix in (S.T.tocsr(), S))
        return TransitionGraph(edges.indptr, edges.indices, edges.weights, np.ones(edges.n, dtype), reverse)

    def push_graph(self, unit: float, weighted: bool, dtype: np.dtype[Any]) -> PushGraph:
        """Return the graph that forward push reads; the visits of all nodes add up to at most its number of edges."""
        A = self.adjacency
        return PushGraph(
            A.indptr.astype(np.int64),
            A.indices.astype(np.int32, copy=False),
            (A.data.astype(np.float64) / unit).astype(dtype) if weighted else None,
            cast_inverse_degrees(self.inverse_degree * unit, dtype),
            inverse_mass=cast_inverse_degrees(reciprocal(self.mean_visits * A.nnz), dtype),
        )


def _csr_graph(matrix: sparse.csr_array, dtype: np.dtype[Any]) -> CSRGraph:
    matrix.sort_indices()
    return CSRGraph(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data.astype(dtype)
    )
