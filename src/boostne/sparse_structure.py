"""Validation of the index arrays of sparse matrices.

SciPy and the native kernels trust these arrays: an index out of range reads or writes memory that is not theirs.
SciPy's own ``check_format(full_check=True)`` skips checks if the last row pointer is not positive.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse


def find_structure_error(matrix: Any) -> str | None:
    """Return what is wrong with the index arrays of a sparse matrix, or None if they are valid.

    Entries may be unsorted or duplicated; their values are not checked.

    Examples
    --------
    >>> from scipy import sparse
    >>> matrix = sparse.csr_array(np.eye(2))
    >>> find_structure_error(matrix)
    >>> matrix.indices[1] = 9
    >>> find_structure_error(matrix)
    'column indices must be in [0, 2), found 9'
    """
    if matrix.ndim != 2:  # noqa: PLR2004
        return f"a matrix has two dimensions, found {matrix.ndim}"
    find = _FIND_ERROR.get(matrix.format, _find_coordinate_error)
    try:
        return find(matrix)
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        return f"its arrays are inconsistent ({error})"


def _find_compressed_error(matrix: Any) -> str | None:
    n_rows, n_columns = matrix.shape
    axes = ("row", "column")
    if matrix.format == "csc":
        n_rows, n_columns, axes = n_columns, n_rows, axes[::-1]
    for name, array in (("indptr", matrix.indptr), ("indices", matrix.indices)):
        if array.ndim != 1 or array.dtype.kind != "i":
            return f"{name} must be a vector of signed integers, found {array.ndim} dimensions of {array.dtype}"
    if matrix.data.ndim != 1:
        return f"data must be a vector, found {matrix.data.ndim} dimensions"
    return _find_pointer_error(matrix, axes[0], n_rows) or _find_range_error(axes[1], matrix.indices, n_columns)


def _find_block_error(matrix: Any) -> str | None:
    height, width = matrix.data.shape[1:]
    n_rows, n_columns = matrix.shape
    if n_rows % height or n_columns % width:
        return f"blocks of {height} × {width} entries do not divide a matrix of {n_rows} × {n_columns}"
    blocks = sparse.csr_array((n_rows // height, n_columns // width), dtype=bool)
    # Assigned one by one: the constructor would read invalid arrays.
    blocks.indptr, blocks.indices, blocks.data = matrix.indptr, matrix.indices, matrix.data[:, 0, 0]
    return _find_compressed_error(blocks)


def _find_pointer_error(matrix: Any, axis: str, size: int) -> str | None:
    indptr, n_entries = matrix.indptr, len(matrix.indices)
    if len(indptr) != size + 1:
        return f"{size} {axis}s need {size + 1} values in indptr, found {len(indptr)}"
    if n_entries != len(matrix.data):
        return f"indices and data must have the same length, found {n_entries} and {len(matrix.data)}"
    if indptr[0] != 0 or indptr[-1] != n_entries:
        return f"indptr must lead from 0 to {n_entries}, the number of entries; found {indptr[0]} and {indptr[-1]}"
    # Not by differences, which could overflow.
    decreases = indptr[1:] < indptr[:-1]
    if decreases.any():
        return f"indptr must not decrease, found a decrease after {axis} {np.argmax(decreases)}"
    return None


def _find_coordinate_error(matrix: Any) -> str | None:
    entries = matrix.tocoo(copy=False)
    for name, indices, size in zip(("row", "column"), (entries.row, entries.col), entries.shape, strict=True):
        if indices.dtype.kind != "i" or indices.shape != entries.data.shape or indices.ndim != 1:
            return f"{name} indices must be one signed integer per entry, found {indices.shape} of {indices.dtype}"
        problem = _find_range_error(name, indices, size)
        if problem:
            return problem
    return None


def _find_diagonal_error(matrix: Any) -> str | None:
    offsets, data = matrix.offsets, matrix.data
    if offsets.ndim != 1 or offsets.dtype.kind != "i" or len(np.unique(offsets)) != len(offsets):
        return f"offsets must be a vector of distinct signed integers, found {offsets.shape} of {offsets.dtype}"
    if data.ndim != 2 or len(data) != len(offsets):  # noqa: PLR2004
        return f"data must have one row per offset, found shape {data.shape} and {len(offsets)} offsets"
    n_rows, n_columns = matrix.shape
    if len(offsets) and not (-n_rows < int(offsets.min()) and int(offsets.max()) < n_columns):
        return f"offsets must be in ({-n_rows}, {n_columns}), found {offsets.min()} to {offsets.max()}"
    return None


def _find_list_error(matrix: Any) -> str | None:
    n_rows, n_columns = matrix.shape
    if matrix.rows.shape != (n_rows,) or matrix.data.shape != (n_rows,):
        return (
            f"{n_rows} rows need {n_rows} lists, found {len(matrix.rows)} of columns and {len(matrix.data)} of values"
        )
    for row, (columns, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        if len(columns) != len(values):
            return f"row {row} has {len(columns)} column indices but {len(values)} values"
    columns = [column for row in matrix.rows for column in row]
    return _find_index_error("column", columns, n_columns)


def _find_key_error(matrix: Any) -> str | None:
    for axis, indices, size in zip(("row", "column"), zip(*matrix.keys(), strict=True), matrix.shape, strict=False):
        problem = _find_index_error(axis, indices, size)
        if problem:
            return problem
    return None


def _find_index_error(axis: str, indices: Any, size: int) -> str | None:
    wrong = next((index for index in indices if not isinstance(index, int | np.integer) or not 0 <= index < size), None)
    return None if wrong is None else f"{axis} indices must be integers in [0, {size}), found {wrong!r}"


def _find_range_error(axis: str, indices: Any, size: int) -> str | None:
    if not len(indices):
        return None
    low, high = indices.min(), indices.max()
    if low >= 0 and high < size:
        return None
    return f"{axis} indices must be in [0, {size}), found {low if low < 0 else high}"


_FIND_ERROR: dict[str, Callable[[Any], str | None]] = {
    "csr": _find_compressed_error,
    "csc": _find_compressed_error,
    "bsr": _find_block_error,
    "dia": _find_diagonal_error,
    "lil": _find_list_error,
    "dok": _find_key_error,
}
