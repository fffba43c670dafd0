"""Products with a dense block, and GraRep's rows: each kernel against its readable twin, and that against NumPy."""

import numpy as np
import pytest
from tests import graphs
from tests.test_kernels import MATRICES, NATIVE

from boostne.kernels import get_kernels
from boostne.kernels import sharded_csr as sharded
from boostne.kernels.reference.kernels import ReferenceKernels
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.matrices.grarep import StepRows

EVERY = ["reference", *NATIVE]
TOLERANCE = {"float32": 1e-6, "float64": 1e-13}

every = pytest.mark.parametrize("isa", EVERY)


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture
def many_shards(monkeypatch):
    monkeypatch.setattr(sharded, "MIN_SHARD_ENTRIES", 1)
    monkeypatch.setattr(sharded, "ROW_ENTRIES_PER_SHARD", 1)


@every
@pytest.mark.parametrize("width", [1, 8, 21, 64])
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.usefixtures("many_shards")
def test_products(isa, name, width, dtype):
    kernels, matrix = get_kernels(isa, 2), MATRICES[name].astype(dtype)
    R = ShardedCSR.from_csr(matrix)
    V = np.random.default_rng(0).normal(size=(matrix.shape[1], width))
    dense = matrix.toarray().astype(np.float64)  # float32 entries are widened, so both precisions are exact
    np.testing.assert_allclose(kernels.product(R, V), dense @ V, atol=1e-12)
    np.testing.assert_allclose(kernels.gram_product(R, V), dense.T @ (dense @ V), atol=1e-11)


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.usefixtures("many_shards")
def test_any_number_of_threads(isa, dtype):
    R = ShardedCSR.from_csr(MATRICES["tall"].astype(dtype))
    assert R.n_shards > 2
    V = np.random.default_rng(0).normal(size=(R.n_columns, 24))
    one, many = (get_kernels(isa, threads) for threads in (1, 5))
    for name in ("product", "gram_product"):
        np.testing.assert_array_equal(getattr(one, name)(R, V), getattr(many, name)(R, V))


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("name", ["karate", "weighted"])
def test_step_rows(isa, name, steps, dtype):
    graph = {"karate": graphs.karate, "weighted": weighted}[name]()
    rows = StepRows(graph, steps, shift=None, dtype=dtype)
    scales = rows._inverse_degree, rows._to
    arguments = (rows._indptr, rows._indices, rows._weights, rows._inverse_degree, scales, steps)
    part = range(3, 30)
    made = get_kernels(isa, 2).step_rows(*arguments, part)
    expected = ReferenceKernels().step_rows(*arguments, part)
    for got, twin in zip(filled(made, graph), filled(expected, graph), strict=True):
        np.testing.assert_allclose(got, twin, atol=10 * TOLERANCE[dtype])


def weighted():
    ends = np.random.default_rng(0).integers(60, size=(2, 300))
    return graphs.Graph.from_indices(np.arange(60), *ends, np.random.default_rng(1).random(300) + 0.1)


def filled(rows, graph):
    dense = np.zeros((len(rows), graph.n_nodes))
    for row, (at, values) in zip(dense, rows, strict=True):
        row[at] = values
    return dense
