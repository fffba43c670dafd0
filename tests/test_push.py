"""The pruned X: X itself at ε = 0, and within its bound and cap otherwise."""

import numpy as np
import pytest
from scipy import sparse
from tests import graphs, reference

from boostne import planted_partition
from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.matrices import BoundedColumns, PushRows, WalkColumns, exact_deepwalk, push_deepwalk
from boostne.matrices.deepwalk import push

KERNELS = ("reference", "baseline")
TOLERANCE = {"float32": 1e-5, "float64": 1e-11}


def pushed(graph, epsilon=0.0, max_per_row=10**6, window=10, negative=1.0, dtype="float64", kernels=None):
    rows = PushRows(
        graph,
        window=window,
        negative=negative,
        epsilon=epsilon,
        max_per_row=max_per_row,
        dtype=dtype,
        kernels=kernels,
    )
    return push_deepwalk(rows)


def bounded(graph, max_per_row, **options):
    options = {"window": 10, "negative": 1.0, "dtype": "float64", **options}
    return push_deepwalk(BoundedColumns(graph, max_per_row=max_per_row, **options))


def exact(graph, window=10, negative=1.0, dtype="float64"):
    return exact_deepwalk(WalkColumns(graph, window=window, negative=negative, dtype=dtype))


def rows_of(X):
    """The values of each row, sorted."""
    return [np.sort(row) for row in np.split(X.data, X.indptr[1:-1])]


@pytest.fixture(scope="module")
def hubs():
    """A graph with communities and hubs."""
    return planted_partition(800, communities=4, mean_degree=8, seed=3).graph


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("window", "negative"), [(1, 1), (2, 0.5), (10, 1), (10, 5)])
@pytest.mark.parametrize("name", graphs.DRAWABLE)
def test_without_threshold_it_is_the_paper_s(name, window, negative, dtype, kernels):
    graph = graphs.DRAWABLE[name]()
    X, dropped = pushed(graph, 0, window=window, negative=negative, dtype=dtype, kernels=get_kernels(kernels))
    expected = reference.exact_connectivity(graphs.dense(graph), window, negative)
    assert X.dtype == dtype
    assert X.has_sorted_indices
    assert (X.data > 0).all()
    np.testing.assert_allclose(X.toarray(), expected, rtol=0, atol=TOLERANCE[dtype] * max(expected.max(), 1))
    np.testing.assert_array_equal(dropped, 0)


def test_without_threshold_it_is_the_exact_form(hubs):
    X, dropped = pushed(hubs, dtype="float32")
    difference = abs(X - exact(hubs, dtype="float32"))
    assert difference.max() < 1e-4
    assert not dropped.any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("epsilon", "cap"), [(0, 30), (1.0123e-3, 10**6), (1.0123e-4, 50), (1.0123e-2, 5)])
def test_native_and_twin_agree(hubs, weighted, epsilon, cap):
    graph = hubs
    if weighted:
        A = sparse.triu(hubs.adjacency).tocoo()
        weights = np.random.default_rng(0).gamma(2.0, 3.0, A.nnz)
        graph = Graph.from_indices(hubs.nodes, A.row, A.col, weights)
    (slow, slow_dropped), (fast, fast_dropped) = (
        pushed(graph, epsilon, cap, kernels=get_kernels(name)) for name in KERNELS
    )
    np.testing.assert_array_equal(fast.indptr, slow.indptr)
    # Nodes that only rounding tells apart may change places at the cap; what is dropped then depends on their degrees.
    for a, b in zip(rows_of(fast), rows_of(slow), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    same = (abs(fast - slow) > 1e-9).sum(axis=1) == 0
    assert same.mean() > 0.5
    np.testing.assert_allclose(fast_dropped[same], slow_dropped[same], atol=1e-12)
    if not weighted:
        np.testing.assert_allclose(fast_dropped, slow_dropped, atol=1e-12)
    assert slow_dropped.max() > 0.01


def test_native_and_twin_agree_on_a_large_graph():
    # So large that nodes have no slots of their own; and a hub, for which the table must grow, and shrink again.
    n, hub = 270_000, 7
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, n, (2, 2 * n))
    spokes = np.arange(hub + 1, n, 9)
    graph = Graph.from_indices(np.arange(n), np.r_[source, np.full(len(spokes), hub)], np.r_[target, spokes])
    slow, fast = (
        PushRows(
            graph, window=6, negative=1, epsilon=1e-6, max_per_row=60, dtype="float64", kernels=kernels
        ).with_dropped(range(hub - 4, hub + 12))
        for kernels in (get_kernels("reference"), get_kernels(threads=1))
    )
    ((slow_counts, slow_columns, slow_values),), ((fast_counts, fast_columns, fast_values),) = (
        slow[0],
        fast[0],
    )
    np.testing.assert_array_equal(fast_counts, slow_counts)
    assert (fast_columns == slow_columns).mean() > 0.95
    np.testing.assert_allclose(fast[1], slow[1], rtol=1e-9)
    for a, b in zip(*(np.split(v, np.cumsum(fast_counts)) for v in (fast_values, slow_values)), strict=True):
        np.testing.assert_allclose(np.sort(a), np.sort(b), rtol=1e-9)


@pytest.mark.parametrize("epsilon", [1e-5, 1e-4, 1e-3])
def test_no_entry_is_further_off_than_the_bound(hubs, epsilon):
    window, negative = 6, 1.0
    M, approximate = (
        np.exp(X.toarray()) for X in (exact(hubs, window), pushed(hubs, epsilon, window=window)[0])
    )
    error = M - approximate
    bound = epsilon * hubs.volume * (window - 1) / (2 * negative)
    assert error.min() > -1e-9  # mass is only ever lost
    assert 0 < error.max() <= bound + 1e-9


def test_the_dropped_mass_is_what_the_rows_lack(hubs):
    # With many negative samples nothing would be kept, with few everything: b so small that each entry is above 1.
    window, negative = 5, 1e-9
    X, dropped = pushed(hubs, 1e-3, window=window, negative=negative)
    walked = (np.exp(X.toarray()) - (X.toarray() == 0)) * hubs.degrees * negative * window / hubs.volume
    assert dropped.max() > 0.1
    np.testing.assert_allclose(walked.sum(axis=1) / window, 1 - dropped, atol=1e-9)
    capped, more = pushed(hubs, 1e-3, max_per_row=20, window=window, negative=negative)
    walked = (
        (np.exp(capped.toarray()) - (capped.toarray() == 0)) * hubs.degrees * negative * window / hubs.volume
    )
    np.testing.assert_allclose(walked.sum(axis=1) / window, 1 - more, atol=1e-9)


def test_the_cap_keeps_the_strongest(hubs):
    whole, capped = pushed(hubs)[0].toarray(), pushed(hubs, max_per_row=7)[0]
    assert (np.diff(capped.indptr) == 7).all()
    for row, kept in zip(whole, capped.toarray(), strict=True):
        np.testing.assert_array_equal(kept[kept > 0], row[kept > 0])
        assert kept[kept > 0].min() >= np.sort(row)[-7]


def test_among_equal_entries_the_first_columns_win():
    X, _ = pushed(graphs.star(9), max_per_row=3, window=2, negative=0.1)
    np.testing.assert_array_equal(X[[0]].indices, [0, 1, 2])


def test_a_hub_keeps_its_row():
    graph = graphs.star(500)
    X, _ = pushed(graph, epsilon=0.1, window=3, negative=0.1)
    assert np.diff(X.indptr).min() > 0


def test_mass_that_underflows_does_no_harm():
    chain = Graph.from_edges(range(60), range(1, 61), 10.0 ** -np.abs(np.arange(60) - 30.0))
    X, _ = pushed(chain, window=30, dtype="float32")
    assert np.isfinite(X.data).all()
    assert X.nnz > 60


@pytest.mark.parametrize("factor", [3, 1e-6, 1e6])
def test_the_unit_of_weights_does_not_matter(factor):
    graph = planted_partition(300, communities=2, seed=1).graph
    # An ε that no mass meets exactly: there rounding would decide.
    X, Y = (pushed(g, 1.0123e-3)[0] for g in (graph, graphs.scaled(graph, factor)))
    assert abs(X - Y).max() < 1e-9


def test_bits_do_not_depend_on_threads_or_chunks(hubs, monkeypatch):
    (one, dropped), *others = (
        pushed(hubs, 1e-4, 60, dtype="float32", kernels=get_kernels(threads=threads)) for threads in (1, 2, 5)
    )
    monkeypatch.setattr(push, "MAX_CHUNK_ROWS", 64)
    others.append(pushed(hubs, 1e-4, 60, dtype="float32"))
    for X, also in others:
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(X, name), getattr(one, name))
        np.testing.assert_array_equal(also, dropped)


class TestRowsBuiltWhole:
    @pytest.mark.parametrize("name", graphs.DRAWABLE)
    @pytest.mark.parametrize("cap", [1, 4, 10**6])
    def test_are_those_of_push_without_threshold(self, name, cap):
        graph = graphs.DRAWABLE[name]()
        (X, dropped), (expected, lost) = bounded(graph, cap), pushed(graph, 0, cap)
        np.testing.assert_array_equal(X.indptr, expected.indptr)
        for ours, theirs in zip(rows_of(X), rows_of(expected), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        np.testing.assert_allclose(dropped, lost, atol=1e-9)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_on_a_graph_with_hubs(self, hubs, dtype):
        (X, dropped), (expected, lost) = bounded(hubs, 30, dtype=dtype), pushed(hubs, 0, 30, dtype=dtype)
        assert X.dtype == dtype
        assert X.has_sorted_indices
        assert (np.diff(X.indptr) == 30).all()
        for ours, theirs in zip(rows_of(X), rows_of(expected), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4 if dtype == "float32" else 1e-9)
        np.testing.assert_allclose(dropped, lost, atol=1e-5)
        assert dropped.min() > 0.01

    def test_without_a_bound_are_the_exact_form(self, hubs):
        X, dropped = bounded(hubs, 10**6, dtype="float32")
        assert (exact(hubs, dtype="float32") != X).nnz == 0
        assert not dropped.any()

    def test_among_equal_entries_the_first_columns_win(self):
        X, _ = bounded(graphs.star(9), 3, window=2, negative=0.1)
        np.testing.assert_array_equal(X[[0]].indices, [0, 1, 2])

    def test_bits_do_not_depend_on_threads_or_chunks(self, hubs):
        one, dropped = bounded(hubs, 40, dtype="float32", kernels=get_kernels(threads=1))
        two, also = bounded(hubs, 40, dtype="float32", kernels=get_kernels(threads=5))
        assert (one != two).nnz == 0
        np.testing.assert_array_equal(dropped, also)
        rows = BoundedColumns(hubs, max_per_row=40, window=10, negative=1.0, dtype="float32")
        part = rows(range(32, 48))
        assert [len(columns) for _, columns, _ in part] == np.diff(one.indptr)[32:48].tolist()


def test_progress_reaches_the_end(hubs, monkeypatch):
    monkeypatch.setattr(push, "MAX_CHUNK_ROWS", 300)
    rows = PushRows(hubs, window=2, negative=1, epsilon=0.01, max_per_row=9, dtype="float32")
    done = []
    push_deepwalk(rows, lambda *at: done.append(at))
    assert done == [(300, 800), (600, 800), (800, 800)]
