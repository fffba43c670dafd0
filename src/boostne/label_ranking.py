"""Assignment of labels by rank."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def top_k(values: NDArray[np.float64], k: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Mark the ``k[i]`` largest values of row i; ties go to the first columns.

    Examples
    --------
    >>> top_k(np.array([[0.1, 0.7, 0.2], [0.5, 0.5, 0.9]]), np.array([1, 2])).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """
    order = np.argsort(-values, axis=1, kind="stable")
    marked = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(marked, order, np.arange(values.shape[1]) < k[:, None], axis=1)
    return marked
