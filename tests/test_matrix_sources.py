"""The MatrixSource contract, for every named matrix and for the user's own, and the CSR builder."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from boostne import DeepWalkMatrix, Graph
from boostne.matrices import MATRICES, CSRSource, ExplicitMatrix, MatrixForm, csr_builder, node2vec
from boostne.matrices.csr_builder import CSRBuilder, RowBlock, blocks_in_order, chunks, one_block_per_row
from boostne.matrices.deepwalk import spectral

N = 90


def weighted_graph():
    """Return a graph with weights from 1 to 10 and two isolated nodes."""
    rng = np.random.default_rng(0)
    ends = rng.integers(N - 2, size=(2, 3 * N))
    return Graph.from_edges(*ends, rng.integers(1, 11, 3 * N), nodes=range(N))


def directed_graph():
    """Return a directed graph with nodes that have edges of one direction only."""
    A = weighted_graph().adjacency.tolil()
    A[::4] = 0
    return Graph(A.tocsr(), range(N), directed=True)


GRAPH, DIRECTED_GRAPH = weighted_graph(), directed_graph()
USER_MATRIX = sparse.random_array((N, N), density=0.2, random_state=np.random.default_rng(1), format="csr")

FORMS = {
    "deepwalk, spectral": (DeepWalkMatrix(eigenpairs=30), MatrixForm("spectral")),
    "deepwalk, push": (DeepWalkMatrix(), MatrixForm("push", 1e-4, 20)),
    "deepwalk, bounded": (DeepWalkMatrix(), MatrixForm("push", 0.0, 20)),
    "directed, exact": (DeepWalkMatrix(), MatrixForm()),
    "directed, push": (DeepWalkMatrix(), MatrixForm("push", 1e-4, 20)),
    "directed, bounded": (DeepWalkMatrix(), MatrixForm("push", 0.0, 20)),
    "array": (ExplicitMatrix(USER_MATRIX.toarray()), MatrixForm()),
    "float32 array": (ExplicitMatrix(USER_MATRIX.toarray().astype(np.float32)), MatrixForm()),
    "sparse": (ExplicitMatrix(USER_MATRIX), MatrixForm()),
    "sparse, by columns": (ExplicitMatrix(USER_MATRIX.tocsc()), MatrixForm()),
    "callable": (ExplicitMatrix(lambda graph: graph.adjacency), MatrixForm()),
    **{name: (matrix_class(), MatrixForm()) for name, matrix_class in MATRICES.items()},
}
PRUNED = ("deepwalk, push", "deepwalk, bounded", "directed, push", "directed, bounded")
# Rows in which X is requested: one by one, in blocks of several sizes, and as a whole.
SPLITS = [1, 7, 16, 64, N]


def make_source(name, dtype="float32", threads=2):
    matrix, form = FORMS[name]
    graph = DIRECTED_GRAPH if name.startswith("directed") else GRAPH
    return matrix.source(graph, form, dtype=dtype, seed=0, threads=threads)


def concatenate(blocks):
    """Return counts, columns, values and dropped mass of consecutive blocks."""
    counts, columns, values = (np.concatenate([block[i] for block in blocks]) for i in range(3))
    dropped = [block.dropped for block in blocks if block.dropped is not None]
    return counts, columns, values, np.concatenate(dropped) if dropped else None


def assert_same_rows(blocks, X, dropped, rows=range(N)):
    """Check that blocks have the same bits as some rows of X."""
    counts, columns, values, found = concatenate(blocks)
    begin, end = X.indptr[rows.start], X.indptr[rows.stop]
    np.testing.assert_array_equal(counts, np.diff(X.indptr)[rows.start : rows.stop])
    np.testing.assert_array_equal(columns, X.indices[begin:end])
    np.testing.assert_array_equal(values, X.data[begin:end])
    if dropped is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, dropped[rows.start : rows.stop])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Build a few rows at a time, as on a large graph."""
    monkeypatch.setattr(spectral, "BLOCK_BYTES", N * 8 * 11)
    monkeypatch.setattr(node2vec, "BLOCK_BYTES", GRAPH.adjacency.nnz * 8 * 11)


@pytest.mark.parametrize("name", FORMS)
class TestContract:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_shape_dtype_and_size(self, name, dtype):
        source = make_source(name, dtype)
        assert source.shape == (N, N)
        assert source.dtype == np.dtype(dtype)
        assert isinstance(source.nbytes, int)
        assert source.nbytes > 0
        assert isinstance(source.chunk_rows(), int)
        assert source.chunk_rows() >= 1

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_build_returns_a_canonical_csr_array(self, name, dtype):
        X, dropped = make_source(name, dtype).build()
        assert isinstance(X, sparse.csr_array)
        assert X.shape == (N, N)
        assert X.dtype == dtype
        assert X.indices.dtype == np.int32
        assert len(X.data) == len(X.indices) == X.indptr[-1] > 0
        assert (X.data > 0).all()
        assert np.isfinite(X.data).all()
        for row in np.split(X.indices, X.indptr[1:-1]):
            assert (np.diff(row) > 0).all()
        if name in PRUNED:
            assert dropped.shape == (N,)
            assert ((dropped >= 0) & (dropped <= 1)).all()
            assert dropped.any()
        else:
            assert dropped is None

    @pytest.mark.parametrize("rows", [range(N), range(1), range(N - 1, N), range(13, 40)])
    def test_blocks_are_consistent(self, name, rows):
        source = make_source(name)
        blocks = source.rows(rows)
        assert sum(len(block.counts) for block in blocks) == len(rows)
        for block in blocks:
            assert isinstance(block, RowBlock)
            assert block.counts.sum() == len(block.columns) == len(block.values)
            assert block.counts.dtype == np.int64
            assert block.columns.dtype == np.int32
            assert block.values.dtype == source.dtype
            assert (block.dropped is not None) == (name in PRUNED)
            assert block.dropped is None or len(block.dropped) == len(block.counts)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("size", SPLITS)
    def test_rows_have_the_same_bits_however_they_are_split(self, name, dtype, size):
        X, dropped = make_source(name, dtype).build()
        source = make_source(name, dtype)
        assert_same_rows([block for rows in chunks(range(N), size) for block in source.rows(rows)], X, dropped)

    def test_rows_have_the_same_bits_in_any_order(self, name):
        source = make_source(name)
        for rows in (range(50, 77), range(13, 50), range(13)):
            assert_same_rows(source.rows(rows), *make_source(name).build(), rows)

    @pytest.mark.parametrize("threads", [1, 2, 5])
    def test_bits_do_not_depend_on_threads(self, name, threads):
        X, dropped = make_source(name, threads=1).build()
        for source in (make_source(name, threads=threads), make_source(name, threads=3).with_threads(threads)):
            assert source.shape == (N, N)
            assert source.dtype == np.float32
            assert_same_rows(source.rows(range(N)), X, dropped)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_bits_survive_pickling(self, name, dtype):
        X, dropped = make_source(name, dtype).build()
        copy = pickle.loads(pickle.dumps(make_source(name, dtype)))
        assert copy.shape == (N, N)
        assert copy.dtype == dtype
        assert copy.nbytes > 0
        assert_same_rows(copy.with_threads(2).rows(range(13, 40)), X, dropped, range(13, 40))
        assert_same_rows([block for rows in chunks(range(N), 7) for block in copy.rows(rows)], X, dropped)

    def test_build_shares_no_memory_with_the_graph_or_the_given_matrix(self, name):
        X, _ = make_source(name, USER_MATRIX.dtype).build()
        arrays = [GRAPH.adjacency.data, GRAPH.adjacency.indices, GRAPH.adjacency.indptr, GRAPH.degrees]
        given = FORMS[name][0].matrix if isinstance(FORMS[name][0], ExplicitMatrix) else USER_MATRIX
        given = given(GRAPH) if callable(given) else given
        arrays += [given.data, given.indices, given.indptr] if sparse.issparse(given) else [given]
        for array in (X.data, X.indices, X.indptr):
            assert not any(np.shares_memory(array, other) for other in arrays)

    def test_overwriting_the_result_affects_no_later_source(self, name):
        X, dropped = make_source(name).build()
        kept = X.copy()
        X.data[:], X.indices[:] = -1, 0
        assert_same_rows(make_source(name).rows(range(N)), kept, dropped)

    def test_progress_is_monotone_and_ends_at_1(self, name, monkeypatch):
        source = make_source(name)
        X, _ = make_source(name).build()
        if not isinstance(source, CSRSource):
            monkeypatch.setattr(type(source), "chunk_rows", lambda self: 40)
        reports = []
        assert (source.build(reports.append)[0] != X).nnz == 0
        done = [report.done for report in reports]
        assert {report.stage for report in reports} == {"connectivity"}
        assert done == sorted(done)
        assert done[-1] == 1
        if not isinstance(source, CSRSource):
            assert {40 / N, 80 / N, 1.0} <= set(done)


ON_DEVICES = ("deepwalk", "deepwalk, spectral", "directed, exact")


@pytest.mark.parametrize("name", [name for name in FORMS if name not in ON_DEVICES])
def test_only_the_exact_and_the_spectral_form_of_deepwalk_are_built_on_devices(name):
    assert make_source(name).device_rows("cpu") is None


class TestCSRSource:
    def test_build_hands_over_the_matrix_and_its_dropped_mass(self):
        X, dropped = USER_MATRIX.copy(), np.linspace(0, 1, N)
        source = CSRSource(X, dropped)
        assert source.build()[0] is X
        assert source.build()[1] is dropped
        assert source.nnz == X.nnz
        assert source.nbytes == X.data.nbytes + X.indices.nbytes + X.indptr.nbytes

    def test_an_empty_matrix(self):
        source = CSRSource(sparse.csr_array((3, 4), dtype=np.float32))
        ((counts, columns, values, dropped),) = source.rows(range(1, 3))
        assert counts.tolist() == [0, 0]
        assert len(columns) == len(values) == 0
        assert dropped is None


class TestCSRBuilder:
    def random_rows(self):
        dense = np.random.default_rng(0).random((30, 20))
        return dense * (np.random.default_rng(1).random((30, 20)) < np.linspace(0, 1, 30)[:, None])

    def blocks(self, dense):
        return one_block_per_row((np.flatnonzero(row).astype(np.int32), row[row > 0]) for row in dense)

    def build(self, dense):
        builder = CSRBuilder(dense.shape[1], np.float32)
        builder.extend(self.blocks(dense))
        return builder

    def test_grows_beyond_its_initial_capacity(self, monkeypatch):
        monkeypatch.setattr(csr_builder, "INITIAL_CAPACITY", 3)
        dense = self.random_rows()
        builder = CSRBuilder(20, np.float32)
        for rows in (dense[:1], dense[1:2], dense[2:25], dense[25:]):
            builder.extend(self.blocks(rows))
        matrix = builder.finish()
        assert matrix.dtype == np.float32
        assert matrix.nnz == np.count_nonzero(dense)
        assert len(matrix.data) == len(matrix.indices) == matrix.nnz
        np.testing.assert_array_equal(matrix.toarray(), dense.astype(np.float32))

    def test_no_rows(self):
        builder = CSRBuilder(4, np.float64)
        assert builder.dropped is None
        assert builder.counts.tolist() == []
        assert builder.finish().shape == (0, 4)

    def test_empty_rows(self):
        builder = CSRBuilder(4, np.float64)
        builder.extend([RowBlock(np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0))])
        matrix = builder.finish()
        assert matrix.shape == (3, 4)
        assert matrix.nnz == 0

    def test_dropped_mass_is_concatenated(self):
        builder = CSRBuilder(4, np.float64)
        for share in (0.25, 0.5):
            builder.extend([RowBlock(np.array([1]), np.array([2], np.int32), np.ones(1), np.array([share]))])
        assert builder.dropped.tolist() == [0.25, 0.5]

    @pytest.mark.parametrize(("first", "last"), [(0, 30), (0, 11), (12, 30), (9, 21), (4, 4)])
    def test_keep_drops_all_other_rows(self, first, last):
        dense = self.random_rows()
        builder = self.build(dense)
        builder.keep(first, last)
        assert builder.counts.tolist() == np.count_nonzero(dense[first:last], axis=1).tolist()
        np.testing.assert_array_equal(builder.finish().toarray(), dense[first:last].astype(np.float32))

    @pytest.mark.parametrize("cut", [0, 1, 17, 30])
    def test_prepend_inserts_rows_before_the_others(self, cut):
        dense = self.random_rows()
        builder = self.build(dense[cut:])
        builder.prepend(np.count_nonzero(dense[:cut], axis=1), self.blocks(dense[:cut]))
        np.testing.assert_array_equal(builder.finish().toarray(), dense.astype(np.float32))


def test_chunks_cover_a_range():
    assert chunks(range(3, 11), 3) == [range(3, 6), range(6, 9), range(9, 11)]
    assert chunks(range(3, 6), 100) == [range(3, 6)]
    assert chunks(range(0), 5) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_built_in_parallel_stay_in_order(threads):
    def build(rows):
        return [RowBlock(np.array([0]), np.zeros(0, np.int32), np.array([row])) for row in rows]

    blocks = blocks_in_order(build, range(2, 50), 4, threads)
    assert [block.values.item() for block in blocks] == list(range(2, 50))
