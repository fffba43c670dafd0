"""Vectors for new nodes of a graph, from the context vectors of a fitted model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.embedding import Embedding
from boostne.errors import InputWarning, ParameterError, warn_caller
from boostne.factorization.folding import fold_in
from boostne.graph import Graph
from boostne.kernels import available_threads, get_kernels
from boostne.matrices import ConnectivityMatrix, ExplicitMatrix, MatrixForm, MatrixSource, as_connectivity
from boostne.matrices.csr_builder import CSRBuilder, chunks
from boostne.models.fitted_graph import neighborhood_digests
from boostne.progress import Progress, ProgressCallback
from boostne.propagation import NeighborColumns, propagate_to_last
from boostne.vector_lengths import rescale_alike, undoing_factors

if TYPE_CHECKING:
    from boostne.models.inductive import InductiveEmbedder

# How often vectors are averaged with those of the neighbors, by the form of X.
PROPAGATION_STEPS = {"exact": 1, "spectral": 1, "push": 4}
# Median cosine of the rows of U and V below which they differ.
MIN_AGREEMENT = 0.95
# Rows of X held at a time, in entries, unless a 32nd of the context vectors is more, all of which each part reads.
MIN_CHUNK_ENTRIES = 1 << 20


class FoldedNodes(NamedTuple):
    """Nodes that got a vector: their positions in the graph, ascending, and the vectors."""

    positions: NDArray[np.int64]
    vectors: NDArray[Any]


class Folded(NamedTuple):
    """Nodes that got a vector; of a directed graph those as targets, too, and of a bipartite graph the second side."""

    sources: FoldedNodes
    targets: FoldedNodes | None = None


class SolvedRows(NamedTuple):
    """Factors of some rows of X, and the share of their walk mass that pruning discarded, if they were pruned."""

    vectors: NDArray[Any]
    dropped: NDArray[np.float64] | None


def touched_nodes(
    model: "InductiveEmbedder", digests: NDArray[np.uint64], rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Mark the nodes whose edges changed, new nodes included, given the digests of all nodes of a graph."""
    known = rows >= 0
    touched = ~known
    touched[known] = digests[known] != model.fitted_graph_.neighborhoods[rows[known]]
    return touched


def changed_nodes(model: "InductiveEmbedder", graph: Graph, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the known nodes whose rows of X changed: those from which a walk reaches a node whose edges changed."""
    # Entries also depend on the degree of the last node of a walk, so that the step to it counts.
    window = getattr(model.connectivity_, "window", None) or graph.n_nodes
    network = graph.to_undirected() if graph.directed else graph  # walks from a node, and walks to it
    return within_steps(network, touched_nodes(model, neighborhood_digests(graph), rows), window) & (rows >= 0)


def within_steps(graph: Graph, marked: NDArray[np.bool_], steps: int) -> NDArray[np.bool_]:
    """Mark the nodes from which at most ``steps`` steps along edges lead to a marked node."""
    A = graph.adjacency
    links = sparse.csr_array((np.ones(A.nnz, np.float32), A.indices, A.indptr), shape=A.shape)
    for _ in range(steps):
        further = marked | (links @ marked.astype(np.float32) > 0)
        if (further == marked).all():
            break
        marked = further
    return marked


def keep_known(
    before: Embedding, found: FoldedNodes, rows: NDArray[np.int64], positions: NDArray[np.int64]
) -> FoldedNodes:
    """Return the vectors of all nodes at some positions: those that were found, and those of a model for the others.

    Parameters
    ----------
    before : Embedding
        Of the model.
    found : FoldedNodes
    rows : ndarray of int
        The row of each node in ``before``.
    positions : ndarray of int
        Of these nodes in the graph, ascending.
    """
    vectors = before.vectors[rows]
    vectors[np.searchsorted(positions, found.positions)] = found.vectors
    return FoldedNodes(positions, vectors)


def nodes_to_fold(
    model: "InductiveEmbedder", graph: Graph, rows: NDArray[np.int64], *, refresh: bool
) -> NDArray[np.bool_]:
    """Mark the new nodes and, with ``refresh``, the known ones whose rows of X changed; warn of isolated ones.

    ``rows`` are from :func:`boostne.models.known_nodes.find_known_nodes`.
    """
    wanted = rows < 0
    if refresh:
        wanted |= changed_nodes(model, graph, rows)
    warn_isolated(int(np.count_nonzero(wanted[graph.isolated])))
    return wanted


def fold_undirected(
    model: "InductiveEmbedder",
    graph: Graph,
    rows: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    progress: ProgressCallback,
) -> Folded:
    """Return the vectors of some nodes of an undirected graph, whose factors U and V have the same nodes.

    Parameters
    ----------
    model : InductiveEmbedder
    graph : Graph
        With known and new nodes.
    rows : ndarray of int
        From :func:`boostne.models.known_nodes.find_known_nodes`.
    wanted : ndarray of bool
        Marks the nodes to be folded in.
    progress : callable
    """
    positions = np.flatnonzero(wanted)
    # Known nodes first, since they are the columns; those to be folded in last, since rows of X are built in ranges.
    new = rows < 0
    order = np.concatenate([np.flatnonzero(group) for group in (~new & ~wanted, ~new & wanted, new)])
    reordered = graph if (order == np.arange(len(order))).all() else graph.permuted(order)
    columns = rows[order]
    known = columns[columns >= 0]
    vectors = solve_last(model, reordered, len(positions), model.context_, known, progress).vectors
    if len(known) + len(positions) > graph.n_nodes:  # known nodes follow the new ones
        context = np.concatenate([model.context_[known], np.zeros_like(vectors[: graph.n_nodes - len(known)])])
        first = graph.n_nodes - len(positions)
        followed = slice(first if _is_symmetric(context[first : len(known)], vectors) else len(known), None)
        context[followed] = vectors[followed.start - first :]
        vectors = solve_last(model, reordered, len(positions), context, np.arange(len(context)), progress).vectors
    _refine(model, reordered, columns, vectors)
    return Folded(FoldedNodes(positions, vectors[np.argsort(order[-len(positions) :])]))


def _is_symmetric(context: NDArray[Any], vectors: NDArray[Any]) -> bool:
    """Whether rows of V and of U are nearly the same, as they are if X is symmetric; given the first rows of both."""
    a, b = (block.astype(np.float64) for block in (context, vectors[: len(context)]))
    norms = np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
    cosines = np.einsum("ij,ij->i", a, b)[norms > 0] / norms[norms > 0]
    return bool(len(cosines)) and bool(np.median(cosines) >= MIN_AGREEMENT)


def solve_last(
    model: "InductiveEmbedder",
    graph: Graph,
    count: int,
    context: NDArray[Any],
    nodes: NDArray[np.int64],
    progress: ProgressCallback,
) -> SolvedRows:
    """Return ``[u_1 … u_k]`` for the last ``count`` nodes of a graph, given the context vectors of the first ones.

    ``nodes`` are the rows of ``context`` that belong to the first nodes of the graph.
    """
    whole = len(nodes) == len(context) and (np.diff(nodes) == 1).all()
    kernels = get_kernels(threads=model.threads)
    vectors = np.empty((count, context.shape[1]), context.dtype)
    dropped: list[NDArray[np.float64]] = []
    done = 0
    for X, lost in _row_chunks(matrix_source(model, graph), count, len(nodes), context.size // 32):
        found = fold_in(X, context, slice(None) if whole else nodes, model.levels, kernels)
        vectors[done : done + X.shape[0]] = found
        done += X.shape[0]
        dropped += lost
        progress(Progress("folding in", done / count, f"{done:,} of {count:,} nodes"))
    return SolvedRows(vectors, np.concatenate(dropped) if dropped else None)


def _row_chunks(
    source: MatrixSource, count: int, n_columns: int, max_entries: int
) -> Iterator[tuple[sparse.csr_array, list[NDArray[np.float64]]]]:
    """Build the last rows of X, the first columns of them, a bounded number of entries at a time.

    Yields them with the share of their walk mass that pruning discarded, if they are pruned.
    """
    n = source.shape[0]
    parts: list[sparse.csr_array] = []
    dropped: list[NDArray[np.float64]] = []
    for part in chunks(range(n - count, n), source.chunk_rows()):
        builder = CSRBuilder(source.shape[1], source.dtype)
        builder.extend(source.rows(part))
        dropped += [] if builder.dropped is None else [builder.dropped]
        parts.append(builder.finish()[:, :n_columns])
        if sum(one.nnz for one in parts) >= max(max_entries, MIN_CHUNK_ENTRIES) or part.stop == n:
            yield parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr"), dropped
            parts, dropped = [], []


def matrix_source(model: "InductiveEmbedder", graph: Graph) -> MatrixSource:
    """Return the rows of X for another graph, in the form that the model has."""
    form = MatrixForm(model.approximation_, model.epsilon_, model.max_per_row_)
    threads = model.threads or available_threads()
    return connectivity_of(model).source(graph, form, dtype=model.context_.dtype, threads=threads)


def connectivity_of(model: "InductiveEmbedder") -> ConnectivityMatrix:
    """Return the matrix of a model; raise ParameterError if it exists for the model's own graph only."""
    if callable(model.connectivity):
        return as_connectivity(model.connectivity)
    if model.connectivity_ is None or isinstance(model.connectivity_, ExplicitMatrix):
        raise ParameterError(
            "the model was fitted with a matrix of your own, and its rows for other nodes are needed: call "
            "set_params(connectivity=function) with a function from a graph to its matrix, in the order of graph.nodes"
        )
    return model.connectivity_


def _refine(model: "InductiveEmbedder", graph: Graph, rows: NDArray[np.int64], vectors: NDArray[Any]) -> None:
    """Propagate and rescale the vectors of the last nodes, in place, as those of the model were.

    Known neighbors take part with their vectors as they are after propagation: the model does not keep earlier ones.
    """
    known, scale = model.embedding_.vectors, model.scale_

    def neighbors(nodes: NDArray[np.int64]) -> NeighborColumns:
        at = rows[nodes]
        undoing = None if scale is None else undoing_factors(known, scale, at)[:, None]
        return lambda columns: known[at, columns] if undoing is None else known[at, columns] * undoing

    weight = model.settings_["propagation"]
    if weight:
        steps = PROPAGATION_STEPS[model.approximation_]
        propagate_to_last(graph, vectors, neighbors, weight, steps, model.threads)
    if scale is not None:
        rescale_alike(vectors, scale)


def warn_isolated(count: int) -> None:
    """Warn of nodes without edges, if there are any."""
    if count:
        warn_caller(
            f"{count} of the nodes to embed {'have' if count > 1 else 'has'} no edges; "
            f"{'their vectors are' if count > 1 else 'its vector is'} zero",
            InputWarning,
        )
