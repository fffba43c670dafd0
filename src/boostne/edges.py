"""Edges and weights as arrays in, a checked sparse matrix out: what a graph is made with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import GraphError

_FLOAT32_EXACT = 1 << 24  # every integer up to here has a float32 of its own
_INT32_MAX = np.iinfo(np.int32).max
_ROUNDING = 1e-6  # relative; a float32 has some six digits


def as_weights(values: Any) -> NDArray[Any]:
    """Return weights as a one-dimensional array of numbers; integers stay integers: their sums are exact."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise GraphError(f"weights must be one-dimensional, got an array of shape {array.shape}")
    if array.dtype.kind == "f":
        return _as_float(array)
    if array.dtype.kind in "biu":
        return array.astype(np.uint64 if array.dtype == np.uint64 else np.int64)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError(f"weights must be numbers ({error})") from None


def find_invalid_weight(weights: NDArray[Any]) -> tuple[int, str] | None:
    """Find the first weight that is negative, infinite or not a number.

    Returns
    -------
    (position, problem) or None
        The problem in words, with the remedy.

    Examples
    --------
    >>> position, problem = find_invalid_weight(np.array([1.0, -2.0]))
    >>> position, problem.split(":")[0]
    (1, 'the weight -2.0, which is negative')
    """
    good = np.isfinite(weights) & (weights >= 0)
    if good.all():
        return None
    position = int(np.argmin(good))
    value = weights[position].item()
    if np.isnan(value):
        return position, "a weight that is missing (NaN): fill it in or leave the edge out"
    if np.isinf(value):
        return position, f"an infinite weight ({value}): give it a finite one or leave the edge out"
    return position, (
        f"the weight {value}, which is negative: weights mean closeness and must be >= 0; "
        "leave the edge out, or shift or rescale the weights"
    )


def canonical_csr(matrix: Any) -> sparse.csr_array:
    """Return a square matrix as a CSR copy of floats: sorted, without duplicates or stored zeros."""
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:  # noqa: PLR2004
        raise GraphError(
            f"an adjacency matrix must be square, got shape {tuple(matrix.shape)}; "
            "for a table of edges use Graph.from_edges(source, target)"
        )
    if matrix.dtype.kind not in "biuf":
        raise GraphError(f"an adjacency matrix must hold real numbers, got dtype {matrix.dtype}")
    # Dense first: SciPy has no float16 and no foreign byte order.
    csr = checked_csr(matrix if sparse.issparse(matrix) else _as_float(matrix))
    csr.sum_duplicates()
    csr.eliminate_zeros()
    index = np.int32 if max(csr.nnz, *csr.shape) < _INT32_MAX else np.int64
    parts = (_as_float(csr.data), csr.indices.astype(index), csr.indptr.astype(index))
    return sparse.csr_array(parts, shape=csr.shape)


def checked_csr(matrix: Any) -> sparse.csr_array:
    """Return a CSR copy of a matrix whose indices were checked.

    An index out of range, from a damaged file, would make compiled code read foreign memory.
    """
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise GraphError(f"the sparse matrix is malformed: {error}") from None
    return sparse.csr_array(matrix, copy=True)


def entry_position(matrix: sparse.csr_array, k: int) -> tuple[int, int]:
    """Return row and column of the ``k``-th stored entry."""
    row = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
    return row, int(matrix.indices[k])


def find_asymmetry(matrix: sparse.csr_array) -> tuple[int, int] | None:
    """Return the place of an entry of a canonical matrix that differs from its mirror image, or None.

    Weights that were computed, such as similarities, differ from their mirror image in the last bits; that is no
    direction.
    """
    mirror = matrix.T.tocsr()
    same = (
        np.array_equal(matrix.indptr, mirror.indptr)
        and np.array_equal(matrix.indices, mirror.indices)
        and np.allclose(matrix.data, mirror.data, rtol=_ROUNDING, atol=0, equal_nan=True)
    )
    if same:
        return None
    difference = (abs(matrix - mirror) > _ROUNDING * matrix.maximum(mirror)).tocoo()
    return int(difference.row[0]), int(difference.col[0])


def symmetrize(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return a canonical matrix that is symmetric up to rounding as one that is exactly so."""
    mirror = matrix.T.tocsr()
    if np.array_equal(matrix.data, mirror.data):
        return matrix
    return sparse.csr_array(
        ((matrix.data + mirror.data) / 2, matrix.indices, matrix.indptr), shape=matrix.shape
    )


def merge_edges(
    keys: NDArray[np.int64], weights: NDArray[Any] | None, *, add: bool
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Bring edges with the same key together, whatever their order.

    Parameters
    ----------
    keys
        One number per edge, equal for equal edges.
    weights
        Their weights; None means that each is 1.
    add
        Add the weights of equal edges; otherwise keep the largest.

    Returns
    -------
    keys, weights
        The distinct keys, sorted, and the weight of each.

    Examples
    --------
    >>> merge_edges(np.array([5, 2, 5]), np.array([1.0, 3.0, 4.0]), add=False)
    (array([2, 5]), array([3., 4.]))
    """
    if weights is None:
        keys = np.sort(keys)
        starts = _group_starts(keys)
        counts = np.diff(starts, append=len(keys))
        return keys[starts], counts if add else np.ones(len(starts), dtype=np.float32)
    # Rounding makes a sum depend on the order of its terms: fix it by sorting equal edges by weight.
    order = np.lexsort((weights, keys)) if add else np.argsort(keys)
    keys, weights = keys[order], weights[order]
    starts = _group_starts(keys)
    if len(starts) == len(keys):
        return keys, weights
    reduce = np.add if add else np.maximum
    return keys[starts], reduce.reduceat(weights, starts)


def edges_to_matrix(
    rows: NDArray[np.int64], columns: NDArray[np.int64], weights: NDArray[Any], n: int, *, mirrored: bool
) -> sparse.coo_array:
    """Return the ``n × n`` matrix of distinct edges; ``mirrored`` also enters each at ``(j, i)``."""
    index = np.int32 if n < _INT32_MAX else np.int64
    rows, columns = rows.astype(index), columns.astype(index)
    if mirrored:
        off = rows != columns
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
        weights = np.concatenate([weights, weights[off]])
    return sparse.coo_array((weights, (rows, columns)), shape=(n, n))


def _group_starts(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    change = np.ones(len(ordered), dtype=bool)
    change[1:] = ordered[1:] != ordered[:-1]
    return np.flatnonzero(change)


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype in (np.float32, np.float64):
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    exact = not values.size or (values.min() >= -_FLOAT32_EXACT and values.max() <= _FLOAT32_EXACT)
    return values.astype(np.float32 if exact else np.float64)
