"""The two sides of a bipartite graph, such as users and items: every edge has one end on each of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.array_chunks import gather, mark
from boostne.edges import entry_position
from boostne.errors import GraphError
from boostne.graph_checks import find_nodes
from boostne.integer_ids import Integers
from boostne.node_ids import format_ids

# Instead of ids: the first column of the edges is one side, the second the other.
COLUMNS = "columns"

Sides = NDArray[np.bool_]  # marks the nodes of the first side


def as_sides(sides: Any, nodes: NDArray[Any], columns: tuple[Integers, Integers] | None = None) -> Sides | None:
    """Mark the nodes of the first side; None if there are no sides.

    Parameters
    ----------
    sides
        Ids of the nodes of the first side, a boolean mask of all nodes, ``"columns"``, or None for no sides.
    nodes
        Ids of all nodes.
    columns
        Positions in ``nodes`` of the two endpoints of each edge, for ``"columns"``: the nodes of the first column are
        the first side, and those of the second the other.

    Raises
    ------
    GraphError
        If an id is unknown, a mask has another length, a side is empty, or the columns share an id.
    """
    if sides is None:
        return None
    if columns is not None and isinstance(sides, str) and sides == COLUMNS:
        return _checked(_sides_of_columns(nodes, *columns))
    if isinstance(sides, str):
        raise GraphError(
            f"sides must be the ids of one side or a boolean mask of the nodes; got {sides!r}. sides='columns' is for "
            "lists and tables of edges, with a column for each side"
        )
    given = np.asarray(sides) if hasattr(sides, "__array__") else None
    if given is not None and given.dtype == bool:
        if given.shape != nodes.shape:
            raise GraphError(f"a mask of one side must have {len(nodes)} entries, one per node; got {given.shape}")
        marked = given.copy()
    else:
        marked = np.zeros(len(nodes), dtype=bool)
        marked[find_nodes(nodes, sides)] = True
    return _checked(marked)


def _checked(marked: Sides) -> Sides:
    """Raise GraphError if a side is empty."""
    for name, members in (("first", marked), ("second", ~marked)):
        if not members.any():
            raise GraphError(f"the {name} side has no nodes; a bipartite graph has nodes on both sides")
    return marked


def check_sides(sides: Sides | None, adjacency: sparse.csr_array, nodes: NDArray[Any], *, directed: bool) -> None:
    """Raise GraphError if a graph with sides is directed, or has an edge between two nodes of the same side."""
    if sides is None:
        return
    if directed:
        raise GraphError(
            "a graph with sides is undirected: its first side takes the part of the sources; call to_undirected() "
            "before with_sides(), or leave out sides="
        )
    rows = np.repeat(sides, np.diff(adjacency.indptr))
    within = rows == gather(sides, adjacency.indices)
    if within.any():
        i, j = entry_position(adjacency, int(np.argmax(within)))
        ends, side = nodes[[i, j]], "first" if sides[i] else "second"
        raise GraphError(
            f"the edge ({format_ids(ends)}) is between two nodes of the {side} side; in a bipartite graph every edge "
            "has one end on each side"
        )


def _sides_of_columns(nodes: NDArray[Any], source: Integers, target: Integers) -> Sides:
    """Mark the nodes in the first column; raise GraphError for nodes in both columns, or in neither."""
    first, second = (mark(len(nodes), ends) for ends in (source, target))
    both = nodes[first & second]
    if len(both):
        raise GraphError(
            f"the two columns share ids: {format_ids(both)}. If they are different nodes, rename them, for instance to "
            "u7 and i7; otherwise the graph is not bipartite"
        )
    neither = nodes[~(first | second)]
    if len(neither):
        raise GraphError(
            f"the side of nodes without edges is unknown: {format_ids(neither)}; pass the ids of one side as sides="
        )
    return first
