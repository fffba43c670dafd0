"""DeepWalk's matrix pruned by forward push: exact for ε = 0, within its error bound and row limit otherwise."""

import numpy as np
import pytest
from scipy import sparse
from tests import graphs, reference

from boostne import planted_partition
from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.matrices.deepwalk.exact import ExactSource
from boostne.matrices.deepwalk.push import BoundedExactSource, PushSource

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


def test_native_and_reference_kernels_agree_on_a_large_graph():
    # Above the size up to which each node has its own slot; the hub makes the hash table grow, and then shrink again.
    n, hub = 270_000, 7
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, n, (2, 2 * n))
    spokes = np.arange(hub + 1, n, 9)
    graph = Graph.from_indices(np.arange(n), np.r_[source, np.full(len(spokes), hub)], np.r_[target, spokes])
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
