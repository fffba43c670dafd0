"""The arrays of the explorer: what a page contains and what a server sends."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.embedding import Embedding
from boostne.progress import ProgressCallback
from boostne.visualization.explorer.content import Content, GraphContent, NodeContent, strongest_components
from boostne.visualization.explorer.neighbors import nearest_neighbors
from boostne.visualization.explorer.packing import PackedArray, smallest_type

NEIGHBORS = 10
SIMILARITY_UNIT = 1e-3
MAX_PAGE_EDGES = 500_000  # in a page; nodes with many edges lose the lightest
VALUE_STEPS = 4095  # of the strongest components' values, from 0 to the largest of all
_BLOCK_ROWS = 65_536

Rows = NDArray[np.intp]


def describe(content: Content, steps: int) -> dict[str, Any]:
    """Return what the page's script needs to know besides the arrays; components have `steps` + 1 values."""
    embedding = content.embedding
    low, high = embedding.vectors.min(axis=0), embedding.vectors.max(axis=0)
    return describe_nodes(content, embedding.levels.tolist()) | {
        "columns": embedding.columns() if embedding.n_levels > 1 else plain_names(embedding),
        "low": low.tolist(),
        "high": high.tolist(),
        "steps": steps,
        "largest": float(max(-low.min(), high.max())),
        "valueSteps": VALUE_STEPS,
        "similarityUnit": SIMILARITY_UNIT,
    }


def describe_nodes(content: NodeContent, levels: list[int]) -> dict[str, Any]:
    """Return what the page's script needs to know of nodes without vectors; `levels` are the sizes of the levels."""
    graph = content.graph
    return {
        "title": content.title,
        "n": len(content.ids),
        "levels": levels,
        "columns": [],
        "classes": list(content.classes),
        "labeled": content.label_matrix is not None,
        "communities": 0 if graph is None else int(graph.communities.max(initial=-1)) + 1,
        "notes": list(content.notes),
    }


def plain_names(embedding: Embedding) -> list[str]:
    """Return the names of components of vectors without levels, counted from 1."""
    return [str(j + 1) for j in range(embedding.dimensions)]


def node_arrays(content: NodeContent, order: Rows) -> dict[str, PackedArray]:
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
    values = embedding.vectors[order[:, None], columns] * (VALUE_STEPS / (largest or 1.0))
    return {
        "strongest": PackedArray(columns.astype(np.uint8 if embedding.dimensions <= 256 else np.uint16)),  # noqa: PLR2004
        "strongest_values": PackedArray(np.rint(values).astype(np.int16)),
    }


def edge_arrays(graph: GraphContent, order: Rows) -> dict[str, PackedArray]:
    """Return the edges of each node to nodes later in the order, as differences of their positions in it."""
    kept = sparse.triu(_heaviest_edges(graph.adjacency)[order][:, order], format="csr")
    kept.sort_indices()
    counts = np.diff(kept.indptr)
    offsets = kept.indices - np.repeat(np.arange(len(order)), counts)
    return {"edge_counts": PackedArray(smallest_type(counts)), "edge_offsets": PackedArray(smallest_type(offsets))}


def _heaviest_edges(adjacency: sparse.csr_array) -> sparse.csr_array:
    """Return a symmetric matrix with at most `MAX_PAGE_EDGES` edges, which are the heaviest of one of their nodes."""
    A = sparse.csr_array(adjacency)
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    by_weight = np.lexsort((A.indices, -A.data, rows))
    ranks = np.empty(A.nnz, dtype=np.int64)
    ranks[by_weight] = np.arange(A.nnz) - A.indptr[rows] + 1  # within the row, from 1
    rank = sparse.csr_array((ranks, A.indices, A.indptr), shape=A.shape)
    rank = sparse.csr_array(rank.minimum(sparse.csr_array(rank.T)))
    edges = np.bincount(sparse.triu(rank).data, minlength=1).cumsum()  # by the largest rank allowed
    limit = int(np.searchsorted(edges, MAX_PAGE_EDGES, side="right")) - 1
    rank.data[rank.data > limit] = 0
    rank.eliminate_zeros()
    return rank


def inverse(order: Rows) -> Rows:
    """Return the position of each row in the order."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def edges_of(graph: GraphContent, row: int, limit: int) -> list[int]:
    """Return the rows of the neighbors of a node in the graph: all, or those with the `limit` heaviest edges."""
    A = graph.adjacency
    start, stop = A.indptr[row : row + 2]
    heaviest = np.argsort(-A.data[start:stop], kind="stable")[:limit]
    return [int(target) for target in np.sort(A.indices[start:stop][heaviest])]
