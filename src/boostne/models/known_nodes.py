"""Which nodes of a graph a fitted model knows, and where their vectors are."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import GraphError, InputWarning, warn_caller
from boostne.graph import Graph
from boostne.models.bipartite_files import merged_nodes
from boostne.node_ids import format_ids, lookup_ids
from boostne.sides import Sides

if TYPE_CHECKING:
    from boostne.models.inductive import InductiveEmbedder


def model_nodes(model: "InductiveEmbedder") -> NDArray[Any]:
    """Return the ids of all nodes of a model, in the order of its graph."""
    sides = model.fitted_graph_.sides
    return model.embedding_.nodes if sides is None else merged_nodes(model.embedding_, sides)


def find_known_nodes(model: "InductiveEmbedder", graph: Graph) -> NDArray[np.int64]:
    """Return the position of each node among those of the model, or -1.

    Raises GraphError if the graph cannot be an enlarged or changed one.
    """
    model.fitted_graph_.check_kind(graph)
    nodes = model_nodes(model)
    rows = lookup_ids(nodes, graph.nodes)
    if not (rows >= 0).any():
        raise GraphError(
            f"the graph shares no node with the model: the graph has {format_ids(graph.nodes)}, the model has "
            f"{format_ids(nodes)}; the ids must be the same and of the same type"
        )
    _check_sides(model.fitted_graph_.sides, graph, rows)
    return rows


def factor_rows(
    model: "InductiveEmbedder", graph: Graph, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of a model's factors U and V for those of X of a graph and for its columns; -1 for new nodes.

    ``rows`` are from :func:`find_known_nodes`. Unless the graph is bipartite, both are the same.
    """
    if graph.sides is None or model.fitted_graph_.sides is None:
        return rows, rows
    ranks = np.append(ranks_in_side(model.fitted_graph_.sides), -1)[rows]
    return ranks[graph.sides], ranks[~graph.sides]


def factor_nodes(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the nodes of the rows of X, and of those of its columns; both are ascending."""
    if graph.sides is None:
        return (np.arange(graph.n_nodes),) * 2
    return np.flatnonzero(graph.sides), np.flatnonzero(~graph.sides)


def ranks_in_side(sides: Sides) -> NDArray[np.int64]:
    """Return the position of each node among the nodes of its side."""
    return np.where(sides, np.cumsum(sides), np.cumsum(~sides)) - 1


def warn_missing(model: "InductiveEmbedder", rows: NDArray[np.int64]) -> None:
    """Warn of the nodes of a model that are not in a graph, if there are any."""
    nodes = model_nodes(model)
    absent = np.ones(len(nodes), dtype=bool)
    absent[rows[rows >= 0]] = False
    missing = int(np.count_nonzero(absent))
    if missing:
        warn_caller(
            f"{missing} {'node of the model is' if missing == 1 else 'nodes of the model are'} not in the graph: "
            f"{format_ids(nodes[absent])}; the model keeps their vectors",
            InputWarning,
        )


def _check_sides(before: Sides | None, graph: Graph, rows: NDArray[np.int64]) -> None:
    """Raise GraphError if a known node of a bipartite graph is on the other side now."""
    if before is None or graph.sides is None:
        return
    moved = (rows >= 0) & (graph.sides != before[rows])
    if moved.any():
        raise GraphError(
            f"known nodes must be on the side that they have in the model, and {format_ids(graph.nodes[moved])} are on "
            "the other one: exchange the columns of the edges, or pass the ids of the first side as sides="
        )
