"""Index arrays of sparse matrices are checked before native code reads them."""

import numpy as np
import pytest
from scipy import sparse

from boostne.sparse_structure import find_structure_error

FORMATS = ("csr", "csc", "bsr", "coo", "dia", "dok", "lil")


def square():
    return sparse.csr_array(np.array([[0, 1.0, 0], [2, 0, 3], [0, 4, 0]]))


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("shape", [(0, 0), (3, 3), (2, 5)])
def test_valid_matrices(format_name, shape):
    matrix = sparse.csr_array(np.arange(float(np.prod(shape))).reshape(shape))
    assert find_structure_error(matrix.asformat(format_name)) is None


def test_unsorted_and_duplicate_entries_are_valid():
    assert find_structure_error(sparse.csr_array((np.ones(3), [1, 0, 1], [0, 3, 3]), shape=(2, 2))) is None


@pytest.mark.parametrize(
    ("array", "value", "message"),
    [
        ("indptr", [0, 1000000, 0, 4], "must not decrease, found a decrease after row 1"),
        ("indptr", [0, -(2**31), 2**31 - 1, 4], "must not decrease"),
        ("indptr", [1, 1, 3, 4], "must lead from 0 to 4"),
        ("indptr", [0, 1, 3, 5], "must lead from 0 to 4"),
        ("indptr", [0, 1, 4], "need 4 values in indptr, found 3"),
        ("indptr", [0.0, 1.0, 3.0, 4.0], "indptr must be a vector of signed integers"),
        ("indptr", [[0, 1, 3, 4]], "indptr must be a vector"),
        ("indices", [1, 0, 3, 1], r"column indices must be in \[0, 3\), found 3"),
        ("indices", [1, 0, -1, 1], r"column indices must be in \[0, 3\), found -1"),
        ("indices", [1, 0, 2], "must have the same length, found 3 and 4"),
        ("indices", [1.0, 0.0, 2.0, 1.0], "indices must be a vector of signed integers"),
    ],
)
@pytest.mark.parametrize("format_name", ["csr", "csc"])
def test_invalid_compressed_rows(array, value, message, format_name):
    matrix = square().asformat(format_name)
    setattr(matrix, array, np.array(value))
    if format_name == "csc":
        message = message.replace("column", "COLUMN").replace("row", "column").replace("COLUMN", "row")
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(find_structure_error(matrix))


@pytest.mark.parametrize("value", [-1, 3, 2**30])
@pytest.mark.parametrize("axis", [0, 1])
def test_coordinates_out_of_range(value, axis):
    matrix = square().tocoo()
    matrix.coords[axis][2] = value
    assert f"{('row', 'column')[axis]} indices must be in [0, 3), found {value}" == find_structure_error(matrix)


def test_coordinates_that_are_not_integers():
    matrix = square().tocoo()
    matrix.coords = (matrix.coords[0].astype(float), matrix.coords[1])
    assert "row indices must be one signed integer per entry" in find_structure_error(matrix)


def test_blocks_out_of_range():
    matrix = sparse.bsr_array(np.eye(4), blocksize=(2, 2))
    matrix.indices[1] = 2
    assert find_structure_error(matrix) == "column indices must be in [0, 2), found 2"


def test_list_of_rows_out_of_range():
    matrix = square().tolil()
    matrix.rows[0] = [7]
    assert "7" in find_structure_error(matrix)
