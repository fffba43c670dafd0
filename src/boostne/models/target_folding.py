"""Vectors for new nodes of directed and bipartite graphs, whose models have factors of sources and of targets.

New rows of X are solved against the target factors V, and new columns against the source factors U. Then vectors are
averaged with those of the neighbors and scaled, as in a fit, except that known nodes take part with the factors that
they have.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.factorization.folding import fold_in
from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.matrices.csr_builder import CSRBuilder, chunks
from boostne.models import bipartite
from boostne.models.folding import Folded, FoldedNodes, matrix_source, solve_last
from boostne.models.known_nodes import factor_rows
from boostne.progress import Progress, ProgressCallback
from boostne.propagation import NeighborColumns, propagate_directed, propagate_to_last

if TYPE_CHECKING:
    from boostne.models.inductive import InductiveEmbedder


def fold_directed(
    model: "InductiveEmbedder",
    graph: Graph,
    rows: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    progress: ProgressCallback,
) -> Folded:
    """Return source and target vectors of some nodes of a directed graph.

    Targets need columns of X, so that all of its rows are built, a part at a time.

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
    known = rows >= 0
    new_rows, new_columns = _crossing_entries(model, graph, known, wanted, progress)
    kernels, at = get_kernels(threads=model.threads), rows[known]
    sources, targets = (np.zeros((graph.n_nodes, model.context_.shape[1]), model.context_.dtype) for _ in range(2))
    for factor, X, stored, others in (
        (sources, new_rows, model.centers_, model.context_),
        (targets, new_columns, model.context_, model.centers_),
    ):
        factor[known] = stored[at]
        factor[wanted] = fold_in(X, others, at, model.levels, kernels)
    weight = model.settings_["propagation"]
    if weight:
        progress(Progress("propagation", 0.0))
        propagate_directed(graph, sources, targets, weight, model.threads)
    positions = np.flatnonzero(wanted)
    return _scaled(model, positions, sources[positions], positions, targets[positions])


def _crossing_entries(
    model: "InductiveEmbedder",
    graph: Graph,
    known: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    progress: ProgressCallback,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return X from wanted to known nodes, and the transpose of X from known to wanted nodes."""
    source, n = matrix_source(model, graph), graph.n_nodes
    from_wanted, to_wanted = [], []
    for part in chunks(range(n), source.chunk_rows()):
        builder = CSRBuilder(n, source.dtype)
        builder.extend(source.rows(part))
        X, at = builder.finish(), slice(part.start, part.stop)
        from_wanted.append(X[wanted[at]][:, known])
        to_wanted.append(X[known[at]][:, wanted])
        progress(Progress("folding in", part.stop / n, f"{part.stop:,} of {n:,} rows"))
    return sparse.vstack(from_wanted, format="csr"), sparse.vstack(to_wanted, format="csr").T.tocsr()


def fold_bipartite(
    model: "InductiveEmbedder",
    graph: Graph,
    rows: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    progress: ProgressCallback,
) -> Folded:
    """Return the vectors of some nodes of a bipartite graph, on both sides; see :func:`fold_directed`."""
    sides: Any = graph.sides
    factors = np.empty((np.count_nonzero(wanted), model.context_.shape[1]), model.context_.dtype)
    first_rows, second_rows = factor_rows(model, graph, rows)
    for side, others, columns in ((sides, model.context_, second_rows), (~sides, model.centers_, first_rows)):
        # The side itself first, with the wanted nodes at its end; of the other side, known nodes first.
        last = np.where(side, wanted, rows < 0)
        order = np.lexsort((np.arange(len(rows)), last, ~side))
        count = int(np.count_nonzero(wanted & side))
        if count:
            reordered = graph.with_sides(side).permuted(order)
            solved = solve_last(model, reordered, count, others, columns[columns >= 0], progress)
            factors[side[wanted]] = solved.vectors
    weight = model.settings_["propagation"]
    if weight:
        _propagate_to_wanted(model, graph, rows, wanted, factors, weight)
    first, second = (np.flatnonzero(wanted & side) for side in (sides, ~sides))
    of_first = sides[wanted]
    return _scaled(model, first, factors[of_first], second, factors[~of_first])


def _propagate_to_wanted(
    model: "InductiveEmbedder",
    graph: Graph,
    rows: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    factors: NDArray[Any],
    weight: float,
) -> None:
    """Average the factors of the wanted nodes with those of their neighbors on the other side, in place."""
    order = np.argsort(wanted, kind="stable")
    sides: Any = graph.sides
    ranks = np.empty(len(rows), np.int64)
    ranks[sides], ranks[~sides] = factor_rows(model, graph, rows)

    def known_factors(nodes: NDArray[np.int64]) -> NeighborColumns:
        at = order[nodes]
        first, at_first, at_second = sides[at], ranks[at[sides[at]]], ranks[at[~sides[at]]]

        def gather(columns: slice) -> NDArray[Any]:
            block = np.empty((len(at), model.context_[:1, columns].shape[1]), model.context_.dtype)
            block[first], block[~first] = model.centers_[at_first, columns], model.context_[at_second, columns]
            return block

        return gather

    propagate_to_last(graph.permuted(order), factors, known_factors, weight, bipartite.PROPAGATION_STEPS, model.threads)


def _scaled(
    model: "InductiveEmbedder",
    sources_at: NDArray[np.int64],
    sources: NDArray[Any],
    targets_at: NDArray[np.int64],
    targets: NDArray[Any],
) -> Folded:
    """Multiply the vectors by the constants of the model."""
    scaled = (
        one * one.dtype.type(scale) for one, scale in zip((sources, targets), model.target_scales_ or (), strict=True)
    )
    return Folded(*(FoldedNodes(at, one) for at, one in zip((sources_at, targets_at), scaled, strict=True)))
