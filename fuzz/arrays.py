"""Random matrices, and the bytes of NumPy files."""

import io
from random import Random
from typing import Any

import numpy as np
from scipy import sparse

FORMATS = ("csr", "csr", "csc", "coo", "bsr", "dia")


def random_dense(rng: Random, *, dtypes: str = "d") -> Any:
    """Return a small square matrix, symmetric in half of the cases; entries are exact in every type."""
    n = rng.choice((1, 2, 3, 5, 8))
    density = rng.choice((0.0, 0.2, 0.5, 1.0))
    dtype = np.dtype(rng.choice(dtypes))
    dense = np.array([[rng.randint(1, 9) * (rng.random() < density) for _ in range(n)] for _ in range(n)])
    if rng.random() < 0.5:
        dense = np.maximum(dense, dense.T)
    return dense.astype(dtype)


def random_sparse(rng: Random, *, dtypes: str = "d") -> Any:
    """Return such a matrix in one of SciPy's formats, as a matrix or an array."""
    dense = random_dense(rng, dtypes=dtypes)
    supported = dense.dtype.kind != "O" and dense.dtype != np.float16
    make = rng.choice((sparse.csr_array, sparse.csr_matrix))
    matrix = make(dense if supported else dense.astype(float)).asformat(rng.choice(FORMATS))
    if not supported:
        matrix.data = matrix.data.astype(dense.dtype)
    return matrix


def npy_bytes(array: Any) -> bytes:
    """Return an array as the content of an .npy file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=True)
    return buffer.getvalue()
