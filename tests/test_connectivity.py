"""The connectivity matrix in both forms against dense formulas."""

import numpy as np
import pytest
from scipy import sparse
from tests import graphs, reference

from boostne import eigensolvers as decompositions
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices import WalkColumns, exact_deepwalk, spectral_deepwalk
from boostne.matrices import source as rows
from boostne.matrices.deepwalk import exact as deepwalk
from boostne.matrices.deepwalk import spectral
from boostne.matrices.deepwalk.spectral import leading_eigenpairs, window_filter
from boostne.matrices.source import RowCollector, row_by_row

EXACT_TOLERANCE = {"float32": 1e-5, "float64": 1e-11}
# The eigensolver stops at 1e-6, and X inherits that.
SPECTRAL_TOLERANCE = {"float32": 1e-4, "float64": 1e-6}


def exact(graph, window=10, negative=1.0, dtype="float64", **options):
    return exact_deepwalk(
        WalkColumns(graph, window=window, negative=negative, dtype=dtype, **options), progress=None
    )


def spectral_x(graph, eigenpairs, window=10, negative=1.0, dtype="float64", seed=0, threads=1, progress=None):
    return spectral_deepwalk(
        graph,
        window=window,
        negative=negative,
        eigenpairs=eigenpairs,
        dtype=dtype,
        seed=seed,
        threads=threads,
        progress=progress,
    )


def compare(X, expected, tolerance):
    """Equal numbers, and nothing stored that is zero or out of order."""
    assert X.shape == expected.shape
    assert X.has_sorted_indices
    assert (X.data > 0).all()
    scale = max(expected.max(), 1.0)
    np.testing.assert_allclose(X.toarray(), expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("negative", [1, 5, 0.5])
@pytest.mark.parametrize("window", [1, 2, 10])
@pytest.mark.parametrize("name", graphs.DRAWABLE)
class TestAgainstTheReference:
    def test_exact(self, name, window, negative, dtype):
        graph = graphs.DRAWABLE[name]()
        X = exact(graph, window, negative, dtype)
        assert X.dtype == dtype
        compare(
            X, reference.exact_connectivity(graphs.dense(graph), window, negative), EXACT_TOLERANCE[dtype]
        )

    def test_spectral(self, name, window, negative, dtype):
        graph = graphs.DRAWABLE[name]()
        A = graphs.dense(graph)
        pieces = graph.n_components - len(graph.isolated)
        sizes = [h for h in reference.well_defined_sizes(A, window) if pieces < h < graph.n_nodes]
        assert sizes
        for h in sizes[:: max(1, len(sizes) // 4)]:
            X = spectral_x(graph, h, window, negative, dtype)
            assert X.dtype == dtype
            compare(X, reference.spectral_connectivity(A, window, negative, h), SPECTRAL_TOLERANCE[dtype])


class TestByHand:
    def test_a_single_edge(self):
        # vol = 2, S swaps the ends: after one step the walk is at the other end, with 2 / (1 · 1) = 2.
        X = exact(Graph.from_edges([0], [1]), window=1)
        np.testing.assert_allclose(X.toarray(), [[0, np.log(2)], [np.log(2), 0]])

    def test_a_path_of_three_and_two_steps(self):
        # vol = 4, T = 2. From an end: S reaches the middle (1), S^2 both ends (1/2 each); from the middle: S
        # reaches each end (1/2), S^2 the middle (1). Times 4 / 2 over the degree of where the walk ends.
        X = exact(graphs.path(3), window=2)
        np.testing.assert_allclose(X.toarray(), np.log([[1, 1, 1]] * 3), atol=1e-15)
        X = exact(graphs.path(3), window=2, negative=0.5)
        np.testing.assert_allclose(X.toarray(), np.full((3, 3), np.log(2)))


SOME = ["two_triangles", "weighted", "with_isolated", "disconnected", "with_loops", "karate"]


class TestExact:
    @pytest.mark.parametrize("name", graphs.DRAWABLE)
    def test_symmetric(self, name):
        X = exact(graphs.DRAWABLE[name](), window=5, negative=0.5).toarray()
        assert X.any()
        np.testing.assert_allclose(X, X.T, atol=1e-13)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("factor", [3, 1e-6, 1e6])
    def test_the_unit_of_weights_does_not_matter(self, factor, dtype):
        graph = graphs.weighted()
        X = exact(graph, dtype=dtype)
        np.testing.assert_allclose(
            exact(graphs.scaled(graph, factor), dtype=dtype).toarray(),
            X.toarray(),
            atol=EXACT_TOLERANCE[dtype],
        )

    def test_weights_do_matter(self):
        difference = exact(graphs.weighted(), window=1) - exact(graphs.two_triangles(), window=1)
        assert abs(difference).max() > 0.3

    def test_components_share_a_volume(self):
        graph = graphs.disconnected()
        X = exact(graph, window=3).toarray()
        _, component = sparse.csgraph.connected_components(graph.adjacency)
        assert not X[component[:, None] != component].any()
        alone = exact(Graph(graph.adjacency[:3, :3]), window=3).toarray()
        assert X[:3, :3].max() > alone.max() + 0.5  # vol(G) is that of the whole graph

    def test_nodes_on_their_own(self):
        graph = graphs.with_isolated()
        X = exact(graph)
        for lone in (X[[0, 4, 8]], X[:, [0, 4, 8]]):
            assert lone.nnz == 0
        rest = exact(graph.without_isolated()).toarray()
        keep = np.setdiff1d(np.arange(9), [0, 4, 8])
        np.testing.assert_allclose(X.toarray()[np.ix_(keep, keep)], rest, atol=1e-14)

    def test_chunks_do_not_show(self, monkeypatch):
        graph = graphs.random_graph(500, 8)
        whole = exact(graph, window=3)
        monkeypatch.setattr(deepwalk, "CHUNK_BYTES", 1)
        done = []
        columns = WalkColumns(graph, window=3, negative=1, dtype="float64")
        chunked = exact_deepwalk(columns, lambda *at: done.append(at))
        assert (whole != chunked).nnz == 0
        assert len(done) == 8
        assert done[-1] == (500, 500)
        assert done == sorted(done)

    def test_the_graph_is_left_alone(self):
        graph = graphs.weighted()
        before = graph.fingerprint()
        exact(graph, dtype="float32")
        assert graph.fingerprint() == before


class TestSpectral:
    @pytest.mark.parametrize("name", SOME)
    def test_all_but_one_eigenpair(self, name):
        # With odd windows all that is cut off are negative eigenvalues, of which the last is always one.
        graph = graphs.DRAWABLE[name]()
        A = graphs.dense(graph)
        everything = reference.spectral_connectivity(A, 5, 1, graph.n_nodes)
        compare(spectral_x(graph, graph.n_nodes - 1, 5), everything, SPECTRAL_TOLERANCE["float64"])

    def test_equals_the_exact_form_where_no_eigenvalue_is_negative(self):
        # Lazy walks: with a loop of its degree on each node, N becomes (I + N) / 2.
        A = graphs.dense(graphs.karate())
        graph = Graph(A + np.diag(A.sum(axis=1)))
        assert reference.spectrum(graphs.dense(graph))[0].min() > 0.1
        X = exact(graph, window=10)
        # the one eigenpair that is left out weighs less than 1e-4 in f
        np.testing.assert_allclose(spectral_x(graph, 33, 10).toarray(), X.toarray(), atol=0.05)
        assert X.nnz > 100

    @pytest.mark.parametrize("factor", [1e-6, 1e6])
    def test_the_unit_of_weights_does_not_matter(self, factor):
        graph = graphs.weighted()
        X = spectral_x(graph, 4).toarray()
        assert X.any()
        np.testing.assert_allclose(spectral_x(graphs.scaled(graph, factor), 4).toarray(), X, atol=1e-6)

    def test_symmetric(self):
        X = spectral_x(graphs.karate(), 10).toarray()
        np.testing.assert_allclose(X, X.T, atol=1e-12)

    def test_nodes_on_their_own(self):
        X = spectral_x(graphs.with_isolated(), 4)
        for lone in (X[[0, 4, 8]], X[:, [0, 4, 8]]):
            assert lone.nnz == 0

    def test_blocks_and_threads_do_not_show(self, monkeypatch):
        graph = graphs.random_graph(200, 8)
        whole = spectral_x(graph, 20, dtype="float32")
        monkeypatch.setattr(spectral, "BLOCK_BYTES", 200 * 4 * 7)
        done = []
        blocks = spectral_x(graph, 20, dtype="float32", threads=1, progress=lambda *at: done.append(at))
        np.testing.assert_allclose(blocks.toarray(), whole.toarray(), atol=1e-5)
        assert done == [(min(7 * i, 200), 200) for i in range(1, 30)]
        for threads in (2, 5):
            other = spectral_x(graph, 20, dtype="float32", threads=threads)
            np.testing.assert_array_equal(other.indices, blocks.indices)
            np.testing.assert_array_equal(other.data, blocks.data)

    def test_too_many_eigenpairs(self):
        for h in (34, 35):
            message = f"eigenpairs must be below the number of nodes, 34; got {h}.*approximation='exact'"
            with pytest.raises(ParameterError, match=message):
                spectral_x(graphs.karate(), h)

    def test_too_few_eigenpairs(self):
        message = "above the number of connected components, 3; got {}. Raise eigenpairs"
        for h in (1, 3):
            with pytest.raises(ParameterError, match=message.format(h)):
                spectral_x(graphs.disconnected(), h)
        spectral_x(graphs.disconnected(), 4)

    def test_the_seed_hardly_matters(self):
        first, second = (spectral_x(graphs.karate(), 10, seed=seed).toarray() for seed in (0, 1))
        np.testing.assert_allclose(first, second, atol=1e-5)


class TestEigenpairs:
    def test_eigenvalue_1_once_for_each_component(self):
        # twenty paths of different lengths, and a node on its own between them
        parts = [graphs.path(size).adjacency for size in range(4, 24)]
        lone = sparse.csr_array((1, 1), dtype=np.float32)
        graph = Graph(sparse.block_diag([*parts[:7], lone, *parts[7:]], format="csr"))
        values, vectors = leading_eigenpairs(graph, 30, seed=0)
        assert np.count_nonzero(values > 1 - 1e-9) == 20
        np.testing.assert_allclose(
            np.sort(values)[::-1], reference.spectrum(graphs.dense(graph))[0][:30], atol=1e-8
        )
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(30), atol=1e-6)
        np.testing.assert_allclose(vectors[graph.isolated], 0, atol=1e-12)

    def test_equal_components_share_their_eigenvalues(self):
        graph = Graph(sparse.block_diag([graphs.karate().adjacency] * 20, format="csr"))
        values, _ = leading_eigenpairs(graph, 40, seed=0)
        np.testing.assert_allclose(
            np.sort(values)[::-1], reference.spectrum(graphs.dense(graph))[0][:40], atol=1e-8
        )

    @pytest.mark.parametrize("name", SOME)
    def test_positive_ones_against_a_dense_solver(self, name):
        graph = graphs.DRAWABLE[name]()
        values, Q = leading_eigenpairs(graph, graph.n_nodes - 1, seed=3)
        expected = reference.spectrum(graphs.dense(graph))[0]
        positive = values > 1e-9  # the filter cuts off the rest
        np.testing.assert_allclose(np.sort(values[positive])[::-1], expected[expected > 1e-9], atol=1e-8)
        root = np.sqrt(reference.inverse(graph.degrees))
        N = root[:, None] * graphs.dense(graph) * root
        np.testing.assert_allclose(N @ Q[:, positive], (Q * values)[:, positive], atol=1e-6)

    def test_large_components_against_a_dense_solver(self):
        # two of them, each above the size that is solved as a dense matrix, and some small ones
        parts = [graphs.random_graph(n, 6, seed=n).without_isolated().adjacency for n in (700, 900)]
        parts += [graphs.two_triangles().adjacency] * 3
        graph = Graph(sparse.block_diag(parts, format="csr"))
        assert parts[0].shape[0] > decompositions.DENSE_SIZE
        values, Q = leading_eigenpairs(graph, 30, seed=1)
        np.testing.assert_allclose(values, reference.spectrum(graphs.dense(graph))[0][:30], atol=1e-8)
        np.testing.assert_allclose(Q.T @ Q, np.eye(30), atol=1e-6)

    def test_equal_parts_of_one_component_share_their_eigenvalues(self):
        # twenty karate clubs whose first members all know one stranger
        graph = Graph(sparse.block_diag([graphs.karate().adjacency] * 20, format="csr"))
        ends = sparse.triu(graph.adjacency).nonzero()
        hub = np.full(20, 680)
        graph = Graph.from_edges(np.append(ends[0], hub), np.append(ends[1], 34 * np.arange(20)))
        values, _ = leading_eigenpairs(graph, 21, seed=0)
        np.testing.assert_allclose(values, reference.spectrum(graphs.dense(graph))[0][:21], atol=1e-8)

    def test_the_vector_of_eigenvalue_1(self):
        values, Q = leading_eigenpairs(graphs.with_isolated(), 3, seed=0)
        degrees = graphs.with_isolated().degrees
        assert values[0] == pytest.approx(1)
        np.testing.assert_allclose(np.abs(Q[:, 0]), np.sqrt(degrees / degrees.sum()), atol=1e-12)

    @pytest.mark.parametrize("window", [1, 2, 3, 10])
    def test_filter(self, window):
        values = np.array([1, 0.999999, 0.5, 0, -0.3, -0.999, -1.0])
        expected = [reference.window_filter(value, window) for value in values]
        np.testing.assert_allclose(window_filter(values, window), expected, atol=1e-15)
        assert window_filter(values, window)[0] == 1


class TestRowCollector:
    def test_grows(self, monkeypatch):
        monkeypatch.setattr(rows, "FIRST_CAPACITY", 3)
        dense = np.random.default_rng(0).random((30, 20))
        dense *= np.random.default_rng(1).random((30, 20)) < np.linspace(0, 1, 30)[:, None]
        collector = RowCollector(20, np.float32)
        for block in (dense[:1], dense[1:2], dense[2:25], dense[25:]):
            collector.extend(
                row_by_row((np.flatnonzero(row).astype(np.int32), row[row > 0]) for row in block)
            )
        matrix = collector.finish()
        assert matrix.dtype == np.float32
        assert matrix.nnz == np.count_nonzero(dense)
        assert len(matrix.data) == len(matrix.indices) == matrix.nnz
        np.testing.assert_array_equal(matrix.toarray(), dense.astype(np.float32))

    def test_nothing(self):
        assert RowCollector(4, np.float64).finish().shape == (0, 4)

    def test_empty_rows(self):
        collector = RowCollector(4, np.float64)
        collector.extend([(np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0))])
        matrix = collector.finish()
        assert matrix.shape == (3, 4)
        assert matrix.nnz == 0
