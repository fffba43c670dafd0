"""Two-dimensional layouts of vectors by t-SNE."""

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import FloatArray

_MAX_ITER, _ANGLE = 400, 0.8  # coarser than scikit-learn's defaults, for speed
_MAX_ITER_FROM_START = 300
_START_SPREAD = 1e-2  # standard deviation of given starting positions, so small that the layout can still unfold
_PERPLEXITY = 30.0
_PLANE = 2
_MIN_NODES = 5  # t-SNE needs neighborhoods


def flat_map(vectors: FloatArray, seed: int = 0, start: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Lay out vectors in the plane by t-SNE on cosine distances.

    Vectors with one or two columns are returned as they are.

    Parameters
    ----------
    vectors : array of shape (n, d)
    seed : int, default 0
    start : array of shape (n, 2), optional
        Positions in another layout of the same nodes, which this one will resemble; by default principal components.

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
    if d <= _PLANE or n < _MIN_NODES or not np.ptp(vectors, axis=0).any():
        flat = np.zeros((n, _PLANE))
        flat[:, : min(d, _PLANE)] = vectors[:, :_PLANE]
        return flat
    # One thread: with so few points, synchronization costs more than the work.
    with threadpool_limits(1):
        tsne = TSNE(
            perplexity=min(_PERPLEXITY, (n - 1) / 3),
            metric="cosine",
            init="pca" if start is None else _scaled_start(start),
            max_iter=_MAX_ITER if start is None else _MAX_ITER_FROM_START,
            angle=_ANGLE,
            random_state=seed,
            n_jobs=1,
        )
        return np.asarray(tsne.fit_transform(vectors), dtype=np.float64)


def _scaled_start(start: NDArray[np.float64]) -> NDArray[np.float32]:
    centered = start - start.mean(axis=0)
    return np.asarray(centered * (_START_SPREAD / (centered.std() or 1.0)), dtype=np.float32)
