"""Each matrix of the paper's section III.A against its definition, and the solvers that take them apart."""

from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from tests import graphs, reference

from boostne import Graph
from boostne.eigensolvers import TOLERANCE, largest_eigenpairs, signs, truncated_svd
from boostne.errors import ParameterError
from boostne.matrices import (
    WalkColumns,
    adamic_adar,
    adjacency,
    common_neighbors,
    component_eigenpairs,
    exact_deepwalk,
    grarep,
    hope,
    katz,
    line,
    modularity,
    normalized_adjacency,
    rooted_pagerank,
)

drawable = pytest.mark.parametrize("name", graphs.DRAWABLE)


def one_way():
    """A cycle of three nodes, and a path that leads from it to a node with no way out."""
    return Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4], [1, 2, 3, 4, 5], directed=True)


def acyclic():
    return Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], directed=True)


DIRECTED = {"one_way": one_way, "acyclic": acyclic}
EITHER = {**graphs.DRAWABLE, **DIRECTED}
either = pytest.mark.parametrize("name", EITHER)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix @ np.eye(matrix.shape[0])


def check(matrix, expected, atol=1e-10):
    """Compare entries, and for an operator also its other products."""
    np.testing.assert_allclose(dense(matrix), expected, atol=atol)
    if isinstance(matrix, LinearOperator):
        x = np.random.default_rng(0).random(len(expected))
        np.testing.assert_allclose(matrix.matvec(x), expected @ x, atol=10 * atol)
        np.testing.assert_allclose(matrix.rmatvec(x), expected.T @ x, atol=10 * atol)
        np.testing.assert_allclose(matrix.rmatmat(np.eye(len(x))), expected.T, atol=atol)
    else:
        assert (matrix.data != 0).all()


class TestEdges:
    @either
    def test_adjacency(self, name):
        graph = EITHER[name]()
        check(adjacency(graph), graphs.dense(graph))

    @drawable
    def test_normalized(self, name):
        graph = graphs.DRAWABLE[name]()
        check(normalized_adjacency(graph), reference.normalized_adjacency(graphs.dense(graph)))

    @drawable
    def test_modularity(self, name):
        graph = graphs.DRAWABLE[name]()
        B = modularity(graph)
        assert isinstance(B, LinearOperator)
        check(B, reference.modularity(graphs.dense(graph)))
        np.testing.assert_allclose(B @ np.ones(graph.n_nodes), 0, atol=1e-12)

    @drawable
    @pytest.mark.parametrize("negative", [0.5, 1, 3])
    def test_line(self, name, negative):
        graph = graphs.DRAWABLE[name]()
        check(line(graph, negative=negative), reference.line(graphs.dense(graph), negative))

    @drawable
    def test_line_is_deepwalk_with_a_window_of_one(self, name):
        graph = graphs.DRAWABLE[name]()
        X = exact_deepwalk(WalkColumns(graph, window=1, negative=2, dtype=np.float64))
        np.testing.assert_allclose(line(graph, negative=2).toarray(), X.toarray(), atol=1e-12)


class TestGraRep:
    @drawable
    @pytest.mark.parametrize("step", [1, 2, 3, 8])
    @pytest.mark.parametrize("shift", [None, 0.02, 0.5])
    def test_is_the_paper_s(self, name, step, shift):
        graph = graphs.DRAWABLE[name]()
        b = 1 / graph.n_nodes if shift is None else shift
        # A tie with the shift is 0 or a rounding error.
        X = grarep(graph, step, shift=shift)
        np.testing.assert_allclose(X.toarray(), reference.grarep(graphs.dense(graph), step, b), atol=1e-9)
        assert (X.data > 0).all()

    def test_chunks_and_threads_do_not_show(self, monkeypatch):
        graph = graphs.random_graph(300, 6)
        whole = grarep(graph, 3)
        module = import_module("boostne.matrices.grarep")
        monkeypatch.setattr(module, "chunk_columns", lambda n, dtype, threads: 7)
        seen = []
        for threads in (1, 3):
            X = grarep(graph, 3, threads=threads, progress=lambda done, n: seen.append(done))
            np.testing.assert_array_equal(X.toarray(), whole.toarray())
        assert seen[-1] == graph.n_nodes
        assert len(seen) == 2 * 43

    def test_single_precision(self):
        X, Y = (grarep(graphs.karate(), 4, dtype=dtype) for dtype in (np.float32, np.float64))
        assert X.dtype == np.float32
        np.testing.assert_allclose(X.toarray(), Y.toarray(), atol=1e-5)


class TestHope:
    @either
    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_katz(self, name, share):
        graph = EITHER[name]()
        A = graphs.dense(graph)
        radius = np.abs(np.linalg.eigvals(A)).max() if name != "acyclic" else 1
        check(hope(graph, "katz", beta=share / radius), reference.katz(A, share / radius))

    @either
    def test_katz_chooses_a_beta(self, name):
        graph = EITHER[name]()
        A = graphs.dense(graph)
        check(katz(graph), reference.katz(A, 1 / (2 * np.linalg.norm(A, 2))))

    def test_katz_of_a_large_graph(self):
        graph = graphs.random_graph(700, 6)
        A = graphs.dense(graph)
        x = np.random.default_rng(0).random(700)
        expected = reference.katz(A, 1 / (2 * np.linalg.norm(A, 2))) @ x
        np.testing.assert_allclose(katz(graph) @ x, expected, rtol=1e-5)

    @pytest.mark.parametrize("factor", [1.0, 1.01, 50])
    def test_too_large_a_beta(self, factor):
        radius = np.abs(np.linalg.eigvalsh(graphs.dense(graphs.karate()))).max()
        with pytest.raises(ParameterError, match=r"beta must be below 1 / ρ\(A\).*beta=None"):
            hope(graphs.karate(), "katz", beta=factor / radius)

    @either
    @pytest.mark.parametrize("alpha", [0.2, 0.5, 0.9])
    def test_rooted_pagerank(self, name, alpha):
        graph = EITHER[name]()
        M = hope(graph, "pagerank", alpha=alpha)
        check(M, reference.rooted_pagerank(graphs.dense(graph), alpha))
        if not len(graph.isolated) and name not in DIRECTED:
            np.testing.assert_allclose(M @ np.ones(graph.n_nodes), 1, atol=1e-10)

    @pytest.mark.parametrize("alpha", [0, 1, -1, np.nan, 0.99999])
    def test_alpha_out_of_range(self, alpha):
        with pytest.raises(ParameterError, match="alpha must"):
            rooted_pagerank(graphs.karate(), alpha)

    @either
    def test_common_neighbors(self, name):
        graph = EITHER[name]()
        check(common_neighbors(graph), reference.common_neighbors(graphs.dense(graph)))

    @either
    def test_adamic_adar(self, name):
        graph = EITHER[name]()
        check(hope(graph, "adamic-adar"), reference.adamic_adar(graphs.dense(graph)))
        check(adamic_adar(graph), reference.adamic_adar(graphs.dense(graph)))

    def test_an_unknown_similarity(self):
        with pytest.raises(ParameterError, match=r"similarity must be one of 'katz'.*got 'jaccard'"):
            hope(graphs.karate(), "jaccard")


def symmetric(n, values, seed=0):
    """A matrix with these eigenvalues."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    return (Q * values) @ Q.T


class TestDecompositions:
    @pytest.mark.parametrize("n", [40, 700])  # one for the dense solver, one for the block solver
    def test_eigenpairs(self, n):
        values = np.linspace(-3, 2, n) ** 3
        M = symmetric(n, values)
        found, Q = largest_eigenpairs(sparse.csr_array(M), 12, seed=0)
        np.testing.assert_allclose(found, np.sort(values)[::-1][:12], rtol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(M @ Q - Q * found, axis=0), 0, atol=TOLERANCE * 27)
        np.testing.assert_allclose(Q.T @ Q, np.eye(12), atol=1e-6)
        assert (signs(Q) == 1).all()

    def test_eigenvalues_that_repeat(self):
        values = np.concatenate([[5] * 9, np.linspace(-4, 3, 691)])
        found, Q = largest_eigenpairs(aslinearoperator(symmetric(700, values)), 12, seed=0)
        np.testing.assert_allclose(found, np.sort(values)[::-1][:12], rtol=1e-5)
        np.testing.assert_allclose(Q.T @ Q, np.eye(12), atol=1e-5)

    def test_an_eigenvalue_that_fills_the_block(self):
        values = np.concatenate([[2.0, 1.5], np.ones(80), np.linspace(-1, 0.9, 618)])
        M = symmetric(700, values)
        found, Q = largest_eigenpairs(sparse.csr_array(M), 12, seed=0)
        np.testing.assert_allclose(found, [2, 1.5] + [1] * 10, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(M @ Q - Q * found, axis=0), 0, atol=2 * TOLERANCE)

    def test_a_lower_end_that_a_random_start_hardly_sees(self):
        values = np.concatenate([[-50.0], np.linspace(-1, 1, 699)])
        M = symmetric(700, values)
        found, _ = largest_eigenpairs(sparse.csr_array(M), 6, seed=0)
        np.testing.assert_allclose(found, np.sort(values)[::-1][:6], atol=1e-6)

    def test_all_eigenvalues_negative(self):
        values = np.linspace(-9, -1, 700)
        found, _ = largest_eigenpairs(sparse.csr_array(symmetric(700, values)), 6, seed=0)
        np.testing.assert_allclose(found, values[::-1][:6], rtol=1e-6)

    def test_too_few_iterations_are_told(self, monkeypatch):
        monkeypatch.setattr("boostne.eigensolvers.MAX_ITERATIONS", 1)
        M = sparse.csr_array(symmetric(700, np.linspace(-3, 2, 700)))
        with pytest.warns(UserWarning, match="did not converge to 1e-06 for 12 vectors.*after 1 iterations"):
            largest_eigenpairs(M, 12, seed=0)

    def test_the_empty_matrix(self):
        found, Q = largest_eigenpairs(sparse.csr_array((700, 700)), 6, seed=0)
        assert not found.any()
        assert np.isfinite(Q).all()

    def test_threads_do_not_show(self):
        M = sparse.csr_array(symmetric(700, np.linspace(-3, 2, 700)))
        for solve in (largest_eigenpairs, truncated_svd):
            one, three = (solve(M, 12, seed=0, threads=threads) for threads in (1, 3))
            for here, there in zip(one, three, strict=True):
                np.testing.assert_array_equal(here, there)

    def test_single_precision_costs_nothing_but_its_rounding(self):
        X = sparse.csr_array(np.random.default_rng(0).random((700, 700), np.float32) ** 4)
        for here, there in zip(
            truncated_svd(X, 6, seed=0), truncated_svd(X.astype(np.float64), 6, seed=0), strict=True
        ):
            np.testing.assert_array_equal(here, there)

    @pytest.mark.parametrize("n", [40, 700])
    def test_singular_triplets(self, n):
        X = np.random.default_rng(0).random((n, n)) ** 4
        U, s, V = truncated_svd(sparse.csr_array(X), 6, seed=0)
        np.testing.assert_allclose(s, np.linalg.svd(X)[1][:6], rtol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(X @ V - U * s, axis=0), 0, atol=1e-10 * s[0])
        np.testing.assert_allclose(np.linalg.norm(X.T @ U - V * s, axis=0), 0, atol=TOLERANCE * s[0])
        np.testing.assert_allclose(V.T @ V, np.eye(6), atol=1e-10)
        assert (signs(U) == 1).all()

    @pytest.mark.parametrize("n", [40, 700])
    def test_more_than_the_rank(self, n):
        x = np.arange(n) / n
        U, s, V = truncated_svd(sparse.csr_array(np.outer(x, x)), 5, seed=0)
        np.testing.assert_allclose((U * s) @ V.T, np.outer(x, x), atol=1e-6 * n)
        assert (s[1:] < 1e-5 * s[0]).all()
        assert np.isfinite(U).all()
        assert np.isfinite(V).all()

    def test_more_than_the_size(self):
        U, s, V = truncated_svd(sparse.csr_array(np.eye(3)), 5, seed=0)
        assert U.shape == V.shape == (3, 5)
        assert s.tolist() == [1, 1, 1, 0, 0]
        values, Q = largest_eigenpairs(sparse.csr_array(np.eye(3)), 5, seed=0)
        assert values.tolist() == [1, 1, 1, 0, 0]
        assert not Q[:, 3:].any()

    def test_fewer_eigenpairs_than_components(self):
        values, Q = component_eigenpairs(graphs.disconnected(), 2, seed=0)
        np.testing.assert_allclose(values, 1)
        assert np.count_nonzero(Q.any(axis=1)) == 7  # the triangle and the path
