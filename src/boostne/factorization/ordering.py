"""The order in which the nodes of a large graph are worked on.

A pass over X reads the rows of V that its columns name. Beyond a cache's size each of them is a wait for memory, unless
neighbors in the graph are neighbors in memory: so nodes are sorted by community, found by label propagation. The
result is the same up to rounding, and up to which of equal entries a pruned row keeps; only its making is quicker.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from boostne.graph import Graph
from boostne.kernels import Kernels
from boostne.kernels.csr_graph import CSRGraph

ORDERED_FROM = 50_000  # nodes; below that V fits a cache as it is
LARGEST_COMMUNITY = 1 << 14  # nodes: with 64 bytes each, their rows of V fit the cache of one core
ROUNDS = 10
SETTLED = 0.01  # of the nodes that change their community in a round

Positions = NDArray[np.int64] | slice


@dataclass(frozen=True)
class Ordered:
    """A graph, and where each of its nodes was in the graph that it was made of.

    Attributes
    ----------
    graph : Graph
    rows : ndarray of int or slice
        ``original.nodes[rows]`` are the nodes of the graph; a slice of everything where they stayed.
    back : ndarray of int or slice
        ``graph.nodes[back]`` are the nodes of the original.
    """

    graph: Graph
    rows: Positions = field(default_factory=lambda: slice(None))
    back: Positions = field(default_factory=lambda: slice(None))

    @property
    def nbytes(self) -> int:
        """Memory that the graph takes beside the original."""
        if isinstance(self.rows, slice):
            return 0
        A = self.graph.adjacency
        parts = (A.data, A.indices, A.indptr, self.graph.nodes, self.rows, self.rows)
        return sum(part.nbytes for part in parts)


def by_community(graph: Graph, kernels: Kernels) -> Ordered:
    """Sort the nodes of an undirected graph by community, those of one community as they were."""
    A = graph.adjacency
    arrays = CSRGraph(
        A.indptr.astype(np.int64),
        A.indices.astype(np.int32, copy=False),
        A.data.astype(np.float32, copy=False) if graph.weighted else None,
    )
    communities = kernels.communities(
        arrays,
        max_size=LARGEST_COMMUNITY,
        max_rounds=ROUNDS,
        tolerated_changes=int(SETTLED * graph.n_nodes),
    )
    order = np.argsort(communities, kind="stable")
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return Ordered(Graph(A[order][:, order], graph.nodes[order]), order, back)
