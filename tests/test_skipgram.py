"""Skip-gram kernels against the reference kernels; alias tables, noise and pair sampling."""

import numpy as np
import pytest
from tests import graphs
from tests.test_kernels import NATIVE

from boostne.kernels import get_kernels, skipgram
from boostne.kernels.reference.skipgram import edge_pairs, walk_pairs
from boostne.kernels.reference.splitmix import SplitMix
from boostne.kernels.skipgram import AliasTable, Edges, Noise, SkipGram, number_of_parts
from boostne.models.line import edges_of

RATES = (0.2, 0.05)  # large, so that errors show


def model_of(graph, dimensions=5, parts=1, negative=5, shared=False):
    return SkipGram.start(Noise.of(graph.degrees, parts, seed=0), dimensions, negative=negative, shared=shared, seed=3)


def random_walks(graph, count=12, length=9, seed=0):
    """Generate walks in plain Python; the last ones are shorter."""
    rng = np.random.default_rng(seed)
    walks = np.full((count, length), -1, np.int32)
    for w in range(count):
        at = w % graph.n_nodes
        for i in range(length if w < count - 3 else w % 3):
            walks[w, i] = at
            at = rng.choice(graph.adjacency[[at]].indices)
    return walks


def run_edges(kernels, samples=400, seed=11, **settings):
    graph = graphs.weighted()
    model = model_of(graph, **settings)
    kernels.train_edges(model, edges_of(graph), samples, rates=RATES, seed=seed)
    return model


def run_walks(kernels, window=3, seed=11, **settings):
    graph = graphs.karate()
    model = model_of(graph, **settings)
    kernels.train_walks(model, random_walks(graph), window=window, rates=RATES, seed=seed)
    return model


def assert_close(one, two):
    assert np.abs(two.vectors).max() > 0.1
    np.testing.assert_allclose(one.vectors, two.vectors, atol=1e-5)
    np.testing.assert_allclose(one.contexts, two.contexts, atol=1e-5)


@pytest.mark.parametrize("isa", NATIVE)
class TestAgainstReference:
    @pytest.mark.parametrize("parts", [1, 2, 4])
    @pytest.mark.parametrize("shared", [False, True])
    def test_edges(self, isa, parts, shared):
        ours, expected = (run_edges(get_kernels(name), parts=parts, shared=shared) for name in (isa, "reference"))
        assert_close(ours, expected)

    @pytest.mark.parametrize("parts", [1, 4])
    @pytest.mark.parametrize("shared", [False, True])
    def test_walks(self, isa, parts, shared):
        ours, expected = (run_walks(get_kernels(name), parts=parts, shared=shared) for name in (isa, "reference"))
        assert_close(ours, expected)

    @pytest.mark.parametrize("negative", [1, 6, 7, 8, 15, 20])
    def test_numbers_of_negatives(self, isa, negative):
        ours, expected = (run_walks(get_kernels(name), negative=negative) for name in (isa, "reference"))
        assert_close(ours, expected)

    @pytest.mark.parametrize("dimensions", [1, 16, 17, 64, 128])
    def test_widths(self, isa, dimensions):
        ours, expected = (run_walks(get_kernels(name), dimensions=dimensions) for name in (isa, "reference"))
        assert_close(ours, expected)
        assert not ours.vectors[:, dimensions:].any()
        assert not ours.contexts[:, dimensions:].any()

    def test_more_than_one_group_of_shards(self, isa):
        samples = skipgram.SHARDS * skipgram.SHARD_PAIRS + 300
        graph = graphs.two_triangles()
        for kernels in (get_kernels(isa), get_kernels("reference")):
            model = model_of(graph, dimensions=2, negative=1)
            kernels.train_edges(model, edges_of(graph), samples, rates=(0.01, 0.001), seed=1)
            if kernels.instruction_set == isa:
                ours = model
        assert_close(ours, model)

    @pytest.mark.parametrize("score", [-200.0, -20.0, 0.0, 20.0, 200.0, np.nan])
    def test_extreme_scores(self, isa, score):
        results = []
        for name in (isa, "reference"):
            model = model_of(graphs.path(2), dimensions=1, negative=1)
            model.vectors[:, 0] = score
            model.contexts[:, 0] = 1
            edges = Edges(np.array([0], np.int32), np.array([1], np.int32), None)
            get_kernels(name).train_edges(model, edges, 1, rates=(1.0, 1.0), seed=0)
            results.append((model.vectors[:, 0].copy(), model.contexts[:, 0].copy()))
        np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-5)

    def test_results_do_not_depend_on_threads(self, isa):
        graph = graphs.random_graph(2000, 8).without_isolated()
        walks = random_walks(graph, 600, 10)
        for shared in (False, True):
            bits = set()
            for threads in (1, 2, 3, 16):
                kernels = get_kernels(isa, threads=threads)
                model = model_of(graph, parts=8, shared=shared)
                kernels.train_edges(model, edges_of(graph), 50_000, rates=RATES, seed=1)
                kernels.train_walks(model, walks, window=4, rates=RATES, seed=2)
                bits.add(model.vectors.tobytes() + model.contexts.tobytes())
            assert len(bits) == 1


class TestAliasTable:
    @pytest.mark.parametrize(
        "weights",
        [
            [1.0],
            [1, 1, 1],
            [1, 2, 3, 4],
            [0, 5, 0, 1],
            [1e-9, 1, 1e9],
            [0.1] * 10,
            [7, 1, 1, 1, 7, 1, 1, 1],
            [1, 3, 1, 2, 3, 2, 7, 7, 4, 6, 4, 5, 6, 5],  # several givers exhaust their surplus
            np.random.default_rng(0).pareto(1, 1000),
            np.random.default_rng(1).random(1000) < 0.3,
        ],
    )
    def test_items_are_drawn_in_proportion_to_their_weights(self, weights):
        table = AliasTable.of(np.array(weights, np.float64))
        n = len(weights)
        kept = (table.threshold.astype(np.float64) + (table.threshold == 2**32 - 1)) / 2**32
        share = (kept + np.bincount(table.alias, 1 - kept, n)) / n
        np.testing.assert_allclose(share, np.array(weights, float) / np.sum(weights), atol=1e-9)

    def test_zero_weight_items_are_never_drawn(self):
        table = AliasTable.of(np.array([3.0, 0.0, 1.0, 0.0]))
        assert (table.threshold[[1, 3]] == 0).all()
        assert not np.isin(table.alias[[0, 1, 2, 3]][table.threshold < 2**32 - 1], [1, 3]).any()


class TestNoise:
    def test_parts_draw_their_nodes_by_degree(self):
        degrees = np.random.default_rng(0).integers(1, 50, 101)
        noise = Noise.of(degrees, 4, seed=0)
        assert noise.n_parts == 4
        for p in range(4):
            inside = slice(noise.cuts[p], noise.cuts[p + 1])
            members = noise.node[inside]
            np.testing.assert_array_equal(members, np.flatnonzero(noise.part == p))
            kept = noise.threshold[inside] / 2**32
            share = np.bincount(members, kept, 101) + np.bincount(noise.alias[inside], 1 - kept, 101)
            expected = np.where(noise.part == p, degrees**0.75, 0)
            np.testing.assert_allclose(share / share.sum(), expected / expected.sum(), atol=1e-8)

    def test_parts_are_balanced(self):
        degrees = np.random.default_rng(0).pareto(1.5, 4096) + 1
        totals = np.bincount(Noise.of(degrees, 8, seed=0).part, degrees)
        assert totals.max() < 1.5 * totals.min()

    def test_nodes_with_zero_frequency_are_never_drawn(self):
        frequencies = np.zeros(8)
        frequencies[3] = 5
        noise = Noise.of(frequencies, 2, seed=0)
        part = noise.part[3]
        drawn = np.append(noise.node[noise.threshold > 0], noise.alias)
        assert (drawn[noise.part[drawn] == part] == 3).all()

    def test_random_partitions_average_to_the_distribution_without_parts(self):
        degrees = np.random.default_rng(0).integers(1, 50, 101)
        output = int(np.argsort(degrees)[50])
        drawn = np.zeros(101)
        for seed in range(2000):
            noise = Noise.of(degrees, 4, seed=seed)
            part = np.where(noise.part == noise.part[output], degrees**0.75, 0)
            drawn += part / part.sum()
        # Nodes of nearly the same degree are often in different parts, so that parts are balanced.
        others = np.abs(np.argsort(np.argsort(-degrees, kind="stable")) - 50) >= 8
        expected = (degrees**0.75 / np.sum(degrees**0.75))[others]
        np.testing.assert_allclose(drawn[others] / 2000, expected, rtol=0.2)

    def test_a_repartitioned_model_shares_its_vectors(self):
        model = model_of(graphs.karate(), parts=4)
        again = model.repartitioned(1)
        assert again.vectors is model.vectors
        assert again.contexts is model.contexts
        assert again.noise.n_parts == 4
        assert (again.noise.part != model.noise.part).any()

    @pytest.mark.parametrize(
        ("n", "pairs", "parts"),
        [(34, 10**9, 1), (511, 10**9, 1), (512, 10**9, 2), (10_312, 10**9, 32), (10_312, 10**6, 1), (10**6, 10**7, 8)],
    )
    def test_number_of_parts(self, n, pairs, parts):
        assert number_of_parts(n, pairs) == parts


class TestPairs:
    def test_edges_are_drawn_in_proportion_to_their_weights(self):
        graph = graphs.weighted()
        pairs = list(edge_pairs(edges_of(graph), 20_000, SplitMix(5)))
        counts = np.zeros((6, 6))
        np.add.at(counts, tuple(np.transpose(pairs)), 1)
        expected = graphs.dense(graph)
        np.testing.assert_allclose(counts / counts.sum(), expected / expected.sum(), atol=0.008)

    def test_window_is_drawn_uniformly(self):
        walk = np.arange(400, dtype=np.int32)[None]
        apart = np.array([abs(u - v) for u, v in walk_pairs(walk, 4, SplitMix(1))])
        counts = np.bincount(apart, minlength=6)
        assert counts[0] == counts[5] == 0
        np.testing.assert_allclose(counts[1:5] / counts[1], [1, 0.75, 0.5, 0.25], atol=0.08)

    def test_padding_is_ignored(self):
        walks = np.array([[4, 5, -1, -1], [6, -1, -1, -1], [-1, -1, -1, -1]], np.int32)
        assert sorted(walk_pairs(walks, 3, SplitMix(1))) == [(4, 5), (5, 4)]
