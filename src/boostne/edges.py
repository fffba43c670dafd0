"""Edge weights, merging of duplicate edges, and canonical adjacency matrices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import GraphError

_FLOAT32_EXACT = 1 << 24  # float32 represents all integers up to here exactly
_INT32_MAX = np.iinfo(np.int32).max
_ROUNDING = 1e-6  # relative; float32 has about seven significant digits


def as_weights(values: Any) -> NDArray[Any]:
    """Return weights as a one-dimensional numeric array; integers stay integers, so that their sums are exact."""
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
    """Find the first weight that is negative, infinite or NaN.

    Returns
    -------
    (position, problem) or None
        ``problem`` describes the weight and the remedy.

    Examples
    --------
    >>> position, problem = find_invalid_weight(np.array([1.0, -2.0]))
    >>> position, problem.split(":")[0]
    (1, 'a negative weight (-2.0)')
    """
    valid = np.isfinite(weights) & (weights >= 0)
    if valid.all():
        return None
    position = int(np.argmin(valid))
    value = weights[position].item()
    if np.isnan(value):
        return position, "a missing weight (NaN): fill it in or remove the edge"
    if np.isinf(value):
        return position, f"an infinite weight ({value}): make it finite or remove the edge"
    return position, (
        f"a negative weight ({value}): weights measure similarity and must be >= 0; "
        "remove the edge, or shift or rescale the weights"
    )


def canonical_csr(matrix: Any) -> sparse.csr_array:
    """Return a square matrix as a floating-point CSR copy, sorted, without duplicates or stored zeros."""
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:  # noqa: PLR2004
        raise GraphError(
            f"an adjacency matrix must be square, got shape {tuple(matrix.shape)}; "
            "for a table of edges use Graph.from_edges(source, target)"
        )
    if matrix.dtype.kind not in "biuf":
        raise GraphError(f"an adjacency matrix must contain real numbers, got dtype {matrix.dtype}")
    # Convert dense matrices first: SciPy supports neither float16 nor non-native byte order.
    csr = checked_csr(matrix if sparse.issparse(matrix) else _as_float(matrix))
    csr.sum_duplicates()
    csr.eliminate_zeros()
    index = _index_dtype(csr.nnz, csr.shape[0])
    return sparse.csr_array((_as_float(csr.data), csr.indices.astype(index), csr.indptr.astype(index)), shape=csr.shape)


def checked_csr(matrix: Any) -> sparse.csr_array:
    """Return a CSR copy of a matrix after checking its indices.

    Compiled code would read out of bounds if an index were out of range, as in a damaged file.
    """
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise GraphError(f"the sparse matrix is malformed: {error}") from None
    return sparse.csr_array(matrix, copy=True)


def entry_position(matrix: sparse.csr_array, k: int) -> tuple[int, int]:
    """Return the row and column of the ``k``-th stored entry."""
    row = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
    return row, int(matrix.indices[k])


def symmetrize(matrix: sparse.csr_array) -> sparse.csr_array | None:
    """Return a canonical matrix that is symmetric up to rounding as an exactly symmetric one; None if it is not.

    Computed weights, such as similarities, often differ from their transpose in the last bits.
    """
    transpose = matrix.T.tocsr()
    same_pattern = np.array_equal(matrix.indptr, transpose.indptr) and np.array_equal(matrix.indices, transpose.indices)
    if not same_pattern:
        return None
    if np.array_equal(matrix.data, transpose.data):
        return matrix
    if np.any(abs(matrix.data - transpose.data) > _ROUNDING * np.maximum(matrix.data, transpose.data)):
        return None
    mean = (matrix.data + transpose.data) / 2
    return sparse.csr_array((mean, matrix.indices, matrix.indptr), shape=matrix.shape)


def find_asymmetry(matrix: sparse.csr_array) -> tuple[int, int]:
    """Return the first position at which a matrix differs from its transpose by more than rounding."""
    transpose = matrix.T.tocsr()
    difference = (abs(matrix - transpose) > _ROUNDING * matrix.maximum(transpose)).tocoo()
    return int(difference.row[0]), int(difference.col[0])


def merge_edges(
    keys: NDArray[np.int64], weights: NDArray[Any] | None, *, add: bool
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Merge edges with equal keys; the result does not depend on the order of the edges.

    Parameters
    ----------
    keys
        One number per edge, equal for equal edges.
    weights
        Weight of each edge; None means 1.
    add
        Whether to add the weights of equal edges; otherwise the largest is kept.

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
    # A floating-point sum depends on the order of its terms: sort equal edges by weight.
    order = np.lexsort((weights, keys)) if add else np.argsort(keys)
    keys, weights = keys[order], weights[order]
    starts = _group_starts(keys)
    if len(starts) == len(keys):
        return keys, weights
    reduce = np.add if add else np.maximum
    with np.errstate(over="ignore"):  # infinite sums are up to the caller
        return keys[starts], reduce.reduceat(weights, starts)


def edges_to_csr(
    rows: NDArray[np.int64], columns: NDArray[np.int64], weights: NDArray[Any], n: int, *, mirrored: bool
) -> sparse.csr_array:
    """Return the canonical ``n × n`` matrix of distinct edges that are sorted by row, then column.

    Edges of weight 0 are not stored. With ``mirrored``, which requires ``rows <= columns``, each edge is also
    stored at the transposed position.
    """
    weights = _as_float(weights)
    stored = weights != 0
    if not stored.all():
        rows, columns, weights = rows[stored], columns[stored], weights[stored]
    if mirrored:
        # The mirror images come first, so that each row of the result is sorted.
        off = rows != columns
        rows, columns = np.concatenate([columns[off], rows]), np.concatenate([rows[off], columns])
        weights = np.concatenate([weights[off], weights])
    index = _index_dtype(len(rows), n)
    coordinates = (rows.astype(index), columns.astype(index))
    return sparse.coo_array((weights, coordinates), shape=(n, n)).tocsr()


def _index_dtype(nnz: int, n: int) -> type[np.signedinteger[Any]]:
    return np.int32 if max(nnz, n) < _INT32_MAX else np.int64


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
