"""Recommendations: the nodes whose target vectors have the largest products with the vector of a node.

Products with all candidates are estimated by BLAS, whose last bits depend on the position of a vector in its block.
Those that may be among the n largest are then computed in float64, each from two vectors alone.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.embedding import Embedding
from boostne.errors import GraphError
from boostne.graph import Graph
from boostne.models.bipartite import edges_between
from boostne.node_ids import as_ids, format_ids, lookup_ids
from boostne.validation import check_integer

# Queries and candidates that are multiplied at a time: the product is a few megabytes.
QUERIES, CANDIDATES = 64, 1 << 16

# In bipartite graphs, products are divided by this power of the length of a candidate's vector. Popular nodes have long
# vectors, and fill the lists of others otherwise. Chosen on planted graphs.
DAMPING = 1 / 3

Recommendation = tuple[Any, float]


class _Direction(NamedTuple):
    """Nodes to recommend for, nodes to recommend, and the edges between them that are known."""

    queries: Embedding
    candidates: Embedding
    known: sparse.csr_array | None

    def factors(self, damping: float) -> NDArray[Any]:
        """Return what the products with each candidate are multiplied by."""
        lengths: NDArray[Any] = np.linalg.norm(self.candidates.vectors, axis=1)
        lengths[lengths == 0] = 1
        lengths **= -damping
        return lengths


class _Best(NamedTuple):
    """Positions of the best candidates so far, and their scores, best first; ties go to the first candidate."""

    positions: NDArray[np.int64]
    scores: NDArray[np.float64]

    def merged(self, positions: NDArray[np.int64], scores: NDArray[np.float64], n: int) -> "_Best":
        """Return the ``n`` best of these and of further candidates."""
        positions, scores = np.concatenate([self.positions, positions]), np.concatenate([self.scores, scores])
        order = np.lexsort((positions, -scores))[:n]
        return _Best(positions[order], scores[order])


def known_pairs(graph: Graph) -> sparse.csr_array:
    """Return the pairs that are not recommended: edges and, in a directed graph, a node itself."""
    if graph.sides is not None:
        return edges_between(graph, graph.sides)
    return sparse.csr_array(graph.adjacency + sparse.eye_array(graph.n_nodes))


def recommend_nodes(
    sources: Embedding, targets: Embedding, nodes: Any, n: int, known: sparse.csr_array | None, damping: float
) -> list[Recommendation] | list[list[Recommendation]]:
    """Return the best nodes for one node or a list of nodes; see :meth:`InductiveEmbedder.recommend`.

    Parameters
    ----------
    sources, targets : Embedding
    nodes : node id, or list or array of ids
        All among the sources or, if none is, all among the targets.
    n : int
    known : csr_array, optional
        The edges from sources to targets, which are not recommended.
    damping : float
        The power of the length of a candidate's vector that scores are divided by.
    """
    several = isinstance(nodes, list | np.ndarray)
    wanted = as_ids(nodes if several else [nodes])
    check_integer("n", n, 1)
    direction = _Direction(sources, targets, known)
    rows = lookup_ids(sources.nodes, wanted)
    if len(wanted) and (rows < 0).all():
        direction = _Direction(targets, sources, None if known is None else known.T.tocsr())
        rows = lookup_ids(targets.nodes, wanted)
    _check_found(wanted, rows, (sources.nodes, targets.nodes))
    found = list(_best(direction, rows, n, damping))
    return found if several else found[0]


def _check_found(wanted: NDArray[Any], rows: NDArray[np.int64], sides: tuple[NDArray[Any], NDArray[Any]]) -> None:
    """Raise GraphError for unknown nodes, and for nodes of both sides in one call."""
    missing = wanted[rows < 0]
    if not len(missing):
        return
    elsewhere = np.logical_or(*(lookup_ids(side, missing) >= 0 for side in sides))
    if elsewhere.all():
        raise GraphError(f"all nodes must be on the same side; {format_ids(missing)} are on the other")
    raise GraphError(
        f"the model has no nodes {format_ids(missing[~elsewhere])}; it has nodes such as "
        f"{format_ids(sides[0][:1])} and {format_ids(sides[1][:1])}"
    )


def _best(direction: _Direction, rows: NDArray[np.int64], n: int, damping: float) -> Iterator[list[Recommendation]]:
    """Yield the best candidates of each query, a block of queries at a time."""
    from threadpoolctl import threadpool_limits

    queries, candidates, known = direction.queries.vectors, direction.candidates.vectors, direction.known
    factors = direction.factors(damping)
    for begin in range(0, len(rows), QUERIES):
        block = rows[begin : begin + QUERIES]
        best = [_Best(np.empty(0, np.int64), np.empty(0))] * len(block)
        for first in range(0, len(candidates), CANDIDATES):
            at = slice(first, first + CANDIDATES)
            part, scales = candidates[at], factors[at]
            with threadpool_limits(limits=1, user_api="blas"):
                estimates = (queries[block] @ part.T) * scales
            for i, row in enumerate(block):
                if known is not None:
                    taken = known.indices[known.indptr[row] : known.indptr[row + 1]] - first
                    estimates[i, taken[(taken >= 0) & (taken < len(part))]] = 0
                near = _possibly_best(estimates[i], n, queries.shape[1])
                scores = np.einsum("ij,j->i", part[near].astype(np.float64), queries[row].astype(np.float64))
                best[i] = best[i].merged(near + first, scores * scales[near], n)
        for positions, values in best:
            nodes = direction.candidates.nodes[positions].tolist()
            yield list(zip(nodes, values.tolist(), strict=True))


def _possibly_best(estimates: NDArray[Any], n: int, width: int) -> NDArray[np.int64]:
    """Return the positions of the estimates that may belong to the ``n`` largest scores; scores of 0 never do."""
    # Vectors are not negative: a product of 0 says that nothing relates the nodes, and rounding errors are relative.
    error = (width + 8) * float(np.finfo(estimates.dtype).eps)
    least = np.partition(estimates, len(estimates) - n)[len(estimates) - n] if n < len(estimates) else 0
    return np.flatnonzero((estimates >= (1 - 4 * error) * least) & (estimates > 0))
