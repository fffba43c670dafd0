"""The modularity matrix, which Social Dimension factorizes."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from boostne.eigensolvers import block_product
from boostne.graph import Graph


def modularity(graph: Graph) -> LinearOperator:
    """Return ``B = A - d d^T / 2m`` of an undirected graph, with d the degrees and ``2m = vol(G)``.

    Entry (i, j) is the weight between i and j beyond what their degrees alone predict; every row sums to 0. The
    matrix is dense, so it is returned as an operator: a sparse product plus one of rank one.
    """
    A = graph.adjacency.astype(np.float64)
    d, volume = graph.degrees, graph.volume
    times = block_product(A)

    def product(x: NDArray[np.float64]) -> NDArray[np.float64]:
        expected = np.multiply.outer(d, d @ x / volume).reshape(x.shape)
        return times(x) - expected

    return LinearOperator(A.shape, matvec=product, rmatvec=product, matmat=product, dtype=A.dtype)
