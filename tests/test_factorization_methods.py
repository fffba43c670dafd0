"""NetMF, GraRep and the methods with a closed-form solution, each against that solution."""

import numpy as np
import pytest
from scipy import sparse
from tests import graphs, reference

import boostne.memory
from boostne import (
    HOPE,
    BoostNE,
    DeepWalkMatrix,
    Graph,
    GraphFactorization,
    GraRep,
    NetMF,
    SocialDimension,
    SpectralClustering,
    planted_partition,
)
from boostne.eigensolvers import TOLERANCE
from boostne.errors import MemoryLimitError, ParameterError
from boostne.matrices.hope import similarity_matrix


class TestNetMF:
    def test_nmf_is_boostne_with_one_level(self):
        graph = graphs.karate()
        model = NetMF(4, window=3, random_state=2).fit(graph)
        other = BoostNE(4, levels=1, window=3, propagation=0, vector_length=0, random_state=2).fit(graph)
        np.testing.assert_array_equal(model.embedding_.vectors, other.embedding_.vectors)
        np.testing.assert_array_equal(model.context_, other.context_)

    @pytest.mark.parametrize("form", [{}, {"approximation": "spectral", "eigenpairs": 12}])
    def test_svd_is_the_best_approximation(self, form):
        graph = graphs.karate()
        matrix = DeepWalkMatrix(window=3, **form)
        model = NetMF(5, factorization="svd", connectivity=matrix, dtype="float64").fit(graph)
        X = model.connectivity_matrix(graph).toarray()
        error = np.linalg.norm(X - model.embedding_.vectors @ model.context_.T)
        assert error == pytest.approx(np.sqrt(np.sum(np.linalg.svd(X)[1][5:] ** 2)), rel=1e-6)

    def test_estimate_supports_nmf_only(self):
        assert NetMF(4).estimate(graphs.karate()) is not None
        with pytest.raises(ParameterError, match="factorization='nmf' only"):
            NetMF(4, factorization="svd").estimate(graphs.karate())

    def test_an_invalid_parameter_is_named(self):
        with pytest.raises(ParameterError, match="factorization must be one of"):
            NetMF(4, factorization="qr").fit(graphs.karate())
        with pytest.raises(ParameterError, match="window"):
            NetMF(4, factorization="svd", window=0).fit(graphs.karate())


class TestClosedForms:
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

    def test_hope_of_a_directed_graph(self):
        graph = Graph.from_edges([0, 1, 2, 3, 3, 4], [1, 2, 3, 0, 4, 5], directed=True)
        A = graphs.dense(graph)
        M = reference.katz(A, 0.3)
        model = HOPE(6, beta=0.3, dtype="float64").fit(graph)
        s = np.linalg.svd(M)[1]
        error = np.linalg.norm(M - model.source_ @ model.target_.T / 6)
        assert error == pytest.approx(np.linalg.norm(s[3:]), abs=1e-9)
        np.testing.assert_allclose(model.singular_values_, s[:3])

    @pytest.mark.parametrize("similarity", ["katz", "common-neighbors"])
    @pytest.mark.parametrize("case", ["drawable", "large", "complete", "star"])
    def test_hope_of_an_undirected_graph_is_computed_from_eigenvectors(self, similarity, case):
        n = 600  # above the size that is solved as a dense matrix
        cases = {
            "drawable": graphs.karate,
            "large": lambda: planted_partition(n, communities=4, seed=3).graph,
            "complete": lambda: Graph(sparse.csr_array(np.ones((n, n)) - np.eye(n))),
            "star": lambda: Graph.from_edges([0] * (n - 1), list(range(1, n))),
        }
        graph = cases[case]()
        model = HOPE(12, similarity=similarity, dtype="float64").fit(graph)
        M = similarity_matrix(graph, similarity)
        M = M.toarray() if sparse.issparse(M) else M @ np.eye(graph.n_nodes)
        s = np.linalg.svd(M)[1]
        np.testing.assert_allclose(model.singular_values_, s[:6], atol=1e-6 * s[0])
        error = np.linalg.norm(M - model.source_ @ model.target_.T / np.count_nonzero(graph.degrees))
        assert error == pytest.approx(np.linalg.norm(s[6:]), rel=1e-6, abs=10 * TOLERANCE * s[0])

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
    def test_an_invalid_parameter_of_hope_is_named(self, changes, message):
        with pytest.raises(ParameterError, match=message):
            HOPE(**{"dimensions": 6, **changes}).fit(graphs.karate())


class TestGraRep:
    def test_levels_are_singular_vectors_of_the_steps(self):
        graph = graphs.karate()
        A = graphs.dense(graph)
        model = GraRep(6, steps=3, dtype="float64").fit(graph)
        for p in range(1, 4):
            X = reference.grarep(A, p, 1 / 34)
            part = model.embedding_.level(p)
            values, vectors = np.linalg.eigh(X @ X.T)
            best = vectors[:, -2:] * values[-2:] ** 0.25  # times the roots of the singular values
            best /= np.linalg.norm(best, axis=1, keepdims=True)
            np.testing.assert_allclose(part @ part.T, best @ best.T, atol=1e-7)
            np.testing.assert_allclose(model.singular_values_[p - 1] ** 2, values[-1:-3:-1], rtol=1e-9)
            assert model.nnz_[p - 1] == np.count_nonzero(X > 1e-9)

    def test_does_not_depend_on_threads(self):
        graph = graphs.random_graph(900, 5).without_isolated()
        one, several = (GraRep(16, steps=2, threads=threads).fit_transform(graph) for threads in (1, 3))
        np.testing.assert_array_equal(one, several)

    def test_too_little_memory_is_an_error(self, monkeypatch):
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
    def test_an_invalid_parameter_is_named(self, changes, message):
        with pytest.raises(ParameterError, match=message):
            GraRep(**{"dimensions": 8, **changes}).fit(graphs.karate())
