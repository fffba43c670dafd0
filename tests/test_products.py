"""Products with a dense block, and rows of the GraRep matrix, against the reference kernels and NumPy."""

import numpy as np
import pytest
from scipy import sparse
from tests import graphs
from tests.test_kernels import ALL_KERNELS, MATRICES, NATIVE

from boostne.kernels import get_kernels, sharded_csr
from boostne.kernels.csr_graph import TransitionGraph
from boostne.kernels.layout import tile_width
from boostne.kernels.reference import ReferenceKernels
from boostne.kernels.sharded_csr import ShardedCSR

TOLERANCE = {"float32": 1e-6, "float64": 1e-13}


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture
def many_shards(monkeypatch):
    monkeypatch.setattr(sharded_csr, "MIN_SHARD_ENTRIES", 1)
    monkeypatch.setattr(sharded_csr, "ROW_ENTRIES_PER_SHARD", 1)


@pytest.mark.parametrize("isa", ALL_KERNELS)
@pytest.mark.parametrize("width", [1, 8, 21, 64])
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.usefixtures("many_shards")
def test_products_match_numpy(isa, name, width, dtype):
    kernels, matrix = get_kernels(isa, 2), MATRICES[name].astype(dtype)
    R = ShardedCSR.from_csr(matrix)
    V = np.random.default_rng(0).normal(size=(matrix.shape[1], width))
    dense = matrix.toarray().astype(np.float64)  # float32 entries are converted to float64, so both dtypes are exact
    np.testing.assert_allclose(kernels.product(R, V), dense @ V, atol=1e-12)
    np.testing.assert_allclose(kernels.gram_product(R, V), dense.T @ (dense @ V), atol=1e-11)


@pytest.mark.parametrize("isa", ALL_KERNELS)
@pytest.mark.usefixtures("many_shards")
def test_averages_match_numpy(isa, dtype):
    graph = weighted()
    R = ShardedCSR.from_csr(graph.adjacency.astype(dtype))
    rng = np.random.default_rng(0)
    own, neighbors = rng.random((2, graph.n_nodes))
    V = rng.normal(size=(graph.n_nodes, tile_width(np.float64)))
    found = []
    for threads in (1, 3):
        averages = np.full_like(V, np.nan)
        get_kernels(isa, threads).average(R, own, neighbors, V, averages)
        found.append(averages)
    dense = graph.adjacency.toarray().astype(dtype).astype(np.float64)
    np.testing.assert_allclose(found[0], own[:, None] * V + neighbors[:, None] * (dense @ V), atol=1e-12)
    np.testing.assert_array_equal(*found)
    if isa in NATIVE:
        with pytest.raises(ValueError, match="do not fit"):
            get_kernels(isa).average(R, own, neighbors, V[:, 1:], averages)
        wide = ShardedCSR.from_csr(sparse.csr_array(np.ones((len(own), len(own) + 1), dtype)))
        with pytest.raises(ValueError, match=r"do not fit \d+ rows and \d+ columns"):
            get_kernels(isa).average(wide, own, neighbors, V, averages)


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.usefixtures("many_shards")
def test_products_do_not_depend_on_threads(isa, dtype):
    R = ShardedCSR.from_csr(MATRICES["tall"].astype(dtype))
    assert R.n_shards > 2
    V = np.random.default_rng(0).normal(size=(R.n_columns, 24))
    one, many = (get_kernels(isa, threads) for threads in (1, 5))
    for name in ("product", "gram_product"):
        np.testing.assert_array_equal(getattr(one, name)(R, V), getattr(many, name)(R, V))


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("name", ["karate", "weighted"])
def test_step_rows_match_the_reference(isa, name, steps, dtype):
    graph = {"karate": graphs.karate, "weighted": weighted}[name]()
    A = graph.adjacency
    transitions = TransitionGraph(
        A.indptr.astype(np.int64),
        A.indices.astype(np.int32),
        A.data.astype(dtype) if graph.weighted else None,
        (1 / graph.degrees).astype(dtype),
    )
    scales = transitions.inverse_degree, (graph.n_nodes * graph.degrees).astype(dtype)
    actual, expected = (
        to_dense(kernels.step_rows(transitions, scales, steps, range(3, 30)), graph.n_nodes)
        for kernels in (get_kernels(isa, 2), ReferenceKernels())
    )
    assert expected.any(axis=1).all()
    np.testing.assert_allclose(actual, expected, atol=10 * TOLERANCE[dtype])


def weighted():
    ends = np.random.default_rng(0).integers(60, size=(2, 300))
    return graphs.Graph.from_indices(np.arange(60), *ends, np.random.default_rng(1).random(300) + 0.1)


def to_dense(rows, n_columns):
    dense = np.zeros((len(rows), n_columns))
    for row, (columns, values) in zip(dense, rows, strict=True):
        row[columns] = values
    return dense
