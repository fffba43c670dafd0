"""Random walks: compiled and reference kernels agree, and transition probabilities are those of node2vec."""

import numpy as np
import pytest
from scipy import stats
from tests import graphs, reference

from boostne import Graph
from boostne.errors import ParameterError
from boostne.kernels import get_kernels
from boostne.kernels.csr_graph import WalkGraph
from boostne.kernels.reference.splitmix import SplitMix
from boostne.sampling import walks as sampling
from boostne.sampling.walks import cumulative_weights, walk_chunks

BIASES = [(1, 1), (0.25, 4), (4, 0.25), (0.01, 1), (1, 0.01), (1000, 1000), (1, 1000), (1000, 1)]


def directed():
    """Return a directed cycle of three nodes with a chord and a path to a node without outgoing edges."""
    return Graph.from_edges([0, 1, 2, 0, 2, 3], [1, 2, 0, 2, 3, 4], [1, 2, 3, 1, 4, 5], directed=True)


def skewed_weights():
    """Return a wheel with a tail, with weights that differ by a factor of a million."""
    weights = [1e-3, 1, 10, 100, 1e3, 5, 3, 2, 7, 1]
    return Graph.from_edges([0, 0, 0, 0, 1, 2, 3, 4, 4, 5], [1, 2, 3, 4, 2, 3, 4, 1, 5, 6], weights)


GRAPHS = {**graphs.DRAWABLE, "directed": directed, "skewed_weights": skewed_weights}


def walk(graph, starts, length, kernels=None, *, p=1, q=1, seed=0, first=0):
    A = graph.adjacency
    arrays = WalkGraph(A.indptr.astype(np.int64), A.indices.astype(np.int32), cumulative_weights(graph))
    starts = np.asarray(starts, np.int32)
    return (kernels or get_kernels()).random_walks(arrays, starts, length, p=p, q=q, seed=seed, first=first)


class TestAgainstReference:
    @pytest.mark.parametrize("name", GRAPHS)
    @pytest.mark.parametrize(("p", "q"), BIASES)
    def test_kernels_generate_the_same_walks(self, name, p, q):
        graph = GRAPHS[name]()
        starts = np.arange(4 * graph.n_nodes) % graph.n_nodes
        native, expected = (
            walk(graph, starts, 12, get_kernels(kind), p=p, q=q, seed=3, first=17) for kind in (None, "reference")
        )
        np.testing.assert_array_equal(native, expected)

    def test_kernels_agree_on_long_rows(self):
        """Row lengths around powers of two, so that binary searches end at every position."""
        rng = np.random.default_rng(0)
        A = np.triu(rng.random((70, 70)) < np.linspace(0.1, 1, 70), 1) * rng.random((70, 70))
        graph = Graph(A + A.T)
        for p, q in BIASES:
            np.testing.assert_array_equal(
                walk(graph, np.arange(70), 30, p=p, q=q),
                walk(graph, np.arange(70), 30, get_kernels("reference"), p=p, q=q),
            )

    @pytest.mark.parametrize(("p", "q"), [(1, 1), (0.25, 4)])
    def test_walks_do_not_depend_on_threads_or_chunks(self, p, q):
        graph = graphs.random_graph(3000, 6)
        starts = np.random.default_rng(0).integers(3000, size=5000)
        whole = walk(graph, starts, 20, get_kernels(threads=1), p=p, q=q, seed=5)
        np.testing.assert_array_equal(walk(graph, starts, 20, get_kernels(threads=7), p=p, q=q, seed=5), whole)
        parts = [walk(graph, starts[a : a + 333], 20, p=p, q=q, seed=5, first=a) for a in range(0, 5000, 333)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)

    def test_walks_depend_on_seed_and_number(self):
        graph = graphs.random_graph(500, 10)
        starts = np.arange(500)
        one, other, later = (walk(graph, starts, 40, **o) for o in ({}, {"seed": 1}, {"first": 500}))
        for changed in (other, later):
            assert np.mean(changed[:, 1:] == one[:, 1:]) < 0.05
        np.testing.assert_array_equal(walk(graph, starts, 40, seed=2**64 + 1), other)

    def test_splitmix_matches_the_published_code(self):
        """The first numbers of splitmix64 from the state 1234567."""
        random = SplitMix(1234567)
        expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
        assert [random.next() for _ in range(4)] == expected


class TestWalks:
    @pytest.mark.parametrize("name", GRAPHS)
    @pytest.mark.parametrize(("p", "q"), [(1, 1), (0.5, 2)])
    def test_walks_follow_edges_and_end_at_sinks(self, name, p, q):
        graph = GRAPHS[name]()
        A = graphs.dense(graph)
        starts = np.repeat(np.arange(graph.n_nodes), 20)
        rows = walk(graph, starts, 15, p=p, q=q)
        assert rows.shape == (len(starts), 15)
        assert rows.dtype == np.int32
        np.testing.assert_array_equal(rows[:, 0], starts)
        for here, there in zip(rows[:, :-1].ravel(), rows[:, 1:].ravel(), strict=True):
            if there >= 0:
                assert A[here, there] > 0
            else:
                assert here < 0 or not A[here].any()

    def test_walks_from_isolated_nodes(self):
        rows = walk(graphs.with_isolated(), [0, 4, 8], 4, p=2)
        assert rows.tolist() == [[0, -1, -1, -1], [4, -1, -1, -1], [8, -1, -1, -1]]

    def test_zero_walks_and_zero_steps(self):
        assert walk(graphs.karate(), [], 5).shape == (0, 5)
        assert walk(graphs.karate(), [3, 1], 1, p=2).tolist() == [[3], [1]]


class TestProbabilities:
    """Chi-square tests for each node (and previous node) at a significance level of 1e-6."""

    LEVEL = 1e-6

    def check(self, counts, probabilities):
        assert not counts[probabilities == 0].any()
        expected = probabilities / probabilities.sum() * counts.sum()
        # The test needs about five expected counts per class: rarer classes are merged.
        order = np.argsort(expected)
        counts, expected = counts[order], expected[order]
        rare = min(np.searchsorted(np.cumsum(expected), 5), len(counts) - 1)
        counts, expected = (np.append(x[: rare + 1].sum(), x[rare + 1 :]) for x in (counts, expected))
        if len(counts) > 1:
            assert stats.chisquare(counts, expected).pvalue > self.LEVEL

    @pytest.mark.parametrize("name", GRAPHS)
    def test_first_order_probabilities(self, name):
        graph = GRAPHS[name]()
        n = graph.n_nodes
        S = reference.transition(graphs.dense(graph))
        starts = np.repeat(np.arange(n), 4000)
        rows = walk(graph, starts, 2, seed=11)
        counts = np.zeros((n, n))
        ends = rows[:, 1] >= 0
        np.add.at(counts, (rows[ends, 0], rows[ends, 1]), 1)
        for v in np.flatnonzero(S.any(axis=1)):
            self.check(counts[v], S[v])

    @pytest.mark.parametrize("name", GRAPHS)
    @pytest.mark.parametrize(("p", "q"), BIASES)
    def test_second_order_probabilities(self, name, p, q):
        graph = GRAPHS[name]()
        n = graph.n_nodes
        P = reference.second_order_transitions(graphs.dense(graph), p, q)
        rows = walk(graph, np.repeat(np.arange(n), 8000), 4, p=p, q=q, seed=12)
        counts = np.zeros((n, n, n))
        for k in (1, 2):
            t, v, x = rows[:, k - 1], rows[:, k], rows[:, k + 1]
            there = x >= 0
            np.add.at(counts, (t[there], v[there], x[there]), 1)
        for t, v in zip(*np.nonzero(counts.sum(axis=2)), strict=True):
            self.check(counts[t, v], P[t, v])


class TestChunks:
    def test_every_node_starts_one_walk_per_round(self):
        graph = graphs.karate()
        chunks = list(walk_chunks(graph, walks=3, length=7, seed=1))
        starts = np.concatenate([chunk[:, 0] for chunk in chunks]).reshape(3, 34)
        np.testing.assert_array_equal(np.sort(starts, axis=1), np.tile(np.arange(34), (3, 1)))
        assert len({tuple(order) for order in starts}) == 3
        assert len(np.unique(np.concatenate(chunks), axis=0)) > 95

    @pytest.mark.parametrize("name", ["weighted", "directed"])
    def test_walks_do_not_depend_on_chunk_size(self, name, monkeypatch):
        graph = GRAPHS[name]()
        whole = np.concatenate(list(walk_chunks(graph, walks=5, length=6, p=0.5, seed=4)))
        monkeypatch.setattr(sampling, "CHUNK_BYTES", 2 * 6 * 4)
        chunks = list(walk_chunks(graph, walks=5, length=6, p=0.5, seed=4, kernels=get_kernels("reference")))
        assert max(map(len, chunks)) == 2
        np.testing.assert_array_equal(np.concatenate(chunks), whole)

    def test_nodes_without_outgoing_edges_start_no_walks(self):
        (chunk,) = walk_chunks(graphs.with_isolated(), walks=1, length=3)
        assert set(chunk[:, 0]) == {1, 2, 3, 5, 6, 7}
        (chunk,) = walk_chunks(directed(), walks=1, length=3)
        assert set(chunk[:, 0]) == {0, 1, 2, 3}

    def test_cumulative_weights_are_in_double_precision(self):
        graph = graphs.weighted()
        assert graph.adjacency.dtype == np.float32
        sums = cumulative_weights(graph)
        assert sums.dtype == np.float64
        A = graph.adjacency
        np.testing.assert_array_equal(sums[A.indptr[1:] - 1], graph.degrees)
        assert cumulative_weights(graphs.karate()) is None

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"walks": 0}, "walks must be an integer of at least 1; got 0"),
            ({"length": 1.5}, "length must be an integer of at least 1; got 1.5"),
            ({"p": 0}, "p must be a number above 0; got 0"),
            ({"q": -1}, "q must be a number above 0; got -1"),
            ({"seed": -1}, "seed must be an integer of at least 0; got -1"),
        ],
    )
    def test_bad_parameters(self, changes, message):
        with pytest.raises(ParameterError, match=message):
            walk_chunks(graphs.karate(), **{"walks": 1, "length": 2, **changes})
