"""The lengths of vectors: made more equal, with a given mean."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 8192


def rescale_in_place(vectors: NDArray[Any], mean_length: float) -> float:
    """Divide each vector by the square root of its length, then multiply all so that their mean length is given.

    Vectors of length zero stay as they are, and do not count in the mean. Returns the constant that all were multiplied
    by; :func:`rescale_alike` treats further vectors in the same way.
    """
    root = _root_lengths(vectors)
    nonzero = root > 0
    scale = float(mean_length / root[nonzero].mean()) if nonzero.any() else 1.0
    _rescale(vectors, root, scale)
    return scale


def scale_in_place(vectors: NDArray[Any], mean_length: float) -> float:
    """Multiply all vectors by one constant, so that those other than zero have a given mean length; returns it."""
    lengths = _root_lengths(vectors) ** 2
    nonzero = lengths > 0
    scale = float(mean_length / lengths[nonzero].mean()) if nonzero.any() else 1.0
    vectors *= vectors.dtype.type(scale)
    return scale


def rescale_alike(vectors: NDArray[Any], scale: float) -> None:
    """Divide each vector by the square root of its length and multiply it by a constant, in place."""
    _rescale(vectors, _root_lengths(vectors), scale)


def undoing_factors(vectors: NDArray[Any], scale: float, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what some rescaled vectors must be multiplied by, row by row, to be as they were."""
    return (_root_lengths(vectors, rows) / scale) ** 2


def _root_lengths(vectors: NDArray[Any], of: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """Return the square roots of the lengths of vectors, or of some of them."""
    n = len(vectors) if of is None else len(of)
    root = np.empty(n)
    for rows in _blocks(n):
        block = vectors[rows if of is None else of[rows]].astype(np.float64)
        root[rows] = np.einsum("ij,ij->i", block, block) ** 0.25
    return root


def _rescale(vectors: NDArray[Any], root: NDArray[np.float64], scale: float) -> None:
    factors = np.divide(scale, root, out=np.ones_like(root), where=root > 0)
    for rows in _blocks(len(vectors)):
        vectors[rows] = vectors[rows] * factors[rows, None]


def _blocks(n_rows: int) -> list[slice]:
    return [slice(first, first + BLOCK_ROWS) for first in range(0, n_rows, BLOCK_ROWS)]
