"""What a model stores of a bipartite graph: vectors of both sides, and the edges between them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.graph import Graph
from boostne.propagation import propagate_in_place
from boostne.sides import Sides

# Vectors are averaged with those of the neighbors once: a second step, which leads back to the same side, was no better
# in trials.
NEIGHBOR_WEIGHT = 0.6
PROPAGATION_STEPS = 1


def propagate_sides(
    graph: Graph, sides: Sides, first: NDArray[Any], second: NDArray[Any], weight: float, threads: int | None
) -> None:
    """Average the vectors of each side with those of its neighbors on the other, in place.

    Parameters
    ----------
    graph : Graph
    sides : ndarray of bool
        Marks the nodes of the first side.
    first, second : ndarray
        Vectors of the nodes of each side, in the order of the graph.
    weight : float
        Weight of the neighbors.
    threads : int, optional
        The result does not depend on it.
    """
    stacked = np.concatenate([first, second])
    rows = np.empty(graph.n_nodes, dtype=np.int64)
    rows[np.concatenate([np.flatnonzero(sides), np.flatnonzero(~sides)])] = np.arange(graph.n_nodes)
    propagate_in_place(graph, stacked, weight, PROPAGATION_STEPS, threads, rows)
    first[:], second[:] = stacked[: len(first)], stacked[len(first) :]


def edges_between(graph: Graph, sides: Sides) -> sparse.csr_array:
    """Return where the edges are: rows are the nodes of the first side, columns those of the second."""
    block = graph.adjacency[sides][:, ~sides]
    block.sort_indices()
    return sparse.csr_array((np.ones(block.nnz, dtype=bool), block.indices, block.indptr), shape=block.shape)
