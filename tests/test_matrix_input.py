"""Matrices from outside: damaged index arrays, unusual dtypes, duplicate entries. None crashes or is misread."""

import re

import numpy as np
import pytest
from scipy import sparse

from boostne import BoostNE, DeepWalkMatrix, Graph, as_graph, as_labels
from boostne.errors import BoostneError, GraphError, ParameterError
from boostne.sparse_structure import find_structure_error

RING = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])


def ring(format_name="csr", dtype=np.float64):
    return sparse.csr_array(RING.adjacency, dtype=dtype).asformat(format_name)


def model(connectivity=DeepWalkMatrix(window=3)):  # noqa: B008  it is not modified
    return BoostNE(2, levels=1, connectivity=connectivity)


def with_attribute(matrix, name, value):
    setattr(matrix, name, value)
    return matrix


def with_duplicates(values, dtype, format_name="coo"):
    """Return a matrix whose entries (0, 1) and (1, 0) are stored once per value."""
    n = len(values)
    values, rows = np.array([*values, *values], dtype), np.repeat([0, 1], n)
    if format_name == "coo":
        return sparse.coo_array((values, (rows, 1 - rows)), shape=(2, 2))
    return sparse.csr_array((values, 1 - rows, [0, n, 2 * n]), shape=(2, 2))


# Each of these corrupted the heap, crashed or raised a foreign exception.
DAMAGED = {
    "row pointers": lambda: with_attribute(ring(), "indptr", np.array([0, 1_000_000, 0, 6, 8], np.int32)),
    "float row pointers": lambda: with_attribute(ring(), "indptr", np.array([0.0, 2, 4, 6, 8])),
    "object indices": lambda: with_attribute(ring(), "indices", ring().indices.astype(object)),
    "unsigned indices": lambda: with_attribute(ring(), "indices", ring().indices.astype(np.uint64)),
    "NaN indices": lambda: with_attribute(ring("csc"), "indices", np.full(8, np.nan)),
    "index out of range": lambda: with_attribute(ring(), "indices", np.full(8, 2**30, np.int32)),
    "negative column": lambda: with_attribute(ring("coo"), "coords", (np.zeros(8, int), np.full(8, -1))),
    "row out of range": lambda: with_attribute(ring("coo"), "coords", (np.full(8, 4), np.zeros(8, int))),
    "fewer coordinates": lambda: with_attribute(ring("coo"), "coords", (np.zeros(7, int), np.zeros(8, int))),
    "data of two dimensions": lambda: with_attribute(ring(), "data", np.ones((8, 1))),
    "blocks that do not fit": lambda: with_attribute(
        sparse.bsr_array(ring(), blocksize=(2, 2)), "data", np.ones((4, 3, 3))
    ),
    "fewer diagonals": lambda: with_attribute(ring("dia"), "offsets", np.array([-1, 1])),
    "diagonal out of range": lambda: with_attribute(ring("dia"), "offsets", np.array([-3, -1, 1, 2**31 - 1])),
    "flat diagonals": lambda: with_attribute(ring("dia"), "data", np.ones(8)),
    "fewer lists": lambda: with_attribute(ring("lil"), "rows", ring("lil").rows[:-1]),
    "missing list": lambda: with_attribute(ring("lil"), "rows", np.array([None] * 4)),
    "fractional column": lambda: with_attribute(ring("lil"), "rows", np.array([[0.5, 1]] * 4 + [[]], object)[:4]),
    "column out of range": lambda: with_attribute(ring("lil"), "rows", np.array([[0, 9]] * 4 + [[]], object)[:4]),
    "list of another length": lambda: with_attribute(ring("lil"), "rows", np.array([[0]] * 4 + [[]], object)[:4]),
    "key out of range": lambda: dok_with_key((2**40, 0)),
    "negative key": lambda: dok_with_key((0, -5)),
}


def dok_with_key(key):
    matrix = ring("dok")
    dict.__setitem__(getattr(matrix, "_dict", matrix), key, 1.0)
    return matrix


@pytest.mark.parametrize("damage", DAMAGED)
class TestDamagedMatricesAreRejected:
    def test_as_graph(self, damage):
        with pytest.raises(GraphError, match=r"an adjacency matrix is malformed: .*; build it again"):
            as_graph(DAMAGED[damage]())

    def test_an_estimator(self, damage):
        with pytest.raises(GraphError, match="an adjacency matrix is malformed"):
            model().fit(DAMAGED[damage]())

    def test_as_labels(self, damage):
        with pytest.raises(GraphError, match="an indicator matrix is malformed"):
            as_labels(DAMAGED[damage]())

    def test_connectivity(self, damage):
        with pytest.raises(ParameterError, match="connectivity is malformed"):
            model(DAMAGED[damage]()).fit(RING)

    def test_the_result_of_a_function(self, damage):
        with pytest.raises(ParameterError, match="connectivity is malformed"):
            model(lambda graph: DAMAGED[damage]()).fit(RING)

    def test_the_checksum_of_a_parameter(self, damage):
        with pytest.raises(ParameterError, match="the matrix is malformed"):
            model(DAMAGED[damage]()).result_parameters()


def test_one_dimension_is_not_a_matrix():
    vector = sparse.coo_array(np.ones(4))
    if vector.ndim != 1:
        pytest.skip("this SciPy has no sparse vectors")
    assert find_structure_error(vector) == "a matrix has two dimensions, found 1"
    for convert in (as_graph, as_labels, lambda matrix: model(matrix).fit(RING)):
        with pytest.raises(BoostneError, match=r"got shape \(4,\)"):
            convert(vector)


@pytest.mark.parametrize("format_name", ["csr", "csc", "bsr", "coo", "dia", "dok", "lil"])
def test_every_valid_format_is_accepted(format_name):
    matrix = ring(format_name)
    np.testing.assert_array_equal(as_graph(matrix).adjacency.toarray(), ring().toarray())
    np.testing.assert_array_equal(as_labels(matrix).matrix.toarray(), ring().toarray() > 0)
    np.testing.assert_array_equal(model(matrix).connectivity_matrix(RING).toarray(), ring().toarray())


def test_outdated_flags_are_ignored():
    matrix = sparse.csr_array((np.array([1.0, 2, 3, 4, 5]), [2, 1, 1, 0, 0], [0, 3, 4, 5]), shape=(3, 3))
    expected = matrix.toarray()
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    graph = Graph(matrix, directed=True)
    np.testing.assert_array_equal(graph.adjacency.indices, [1, 2, 0, 0])
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    assert BoostNE(2, levels=1, connectivity=matrix).connectivity_matrix(Graph(np.ones((3, 3)))).nnz == 4


class TestDuplicateEntries:
    @pytest.mark.parametrize("format_name", ["coo", "csr"])
    @pytest.mark.parametrize(
        ("dtype", "values", "total", "stored"),
        [
            (np.uint8, [200, 100], 300, np.float32),
            (np.int8, [127, 127], 254, np.float32),
            (np.int16, [2**15 - 1] * 3, 3 * (2**15 - 1), np.float32),
            (np.int32, [2**31 - 1] * 2, 2.0**32 - 2, np.float64),
            (np.int64, [2**62, 2**62], 2.0**63, np.float64),
            (np.uint64, [2**63, 2**63], 2.0**64, np.float64),
            (np.float32, [0.25, 0.5], 0.75, np.float32),
            (bool, [True, True], 1, np.float32),
        ],
    )
    def test_sums_do_not_wrap_around(self, dtype, values, total, stored, format_name):
        matrix = with_duplicates(values, dtype, format_name)
        graph = as_graph(matrix)
        assert graph.adjacency.dtype == stored
        np.testing.assert_array_equal(graph.adjacency.toarray(), [[0, total], [total, 0]])
        pair = Graph.from_edges([0], [1])
        X = BoostNE(2, levels=1, connectivity=matrix, dtype="float64").connectivity_matrix(pair)
        np.testing.assert_array_equal(X.toarray(), [[0, total], [total, 0]])
        assert as_labels(matrix).n_labels == 2

    def test_opposite_integers_cancel(self):
        assert as_graph(with_duplicates([127, -127], np.int8)).n_edges == 0

    @pytest.mark.parametrize(
        ("dtype", "values", "total"),
        [
            (np.uint8, [200, 100], 300),
            (np.int8, [127] * 3, 381),
            (np.int64, [2**62] * 4, 2.0**64),
            (np.uint64, [2**63] * 2, 2.0**64),
            (np.float16, [60_000, 60_000], 120_000),
            (bool, [True, True], 2),
        ],
    )
    def test_sums_of_listed_edges_do_not_wrap_around(self, dtype, values, total):
        ends = np.zeros(len(values), int)
        graph = Graph.from_edges(ends, ends + 1, np.array(values, dtype), duplicates="sum")
        assert graph.adjacency[0, 1] == total

    def test_an_infinite_sum_is_an_error(self):
        with pytest.raises(GraphError, match="infinite weight"):
            as_graph(with_duplicates([1e308, 1e308], np.float64))
        with pytest.raises(GraphError, match="infinite weight"):
            Graph.from_edges([0, 0], [1, 1], [1e308, 1e308], duplicates="sum")

    def test_rounding_is_averaged_out_without_overflow(self):
        large, smallest = 1.5e308, 5e-324
        matrix = [[0, large, smallest], [np.nextafter(large, 0), 0, 1], [smallest, 1, 0]]
        graph = Graph(matrix)
        assert graph.adjacency[0, 1] == pytest.approx(large)
        assert graph.adjacency[0, 2] == smallest


class TestUnusualArrays:
    @pytest.mark.filterwarnings("ignore:the matrix subclass")
    def test_a_matrix_is_an_array(self):
        for matrix in (np.matrix(ring().toarray()), np.asarray(ring().toarray(), ">f8")):
            np.testing.assert_array_equal(as_graph(matrix).adjacency.toarray(), ring().toarray())
            np.testing.assert_array_equal(model().fit_transform(matrix), model().fit_transform(RING))
            np.testing.assert_array_equal(model(matrix).fit_transform(RING), model(ring()).fit_transform(RING))

    def test_masked_entries_are_no_edges(self):
        masked = np.ma.masked_equal(np.where(ring().toarray() > 0, 1.0, 7.0), 7)
        np.testing.assert_array_equal(as_graph(masked).adjacency.toarray(), ring().toarray())
        np.testing.assert_array_equal(model().fit_transform(masked), model().fit_transform(RING))
        np.testing.assert_array_equal(model(masked).connectivity_matrix(RING).toarray(), ring().toarray())
        assert as_labels(masked).n_labels == 8

    @pytest.mark.parametrize("dtype", ["float16", "longdouble", ">f4", "int8", "uint64", "bool"])
    def test_any_real_dtype(self, dtype):
        matrix = ring().toarray().astype(dtype)
        np.testing.assert_array_equal(as_graph(matrix).adjacency.toarray(), ring().toarray())
        np.testing.assert_array_equal(model(matrix).connectivity_matrix(RING).toarray(), ring().toarray())
        assert as_labels(matrix).n_labels == 8

    @pytest.mark.parametrize(
        ("matrix", "dtype"),
        [
            (ring().toarray() + 0j, "complex128"),
            (ring() * 1j, "complex128"),
            (ring().toarray().astype(object), "object; convert it with astype(float)"),
            (ring().toarray().astype(str), "<U32; convert it with astype(float)"),
            (np.zeros((4, 4), [("source", int), ("target", int)]), "[('source', '<i8'), ('target', '<i8')]"),
            (ring().toarray().astype("M8[s]"), "datetime64[s]"),
            (with_attribute(ring(), "data", np.full(8, "x")), "<U1"),
        ],
    )
    def test_other_dtypes_are_errors(self, matrix, dtype):
        message = re.escape(f"must contain real numbers, got dtype {dtype}")
        for convert, error in (
            (as_graph, GraphError),
            (as_labels, GraphError),
            (lambda matrix: model(matrix).fit(RING), ParameterError),
        ):
            with pytest.raises(error, match=message):
                convert(matrix)

    @pytest.mark.parametrize("matrix", [ring().toarray() + 1j, ring() * 1j])
    def test_an_estimator_rejects_complex_numbers(self, matrix):
        with pytest.raises(ValueError, match=r"Complex data not supported|real numbers, got dtype complex128"):
            model().fit(matrix)

    @pytest.mark.parametrize("shape", [(), (4,), (4, 3), (2, 2, 2)])
    def test_a_graph_is_square(self, shape):
        with pytest.raises(GraphError, match="must be square, got shape"):
            as_graph(np.zeros(shape))

    def test_rows_of_different_lengths_are_an_error(self):
        with pytest.raises(GraphError, match="must be a matrix of numbers"):
            Graph([[1, 2], [3]])
        with pytest.raises(ParameterError, match="connectivity must be a matrix of numbers"):
            model([[1, 2], [3]]).fit(RING)

    @pytest.mark.parametrize("matrix", [np.zeros((0, 0)), sparse.csr_array((0, 0))])
    def test_an_empty_matrix_is_an_empty_graph(self, matrix):
        assert as_graph(matrix).n_nodes == 0

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.array([1j]), "got dtype complex128"),
            (np.array(["2020-01-01"], "M8[D]"), r"got dtype datetime64\[D\]"),
            (np.ma.masked_equal([1.0], 1), "weight at position 0 is masked"),
            ([10**400], "weights must be numbers"),
            (["heavy"], "weights must be numbers"),
            ([[1], [2, 3]], "weights must be numbers"),
            ([[1]], r"one-dimensional, got an array of shape \(1, 1\)"),
        ],
    )
    def test_weights_that_are_not_real_numbers(self, weights, message):
        with pytest.raises(GraphError, match=message):
            Graph.from_edges([0], [1], weights)

    @pytest.mark.parametrize(
        ("ids", "message"),
        [
            ([np.arange(2), np.arange(2)], "must be hashable"),
            ([{}, 1], "must be hashable"),
            ([np.nan, "a"], "position 0 is missing"),
            ([np.datetime64("NaT"), 1], "position 0 is missing"),
            (np.ma.masked_equal([1, 2], 2), "position 1 is masked"),
        ],
    )
    def test_ids_that_cannot_be_told_apart(self, ids, message):
        with pytest.raises(GraphError, match=message):
            Graph(np.ones((2, 2)), ids)
        with pytest.raises(GraphError, match=message):
            Graph.from_edges(ids, [5, 6])

    @pytest.mark.parametrize(
        "ids", [["\ud800", "a"], ["a\0", "a"], ["x" * 10**6, "a"], [1, "1"], [1.5, "a"], [2**70, 1], [b"a", "a"]]
    )
    def test_unusual_ids_are_kept(self, ids):
        graph = as_graph([(ids[0], ids[1])])
        assert set(graph.nodes.tolist()) == set(ids)
        assert sorted(graph.index(ids)) == [0, 1]
        assert graph.fingerprint() == as_graph([(ids[1], ids[0])]).fingerprint()

    def test_positions_are_integers(self):
        with pytest.raises(GraphError, match="source must contain integers, got float64"):
            Graph.from_indices([0, 1, 2], np.array([0.5]), np.array([1]))
