"""Graphs small enough to draw, and one generator whose communities are known."""

import numpy as np
from scipy import sparse

from boostne.datasets import load_dataset
from boostne.graph import Graph


def path(n=5):
    return Graph.from_edges(range(n - 1), range(1, n))


def star(leaves=5):
    return Graph.from_edges([0] * leaves, range(1, leaves + 1))


def two_triangles():
    """0, 1, 2 and 3, 4, 5, joined by the edge (2, 3)."""
    return Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])


def weighted():
    """The two triangles with the weights 1 to 7."""
    return Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], [1, 2, 3, 4, 5, 6, 7])


def disconnected():
    """A triangle, a path of four nodes and a single edge."""
    return Graph.from_edges([0, 1, 2, 3, 4, 5, 7], [1, 2, 0, 4, 5, 6, 8])


def with_isolated():
    """The two triangles with nodes 0, 4 and 8 on their own."""
    return Graph.from_edges([1, 2, 3, 5, 6, 7, 3], [2, 3, 1, 6, 7, 5, 5], nodes=range(9))


def with_loops():
    """A path of four nodes whose ends have an edge to themselves."""
    return Graph.from_edges([0, 0, 1, 2, 3], [0, 1, 2, 3, 3], [2, 1, 1, 1, 1], self_loops="keep")


def karate():
    return load_dataset("karate").graph


DRAWABLE = {
    make.__name__: make
    for make in (path, star, two_triangles, weighted, disconnected, with_isolated, with_loops, karate)
}


def dense(graph):
    return graph.adjacency.toarray().astype(np.float64)


def scaled(graph, factor):
    """The graph with all weights multiplied, in float64."""
    return Graph(graph.adjacency.astype(np.float64) * factor, graph.nodes)


def planted_partition(sizes, inside, across, seed=0):
    """A graph whose edges are as likely as their ends' communities say; returns it and the communities."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(labels[:, None] == labels, inside, across)
    drawn = np.triu(np.random.default_rng(seed).random(chance.shape) < chance, k=1)
    return Graph(sparse.csr_array((drawn | drawn.T).astype(np.float32))), labels


def random_graph(n, degree, seed=0):
    """A graph with ``n * degree / 2`` edges drawn at random, without a dense matrix."""
    ends = np.random.default_rng(seed).integers(n, size=(2, n * degree // 2))
    return Graph.from_indices(np.arange(n), *ends)
