"""Eigensolvers: eigenpairs and truncated singular value decompositions against dense solvers."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from tests import graphs

from boostne.eigensolvers import TOLERANCE, largest_eigenpairs, signs, truncated_svd
from boostne.matrices.deepwalk.spectral import component_eigenpairs


def symmetric(n, values, seed=0):
    """Return a symmetric matrix with given eigenvalues."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    return (Q * values) @ Q.T


class TestLargestEigenpairs:
    @pytest.mark.parametrize("n", [40, 700])  # the dense and the block solver
    def test_match_the_definition(self, n):
        values = np.linspace(-3, 2, n) ** 3
        M = symmetric(n, values)
        found, Q = largest_eigenpairs(sparse.csr_array(M), 12, seed=0)
        np.testing.assert_allclose(found, np.sort(values)[::-1][:12], rtol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(M @ Q - Q * found, axis=0), 0, atol=TOLERANCE * 27)
        np.testing.assert_allclose(Q.T @ Q, np.eye(12), atol=1e-6)
        assert (signs(Q) == 1).all()

    def test_repeated_eigenvalues(self):
        values = np.concatenate([[5] * 9, np.linspace(-4, 3, 691)])
        found, Q = largest_eigenpairs(aslinearoperator(symmetric(700, values)), 12, seed=0)
        np.testing.assert_allclose(found, np.sort(values)[::-1][:12], rtol=1e-5)
        np.testing.assert_allclose(Q.T @ Q, np.eye(12), atol=1e-5)

    def test_an_eigenvalue_of_higher_multiplicity_than_the_block(self):
        values = np.concatenate([[2.0, 1.5], np.ones(80), np.linspace(-1, 0.9, 618)])
        M = symmetric(700, values)
        found, Q = largest_eigenpairs(sparse.csr_array(M), 12, seed=0)
        np.testing.assert_allclose(found, [2, 1.5] + [1] * 10, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(M @ Q - Q * found, axis=0), 0, atol=2 * TOLERANCE)

    def test_an_isolated_lowest_eigenvalue(self):
        values = np.concatenate([[-50.0], np.linspace(-1, 1, 699)])
        M = symmetric(700, values)
        found, _ = largest_eigenpairs(sparse.csr_array(M), 6, seed=0)
        np.testing.assert_allclose(found, np.sort(values)[::-1][:6], atol=1e-6)

    def test_negative_eigenvalues(self):
        values = np.linspace(-9, -1, 700)
        found, _ = largest_eigenpairs(sparse.csr_array(symmetric(700, values)), 6, seed=0)
        np.testing.assert_allclose(found, values[::-1][:6], rtol=1e-6)

    def test_missing_convergence_is_a_warning(self, monkeypatch):
        monkeypatch.setattr("boostne.eigensolvers.MAX_ITERATIONS", 1)
        M = sparse.csr_array(symmetric(700, np.linspace(-3, 2, 700)))
        with pytest.warns(UserWarning, match="did not converge to 1e-06 for 12 vectors.*after 1 iterations"):
            largest_eigenpairs(M, 12, seed=0)

    def test_an_empty_matrix(self):
        found, Q = largest_eigenpairs(sparse.csr_array((700, 700)), 6, seed=0)
        assert not found.any()
        assert np.isfinite(Q).all()

    def test_fewer_eigenpairs_than_components(self):
        values, Q = component_eigenpairs(graphs.disconnected(), 2, seed=0)
        np.testing.assert_allclose(values, 1)
        assert np.count_nonzero(Q.any(axis=1)) == 7  # the triangle and the path


class TestTruncatedSvd:
    @pytest.mark.parametrize("n", [40, 700])
    def test_matches_the_definition(self, n):
        X = np.random.default_rng(0).random((n, n)) ** 4
        U, s, V = truncated_svd(sparse.csr_array(X), 6, seed=0)
        np.testing.assert_allclose(s, np.linalg.svd(X)[1][:6], rtol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(X @ V - U * s, axis=0), 0, atol=1e-10 * s[0])
        np.testing.assert_allclose(np.linalg.norm(X.T @ U - V * s, axis=0), 0, atol=TOLERANCE * s[0])
        np.testing.assert_allclose(V.T @ V, np.eye(6), atol=1e-10)
        assert (signs(U) == 1).all()

    @pytest.mark.parametrize("n", [40, 700])
    def test_more_components_than_the_rank(self, n):
        x = np.arange(n) / n
        U, s, V = truncated_svd(sparse.csr_array(np.outer(x, x)), 5, seed=0)
        np.testing.assert_allclose((U * s) @ V.T, np.outer(x, x), atol=1e-6 * n)
        assert (s[1:] < 1e-5 * s[0]).all()
        assert np.isfinite(U).all()
        assert np.isfinite(V).all()

    def test_float32_input_is_computed_in_float64(self):
        X = sparse.csr_array(np.random.default_rng(0).random((700, 700), np.float32) ** 4)
        for one, other in zip(truncated_svd(X, 6, seed=0), truncated_svd(X.astype(np.float64), 6, seed=0), strict=True):
            np.testing.assert_array_equal(one, other)


class TestBoth:
    def test_do_not_depend_on_threads(self):
        M = sparse.csr_array(symmetric(700, np.linspace(-3, 2, 700)))
        for solve in (largest_eigenpairs, truncated_svd):
            single, several = (solve(M, 12, seed=0, threads=threads) for threads in (1, 3))
            for one, other in zip(single, several, strict=True):
                np.testing.assert_array_equal(one, other)

    def test_more_components_than_the_size_are_zero(self):
        U, s, V = truncated_svd(sparse.csr_array(np.eye(3)), 5, seed=0)
        assert U.shape == V.shape == (3, 5)
        assert s.tolist() == [1, 1, 1, 0, 0]
        values, Q = largest_eigenpairs(sparse.csr_array(np.eye(3)), 5, seed=0)
        assert values.tolist() == [1, 1, 1, 0, 0]
        assert not Q[:, 3:].any()
