"""The most similar nodes of every node, as ``Embedding.most_similar`` returns them."""

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import FloatArray
from boostne.progress import Progress, ProgressCallback, silent
from boostne.similarity import SimilaritySearch

_BLOCK_ROWS = 1024  # between two reports of progress


def nearest_neighbors(
    vectors: FloatArray, count: int, progress: ProgressCallback = silent
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Find the rows with the largest cosine similarity to each row.

    Parameters
    ----------
    vectors : array of shape (n, d)
    count : int
        Neighbors per row; at most n - 1 are found.
    progress : callable, optional

    Returns
    -------
    rows : ndarray of shape (n, count)
        Most similar first; ties in the order of rows.
    similarities : ndarray of shape (n, count)
    """
    n = len(vectors)
    count = min(count, n - 1)
    rows, similarities = np.empty((n, count), dtype=np.intp), np.empty((n, count))
    if count == 0:
        return rows, similarities
    search = SimilaritySearch(vectors)
    for start in range(0, n, _BLOCK_ROWS):
        progress(Progress("neighbors", start / n, f"{start:,} of {n:,} nodes"))
        for row, found in enumerate(search.search(vectors[start : start + _BLOCK_ROWS], count + 1), start):
            others = found.rows != row  # with many ties, the row itself may be missing
            rows[row], similarities[row] = found.rows[others][:count], found.similarities[others][:count]
    return rows, similarities
