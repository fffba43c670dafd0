"""What every engine promises, on the local one and on the GPU's; without a GPU, that is PyTorch's CPU device."""

import gc
import logging
import sys
import weakref

import numpy as np
import pytest
import torch
from scipy import sparse
from tests import graphs

from boostne import BoostNE
from boostne.errors import EngineError, MemoryLimitError
from boostne.factorization import LocalEngine
from boostne.factorization.boosting import Settings, boost, random_start
from boostne.factorization.cuda.engine import CudaEngine
from boostne.kernels.cuda import operations as gpu
from boostne.kernels.reference import ReferenceKernels
from boostne.kernels.reference.factorization import gram_of, hals_sweeps
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.tree_reduction import sequential_sum, tree_sum
from boostne.matrices import WalkColumns, exact_deepwalk, spectral_deepwalk
from boostne.matrices.deepwalk.device import ExactRows, SpectralRows
from boostne.models import loading

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}
ROUNDING = {"float32": 1e-6, "float64": 1e-14}
ENGINES = {
    "local": LocalEngine,
    "dense": lambda: CudaEngine(DEVICE, dense_share=0.0),
    "sparse": lambda: CudaEngine(DEVICE, dense_share=2.0),
    "drops to sparse": lambda: CudaEngine(DEVICE, dense_share=0.25),
    "dense blocks": lambda: CudaEngine(DEVICE, dense_share=0.0, block_entries=700),
    "sparse blocks": lambda: CudaEngine(DEVICE, dense_share=2.0, block_entries=300),
}


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Tensors this small gain nothing from more, and lose much on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=ENGINES)
def make_engine(request):
    return ENGINES[request.param]


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


def matrix(dtype, n_rows=83, n_columns=61, seed=0):
    """Sparse, non-negative, not square, with an empty row and an empty column."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n_rows, 4)) ** 3 @ rng.random((4, n_columns)) ** 3
    dense = np.maximum(dense + 0.3 * rng.normal(size=dense.shape), 0) * (rng.random(dense.shape) < 0.6)
    dense[7], dense[:, 11] = 0, 0
    return sparse.csr_array(dense.astype(dtype))


def loaded(make_engine, X, components=3):
    engine = make_engine()
    engine.load(X.copy())
    return engine, engine.begin(random_start(0, engine, components)(0))


class TestContract:
    def test_what_it_holds(self, make_engine, dtype):
        X = matrix(dtype)
        engine, _ = loaded(make_engine, X)
        assert (engine.shape, engine.dtype, engine.nnz) == (X.shape, np.dtype(dtype), X.nnz)
        assert engine.norm2 == pytest.approx(np.sum(X.data.astype(float) ** 2), rel=1e-12)

    @pytest.mark.parametrize("components", [1, 3, 16, 17])
    def test_a_pass_is_the_reference_s(self, make_engine, dtype, components):
        X = matrix(dtype)
        engine, context = loaded(make_engine, X, components)
        V = random_start(0, engine, components)(0)
        U = np.zeros((X.shape[0], components), dtype)
        kernels, R = ReferenceKernels(), ShardedCSR.from_csr(X)
        for _ in range(3):
            swept = engine.sweep(context, 2)
            product = engine.update(context, swept, 2)
            parts, grams = kernels.sweep(R, V, gram_of(V), U, inner=2)
            C, gram_u = tree_sum(parts), sequential_sum(grams)
            gram_v, expected = kernels.hals(V, C, gram_u, inner=2)
            rtol = 100 * TOLERANCE[dtype]
            np.testing.assert_allclose(swept.gram[:components, :components], gram_u, rtol=rtol, atol=rtol)
            np.testing.assert_allclose(context.gram[:components, :components], gram_v, rtol=rtol, atol=rtol)
            assert product == pytest.approx(expected, rel=TOLERANCE[dtype])
        for mine, reference in zip(engine.collect(context), (U, V), strict=True):
            assert mine.shape == reference.shape
            assert mine.dtype == dtype
            np.testing.assert_allclose(mine, reference, atol=rtol * reference.max())

    def test_extrapolation_and_retreat(self, make_engine, dtype):
        engine, context = loaded(make_engine, matrix(dtype))
        _, V0 = engine.collect(context)
        engine.update(context, engine.sweep(context, 2), 2)
        U1, V1 = engine.collect(context)
        engine.extrapolate(context, 0.5)
        stepped = np.maximum(V1 + 0.5 * (V1 - V0), 0)
        np.testing.assert_allclose(engine.collect(context)[1], stepped, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            context.gram[:3, :3], gram_of(engine.collect(context)[1]), rtol=ROUNDING[dtype]
        )
        engine.update(context, engine.sweep(context, 2), 2)
        assert not np.array_equal(engine.collect(context)[0], U1)
        engine.retreat(context)
        np.testing.assert_array_equal(engine.collect(context)[0], U1)
        np.testing.assert_array_equal(engine.collect(context)[1], V1)
        np.testing.assert_allclose(context.gram[:3, :3], gram_of(V1), rtol=ROUNDING[dtype])
        engine.extrapolate(context, 0.5)  # from where it went back to there is no way on
        np.testing.assert_array_equal(engine.collect(context)[1], V1)

    def test_a_component_is_given_new_values(self, make_engine, dtype):
        engine, context = loaded(make_engine, matrix(dtype))
        before = engine.collect(context)[1]
        values = np.linspace(0, 1, engine.shape[1]).astype(dtype)
        engine.reseed(context, 1, values)
        np.testing.assert_array_equal(
            engine.collect(context)[1], np.column_stack([before[:, 0], values, before[:, 2]])
        )

    def test_a_dead_component_is_zero(self, make_engine, dtype):
        X = matrix(dtype)
        engine = make_engine()
        engine.load(X.copy())
        V = random_start(0, engine, 3)(0)
        V[:, 1] = 0
        context = engine.begin(V)
        swept = engine.sweep(context, 2)
        U, _ = engine.collect(context)
        assert (U[:, 1] == 0).all()
        assert (U[:, 0] > 0).any()
        assert swept.gram[1, 1] == 0

    def test_deflation(self, make_engine, dtype):
        X = matrix(dtype)
        engine, context = loaded(make_engine, X)
        left = X.toarray().astype(float)
        for level in range(3):
            for _ in range(5):
                engine.update(context, engine.sweep(context, 2), 2)
            U, V = engine.collect(context)
            engine.deflate(context)
            left = np.maximum(left - U.astype(float) @ V.T.astype(float), 0)
            assert engine.norm2 == pytest.approx(np.sum(left**2), rel=TOLERANCE[dtype])
            assert abs(engine.nnz - np.count_nonzero(left > 0)) <= np.count_nonzero(
                np.abs(left) < ROUNDING[dtype]
            )
            context = engine.begin(random_start(0, engine, 3)(level + 1))

    def test_a_nan_is_seen(self, make_engine):
        X = matrix("float32")
        engine, context = loaded(make_engine, X)
        engine.reseed(context, 0, np.full(X.shape[1], np.nan, np.float32))
        engine.extrapolate(context, 0.0)
        swept = engine.sweep(context, 2)
        assert np.isnan(engine.update(context, swept, 2))
        engine.deflate(context)
        assert np.isnan(engine.norm2)

    def test_levels_are_the_local_engine_s(self, make_engine, dtype):
        X = matrix(dtype)
        runs = []
        for make in (LocalEngine, make_engine):
            engine = make()
            engine.load(X.copy())
            runs.append(list(boost(engine, Settings(4, 0, 12, 3), 4, random_start(5, engine, 4))))
        for ours, theirs in zip(*runs, strict=True):
            assert ours.n_iter == theirs.n_iter == 12
            assert theirs.residual_norm == pytest.approx(ours.residual_norm, rel=TOLERANCE[dtype])
            np.testing.assert_allclose(theirs.objective, ours.objective, rtol=TOLERANCE[dtype], atol=1e-6)

    def test_replayed_levels_leave_the_same_residual(self, make_engine):
        first, again = make_engine(), make_engine()
        first.load(matrix("float32"))
        again.load(matrix("float32"))
        for level in boost(first, Settings(4, 1e-4, 20, 3), 3, random_start(5, first, 4)):
            again.replay(level.U, level.V)
            assert (again.norm2, again.nnz) == (first.norm2, first.nnz)

    def test_the_same_bits_again(self, make_engine):
        runs = []
        for _ in range(2):
            engine = make_engine()
            engine.load(matrix("float32"))
            runs.append(list(boost(engine, Settings(4, 1e-4, 20, 3), 3, random_start(5, engine, 4))))
        for one, other in zip(*runs, strict=True):
            np.testing.assert_array_equal(one.U, other.U)
            np.testing.assert_array_equal(one.V, other.V)


class TestStorage:
    def test_a_block_that_has_emptied_becomes_sparse(self):
        engine = CudaEngine(DEVICE, dense_share=0.25)
        engine.load(matrix("float32"))
        assert engine.storage == ["dense"]
        list(boost(engine, Settings(4, 1e-4, 30, 3), 4, random_start(0, engine, 4)))
        assert engine.storage == ["sparse"]

    @pytest.mark.parametrize(("share", "kind"), [(0.0, "dense"), (2.0, "sparse")])
    def test_blocks_of_rows(self, share, kind):
        engine = CudaEngine(DEVICE, dense_share=share, block_entries=700)
        engine.load(matrix("float32"))
        assert set(engine.storage) == {kind}
        assert len(engine.storage) > 3

    def test_what_does_not_fit_is_refused_with_the_numbers(self, monkeypatch):
        monkeypatch.setattr("boostne.factorization.cuda.engine._free_memory", lambda device: 10_000)
        engine = CudaEngine(DEVICE)
        message = (
            r"83 × 61 with about [\d,]+ entries.* need about \d+ kB of the GPU's memory; 10 kB is free.*local"
        )
        with pytest.raises(MemoryLimitError, match=message):
            engine.load(matrix("float32"))
        rows = ExactRows(graphs.karate(), window=3, negative=1, dtype="float32", device=DEVICE)
        with pytest.raises(MemoryLimitError, match="34 × 34 with about"):
            engine.build(rows)

    def test_memory_decides_where_density_would_choose_otherwise(self, monkeypatch):
        X = sparse.csr_array(sparse.random_array((200, 300), density=0.15, rng=0, dtype=np.float32))
        beside = 4 * 700 * 4
        monkeypatch.setattr(
            "boostne.factorization.cuda.engine._free_memory", lambda device: 16 * X.nnz + beside
        )
        engine = CudaEngine(DEVICE, dense_share=0.1, block_entries=700)
        engine.load(X)  # dense it would be 240 kB
        assert set(engine.storage) == {"sparse"}

    def test_memory_is_freed_with_the_engine(self):
        engine, context = loaded(ENGINES["dense"], matrix("float32"))
        engine.update(context, engine.sweep(context, 2), 2)
        factors = weakref.ref(engine._factors)
        gc.disable()  # on a GPU nobody would call it in time
        try:
            del engine, context
            assert factors() is None
        finally:
            gc.enable()


class TestRowsBuiltOnTheDevice:
    @pytest.mark.parametrize("name", graphs.DRAWABLE)
    @pytest.mark.parametrize("share", [0.0, 2.0])
    def test_exact(self, name, share, dtype):
        graph = graphs.DRAWABLE[name]()
        expected = exact_deepwalk(WalkColumns(graph, window=4, negative=1, dtype=dtype))
        engine = CudaEngine(DEVICE, dense_share=share, block_entries=3 * graph.n_nodes)
        seen = []
        engine.build(
            ExactRows(graph, window=4, negative=1, dtype=dtype, device=DEVICE), lambda *at: seen.append(at)
        )
        assert seen[-1] == (graph.n_nodes, graph.n_nodes)
        assert engine.dtype == dtype
        if name != "star":  # whose entries are exactly 1 before the logarithm: rounding keeps or drops them
            assert engine.nnz == expected.nnz
        assert engine.norm2 == pytest.approx(
            np.sum(expected.data.astype(float) ** 2), rel=TOLERANCE[dtype], abs=1e-9
        )

    def test_the_rows_in_any_order(self, dtype):
        graph = graphs.weighted()
        expected = exact_deepwalk(WalkColumns(graph, window=4, negative=1, dtype=dtype)).toarray()
        rows = ExactRows(graph, window=4, negative=1, dtype=dtype, device=DEVICE)
        out = torch.empty(3, 6, dtype=getattr(torch, dtype), device=DEVICE)
        rows(np.array([4, 0, 3]), out)
        np.testing.assert_allclose(out.cpu().numpy(), expected[[4, 0, 3]], atol=1e-5)

    @pytest.mark.parametrize("most", [0, 1000])
    def test_spectral(self, dtype, most, monkeypatch):
        monkeypatch.setattr("boostne.matrices.deepwalk.device.DENSE_NODES", most)
        graph = graphs.karate()
        settings = {"window": 4, "negative": 1.0, "eigenpairs": 20, "dtype": dtype, "seed": 0}
        expected = spectral_deepwalk(graph, threads=1, **settings).toarray()
        out = torch.empty(34, 34, dtype=getattr(torch, dtype), device=DEVICE)
        SpectralRows(graph, device=DEVICE, **settings)(np.arange(34), out)
        np.testing.assert_allclose(out.cpu().numpy(), expected, atol=1e-5)


class TestKernels:
    @pytest.mark.parametrize("width", [3, 16])
    def test_hals_and_the_summary_of_the_factor(self, width, dtype):
        rng = np.random.default_rng(0)
        X, P = rng.random((40, width)).astype(dtype), 3 * rng.random((2, 40, width)).astype(dtype)
        gram = gram_of(rng.random((30, width)))
        gram[1], gram[:, 1] = 0, 0
        expected, found = X.copy(), torch.tensor(X)
        hals_sweeps(expected, P.sum(0), gram, 3)
        partial, summary = gpu.allocate_partials(1, width, "cpu"), torch.empty(width + 1, width).double()
        gpu.hals_update(found, torch.tensor(P), torch.tensor(gram), 3, partial)
        gpu.reduce_partials(partial, summary)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-4 if dtype == "float32" else 1e-12)
        np.testing.assert_allclose(summary[:-1], gram_of(found.numpy()), rtol=1e-12)
        np.testing.assert_allclose(
            summary[-1], np.sum(P.sum(0).astype(float) * found.numpy(), axis=0), rtol=ROUNDING[dtype]
        )

    @pytest.mark.parametrize("make", ["from dense", "from entries"])
    def test_a_sparse_matrix_shrinks_in_place(self, make):
        X = matrix("float64")
        coo = X.tocoo()
        R = gpu.csr_from_dense(torch.tensor(X.toarray()))
        if make == "from entries":
            row, column, data = (torch.tensor(np.asarray(part)) for part in (coo.row, coo.col, coo.data))
            R = gpu.csr_from_entries(row, column, data, X.shape[0])
        assert R.nnz == X.nnz
        where = R.data.data_ptr()
        rng = np.random.default_rng(1)
        U, V = rng.random((X.shape[0], 5)), rng.random((X.shape[1], 5)) / 10
        left = np.maximum(X.toarray() - U @ V.T, 0)
        norms = gpu.csr_deflate(R, torch.tensor(U), torch.tensor(V))
        assert (R.nnz, R.data.data_ptr()) == (np.count_nonzero(left), where)
        np.testing.assert_allclose(norms.numpy(), np.sum(left**2, axis=1))
        out = torch.ones(X.shape[0], 5, dtype=torch.float64)
        gpu.csr_matmul(R, torch.tensor(V), out, add=True)
        np.testing.assert_allclose(out.cpu().numpy(), left @ V + 1)

    def test_float32_products_are_float32_and_the_setting_comes_back(self):
        matmul = torch.backends.cuda.matmul
        before = matmul.fp32_precision
        matmul.fp32_precision = "tf32"
        try:
            with gpu.float32_products():
                assert matmul.fp32_precision == "ieee"
            assert matmul.fp32_precision == "tf32"
        finally:
            matmul.fp32_precision = before

    def test_sums_are_in_double_precision(self):
        data = torch.full((3000, 7), 1e-4)
        data[0, 0] = 1e4
        assert float(gpu.norm2(data)) == pytest.approx(1e8 + 20999e-8, rel=1e-13)
        assert float(gpu.norm2(data.flatten())) == pytest.approx(1e8 + 20999e-8, rel=1e-13)
        assert float(gpu.norm2(data[:0])) == 0
        np.testing.assert_allclose(gpu.gram_of(data).numpy(), gram_of(data.numpy()), rtol=1e-13)


def small(**changes):
    return BoostNE(**{"dimensions": 6, "levels": 3, "window": 3} | changes)


@pytest.fixture
def on_the_cpu(monkeypatch):
    """Let PyTorch's CPU device stand in for a GPU where there is none."""
    monkeypatch.setattr("boostne.factorization.cuda.engine.gpu_device", lambda: DEVICE)


class TestBoostNE:
    @pytest.mark.parametrize(
        "changes", [{}, {"approximation": "spectral", "eigenpairs": 12}, {"connectivity": "adamic-adar"}]
    )
    def test_the_engine_makes_no_difference(self, on_the_cpu, changes):
        local = small(**changes).fit(graphs.karate())
        cuda = small(engine="cuda", **changes).fit(graphs.karate())
        assert (local.engine_, cuda.engine_) == ("local", "cuda")
        np.testing.assert_allclose(cuda.residual_norms_, local.residual_norms_, rtol=1e-4)

    @pytest.mark.parametrize("form", ["auto", "push"])
    def test_a_run_that_goes_on_from_its_checkpoint(self, on_the_cpu, tmp_path, form):
        whole = small(engine="cuda", approximation=form).fit(graphs.karate())
        small(engine="cuda", approximation=form, checkpoint=tmp_path).fit(graphs.karate())
        (last,) = tmp_path.glob("*3*.npz")
        last.unlink()
        again = small(engine="cuda", approximation=form, checkpoint=tmp_path).fit(graphs.karate())
        assert again.approximation_ == whole.approximation_ == {"auto": "exact"}.get(form, form)
        np.testing.assert_array_equal(again.embedding_.vectors, whole.embedding_.vectors)

    def test_auto_takes_the_gpu_and_says_so(self, on_the_cpu, caplog):
        with caplog.at_level(logging.INFO, "boostne"):
            assert small(engine="auto").fit(graphs.karate()).engine_ == "cuda"
        assert "the residual lives on the GPU" in caplog.text

    def test_auto_stays_local_where_x_does_not_fit(self, on_the_cpu, monkeypatch, caplog):
        monkeypatch.setattr("boostne.factorization.cuda.engine._free_memory", lambda device: 1000)
        with caplog.at_level(logging.INFO, "boostne"):
            model = small(engine="auto").fit(graphs.karate())
        assert model.engine_ == "local"
        assert "the GPU's memory; 1.0 kB is free" in caplog.text
        np.testing.assert_array_equal(model.embedding_.vectors, small().fit_transform(graphs.karate()))

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
    def test_no_gpu(self):
        with pytest.raises(EngineError, match=r"needs a GPU, and PyTorch .* sees none here.*engine='local'"):
            small(engine="cuda").fit(graphs.karate())
        assert small(engine="auto").fit(graphs.karate()).engine_ == "local"

    def test_no_triton(self, monkeypatch):
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        monkeypatch.setattr("boostne.factorization.cuda.engine.find_spec", lambda name: None)
        with pytest.raises(EngineError, match=r"needs Triton.*pip install triton.*engine='local'"):
            small(engine="cuda").fit(graphs.karate())

    def test_no_pytorch(self, monkeypatch):
        monkeypatch.setattr(loading, "find_spec", lambda name: None)
        with pytest.raises(EngineError, match=r'pip install "boostne\[gpu\]", or use engine=\'local\''):
            small(engine="cuda").fit(graphs.karate())
        assert small(engine="auto").fit(graphs.karate()).engine_ == "local"

    def test_the_local_engine_imports_no_pytorch(self):
        import subprocess

        code = (
            "import sys; from boostne import BoostNE; "
            "BoostNE(2, levels=1, window=2).fit([(0, 1), (1, 2), (2, 0)]); assert 'torch' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_memory_that_runs_out_all_the_same(self, on_the_cpu, monkeypatch):
        def fail(*_):
            raise torch.OutOfMemoryError("tried to allocate 2 GiB")

        monkeypatch.setattr("boostne.factorization.cuda.blocks.DenseBlock.deflate", fail)
        with pytest.raises(
            MemoryLimitError, match=r"memory ran out .tried to allocate 2 GiB.*engine='local'"
        ):
            small(engine="cuda").fit(graphs.karate())
