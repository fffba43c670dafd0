"""Vectors for new nodes of a graph, from the context vectors of a fitted model."""

import logging
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import GraphError, ParameterError
from boostne.factorization.folding import fold_in
from boostne.graph import Graph
from boostne.kernels import available_threads, get_kernels
from boostne.matrices import ConnectivityMatrix, ExplicitMatrix, MatrixForm, MatrixSource, as_connectivity
from boostne.matrices.csr_builder import CSRBuilder, chunks
from boostne.models.fitted_graph import neighborhood_digests
from boostne.node_ids import format_ids, lookup_ids
from boostne.progress import Progress, ProgressCallback
from boostne.propagation import propagate_to_last
from boostne.vector_lengths import rescale_alike, undoing_factors

if TYPE_CHECKING:
    from boostne.models.inductive import InductiveEmbedder

# How often vectors are averaged with those of the neighbors, by the form of X.
PROPAGATION_STEPS = {"exact": 1, "spectral": 1, "push": 2}
# Rows of X held at a time, in entries, unless an eighth of the context vectors is more.
MIN_CHUNK_ENTRIES = 1 << 22

logger = logging.getLogger("boostne")


class FoldedNodes(NamedTuple):
    """Nodes that got a vector: their positions in the graph, ascending, and the vectors."""

    positions: NDArray[np.int64]
    vectors: NDArray[Any]


class SolvedRows(NamedTuple):
    """Factors of some rows of X, and the share of their walk mass that pruning discarded, if they were pruned."""

    vectors: NDArray[Any]
    dropped: NDArray[np.float64] | None


def find_known_nodes(model: "InductiveEmbedder", graph: Graph) -> NDArray[np.int64]:
    """Return the row of each node in the model, or -1; raise GraphError if the graph cannot be an enlarged one."""
    model.fitted_graph_.check_kind(graph)
    known = model.embedding_.nodes
    rows = lookup_ids(known, graph.nodes)
    n_found = int(np.count_nonzero(rows >= 0))
    if not n_found:
        raise GraphError(
            f"the graph shares no node with the model: the graph has {format_ids(graph.nodes)}, the model has "
            f"{format_ids(known)}; the ids must be the same and of the same type"
        )
    return rows


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
    return within_steps(graph, touched_nodes(model, neighborhood_digests(graph), rows), window) & (rows >= 0)


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


def fold_nodes(
    model: "InductiveEmbedder", graph: Graph, rows: NDArray[np.int64], *, refresh: bool, progress: ProgressCallback
) -> FoldedNodes:
    """Return the vectors of the new nodes and, with ``refresh``, of known nodes whose edges changed.

    Parameters
    ----------
    model : InductiveEmbedder
    graph : Graph
        With known and new nodes.
    rows : ndarray of int
        From :func:`find_known_nodes`.
    refresh : bool
    progress : callable
    """
    _log_missing(model, rows)
    wanted = rows < 0
    if refresh:
        wanted |= changed_nodes(model, graph, rows)
    positions = np.flatnonzero(wanted)
    if not len(positions):
        return FoldedNodes(positions, np.empty((0, model.context_.shape[1]), model.context_.dtype))
    warn_isolated(int(np.count_nonzero(wanted[graph.isolated])))
    # Known nodes first, since they are the columns; those to be folded in last, since rows of X are built in ranges.
    order = np.lexsort((np.arange(len(rows)), wanted, rows < 0))
    reordered = graph if (order == np.arange(len(order))).all() else graph.permuted(order)
    columns = rows[order]
    solved = solve_last(model, reordered, len(positions), model.context_, columns[columns >= 0], progress)
    vectors = solved.vectors
    _refine(model, reordered, columns, vectors)
    return FoldedNodes(positions, vectors[np.argsort(order[-len(positions) :])])


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
    for X, lost in _row_chunks(_source(model, graph), count, len(nodes), context.size // 8):
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
        builder = CSRBuilder(n, source.dtype)
        builder.extend(source.rows(part))
        dropped += [] if builder.dropped is None else [builder.dropped]
        parts.append(builder.finish()[:, :n_columns])
        if sum(one.nnz for one in parts) >= max(max_entries, MIN_CHUNK_ENTRIES) or part.stop == n:
            yield parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr"), dropped
            parts, dropped = [], []


def _source(model: "InductiveEmbedder", graph: Graph) -> MatrixSource:
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

    def neighbors(nodes: NDArray[np.int64], columns: slice) -> NDArray[np.float64]:
        block = known[rows[nodes], columns].astype(np.float64)
        return block if undoing is None else block * undoing[rows[nodes], None]

    undoing = None if scale is None else undoing_factors(known, scale)
    weight = model.settings_["propagation"]
    if weight:
        steps = PROPAGATION_STEPS[model.approximation_]
        propagate_to_last(graph, vectors, neighbors, weight, steps, model.threads)
    if scale is not None:
        rescale_alike(vectors, scale)


def _log_missing(model: "InductiveEmbedder", rows: NDArray[np.int64]) -> None:
    absent = np.ones(len(model.context_), dtype=bool)
    absent[rows[rows >= 0]] = False
    missing = int(np.count_nonzero(absent))
    if missing:
        logger.info(
            "%d node%s of the model %s not in the graph: %s; the model keeps their vectors",
            missing,
            "" if missing == 1 else "s",
            "is" if missing == 1 else "are",
            format_ids(model.embedding_.nodes[absent]),
        )


def warn_isolated(count: int) -> None:
    """Warn of nodes without edges, if there are any."""
    if count:
        warnings.warn(
            f"{count} of the nodes to embed {'have' if count > 1 else 'has'} no edges; "
            f"{'their vectors are' if count > 1 else 'its vector is'} zero",
            stacklevel=4,
        )
