"""Maps of a sample of nodes, one per level and one for all levels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.datasets import Dataset
from boostne.embedding import Embedding
from boostne.labels import Labels
from boostne.visualization.layout import level_maps

DECIMALS = 2


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
    return {
        "nodes": [str(node) for node in embedding.nodes[rows].tolist()],
        "labels": _most_frequent_labels(data.labels, rows),
        "positions": [
            np.round(positions, DECIMALS).tolist() for positions in level_maps(embedding, rows, seed).values()
        ],
    }


def _most_frequent_labels(labels: Labels, rows: NDArray[np.intp]) -> list[str]:
    frequency = np.asarray(labels.matrix.sum(axis=0)).ravel()
    matrix = labels.matrix[rows]
    columns_of_rows = np.split(matrix.indices, matrix.indptr[1:-1])
    return [
        str(labels.classes[columns[np.argmax(frequency[columns])]]) if len(columns) else ""
        for columns in columns_of_rows
    ]
