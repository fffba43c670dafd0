"""Graphs with many nodes are reordered by community for cache locality.

A pass over X reads the rows of V that its columns name. Once V outgrows the cache, each of them is a cache miss unless
neighbors in the graph are close in memory, so nodes are sorted by community, found by label propagation. The result is
the same up to rounding, and up to which of several equal entries a pruned row keeps.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.graph import Graph
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.csr_graph import CSRGraph
from boostne.progress import Progress, ProgressCallback, silent

REORDER_NODES = 50_000  # below this V fits into the cache in any order
MAX_COMMUNITY = 1 << 14  # nodes: with 64 bytes each, their rows of V fit the cache of one core
MAX_ROUNDS = 10
CONVERGED = 0.01  # label propagation stops when fewer nodes than this share change their community

Positions = NDArray[np.int64] | slice


class Permutation(NamedTuple):
    """``original[order]`` is the new order, and ``new[inverse]`` the original one; both may be full slices."""

    order: Positions
    inverse: Positions


@dataclass(frozen=True)
class ReorderedGraph:
    """A graph, and where its nodes were in the original.

    Attributes
    ----------
    graph : Graph
    order : ndarray of int or slice
        ``original.nodes[order]`` are the nodes of the graph; a full slice if it was not reordered.
    inverse : ndarray of int or slice
        ``graph.nodes[inverse]`` are the nodes of the original.
    communities : ndarray of int or None
        The community of each node of the original, numbered from 0; None unless the graph was sorted by them.

    Of a bipartite graph, the first side comes first.
    """

    graph: Graph
    order: Positions = field(default_factory=lambda: slice(None))
    inverse: Positions = field(default_factory=lambda: slice(None))
    communities: NDArray[np.int32] | None = None

    @property
    def column_communities(self) -> NDArray[np.int32] | None:
        """The communities of all nodes of the original, or of those of the second side."""
        if self.communities is None or self.graph.sides is None:
            return self.communities
        return self.communities[~self.graph.sides[self.inverse]]

    @property
    def rows(self) -> Permutation:
        """Where the nodes of the rows of X were: among all nodes, or among those of the first side."""
        return self._within_side(first=True)

    @property
    def columns(self) -> Permutation:
        """Where the nodes of the columns of X were: among all nodes, or among those of the second side."""
        return self._within_side(first=False)

    def _within_side(self, *, first: bool) -> Permutation:
        if self.graph.sides is None or isinstance(self.order, slice):
            return Permutation(self.order, self.inverse)
        positions = self.order[self.graph.sides == first]
        rank = np.empty(self.graph.n_nodes, dtype=np.int64)
        rank[np.sort(positions)] = np.arange(len(positions))
        return Permutation(rank[positions], np.argsort(rank[positions]))

    @property
    def nbytes(self) -> int:
        """Memory beyond that of the original graph."""
        if isinstance(self.order, slice):
            return 0
        labels = 0 if self.communities is None else self.communities.nbytes
        A = self.graph.adjacency
        arrays = (A.data, A.indices, A.indptr, self.graph.nodes, self.order, self.order)
        return labels + sum(array.nbytes for array in arrays)


def reorder(
    graph: Graph, *, reorderable: bool, threads: int | None, progress: ProgressCallback = silent
) -> ReorderedGraph:
    """Reorder a graph with many nodes by community, unless its matrix depends on their order; the first side first."""
    if graph.n_nodes < REORDER_NODES or not reorderable:
        return by_side(graph)
    progress(Progress("connectivity", 0.0, "sorting nodes by community"))
    return by_community(graph, get_kernels(threads=threads))


def by_community(graph: Graph, kernels: Kernels) -> ReorderedGraph:
    """Sort the nodes of a graph by community, ignoring directions; within a community they keep their order."""
    _, labels = np.unique(find_communities(graph, kernels, MAX_COMMUNITY), return_inverse=True)
    communities = labels.astype(np.int32)
    order = np.argsort(communities, kind="stable")
    if graph.sides is not None:
        order = order[np.argsort(~graph.sides[order], kind="stable")]
    return replace(_permuted(graph, order), communities=communities)


def find_communities(graph: Graph, kernels: Kernels, max_size: int) -> NDArray[np.int32]:
    """Label the community of each node, of at most `max_size` nodes, by label propagation; directions are ignored."""
    A = graph.to_undirected().rescaled()[0].adjacency  # float32 has a smaller range than the weights
    arrays = CSRGraph(
        A.indptr.astype(np.int64),
        A.indices.astype(np.int32, copy=False),
        A.data.astype(np.float32, copy=False) if graph.weighted else None,
    )
    return kernels.communities(
        arrays, max_size=max_size, max_rounds=MAX_ROUNDS, tolerated_changes=int(CONVERGED * graph.n_nodes)
    )


def by_side(graph: Graph) -> ReorderedGraph:
    """Put the nodes of the first side of a bipartite graph first; within a side they keep their order."""
    if graph.sides is None:
        return ReorderedGraph(graph)
    return _permuted(graph, np.argsort(~graph.sides, kind="stable"))


def _permuted(graph: Graph, order: NDArray[np.int64]) -> ReorderedGraph:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return ReorderedGraph(graph.permuted(order), order, inverse)
