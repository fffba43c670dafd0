"""The window and the form of DeepWalk's X for a graph: one rule, based on the graph alone.

docs/method.md has the reasoning and the measurements behind the numbers.
"""

import numpy as np
from scipy import sparse

from boostne.graph import Graph
from boostne.matrices.adjacency import normalized_adjacency

# In graphs with a lower mean degree a node has few neighbors, and long walks are needed to collect evidence.
SPARSE_DEGREE = 5
SPARSE_WINDOW, TYPICAL_WINDOW = 15, 5
# From this mean degree on the neighbors alone can suffice.
NEIGHBORS_DEGREE = 8
# If more than this share of all pairs are adjacent, two steps reach most of the graph, and walks say little.
HIGH_DENSITY = 0.0075
# Walks say little, too, if the second eigenvalue of the graph is not well above that of a random graph: they forget
# where they started as fast as they would there.
MIN_EIGENVALUE_RATIO = 1.4
# From this mean degree on the leading eigenpairs suppress the noise of individual paths.
SPECTRAL_DEGREE = 32
# Beyond this many nodes, a full X takes minutes, and the strongest entries of each row give vectors as good.
LARGE = 20_000
EIGENVALUE_TOLERANCE = 1e-2
# Between two sides, the factorization itself relates nodes without an edge. Longer walks fill X with entries for them
# and do not improve recommendations in general (docs/bipartite.md).
BIPARTITE_WINDOW = 1


def choose_window(graph: Graph) -> int:
    """Return T for a graph with edges, which are counted without their direction."""
    if graph.sides is not None:
        return BIPARTITE_WINDOW
    graph = graph.to_undirected()
    degree = mean_degree(graph)
    if degree < SPARSE_DEGREE:
        return SPARSE_WINDOW
    if degree < NEIGHBORS_DEGREE or graph.n_nodes > LARGE:
        return TYPICAL_WINDOW
    if degree / graph.n_nodes > HIGH_DENSITY:
        return 1
    of_random_graph = 2 * np.sqrt(degree - 1) / degree
    return 1 if second_eigenvalue(graph) < MIN_EIGENVALUE_RATIO * of_random_graph else TYPICAL_WINDOW


def prefers_spectral(graph: Graph, window: int) -> bool:
    """Whether X is better computed from the leading eigenpairs than exactly."""
    usual = not graph.directed and graph.sides is None
    return usual and window > 1 and graph.n_nodes <= LARGE and mean_degree(graph) >= SPECTRAL_DEGREE


def mean_degree(graph: Graph) -> float:
    """Return the mean number of neighbors of the nodes with edges."""
    counts = np.diff(graph.adjacency.indptr)
    return float(counts.sum() / max(np.count_nonzero(counts), 1))


def second_eigenvalue(graph: Graph) -> float:
    """Return the second eigenvalue of the normalized adjacency matrix of the largest component, to two digits."""
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import LinearOperator, eigsh
    from threadpoolctl import threadpool_limits

    _, component = connected_components(graph.adjacency, directed=False)
    nodes = np.flatnonzero(component == np.bincount(component).argmax())
    N: sparse.csr_array = normalized_adjacency(graph.rescaled()[0])[nodes][:, nodes]
    first = np.sqrt(graph.degrees[nodes] / graph.degrees[nodes].sum())  # its eigenvalue is 1
    n = len(nodes)
    rest = LinearOperator((n, n), matvec=lambda x: N @ x - first * (first @ x), dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n)
    with threadpool_limits(limits=1, user_api="blas"):
        found = eigsh(rest, k=1, which="LA", tol=EIGENVALUE_TOLERANCE, v0=start, return_eigenvectors=False)
    return float(found[0])
