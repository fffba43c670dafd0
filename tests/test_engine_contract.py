"""The contract of engines, tested as a whole on each: local, on a Dask cluster, and CUDA on PyTorch's device."""

import gc

import numpy as np
import pytest
from scipy import sparse
from tests import graphs
from tests.cluster import client_of, process_cluster

from boostne import AdjacencyMatrix, DeepWalkMatrix
from boostne.budget import Workload
from boostne.factorization import LevelSettings, LocalEngine, boost, random_start
from boostne.factorization.boosting import balance
from boostne.factorization.dask.engine import DaskEngine
from boostne.factorization.dask.factor_store import ClientFactorStore
from boostne.kernels.reference import ReferenceKernels
from boostne.kernels.reference.factorization import gram_of
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.tree_reduction import sequential_sum, tree_sum
from boostne.matrices import CSRSource, MatrixForm
from boostne.matrices.deepwalk.exact import ExactSource
from boostne.matrices.deepwalk.push import BoundedExactSource, PushSource

try:
    import torch
except ModuleNotFoundError:  # wheels are tested without it, on the other engines
    torch = None

DEVICE = "cuda" if torch and torch.cuda.is_available() else "cpu"
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}
ROUNDING = {"float32": 1e-6, "float64": 1e-14}
# On a GPU, float32 is multiplied as the sum of two TF32 numbers of 11 bits each, rounded to nearest.
READING = {"float32": 2.0**-22 if DEVICE == "cuda" else 0, "float64": 0}
WIDTHS = [1, 7, 8, 16, 17]
CUDA_ENGINES = {
    "cuda": {"dense_share": 0.25},  # dense at first, sparse after some levels
    "cuda-dense": {"dense_share": 0.0},
    "cuda-sparse": {"dense_share": 2.0},
    "cuda-dense-blocks": {"dense_share": 0.0, "block_entries": 1500},
    "cuda-sparse-blocks": {"dense_share": 2.0, "block_entries": 600},
}
needs_torch = pytest.mark.skipif(torch is None, reason="needs PyTorch")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with process_cluster(tmp_path_factory.mktemp("cluster"), 2) as cluster, client_of(cluster) as client:
        gc.freeze()  # each engine collects garbage when it is closed; without PyTorch's objects that is fast
        yield client
        gc.unfreeze()


@pytest.fixture(params=["local", "dask", *(pytest.param(name, marks=needs_torch) for name in CUDA_ENGINES)])
def engine(request, monkeypatch):
    """Return ``engine(components)``, which opens an engine for levels of this width; all are closed at the end."""
    if request.param == "dask":
        client = request.getfixturevalue("client")
        # Otherwise matrices this small are a single block.
        monkeypatch.setattr("boostne.factorization.dask.partition.MIN_SHARD_ENTRIES", 100)
        monkeypatch.setattr("boostne.kernels.layout.UPDATE_CHUNK_ROWS", 16)
    elif request.param in CUDA_ENGINES:
        request.getfixturevalue("one_torch_thread")
    opened = []

    def open_engine(components=3):
        if request.param == "local":
            new = LocalEngine()
        elif request.param == "dask":
            new = DaskEngine(client, components, ClientFactorStore(recall=None))
        else:
            from boostne.factorization.cuda.engine import CudaEngine

            new = CudaEngine(DEVICE, **CUDA_ENGINES[request.param])
        opened.append(new)
        return new

    yield open_engine
    for each in opened:
        each.close()


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


def matrix(dtype, n_rows=83, n_columns=61, seed=0):
    """Sparse, non-negative, not square, with empty rows and an empty column."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n_rows, 4)) ** 3 @ rng.random((4, n_columns)) ** 3
    dense = np.maximum(dense + 0.3 * rng.normal(size=dense.shape), 0) * (rng.random(dense.shape) < 0.6)
    dense[[0, 7, -1]], dense[:, 11] = 0, 0
    return sparse.csr_array(dense.astype(dtype))


def initial_v(engine, components, level=0, seed=0):
    return random_start(seed, engine.shape[1], components, engine.dtype)(level)


def started(open_engine, X, components=3):
    """Return an engine with X, at the start of a level."""
    engine = open_engine(components)
    engine.load(CSRSource(X.copy()))
    engine.start_level(initial_v(engine, components))
    return engine


def boosted(open_engine, X, settings, levels, seed=5):
    engine = open_engine(settings.components)
    engine.load(CSRSource(X.copy()))
    start = random_start(seed, X.shape[1], settings.components, X.dtype)
    return list(boost(engine, settings, levels, start))


def stored_residual(engine, components):
    """Return R as the engine stores it, as a dense array; to be called between levels.

    With columns of the identity as V, one HALS sweep from U = 0 makes U the same columns of R, rounded as READING says.
    """
    n, m = engine.shape
    identity = np.eye(m, -(-m // components) * components, dtype=engine.dtype)
    R = np.empty((n, identity.shape[1]), engine.dtype)
    for first in range(0, m, components):
        engine.start_level(identity[:, first : first + components].copy())
        engine.step(1)
        R[:, first : first + components], _ = engine.factors()
    return R[:, :m]


def assert_stored(engine, components, X):
    """Assert that R is X."""
    rtol = READING[X.dtype.name] if engine.name == "cuda" else 0
    np.testing.assert_allclose(stored_residual(engine, components), X.toarray(), rtol=rtol, atol=0)


def dense64(factors):
    return [factor.astype(np.float64) for factor in factors]


def assert_gram(gram, factor, dtype):
    """Assert that a Gram matrix is that of a factor, padded with zeros."""
    width = factor.shape[1]
    np.testing.assert_allclose(gram[:width, :width], gram_of(factor), rtol=ROUNDING[dtype])
    assert gram.dtype == np.float64
    assert not gram[width:].any()
    assert not gram[:, width:].any()


def assert_residual(engine, expected, dtype):
    """Assert the norm and the number of entries of R; ``expected`` is dense, in float64."""
    assert engine.norm2 == pytest.approx(np.sum(expected**2), rel=TOLERANCE[dtype])
    tiny = np.count_nonzero((expected > 0) & (expected < ROUNDING[dtype]))
    rounded_up = np.count_nonzero((expected <= 0) & (expected > -ROUNDING[dtype]))
    assert -tiny <= engine.nnz - np.count_nonzero(expected > 0) <= rounded_up


class TestLoad:
    def test_matrix(self, engine, dtype):
        X = matrix(dtype)
        loaded = engine(16)
        loaded.load(CSRSource(X.copy()))
        assert (loaded.shape, loaded.dtype, loaded.nnz) == (X.shape, np.dtype(dtype), X.nnz)
        assert loaded.norm2 == pytest.approx(np.sum(X.data.astype(float) ** 2), rel=1e-12)
        assert loaded.dropped_mass is None
        assert_stored(loaded, 16, X)

    @pytest.mark.parametrize("name", ["karate", "weighted", "disconnected", "with_isolated", "with_loops"])
    def test_exact_rows(self, engine, dtype, name):
        source = ExactSource(graphs.DRAWABLE[name](), window=4, negative=1, dtype=dtype)
        X, _ = source.build()
        loaded = engine(5)
        loaded.load(source)
        assert (loaded.shape, loaded.dtype, loaded.nnz) == (X.shape, np.dtype(dtype), X.nnz)
        assert loaded.norm2 == pytest.approx(np.sum(X.data.astype(float) ** 2), rel=TOLERANCE[dtype])
        assert loaded.dropped_mass is None
        # A GPU computes the rows itself, with other rounding.
        atol = TOLERANCE[dtype] if loaded.name == "cuda" else 0
        np.testing.assert_allclose(stored_residual(loaded, 5), X.toarray(), rtol=0, atol=atol)

    @pytest.mark.parametrize("pruned", ["exact", "push"])
    def test_pruned_rows(self, engine, dtype, pruned):
        common = {"window": 4, "negative": 1, "dtype": dtype, "max_per_row": 8}
        if pruned == "exact":
            source = BoundedExactSource(graphs.karate(), **common)
        else:
            source = PushSource(graphs.karate(), epsilon=1e-3, **common)
        X, dropped = source.build()
        assert np.diff(X.indptr).max() == 8
        loaded = engine(5)
        loaded.load(source)
        assert (loaded.shape, loaded.dtype, loaded.nnz) == (X.shape, np.dtype(dtype), X.nnz)
        assert_stored(loaded, 5, X)
        if loaded.name == "dask":
            assert loaded.dropped_mass is None
        else:
            np.testing.assert_array_equal(loaded.dropped_mass, dropped)
            assert dropped.any()

    def test_replaces_what_was_loaded(self, engine):
        loaded = started(engine, matrix("float32"), 16)
        loaded.step(2)
        X = matrix("float64", 40, 70, seed=1)
        loaded.load(CSRSource(X.copy()))
        assert (loaded.shape, loaded.dtype, loaded.nnz) == (X.shape, np.dtype("float64"), X.nnz)
        np.testing.assert_array_equal(stored_residual(loaded, 16), X.toarray())

    def test_plan_is_the_form_of_the_matrix(self, engine):
        work = Workload(n_nodes=34, levels=2, components=3, max_iter=10, dtype=np.dtype("float32"), threads=1)
        opened, graph = engine(), graphs.karate()
        assert opened.plan(AdjacencyMatrix(), graph, work) == MatrixForm("exact")
        assert opened.plan(DeepWalkMatrix(), graph, work) == MatrixForm("exact")
        spectral = DeepWalkMatrix(approximation="spectral", eigenpairs=10)
        assert opened.plan(spectral, graph, work) == MatrixForm("spectral")
        push = DeepWalkMatrix(approximation="push", epsilon=1e-3, max_per_row=9)
        assert opened.plan(push, graph, work) == MatrixForm("push", 1e-3, 9)

    def test_is_a_context_manager(self, engine):
        with engine() as entered:
            entered.load(CSRSource(matrix("float32")))
            assert entered.name in ("local", "dask", "cuda")
            assert entered.nnz > 0


class TestPass:
    @pytest.mark.parametrize("components", WIDTHS)
    def test_reports_the_grams_and_the_product_of_its_factors(self, engine, dtype, components):
        X = matrix(dtype)
        running = started(engine, X, components)
        R = X.toarray().astype(np.float64)
        objective = [running.norm2]
        for _ in range(4):
            gram_u, gram_v, product = running.step(2)
            U, V = running.factors()
            assert (U.shape, V.shape) == ((83, components), (61, components))
            assert U.dtype == V.dtype == dtype
            assert (U >= 0).all()
            assert (V >= 0).all()
            assert_gram(gram_u, U, dtype)
            assert_gram(gram_v, V, dtype)
            assert_gram(running.gram_v(), V, dtype)
            U, V = dense64((U, V))
            assert product == pytest.approx(np.sum((R.T @ U) * V), rel=TOLERANCE[dtype])
            objective.append(running.norm2 - 2 * product + np.sum(gram_u * gram_v))
            expected = np.sum((R - U @ V.T) ** 2)
            assert objective[-1] == pytest.approx(expected, abs=TOLERANCE[dtype] * running.norm2)
            running.accept(0.0)
        # A single component converges within these passes: from there on its objective is constant up to rounding.
        assert objective[1] < objective[0]
        assert (np.diff(objective) < 16 * np.finfo(dtype).eps * running.norm2).all()

    @pytest.mark.parametrize("components", WIDTHS)
    def test_is_that_of_the_reference_kernels(self, engine, dtype, components):
        X = matrix(dtype)
        running = started(engine, X, components)
        V = initial_v(running, components)
        U = np.zeros((X.shape[0], components), dtype)
        kernels, R = ReferenceKernels(), ShardedCSR.from_csr(X)
        rtol = 100 * TOLERANCE[dtype]
        for _ in range(3):
            result = running.step(2)
            parts, grams = kernels.sweep(R, V, gram_of(V), U, inner=2)
            C, gram_u = tree_sum(parts), sequential_sum(grams)
            gram_v, product = (sequential_sum(terms) for terms in kernels.hals(V, C, gram_u, inner=2))
            for found, expected in ((result.gram_u, gram_u), (result.gram_v, gram_v)):
                np.testing.assert_allclose(found[:components, :components], expected, rtol=rtol, atol=rtol)
            assert result.product == pytest.approx(product, rel=TOLERANCE[dtype])
        for found, expected in zip(running.factors(), (U, V), strict=True):
            np.testing.assert_allclose(found, expected, atol=rtol * expected.max())

    def test_empty_rows_and_columns_have_zero_factors(self, engine, dtype):
        running = started(engine, matrix(dtype))
        for _ in range(2):
            running.step(3)
            running.accept(0.5)
        U, V = running.factors()
        assert not U[[0, 7, -1]].any()
        assert not V[11].any()
        assert U.any(axis=1).sum() > 70

    def test_dead_component_is_zero(self, engine, dtype):
        running = engine()
        running.load(CSRSource(matrix(dtype)))
        V = initial_v(running, 3)
        V[:, 1] = 0
        running.start_level(V)
        result = running.step(2)
        U, _ = running.factors()
        assert (U[:, 1] == 0).all()
        assert (U[:, 0] > 0).any()
        assert result.gram_u[1, 1] == 0

    def test_nan_is_reported(self, engine):
        X = matrix("float32")
        running = started(engine, X)
        running.reseed(0, np.full(X.shape[1], np.nan, np.float32))
        running.accept(0.0)
        assert np.isnan(running.step(2).product)
        running.factors()
        running.deflate()
        assert np.isnan(running.norm2)


class TestAcceptAndRevert:
    def test_level_starts_from_zero_and_the_given_v(self, engine, dtype):
        running = started(engine, matrix(dtype), 7)
        V0 = initial_v(running, 7)
        U, V = running.factors()
        assert U.shape == (83, 7)
        assert not U.any()
        np.testing.assert_array_equal(V, V0)
        assert_gram(running.gram_v(), V0, dtype)
        assert_gram(running.step(2).gram_u, running.factors()[0], dtype)

    @pytest.mark.parametrize("components", WIDTHS)
    def test_accept_without_extrapolation_keeps_the_factors(self, engine, dtype, components):
        running = started(engine, matrix(dtype), components)
        running.step(2)
        before = running.factors()
        running.accept(0.0)
        for found, expected in zip(running.factors(), before, strict=True):
            np.testing.assert_array_equal(found, expected)
        assert_gram(running.gram_v(), before[1], dtype)

    @pytest.mark.parametrize("components", WIDTHS)
    def test_accept_extrapolates_v_only(self, engine, dtype, components):
        running = started(engine, matrix(dtype), components)
        _, V0 = running.factors()
        running.step(2)
        U1, V1 = running.factors()
        running.accept(0.5)
        U, V = running.factors()
        np.testing.assert_array_equal(U, U1)
        expected = np.maximum(V1 + 0.5 * (V1 - V0), 0)
        np.testing.assert_allclose(V, expected, rtol=1e-5, atol=1e-6)
        assert (V != V1).any()
        assert_gram(running.gram_v(), V, dtype)

    @pytest.mark.parametrize("components", WIDTHS)
    def test_revert_returns_to_the_accepted_factors(self, engine, dtype, components):
        running = started(engine, matrix(dtype), components)
        running.step(2)
        U1, V1 = running.factors()
        running.accept(0.5)
        running.step(2)
        assert not np.array_equal(running.factors()[0], U1)
        running.revert()
        assert_gram(running.gram_v(), V1, dtype)
        np.testing.assert_array_equal(running.factors()[0], U1)
        np.testing.assert_array_equal(running.factors()[1], V1)
        running.accept(0.5)  # V is what was accepted: there is no direction to extrapolate in
        np.testing.assert_array_equal(running.factors()[1], V1)

    def test_pass_after_revert_is_the_pass_from_the_accepted_factors(self, engine, dtype):
        reverted, direct = started(engine, matrix(dtype)), started(engine, matrix(dtype))
        for running in (reverted, direct):
            running.step(2)
            running.accept(0.5 if running is reverted else 0.0)
        reverted.step(2)
        reverted.revert()
        for found, expected in zip(reverted.step(2), direct.step(2), strict=True):
            np.testing.assert_array_equal(found, expected)
        for found, expected in zip(reverted.factors(), direct.factors(), strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_revert_before_the_first_accept_returns_to_the_start(self, engine, dtype):
        running = started(engine, matrix(dtype))
        V0 = initial_v(running, 3)
        first = running.step(2)
        running.revert()
        U, V = running.factors()
        assert not U.any()
        np.testing.assert_array_equal(V, V0)
        for found, expected in zip(running.step(2), first, strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_transitions_are_applied_in_order(self, engine, dtype):
        running = started(engine, matrix(dtype))
        running.accept(0.0)
        running.step(2)
        U1, V1 = running.factors()
        running.accept(0.5)
        running.revert()
        np.testing.assert_array_equal(running.factors()[0], U1)
        np.testing.assert_array_equal(running.factors()[1], V1)

    def test_reseed_replaces_one_component_of_v(self, engine, dtype):
        running = started(engine, matrix(dtype))
        running.step(2)
        running.accept(0.5)
        U, V = running.factors()
        values = np.linspace(0, 1, running.shape[1]).astype(dtype)
        running.reseed(1, values)
        np.testing.assert_array_equal(running.factors()[0], U)
        expected = np.column_stack([V[:, 0], values, V[:, 2]])
        np.testing.assert_array_equal(running.factors()[1], expected)
        running.accept(0.0)
        assert_gram(running.gram_v(), expected, dtype)


class TestRescale:
    @pytest.mark.parametrize("components", WIDTHS)
    def test_leaves_the_product_unchanged(self, engine, dtype, components):
        running = started(engine, matrix(dtype), components)
        width = len(running.step(2).gram_u)
        running.accept(0.5)
        U, V = dense64(running.factors())
        ratio = np.zeros(width)
        ratio[:components] = np.linspace(0.25, 3, components)
        running.rescale(ratio)
        scaled = running.factors()
        assert scaled[0].dtype == scaled[1].dtype == dtype
        scaled_U, scaled_V = dense64(scaled)
        rtol = 4 * np.finfo(dtype).eps
        np.testing.assert_allclose(scaled_U, U * ratio[:components], rtol=rtol)
        np.testing.assert_allclose(scaled_V, V / ratio[:components], rtol=rtol)
        np.testing.assert_allclose(scaled_U @ scaled_V.T, U @ V.T, rtol=2 * rtol)

    def test_zero_ratio_zeros_the_component_in_both_factors(self, engine, dtype):
        running = started(engine, matrix(dtype), 4)
        ratio = np.zeros(len(running.step(2).gram_u))
        ratio[:4] = [1.0, 0.5, 0.0, 2.0]
        running.accept(0.0)
        running.rescale(ratio)
        for factor in running.factors():
            assert np.isfinite(factor).all()
            assert not factor[:, 2].any()
            assert factor[:, [0, 1, 3]].any(axis=0).all()

    def test_balanced_columns_have_equal_norms(self, engine, dtype):
        running = started(engine, matrix(dtype), 7)
        result = running.step(2)
        running.rescale(balance(result.gram_u, running.gram_v()))
        norms_u, norms_v = (np.linalg.norm(factor, axis=0) for factor in dense64(running.factors()))
        np.testing.assert_allclose(norms_u, norms_v, rtol=10 * np.finfo(dtype).eps)


class TestDeflate:
    @pytest.mark.parametrize("components", WIDTHS)
    def test_subtracts_the_product_and_clips(self, engine, dtype, components):
        X = matrix(dtype, n_columns=23)
        running = started(engine, X, components)
        for _ in range(3):
            result = running.step(2)
            running.accept(0.3)
        running.rescale(balance(result.gram_u, running.gram_v()))
        U, V = dense64(running.factors())
        running.deflate()
        left = X.toarray() - U @ V.T
        left[X.toarray() == 0] = 0
        assert_residual(running, left.clip(min=0), dtype)
        # Each entry is one rounded subtraction of a rounded inner product.
        bound = (components + 2) * np.finfo(dtype).eps * (X.toarray() + U @ V.T)
        found = stored_residual(running, components)
        assert (np.abs(found - left.clip(min=0)) <= bound).all()
        assert np.count_nonzero(found) == running.nnz
        assert running.nnz < X.nnz

    def test_several_levels(self, engine, dtype):
        X = matrix(dtype)
        running = engine()
        running.load(CSRSource(X.copy()))
        left = X.toarray().astype(float)
        for level in range(3):
            running.start_level(initial_v(running, 3, level))
            for _ in range(5):
                running.step(2)
            U, V = dense64(running.factors())
            running.deflate()
            left = np.maximum(left - U @ V.T, 0)
            assert_residual(running, left, dtype)

    @pytest.mark.parametrize("components", WIDTHS)
    def test_replay_leaves_the_same_residual(self, engine, dtype, components):
        X = matrix(dtype, n_columns=23)
        solved, replayed = engine(components), engine(components)
        for each in (solved, replayed):
            each.load(CSRSource(X.copy()))
        for level in range(2):
            solved.start_level(initial_v(solved, components, level))
            for _ in range(3):
                result = solved.step(2)
                solved.accept(0.0)
            solved.rescale(balance(result.gram_u, solved.gram_v()))
            U, V = solved.factors()
            solved.deflate()
            replayed.replay(U, V)
            assert (replayed.norm2, replayed.nnz) == (solved.norm2, solved.nnz)
        np.testing.assert_array_equal(stored_residual(replayed, components), stored_residual(solved, components))


class TestBoost:
    def test_levels_are_those_of_the_local_engine(self, engine, dtype):
        X = matrix(dtype)
        settings = LevelSettings(4, 0, 12, 3)
        runs = [boosted(opened, X, settings, 4) for opened in (lambda _: LocalEngine(), engine)]
        for local, other in zip(*runs, strict=True):
            assert local.n_iter == other.n_iter == 12
            assert other.residual_norm == pytest.approx(local.residual_norm, rel=TOLERANCE[dtype])
            np.testing.assert_allclose(other.objective, local.objective, rtol=TOLERANCE[dtype], atol=1e-6)

    def test_residual_and_objective_match_the_factors(self, engine, dtype):
        X = matrix(dtype)
        left = X.toarray().astype(float)
        levels = boosted(engine, X, LevelSettings(7, 1e-4, 30), 3)
        for level in levels:
            assert (np.diff(level.objective) <= 0).all()
            U, V = dense64((level.U, level.V))
            expected = np.sum((left - U @ V.T) ** 2) / np.sum(left**2)
            assert level.objective[-1] == pytest.approx(expected, abs=TOLERANCE[dtype])
            left = np.maximum(left - U @ V.T, 0)
            assert level.residual_norm == pytest.approx(np.linalg.norm(left), rel=TOLERANCE[dtype])
        assert levels[-1].residual_norm < 0.5 * np.linalg.norm(X.toarray())

    def test_replayed_levels_leave_the_same_residual(self, engine):
        X, settings = matrix("float32"), LevelSettings(4, 1e-4, 20, 3)
        solved, replayed = engine(4), engine(4)
        for each in (solved, replayed):
            each.load(CSRSource(X.copy()))
        for level in boost(solved, settings, 3, random_start(5, X.shape[1], 4, X.dtype)):
            replayed.replay(level.U, level.V)
            assert (replayed.norm2, replayed.nnz) == (solved.norm2, solved.nnz)

    def test_continues_from_finished_levels_with_the_same_bits(self, engine):
        X, settings = matrix("float32"), LevelSettings(4, 1e-4, 20, 3)
        whole = boosted(engine, X, settings, 3)
        resumed = engine(4)
        resumed.load(CSRSource(X.copy()))
        start = random_start(5, X.shape[1], 4, X.dtype)
        *_, last = boost(resumed, settings, 3, start, finished=whole[:2])
        np.testing.assert_array_equal(last.U, whole[-1].U)
        np.testing.assert_array_equal(last.V, whole[-1].V)
        assert (last.residual_norm, last.nnz) == (whole[-1].residual_norm, whole[-1].nnz)

    def test_a_second_run_gives_the_same_bits(self, engine):
        runs = [boosted(engine, matrix("float32"), LevelSettings(4, 1e-4, 20, 3), 3) for _ in range(2)]
        for first, second in zip(*runs, strict=True):
            np.testing.assert_array_equal(first.U, second.U)
            np.testing.assert_array_equal(first.V, second.V)

    def test_zero_matrix_has_zero_levels(self, engine, dtype):
        levels = boosted(engine, sparse.csr_array((9, 6), dtype=dtype), LevelSettings(2, 1e-4, 20), 2)
        assert [level.n_iter for level in levels] == [0, 0]
        assert not any(level.U.any() or level.V.any() for level in levels)


def test_matrices_are_split_among_the_dask_workers(client, monkeypatch):
    # What the suite is to exercise.
    monkeypatch.setattr("boostne.factorization.dask.partition.MIN_SHARD_ENTRIES", 100)
    with DaskEngine(client, 3, ClientFactorStore(recall=None)) as engine:
        engine.load(CSRSource(matrix("float32")))
        assert len({placed.worker for placed in engine._placement.placed}) == 2
