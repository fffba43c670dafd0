"""Small graphs, random graphs, and views of graphs for comparison."""

import numpy as np
from scipy import sparse

from boostne.datasets import load_dataset
from boostne.graph import Graph


def path(n=5):
    return Graph.from_edges(range(n - 1), range(1, n))


def star(leaves=5):
    return Graph.from_edges([0] * leaves, range(1, leaves + 1))


def two_triangles():
    """Return the triangles 0, 1, 2 and 3, 4, 5, connected by the edge (2, 3)."""
    return Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])


def weighted():
    """Return the two triangles with weights 1 to 7."""
    return Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], [1, 2, 3, 4, 5, 6, 7])


def disconnected():
    """Return a triangle, a path of four nodes and a single edge."""
    return Graph.from_edges([0, 1, 2, 3, 4, 5, 7], [1, 2, 0, 4, 5, 6, 8])


def with_isolated():
    """Return the two triangles and the isolated nodes 0, 4 and 8."""
    return Graph.from_edges([1, 2, 3, 5, 6, 7, 3], [2, 3, 1, 6, 7, 5, 5], nodes=range(9))


def with_loops():
    """Return a path of four nodes with self-loops at both ends."""
    return Graph.from_edges([0, 0, 1, 2, 3], [0, 1, 2, 3, 3], [2, 1, 1, 1, 1], self_loops="keep")


def karate():
    return load_dataset("karate").graph


DRAWABLE = {
    make.__name__: make
    for make in (path, star, two_triangles, weighted, disconnected, with_isolated, with_loops, karate)
}


def edges(graph):
    """Return the edges as {(id, id): weight}, each undirected edge once."""
    matrix = graph.adjacency if graph.directed else sparse.triu(graph.adjacency)
    matrix, nodes = matrix.tocoo(), graph.nodes.tolist()
    return {(nodes[i], nodes[j]): w for i, j, w in zip(matrix.row, matrix.col, matrix.data.tolist(), strict=True)}


def dense(graph):
    return graph.adjacency.toarray().astype(np.float64)


def scaled(graph, factor):
    """Return the graph with all weights multiplied by ``factor``, in float64."""
    return Graph(graph.adjacency.astype(np.float64) * factor, graph.nodes)


def planted_partition(sizes, inside, across, seed=0):
    """Return a graph from a stochastic block model, and the community of each node."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    probability = np.where(labels[:, None] == labels, inside, across)
    drawn = np.triu(np.random.default_rng(seed).random(probability.shape) < probability, k=1)
    return Graph(sparse.csr_array((drawn | drawn.T).astype(np.float32))), labels


def random_graph(n, degree, seed=0):
    """Return a graph of about ``n * degree / 2`` uniformly random edges, built without a dense matrix."""
    ends = np.random.default_rng(seed).integers(n, size=(2, n * degree // 2))
    return Graph.from_indices(np.arange(n), *ends)
