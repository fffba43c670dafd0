"""Updates: a fitted model follows changes of its graph, and its basis stays.

X of a large graph is pruned, each row by itself, so that only rows near a change have to be built again: their nodes
are solved against the context vectors of all nodes. X of an undirected graph is symmetric, up to pruning, so that U and
V of a level are nearly equal, and the solution of a row serves as both. If U and V turn out to differ, and for other
forms of X, all of X is built again, and a few passes start each level from the V that it had.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.errors import GraphError
from boostne.graph import Graph
from boostne.models.bipartite import edges_between
from boostne.models.fitted_graph import FittedGraph, changed_shares
from boostne.models.folding import (
    MIN_AGREEMENT,
    PROPAGATION_STEPS,
    connectivity_of,
    solve_last,
    touched_nodes,
    warn_isolated,
    within_steps,
)
from boostne.models.known_nodes import factor_nodes, factor_rows, find_known_nodes
from boostne.progress import Progress, ProgressCallback
from boostne.propagation import propagate_in_place
from boostne.vector_lengths import BLOCK_ROWS, rescale_alike

if TYPE_CHECKING:
    from boostne.models.inductive import InductiveEmbedder

# Passes per level if all of X is built again; more move the basis further and do not raise scores.
PASSES = 2
# The row of a node is built again once this share of its walks leads through changed edges.
MAX_STALENESS = 0.25
# If a larger share of rows has to be built again, all are.
MAX_ROWS = 0.5
# If a larger share of the edges of known nodes changed, it is hardly the same graph.
MAX_CHANGED = 0.75
QUANTILES = (0.05, 0.25, 0.5)

# Refits a model to a graph, from given context vectors and with a number of passes; returns the fitted attributes.
Refit = Callable[[Graph, NDArray[Any], int, ProgressCallback], dict[str, Any]]


@dataclass(frozen=True)
class UpdateReport:
    """What an update changed.

    Attributes
    ----------
    added, removed : int
        New nodes, and nodes of the model that are no longer in the graph.
    changed : int
        Other nodes whose edges changed.
    recomputed : int
        Nodes whose rows of X were built again.
    cosines : dict of float
        Quantiles (keys 0.05, 0.25 and 0.5) of the cosine between the new and the previous vector of a node; nodes with
        a zero vector do not count.

    Examples
    --------
    >>> from boostne import BoostNE, load_dataset
    >>> graph = load_dataset("karate").graph
    >>> report = BoostNE(8, levels=2).fit(graph).update(graph)
    >>> report.added, report.removed, report.changed
    (0, 0, 0)
    """

    added: int
    removed: int
    changed: int
    recomputed: int
    cosines: dict[float, float]

    def __str__(self) -> str:
        moved = ", ".join(f"{value:.3f} ({quantile:.0%} quantile)" for quantile, value in self.cosines.items())
        return (
            f"{self.added:,} nodes added, {self.removed:,} removed, {self.changed:,} changed; {self.recomputed:,} rows "
            f"computed; cosine to the previous vectors: {moved}"
        )


@dataclass(frozen=True)
class _Change:
    """A graph that changed, compared with that of a model.

    Attributes
    ----------
    graph : Graph
    rows : ndarray of int
        The row of each node in the model, or -1.
    touched : ndarray of bool
        Nodes whose edges changed, new nodes included.
    facts : FittedGraph
        About the graph. Its staleness counts edges that changed since the row of a node was built.
    """

    graph: Graph
    rows: NDArray[np.int64]
    touched: NDArray[np.bool_]
    facts: FittedGraph

    @classmethod
    def since(cls, model: "InductiveEmbedder", graph: Graph) -> "_Change":
        rows, facts, before = find_known_nodes(model, graph), FittedGraph.of(graph), model.fitted_graph_
        facts.staleness[rows >= 0] = before.staleness[rows[rows >= 0]]
        shares = changed_shares(graph, facts.sketches, before.sketches, rows)
        _check_same_graph(float(shares[rows >= 0].mean()))
        window = getattr(model.connectivity_, "window", None) or 1
        facts.staleness[:] += walk_shares(graph, shares, window)
        return cls(graph, rows, touched_nodes(model, facts.neighborhoods, rows), facts)

    @property
    def known(self) -> NDArray[np.bool_]:
        return self.rows >= 0


def update_model(
    model: "InductiveEmbedder", graph: Graph, refit: Refit, progress: ProgressCallback
) -> tuple[dict[str, Any], UpdateReport]:
    """Return the fitted attributes of a model for another graph; see :meth:`InductiveEmbedder.update`."""
    change = _Change.since(model, graph)
    known, (_, columns) = change.known, factor_rows(model, graph, change.rows)
    context = np.zeros((len(columns), model.context_.shape[1]), model.context_.dtype)
    context[columns >= 0] = model.context_[columns[columns >= 0]]
    wanted = change.touched | (change.facts.staleness >= MAX_STALENESS)
    if not change.touched.any():
        wanted[:] = False
        fitted = _reordered(model, change, context)
    else:
        connectivity_of(model)
        warn_isolated(len(graph.isolated))
        found = _solve_rows(model, change, context, wanted, progress)
        wanted |= found is None
        fitted = refit(graph, context, PASSES, progress) if found is None else found
    change.facts.staleness[wanted] = 0
    fitted["fitted_graph_"] = change.facts
    report = UpdateReport(
        added=int(np.count_nonzero(~known)),
        removed=len(model.fitted_graph_.neighborhoods) - int(np.count_nonzero(known)),
        changed=int(np.count_nonzero(change.touched & known)),
        recomputed=int(np.count_nonzero(wanted)),
        cosines=_quantiles(_moves(model, change, fitted["embedding_"])),
    )
    return fitted, report


def _check_same_graph(changed: float) -> None:
    """Raise GraphError if the changed share of the edges is too large for an update."""
    if changed > MAX_CHANGED:
        raise GraphError(
            f"about {changed:.0%} of the edges of the nodes in the model are new or gone: is this the graph of the "
            "model? If so, fit a new model; an update is for smaller changes"
        )


def walk_shares(graph: Graph, changed: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return how many changed edges a walk from each node takes on average, given the share c of each node's edges.

    Walks have 1 to T steps, equally often. Step r + 1 takes a changed edge with probability ``S^r c``, and T - r of the
    T lengths have that step.
    """
    scaled, _ = graph.rescaled()
    inverse = np.divide(1, scaled.degrees, out=np.zeros(graph.n_nodes), where=scaled.degrees > 0)
    total, reached = changed.copy(), changed
    for r in range(1, window):
        reached = inverse * (scaled.adjacency @ reached)
        total += (window - r) / window * reached
    return total


def _solve_rows(
    model: "InductiveEmbedder",
    change: _Change,
    context: NDArray[Any],
    wanted: NDArray[np.bool_],
    progress: ProgressCallback,
) -> dict[str, Any] | None:
    """Solve some rows of X against the context vectors of all nodes; returns the fitted attributes.

    Writes to the rows of ``context`` that belong to these nodes. Returns None, and leaves ``context`` as it was, if all
    of X has to be built.
    """
    graph, rows = change.graph, change.rows
    positions = np.flatnonzero(wanted)
    by_rows = model.targets_ is None and model.approximation_ == "push" and bool(model.epsilon_)
    if not by_rows or len(positions) > MAX_ROWS * graph.n_nodes:
        return None
    before = context[positions]
    dropped = _solve_in_place(model, change, context, wanted, progress)
    progress(Progress("propagation", 0.0))
    vectors, weight = context.copy(), model.settings_["propagation"]
    steps = PROPAGATION_STEPS[model.approximation_] if weight else 0
    if weight:
        propagate_in_place(graph, vectors, weight, steps, model.threads)
    if model.scale_ is not None:
        rescale_alike(vectors, model.scale_)
    untouched = np.where(change.touched, -1, rows)
    agreement = _cosines(model.embedding_, vectors, untouched)
    if not len(agreement) or np.median(agreement) < MIN_AGREEMENT:
        context[positions] = before
        return None
    # Out of reach of the new vectors, nodes keep exactly those that they had.
    far = ~within_steps(graph, wanted, steps)
    vectors[far] = model.embedding_.vectors[rows[far]]
    return _attributes(model, change, vectors, context) | {"dropped_mass_": dropped}


def _solve_in_place(
    model: "InductiveEmbedder",
    change: _Change,
    context: NDArray[Any],
    wanted: NDArray[np.bool_],
    progress: ProgressCallback,
) -> NDArray[np.float64] | None:
    """Replace the context vectors of some nodes by the solutions of their rows; returns the dropped mass of all rows.

    New nodes have no context vectors when the rows are solved for the first time, so theirs are solved once more.
    """
    new = ~change.known
    # Rows of X are built in ranges: those to be solved come last, and of these the new ones.
    order = np.lexsort((np.arange(len(new)), wanted, new))
    graph = change.graph.permuted(order)
    dropped = None if model.dropped_mass_ is None else model.dropped_mass_[change.rows]
    for count in (int(np.count_nonzero(wanted)), int(np.count_nonzero(new))):
        if count:
            solved = solve_last(model, graph, count, context, order, progress)
            context[order[-count:]] = solved.vectors
            if dropped is not None:
                dropped[order[-count:]] = solved.dropped
    return dropped


def _attributes(
    model: "InductiveEmbedder", change: _Change, vectors: NDArray[Any], context: NDArray[Any]
) -> dict[str, Any]:
    """Return the fitted attributes that new vectors change."""
    sources, _ = factor_nodes(change.graph)
    embedding = Embedding(change.graph.nodes[sources], vectors, model.embedding_.levels)
    rows, _ = factor_rows(model, change.graph, change.rows)
    dropped = None if model.dropped_mass_ is None else model.dropped_mass_[rows]
    return {
        "embedding_": embedding,
        "context_": context,
        "levels_": np.split(vectors, np.cumsum(embedding.levels)[:-1], axis=1),
        "dropped_mass_": dropped,
        "n_features_in_": change.graph.n_nodes,
    }


def _reordered(model: "InductiveEmbedder", change: _Change, context: NDArray[Any]) -> dict[str, Any]:
    """Return the fitted attributes for a graph without changed edges, whose nodes may be in another order."""
    graph, before, targets = change.graph, model.embedding_, model.targets_
    sources_at, targets_at = factor_rows(model, graph, change.rows)
    fitted = _attributes(model, change, before.vectors[sources_at], context)
    if targets is None:
        return fitted
    embedding, (_, positions) = fitted["embedding_"], factor_nodes(graph)
    moved = Embedding(graph.nodes[positions], targets.vectors[targets_at], before.levels)
    fitted["embedding_"] = Embedding(embedding.nodes, embedding.vectors, before.levels, targets=moved)
    fitted["centers_"] = model.centers_[sources_at]
    return fitted if graph.sides is None else fitted | {"known_": edges_between(graph, graph.sides)}


def _moves(model: "InductiveEmbedder", change: _Change, embedding: Embedding) -> NDArray[np.float64]:
    """Return the cosines between the new and the previous vectors of known nodes, those of targets included."""
    pairs = [(model.embedding_, embedding)]
    if model.targets_ is not None and embedding.targets is not None:
        pairs.append((model.targets_, embedding.targets))
    rows = factor_rows(model, change.graph, change.rows)
    return np.concatenate([_cosines(one, new.vectors, at) for (one, new), at in zip(pairs, rows, strict=False)])


def _cosines(before: Embedding, vectors: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cosine between vectors and given rows of an embedding, unless the row is -1 or a vector is zero."""
    found, positions = [np.zeros(0)], np.flatnonzero(rows >= 0)
    for first in range(0, len(positions), BLOCK_ROWS):
        nodes = positions[first : first + BLOCK_ROWS]
        a, b = (block.astype(np.float64) for block in (vectors[nodes], before.vectors[rows[nodes]]))
        norms = np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
        found.append(np.einsum("ij,ij->i", a, b)[norms > 0] / norms[norms > 0])
    return np.concatenate(found)


def _quantiles(values: NDArray[np.float64]) -> dict[float, float]:
    return dict(zip(QUANTILES, np.quantile(values, QUANTILES).tolist(), strict=True)) if len(values) else {}
