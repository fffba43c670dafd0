"""DeepWalk's matrix pruned by forward push: exact for ε = 0, within its error bound and row limit otherwise."""

import numpy as np
import pytest
from scipy import sparse
from tests import graphs, reference

from boostne import BoostNE, DeepWalkMatrix, planted_partition
from boostne.budget import Workload
from boostne.errors import GraphError
from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.matrices.csr_builder import CSRBuilder, chunks
from boostne.matrices.deepwalk import push
from boostne.matrices.deepwalk.exact import ExactSource
from boostne.matrices.deepwalk.push import BoundedExactSource, PushSource
from boostne.memory import MemoryBudget

KERNELS = ("reference", "baseline")
TOLERANCE = {"float32": 1e-5, "float64": 1e-11}


def push_source(graph, epsilon=0.0, max_per_row=10**6, window=10, negative=1.0, dtype="float64", kernels=None):
    return PushSource(
        graph, window=window, negative=negative, epsilon=epsilon, max_per_row=max_per_row, dtype=dtype, kernels=kernels
    )


def pushed(*arguments, **options):
    return push_source(*arguments, **options).build()


def bounded_source(graph, max_per_row, **options):
    options = {"window": 10, "negative": 1.0, "dtype": "float64", **options}
    return BoundedExactSource(graph, max_per_row=max_per_row, **options)


def bounded(*arguments, **options):
    return bounded_source(*arguments, **options).build()


def exact(graph, window=10, negative=1.0, dtype="float64"):
    return ExactSource(graph, window=window, negative=negative, dtype=dtype).build()[0]


def rows_of(X):
    """Return the values of each row, sorted."""
    return [np.sort(row) for row in np.split(X.data, X.indptr[1:-1])]


@pytest.fixture(scope="module")
def hubs():
    """Return a graph with communities and hubs."""
    return planted_partition(800, communities=4, mean_degree=8, seed=3).graph


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("window", "negative"), [(1, 1), (2, 0.5), (10, 1), (10, 5)])
@pytest.mark.parametrize("name", graphs.DRAWABLE)
def test_matches_the_definition_for_epsilon_0(name, window, negative, dtype, kernels):
    graph = graphs.DRAWABLE[name]()
    X, dropped = pushed(graph, 0, window=window, negative=negative, dtype=dtype, kernels=get_kernels(kernels))
    expected = reference.exact_connectivity(graphs.dense(graph), window, negative)
    assert X.dtype == dtype
    assert X.has_sorted_indices
    assert (X.data > 0).all()
    np.testing.assert_allclose(X.toarray(), expected, rtol=0, atol=TOLERANCE[dtype] * max(expected.max(), 1))
    np.testing.assert_array_equal(dropped, 0)


def test_equals_the_exact_form_for_epsilon_0(hubs):
    X, dropped = pushed(hubs, dtype="float32")
    difference = abs(X - exact(hubs, dtype="float32"))
    assert difference.max() < 1e-4
    assert not dropped.any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("epsilon", "max_per_row"), [(0, 30), (1.0123e-3, 10**6), (1.0123e-4, 50), (1.0123e-2, 5)])
def test_native_and_reference_kernels_agree(hubs, weighted, epsilon, max_per_row):
    graph = hubs
    if weighted:
        A = sparse.triu(hubs.adjacency).tocoo()
        weights = np.random.default_rng(0).gamma(2.0, 3.0, A.nnz)
        graph = Graph.from_indices(hubs.nodes, A.row, A.col, weights)
    (slow, slow_dropped), (fast, fast_dropped) = (
        pushed(graph, epsilon, max_per_row, kernels=get_kernels(name)) for name in KERNELS
    )
    np.testing.assert_array_equal(fast.indptr, slow.indptr)
    # Entries that differ only by rounding may swap at the limit; the dropped mass then depends on their degrees.
    for a, b in zip(rows_of(fast), rows_of(slow), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    same = (abs(fast - slow) > 1e-9).sum(axis=1) == 0
    assert same.mean() > 0.5
    np.testing.assert_allclose(fast_dropped[same], slow_dropped[same], atol=1e-12)
    if not weighted:
        np.testing.assert_allclose(fast_dropped, slow_dropped, atol=1e-12)
    assert slow_dropped.max() > 0.01


@pytest.mark.parametrize("directed", [False, True])
def test_native_and_reference_kernels_agree_on_a_large_graph(directed):
    # Above the size up to which each node has its own slot; the hub makes the hash table grow, and then shrink again.
    n, hub = 270_000, 7
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, n, (2, 2 * n))
    spokes = np.arange(hub + 1, n, 9)
    ends = np.r_[source, np.full(len(spokes), hub)], np.r_[target, spokes]
    graph = Graph.from_indices(np.arange(n), *ends, directed=directed)
    slow, fast = (
        push_source(graph, 1e-6, 60, window=6, kernels=kernels).rows(range(hub - 4, hub + 12))[0]
        for kernels in (get_kernels("reference"), get_kernels(threads=1))
    )
    np.testing.assert_array_equal(fast.counts, slow.counts)
    assert (fast.columns == slow.columns).mean() > 0.95
    np.testing.assert_allclose(fast.dropped, slow.dropped, rtol=1e-9)
    ends = np.cumsum(fast.counts)
    for a, b in zip(np.split(fast.values, ends), np.split(slow.values, ends), strict=True):
        np.testing.assert_allclose(np.sort(a), np.sort(b), rtol=1e-9)


@pytest.mark.parametrize("epsilon", [1e-5, 1e-4, 1e-3])
def test_no_entry_exceeds_the_error_bound(hubs, epsilon):
    window, negative = 6, 1.0
    M, approximate = (np.exp(X.toarray()) for X in (exact(hubs, window), pushed(hubs, epsilon, window=window)[0]))
    error = M - approximate
    bound = epsilon * hubs.volume * (window - 1) / (2 * negative)
    assert error.min() > -1e-9  # mass is lost, never added
    assert 0 < error.max() <= bound + 1e-9


def test_dropped_mass_is_the_mass_missing_from_the_rows(hubs):
    # b is so small that every entry is above 1 and kept.
    window, negative = 5, 1e-9
    X, dropped = pushed(hubs, 1e-3, window=window, negative=negative)
    walked = (np.exp(X.toarray()) - (X.toarray() == 0)) * hubs.degrees * negative * window / hubs.volume
    assert dropped.max() > 0.1
    np.testing.assert_allclose(walked.sum(axis=1) / window, 1 - dropped, atol=1e-9)
    limited, more = pushed(hubs, 1e-3, max_per_row=20, window=window, negative=negative)
    walked = (np.exp(limited.toarray()) - (limited.toarray() == 0)) * hubs.degrees * negative * window / hubs.volume
    np.testing.assert_allclose(walked.sum(axis=1) / window, 1 - more, atol=1e-9)


def test_max_per_row_keeps_the_strongest_entries(hubs):
    whole, limited = pushed(hubs)[0].toarray(), pushed(hubs, max_per_row=7)[0]
    assert (np.diff(limited.indptr) == 7).all()
    for row, kept in zip(whole, limited.toarray(), strict=True):
        np.testing.assert_array_equal(kept[kept > 0], row[kept > 0])
        assert kept[kept > 0].min() >= np.sort(row)[-7]


def test_ties_are_resolved_in_favor_of_the_first_columns():
    X, _ = pushed(graphs.star(9), max_per_row=3, window=2, negative=0.1)
    np.testing.assert_array_equal(X[[0]].indices, [0, 1, 2])


def test_no_row_of_a_star_is_empty():
    graph = graphs.star(500)
    X, _ = pushed(graph, epsilon=0.1, window=3, negative=0.1)
    assert np.diff(X.indptr).min() > 0


def test_underflowing_mass_does_no_harm():
    chain = Graph.from_edges(range(60), range(1, 61), 10.0 ** -np.abs(np.arange(60) - 30.0))
    X, _ = pushed(chain, window=30, dtype="float32")
    assert np.isfinite(X.data).all()
    assert X.nnz > 60


@pytest.mark.parametrize("factor", [3, 1e-6, 1e6])
def test_is_invariant_under_scaling_of_all_weights(factor):
    graph = planted_partition(300, communities=2, seed=1).graph
    # No mass equals this ε times a degree, where rounding would decide.
    X, Y = (pushed(g, 1.0123e-3)[0] for g in (graph, graphs.scaled(graph, factor)))
    assert abs(X - Y).max() < 1e-9


def test_bits_do_not_depend_on_threads_or_chunks(hubs, monkeypatch):
    (one, dropped), *others = (
        pushed(hubs, 1e-4, 60, dtype="float32", kernels=get_kernels(threads=threads)) for threads in (1, 2, 5)
    )
    monkeypatch.setattr("boostne.kernels.layout.MAX_CHUNK_ROWS", 64)
    others.append(pushed(hubs, 1e-4, 60, dtype="float32"))
    for X, other_dropped in others:
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(X, name), getattr(one, name))
        np.testing.assert_array_equal(other_dropped, dropped)


class TestBoundedExactSource:
    @pytest.mark.parametrize("name", graphs.DRAWABLE)
    @pytest.mark.parametrize("max_per_row", [1, 4, 10**6])
    def test_equals_push_for_epsilon_0(self, name, max_per_row):
        graph = graphs.DRAWABLE[name]()
        (X, dropped), (expected, lost) = bounded(graph, max_per_row), pushed(graph, 0, max_per_row)
        np.testing.assert_array_equal(X.indptr, expected.indptr)
        for ours, theirs in zip(rows_of(X), rows_of(expected), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        np.testing.assert_allclose(dropped, lost, atol=1e-9)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_equals_push_for_epsilon_0_on_a_graph_with_hubs(self, hubs, dtype):
        (X, dropped), (expected, lost) = bounded(hubs, 30, dtype=dtype), pushed(hubs, 0, 30, dtype=dtype)
        assert X.dtype == dtype
        assert X.has_sorted_indices
        assert (np.diff(X.indptr) == 30).all()
        for ours, theirs in zip(rows_of(X), rows_of(expected), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4 if dtype == "float32" else 1e-9)
        np.testing.assert_allclose(dropped, lost, atol=1e-5)
        assert dropped.min() > 0.01

    def test_equals_the_exact_form_without_a_limit(self, hubs):
        X, dropped = bounded(hubs, 10**6, dtype="float32")
        assert (exact(hubs, dtype="float32") != X).nnz == 0
        assert not dropped.any()

    def test_ties_are_resolved_in_favor_of_the_first_columns(self):
        X, _ = bounded(graphs.star(9), 3, window=2, negative=0.1)
        np.testing.assert_array_equal(X[[0]].indices, [0, 1, 2])

    def test_bits_do_not_depend_on_threads_or_chunks(self, hubs):
        one, dropped = bounded(hubs, 40, dtype="float32", kernels=get_kernels(threads=1))
        two, other_dropped = bounded(hubs, 40, dtype="float32", kernels=get_kernels(threads=5))
        assert (one != two).nnz == 0
        np.testing.assert_array_equal(dropped, other_dropped)
        part = bounded_source(hubs, 40, dtype="float32").rows(range(32, 48))
        assert [len(row.columns) for row in part] == np.diff(one.indptr)[32:48].tolist()


def test_progress_after_each_chunk(hubs, monkeypatch):
    monkeypatch.setattr("boostne.kernels.layout.MAX_CHUNK_ROWS", 300)
    reports = []
    push_source(hubs, 0.01, 9, window=2, dtype="float32").build(reports.append)
    assert [report.done for report in reports] == [300 / 800, 600 / 800, 1]
    assert reports[-1].detail == "800 of 800 rows"


def complete_bipartite(a, b):
    return Graph.from_edges(np.repeat(np.arange(a), b), np.tile(np.arange(a, a + b), a))


def double_star(leaves):
    ends = np.arange(2, 2 + 2 * leaves)
    return Graph.from_edges([0, *ends % 2], [1, *ends])


def wheel(n):
    rim = np.arange(1, n + 1)
    return Graph.from_edges([*np.zeros(n, int), *rim], [*rim, *np.roll(rim, -1)])


def tree(n, children):
    nodes = np.arange(1, n)
    return Graph.from_edges(nodes, (nodes - 1) // children)


def star_and_path():
    """Return a star beside a path, their nodes mixed."""
    blocks = sparse.block_diag([graphs.star(40).adjacency, graphs.path(40).adjacency])
    return Graph(blocks).permuted(np.random.default_rng(0).permutation(81))


HUBS = {
    "star": lambda: complete_bipartite(1, 300),
    "weighted star": lambda: Graph.from_edges(np.zeros(300, int), np.arange(1, 301), 1 + np.arange(300.0) % 3),
    "two hubs": lambda: complete_bipartite(2, 300),
    "double star": lambda: double_star(150),
    "wheel": lambda: wheel(300),
    "wide tree": lambda: tree(300, 40),
    "binary tree": lambda: tree(300, 2),
    "star with an isolated node": lambda: Graph(
        sparse.block_diag([complete_bipartite(1, 300).adjacency, np.zeros((1, 1))])
    ),
}


class TestRowsOfWhichPruningLeavesNothing:
    @pytest.mark.parametrize("window", [1, 2, 3, 5, 10])
    @pytest.mark.parametrize("name", HUBS)
    def test_no_row_is_empty_unless_the_exact_one_is(self, name, window):
        graph = HUBS[name]()
        rounding = 1e-12
        expected = exact(graph, window).max(axis=1).toarray() > rounding
        for epsilon in (0.3, 1.0123e-2, 1.0123e-4):
            found = pushed(graph, epsilon, window=window)[0].max(axis=1).toarray() > rounding
            np.testing.assert_array_equal(found, expected)

    def test_a_star_of_25_000_nodes_with_the_default_epsilon(self):
        n = 25_000
        star = complete_bipartite(1, n)
        matrix = DeepWalkMatrix(window=3, approximation="push")
        work = Workload(n + 1, levels=1, components=2, max_iter=1, dtype=np.dtype(np.float32), threads=1)
        form = matrix.plan(star, work, MemoryBudget.within("2GB"))
        assert form.epsilon > 1 / n  # the mass that the hub passes on to each of the others
        source = matrix.source(star, form, dtype="float32")
        for row in (0, 1, n):
            (block,) = (block for block in source.rows(range(row, row + 1)) if len(block.columns))
            np.testing.assert_allclose(block.values, np.log(4 / 3), rtol=1e-3)
            np.testing.assert_array_equal(block.columns, 0 if row else np.arange(1, form.max_per_row + 1))

    @pytest.mark.parametrize("kernels", KERNELS)
    def test_they_do_not_depend_on_the_rows_built_together(self, kernels):
        source = push_source(star_and_path(), 0.03, window=3, negative=2.0, kernels=get_kernels(kernels))
        X, dropped = source.build()
        assert len(source.rows(range(81))) > 3  # rows of both kinds
        for size in (1, 7, 80):
            builder = CSRBuilder(81, "float64")
            for rows in chunks(range(81), size):
                builder.extend(source.rows(rows))
            np.testing.assert_array_equal(builder.dropped, dropped)
            np.testing.assert_array_equal(builder.finish().toarray(), X.toarray())

    def test_other_rows_keep_their_bits(self, monkeypatch):
        X, dropped = pushed(star_and_path(), 0.03, window=3, negative=2.0)
        monkeypatch.setattr(push, "MAX_UNPRUNED_STEPS", 0)
        pruned, more_dropped = pushed(star_and_path(), 0.03, window=3, negative=2.0)
        kept = np.diff(pruned.indptr) > 0
        assert np.count_nonzero(kept) == 40
        assert (np.diff(X.indptr) > 0).all()
        np.testing.assert_array_equal(X[kept].toarray(), pruned[kept].toarray())
        np.testing.assert_array_equal(dropped, np.where(kept, more_dropped, 0))

    def test_a_graph_with_too_many_of_them_is_an_error(self, monkeypatch):
        monkeypatch.setattr(push, "MAX_UNPRUNED_STEPS", 0)
        matrix = DeepWalkMatrix(window=3, approximation="push", epsilon=0.1)
        with pytest.raises(GraphError, match=r"graph with 300 edges is zero: .* with approximation='push', epsilon"):
            BoostNE(2, levels=1, connectivity=matrix).fit(complete_bipartite(1, 300))
