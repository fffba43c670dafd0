"""node2vec's connectivity matrix against a dense tensor, against DeepWalk's matrix, and against sampled walks."""

import numpy as np
import pytest
from tests import graphs, reference

import boostne.matrices.node2vec as module
import boostne.memory
from boostne import BoostNE, DeepWalkMatrix, Graph, Node2VecMatrix, read_embedding
from boostne.budget import Workload
from boostne.cli.program import run
from boostne.errors import MemoryLimitError, ParameterError
from boostne.matrices import MatrixForm
from boostne.matrices.node2vec import EdgeChain
from boostne.memory import MemoryBudget
from boostne.sampling.walks import walk_chunks

SMALL = [name for name in graphs.DRAWABLE if name != "karate"]
BIASES = [(0.25, 4), (4, 0.25), (100, 1), (1, 100), (0.5, 1), (3, 3)]


def random_weights(seed=0):
    """Return two components, the second with a self-loop, whose weights differ by a factor of a hundred."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((16, 16)) < 0.4) * 10 ** rng.uniform(-1, 1, (16, 16))
    A[:9, 9:] = 0
    return Graph(np.maximum(A, A.T))


def node2vec(graph, threads=2, **parameters):
    return Node2VecMatrix(**parameters).source(graph, dtype="float64", seed=0, threads=threads).build()[0]


class TestMatrix:
    @pytest.mark.parametrize("make", [*graphs.DRAWABLE.values(), random_weights])
    @pytest.mark.parametrize(("window", "negative"), [(1, 1), (3, 2), (10, 1)])
    def test_is_deepwalk_for_p_and_q_of_1(self, make, window, negative):
        graph = make()
        matrix = DeepWalkMatrix(window=window, negative=negative)
        expected, _ = matrix.source(graph, dtype="float64", seed=0, threads=2).build()
        X = node2vec(graph, window=window, negative=negative)
        np.testing.assert_allclose(X.toarray(), expected.toarray(), atol=1e-10)

    @pytest.mark.parametrize("name", [*SMALL, "random_weights"])
    @pytest.mark.parametrize(("p", "q"), BIASES)
    def test_matches_the_definition(self, name, p, q):
        graph = {**graphs.DRAWABLE, "random_weights": random_weights}[name]()
        X = node2vec(graph, p=p, q=q, window=4, negative=0.7)
        np.testing.assert_allclose(X.toarray(), reference.node2vec(graphs.dense(graph), p, q, 4, 0.7), atol=1e-8)
        assert (X.data > 0).all()

    def test_is_symmetric_and_differs_from_deepwalk(self):
        graph = graphs.karate()
        X = node2vec(graph, p=0.25, q=4).toarray()
        np.testing.assert_allclose(X, reference.node2vec(graphs.dense(graph), 0.25, 4, 10, 1), atol=1e-8)
        np.testing.assert_allclose(X, X.T, atol=1e-9)
        assert np.abs(X - node2vec(graph).toarray()).max() > 0.1

    def test_does_not_depend_on_blocks_and_threads(self, monkeypatch):
        graph = graphs.random_graph(200, 8)
        options = {"p": 0.5, "q": 2, "window": 3}
        whole = node2vec(graph, **options)
        monkeypatch.setattr(module, "BLOCK_BYTES", 1)
        monkeypatch.setattr(module, "MERGED_EDGES", 50)
        X = node2vec(graph, **options, threads=3)
        np.testing.assert_allclose(X.toarray(), whole.toarray(), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(node2vec(graph, **options, threads=1).toarray(), X.toarray())

    def test_matches_sampled_walks(self):
        # Pairs at a distance of up to T on long walks, relative to independent draws of both nodes.
        graph, window = graphs.weighted(), 3
        n, options = graph.n_nodes, {"p": 0.3, "q": 3}
        pairs = np.zeros(n * n)
        for walks in walk_chunks(graph, walks=100, length=20_000, seed=1, **options):
            settled = walks[:, 100:]
            for r in range(1, window + 1):
                pairs += np.bincount((settled[:, :-r] * n + settled[:, r:]).ravel(), minlength=n * n)
        pairs = (pairs.reshape(n, n) + pairs.reshape(n, n).T) / (2 * pairs.sum())
        visits = pairs.sum(axis=1)
        observed = pairs / np.outer(visits, visits)
        # b is so small that the maximum with 1 clips no entry of an observed pair.
        X, first_order = (
            np.exp(node2vec(graph, window=window, negative=1e-3, **o).toarray()) * 1e-3 for o in (options, {})
        )
        np.testing.assert_allclose(observed, X, rtol=0.05)
        assert np.abs(observed / first_order - 1).max() > 0.3


class TestChain:
    @pytest.mark.parametrize(("p", "q"), [*BIASES, (100, 0.01), (0.01, 100)])
    def test_stationary_distribution(self, p, q):
        graph = random_weights()
        chain = EdgeChain(graph, p=p, q=q)
        y = chain.stationary
        assert (y > 0).all()
        np.testing.assert_allclose(chain.backward(y), y, atol=1e-12)
        np.testing.assert_allclose(chain.forward(np.ones(len(y))), 1, atol=1e-10)
        component = graph.adjacency.indices < 9
        share = graph.degrees[:9].sum() / graph.volume
        assert y[component].sum() == pytest.approx(share, abs=1e-10)

    def test_backward_is_the_transpose_of_forward(self):
        chain = EdgeChain(graphs.karate(), p=0.5, q=3)
        x, y = np.random.default_rng(0).random((2, len(chain.stationary)))
        assert x @ chain.forward(y) == pytest.approx(chain.backward(x) @ y)

    def test_a_slowly_mixing_walk(self):
        y = EdgeChain(graphs.path(1000), p=2, q=0.5).stationary
        assert y.sum() == pytest.approx(1)

    def test_missing_convergence_is_an_error(self, monkeypatch):
        monkeypatch.setattr(module, "MAX_RESTARTS", 0)
        with pytest.raises(ParameterError, match=r"not found in 0 iterations; use p and q closer to 1"):
            EdgeChain(graphs.karate(), p=2, q=2)


class TestBoosted:
    def test_p_and_q_take_effect(self):
        graph = graphs.karate()
        matrix = Node2VecMatrix(p=0.25, q=4, window=3)
        model = BoostNE(6, levels=3, connectivity=matrix, dtype="float64")
        expected = node2vec(graph, p=0.25, q=4, window=3)
        np.testing.assert_array_equal(model.connectivity_matrix(graph).toarray(), expected.toarray())
        other = BoostNE(6, levels=3, connectivity=lambda graph: expected, dtype="float64")
        np.testing.assert_array_equal(model.fit_transform(graph), other.fit_transform(graph))

    @pytest.mark.parametrize("name", ["p", "q"])
    def test_out_of_range_parameters_are_named(self, name):
        with pytest.raises(ParameterError, match=f"{name} must be a number above 0; got 0"):
            BoostNE(6, levels=3, connectivity=Node2VecMatrix(**{name: 0})).fit(graphs.karate())

    def test_from_the_command_line(self, tmp_path):
        path = str(tmp_path / "x.npz")
        options = ["--connectivity", "node2vec", "--p", "0.5", "--q", "2", "--dimensions", "6", "--levels", "3"]
        assert run(["embed", "karate", "-o", path, *options, "--quiet"]) == 0
        model = BoostNE(6, levels=3, connectivity=Node2VecMatrix(p=0.5, q=2))
        np.testing.assert_array_equal(read_embedding(path).vectors, model.fit_transform(graphs.karate()))

    def test_too_large_a_graph_is_an_error(self, monkeypatch):
        graph = graphs.karate()
        monkeypatch.setattr(module, "MAX_OPERATIONS", 1e4)
        with pytest.raises(ParameterError, match=r"156 directed edges.*connectivity='deepwalk'"):
            node2vec(graph, q=2)
        monkeypatch.setattr(boostne.memory, "available_memory", lambda: 1000)
        with pytest.raises(MemoryLimitError, match=r"node2vec's exact matrix.*connectivity='deepwalk'"):
            node2vec(graph, q=2)

    def test_a_memory_limit_is_checked_on_sampled_rows(self):
        # Two components: X has at most half of n² entries, which fit although n² would not.
        graph = Graph(np.kron(np.eye(2), np.ones((40, 40)) - np.eye(40)))
        matrix = Node2VecMatrix(window=1)
        work = Workload(n_nodes=80, levels=1, components=1, max_iter=1, dtype=np.dtype("float32"), threads=1)
        half, full = work.peak_bytes(80 * 40, 0), work.peak_bytes(80 * 80, 0)
        assert matrix.plan(graph, work, MemoryBudget((half + full) // 2, 0, None)) == MatrixForm()
        with pytest.raises(MemoryLimitError, match=r"about [23],\d+ entries .*Lower dimensions.*'deepwalk'"):
            matrix.plan(graph, work, MemoryBudget(work.peak_bytes(1000), 0, None))
