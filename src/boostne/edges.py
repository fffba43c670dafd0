"""Edge weights, merging of duplicate edges, and checks of adjacency matrices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import BoostneError, GraphError, InputWarning, warn_caller
from boostne.integer_ids import Integers, first_of_runs
from boostne.sparse_structure import find_structure_error

_FLOAT32_EXACT = 1 << 24  # float32 represents all integers up to here exactly
_INT32_MAX = np.iinfo(np.int32).max
_ROUNDING = 1e-6  # relative; float32 has about seven significant digits
_MODERATE = 2.0**30  # weights up to here, and down to its inverse, are used as they are
_MAX_EXPONENT = 1022  # of a float64


def as_weights(values: Any) -> NDArray[Any]:
    """Return weights as a one-dimensional numeric array; integers stay integers, so that their sums are exact."""
    if np.ma.is_masked(values):
        raise GraphError(f"the weight at position {np.argmax(values.mask)} is masked: fill it in or remove the edge")
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise GraphError(f"weights must be numbers ({error})") from None
    if array.ndim != 1:
        raise GraphError(f"weights must be one-dimensional, got an array of shape {array.shape}")
    if array.dtype.kind == "f":
        return as_float(array)
    if array.dtype.kind in "biu":
        return array.astype(np.uint64 if array.dtype == np.uint64 else np.int64, copy=False)
    try:
        if array.dtype.kind not in "OSU":  # complex numbers and dates would be converted
            raise TypeError(f"got dtype {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"weights must be numbers ({error})") from None


def as_positions(name: str, values: Any) -> Integers:
    """Return positions of nodes as ``int32`` or ``int64``; raise GraphError if they are not a list of integers."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise GraphError(f"{name} must be one-dimensional, got an array of shape {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise GraphError(f"{name} must contain integers, got {array.dtype}")
    if array.dtype == np.uint64 and array.max(initial=0) > np.iinfo(np.int64).max:
        raise GraphError(f"{name} must contain positions of nodes, got {array.max()}")
    return array if array.dtype == np.int32 else array.astype(np.int64, copy=False)


def weight_unit(weights: NDArray[Any]) -> float:
    """Return the power of 4 closest to the mean of positive weights; 1 if all are moderate, as usual.

    Raises
    ------
    GraphError
        If the smallest weight in this unit is below the range of ``float64``.

    Examples
    --------
    >>> weight_unit(np.array([1.0, 1000.0])), weight_unit(np.array([2.0**100, 2.0**101]))
    (1.0, 1.2676506002282294e+30)
    """
    low, high = (float(weights.min()), float(weights.max())) if weights.size else (1.0, 1.0)
    if low * _MODERATE >= 1 and high <= _MODERATE:
        return 1.0
    mean = high * float(np.mean(weights / np.float64(high)))
    unit = float(np.ldexp(1.0, min(2 * round(np.log2(mean) / 2), _MAX_EXPONENT)))
    if low / unit < np.finfo(np.float64).tiny:
        raise GraphError(
            f"the weights range from {low:g} to {high:g}, too far apart for floating-point numbers: remove the edges "
            "with the smallest weights, or raise these"
        )
    return unit


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


def check_sparse(matrix: Any, name: str, error: type[BoostneError] = GraphError) -> None:
    """Raise unless a sparse matrix contains real numbers at valid positions.

    Compiled code, SciPy's included, would read or write out of bounds.
    """
    _check_dtype(matrix, name, error)
    problem = find_structure_error(matrix)
    if problem:
        raise error(f"{name} is malformed: {problem}; build it again, as with scipy.sparse.coo_array")


def checked_matrix(matrix: Any, name: str, error: type[BoostneError] = GraphError, *, square: bool = False) -> Any:
    """Return a matrix with valid index arrays, if sparse, and a dtype whose sums SciPy supports and do not wrap around.

    Parameters
    ----------
    matrix
        A SciPy sparse matrix, or anything that NumPy converts to an array of two dimensions. Masked entries are zero.
    name
        What the matrix is, for messages.
    error
        Class of the errors.
    square
        Whether the matrix must be square.

    Returns
    -------
    sparse array or ndarray
        ``float32`` or ``float64``, or a sparse array of booleans. Copied only if the dtype changes.
    """
    if not sparse.issparse(matrix):
        try:
            matrix = np.asarray(np.ma.filled(matrix, 0))
        except (TypeError, ValueError) as problem:  # rows of different lengths
            raise error(f"{name} must be a matrix of numbers: {problem}") from None
    if matrix.ndim != 2 or (square and matrix.shape[0] != matrix.shape[1]):  # noqa: PLR2004
        wanted = "square" if square else "two-dimensional"
        remedy = "; for a table of edges use Graph.from_edges(source, target)" if square else ""
        raise error(f"{name} must be {wanted}, got shape {tuple(matrix.shape)}{remedy}")
    if not sparse.issparse(matrix):
        _check_dtype(matrix, name, error)
        return as_float(matrix)
    check_sparse(matrix, name, error)
    # Sums of bytes would wrap around; that of booleans is True. SciPy supports neither float16 nor other byte orders.
    return matrix if matrix.dtype.kind == "b" else matrix.astype(_summable_dtype(matrix.dtype), copy=False)


def canonical_csr(matrix: Any) -> sparse.csr_array:
    """Return a square matrix as a floating-point CSR copy, sorted, without duplicates or stored zeros."""
    csr = summed_csr(checked_matrix(matrix, "an adjacency matrix", square=True))
    integers = sparse.issparse(matrix) and matrix.dtype.kind in "biu"
    data = _shortest_float(csr.data) if integers else csr.data
    index = index_dtype(csr.nnz, csr.shape[0])
    return sparse.csr_array((data, csr.indices.astype(index), csr.indptr.astype(index)), shape=csr.shape)


def summed_csr(matrix: Any) -> sparse.csr_array:
    """Return a CSR copy of a checked matrix, sorted, without duplicates or stored zeros."""
    # The copy has no flags such as has_sorted_indices, which may be out of date.
    csr = sparse.csr_array(matrix, copy=True)
    with np.errstate(over="ignore"):  # infinite sums are up to the caller
        csr.sum_duplicates()
    csr.eliminate_zeros()
    return csr


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
    with np.errstate(over="ignore"):
        mean = (matrix.data + transpose.data) / 2
    large = np.isinf(mean)
    mean[large] = matrix.data[large] / 2 + transpose.data[large] / 2
    return sparse.csr_array((mean, matrix.indices, matrix.indptr), shape=matrix.shape)


def find_asymmetry(matrix: sparse.csr_array) -> tuple[int, int]:
    """Return the first position at which a matrix differs from its transpose by more than rounding."""
    transpose = matrix.T.tocsr()
    difference = (abs(matrix - transpose) > _ROUNDING * matrix.maximum(transpose)).tocoo()
    return int(difference.row[0]), int(difference.col[0])


def merge_edges(keys: Integers, weights: NDArray[Any] | None, *, add: bool) -> tuple[Integers, NDArray[Any]]:
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
        first = first_of_runs(keys)
        if not add:
            keys = keys[first]
            return keys, np.ones(len(keys), dtype=np.float32)
        starts = np.flatnonzero(first)
        return keys[starts], np.diff(starts, append=len(keys))
    order = np.argsort(keys)
    first = first_of_runs(keys[order])
    if add and not first.all():
        # A floating-point sum depends on the order of its terms: sort equal edges by weight.
        order = np.lexsort((weights, keys))
    keys, weights = keys[order], weights[order]
    if first.all():
        return keys, weights
    starts = np.flatnonzero(first)
    reduce = np.add if add else np.maximum
    with np.errstate(over="ignore"):  # infinite sums are up to the caller
        return keys[starts], reduce.reduceat(weights, starts)


def index_dtype(nnz: int, n: int) -> type[np.signedinteger[Any]]:
    """Return the dtype of the index arrays of an ``n × n`` matrix with ``nnz`` entries."""
    return np.int32 if max(nnz, n) < _INT32_MAX else np.int64


def as_float(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as ``float32`` or ``float64``; integers as ``float32`` if that is exact."""
    if values.dtype.kind == "f":
        return values.astype(_summable_dtype(values.dtype), copy=False)
    return _shortest_float(values)


def drop_self_loops(
    u: Integers, v: Integers, weights: NDArray[Any] | None
) -> tuple[Integers, Integers, NDArray[Any] | None]:
    """Return the edges without self-loops, and warn of their number."""
    keep = u != v
    if keep.all():
        return u, v, weights
    warn_dropped_self_loops(len(keep) - int(np.count_nonzero(keep)))
    return u[keep], v[keep], None if weights is None else weights[keep]


def warn_dropped_self_loops(count: int) -> None:
    """Warn of the number of self-loops that were dropped."""
    loops = f"{count:,} self-loop{'' if count == 1 else 's'}"
    warn_caller(f"dropped {loops}; self_loops='keep' keeps them", InputWarning)


def _check_dtype(matrix: Any, name: str, error: type[BoostneError]) -> None:
    if matrix.dtype.kind not in "biuf":
        remedy = "; convert it with astype(float)" if matrix.dtype.kind in "OSU" else ""
        raise error(f"{name} must contain real numbers, got dtype {matrix.dtype}{remedy}")


def _summable_dtype(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    return np.float32 if dtype.kind == "f" and dtype.itemsize <= np.dtype(np.float32).itemsize else np.float64


def _shortest_float(integers: NDArray[Any]) -> NDArray[Any]:
    exact = not integers.size or (integers.min() >= -_FLOAT32_EXACT and integers.max() <= _FLOAT32_EXACT)
    return integers.astype(np.float32 if exact else np.float64)
