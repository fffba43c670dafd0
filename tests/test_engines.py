"""The CUDA engine: storage, rows built on the device, operations, and BoostNE on it.

Without a GPU, PyTorch's CPU device takes its place. The contract of all engines is in test_engine_contract.
"""

import gc
import logging
import math
import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch
from scipy import sparse
from tests import graphs
from tests.parameters import boostne
from tests.test_engine_contract import DEVICE, ROUNDING, TOLERANCE, matrix

from boostne import Graph
from boostne.errors import EngineError, MemoryLimitError
from boostne.factorization import LevelSettings, boost, cuda, random_start
from boostne.factorization.cuda.engine import CudaEngine
from boostne.kernels.cuda import operations as gpu
from boostne.kernels.reference.factorization import gram_of, hals_sweeps
from boostne.matrices import CSRSource
from boostne.matrices.deepwalk.device import ExactDeviceRows, SpectralDeviceRows
from boostne.matrices.deepwalk.exact import ExactSource
from boostne.matrices.deepwalk.spectral import SpectralSource

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


def loaded(X, **options):
    engine = CudaEngine(DEVICE, **options)
    engine.load(CSRSource(X))
    return engine


class TestStorage:
    def test_a_block_that_has_emptied_becomes_sparse(self):
        engine = loaded(matrix("float32"), dense_share=0.25)
        assert engine.storage == ["dense"]
        start = random_start(0, engine.shape[1], 4, engine.dtype)
        assert len(list(boost(engine, LevelSettings(4, 1e-4, 30, 3), 4, start))) == 4
        assert engine.storage == ["sparse"]

    @pytest.mark.parametrize(("share", "kind"), [(0.0, "dense"), (2.0, "sparse")])
    def test_rows_are_split_into_blocks(self, share, kind):
        engine = loaded(matrix("float32"), dense_share=share, block_entries=700)
        assert set(engine.storage) == {kind}
        assert len(engine.storage) > 3

    def test_a_matrix_that_does_not_fit_is_an_error_with_sizes(self, monkeypatch):
        monkeypatch.setattr("boostne.factorization.cuda.engine._free_memory", lambda device: 10_000)
        message = r"83 × 61 with about [\d,]+ entries.* need about \d+ kB of the GPU's memory; 10 kB is free.*local"
        with pytest.raises(MemoryLimitError, match=message):
            loaded(matrix("float32"))
        source = ExactSource(graphs.karate(), window=3, negative=1, dtype="float32")
        with pytest.raises(MemoryLimitError, match="34 × 34 with about"):
            CudaEngine(DEVICE).load(source)

    def test_memory_takes_precedence_over_density(self, monkeypatch):
        X = sparse.csr_array(sparse.random_array((200, 300), density=0.15, random_state=0, dtype=np.float32))
        block_bytes = 4 * 700 * 4
        monkeypatch.setattr("boostne.factorization.cuda.engine._free_memory", lambda device: 16 * X.nnz + block_bytes)
        engine = loaded(X, dense_share=0.1, block_entries=700)  # dense it would take 240 kB
        assert set(engine.storage) == {"sparse"}

    def test_memory_is_freed_with_the_engine(self):
        engine = loaded(matrix("float32"), dense_share=0.0)
        engine.start_level(random_start(0, engine.shape[1], 3, engine.dtype)(0))
        engine.step(2)
        level = weakref.ref(engine._level)
        gc.disable()  # without reference cycles, GPU memory is freed at once
        try:
            del engine
            assert level() is None
        finally:
            gc.enable()


class TestRowsBuiltOnTheDevice:
    @pytest.mark.parametrize("name", graphs.DRAWABLE)
    @pytest.mark.parametrize("share", [0.0, 2.0])
    def test_exact(self, name, share, dtype):
        graph = graphs.DRAWABLE[name]()
        source = ExactSource(graph, window=4, negative=1, dtype=dtype)
        expected, _ = source.build()
        engine = CudaEngine(DEVICE, dense_share=share, block_entries=3 * graph.n_nodes)
        seen = []
        engine.load(source, seen.append)
        assert (seen[-1].stage, seen[-1].done) == ("connectivity", 1.0)
        assert engine.dtype == dtype
        if name != "star":  # whose entries are exactly 1 before the logarithm: rounding keeps or drops them
            assert engine.nnz == expected.nnz
        assert engine.norm2 == pytest.approx(np.sum(expected.data.astype(float) ** 2), rel=TOLERANCE[dtype], abs=1e-9)

    def test_rows_in_any_order(self, dtype):
        graph = graphs.weighted()
        expected = ExactSource(graph, window=4, negative=1, dtype=dtype).build()[0].toarray()
        rows = ExactDeviceRows(graph, window=4, negative=1, dtype=dtype, device=DEVICE)
        out = torch.empty(3, 6, dtype=getattr(torch, dtype), device=DEVICE)
        rows(np.array([4, 0, 3]), out)
        np.testing.assert_allclose(out.cpu().numpy(), expected[[4, 0, 3]], atol=1e-5)

    @pytest.mark.parametrize("dense_nodes", [0, 1000])
    def test_spectral(self, dtype, dense_nodes, monkeypatch):
        monkeypatch.setattr("boostne.matrices.deepwalk.device.DENSE_NODES", dense_nodes)
        graph = graphs.karate()
        settings = {"window": 4, "negative": 1.0, "eigenpairs": 20, "dtype": dtype, "seed": 0}
        expected = SpectralSource(graph, threads=1, **settings).build()[0].toarray()
        out = torch.empty(34, 34, dtype=getattr(torch, dtype), device=DEVICE)
        SpectralDeviceRows(graph, device=DEVICE, **settings)(np.arange(34), out)
        np.testing.assert_allclose(out.cpu().numpy(), expected, atol=1e-5)


class TestOperations:
    @pytest.mark.parametrize("width", [3, 16])
    def test_hals_update_and_the_summary_of_the_factor(self, width, dtype):
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

    def test_float32_products_restores_the_global_setting(self):
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
        data = torch.full((3000, 7), 1e-2)
        data[0, 0] = 1e2
        for part in (data, data.flatten()):
            assert_sum(gpu.norm2(part), data.flatten(), data.flatten())
        assert float(gpu.norm2(data[:0])) == 0
        gram = gpu.gram_of(data)
        for i in range(7):
            for j in range(7):
                assert_sum(gram[i, j], data[:, i], data[:, j])
        with pytest.raises(AssertionError):
            assert_sum(data.square().sum(), data.flatten(), data.flatten())  # in float32


def assert_sum(found, x, y):
    """Assert that a number is ``sum(x y)`` up to the rounding errors of a float64 sum.

    Products of float32 numbers are exact in float64, and a sum of n terms in any order has an error of at most
    ``n u sum |terms|`` with the unit roundoff ``u = eps / 2``: Higham, "Accuracy and Stability of Numerical
    Algorithms", section 4.2.
    """
    terms = (x.double() * y.double()).tolist()
    bound = len(terms) * np.finfo(np.float64).eps / 2 * math.fsum(map(abs, terms))
    assert abs(float(found) - math.fsum(terms)) <= bound


def small(**changes):
    return boostne(**{"dimensions": 6, "levels": 3, "window": 3} | changes)


@pytest.fixture
def torch_device(monkeypatch):
    """Use PyTorch's CPU device in place of a GPU if there is none."""
    monkeypatch.setattr("boostne.factorization.cuda.engine.gpu_device", lambda: DEVICE)


class TestBoostNE:
    @pytest.mark.parametrize(
        "changes", [{}, {"approximation": "spectral", "eigenpairs": 12}, {"connectivity": "adamic-adar"}]
    )
    def test_engines_agree(self, torch_device, changes):
        local = small(**changes).fit(graphs.karate())
        cuda = small(engine="cuda", **changes).fit(graphs.karate())
        assert (local.engine_, cuda.engine_) == ("local", "cuda")
        np.testing.assert_allclose(cuda.residual_norms_, local.residual_norms_, rtol=1e-4)

    @pytest.mark.parametrize("form", ["auto", "push"])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_engines_agree_on_directed_graphs(self, torch_device, form, dtype):
        ends = np.random.default_rng(0).integers(80, size=(2, 300))
        graph = Graph.from_indices(np.arange(80), ends[0] // 2 * 2, ends[1], directed=True).without_isolated()
        local, cuda = (small(approximation=form, dtype=dtype, engine=engine).fit(graph) for engine in ("local", "cuda"))
        assert cuda.approximation_ == {"auto": "exact"}.get(form, form)
        np.testing.assert_allclose(cuda.residual_norms_, local.residual_norms_, rtol=1e-4)
        if dtype == "float64":
            np.testing.assert_allclose(cuda.embedding_.vectors, local.embedding_.vectors, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(cuda.targets_.vectors, local.targets_.vectors, rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_directed_rows_equal_those_of_the_host(self, dtype, weighted):
        rng = np.random.default_rng(0)
        u, v = rng.integers(60, size=(2, 200))
        graph = Graph.from_indices(np.arange(62), u // 2 * 2, v, rng.random(200) if weighted else None, directed=True)
        for window in (1, 4):
            options = {"window": window, "negative": 0.7, "dtype": dtype}
            X = ExactSource(graph, **options).build()[0].toarray()
            rows = torch.empty(20, 62, dtype=getattr(torch, dtype), device=DEVICE)
            ExactDeviceRows(graph, device=DEVICE, **options)(np.arange(30, 50), rows)
            np.testing.assert_allclose(rows.cpu().numpy(), X[30:50], atol=TOLERANCE[dtype] * X.max())

    @pytest.mark.parametrize("form", ["auto", "push"])
    def test_resumes_from_a_checkpoint_with_the_same_bits(self, torch_device, tmp_path, form):
        whole = small(engine="cuda", approximation=form).fit(graphs.karate())
        small(engine="cuda", approximation=form, checkpoint=tmp_path).fit(graphs.karate())
        (last,) = tmp_path.glob("*3*.npz")
        last.unlink()
        resumed = small(engine="cuda", approximation=form, checkpoint=tmp_path).fit(graphs.karate())
        assert resumed.approximation_ == whole.approximation_ == {"auto": "exact"}.get(form, form)
        np.testing.assert_array_equal(resumed.embedding_.vectors, whole.embedding_.vectors)

    def test_auto_uses_the_gpu_and_logs_it(self, torch_device, caplog):
        with caplog.at_level(logging.INFO, "boostne"):
            assert small(engine="auto").fit(graphs.karate()).engine_ == "cuda"
        assert "the residual is stored on the GPU" in caplog.text

    def test_auto_falls_back_to_local_if_x_does_not_fit(self, torch_device, monkeypatch, caplog):
        monkeypatch.setattr("boostne.factorization.cuda.engine._free_memory", lambda device: 1000)
        with caplog.at_level(logging.INFO, "boostne"):
            model = small(engine="auto").fit(graphs.karate())
        assert model.engine_ == "local"
        assert "the GPU's memory; 1.0 kB is free" in caplog.text
        np.testing.assert_array_equal(model.embedding_.vectors, small().fit_transform(graphs.karate()))

    @pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
    def test_without_a_gpu(self):
        with pytest.raises(EngineError, match=r"needs a GPU, and PyTorch .* finds none here.*engine='local'"):
            small(engine="cuda").fit(graphs.karate())
        assert small(engine="auto").fit(graphs.karate()).engine_ == "local"

    def test_without_triton(self, monkeypatch):
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        monkeypatch.setattr("boostne.factorization.cuda.engine.find_spec", lambda name: None)
        with pytest.raises(EngineError, match=r"needs Triton.*pip install triton.*engine='local'"):
            small(engine="cuda").fit(graphs.karate())

    def test_without_pytorch(self, monkeypatch):
        monkeypatch.setattr(cuda, "find_spec", lambda name: None)
        with pytest.raises(EngineError, match=r'pip install "boostne\[gpu\]", or use engine=\'local\''):
            small(engine="cuda").fit(graphs.karate())
        assert small(engine="auto").fit(graphs.karate()).engine_ == "local"

    def test_local_engine_does_not_import_pytorch(self):
        code = (
            "import sys; from boostne import BoostNE; "
            "BoostNE(2, levels=1, window=2).fit([(0, 1), (1, 2), (2, 0)]); assert 'torch' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_running_out_of_memory_during_a_fit(self, torch_device, monkeypatch):
        def fail(*_):
            raise torch.OutOfMemoryError("tried to allocate 2 GiB")

        monkeypatch.setattr("boostne.factorization.cuda.blocks.DenseBlock.deflate", fail)
        with pytest.raises(MemoryLimitError, match=r"ran out of memory .tried to allocate 2 GiB.*engine='local'"):
            small(engine="cuda").fit(graphs.karate())
