"""Boosting any connectivity matrix: those with a name, and those that a user brings along."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests import graphs, reference

import boostne.memory
import boostne.models.grarep
from boostne import (
    HOPE,
    BoostNE,
    Graph,
    GraphFactorization,
    GraRep,
    NetMF,
    SocialDimension,
    SpectralClustering,
    planted_partition,
    read_embedding,
)
from boostne.cli.program import run
from boostne.eigensolvers import TOLERANCE
from boostne.errors import MemoryLimitError, ParameterError
from boostne.matrices import hope
from boostne.models.targets import TARGETS, Name


def small(connectivity, **changes):
    settings = {"dimensions": 6, "levels": 3, "window": 3, "dtype": "float64"}
    return BoostNE(connectivity=connectivity, **{**settings, **changes})


NAIVE = {
    "node2vec": lambda A: reference.node2vec(A, 1, 1, 3, 2),
    "line": lambda A: reference.line(A, 2),
    "grarep": lambda A: reference.grarep(A, 3, 2 / len(A)),
    "adjacency": lambda A: A,
    "normalized": reference.normalized_adjacency,
    "common-neighbors": reference.common_neighbors,
    "adamic-adar": reference.adamic_adar,
    "katz": lambda A: reference.katz(A, 1 / (2 * np.linalg.norm(A, 2))),
    "pagerank": lambda A: reference.rooted_pagerank(A, 0.5),
}


class TestNames:
    def test_all_are_tested(self):
        assert set(NAIVE) == set(TARGETS) == set(Name.__args__) - {"deepwalk"}

    @pytest.mark.parametrize("name", NAIVE)
    @pytest.mark.parametrize("make", [graphs.karate, graphs.weighted, graphs.disconnected])
    def test_is_the_paper_s(self, name, make):
        X = small(name, negative=2).connectivity_matrix(make())
        np.testing.assert_allclose(X.toarray(), NAIVE[name](graphs.dense(make())), atol=1e-9)

    @pytest.mark.parametrize("name", NAIVE)
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_is_what_is_boosted(self, name, dtype):
        graph = graphs.karate()
        fingerprint = graph.fingerprint()
        model = small(name, dtype=dtype).fit(graph)
        X = model.connectivity_matrix(graph).toarray()
        assert X.dtype == model.embedding_.vectors.dtype == dtype
        assert model.residual_norms_[0] == pytest.approx(np.linalg.norm(X), rel=1e-5)
        R = X
        for i, U in enumerate(model.levels_):
            R = reference.residual(R, U, model.context_[:, 2 * i : 2 * i + 2])
        assert model.residual_norms_[-1] == pytest.approx(np.linalg.norm(R), rel=1e-4)
        assert graph.fingerprint() == fingerprint

    @pytest.mark.parametrize("name", NAIVE)
    def test_estimate(self, name):
        graph = graphs.random_graph(300, 8)
        model = small(name)
        assert model.estimate(graph).nnz == model.connectivity_matrix(graph).nnz

    def test_deepwalk_is_the_default(self):
        one, two = BoostNE(6, levels=3), BoostNE(6, levels=3, connectivity="deepwalk")
        np.testing.assert_array_equal(one.fit_transform(graphs.karate()), two.fit_transform(graphs.karate()))

    def test_an_unknown_name(self):
        message = (
            "connectivity must be one of 'deepwalk', 'node2vec', .* a matrix or a function.*got 'random'"
        )
        with pytest.raises(ParameterError, match=message):
            small("random").fit(graphs.karate())

    def test_a_matrix_with_negative_entries(self):
        with pytest.raises(ParameterError, match=r"'modularity' has negative entries.*SocialDimension"):
            small("modularity").fit(graphs.karate())

    def test_the_spectral_form_is_deepwalk_s(self):
        with pytest.raises(ParameterError, match=r"form of connectivity='deepwalk'; got connectivity='line'"):
            small("line", approximation="spectral").fit(graphs.karate())
        with pytest.raises(ParameterError, match=r"form of connectivity='deepwalk'"):
            small(np.eye(34), approximation="spectral").fit(graphs.karate())

    def test_too_large_to_write_out(self, monkeypatch):
        monkeypatch.setattr(boostne.memory, "available_memory", lambda: 10_000)
        with pytest.raises(MemoryLimitError, match=r"1,156 entries.*adamic-adar.*HOPE"):
            small("katz").fit(graphs.karate())

    def test_from_the_command_line(self, tmp_path):
        path = str(tmp_path / "x.npz")
        arguments = ["--connectivity", "adjacency", "--dimensions", "6", "--levels", "3", "--quiet"]
        assert run(["embed", "karate", "-o", path, *arguments]) == 0
        expected = BoostNE(6, levels=3, connectivity="adjacency").fit_transform(graphs.karate())
        np.testing.assert_array_equal(read_embedding(path).vectors, expected)


class TestObjects:
    @pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_matrix, np.asarray])
    def test_a_matrix(self, kind):
        graph = graphs.karate()
        X = kind(graphs.dense(graph) * 3)
        before = X.copy()
        model = small(X).fit(graph)
        np.testing.assert_array_equal(
            model.embedding_.vectors, small(lambda g: 3 * g.adjacency).fit_transform(graph)
        )
        assert abs(X - before).max() == 0
        assert clone(model).fit_transform(graph).any()

    def test_what_a_function_keeps_stays_as_it_is(self):
        kept = sparse.csr_array(graphs.dense(graphs.karate()))
        kept.data[0] = 0  # stored all the same
        before = kept.copy()
        one, two = (small(lambda graph: kept).fit_transform(graphs.karate()) for _ in range(2))
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(kept.indices, before.indices)
        np.testing.assert_array_equal(kept.data, before.data)

    def test_duplicate_entries_are_added(self):
        X = sparse.coo_array(([1.0, -1.0, 2.0], ([0, 0, 1], [1, 1, 2])), shape=(34, 34))
        found = small(X).connectivity_matrix(graphs.karate())
        assert found.nnz == 1
        assert X.nnz == 3

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            (np.eye(3), "must be 34 × 34, as the graph has 34 nodes; got (3, 3)"),
            (-np.eye(34), "not negative, since U V"),
            (np.diag(np.full(34, np.nan)), "entry (0, 0) is nan"),
            (np.diag(np.full(34, np.inf)), "entry (0, 0) is inf"),
            (lambda graph: "text", "must be a matrix of numbers or give one; got str"),
            (lambda graph: None, "must be a matrix of numbers or give one; got NoneType"),
            (5, "must be a matrix of numbers or give one; got int"),
        ],
    )
    def test_what_cannot_be_boosted(self, matrix, message):
        with pytest.raises(ParameterError, match=re.escape(message)):
            small(matrix).fit(graphs.karate())

    def test_the_bad_entry_is_named_by_its_nodes(self):
        graph = Graph.from_edges(["a", "b", "c"], ["b", "c", "d"])
        X = sparse.csr_array(([1.0, -0.5], ([0, 2], [1, 3])), shape=(4, 4))
        with pytest.raises(ParameterError, match=r"entry \('c', 'd'\) is -0.5"):
            small(X, dimensions=3).fit(graph)


class TestNetMF:
    def test_nmf_is_boostne_with_one_level(self):
        graph = graphs.karate()
        model = NetMF(4, window=3, random_state=2).fit(graph)
        other = BoostNE(4, levels=1, window=3, random_state=2).fit(graph)
        np.testing.assert_array_equal(model.embedding_.vectors, other.embedding_.vectors)
        np.testing.assert_array_equal(model.context_, other.context_)

    @pytest.mark.parametrize("form", [{}, {"approximation": "spectral", "eigenpairs": 12}])
    def test_svd_comes_nearest(self, form):
        graph = graphs.karate()
        model = NetMF(5, factorization="svd", window=3, dtype="float64", **form).fit(graph)
        X = model.connectivity_matrix(graph).toarray()
        left = np.linalg.norm(X - model.embedding_.vectors @ model.context_.T)
        assert left == pytest.approx(np.sqrt(np.sum(np.linalg.svd(X)[1][5:] ** 2)), rel=1e-6)

    def test_estimate(self):
        assert NetMF(4).estimate(graphs.karate()) is not None
        with pytest.raises(ParameterError, match="factorization='nmf' alone"):
            NetMF(4, factorization="svd").estimate(graphs.karate())

    def test_bad_parameters(self):
        with pytest.raises(ParameterError, match="factorization must be one of"):
            NetMF(4, factorization="qr").fit(graphs.karate())
        with pytest.raises(ParameterError, match="window"):
            NetMF(4, factorization="svd", window=0).fit(graphs.karate())


class TestOptima:
    """The methods with a closed form, against it."""

    def test_graph_factorization(self):
        A = graphs.dense(graphs.karate())
        U = GraphFactorization(5, dtype="float64").fit_transform(graphs.karate()) / np.sqrt(34)
        values = np.sort(np.linalg.eigvalsh(A))
        assert reference.objective(A, U, U) == pytest.approx(np.sum(values[:-5] ** 2))

    @pytest.mark.parametrize(
        ("method", "matrix"),
        [(SpectralClustering, reference.normalized_adjacency), (SocialDimension, reference.modularity)],
    )
    def test_eigenvectors(self, method, matrix):
        model = method(4, dtype="float64")
        Q = model.fit_transform(graphs.karate()) / np.sqrt(34)
        M = matrix(graphs.dense(graphs.karate()))
        np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(M)[::-1][:4], atol=1e-10)
        np.testing.assert_allclose(M @ Q, Q * model.eigenvalues_, atol=1e-8)
        np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-8)

    def test_hope(self):
        graph = Graph.from_edges([0, 1, 2, 3, 3, 4], [1, 2, 3, 0, 4, 5], directed=True)
        A = graphs.dense(graph)
        M = reference.katz(A, 0.3)
        model = HOPE(6, beta=0.3, dtype="float64").fit(graph)
        s = np.linalg.svd(M)[1]
        left = np.linalg.norm(M - model.source_ @ model.target_.T / 6)
        assert left == pytest.approx(np.linalg.norm(s[3:]), abs=1e-9)
        np.testing.assert_allclose(model.singular_values_, s[:3])

    @pytest.mark.parametrize("similarity", ["katz", "common-neighbors"])
    @pytest.mark.parametrize("case", ["drawable", "large", "complete", "star"])
    def test_hope_without_direction_comes_from_eigenvectors(self, similarity, case):
        n = 600  # beyond what is solved as a dense matrix
        pairs = {
            "drawable": graphs.karate,
            "large": lambda: planted_partition(n, communities=4, seed=3).graph,
            "complete": lambda: Graph(sparse.csr_array(np.ones((n, n)) - np.eye(n))),
            "star": lambda: Graph.from_edges([0] * (n - 1), list(range(1, n))),
        }
        graph = pairs[case]()
        model = HOPE(12, similarity=similarity, dtype="float64").fit(graph)
        M = hope(graph, similarity)
        M = M.toarray() if sparse.issparse(M) else M @ np.eye(graph.n_nodes)
        s = np.linalg.svd(M)[1]
        np.testing.assert_allclose(model.singular_values_, s[:6], atol=1e-6 * s[0])
        left = np.linalg.norm(M - model.source_ @ model.target_.T / np.count_nonzero(graph.degrees))
        assert left == pytest.approx(np.linalg.norm(s[6:]), rel=1e-6, abs=10 * TOLERANCE * s[0])

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"dimensions": 5}, "dimensions must be even.*got 5"),
            ({"similarity": "jaccard"}, "similarity must be one of"),
            ({"beta": 0}, "beta must be a number above 0; got 0"),
            ({"beta": 1.0}, r"beta must be below 1 / ρ\(A\)"),
            ({"alpha": 0}, "alpha must be a number above 0; got 0"),
            ({"alpha": 1, "similarity": "pagerank"}, "alpha must be above 0 and below 1; got 1"),
        ],
    )
    def test_hope_s_parameters(self, changes, message):
        with pytest.raises(ParameterError, match=message):
            HOPE(**{"dimensions": 6, **changes}).fit(graphs.karate())


class TestGraRep:
    def test_steps_are_singular_vectors(self):
        graph = graphs.karate()
        A = graphs.dense(graph)
        model = GraRep(6, steps=3, dtype="float64").fit(graph)
        for p in range(1, 4):
            X = reference.grarep(A, p, 1 / 34)
            part = model.embedding_.level(p)
            values, vectors = np.linalg.eigh(X @ X.T)
            best = vectors[:, -2:] * values[-2:] ** 0.25  # the root of the singular values
            best /= np.linalg.norm(best, axis=1, keepdims=True)
            np.testing.assert_allclose(part @ part.T, best @ best.T, atol=1e-7)
            np.testing.assert_allclose(model.singular_values_[p - 1] ** 2, values[-1:-3:-1], rtol=1e-9)
            assert model.nnz_[p - 1] == np.count_nonzero(X > 1e-9)

    def test_threads_do_not_show(self):
        graph = graphs.random_graph(900, 5).without_isolated()
        one, three = (GraRep(16, steps=2, threads=threads).fit_transform(graph) for threads in (1, 3))
        np.testing.assert_array_equal(one, three)

    def test_too_little_memory(self, monkeypatch):
        monkeypatch.setattr(boostne.memory, "available_memory", lambda: 1000)
        with pytest.raises(MemoryLimitError, match=r"entries of GraRep's X.*Lower steps.*SpectralClustering"):
            GraRep(8).fit(graphs.karate())

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"steps": 3}, "dimensions must be a multiple of steps.*dimensions=8 and steps=3"),
            ({"steps": 0}, "steps must be an integer of at least 1; got 0"),
            ({"shift": 0}, "shift must be a number above 0; got 0"),
            ({"threads": 0}, "threads must be an integer of at least 1; got 0"),
        ],
    )
    def test_bad_parameters(self, changes, message):
        with pytest.raises(ParameterError, match=message):
            GraRep(**{"dimensions": 8, **changes}).fit(graphs.karate())
