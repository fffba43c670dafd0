"""Checks of the arrays that a graph is made of: ids, endpoints and weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.edges import find_asymmetry, find_invalid_weight
from boostne.errors import GraphError
from boostne.integer_ids import Integers
from boostne.node_ids import as_ids, find_duplicate, format_ids, lookup_ids


def check_unique(ids: NDArray[Any]) -> None:
    """Raise GraphError if an id occurs twice."""
    duplicate = find_duplicate(ids)
    if duplicate is not None:
        raise GraphError(f"the node id {duplicate!r} occurs more than once; ids must be unique")


def check_edge_arrays(ids: NDArray[Any], u: Integers, v: Integers, weights: NDArray[Any] | None) -> None:
    """Raise GraphError unless the columns of edges have the same length, valid positions and valid weights."""
    lengths = [len(column) for column in (u, v, weights) if column is not None]
    if len(set(lengths)) > 1:
        raise GraphError(f"source, target and weight must have the same length, got {lengths}")
    for name, ends in (("source", u), ("target", v)):
        if len(ends) and (ends.min() < 0 or ends.max() >= len(ids)):
            outside = ends[(ends < 0) | (ends >= len(ids))][0]
            raise GraphError(f"{name} must contain positions in the {len(ids)} nodes, got {outside}")
    if weights is not None:
        check_weights(weights, ids, lambda k: (int(u[k]), int(v[k])))


def check_weights(weights: NDArray[Any], nodes: NDArray[Any], ends: Callable[[int], tuple[int, int]]) -> None:
    """Raise GraphError for an invalid weight; ``ends(k)`` are the positions of the endpoints of edge k."""
    invalid = find_invalid_weight(weights)
    if invalid is not None:
        position, problem = invalid
        raise GraphError(f"the edge ({format_ids(nodes[list(ends(position))])}) has {problem}")


def asymmetry_error(adjacency: sparse.csr_array, nodes: NDArray[Any]) -> GraphError:
    """Return an error that names an edge whose reverse has another weight."""
    i, j = find_asymmetry(adjacency)
    return GraphError(
        f"the graph is directed: the edge ({format_ids(nodes[[i, j]])}) has weight {adjacency[i, j]}, "
        f"its reverse {adjacency[j, i]}; pass directed=True, and call to_undirected() on the result "
        "to drop the directions"
    )


def find_nodes(nodes: NDArray[Any], ids: Any) -> NDArray[np.int64]:
    """Return the positions of ids; raise GraphError for unknown ones."""
    wanted = as_ids(ids)
    found = lookup_ids(nodes, wanted)
    unknown = wanted[found < 0]
    if len(unknown):
        kind = {"i": "integers", "U": "strings"}.get(nodes.dtype.kind, "objects")
        raise GraphError(
            f"not among the graph's nodes: {format_ids(unknown)}; "
            f"its {len(nodes)} ids are {kind} such as {format_ids(nodes[:1])}"
        )
    return found
