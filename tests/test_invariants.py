"""What must hold for every graph and every matrix, on whatever hypothesis can think of."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from tests import reference

from boostne import Graph, as_graph
from boostne.factorization import LocalEngine
from boostne.factorization.boosting import Settings, boost, random_start
from boostne.matrices import WalkColumns, exact_deepwalk

# The same examples on every run: a failure is then the fault of a change, not of the day.
EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)

WINDOWS = st.sampled_from([1, 2, 3, 10])
NEGATIVES = st.sampled_from([0.5, 1, 5])


@st.composite
def edge_lists(draw, max_nodes=12):
    n = draw(st.integers(2, max_nodes))
    ends = st.integers(0, n - 1)
    pairs = draw(
        st.lists(st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=30)
    )
    return n, pairs


@st.composite
def undirected(draw, max_nodes=12):
    """Graphs with or without weights, in pieces or not, with nodes on their own or not."""
    n, pairs = draw(edge_lists(max_nodes))
    weights = st.lists(st.floats(0.1, 100), min_size=len(pairs), max_size=len(pairs))
    return Graph.from_edges(*zip(*pairs, strict=True), draw(st.none() | weights), nodes=range(n))


@st.composite
def matrices(draw):
    """Non-negative, with holes; any number is either 0 or far from underflow."""
    shape = draw(arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=14))
    return draw(arrays.arrays(np.float64, shape, elements=st.just(0.0) | st.floats(0.01, 100)))


def connectivity(graph, window, negative=1.0):
    columns = WalkColumns(graph, window=window, negative=negative, dtype=np.float64)
    return exact_deepwalk(columns).toarray()


def levels_of(X, start=None, components=3, levels=3, max_iter=20, seed=0):
    engine = LocalEngine()
    engine.load(sparse.csr_array(X))
    start = start or random_start(seed, engine, components)
    return list(boost(engine, Settings(components, 1e-6, max_iter, 4), levels, start))


class TestConnectivity:
    @EXAMPLES
    @given(undirected(), WINDOWS, NEGATIVES)
    def test_is_the_paper_s(self, graph, window, negative):
        expected = reference.exact_connectivity(graph.adjacency.toarray(), window, negative)
        np.testing.assert_allclose(connectivity(graph, window, negative), expected, atol=1e-9)

    @EXAMPLES
    @given(undirected(), WINDOWS)
    def test_symmetric_and_non_negative(self, graph, window):
        X = connectivity(graph, window)
        np.testing.assert_allclose(X, X.T, atol=1e-12)
        assert (X >= 0).all()
        assert not X[graph.isolated].any()

    @EXAMPLES
    @given(undirected(), WINDOWS, st.randoms(use_true_random=False))
    def test_permutes_with_the_nodes(self, graph, window, random):
        order = random.sample(range(graph.n_nodes), graph.n_nodes)
        permuted = Graph(graph.adjacency[order][:, order], graph.nodes[order])
        expected = connectivity(graph, window)[np.ix_(order, order)]
        np.testing.assert_allclose(connectivity(permuted, window), expected, atol=1e-12)

    @EXAMPLES
    @given(undirected(), WINDOWS, st.floats(1e-6, 1e6))
    def test_the_unit_of_weights_does_not_matter(self, graph, window, factor):
        scaled = Graph(graph.adjacency.astype(np.float64) * factor)
        np.testing.assert_allclose(connectivity(scaled, window), connectivity(graph, window), atol=1e-12)

    @EXAMPLES
    @given(edge_lists(), WINDOWS, st.data())
    def test_edges_listed_again_change_nothing(self, edges, window, data):
        n, pairs = edges
        again = data.draw(st.lists(st.sampled_from(pairs + [(v, u) for u, v in pairs]), max_size=20))
        once = as_graph(pairs, nodes=range(n), duplicates="once")
        twice = as_graph(data.draw(st.permutations(pairs + again)), nodes=range(n), duplicates="once")
        np.testing.assert_array_equal(connectivity(twice, window), connectivity(once, window))

    @EXAMPLES
    @given(undirected(max_nodes=8), WINDOWS)
    def test_a_union_with_itself(self, graph, window):
        union = Graph(sparse.block_diag([graph.adjacency] * 2, format="csr"))
        X = connectivity(union, window)
        expected = reference.exact_connectivity(union.adjacency.toarray(), window, 1)
        np.testing.assert_allclose(X, expected, atol=1e-9)
        # Twice the volume is half the negative samples; nothing leads from one copy to the other.
        n = graph.n_nodes
        half = connectivity(graph, window, 0.5)
        np.testing.assert_allclose(
            X, np.block([[half, np.zeros((n, n))], [np.zeros((n, n)), half]]), atol=1e-9
        )

    @EXAMPLES
    @given(undirected(), WINDOWS)
    def test_more_negative_samples_leave_less(self, graph, window):
        assert (connectivity(graph, window, 2) <= connectivity(graph, window, 1) + 1e-12).all()


class TestLevels:
    @EXAMPLES
    @given(matrices(), st.integers(1, 9), st.integers(0, 1000))
    def test_residuals_only_shrink(self, X, components, seed):
        R, rounding = X, 1e-10 * np.linalg.norm(X)
        nnz = np.count_nonzero(X)
        for level in levels_of(X, components=components, seed=seed):
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
    def test_permuting_nodes_permutes_rows(self, seed, n, components):
        # Few components, so that none dies: what is seeded again goes by position.
        rng = np.random.default_rng(seed)
        X = rng.random((n, n)) * (rng.random((n, n)) < 0.7) + np.eye(n)
        starts = rng.random((2, n, components)) + 0.1
        order = rng.permutation(n)
        plain = levels_of(X, lambda i: starts[i], components, levels=2, max_iter=5)
        permuted = levels_of(
            X[np.ix_(order, order)], lambda i: starts[i][order], components, levels=2, max_iter=5
        )
        for one, other in zip(plain, permuted, strict=True):
            np.testing.assert_allclose(other.U, one.U[order], atol=1e-7)
            np.testing.assert_allclose(other.V, one.V[order], atol=1e-7)
            np.testing.assert_allclose(other.objective, one.objective, atol=1e-9)

    @EXAMPLES
    @given(st.integers(0, 1000), st.sampled_from([1e-3, 7.0, 1e4]))
    def test_scaling_x_scales_the_product(self, seed, factor):
        rng = np.random.default_rng(seed)
        X = rng.random((15, 12))
        V = rng.random((12, 3)) + 0.1
        (plain,), (scaled,) = (levels_of(c * X, lambda _: V, levels=1, max_iter=5) for c in (1, factor))
        np.testing.assert_allclose(
            scaled.U @ scaled.V.T, factor * (plain.U @ plain.V.T), rtol=1e-6, atol=1e-9 * factor
        )
        np.testing.assert_allclose(scaled.objective, plain.objective, atol=1e-9)
