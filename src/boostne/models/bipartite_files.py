"""The arrays of a model file that only models of bipartite graphs have."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.sides import Sides
from boostne.sparse_structure import find_structure_error

if TYPE_CHECKING:
    from boostne.models.inductive import InductiveEmbedder

KNOWN = ("known_indptr", "known_indices")
SIDES = "sides"
SCORE_MAP = "score_map"


def bipartite_arrays(model: "InductiveEmbedder") -> dict[str, Any]:
    """Return the edges between the sides, the side of each node, and the matrix of the scores."""
    sides = model.fitted_graph_.sides
    if sides is None:
        return {}
    known = dict(zip(KNOWN, (model.known_.indptr, model.known_.indices), strict=True))
    return {**known, SIDES: sides, SCORE_MAP: model.score_map_}


def restore_sides(arrays: Mapping[str, NDArray[Any]], embedding: Embedding) -> Sides | None:
    """Return the side of each node, if there are any; raise ParameterError unless there are as many as vectors."""
    if SIDES not in arrays:
        return None
    sides, n_first = arrays[SIDES], len(embedding)
    n_nodes = n_first + len(embedding.targets or ())
    if sides.dtype != bool or sides.shape != (n_nodes,) or np.count_nonzero(sides) != n_first:
        raise ParameterError(f"the array 'sides' must mark {n_first} of {n_nodes} nodes")
    return sides


def restore_known(arrays: Mapping[str, NDArray[Any]], sides: Sides) -> sparse.csr_array:
    """Return where the edges are; raise ParameterError unless they are between nodes of the two sides."""
    indptr, indices = (arrays[name] for name in KNOWN)
    shape = (int(np.count_nonzero(sides)), int(np.count_nonzero(~sides)))
    known = sparse.csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=shape)
    problem = find_structure_error(known)
    if problem:
        raise ParameterError(f"the edges between the sides: {problem}")
    return known


def restore_score_map(arrays: Mapping[str, NDArray[Any]], dimensions: int) -> NDArray[np.float64]:
    """Return the matrix of the scores; raise ParameterError unless it fits the vectors."""
    score_map = arrays[SCORE_MAP]
    if score_map.shape != (dimensions,) * 2 or score_map.dtype != np.float64 or not np.isfinite(score_map).all():
        raise ParameterError(f"the array {SCORE_MAP!r} must have {dimensions} x {dimensions} finite numbers")
    return score_map


def merged_nodes(embedding: Embedding, sides: Sides) -> NDArray[Any]:
    """Return the ids of both sides in the order of the graph."""
    first, second = embedding.nodes, (embedding.targets or embedding).nodes
    same = first.dtype.kind == second.dtype.kind
    nodes = np.empty(len(sides), np.result_type(first, second) if same else object)
    nodes[sides], nodes[~sides] = first, second
    return nodes
