"""The arrays of a model file that only models of bipartite graphs have."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.io.embedding_arrays import embedding_arrays, embedding_from_arrays
from boostne.sides import Sides
from boostne.sparse_structure import find_structure_error

if TYPE_CHECKING:
    from boostne.models.inductive import InductiveEmbedder

TARGET = "target_"
KNOWN = ("known_indptr", "known_indices")
SIDES = "sides"


def is_bipartite(arrays: Mapping[str, Any]) -> bool:
    """Whether a file belongs to a model of a bipartite graph."""
    return SIDES in arrays


def bipartite_arrays(model: "InductiveEmbedder") -> dict[str, Any]:
    """Return the ids of the second side, the edges, and the side of each node; the vectors are ``context``."""
    sides = model.fitted_graph_.sides
    if sides is None:
        return {}
    targets = {name: array for name, array in embedding_arrays(model.targets_).items() if name.startswith("nodes")}
    return {
        **{TARGET + name: array for name, array in targets.items()},
        **dict(zip(KNOWN, (model.known_.indptr, model.known_.indices), strict=True)),
        SIDES: sides,
    }


def restore_targets(arrays: Mapping[str, NDArray[Any]]) -> Embedding:
    """Return the vectors of the second side."""
    found = {name.removeprefix(TARGET): array for name, array in arrays.items() if name.startswith(TARGET)}
    return embedding_from_arrays({**found, "vectors": arrays["context"], "levels": arrays["levels"]})


def restore_known(arrays: Mapping[str, NDArray[Any]], shape: tuple[int, int]) -> sparse.csr_array:
    """Return where the edges are; raise ParameterError unless they are between nodes of the two sides."""
    indptr, indices = (arrays[name] for name in KNOWN)
    known = sparse.csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=shape)
    problem = find_structure_error(known)
    if problem:
        raise ParameterError(f"the edges between the sides: {problem}")
    return known


def merged_nodes(first: Embedding, second: Embedding, sides: Sides) -> NDArray[Any]:
    """Return the ids of both sides in the order of the graph."""
    same = first.nodes.dtype.kind == second.nodes.dtype.kind
    nodes = np.empty(len(sides), np.result_type(first.nodes, second.nodes) if same else object)
    nodes[sides], nodes[~sides] = first.nodes, second.nodes
    return nodes


def check_sides_array(sides: NDArray[Any], n_first: int, n_second: int) -> Sides:
    """Return the side of each node; raise ParameterError unless there are as many as there are vectors."""
    if sides.dtype != bool or sides.shape != (n_first + n_second,) or np.count_nonzero(sides) != n_first:
        raise ParameterError(f"the array 'sides' must mark {n_first} of {n_first + n_second} nodes")
    return sides
