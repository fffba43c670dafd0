"""Folding in: vectors for rows of X, given the context vectors of a factorization."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.kernels import Kernels
from boostne.kernels.layout import aligned_empty, padded_factor
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.tree_reduction import sequential_sum

# Of a coordinate descent with as many variables as a level has columns.
SWEEPS = 60


def fold_in(
    X: sparse.csr_array, context: NDArray[Any], nodes: NDArray[np.int64] | slice, levels: int, kernels: Kernels
) -> NDArray[Any]:
    """Return the vectors of some rows of X, level by level as in a fit, except that the context vectors are given.

    With r_1 a row of X, ``u_i = argmin_{u >= 0} ||r_i - u V_i||^2`` and ``r_{i+1} = max(r_i - u_i V_i, 0)``.

    Parameters
    ----------
    X : csr_array
        Its arrays are overwritten.
    context : ndarray of shape (n, d)
        ``[V_1^T … V_k^T]``.
    nodes : ndarray of int or slice
        The row of ``context`` that belongs to each column of X.
    levels : int
        k.
    kernels : Kernels

    Returns
    -------
    ndarray of shape (rows of X, d)
    """
    R = ShardedCSR.from_csr(X, copy=False)
    width = context.shape[1] // levels
    vectors = np.empty((X.shape[0], context.shape[1]), context.dtype)
    for first in range(0, context.shape[1], width):
        columns = slice(first, first + width)
        V = padded_factor(context[nodes, columns])
        U = aligned_empty((X.shape[0], V.shape[1]), V.dtype)
        U[:] = 0
        gram = sequential_sum(kernels.extrapolate(V, V, 0.0))  # leaves V as it is
        kernels.solve_rows(R, V, gram, U, inner=SWEEPS)
        kernels.deflate(R, U, V)
        vectors[:, columns] = U[:, :width]
        del V  # not kept while that of the next level is copied
    return vectors
