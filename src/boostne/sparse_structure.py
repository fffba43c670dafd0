"""Validation of the index arrays of sparse matrices.

SciPy and the native kernels trust these arrays: an index out of range reads or writes memory that is not theirs.
SciPy's own ``check_format(full_check=True)`` skips checks if the last row pointer is not positive.
"""

from typing import Any

import numpy as np


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
    if matrix.format in ("csr", "csc", "bsr"):
        return _find_compressed_error(matrix)
    try:
        return _find_coordinate_error(matrix.tocoo(copy=False))
    except ValueError as error:  # a conversion that SciPy checks
        return str(error)


def _find_compressed_error(matrix: Any) -> str | None:
    n_rows, n_columns = matrix.shape
    if matrix.format == "bsr":
        height, width = matrix.blocksize
        n_rows, n_columns = n_rows // height, n_columns // width
    axes = ("row", "column")
    if matrix.format == "csc":
        n_rows, n_columns, axes = n_columns, n_rows, axes[::-1]
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind != "i":
            return f"{name} must be a vector of signed integers, found {array.ndim} dimensions of {array.dtype}"
    if len(indptr) != n_rows + 1:
        return f"{n_rows} {axes[0]}s need {n_rows + 1} values in indptr, found {len(indptr)}"
    if len(indices) != len(data):
        return f"indices and data must have the same length, found {len(indices)} and {len(data)}"
    if indptr[0] != 0 or indptr[-1] != len(indices):
        return f"indptr must lead from 0 to {len(indices)}, the number of entries; found {indptr[0]} and {indptr[-1]}"
    # Not by differences, which could overflow.
    if np.any(indptr[1:] < indptr[:-1]):
        return f"indptr must not decrease, found a decrease after {axes[0]} {np.argmax(indptr[1:] < indptr[:-1])}"
    return _find_range_error(axes[1], indices, n_columns)


def _find_coordinate_error(matrix: Any) -> str | None:
    for name, indices, size in zip(("row", "column"), (matrix.row, matrix.col), matrix.shape, strict=True):
        if indices.dtype.kind != "i" or indices.shape != matrix.data.shape:
            return f"{name} indices must be one signed integer per entry, found {indices.shape} of {indices.dtype}"
        problem = _find_range_error(name, indices, size)
        if problem:
            return problem
    return None


def _find_range_error(axis: str, indices: Any, size: int) -> str | None:
    if not len(indices):
        return None
    low, high = indices.min(), indices.max()
    if low >= 0 and high < size:
        return None
    return f"{axis} indices must be in [0, {size}), found {low if low < 0 else high}"
