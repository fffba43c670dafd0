"""Nodes in the plane: one map for each level, one for all levels together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.datasets import Dataset
from boostne.embedding import Embedding
from boostne.labels import Labels

STEPS, ANGLE = 400, 0.8  # of t-SNE: coarser than its defaults, to save time
DECIMALS = 2
PERPLEXITY = 30


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
    levels = range(1, embedding.n_levels + 1)
    groups = [embedding.vectors, *(embedding.level(i) for i in levels)]
    return {
        "nodes": [str(node) for node in embedding.nodes[chosen].tolist()],
        "labels": _main_labels(data.labels, chosen),
        "places": [_flat(vectors[chosen], seed).tolist() for vectors in groups],
    }


def _flat(vectors: NDArray[Any], seed: int) -> NDArray[np.float64]:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    if not np.ptp(vectors, axis=0).any():  # nothing was left for this level: all nodes in one place
        return np.zeros((len(vectors), 2))
    # One thread: the order of the sums decides the last bits, and t-SNE makes them large.
    with threadpool_limits(1):
        tsne = TSNE(
            metric="cosine",
            init="pca",
            perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3),
            max_iter=STEPS,
            angle=ANGLE,
            random_state=seed,
            n_jobs=1,
        )
        places: NDArray[np.float64] = tsne.fit_transform(vectors).astype(np.float64)
    return np.round(places, DECIMALS)


def _main_labels(labels: Labels, rows: NDArray[np.intp]) -> list[str]:
    frequency = np.asarray(labels.matrix.sum(axis=0)).ravel()
    matrix = labels.matrix[rows]
    carried = (
        matrix.indices[start:stop] for start, stop in zip(matrix.indptr, matrix.indptr[1:], strict=False)
    )
    return [str(labels.classes[at[np.argmax(frequency[at])]]) if len(at) else "" for at in carried]
