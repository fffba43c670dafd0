"""DeepWalk's connectivity matrix, exact and from eigenpairs, against dense formulas."""

import numpy as np
import pytest
from scipy import sparse
from tests import graphs, reference

from boostne import DeepWalkMatrix, eigensolvers
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices import MatrixForm
from boostne.matrices.deepwalk import spectral
from boostne.matrices.deepwalk.spectral import leading_eigenpairs, window_filter
from boostne.progress import silent

EXACT_TOLERANCE = {"float32": 1e-5, "float64": 1e-11}
# The eigensolver stops at 1e-6, which limits the accuracy of X.
SPECTRAL_TOLERANCE = {"float32": 1e-4, "float64": 1e-6}


def exact(graph, window=10, negative=1.0, dtype="float64", threads=2, progress=silent):
    matrix = DeepWalkMatrix(window=window, negative=negative)
    return matrix.source(graph, dtype=dtype, seed=0, threads=threads).build(progress)[0]


def spectral_matrix(graph, eigenpairs, window=10, negative=1.0, dtype="float64", seed=0, threads=1, progress=silent):
    matrix = DeepWalkMatrix(window=window, negative=negative, eigenpairs=eigenpairs)
    source = matrix.source(graph, MatrixForm("spectral"), dtype=dtype, seed=seed, threads=threads)
    return source.build(progress)[0]


def compare(X, expected, tolerance):
    """Check that values are close, stored entries positive and columns sorted."""
    assert X.shape == expected.shape
    assert X.has_sorted_indices
    assert (X.data > 0).all()
    scale = max(expected.max(), 1.0)
    np.testing.assert_allclose(X.toarray(), expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("negative", [1, 5, 0.5])
@pytest.mark.parametrize("window", [1, 2, 10])
@pytest.mark.parametrize("name", graphs.DRAWABLE)
class TestDefinition:
    def test_exact_form(self, name, window, negative, dtype):
        graph = graphs.DRAWABLE[name]()
        X = exact(graph, window, negative, dtype)
        assert X.dtype == dtype
        compare(X, reference.exact_connectivity(graphs.dense(graph), window, negative), EXACT_TOLERANCE[dtype])

    def test_spectral_form(self, name, window, negative, dtype):
        graph = graphs.DRAWABLE[name]()
        A = graphs.dense(graph)
        components = graph.n_components - len(graph.isolated)
        sizes = [h for h in reference.well_defined_sizes(A, window) if components < h < graph.n_nodes]
        assert sizes
        for h in sizes[:: max(1, len(sizes) // 4)]:
            X = spectral_matrix(graph, h, window, negative, dtype)
            assert X.dtype == dtype
            compare(X, reference.spectral_connectivity(A, window, negative, h), SPECTRAL_TOLERANCE[dtype])


class TestWorkedExamples:
    def test_a_single_edge(self):
        # vol = 2, and S swaps the two nodes: the entry is 2 / (1 · 1) = 2.
        X = exact(Graph.from_edges([0], [1]), window=1)
        np.testing.assert_allclose(X.toarray(), [[0, np.log(2)], [np.log(2), 0]])

    def test_a_path_of_three_nodes_and_two_steps(self):
        # vol = 4, T = 2. From an end, S reaches the middle (1) and S^2 both ends (1/2 each); from the middle, S
        # reaches each end (1/2) and S^2 the middle (1). These are multiplied by 4 / 2 and divided by the degree of
        # the last node.
        X = exact(graphs.path(3), window=2)
        np.testing.assert_allclose(X.toarray(), np.log([[1, 1, 1]] * 3), atol=1e-15)
        X = exact(graphs.path(3), window=2, negative=0.5)
        np.testing.assert_allclose(X.toarray(), np.full((3, 3), np.log(2)))


SOME = ["two_triangles", "weighted", "with_isolated", "disconnected", "with_loops", "karate"]


class TestExact:
    @pytest.mark.parametrize("name", graphs.DRAWABLE)
    def test_is_symmetric(self, name):
        X = exact(graphs.DRAWABLE[name](), window=5, negative=0.5).toarray()
        assert X.any()
        np.testing.assert_allclose(X, X.T, atol=1e-13)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("factor", [3, 1e-6, 1e6])
    def test_is_invariant_under_scaling_of_all_weights(self, factor, dtype):
        graph = graphs.weighted()
        X = exact(graph, dtype=dtype)
        np.testing.assert_allclose(
            exact(graphs.scaled(graph, factor), dtype=dtype).toarray(), X.toarray(), atol=EXACT_TOLERANCE[dtype]
        )

    def test_depends_on_weights(self):
        difference = exact(graphs.weighted(), window=1) - exact(graphs.two_triangles(), window=1)
        assert abs(difference).max() > 0.3

    def test_components_share_the_volume_of_the_graph(self):
        graph = graphs.disconnected()
        X = exact(graph, window=3).toarray()
        _, component = sparse.csgraph.connected_components(graph.adjacency)
        assert not X[component[:, None] != component].any()
        alone = exact(Graph(graph.adjacency[:3, :3]), window=3).toarray()
        assert X[:3, :3].max() > alone.max() + 0.5  # vol(G) is that of the whole graph

    def test_isolated_nodes_have_empty_rows_and_columns(self):
        graph = graphs.with_isolated()
        X = exact(graph)
        for isolated in (X[[0, 4, 8]], X[:, [0, 4, 8]]):
            assert isolated.nnz == 0
        rest = exact(graph.without_isolated()).toarray()
        keep = np.setdiff1d(np.arange(9), [0, 4, 8])
        np.testing.assert_allclose(X.toarray()[np.ix_(keep, keep)], rest, atol=1e-14)

    def test_does_not_depend_on_chunks(self, monkeypatch):
        graph = graphs.random_graph(500, 8)
        whole = exact(graph, window=3)
        monkeypatch.setattr("boostne.matrices.deepwalk.exact.chunk_columns", lambda n, dtype, threads: 64)
        reports = []
        chunked = exact(graph, window=3, progress=reports.append)
        assert (whole != chunked).nnz == 0
        assert [report.done for report in reports] == [min(64 * i, 500) / 500 for i in range(1, 9)]
        assert reports[-1].stage == "connectivity"
        assert reports[-1].detail == "500 of 500 rows"

    def test_does_not_modify_the_graph(self):
        graph = graphs.weighted()
        before = graph.fingerprint()
        exact(graph, dtype="float32")
        assert graph.fingerprint() == before


class TestSpectral:
    @pytest.mark.parametrize("name", SOME)
    def test_all_eigenpairs_but_one(self, name):
        # For odd windows only negative eigenvalues are clipped, and the last is always negative.
        graph = graphs.DRAWABLE[name]()
        A = graphs.dense(graph)
        everything = reference.spectral_connectivity(A, 5, 1, graph.n_nodes)
        compare(spectral_matrix(graph, graph.n_nodes - 1, 5), everything, SPECTRAL_TOLERANCE["float64"])

    def test_equals_the_exact_form_if_no_eigenvalue_is_negative(self):
        # Lazy walks: with a self-loop as heavy as its degree on each node, N becomes (I + N) / 2.
        A = graphs.dense(graphs.karate())
        graph = Graph(A + np.diag(A.sum(axis=1)))
        assert reference.spectrum(graphs.dense(graph))[0].min() > 0.1
        X = exact(graph, window=10)
        # The eigenpair that is left out contributes less than 1e-4 to f.
        np.testing.assert_allclose(spectral_matrix(graph, 33, 10).toarray(), X.toarray(), atol=0.05)
        assert X.nnz > 100

    @pytest.mark.parametrize("factor", [1e-6, 1e6])
    def test_is_invariant_under_scaling_of_all_weights(self, factor):
        graph = graphs.weighted()
        X = spectral_matrix(graph, 4).toarray()
        assert X.any()
        np.testing.assert_allclose(spectral_matrix(graphs.scaled(graph, factor), 4).toarray(), X, atol=1e-6)

    def test_is_symmetric(self):
        X = spectral_matrix(graphs.karate(), 10).toarray()
        np.testing.assert_allclose(X, X.T, atol=1e-12)

    def test_isolated_nodes_have_empty_rows_and_columns(self):
        X = spectral_matrix(graphs.with_isolated(), 4)
        for isolated in (X[[0, 4, 8]], X[:, [0, 4, 8]]):
            assert isolated.nnz == 0

    def test_does_not_depend_on_blocks_and_threads(self, monkeypatch):
        graph = graphs.random_graph(200, 8)
        whole = spectral_matrix(graph, 20, dtype="float32")
        monkeypatch.setattr(spectral, "BLOCK_BYTES", 200 * 4 * 7)
        reports = []
        blocks = spectral_matrix(graph, 20, dtype="float32", threads=1, progress=reports.append)
        np.testing.assert_allclose(blocks.toarray(), whole.toarray(), atol=1e-5)
        assert reports[0].detail == "20 eigenpairs"
        assert [report.done for report in reports] == [min(7 * i, 200) / 200 for i in range(30)]
        for threads in (2, 5):
            other = spectral_matrix(graph, 20, dtype="float32", threads=threads)
            np.testing.assert_array_equal(other.indices, blocks.indices)
            np.testing.assert_array_equal(other.data, blocks.data)

    def test_too_many_eigenpairs_are_an_error(self):
        for h in (34, 35):
            message = f"eigenpairs must be below the number of nodes, 34; got {h}.*approximation='exact'"
            with pytest.raises(ParameterError, match=message):
                spectral_matrix(graphs.karate(), h)

    def test_too_few_eigenpairs_are_an_error(self):
        message = "above the number of connected components, 3; got {}. Raise eigenpairs"
        for h in (1, 3):
            with pytest.raises(ParameterError, match=message.format(h)):
                spectral_matrix(graphs.disconnected(), h)
        spectral_matrix(graphs.disconnected(), 4)

    def test_the_seed_affects_only_the_last_digits(self):
        first, second = (spectral_matrix(graphs.karate(), 10, seed=seed).toarray() for seed in (0, 1))
        np.testing.assert_allclose(first, second, atol=1e-5)


class TestEigenpairs:
    def test_eigenvalue_1_occurs_once_per_component(self):
        # Twenty paths of different lengths, and an isolated node between them.
        parts = [graphs.path(size).adjacency for size in range(4, 24)]
        isolated = sparse.csr_array((1, 1), dtype=np.float32)
        graph = Graph(sparse.block_diag([*parts[:7], isolated, *parts[7:]], format="csr"))
        values, vectors = leading_eigenpairs(graph, 30, seed=0)
        assert np.count_nonzero(values > 1 - 1e-9) == 20
        np.testing.assert_allclose(np.sort(values)[::-1], reference.spectrum(graphs.dense(graph))[0][:30], atol=1e-8)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(30), atol=1e-6)
        np.testing.assert_allclose(vectors[graph.isolated], 0, atol=1e-12)

    def test_equal_components_have_equal_eigenvalues(self):
        graph = Graph(sparse.block_diag([graphs.karate().adjacency] * 20, format="csr"))
        values, _ = leading_eigenpairs(graph, 40, seed=0)
        np.testing.assert_allclose(np.sort(values)[::-1], reference.spectrum(graphs.dense(graph))[0][:40], atol=1e-8)

    @pytest.mark.parametrize("name", SOME)
    def test_positive_eigenvalues_match_a_dense_solver(self, name):
        graph = graphs.DRAWABLE[name]()
        values, Q = leading_eigenpairs(graph, graph.n_nodes - 1, seed=3)
        expected = reference.spectrum(graphs.dense(graph))[0]
        positive = values > 1e-9  # the filter clips the others to 0
        np.testing.assert_allclose(np.sort(values[positive])[::-1], expected[expected > 1e-9], atol=1e-8)
        root = np.sqrt(reference.inverse(graph.degrees))
        N = root[:, None] * graphs.dense(graph) * root
        np.testing.assert_allclose(N @ Q[:, positive], (Q * values)[:, positive], atol=1e-6)

    @pytest.mark.slow
    def test_large_components_match_a_dense_solver(self):
        # Two components above the size that is solved as a dense matrix, and some small ones.
        parts = [graphs.random_graph(n, 6, seed=n).without_isolated().adjacency for n in (700, 900)]
        parts += [graphs.two_triangles().adjacency] * 3
        graph = Graph(sparse.block_diag(parts, format="csr"))
        assert parts[0].shape[0] > eigensolvers.DENSE_SIZE
        values, Q = leading_eigenpairs(graph, 30, seed=1)
        np.testing.assert_allclose(values, reference.spectrum(graphs.dense(graph))[0][:30], atol=1e-8)
        np.testing.assert_allclose(Q.T @ Q, np.eye(30), atol=1e-6)

    def test_repeated_eigenvalues_within_one_component(self):
        # Twenty karate clubs whose first members are all linked to one more node.
        graph = Graph(sparse.block_diag([graphs.karate().adjacency] * 20, format="csr"))
        ends = sparse.triu(graph.adjacency).nonzero()
        hub = np.full(20, 680)
        graph = Graph.from_edges(np.append(ends[0], hub), np.append(ends[1], 34 * np.arange(20)))
        values, _ = leading_eigenpairs(graph, 21, seed=0)
        np.testing.assert_allclose(values, reference.spectrum(graphs.dense(graph))[0][:21], atol=1e-8)

    def test_the_eigenvector_of_eigenvalue_1(self):
        values, Q = leading_eigenpairs(graphs.with_isolated(), 3, seed=0)
        degrees = graphs.with_isolated().degrees
        assert values[0] == pytest.approx(1)
        np.testing.assert_allclose(np.abs(Q[:, 0]), np.sqrt(degrees / degrees.sum()), atol=1e-12)

    @pytest.mark.parametrize("window", [1, 2, 3, 10])
    def test_window_filter(self, window):
        values = np.array([1, 0.999999, 0.5, 0, -0.3, -0.999, -1.0])
        expected = [reference.window_filter(value, window) for value in values]
        np.testing.assert_allclose(window_filter(values, window), expected, atol=1e-15)
        assert window_filter(values, window)[0] == 1
