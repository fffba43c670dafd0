"""The arrays of the explorer: what a page contains and what a server sends."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.embedding import Embedding
from boostne.progress import ProgressCallback
from boostne.visualization.explorer.content import Content, GraphContent, strongest_components
from boostne.visualization.explorer.neighbors import nearest_neighbors
from boostne.visualization.explorer.packing import PackedArray, smallest_type

NEIGHBORS = 10
SIMILARITY_UNIT = 1e-4
MAX_PAGE_EDGES = 1_000_000  # entries of the adjacency in a page; nodes with many edges lose the lightest
_VALUE_STEPS = 32_767  # of the strongest components' values
_BLOCK_ROWS = 65_536

Rows = NDArray[np.intp]


def describe(content: Content, steps: int) -> dict[str, Any]:
    """Return what the page's script needs to know besides the arrays; components have `steps` + 1 values."""
    embedding, graph = content.embedding, content.graph
    low, high = embedding.vectors.min(axis=0), embedding.vectors.max(axis=0)
    return {
        "title": content.title,
        "n": len(embedding),
        "levels": embedding.levels.tolist(),
        "columns": embedding.columns() if embedding.n_levels > 1 else plain_names(embedding),
        "low": low.tolist(),
        "high": high.tolist(),
        "steps": steps,
        "largest": float(max(-low.min(), high.max())),
        "classes": list(content.classes),
        "labeled": content.label_matrix is not None,
        "communities": 0 if graph is None else int(graph.communities.max(initial=-1)) + 1,
        "edges": 0 if graph is None else int(graph.degrees.sum()),
        "notes": list(content.notes),
        "similarityUnit": SIMILARITY_UNIT,
    }


def plain_names(embedding: Embedding) -> list[str]:
    """Return the names of components of vectors without levels, counted from 1."""
    return [str(j + 1) for j in range(embedding.dimensions)]


def node_arrays(content: Content, order: Rows) -> dict[str, PackedArray]:
    """Return the labels, degrees and communities of the nodes, in the given order."""
    arrays = {}
    if content.label_matrix is not None:
        labels = sparse.csr_array(content.label_matrix[order])
        labels.sort_indices()
        arrays["label_counts"] = PackedArray(smallest_type(np.diff(labels.indptr)))
        arrays["label_indices"] = PackedArray(smallest_type(labels.indices))
    if content.graph is not None:
        arrays["degrees"] = PackedArray(smallest_type(content.graph.degrees[order]))
        arrays["communities"] = PackedArray(smallest_type(content.graph.communities[order]))
    return arrays


def component_array(embedding: Embedding, column: int, order: Rows | slice, steps: int) -> PackedArray:
    """Return one component of all nodes, scaled to 0 … `steps`."""
    values = embedding.vectors[order, column].astype(np.float64)
    low, high = values.min(), values.max()
    return PackedArray(np.rint((values - low) * (steps / ((high - low) or 1.0))).astype(np.uint8))


def similarity_arrays(embedding: Embedding, order: Rows, progress: ProgressCallback) -> dict[str, PackedArray]:
    """Return the most similar nodes of each node, as differences of their positions in the order, and similarities."""
    rows, similarities = nearest_neighbors(embedding.vectors, NEIGHBORS, progress)
    place = inverse(order)
    offsets = place[rows[order]] - np.arange(len(order))[:, None]
    units = np.rint(similarities[order] / SIMILARITY_UNIT).astype(np.int16)
    return {"neighbors": PackedArray(offsets.astype(np.int32)), "similarities": PackedArray(units, differences=True)}


def strongest_arrays(embedding: Embedding, order: Rows, largest: float) -> dict[str, PackedArray]:
    """Return the strongest components of each node, and their values in units of the largest of all."""
    blocks = [slice(start, start + _BLOCK_ROWS) for start in range(0, len(order), _BLOCK_ROWS)]
    columns = np.concatenate([strongest_components(embedding, order[block]) for block in blocks])
    values = embedding.vectors[order[:, None], columns] * (_VALUE_STEPS / (largest or 1.0))
    return {
        "strongest": PackedArray(columns.astype(np.uint8 if embedding.dimensions <= 256 else np.uint16)),  # noqa: PLR2004
        "strongest_values": PackedArray(np.rint(values).astype(np.int16)),
    }


def edge_arrays(graph: GraphContent, order: Rows) -> dict[str, PackedArray]:
    """Return the neighbors in the graph of each node, as differences of their positions in the order."""
    limit = _edge_limit(graph.degrees)
    A = graph.adjacency
    place = inverse(order)
    lists = [_heaviest(A, row, limit) for row in order.tolist()]
    counts = np.array([len(one) for one in lists], dtype=np.int64)
    targets = np.concatenate([np.sort(place[one]) for one in lists])
    offsets = targets - np.repeat(np.arange(len(order)), counts)
    return {"edge_counts": PackedArray(smallest_type(counts)), "edge_offsets": PackedArray(offsets.astype(np.int32))}


def inverse(order: Rows) -> Rows:
    """Return the position of each row in the order."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def _edge_limit(degrees: NDArray[np.int64]) -> int:
    """Return the largest number of edges per node with which all of them fit into a page."""
    low, high = 0, int(degrees.max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(degrees, middle).sum()) <= MAX_PAGE_EDGES:
            low = middle
        else:
            high = middle - 1
    return low


def _heaviest(A: sparse.csr_array, row: int, limit: int) -> NDArray[np.int32]:
    start, stop = A.indptr[row : row + 2]
    targets = A.indices[start:stop]
    if len(targets) <= limit:
        return np.asarray(targets)
    return np.asarray(targets[np.argsort(-A.data[start:stop], kind="stable")[:limit]])


def edges_of(graph: GraphContent, row: int, limit: int) -> Sequence[int]:
    """Return the rows of the neighbors of a node in the graph, at most `limit`."""
    return [int(target) for target in np.sort(_heaviest(graph.adjacency, row, limit))]
