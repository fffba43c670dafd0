"""The most similar nodes of every node, equal to those of ``Embedding.most_similar``.

Candidates are found by products of blocks in float32, and ranked by their similarity in float64.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from boostne.embedding import FloatArray
from boostne.progress import Progress, ProgressCallback, silent

_BLOCK_ROWS = 256
_GROUPED = 64  # columns whose maximum is taken first
_MAX_CANDIDATES = 1 << 18  # ranked at once
_ROUNDING = 2.0**-22  # bound of the rounding error of a product of unit vectors in float32, per dimension


def unit_rows(block: FloatArray, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Scale rows to unit length; zero rows stay zero."""
    rows = block.astype(np.promote_types(block.dtype, dtype))
    # Divide by the largest entry first: squares of very large or small entries would overflow or underflow.
    for order in (np.inf, 2):
        length = np.linalg.norm(rows, ord=order, axis=1)
        rows /= np.where(length > 0, length, 1).astype(rows.dtype)[:, None]
    return rows.astype(dtype, copy=False)


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
    n, d = vectors.shape
    count = min(count, n - 1)
    unit = unit_rows(vectors)
    rounded = unit.astype(np.float32)
    rows, similarities = np.empty((n, count), dtype=np.intp), np.empty((n, count))
    if count == 0:
        return rows, similarities
    for start in range(0, n, _BLOCK_ROWS):
        progress(Progress("neighbors", start / n, f"{start:,} of {n:,} nodes"))
        block = slice(start, min(start + _BLOCK_ROWS, n))
        found = _candidates(rounded[block] @ rounded.T, start, count, d * _ROUNDING)
        for first, last, columns in _batches(found, block.stop - start):
            batch = slice(start + first, start + last)
            rows[batch], similarities[batch] = _ranked(unit, start + found[0][columns], found[1][columns], count)
    return rows, similarities


def _candidates(
    scores: NDArray[np.float32], start: int, count: int, tolerance: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return pairs (row in the block, column), sorted by row, that include the `count` largest of each row."""
    n_rows, n = scores.shape
    scores[np.arange(n_rows), np.arange(start, start + n_rows)] = -2.0  # a node is no neighbor of its own
    width = n // _GROUPED
    if width < 2 * count:
        bound = np.partition(scores, n - count, axis=1)[:, n - count] - tolerance
        rows, columns = np.nonzero(scores >= bound[:, None])
        return rows[columns != rows + start], columns[columns != rows + start]
    # Column j is in the group j mod width; the largest of the groups' maxima bound the largest entries from below.
    grouped = scores[:, : width * _GROUPED].reshape(n_rows, _GROUPED, width)
    maxima = grouped.max(axis=1)
    bound = np.partition(maxima, width - count, axis=1)[:, width - count] - tolerance
    rows, groups = np.nonzero(maxima >= bound[:, None])
    member, which = np.nonzero((grouped[rows, :, groups] >= bound[rows, None]).T)
    rest_rows, rest = np.nonzero(scores[:, width * _GROUPED :] >= bound[:, None])
    rows = np.concatenate([rows[which], rest_rows])
    columns = np.concatenate([member * width + groups[which], rest + width * _GROUPED])
    order = np.argsort(rows, kind="stable")
    rows, columns = rows[order], columns[order]
    return rows[columns != rows + start], columns[columns != rows + start]


def _batches(found: tuple[NDArray[np.intp], NDArray[np.intp]], n_rows: int) -> list[tuple[int, int, slice]]:
    """Split the rows of a block so that each part has few candidates, or a single row."""
    ends = np.searchsorted(found[0], np.arange(n_rows), side="right")
    parts, first, begin = [], 0, 0
    for row in range(n_rows):
        if row + 1 == n_rows or ends[row + 1] - begin > _MAX_CANDIDATES:
            parts.append((first, row + 1, slice(begin, int(ends[row]))))
            first, begin = row + 1, int(ends[row])
    return parts


def _ranked(
    unit: NDArray[np.float64], rows: NDArray[np.intp], columns: NDArray[np.intp], count: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the `count` best candidates of each row."""
    # einsum instead of BLAS: equal rows give bitwise equal sums, so ties are exact.
    exact = np.clip(np.einsum("ij,ij->i", unit[columns], unit[rows]), -1.0, 1.0)
    order = np.lexsort((columns, -exact, rows))
    rows, columns, exact = rows[order], columns[order], exact[order]
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    picked = starts[:, None] + np.arange(count)
    return columns[picked], exact[picked]
