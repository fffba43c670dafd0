"""What a model remembers of the graph that it was fitted to."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import GraphError
from boostne.graph import Graph
from boostne.sides import Sides

SKETCH_WIDTH = 4
_BLOCK_ENTRIES = 1 << 22
_SIDES_REMEDY = ", as with read_graph(path, bipartite=True), as_graph(edges, sides='columns') or with_sides()"


@dataclass(frozen=True, eq=False)
class FittedGraph:
    """Facts about a graph, and digests of the edges of each node, by which changes are found.

    Attributes
    ----------
    fingerprint : str
        See :meth:`boostne.Graph.fingerprint`.
    n_edges : int
    directed, weighted : bool
    neighborhoods : ndarray of uint64
        A digest of the neighbors of each node and of the weights of the edges to them; their order does not matter.
    sketches : ndarray of float64, shape (n, 4)
        Sums of the weights of the edges of each node with random signs, one per neighbor.
    staleness : ndarray of float32
        Share of the walks of each node that lead through edges that changed since its vector was computed.
    sides : ndarray of bool, optional
        Marks the nodes of the first side of a bipartite graph.
    """

    fingerprint: str
    n_edges: int
    directed: bool
    weighted: bool
    neighborhoods: NDArray[np.uint64]
    sketches: NDArray[np.float64]
    staleness: NDArray[np.float32]
    sides: Sides | None = None

    @classmethod
    def of(cls, graph: Graph) -> "FittedGraph":
        """Return the facts about a graph to which a model was just fitted."""
        of_node = _node_digests(graph.nodes)
        return cls(
            fingerprint=graph.fingerprint(),
            n_edges=graph.n_edges,
            directed=graph.directed,
            weighted=graph.weighted,
            neighborhoods=_neighborhood_digests(graph, of_node),
            sketches=_sketches(graph, of_node),
            staleness=np.zeros(graph.n_nodes, np.float32),
            sides=graph.sides,
        )

    def check_kind(self, graph: Graph) -> None:
        """Raise GraphError unless a graph has direction, weights and sides as the model's graph."""
        for (kind, other), ours, theirs in (
            (("directed", "undirected"), self.directed, graph.directed),
            (("weighted", "unweighted"), self.weighted, graph.weighted),
            (("bipartite", "not bipartite"), self.sides is not None, graph.sides is not None),
        ):
            if ours != theirs:
                names = [kind if is_so else other for is_so in (theirs, ours)]
                raise GraphError(
                    f"the graph is {names[0]}, and the model was fitted to a graph that is {names[1]}: pass a graph of "
                    f"the same kind{_SIDES_REMEDY if kind == 'bipartite' else ''}, or fit a new model"
                )


def neighborhood_digests(graph: Graph) -> NDArray[np.uint64]:
    """Return a digest of the neighbors of each node, the same in every process and for every order of the nodes."""
    return _neighborhood_digests(graph, _node_digests(graph.nodes))


def changed_shares(
    graph: Graph, sketches: NDArray[np.float64], before: NDArray[np.float64], rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Estimate the share of each node's edges that changed, from 0 to 1, which it is for new nodes.

    The squared difference of two sums with random signs is expected to be the sum of squared differences of weights
    (Alon, Matias and Szegedy 1999): without weights, the number of edges that were added or removed.

    Parameters
    ----------
    graph : Graph
    sketches : ndarray
        Of the graph; see :class:`FittedGraph`.
    before : ndarray
        Sketches of the graph before.
    rows : ndarray of int
        The row of each node in ``before``, or -1 for new nodes.
    """
    scaled, unit = graph.rescaled()
    A, known = scaled.adjacency, rows >= 0
    squares = sparse.csr_array((np.square(A.data, dtype=np.float64), A.indices, A.indptr), shape=A.shape).sum(axis=1)
    shares = np.ones(len(rows))
    differences = np.mean(((sketches[known] - before[rows[known]]) / unit) ** 2, axis=1)
    has_edges = squares[known] > 0
    shares[known] = np.divide(differences, squares[known], out=(differences > 0).astype(np.float64), where=has_edges)
    return np.minimum(shares, 1)


def _neighborhood_digests(graph: Graph, of_node: NDArray[np.uint64]) -> NDArray[np.uint64]:
    digests = _row_digests(graph.adjacency, of_node)
    if graph.directed:  # incoming edges, which differ from outgoing ones
        digests += _row_digests(graph.adjacency.T.tocsr(), _mix(of_node))
    return digests


def _row_digests(A: sparse.csr_array, of_node: NDArray[np.uint64]) -> NDArray[np.uint64]:
    n = A.shape[0]
    found = np.empty(n, np.uint64)
    first = 0
    while first < n:  # in blocks: a digest per edge can take more memory than the graph
        last = int(np.searchsorted(A.indptr, A.indptr[first] + _BLOCK_ENTRIES, side="right")) - 1
        last = max(last, first + 1)
        ends = A.indptr[first : last + 1]
        entries = slice(ends[0], ends[-1])
        weights = A.data[entries].astype(np.float64).view(np.uint64)
        # The sum of no digests is 0, and differences of sums are right modulo 2^64.
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mix(of_node[A.indices[entries]] ^ weights))])
        found[first:last] = np.diff(sums[ends - ends[0]])
        first = last
    return found


def _sketches(graph: Graph, of_node: NDArray[np.uint64]) -> NDArray[np.float64]:
    bits = (_mix(of_node)[:, None] >> np.arange(SKETCH_WIDTH, dtype=np.uint64)) & np.uint64(1)
    scaled, unit = graph.rescaled()
    return np.asarray(unit * (scaled.adjacency @ (2.0 * bits.astype(np.float64) - 1.0)))


def _node_digests(nodes: NDArray[Any]) -> NDArray[np.uint64]:
    if nodes.dtype.kind == "i":
        return _mix(nodes.astype(np.uint64))
    digests = (hashlib.blake2b(repr(node).encode("utf-8", "surrogatepass"), digest_size=8) for node in nodes.tolist())
    return np.frombuffer(b"".join(digest.digest() for digest in digests), dtype="<u8").astype(np.uint64)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit numbers: the finalizer of SplitMix64."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
