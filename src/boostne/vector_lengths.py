"""The lengths of vectors: made more equal, with a given mean."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 65_536


def rescale_in_place(vectors: NDArray[Any], mean_length: float) -> None:
    """Divide each vector by the square root of its length, then all by a constant, so that their mean length is given.

    Vectors of length zero stay as they are, and do not count in the mean.
    """
    root = np.empty(len(vectors))
    for rows in _blocks(len(vectors)):
        block = vectors[rows].astype(np.float64)
        root[rows] = np.einsum("ij,ij->i", block, block) ** 0.25
    nonzero = root > 0
    if not nonzero.any():
        return
    factors = np.ones_like(root)
    factors[nonzero] = mean_length / root[nonzero].mean() / root[nonzero]
    for rows in _blocks(len(vectors)):
        vectors[rows] = vectors[rows] * factors[rows, None]


def _blocks(n_rows: int) -> list[slice]:
    return [slice(first, first + BLOCK_ROWS) for first in range(0, n_rows, BLOCK_ROWS)]
