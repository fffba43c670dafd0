"""The graph that all other parts take: a sparse matrix, the ids of its rows, its direction."""

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.edges import (
    as_weights,
    asymmetry,
    canonical,
    entry,
    first_bad_weight,
    from_coordinates,
    merge_edges,
    symmetrized,
)
from boostne.errors import GraphError
from boostne.node_ids import as_ids, encode, first_repeated, positions, show
from boostne.validation import check_choice

Duplicates = Literal["once", "sum"]
SelfLoops = Literal["drop", "keep"]

logger = logging.getLogger("boostne")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph with non-negative weights; row and column ``i`` of the adjacency belong to ``nodes[i]``.

    Parameters
    ----------
    adjacency
        Square sparse or dense matrix; entry ``(i, j)`` is the weight of the edge from ``i`` to ``j``, zero
        means no edge. It is copied. ``float32`` and ``float64`` are kept; booleans and integers become
        ``float32`` where that is exact and ``float64`` otherwise.
    nodes
        Ids of the rows, unique; ``0 … n-1`` where not given. Stored as ``int64``, as strings, or as objects.
    directed
        False asks for a symmetric matrix, which is checked. Differences in the last bits are evened out.

    Notes
    -----
    The adjacency is a ``csr_array`` with sorted indices, no duplicates and no stored zeros. Its arrays are
    read-only: a graph does not change after it was made. A self-loop of weight ``w`` is one entry ``w`` on
    the diagonal.

    Examples
    --------
    >>> graph = Graph.from_edges(["a", "b", "c"], ["b", "c", "a"])
    >>> graph
    Graph(3 nodes, 3 edges, undirected, unweighted)
    >>> graph.degrees
    array([2., 2., 2.])
    """

    adjacency: sparse.csr_array
    nodes: NDArray[Any] = None  # type: ignore[assignment]
    directed: bool = False

    def __post_init__(self) -> None:
        adjacency = canonical(self.adjacency)
        n = adjacency.shape[0]
        nodes = np.arange(n) if self.nodes is None else as_ids(self.nodes).copy()
        if len(nodes) != n:
            raise GraphError(f"the adjacency has {n} rows but {len(nodes)} node ids were given")
        repeated = first_repeated(nodes)
        if repeated is not None:
            raise GraphError(f"the node id {repeated!r} occurs more than once; ids must be unique")
        _check_weights(adjacency.data, nodes, lambda k: entry(adjacency, k))
        if not self.directed:
            _check_symmetric(adjacency, nodes)
            adjacency = symmetrized(adjacency)
        self._store(adjacency, nodes, directed=bool(self.directed))

    @classmethod
    def _from_canonical(cls, adjacency: sparse.csr_array, nodes: NDArray[Any], *, directed: bool) -> "Graph":
        """Wrap a canonical matrix and unique ids that the graph may own, without checking or copying them."""
        graph = object.__new__(cls)
        graph._store(adjacency, nodes, directed=directed)
        return graph

    def _store(self, adjacency: sparse.csr_array, nodes: NDArray[Any], *, directed: bool) -> None:
        for array in (adjacency.data, adjacency.indices, adjacency.indptr, nodes):
            array.flags.writeable = False
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "directed", directed)

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
    ) -> "Graph":
        """Make a graph from the two ends of each edge.

        Parameters
        ----------
        source, target
            Ids of the ends: integers, strings or other hashable objects, as arrays, lists or Arrow columns.
        weight
            Weight of each edge; 1 where not given. An edge of weight 0 is no edge, but its ends are nodes.
        nodes
            All ids in the order wanted; ids without an edge become isolated nodes, an end that is not among
            them is an error. Where not given: the ids that occur, sorted, so that the order of the edges does
            not matter.
        directed
            False makes ``(u, v)`` and ``(v, u)`` the same edge.
        duplicates
            What becomes of an edge listed several times: ``"once"`` keeps it once, with the largest of its
            weights; ``"sum"`` adds the weights.
        self_loops
            ``"drop"`` leaves them out and logs their number (their nodes stay); ``"keep"`` keeps them.

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
            ids, (u, v) = encode(source, target)
        else:
            ids = as_ids(nodes)
            u, v = _locate(ids, source), _locate(ids, target)
        return cls.from_indices(
            ids, u, v, weight, directed=directed, duplicates=duplicates, self_loops=self_loops
        )

    @classmethod
    def from_indices(
        cls,
        nodes: Any,
        source: NDArray[np.int64],
        target: NDArray[np.int64],
        weight: Any = None,
        *,
        directed: bool = False,
        duplicates: Duplicates = "once",
        self_loops: SelfLoops = "drop",
    ) -> "Graph":
        """Make a graph from edges whose ends are positions in ``nodes``; otherwise as :meth:`from_edges`.

        Examples
        --------
        >>> Graph.from_indices(["x", "y", "z"], np.array([0]), np.array([2])).isolated
        array([1])
        """
        check_choice("duplicates", duplicates, ("once", "sum"))
        check_choice("self_loops", self_loops, ("drop", "keep"))
        ids = as_ids(nodes)
        u, v = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
        weights = None if weight is None else as_weights(weight)
        lengths = [len(column) for column in (u, v, weights) if column is not None]
        if len(set(lengths)) > 1:
            raise GraphError(f"source, target and weight must be equally long, got {lengths}")
        if weights is not None:
            _check_weights(weights, ids, lambda k: (int(u[k]), int(v[k])))
        if self_loops == "drop":
            u, v, weights = _drop_loops(u, v, weights)
        if not directed:
            u, v = np.minimum(u, v), np.maximum(u, v)
        n = max(len(ids), 1)
        keys, values = merge_edges(u * n + v, weights, add=duplicates == "sum")
        matrix = from_coordinates(keys // n, keys % n, values, len(ids), mirrored=not directed)
        return cls(matrix, ids, directed)

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
        """Number of nodes with an edge to themselves."""
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
        """Positions of the nodes without any edge, in either direction; a self-loop is an edge."""
        touched = np.diff(self.adjacency.indptr) > 0
        touched[self.adjacency.indices] = True
        return np.flatnonzero(~touched)

    @property
    def n_components(self) -> int:
        """Number of connected components; for a directed graph, of weakly connected ones."""
        from scipy.sparse.csgraph import connected_components

        return int(connected_components(self.adjacency, directed=self.directed, return_labels=False))

    def index(self, ids: Any) -> NDArray[np.int64]:
        """Return the rows of the given ids; an unknown id is a :class:`~boostne.errors.GraphError`.

        Examples
        --------
        >>> Graph.from_edges([10, 20], [20, 30]).index([30, 10])
        array([2, 0])
        """
        return _locate(self.nodes, ids)

    def to_undirected(self, reduce: Literal["max", "sum"] = "max") -> "Graph":
        """Return the graph without direction.

        Parameters
        ----------
        reduce
            How the weights of ``(u, v)`` and ``(v, u)`` become one: ``"max"`` keeps the larger, so an
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
            return Graph(A.maximum(A.T), self.nodes)
        return Graph(A + A.T - sparse.diags_array(A.diagonal(), dtype=A.dtype), self.nodes)

    def without_isolated(self) -> "Graph":
        """Return the graph without the nodes that have no edge."""
        keep = np.ones(self.n_nodes, dtype=bool)
        keep[self.isolated] = False
        if keep.all():
            return self
        return Graph(self.adjacency[keep][:, keep], self.nodes[keep], self.directed)

    def without_self_loops(self) -> "Graph":
        """Return the graph without its self-loops; the nodes stay."""
        if not self.n_self_loops:
            return self
        A = self.adjacency.tocoo()
        keep = A.row != A.col
        kept = sparse.coo_array((A.data[keep], (A.row[keep], A.col[keep])), shape=A.shape)
        return Graph(kept, self.nodes, self.directed)

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
        rows = self.adjacency[order]
        position = np.empty(self.n_nodes, dtype=rows.indices.dtype)
        position[order] = np.arange(self.n_nodes)
        adjacency = sparse.csr_array((rows.data, position[rows.indices], rows.indptr), shape=rows.shape)
        adjacency.sort_indices()
        return Graph._from_canonical(adjacency, self.nodes[order], directed=self.directed)

    def fingerprint(self) -> str:
        """Return a SHA-256 of ids, edges, weights and direction, the same in every process.

        For ids that are neither integers nor strings it is as stable as their ``repr``.
        """
        digest = hashlib.sha256(f"graph 1 {self.n_nodes} {self.directed} {self.nodes.dtype.kind}\n".encode())
        if self.nodes.dtype.kind == "i":
            digest.update(self.nodes.astype("<i8").tobytes())
        else:
            digest.update(json.dumps([repr(node) for node in self.nodes.tolist()]).encode())
        digest.update(self.adjacency.indptr.astype("<i8").tobytes())
        digest.update(self.adjacency.indices.astype("<i8").tobytes())
        digest.update(self.adjacency.data.astype("<f8").tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        direction = "directed" if self.directed else "undirected"
        weights = "weighted" if self.weighted else "unweighted"
        return f"Graph({self.n_nodes} nodes, {self.n_edges} edges, {direction}, {weights})"


def _check_weights(
    weights: NDArray[Any], nodes: NDArray[Any], ends: Callable[[int], tuple[int, int]]
) -> None:
    bad = first_bad_weight(weights)
    if bad is not None:
        position, problem = bad
        raise GraphError(f"the edge ({show(nodes[list(ends(position))])}) has {problem}")


def _check_symmetric(adjacency: sparse.csr_array, nodes: NDArray[Any]) -> None:
    place = asymmetry(adjacency)
    if place is not None:
        i, j = place
        raise GraphError(
            f"the graph is directed: the edge ({show(nodes[[i, j]])}) has weight {adjacency[i, j]}, "
            f"its reverse {adjacency[j, i]}; pass directed=True, and call to_undirected() on the result "
            "to give up the direction"
        )


def _locate(nodes: NDArray[Any], ids: Any) -> NDArray[np.int64]:
    wanted = as_ids(ids)
    found = positions(nodes, wanted)
    unknown = wanted[found < 0]
    if len(unknown):
        kinds = {"i": "integers", "U": "strings"}
        raise GraphError(
            f"not among the graph's nodes: {show(unknown)}; "
            f"its {len(nodes)} ids are {kinds.get(nodes.dtype.kind, 'objects')} such as {show(nodes[:1])}"
        )
    return found


def _drop_loops(
    u: NDArray[np.int64], v: NDArray[np.int64], weights: NDArray[Any] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]:
    keep = u != v
    loops = len(keep) - int(np.count_nonzero(keep))
    if not loops:
        return u, v, weights
    logger.info("dropped %d self-loop%s; self_loops='keep' keeps them", loops, "" if loops == 1 else "s")
    return u[keep], v[keep], None if weights is None else weights[keep]
