"""LINE, DeepWalk and Node2Vec: behavior beyond the contract of all methods."""

from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from gensim.models import Word2Vec
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from tests import graphs

from boostne import LINE, DeepWalk, Graph, Node2Vec
from boostne.errors import ParameterError
from boostne.kernels import skipgram
from boostne.models.walk_base import expected_visits
from boostne.sampling.schedule import training_chunks
from boostne.sampling.walks import walk_chunks

WALKS = {"walks": 10, "length": 20, "window": 3}


@pytest.fixture(scope="module")
def planted():
    """Communities that are hard to find: a classifier given all neighbors is right for about 90 % of the nodes."""
    return graphs.planted_partition([130, 120, 110, 140], 0.08, 0.014, seed=1)


def accuracy(vectors, labels):
    """Return the mean accuracy over ten random halves."""
    scores = []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(labels))
        train, test = np.array_split(order, 2)
        fitted = LogisticRegression(max_iter=1000).fit(vectors[train], labels[train])
        scores.append(fitted.score(vectors[test], labels[test]))
    return np.mean(scores)


def cosines(vectors):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


class TestLine:
    def test_vectors_of_each_order_have_norm_2(self):
        embedding = LINE(8).fit(graphs.karate()).embedding_
        assert embedding.levels.tolist() == [4, 4]
        for level in (1, 2):
            np.testing.assert_allclose(np.linalg.norm(embedding.level(level), axis=1), 2, rtol=1e-5)

    def test_first_order_joins_neighbors_and_second_order_nodes_with_common_neighbors(self):
        ring = Graph.from_edges(range(40), [*range(1, 40), 0])
        embedding = LINE(32, epochs=1000).fit(ring).embedding_
        first, second = (cosines(embedding.level(level)) for level in (1, 2))
        assert np.diag(first, 1).mean() > np.diag(first, 10).mean() + 0.3
        # Nodes two steps apart have a common neighbor.
        assert np.diag(second, 2).mean() > np.diag(second, 1).mean() + 0.3

    def test_heavy_edges_make_nodes_similar(self):
        edges = np.transpose([(i, j) for i in range(20) for j in range(i)])
        weight = np.where(edges[0] % 2 == edges[1] % 2, 30.0, 1.0)
        vectors = LINE(8, epochs=200).fit(Graph.from_edges(*edges, weight)).embedding_.level(1)
        similar = cosines(vectors)
        same = np.arange(20)[:, None] % 2 == np.arange(20) % 2
        assert similar[same].mean() > similar[~same].mean() + 0.5

    def test_second_order_is_zero_without_outgoing_edges(self):
        graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 0, 3], directed=True)
        embedding = LINE(4).fit(graph).embedding_
        assert embedding.level(1).any(axis=1).all()
        assert embedding.level(2).any(axis=1).tolist() == [True, True, True, False]

    def test_a_directed_star_gives_finite_vectors(self):
        graph = Graph.from_edges(range(1, 1500), [0] * 1499, directed=True)
        assert np.isfinite(LINE(4, epochs=3).fit_transform(graph)).all()

    def test_an_odd_number_of_dimensions_is_rejected(self):
        with pytest.raises(ParameterError, match="dimensions must be even, half for each order of LINE; got 5"):
            LINE(5).fit(graphs.karate())


class TestWalks:
    def test_node2vec_without_bias_equals_deepwalk(self):
        one, two = (method(8, **WALKS).fit_transform(graphs.karate()) for method in (DeepWalk, Node2Vec))
        np.testing.assert_array_equal(one, two)

    def test_p_and_q_change_the_vectors(self):
        vectors = [
            Node2Vec(8, **WALKS, **bias).fit_transform(graphs.karate())
            for bias in ({}, {"p": 0.1}, {"q": 0.1}, {"q": 10})
        ]
        for i in range(4):
            for j in range(i):
                assert np.abs(vectors[i] - vectors[j]).max() > 0.01

    def test_neighbors_on_a_directed_ring_are_similar(self):
        ring = Graph.from_edges(range(40), [*range(1, 40), 0], directed=True)
        vectors = DeepWalk(8, walks=20, length=20, window=2).fit_transform(ring)
        similar = cosines(vectors)
        assert np.diag(similar, 1).mean() > np.diag(similar, 10).mean() + 0.5

    @pytest.mark.parametrize("make", [graphs.karate, graphs.weighted, graphs.disconnected])
    def test_expected_visits_match_counted_visits(self, make):
        graph = make()
        walks = np.concatenate(list(walk_chunks(graph, walks=400, length=6)))
        counted = np.bincount(walks.ravel(), minlength=graph.n_nodes) / 400
        np.testing.assert_allclose(expected_visits(graph, 6), counted, rtol=0.1)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"walks": 0}, "walks must be an integer of at least 1; got 0"),
            ({"length": 1}, "length must be an integer of at least 2; got 1"),
            ({"window": 0}, "window must be an integer of at least 1; got 0"),
            ({"negative": 0}, "negative must be an integer of at least 1; got 0"),
            ({"learning_rate": 0}, "learning_rate must be a number above 0; got 0"),
            ({"threads": 0}, "threads must be an integer of at least 1; got 0"),
            ({"p": 0}, "p must be a number above 0; got 0"),
            ({"q": -1}, "q must be a number above 0; got -1"),
        ],
    )
    def test_invalid_parameters_are_rejected_by_name(self, changes, message):
        with pytest.raises(ParameterError, match=message):
            Node2Vec(4, **changes).fit(graphs.karate())


@pytest.mark.parametrize(("p", "q"), [(1, 1), (0.25, 4)])
def test_accuracy_matches_gensim_on_the_same_walks(planted, p, q):
    graph, labels = planted
    model = Node2Vec(16, p=p, q=q, **WALKS)
    ours = accuracy(model.fit_transform(graph), labels)
    walks = np.concatenate(list(walk_chunks(graph, walks=10, length=20, p=p, q=q)))
    gensim = Word2Vec(
        [walk[walk >= 0].tolist() for walk in walks], vector_size=16, window=3, sg=1, negative=5, epochs=1,
        min_count=0, sample=0, workers=1, seed=1,
    )  # fmt: skip
    theirs = accuracy(gensim.wv[list(range(graph.n_nodes))], labels)
    assert 0.7 < theirs < 0.99  # hard enough to tell methods apart
    assert ours == pytest.approx(theirs, abs=0.04)


def test_training_chunks_cover_all_samples_with_decaying_learning_rates():
    chunks = list(training_chunks(1003, 0.1, seed=4))
    assert sum(chunk.n_samples for chunk in chunks) == 1003
    for chunk, following in pairwise(chunks):
        assert following.first == chunk.first + chunk.n_samples
        assert following.learning_rates[0] == chunk.learning_rates[1] < chunk.learning_rates[0]
    assert chunks[0].learning_rates[0] == 0.1
    assert chunks[-1].learning_rates[1] == pytest.approx(0.0004)
    assert len({chunk.seed for chunk in chunks}) == len(chunks)


def test_parts_do_not_bias_the_vectors(planted, monkeypatch):
    graph, labels = planted
    one_part = LINE(16).fit_transform(graph)
    monkeypatch.setattr(skipgram, "NODES_PER_PART", 16)
    monkeypatch.setattr(skipgram, "MIN_GROUPS", 1 / 64)
    assert skipgram.number_of_parts(graph.n_nodes, LINE().epochs * graph.adjacency.nnz) == 16
    # With the same parts throughout the training, the accuracy is lower by more than 0.02.
    assert accuracy(LINE(16).fit_transform(graph), labels) > accuracy(one_part, labels) - 0.005


@pytest.mark.parametrize(
    "model", [LINE(8, epochs=20), DeepWalk(8, **WALKS), Node2Vec(8, p=0.5, q=2, **WALKS)], ids=repr
)
def test_blocks_trained_by_several_threads_give_the_same_bits(model, monkeypatch):
    monkeypatch.setattr(skipgram, "MIN_GROUPS", 1)
    monkeypatch.setattr(skipgram, "NODES_PER_PART", 64)
    graph, _ = graphs.planted_partition([300, 300], 0.05, 0.01, seed=0)
    trained = mock.Mock(wraps=skipgram.Noise.of)
    monkeypatch.setattr(skipgram.Noise, "of", trained)
    one, several = (clone(model).set_params(threads=threads).fit_transform(graph) for threads in (1, 8))
    assert all(call.args[1] >= 4 for call in trained.call_args_list)  # blocks that are trained at the same time
    np.testing.assert_array_equal(one, several)
