"""Maps of a sample of nodes, one per level and one for all levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.datasets import Dataset
from boostne.embedding import Embedding
from boostne.labels import Labels
from boostne.visualization.explorer.layouts import level_layouts

DECIMALS = 2


@dataclass(frozen=True, eq=False)
class NodeMaps:
    """The maps of a data set.

    Attributes
    ----------
    name : str
        Name of the data set.
    nodes : sequence of str
    labels : Labels or None
    layouts : sequence of arrays of shape (n, 2)
        Positions by all levels together, then by level 1 to k.
    """

    name: str
    nodes: Sequence[str]
    labels: Labels | None
    layouts: Sequence[NDArray[np.float64]]


def sample_maps(data: Dataset, embedding: Embedding, max_nodes: int, seed: int) -> dict[str, list[Any]]:
    """Lay out a random sample of nodes by t-SNE, for all levels together and for each level.

    Parameters
    ----------
    data : Dataset
    embedding : Embedding
        Of all nodes, in the order of the graph.
    max_nodes : int
        Size of the sample, unless there are fewer nodes.
    seed : int
        Seed of the sample and of t-SNE.

    Returns
    -------
    dict
        ``nodes``, ``labels`` (the most frequent label of each node, "" if it has none), and ``positions``: for
        all levels together, then for each level, the x and y of these nodes.
    """
    n = len(embedding)
    rows = np.sort(np.random.default_rng(seed).choice(n, min(n, max_nodes), replace=False))
    sample = Embedding(embedding.nodes[rows], embedding.vectors[rows], embedding.levels)
    return {
        "nodes": [str(node) for node in sample.nodes.tolist()],
        "labels": _most_frequent_labels(data.labels, rows),
        "positions": [np.round(layout, DECIMALS).tolist() for layout in level_layouts(sample, seed)],
    }


def _most_frequent_labels(labels: Labels, rows: NDArray[np.intp]) -> list[str]:
    frequency = np.asarray(labels.matrix.sum(axis=0)).ravel()
    matrix = labels.matrix[rows]
    columns_of_rows = np.split(matrix.indices, matrix.indptr[1:-1])
    return [
        str(labels.classes[columns[np.argmax(frequency[columns])]]) if len(columns) else ""
        for columns in columns_of_rows
    ]
