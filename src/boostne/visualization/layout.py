"""Vectors laid out in the plane, so that people can look at them."""

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding, FloatArray

_STEPS, _ANGLE = 400, 0.8  # of t-SNE: coarser than its defaults, to save seconds
_PERPLEXITY = 30.0
_PLANE = 2
_FEWEST = 5  # nodes for which neighborhoods mean anything


def flat_map(vectors: FloatArray, seed: int = 0) -> NDArray[np.float64]:
    """Lay vectors out in the plane by t-SNE on their cosine distances, so that neighbors stay neighbors.

    Vectors of one or two columns are taken as they are.

    Parameters
    ----------
    vectors : array of shape (n, d)
    seed : int, default 0

    Returns
    -------
    ndarray of shape (n, 2)

    Examples
    --------
    >>> flat_map(np.array([[1.0], [3.0]]))
    array([[1., 0.],
           [3., 0.]])
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    n, d = vectors.shape
    if d <= _PLANE or n < _FEWEST or not np.ptp(vectors, axis=0).any():
        flat = np.zeros((n, _PLANE))
        flat[:, : min(d, _PLANE)] = vectors[:, :_PLANE]
        return flat
    # One thread: for so few points, waiting for the others takes longer than the work.
    with threadpool_limits(1):
        tsne = TSNE(
            perplexity=min(_PERPLEXITY, (n - 1) / 3),
            metric="cosine",
            init="pca",
            max_iter=_STEPS,
            angle=_ANGLE,
            random_state=seed,
            n_jobs=1,
        )
        return np.asarray(tsne.fit_transform(vectors), dtype=np.float64)


def level_maps(embedding: Embedding, rows: NDArray[np.intp], seed: int = 0) -> dict[int, NDArray[np.float64]]:
    """Lay out the vectors of some nodes, level by level.

    Parameters
    ----------
    embedding : Embedding
    rows : array of int
        Which nodes, by their place in the embedding.
    seed : int, default 0

    Returns
    -------
    dict
        From the level, 1 … k, to an array of shape (len(rows), 2). Key 0 holds all levels joined; where there
        is one level only, it is the only key.
    """
    found = {0: flat_map(embedding.vectors[rows], seed)}
    if embedding.n_levels > 1:
        found |= {
            level: flat_map(embedding.level(level)[rows], seed) for level in range(1, embedding.n_levels + 1)
        }
    return found
