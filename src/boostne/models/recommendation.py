"""Recommendations: the nodes with the largest scores, which are products of two vectors.

In a bipartite graph the vector of one of them is multiplied by a matrix M first, which is fitted to the edges.

Scores of all candidates are estimated by BLAS, whose last bits depend on the position of a vector in its block. Those
that may be among the n largest are then computed in float64; the power of a candidate's length, by which scores of a
bipartite graph are divided, is rounded to the type of the vectors and may depend on its position.
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

# In bipartite graphs, scores are divided by this power of the length of a candidate's vector. Popular nodes have long
# vectors, and fill the lists of others otherwise. This and RIDGE were chosen on planted graphs.
DAMPING = 0.6
RIDGE = 0.005  # of the squared norm of all vectors
ROWS = 1 << 14  # of a block whose products are computed at a time

Recommendation = tuple[Any, float]


class _Direction(NamedTuple):
    """Nodes to recommend for, nodes to recommend, the edges between them that are known, and M if there is one."""

    queries: Embedding
    candidates: Embedding
    known: sparse.csr_array | None
    score_map: NDArray[np.float64] | None

    def reversed(self) -> "_Direction":
        """Return the same with both sides exchanged."""
        known = None if self.known is None else self.known.T.tocsr()
        return _Direction(self.candidates, self.queries, known, None if self.score_map is None else self.score_map.T)

    def mapped(self, row: int) -> NDArray[np.float64]:
        """Return the vector of a query times M."""
        vector = self.queries.vectors[row].astype(np.float64)
        # Not by BLAS, whose last bits may depend on the alignment of a row.
        mapped: NDArray[np.float64] = vector if self.score_map is None else np.einsum("i,ij->j", vector, self.score_map)
        return mapped

    def factors(self) -> NDArray[Any]:
        """Return what the products with each candidate are multiplied by: ``(v (M^T M)^1/2 v^T)^(-DAMPING / 2)``."""
        vectors = self.candidates.vectors
        if self.score_map is None:
            return np.ones(len(vectors), vectors.dtype)
        values, directions = np.linalg.eigh(self.score_map.T @ self.score_map)
        root = (directions * np.maximum(values, 0) ** 0.25).astype(vectors.dtype)
        lengths = np.concatenate(
            [np.linalg.norm(vectors[i : i + ROWS] @ root, axis=1) for i in range(0, len(vectors), ROWS)]
        )
        return np.where(lengths > 0, lengths, 1) ** -DAMPING


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


def fit_score_map(known: sparse.csr_array, U: NDArray[Any], V: NDArray[Any]) -> NDArray[np.float64]:
    """Return the matrix M with which ``U M V^T`` predicts the edges A of a bipartite graph.

    ``M = (U^T U + λ_U I)^-1 U^T A V (V^T V + λ_V I)^-1``, ``λ_U = RIDGE ||U||_F²``, likewise for V: ridge regressions
    of the edges on the vectors of both sides. Non-negative vectors of all nodes have much in common, above all if
    there are fewer dimensions than communities; M weakens that and amplifies what tells nodes apart.
    """
    from threadpoolctl import threadpool_limits

    blocks = range(0, len(U), ROWS)
    with threadpool_limits(limits=1, user_api="blas"):  # the bits must not depend on the number of threads
        product = sum(U[i : i + ROWS].T.astype(np.float64) @ (known[i : i + ROWS] @ V) for i in blocks)
        left = np.linalg.pinv(_ridge_gram(U), hermitian=True)
        right = np.linalg.pinv(_ridge_gram(V), hermitian=True)
        score_map: NDArray[np.float64] = left @ product @ right
    return score_map


def _ridge_gram(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``X^T X + λ I``."""
    gram = np.zeros((X.shape[1],) * 2)
    for i in range(0, len(X), ROWS):
        block = X[i : i + ROWS].astype(np.float64)
        gram += block.T @ block
    gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram)
    return gram


def recommend_nodes(
    sources: Embedding,
    targets: Embedding,
    nodes: Any,
    n: int,
    known: sparse.csr_array | None,
    score_map: NDArray[np.float64] | None,
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
    score_map : ndarray of shape (d, d), optional
        M of a bipartite graph, from :func:`fit_score_map`.
    """
    several = isinstance(nodes, list | np.ndarray)
    wanted = as_ids(nodes if several else [nodes])
    check_integer("n", n, 1)
    direction = _Direction(sources, targets, known, score_map)
    rows = lookup_ids(sources.nodes, wanted)
    if len(wanted) and (rows < 0).all():
        direction = direction.reversed()
        rows = lookup_ids(targets.nodes, wanted)
    _check_found(wanted, rows, (sources.nodes, targets.nodes))
    found = list(_best(direction, rows, n))
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


def _best(direction: _Direction, rows: NDArray[np.int64], n: int) -> Iterator[list[Recommendation]]:
    """Yield the best candidates of each query, a block of queries at a time."""
    from threadpoolctl import threadpool_limits

    candidates, known = direction.candidates.vectors, direction.known
    with threadpool_limits(limits=1, user_api="blas"):
        factors = direction.factors()
    for begin in range(0, len(rows), QUERIES):
        block = rows[begin : begin + QUERIES]
        queries = np.array([direction.mapped(row) for row in block])
        rounded: NDArray[Any] = queries.astype(candidates.dtype)
        best = [_Best(np.empty(0, np.int64), np.empty(0))] * len(block)
        for first in range(0, len(candidates), CANDIDATES):
            at = slice(first, first + CANDIDATES)
            part, scales = candidates[at], factors[at]
            bounds = _rounding_error(part) * scales * np.linalg.norm(part, axis=1)
            with threadpool_limits(limits=1, user_api="blas"):
                estimates = (rounded @ part.T) * scales
            for i, (row, query) in enumerate(zip(block, queries, strict=True)):
                if known is not None:
                    taken = known.indices[known.indptr[row] : known.indptr[row + 1]] - first
                    estimates[i, taken[(taken >= 0) & (taken < len(part))]] = 0
                errors = bounds * np.linalg.norm(query)
                near = _possibly_best(estimates[i], errors, n)
                scores = scales[near] * np.einsum("ij,j->i", part[near].astype(np.float64), query)
                # Without M there is no cancellation; with it, a small score may be a rounding error.
                positive = scores > (0 if direction.score_map is None else errors[near])
                best[i] = best[i].merged(near[positive] + first, scores[positive], n)
        for positions, values in best:
            nodes = direction.candidates.nodes[positions].tolist()
            yield list(zip(nodes, values.tolist(), strict=True))


def _rounding_error(vectors: NDArray[Any]) -> float:
    """Return a bound on the error of an estimated product, relative to the product of both lengths."""
    error: float = 2 * (vectors.shape[1] + 8) * float(np.finfo(vectors.dtype).eps)
    return error


def _possibly_best(estimates: NDArray[Any], errors: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Return the positions of estimates that may belong to the ``n`` largest scores; scores of 0 never do."""
    lower = estimates - errors
    least = np.partition(lower, len(lower) - n)[len(lower) - n] if n < len(lower) else -np.inf
    return np.flatnonzero((estimates + errors >= least) & (estimates > 0))
