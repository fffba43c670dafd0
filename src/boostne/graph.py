"""The graph: a sparse adjacency matrix, the ids of its nodes, and its direction."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.adjacency_builder import edges_to_csr, permuted_csr, without_diagonal
from boostne.array_chunks import hash_array, mark
from boostne.edges import (
    as_positions,
    as_weights,
    canonical_csr,
    drop_self_loops,
    entry_position,
    symmetrize,
    weight_unit,
)
from boostne.errors import GraphError
from boostne.graph_checks import asymmetry_error, check_edge_arrays, check_unique, check_weights, find_nodes
from boostne.html import sparkline, summary
from boostne.integer_ids import Integers
from boostne.node_ids import as_ids, encode_ids, format_ids
from boostne.sides import Sides, as_sides, check_sides
from boostne.validation import check_choice

Duplicates = Literal["once", "sum"]
SelfLoops = Literal["drop", "keep"]


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph with non-negative weights; row and column ``i`` of the adjacency belong to ``nodes[i]``.

    Parameters
    ----------
    adjacency
        Square sparse or dense matrix; entry ``(i, j)`` is the weight of the edge from ``i`` to ``j``, zero
        means no edge. It is copied. ``float32`` and ``float64`` are kept; booleans and integers become
        ``float32`` if that is exact and ``float64`` otherwise.
    nodes
        Unique ids of the rows; by default ``0 … n-1``. Stored as ``int64``, as strings, or as objects.
    directed
        False requires a symmetric matrix; differences in the last bits are averaged out. None makes the graph
        directed unless the matrix is symmetric.
    sides
        For a bipartite graph, which is undirected: the ids of the nodes of one side, the first, or a boolean mask of
        the nodes. An edge between two nodes of the same side is an error.

    Attributes
    ----------
    sides
        Mask of the nodes of the first side; None if the graph has no sides.

    Notes
    -----
    The adjacency is a ``csr_array`` with sorted indices, no duplicates and no stored zeros. A graph is
    immutable: its arrays are read-only. A self-loop of weight ``w`` is one entry ``w`` on the diagonal.

    Examples
    --------
    >>> graph = Graph.from_edges(["a", "b", "c"], ["b", "c", "a"])
    >>> graph
    Graph(3 nodes, 3 edges, undirected, unweighted)
    >>> graph.degrees
    array([2., 2., 2.])
    """

    adjacency: sparse.csr_array
    nodes: NDArray[Any]
    directed: bool
    sides: Sides | None

    def __init__(self, adjacency: Any, nodes: Any = None, directed: bool | None = False, *, sides: Any = None) -> None:
        matrix = canonical_csr(adjacency)
        n = matrix.shape[0]
        ids = np.arange(n) if nodes is None else as_ids(nodes).copy()
        if len(ids) != n:
            raise GraphError(f"the adjacency has {n} rows but {len(ids)} node ids were given")
        check_unique(ids)
        check_weights(matrix.data, ids, lambda k: entry_position(matrix, k))
        symmetric = None if directed else symmetrize(matrix)
        if symmetric is None and not (directed or directed is None):
            raise asymmetry_error(matrix, ids)
        matrix = matrix if symmetric is None else symmetric
        marked = as_sides(sides, ids)
        check_sides(marked, matrix, ids, directed=symmetric is None)
        self._store(matrix, ids, symmetric is None, marked)

    @classmethod
    def _from_canonical(
        cls, adjacency: sparse.csr_array, nodes: NDArray[Any], *, directed: bool, sides: Sides | None = None
    ) -> "Graph":
        """Wrap a canonical matrix, unique ids and sides without checking or copying them."""
        graph = object.__new__(cls)
        graph._store(adjacency, nodes, directed, sides)
        return graph

    def _store(self, adjacency: sparse.csr_array, nodes: NDArray[Any], directed: bool, sides: Sides | None) -> None:
        for array in (adjacency.data, adjacency.indices, adjacency.indptr, nodes, sides):
            if array is not None:
                array.flags.writeable = False
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "directed", directed)
        object.__setattr__(self, "sides", sides)

    @classmethod
    def from_edges(
        cls,
        source: Any,
        target: Any,
        weight: Any = None,
        *,
        nodes: Any = None,
        directed: bool = False,
        duplicates: Duplicates = "once",
        self_loops: SelfLoops = "drop",
        sides: Any = None,
    ) -> "Graph":
        """Build a graph from the two endpoints of each edge.

        Parameters
        ----------
        source, target
            Ids of the endpoints: integers, strings or other hashable objects, as arrays, lists or Arrow columns.
        weight
            Weight of each edge, 1 by default. An edge of weight 0 is no edge, but its endpoints are nodes.
        nodes
            All node ids in the desired order; ids without an edge become isolated nodes, and an unknown endpoint
            is an error. By default the ids that occur, sorted, so that the order of the edges does not matter.
        directed
            False makes ``(u, v)`` and ``(v, u)`` the same edge.
        duplicates
            ``"once"`` keeps an edge that is listed several times once, with its largest weight; ``"sum"`` adds
            the weights.
        self_loops
            ``"drop"`` removes self-loops, but not their nodes, and warns of it; ``"keep"`` keeps them.
        sides
            For a bipartite graph: ``"columns"`` if the sources are one side and the targets the other, which then
            share no id; or the nodes of one side, as for :class:`Graph`.

        Examples
        --------
        >>> Graph.from_edges([1, 2, 2], [2, 1, 3]).adjacency.toarray()
        array([[0., 1., 0.],
               [1., 0., 1.],
               [0., 1., 0.]], dtype=float32)
        >>> Graph.from_edges([1, 2, 2], [2, 1, 3], duplicates="sum").adjacency.max()
        np.float32(2.0)
        """
        if nodes is None:
            ids, (u, v) = encode_ids(source, target)
        else:
            ids = as_ids(nodes)
            u, v = find_nodes(ids, source), find_nodes(ids, target)
        return cls.from_indices(
            ids, u, v, weight, directed=directed, duplicates=duplicates, self_loops=self_loops, sides=sides
        )

    @classmethod
    def from_indices(
        cls,
        nodes: Any,
        source: Integers,
        target: Integers,
        weight: Any = None,
        *,
        directed: bool = False,
        duplicates: Duplicates = "once",
        self_loops: SelfLoops = "drop",
        sides: Any = None,
    ) -> "Graph":
        """Build a graph from edges whose endpoints are positions in ``nodes``; see :meth:`from_edges`.

        Examples
        --------
        >>> Graph.from_indices(["x", "y", "z"], np.array([0]), np.array([2])).isolated
        array([1])
        """
        check_choice("duplicates", duplicates, ("once", "sum"))
        check_choice("self_loops", self_loops, ("drop", "keep"))
        ids = as_ids(nodes).copy()
        u, v = as_positions("source", source), as_positions("target", target)
        weights = None if weight is None else as_weights(weight)
        check_edge_arrays(ids, u, v, weights)
        marked = as_sides(sides, ids, (u, v))
        if self_loops == "drop":
            u, v, weights = drop_self_loops(u, v, weights)
        adjacency = edges_to_csr(u, v, weights, len(ids), mirrored=not directed, add=duplicates == "sum")
        if weights is not None and duplicates == "sum":  # sums can overflow
            check_weights(adjacency.data, ids, lambda k: entry_position(adjacency, k))
        check_unique(ids)
        check_sides(marked, adjacency, ids, directed=bool(directed))
        return cls._from_canonical(adjacency, ids, directed=bool(directed), sides=marked)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge and a self-loop count once."""
        if self.directed:
            return int(self.adjacency.nnz)
        return int(self.adjacency.nnz + self.n_self_loops) // 2

    @property
    def n_self_loops(self) -> int:
        """Number of self-loops."""
        return int(np.count_nonzero(self.adjacency.diagonal()))

    @property
    def weighted(self) -> bool:
        """Whether any edge has a weight other than 1."""
        return bool(np.any(self.adjacency.data != 1))

    @property
    def degrees(self) -> NDArray[np.float64]:
        """Weighted (out-)degree of each node: the row sums of the adjacency."""
        return np.asarray(self.adjacency.sum(axis=1, dtype=np.float64))

    @property
    def volume(self) -> float:
        """Sum of all degrees, ``vol(G)``."""
        return float(self.adjacency.data.sum(dtype=np.float64))

    @property
    def isolated(self) -> NDArray[np.int64]:
        """Positions of the nodes without incoming or outgoing edges; a self-loop is an edge."""
        touched = np.diff(self.adjacency.indptr) > 0
        if self.directed:
            touched |= mark(self.n_nodes, self.adjacency.indices)
        return np.flatnonzero(~touched)

    @property
    def n_components(self) -> int:
        """Number of (weakly) connected components."""
        from scipy.sparse.csgraph import connected_components

        return int(connected_components(self.adjacency, directed=self.directed, return_labels=False))

    def index(self, ids: Any) -> NDArray[np.int64]:
        """Return the rows of the given ids; raises :class:`~boostne.errors.GraphError` for unknown ids.

        Examples
        --------
        >>> Graph.from_edges([10, 20], [20, 30]).index([30, 10])
        array([2, 0])
        """
        return find_nodes(self.nodes, ids)

    def to_directed(self) -> "Graph":
        """Return a directed graph in which each undirected edge is an edge in both directions."""
        if self.sides is not None:
            raise GraphError("a graph with sides is undirected; call with_sides(None) before to_directed()")
        return self if self.directed else Graph._from_canonical(self.adjacency, self.nodes, directed=True)

    def with_sides(self, sides: Any) -> "Graph":
        """Return the graph as a bipartite one, with the given nodes as its first side; None drops the sides.

        Examples
        --------
        >>> Graph.from_edges(["ann", "bob"], ["tea", "tea"]).with_sides(["ann", "bob"])
        Graph(2 + 1 nodes, 2 edges, bipartite, unweighted)
        """
        marked = as_sides(sides, self.nodes)
        check_sides(marked, self.adjacency, self.nodes, directed=self.directed)
        return Graph._from_canonical(self.adjacency, self.nodes, directed=self.directed, sides=marked)

    def to_undirected(self, reduce: Literal["max", "sum"] = "max") -> "Graph":
        """Return the graph without edge directions.

        Parameters
        ----------
        reduce
            How to combine the weights of ``(u, v)`` and ``(v, u)``: ``"max"`` keeps the larger, so that an
            unweighted graph stays unweighted; ``"sum"`` adds them. Self-loops keep their weight.

        Examples
        --------
        >>> Graph.from_edges([0, 1], [1, 0], directed=True).to_undirected()
        Graph(2 nodes, 1 edges, undirected, unweighted)
        """
        check_choice("reduce", reduce, ("max", "sum"))
        if not self.directed:
            return self
        A = self.adjacency
        if reduce == "max":
            undirected = A.maximum(A.T)
        else:
            undirected = A + A.T - sparse.diags_array(A.diagonal(), dtype=A.dtype)
            check_weights(undirected.data, self.nodes, lambda k: entry_position(undirected, k))
        # SciPy's result can be a view of larger arrays: copy it.
        return Graph._from_canonical(undirected.copy(), self.nodes, directed=False)

    def without_isolated(self) -> "Graph":
        """Return the graph without its isolated nodes."""
        keep = np.ones(self.n_nodes, dtype=bool)
        keep[self.isolated] = False
        if keep.all():
            return self
        return self._derived(self.adjacency[keep][:, keep], keep)

    def without_self_loops(self) -> "Graph":
        """Return the graph without its self-loops; their nodes stay."""
        if not self.n_self_loops:
            return self
        return self._derived(without_diagonal(self.adjacency, equal_values=not self.weighted))

    def permuted(self, order: NDArray[np.int64]) -> "Graph":
        """Return the graph with its nodes reordered: node ``i`` of the result is node ``order[i]`` of this graph.

        Parameters
        ----------
        order
            A permutation of ``0 … n_nodes - 1``; this is not checked.

        Examples
        --------
        >>> graph = Graph.from_edges(["a", "b"], ["b", "c"], [1, 2])
        >>> graph.permuted(np.array([2, 0, 1])).nodes
        array(['c', 'a', 'b'], dtype='<U1')
        """
        return self._derived(permuted_csr(self.adjacency, order, equal_values=not self.weighted), order)

    def rescaled(self) -> tuple["Graph", float]:
        """Return the graph with its weights divided by a unit close to their mean, and the unit.

        The unit is 1 unless weights are so small or large that sums or products would underflow or overflow. It is a
        power of 4, so that neither dividing by it nor square roots round differently.
        """
        A, unit = self.adjacency, weight_unit(self.adjacency.data)
        if unit == 1:
            return self, 1.0
        data = A.data.astype(np.float64) / unit
        matrix = sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)
        return self._derived(matrix), unit

    def _derived(self, adjacency: sparse.csr_array, nodes: Any = slice(None)) -> "Graph":
        """Return a graph with some of the nodes of this one, their sides, and other edges."""
        sides = None if self.sides is None else self.sides[nodes]
        return Graph._from_canonical(adjacency, self.nodes[nodes], directed=self.directed, sides=sides)

    def fingerprint(self) -> str:
        """Return a SHA-256 digest of ids, edges, weights, direction and sides that is the same in every process.

        Ids that are neither integers nor strings are hashed by their ``repr``.
        """
        digest = hashlib.sha256(f"graph 1 {self.n_nodes} {self.directed} {self.nodes.dtype.kind}\n".encode())
        if self.nodes.dtype.kind == "i":
            hash_array(digest, self.nodes, "<i8")
        else:
            digest.update(json.dumps([repr(node) for node in self.nodes.tolist()]).encode())
        hash_array(digest, self.adjacency.indptr, "<i8")
        hash_array(digest, self.adjacency.indices, "<i8")
        hash_array(digest, self.adjacency.data, "<f8")
        if self.sides is not None:
            digest.update(b"sides" + self.sides.tobytes())
        return digest.hexdigest()

    @property
    def _kind(self) -> str:
        direction = "directed" if self.directed else "undirected"
        return f"{direction if self.sides is None else 'bipartite'}, {'weighted' if self.weighted else 'unweighted'}"

    def __repr__(self) -> str:
        if self.sides is None:
            return f"Graph({self.n_nodes} nodes, {self.n_edges} edges, {self._kind})"
        first = int(np.count_nonzero(self.sides))
        return f"Graph({first} + {self.n_nodes - first} nodes, {self.n_edges} edges, {self._kind})"

    def _repr_html_(self) -> str:
        n_isolated = len(self.isolated)
        facts = {
            "nodes": f"{self.n_nodes:,}" + (f", of which {n_isolated:,} have no edges" if n_isolated else ""),
            "edges": f"{self.n_edges:,}",
            "kind": self._kind,
            "ids": format_ids(self.nodes),
        }
        degrees = np.diff(self.adjacency.indptr)
        counts = np.bincount(np.frexp(degrees[degrees > 0])[1], minlength=2)[1:]
        return summary("Graph", facts, sparkline(counts.tolist(), "nodes with 1, 2–3, 4–7, 8–15, … edges"))
