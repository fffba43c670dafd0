"""Properties of connectivity matrices and levels that hold for every graph and every matrix."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from tests import reference

from boostne import Graph, as_graph
from boostne.factorization import LevelSettings, LocalEngine, boost, random_start
from boostne.matrices import CSRSource, DeepWalkMatrix

# The same examples on every run, so that a failure is caused by a change.
EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)

WINDOWS = st.sampled_from([1, 2, 3, 10])
NEGATIVES = st.sampled_from([0.5, 1, 5])


@st.composite
def edge_lists(draw, max_nodes=12):
    n = draw(st.integers(2, max_nodes))
    ends = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=30))
    return n, pairs


@st.composite
def undirected(draw, max_nodes=12):
    """Graphs with and without weights, connected and disconnected, with and without isolated nodes."""
    n, pairs = draw(edge_lists(max_nodes))
    weights = st.lists(st.floats(0.1, 100), min_size=len(pairs), max_size=len(pairs))
    return Graph.from_edges(*zip(*pairs, strict=True), draw(st.none() | weights), nodes=range(n))


@st.composite
def matrices(draw):
    """Non-negative matrices whose entries are 0 or far from underflow."""
    shape = draw(arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=14))
    return draw(arrays.arrays(np.float64, shape, elements=st.just(0.0) | st.floats(0.01, 100)))


def connectivity(graph, window, negative=1.0):
    matrix = DeepWalkMatrix(window=window, negative=negative)
    return matrix.source(graph, dtype=np.float64, seed=0, threads=2).build()[0].toarray()


def boosted(X, initial_v=None, components=3, levels=3, max_iter=20, seed=0):
    engine = LocalEngine()
    engine.load(CSRSource(sparse.csr_array(X)))
    initial_v = initial_v or random_start(seed, X.shape[1], components, X.dtype)
    return list(boost(engine, LevelSettings(components, 1e-6, max_iter), levels, initial_v))


class TestConnectivity:
    @EXAMPLES
    @given(undirected(), WINDOWS, NEGATIVES)
    def test_matches_the_definition(self, graph, window, negative):
        expected = reference.exact_connectivity(graph.adjacency.toarray(), window, negative)
        np.testing.assert_allclose(connectivity(graph, window, negative), expected, atol=1e-9)

    @EXAMPLES
    @given(undirected(), WINDOWS)
    def test_is_symmetric_and_non_negative(self, graph, window):
        X = connectivity(graph, window)
        np.testing.assert_allclose(X, X.T, atol=1e-12)
        assert (X >= 0).all()
        assert not X[graph.isolated].any()

    @EXAMPLES
    @given(undirected(), WINDOWS, st.randoms(use_true_random=False))
    def test_is_equivariant_under_permutations_of_nodes(self, graph, window, random):
        order = random.sample(range(graph.n_nodes), graph.n_nodes)
        permuted = Graph(graph.adjacency[order][:, order], graph.nodes[order])
        expected = connectivity(graph, window)[np.ix_(order, order)]
        np.testing.assert_allclose(connectivity(permuted, window), expected, atol=1e-12)

    @EXAMPLES
    @given(undirected(), WINDOWS, st.floats(1e-6, 1e6))
    def test_is_invariant_under_scaling_of_all_weights(self, graph, window, factor):
        scaled = Graph(graph.adjacency.astype(np.float64) * factor)
        np.testing.assert_allclose(connectivity(scaled, window), connectivity(graph, window), atol=1e-12)

    @EXAMPLES
    @given(edge_lists(), WINDOWS, st.data())
    def test_is_invariant_under_duplicated_edges(self, edges, window, data):
        n, pairs = edges
        duplicates = data.draw(st.lists(st.sampled_from(pairs + [(v, u) for u, v in pairs]), max_size=20))
        once = as_graph(pairs, nodes=range(n), duplicates="once")
        twice = as_graph(data.draw(st.permutations(pairs + duplicates)), nodes=range(n), duplicates="once")
        np.testing.assert_array_equal(connectivity(twice, window), connectivity(once, window))

    @EXAMPLES
    @given(undirected(max_nodes=8), WINDOWS)
    def test_a_disjoint_union_is_block_diagonal(self, graph, window):
        union = Graph(sparse.block_diag([graph.adjacency] * 2, format="csr"))
        X = connectivity(union, window)
        expected = reference.exact_connectivity(union.adjacency.toarray(), window, 1)
        np.testing.assert_allclose(X, expected, atol=1e-9)
        # Twice the volume is equivalent to half the negative samples.
        n = graph.n_nodes
        half = connectivity(graph, window, 0.5)
        np.testing.assert_allclose(X, np.block([[half, np.zeros((n, n))], [np.zeros((n, n)), half]]), atol=1e-9)

    @EXAMPLES
    @given(undirected(), WINDOWS)
    def test_decreases_with_the_number_of_negative_samples(self, graph, window):
        assert (connectivity(graph, window, 2) <= connectivity(graph, window, 1) + 1e-12).all()


class TestLevels:
    @EXAMPLES
    @given(matrices(), st.integers(1, 9), st.integers(0, 1000))
    def test_residuals_shrink_within_the_pattern_of_the_matrix(self, X, components, seed):
        R, rounding = X, 1e-10 * np.linalg.norm(X)
        nnz = np.count_nonzero(X)
        for level in boosted(X, components=components, seed=seed):
            assert (level.U >= 0).all()
            assert (level.V >= 0).all()
            assert np.isfinite(level.U).all()
            assert np.isfinite(level.V).all()
            fit = np.sqrt(reference.objective(R, level.U, level.V))
            after = reference.residual(R, level.U, level.V)
            assert np.linalg.norm(after) <= fit + rounding
            assert fit <= np.linalg.norm(R) + rounding
            assert abs(level.residual_norm - np.linalg.norm(after)) <= rounding
            assert not after[R == 0].any()
            assert level.nnz <= nnz
            R, nnz = after, level.nnz

    @EXAMPLES
    @given(st.integers(0, 1000), st.integers(20, 40), st.integers(1, 3))
    def test_are_equivariant_under_permutations_of_nodes(self, seed, n, components):
        # Few components, so that none dies: reseeding depends on positions.
        rng = np.random.default_rng(seed)
        X = rng.random((n, n)) * (rng.random((n, n)) < 0.7) + np.eye(n)
        starts = rng.random((2, n, components)) + 0.1
        order = rng.permutation(n)
        plain = boosted(X, lambda i: starts[i], components, levels=2, max_iter=5)
        permuted = boosted(X[np.ix_(order, order)], lambda i: starts[i][order], components, levels=2, max_iter=5)
        for one, other in zip(plain, permuted, strict=True):
            np.testing.assert_allclose(other.U, one.U[order], atol=1e-7)
            np.testing.assert_allclose(other.V, one.V[order], atol=1e-7)
            np.testing.assert_allclose(other.objective, one.objective, atol=1e-9)

    @EXAMPLES
    @given(st.integers(0, 1000), st.sampled_from([1e-3, 7.0, 1e4]))
    def test_scaling_the_matrix_scales_the_product(self, seed, factor):
        rng = np.random.default_rng(seed)
        X = rng.random((15, 12))
        V = rng.random((12, 3)) + 0.1
        (plain,), (scaled,) = (boosted(c * X, lambda _: V, levels=1, max_iter=5) for c in (1, factor))
        np.testing.assert_allclose(scaled.U @ scaled.V.T, factor * (plain.U @ plain.V.T), rtol=1e-6, atol=1e-9 * factor)
        np.testing.assert_allclose(scaled.objective, plain.objective, atol=1e-9)
