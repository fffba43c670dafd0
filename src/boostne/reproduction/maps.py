"""Nodes in the plane: one map for each level, one for all levels together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.datasets import Dataset
from boostne.embedding import Embedding
from boostne.labels import Labels
from boostne.visualization.layout import level_maps

DECIMALS = 2


def draw_maps(data: Dataset, embedding: Embedding, most: int, seed: int) -> dict[str, list[Any]]:
    """Lay nodes out by t-SNE, once for each level and once for all of them.

    Parameters
    ----------
    data : Dataset
    embedding : Embedding
        Of all nodes, in the order of the graph.
    most : int
        Nodes at most; of more, so many are drawn at random.
    seed : int
        Of that draw and of t-SNE.

    Returns
    -------
    dict
        ``nodes`` and ``labels`` (a node's most frequent label in the network; "" where it has none), and
        ``places``: for all levels together, then for each level, the x and y of these nodes.
    """
    n = len(embedding)
    chosen = np.sort(np.random.default_rng(seed).choice(n, min(n, most), replace=False))
    return {
        "nodes": [str(node) for node in embedding.nodes[chosen].tolist()],
        "labels": _main_labels(data.labels, chosen),
        "places": [
            np.round(places, DECIMALS).tolist() for places in level_maps(embedding, chosen, seed).values()
        ],
    }


def _main_labels(labels: Labels, rows: NDArray[np.intp]) -> list[str]:
    frequency = np.asarray(labels.matrix.sum(axis=0)).ravel()
    matrix = labels.matrix[rows]
    carried = (
        matrix.indices[start:stop] for start, stop in zip(matrix.indptr, matrix.indptr[1:], strict=False)
    )
    return [str(labels.classes[at[np.argmax(frequency[at])]]) if len(at) else "" for at in carried]
