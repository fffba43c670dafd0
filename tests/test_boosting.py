"""The boosting loop against dense formulas, and one level against scikit-learn's NMF."""

import warnings
from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from tests import graphs, reference

from boostne.datasets import load_dataset
from boostne.factorization import Level, LevelSettings, LocalEngine, boost, community_start, random_start
from boostne.factorization.boosting import START_NOISE, are_enough, balance
from boostne.matrices import CSRSource, DeepWalkMatrix
from boostne.matrices.adjacency import reciprocal

TOLERANCE = {"float32": 1e-5, "float64": 1e-11}
ROUNDING = {"float32": 1e-6, "float64": 1e-14}  # of a residual, relative to ||X||


def connectivity(graph, window=3, dtype="float64"):
    return DeepWalkMatrix(window=window).source(graph, dtype=dtype, seed=0, threads=2).build()[0]


def low_rank(n_rows=80, n_columns=60, rank=5, noise=0.3, seed=0):
    """Return a sparse non-negative matrix of low rank plus noise."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((n_rows, rank)) ** 3 @ rng.random((rank, n_columns)) ** 3
    matrix = np.maximum(matrix + noise * rng.normal(size=matrix.shape), 0) * (rng.random(matrix.shape) < 0.5)
    return sparse.csr_array(matrix)


def run(X, components=4, levels=1, tol=1e-5, max_iter=200, inner_sweeps=4, seed=0, initial_v=None, **options):
    engine = LocalEngine()
    engine.load(CSRSource(X.copy()))
    initial_v = initial_v or random_start(seed, X.shape[1], components, X.dtype)
    settings = LevelSettings(components, tol, max_iter, inner_sweeps)
    return list(boost(engine, settings, levels, initial_v, **options))


CASES = {
    "low rank": low_rank,
    "karate": lambda: connectivity(graphs.karate()),
    "with isolated": lambda: connectivity(graphs.with_isolated()),
    "planted": lambda: connectivity(graphs.planted_partition([30, 30, 30], 0.4, 0.03)[0]),
    "wide": lambda: low_rank(10, 90),
}


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.mark.parametrize("name", CASES)
class TestLevels:
    def test_objective_residual_and_entries_match_dense_formulas(self, name, dtype):
        R = CASES[name]().astype(dtype)
        levels = run(R, components=3, levels=4)
        R = R.toarray().astype(np.float64)
        rounding = ROUNDING[dtype] * np.linalg.norm(R)
        for level in levels:
            norm2 = np.sum(R**2)
            expected = reference.objective(R, level.U, level.V) / norm2
            assert level.objective[-1] == pytest.approx(expected, rel=1e-3, abs=TOLERANCE[dtype])
            R = reference.residual(R, level.U, level.V)
            assert level.residual_norm == pytest.approx(np.linalg.norm(R), rel=TOLERANCE[dtype], abs=rounding)
            # Entries as small as rounding errors may or may not be counted.
            assert abs(level.nnz - np.count_nonzero(rounding < R)) <= np.count_nonzero(np.abs(R) < 10 * rounding)
            if level.residual_norm < 10 * rounding:
                break

    def test_factors_are_non_negative_with_equal_norms(self, name, dtype):
        X = CASES[name]().astype(dtype)
        for level in run(X, components=3, levels=3):
            for factor, rows in ((level.U, X.shape[0]), (level.V, X.shape[1])):
                assert factor.shape == (rows, 3)
                assert factor.dtype == dtype
                assert (factor >= 0).all()
                assert factor.any()
            norms = [np.linalg.norm(factor.astype(float), axis=0) for factor in (level.U, level.V)]
            np.testing.assert_allclose(norms[0], norms[1], rtol=1e-4)

    def test_objective_residual_norm_and_entries_decrease(self, name, dtype):
        X = CASES[name]().astype(dtype)
        before, entries = float(np.linalg.norm(X.data.astype(float))), X.nnz
        for level in run(X, components=3, levels=3):
            assert (np.diff(level.objective) <= 1e-6).all()
            fit = before * np.sqrt(level.objective[-1])
            assert level.residual_norm <= fit * (1 + 1e-4) + ROUNDING[dtype] * np.linalg.norm(X.data)
            assert fit < before
            assert level.nnz <= entries
            before, entries = level.residual_norm, level.nnz

    @pytest.mark.parametrize("passes", [1, 2, 3])
    def test_the_first_passes_are_plain_hals(self, name, passes):
        # Extrapolation starts after the second pass and ends before the last two.
        X = CASES[name]()
        V = np.random.default_rng(1).random((X.shape[1], 3))
        (level,) = run(X, components=3, tol=0, max_iter=passes, inner_sweeps=2, initial_v=lambda _: V)
        U, V, history = reference.hals_level(X.toarray(), V, passes, sweeps=2)
        np.testing.assert_allclose(level.objective * np.sum(X.data**2), history, rtol=1e-9)
        np.testing.assert_allclose(level.U @ level.V.T, U @ V.T, atol=1e-9 * X.max())


def test_a_copy_of_the_matrix_shares_no_memory_with_it():
    X = low_rank()
    kept = X.copy()
    run(X, levels=2)
    np.testing.assert_array_equal(X.data, kept.data)


def test_the_objective_never_increases_with_one_inner_sweep():
    increases = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = sparse.random_array((20, 15), density=0.4, random_state=rng, format="csr")
        X.data = X.data**8
        for level in run(X, components=6, levels=2, tol=0, max_iter=80, inner_sweeps=1, seed=seed):
            increases.extend(np.diff(level.objective))
    assert max(increases) <= 1e-6


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n_finished", [0, 1, 2, 4])
def test_finished_levels_are_replayed_with_the_same_bits(name, n_finished):
    X = CASES[name]().astype(np.float32)
    whole = run(X, components=3, levels=4)
    resumed = run(X, components=3, levels=4, finished=whole[:n_finished])
    for one, other in zip(whole, resumed, strict=True):
        for field in fields(Level):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def balanced(U, V):
    ratio = balance(*(factor.T.astype(float) @ factor.astype(float) for factor in (U, V)))
    return U * ratio.astype(U.dtype), V * reciprocal(ratio).astype(V.dtype)


class TestBalance:
    def test_norms_become_equal_and_the_product_is_unchanged(self, dtype):
        rng = np.random.default_rng(0)
        U, V = (rng.random((rows, 4)).astype(dtype) for rows in (30, 20))
        U[:, 1] *= 1000
        V[:, 2] *= 1e-3
        product = U.astype(float) @ V.T.astype(float)
        U, V = balanced(U, V)
        np.testing.assert_allclose(np.linalg.norm(U, axis=0), np.linalg.norm(V, axis=0), rtol=1e-5)
        np.testing.assert_allclose(U.astype(float) @ V.T.astype(float), product, rtol=1e-5)
        assert U.dtype == V.dtype == dtype

    def test_a_component_with_one_zero_factor_becomes_zero(self, dtype):
        U, V = np.ones((3, 3), dtype), np.ones((4, 3), dtype)
        U[:, 0], V[:, 1] = 0, 0
        U, V = balanced(U, V)
        np.testing.assert_allclose(U, np.outer(np.ones(3), [0, 0, (4 / 3) ** 0.25]), rtol=1e-6)
        assert not V[:, :2].any()
        assert np.isfinite(V).all()


def planted_300():
    return connectivity(graphs.planted_partition([75] * 4, 0.15, 0.02)[0], window=2)


NMF_CASES = {
    "karate": (lambda: connectivity(graphs.karate(), window=10), 4),
    "planted partition": (planted_300, 8),
    "digits": (lambda: connectivity(load_dataset("digits").graph, window=2), 8),
    "low rank and noise": (lambda: low_rank(200, 150, rank=8), 8),
}


@pytest.mark.parametrize("name", NMF_CASES)
def test_one_level_is_as_good_as_scikit_learn_nmf(name):
    make, components = NMF_CASES[name]
    X = make()
    norm2 = np.sum(X.data**2)
    ours = min(run(X, components=components, tol=1e-6, max_iter=500, seed=seed)[0].objective[-1] for seed in range(3))
    theirs = []
    for init, seed in (("nndsvda", 0), ("random", 1), ("random", 2)):
        model = NMF(components, solver="cd", init=init, tol=1e-4, max_iter=200, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        theirs.append(model.reconstruction_err_**2 / norm2)
    assert ours <= 1.005 * min(theirs)


class TestDeadComponents:
    def test_one_dead_component_is_reseeded_and_used(self, dtype):
        X = low_rank().astype(dtype)
        V = np.random.default_rng(0).random((X.shape[1], 4)).astype(dtype)
        V[:, 2] = 0
        (level,) = run(X, components=4, initial_v=lambda _: V)
        (fewer,) = run(X, components=3, initial_v=lambda _: np.delete(V, 2, axis=1))
        assert (level.U > 0).any(axis=0).all()
        assert (level.V > 0).any(axis=0).all()
        assert level.objective[-1] < 0.99 * fewer.objective[-1]

    def test_all_dead_components_are_reseeded(self):
        X = low_rank()
        (level,) = run(X, components=3, initial_v=lambda _: np.zeros((X.shape[1], 3)))
        assert level.objective[0] == pytest.approx(1)
        assert level.objective[-1] < 0.8

    def test_a_useless_component_does_no_harm(self):
        X = sparse.csr_array(np.outer([1.0, 2, 4], [1.0, 2]))
        (level,) = run(X, components=2, initial_v=lambda _: np.array([[1.0, 0], [2, 0]]))
        np.testing.assert_allclose(level.U @ level.V.T, X.toarray(), rtol=1e-9)
        assert np.isfinite(level.U).all()


class TestZeroResidual:
    def test_remaining_levels_are_zero(self, dtype):
        # Powers of two, and u and v of equal norm: the first level is exact to the last bit.
        u, v = np.array([0, 0, 0, 4], dtype), np.array([4, 0, 0], dtype)
        X = sparse.csr_array(np.outer(u, v))
        V = np.array([[4], [0], [0]], dtype) / 2
        calls = []
        levels = run(
            X,
            components=1,
            levels=4,
            tol=0,
            max_iter=3,
            initial_v=lambda level: V,
            on_pass=lambda *at: calls.append(at),
        )
        np.testing.assert_allclose(levels[0].U @ levels[0].V.T, X.toarray(), rtol=1e-6)
        assert levels[0].nnz == 0
        assert len(levels) == 4
        for level in levels[1:]:
            assert not level.U.any()
            assert not level.V.any()
            assert level.U.dtype == level.V.dtype == dtype
            assert level.U.shape == (4, 1)
            assert level.V.shape == (3, 1)
            assert (level.n_iter, level.residual_norm, level.nnz, len(level.objective)) == (0, 0.0, 0, 0)
        assert {level for level, _, _ in calls} == {0}

    def test_all_levels_of_an_empty_matrix_are_zero(self, dtype):
        levels = run(sparse.csr_array((4, 3), dtype=dtype), levels=2)
        assert [level.n_iter for level in levels] == [0, 0]

    def test_more_levels_than_the_rank_stay_finite(self):
        for seed in range(30):
            rng = np.random.default_rng(seed)
            X = sparse.csr_array(np.outer(rng.random(12) + 0.1, rng.random(9) + 0.1).astype(np.float32))
            for level in run(X, components=2, levels=30, seed=seed):
                assert np.isfinite(level.U).all()
                assert np.isfinite(level.V).all()


class TestNonFiniteValues:
    @pytest.mark.parametrize("bad", [np.nan, np.inf, 1e38])
    def test_raise_floating_point_error(self, bad):
        X = low_rank().astype(np.float32)
        X.data[7] = bad
        with pytest.raises(FloatingPointError, match=r"not finite|X contains"), np.errstate(all="ignore"):
            run(X)


class TestSettings:
    def test_each_level_starts_from_its_own_v(self):
        X = low_rank()
        requested = []

        def initial_v(level):
            requested.append(level)
            return np.random.default_rng(level + 5).random((X.shape[1], 2))

        levels = run(X, components=2, levels=3, tol=0, max_iter=1, inner_sweeps=1, initial_v=initial_v)
        assert requested == [0, 1, 2]
        R = X.toarray()
        for i, level in enumerate(levels):
            V = np.random.default_rng(i + 5).random((X.shape[1], 2))
            U, V, _ = reference.hals_level(R, V, passes=1, sweeps=1)
            np.testing.assert_allclose(level.U @ level.V.T, U @ V.T, atol=1e-10)
            R = reference.residual(R, U, V)

    def test_on_pass_is_called_after_each_pass(self):
        calls = []
        levels = run(low_rank(), levels=2, on_pass=lambda *at: calls.append(at))
        for i, level in enumerate(levels):
            passes = [n for at, n, _ in calls if at == i]
            assert passes == list(range(1, level.n_iter + 1))
            values = [value for at, _, value in calls if at == i]
            assert values[-1] == level.objective[-1]
            assert set(level.objective) <= set(values)

    @pytest.mark.parametrize("max_iter", [1, 2, 5, 30])
    def test_zero_tolerance_runs_max_iter_passes(self, max_iter):
        (level,) = run(low_rank(), tol=0, max_iter=max_iter)
        assert level.n_iter == max_iter
        assert 1 <= len(level.objective) <= max_iter

    def test_a_loose_tolerance_stops_early(self):
        (loose,), (tight,) = run(low_rank(), tol=1e-2), run(low_rank(), tol=1e-7)
        assert loose.n_iter < tight.n_iter
        assert loose.objective[-1] > tight.objective[-1]
        gains = -np.diff(loose.objective)
        assert gains[-1] < 1e-2
        assert (gains[:-1] >= 1e-2).all()

    def test_extrapolation_beats_plain_hals(self):
        X = low_rank()
        V = np.random.default_rng(0).random((X.shape[1], 5))
        (level,) = run(X, components=5, tol=0, max_iter=30, inner_sweeps=2, initial_v=lambda _: V)
        _, _, history = reference.hals_level(X.toarray(), V, passes=30, sweeps=2)
        assert level.objective[-1] < history[-1] / np.sum(X.data**2)


class TestRandomStart:
    def test_depends_on_seed_and_level_only(self, dtype):
        initial_v = random_start(3, 60, 5, dtype)
        assert initial_v(0).shape == (60, 5)
        assert initial_v(0).dtype == dtype
        np.testing.assert_array_equal(initial_v(1), random_start(3, 60, 5, dtype)(1))
        assert not np.array_equal(initial_v(0), initial_v(1))
        assert not np.array_equal(initial_v(0), random_start(4, 60, 5, dtype)(0))
        assert initial_v(0).min() >= 0


def test_a_level_that_explains_little_is_still_solved():
    # Many communities and few components, as in a large graph: even the first passes gain less than tol of ||X||^2.
    rng = np.random.default_rng(0)
    n, communities = 40_000, 2_000
    rows = np.repeat(np.arange(n), 6)
    columns = rng.integers(0, n // communities, len(rows)) * communities + rows % communities
    X = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(n, n))
    (level,) = run(X, components=4, tol=2e-4, max_iter=100)
    explained = 1 - level.objective
    assert explained[-1] < 1e-3
    assert explained[1] - explained[0] < 2e-4
    assert explained[-1] > 1.1 * explained[1]


class TestCommunityStart:
    COMMUNITIES = np.array([0, 1, 2, 0, 3, 3, 2, 1, 4])

    def test_each_community_has_one_component(self):
        start = community_start(3, self.COMMUNITIES, 2, "float32")
        components = []
        for level in range(6):
            V = start(level)
            assert (V.dtype, V.shape) == (np.float32, (9, 2))
            assert ((V >= 1).sum(axis=1) == 1).all()
            assert V[V < 1].max() <= START_NOISE
            components.append(V.argmax(axis=1))
            assert [len(set(components[-1][c == self.COMMUNITIES])) for c in range(5)] == [1] * 5
            # As even as 5 communities on 2 components can be.
            first = [components[-1][c == self.COMMUNITIES][0] for c in range(5)]
            assert sorted(np.bincount(first)) == [2, 3]
        assert len({tuple(one) for one in components}) > 1
        np.testing.assert_array_equal(start(1), community_start(3, self.COMMUNITIES, 2, "float32")(1))
        assert (start(1) != community_start(4, self.COMMUNITIES, 2, "float32")(1)).any()

    def test_two_communities_of_equal_size_per_component_are_enough(self):
        assert are_enough(np.repeat(np.arange(8), 5), 4)
        assert not are_enough(np.repeat(np.arange(7), 5), 4)
        assert not are_enough(np.repeat(np.arange(100), [900, *[1] * 99]), 4)
