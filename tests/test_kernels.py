"""Compiled kernels on every instruction set of this machine against the reference kernels, and those against loops."""

import platform
import re
from functools import cache, reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from tests import graphs, reference

from boostne.errors import ParameterError
from boostne.factorization import LocalEngine
from boostne.kernels import column_blocked_csr, get_kernels, instruction_set, sharded_csr
from boostne.kernels.column_blocked_csr import ColumnBlockedCSR, as_residual
from boostne.kernels.layout import aligned_empty, chunk_columns, padded_factor, push_chunk_rows, row_chunks
from boostne.kernels.native import bindings, library
from boostne.kernels.reference import ReferenceKernels
from boostne.kernels.reference.factorization import gram_of
from boostne.kernels.sharded_csr import ShardedCSR, cut_rows
from boostne.kernels.tree_reduction import merge_partials, sequential_sum, tree_nodes, tree_sum
from boostne.matrices import CSRSource
from boostne.matrices.deepwalk.exact import ExactSource

WIDTHS = [8, 16, 32, 48, 128]
TOLERANCE = {"float32": 2e-4, "float64": 1e-10}


def supported_instruction_sets():
    names = ["baseline"]  # listed even without the library, so that the tests fail then
    for name in bindings.INSTRUCTION_SETS[1:]:
        try:
            get_kernels(name)
        except ParameterError:
            continue
        names.append(name)
    return names


NATIVE = supported_instruction_sets()
ALL_KERNELS = ["reference", *NATIVE]


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture
def many_shards(monkeypatch):
    """Split even small matrices into several shards."""
    monkeypatch.setattr(sharded_csr, "MIN_SHARD_ENTRIES", 1)
    monkeypatch.setattr(sharded_csr, "ROW_ENTRIES_PER_SHARD", 1)
    monkeypatch.setattr(sharded_csr, "MAX_SHARDS", 7)


def random_matrix(n_rows, n_columns, density, seed=0):
    rng = np.random.default_rng(seed)
    return sparse.random_array((n_rows, n_columns), density=density, random_state=rng, format="csr")


def with_gaps():
    """Return a matrix with empty rows and columns at both ends and in the middle."""
    matrix = random_matrix(70, 50, 0.3).toarray()
    matrix[[0, 1, 33, 34, 35, 69]] = 0
    matrix[:, [0, 20, 21, 49]] = 0
    return sparse.csr_array(matrix)


def one_long_row():
    matrix = random_matrix(40, 1500, 0.002).tolil()
    matrix[7] = np.random.default_rng(1).random(1500)
    return sparse.csr_array(matrix)


MATRICES = {
    "plain": random_matrix(60, 40, 0.2),
    "wide": random_matrix(30, 200, 0.1),
    "tall": random_matrix(600, 7, 0.4),
    "one row": random_matrix(1, 50, 0.5),
    "one column": random_matrix(50, 1, 0.5),
    "gaps": with_gaps(),
    "long row": one_long_row(),
    "empty": sparse.csr_array((5, 6)),
}


def row_order(matrix, kernels, **options):
    del kernels
    return ShardedCSR.from_csr(matrix, **options)


def column_blocked(matrix, kernels, **options):
    """Use strips and blocks small enough that there are several of each."""
    return ColumnBlockedCSR.from_csr(matrix.copy(), kernels, bits=4, block_rows=7, **options)


LAYOUTS = [row_order, column_blocked]


def factors(matrix, width, dtype, seed=0):
    """Return non-negative factors with zeros, aligned like those of the engines."""
    rng = np.random.default_rng(seed)
    pair = []
    for rows in matrix.shape:
        values = rng.random((rows, width)) * (rng.random((rows, width)) < 0.5)
        array = aligned_empty((rows, width), dtype)
        array[:] = values
        pair.append(array)
    return pair


def assert_close(actual, expected, dtype, name):
    """Assert equality up to rounding, relative to the largest expected value."""
    expected = np.asarray(expected)
    scale = np.abs(expected).max(initial=0.0) or 1.0
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE[dtype] * scale, err_msg=name)


def summed(swept):
    """Add the results of a sweep over its shards."""
    partials, grams = swept
    return tree_sum(partials), sequential_sum(grams)


def summed_chunks(*sums):
    """Add sums over chunks of rows."""
    return tuple(sequential_sum(terms) for terms in sums)


def run_sweep(kernels, matrix, width, dtype, inner=3, layout=row_order):
    U, V = factors(matrix, width, dtype)
    R = layout(matrix.astype(dtype), kernels)
    return U, *summed(kernels.sweep(R, V, gram_of(V), U, inner=inner))


def run_solve_rows(kernels, matrix, width, dtype, inner=3):
    U, V = factors(matrix, width, dtype)
    kernels.solve_rows(ShardedCSR.from_csr(matrix.astype(dtype)), V, gram_of(V), U, inner=inner)
    return U


def run_hals(kernels, matrix, width, dtype, inner=3):
    U, V = factors(matrix, width, dtype)
    C = np.asarray(matrix.astype(dtype).T @ U)
    gram, product = summed_chunks(*kernels.hals(V, C, gram_of(U), inner=inner))
    return V, gram, product


def run_extrapolate(kernels, matrix, width, dtype, step=0.7):
    _, V = factors(matrix, width, dtype)
    _, W = factors(matrix, width, dtype, seed=1)
    return W, *summed_chunks(kernels.extrapolate(V, W, step))


def run_deflate(kernels, matrix, width, dtype, layout=row_order):
    U, V = factors(matrix, width, dtype)
    R = layout(matrix.astype(dtype), kernels)
    norm2 = kernels.deflate(R, U * U.dtype.type(2 / width), V).sum()
    return R.to_csr(), norm2, R.nnz


def run_walk(kernels, graph, window, dtype, columns=None):
    source = ExactSource(graph, window=window, negative=1, dtype=dtype, kernels=kernels)
    blocks = source.rows(range(graph.n_nodes) if columns is None else columns)
    return [(block.columns, block.values) for block in blocks]


@cache
def reference_result(run, name, width, dtype):
    """Return the result of the reference kernels; the same for every instruction set."""
    return run(ReferenceKernels(), MATRICES[name], width, dtype)


@cache
def matrix_powers(name, window):
    return reference.exact_connectivity(graphs.dense(WALK_GRAPHS[name]()), window, 1)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.usefixtures("many_shards")
class TestAgainstReference:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_sweep(self, isa, width, dtype, layout):
        for name, matrix in MATRICES.items():
            ours = run_sweep(get_kernels(isa), matrix, width, dtype, layout=layout)
            expected = reference_result(run_sweep, name, width, dtype)
            for actual, desired in zip(ours, expected, strict=True):
                assert_close(actual, desired, dtype, name)

    def test_solve_rows(self, isa, width, dtype):
        for name, matrix in MATRICES.items():
            ours = run_solve_rows(get_kernels(isa), matrix, width, dtype)
            assert_close(ours, reference_result(run_solve_rows, name, width, dtype), dtype, name)
            np.testing.assert_array_equal(ours, run_sweep(get_kernels(isa), matrix, width, dtype)[0])

    def test_hals(self, isa, width, dtype):
        for name, matrix in MATRICES.items():
            ours = run_hals(get_kernels(isa), matrix, width, dtype)
            expected = reference_result(run_hals, name, width, dtype)
            for actual, desired in zip(ours, expected, strict=True):
                assert_close(actual, desired, dtype, name)

    def test_extrapolate(self, isa, width, dtype):
        for name, matrix in MATRICES.items():
            ours = run_extrapolate(get_kernels(isa), matrix, width, dtype)
            expected = reference_result(run_extrapolate, name, width, dtype)
            for actual, desired in zip(ours, expected, strict=True):
                assert_close(actual, desired, dtype, name)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_deflate(self, isa, width, dtype, layout):
        for name, matrix in MATRICES.items():
            ours, norm2, nnz = run_deflate(get_kernels(isa), matrix, width, dtype, layout)
            expected, expected_norm2, _ = reference_result(run_deflate, name, width, dtype)
            assert_close(ours.toarray(), expected.toarray(), dtype, name)
            assert_close(norm2, expected_norm2, dtype, name)
            assert nnz == ours.nnz, name


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.usefixtures("many_shards")
class TestReferenceAgainstLoops:
    kernels = ReferenceKernels()
    width = 8

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_sweep(self, name, layout):
        matrix = MATRICES[name]
        R = matrix.toarray()
        before, V = factors(matrix, self.width, "float64")
        U, C, gram = run_sweep(self.kernels, matrix, self.width, "float64", inner=2, layout=layout)
        expected = [reference.hals_row(before[i], V.T @ R[i], V.T @ V, 2) for i in range(len(R))]
        np.testing.assert_allclose(U, expected, atol=1e-12)
        np.testing.assert_allclose(C, R.T @ U, atol=1e-12)
        np.testing.assert_allclose(gram, U.T @ U, atol=1e-12)

    def test_hals(self, name):
        matrix = MATRICES[name]
        U, before = factors(matrix, self.width, "float64")
        V, gram, product = run_hals(self.kernels, matrix, self.width, "float64", inner=2)
        C = matrix.toarray().T @ U
        expected = [reference.hals_row(before[j], C[j], U.T @ U, 2) for j in range(len(C))]
        np.testing.assert_allclose(V, expected, atol=1e-12)
        np.testing.assert_allclose(gram, V.T @ V, atol=1e-12)
        assert product == pytest.approx(np.sum(C * V), abs=1e-12)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_deflate(self, name, layout):
        matrix = MATRICES[name]
        U, V = factors(matrix, self.width, "float64")
        left, norm2, _ = run_deflate(self.kernels, matrix, self.width, "float64", layout)
        expected = reference.residual(matrix.toarray(), U * 2 / self.width, V)
        np.testing.assert_allclose(left.toarray(), expected, atol=1e-14)
        assert norm2 == pytest.approx(np.sum(expected**2))


@pytest.mark.parametrize("isa", ALL_KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS)
class TestSweep:
    def test_dead_components_are_zeroed(self, isa, dtype, layout):
        matrix = MATRICES["gaps"]
        U, V = factors(matrix, 16, dtype)
        U += 1
        V[:, [0, 5]] = 0
        R = layout(matrix.astype(dtype), get_kernels(isa))
        C, gram = summed(get_kernels(isa).sweep(R, V, gram_of(V), U, inner=2))
        for array in (U, C, gram):
            assert not array[:, [0, 5]].any()
        assert (np.delete(U, [0, 5], axis=1) > 0).any(axis=0).all()

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_nan_and_inf_propagate(self, isa, dtype, layout, bad):
        matrix = MATRICES["plain"].astype(dtype)
        matrix.data[17] = bad
        _, C, gram = run_sweep(get_kernels(isa), matrix, 16, dtype, layout=layout)
        assert not np.isfinite(C).all()
        assert not np.isfinite(gram).all()

    def test_result_is_nonnegative_and_nonzero(self, isa, dtype, layout):
        U, C, _ = run_sweep(get_kernels(isa), MATRICES["plain"], 16, dtype, layout=layout)
        assert (U >= 0).all()
        assert (C >= 0).all()
        assert (U > 0).any()


@pytest.mark.parametrize("isa", ALL_KERNELS)
@pytest.mark.parametrize("shards", [1, 2, 3, 6, 8, 13, 16])
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_do_not_depend_on_the_placement_of_shards(isa, shards, workers, dtype, layout):
    matrix = BIG.astype(dtype)
    cuts = np.linspace(0, matrix.shape[0], shards + 1).astype(np.int64)
    U, V = factors(matrix, 16, dtype)
    kernels = get_kernels(isa)

    def sweep(first, last):
        rows = slice(cuts[first], cuts[last])
        part = layout(matrix[rows], kernels, cuts=cuts[first : last + 1] - cuts[first], first_shard=first)
        updated = U[rows].copy()
        partials, grams = kernels.sweep(part, V, gram_of(V), updated, inner=2)
        assert [(node.level, node.index) for node in partials] == tree_nodes(first, last - first)
        return partials, grams, updated

    bounds = np.unique(np.linspace(0, shards, workers + 1).astype(int))
    swept = [sweep(first, last) for first, last in pairwise(bounds)]
    whole, grams, rows = sweep(0, shards)
    merged = reduce(merge_partials, [partials for partials, _, _ in swept])
    np.testing.assert_array_equal(tree_sum(merged), tree_sum(whole))
    np.testing.assert_array_equal(np.concatenate([gram for _, gram, _ in swept]), grams)
    np.testing.assert_array_equal(np.concatenate([updated for _, _, updated in swept]), rows)
    assert_close(tree_sum(whole), matrix.T.astype(float) @ rows.astype(float), dtype, "C")


@pytest.mark.parametrize("isa", ALL_KERNELS)
class TestHals:
    def test_dead_components_are_zeroed(self, isa, dtype):
        matrix = MATRICES["plain"]
        U, V = factors(matrix, 16, dtype)
        U[:, [0, 5]] = 0
        grams, _ = get_kernels(isa).hals(V, np.asarray(matrix.astype(dtype).T @ U), gram_of(U), inner=2)
        assert not V[:, [0, 5]].any()
        assert not grams[:, :, [0, 5]].any()

    def test_nan_and_inf_propagate(self, isa, dtype):
        matrix = MATRICES["plain"]
        U, V = factors(matrix, 16, dtype)
        C = np.asarray(matrix.astype(dtype).T @ U)
        C[3, 2] = np.nan
        grams, products = get_kernels(isa).hals(V, C, gram_of(U), inner=2)
        assert np.isnan(products).any()
        assert np.isnan(grams).any()

    def test_slices_of_whole_chunks_give_the_same_bits(self, isa, dtype):
        kernels, rng = get_kernels(isa, threads=2), np.random.default_rng(0)
        V, C, W = (rng.random((1400, 16)).astype(dtype) for _ in range(3))
        gram_u = gram_of(rng.random((50, 16)))
        cuts = row_chunks(1400)
        assert len(cuts) == 6
        whole = V.copy()
        grams, products = kernels.hals(whole, C, gram_u, inner=2)
        extrapolated = W.copy()
        extrapolated_grams = kernels.extrapolate(whole, extrapolated, 0.7)
        for first, last in ((0, 2), (2, 5), (5, 5)):
            rows = slice(cuts[first], cuts[last])
            own, own_w, chunks = V[rows].copy(), W[rows].copy(), cuts[first : last + 1] - cuts[first]
            found = kernels.hals(own, C[rows], gram_u, inner=2, cuts=chunks)
            np.testing.assert_array_equal(own, whole[rows])
            np.testing.assert_array_equal(found[0], grams[first:last])
            np.testing.assert_array_equal(found[1], products[first:last])
            found = kernels.extrapolate(own, own_w, 0.7, chunks)
            np.testing.assert_array_equal(own_w, extrapolated[rows])
            np.testing.assert_array_equal(found, extrapolated_grams[first:last])


@pytest.mark.parametrize("isa", ALL_KERNELS)
class TestExtrapolate:
    def test_zero_step_copies(self, isa, dtype):
        _, V = factors(MATRICES["plain"], 16, dtype)
        W = np.full_like(V, 7)
        (gram,) = summed_chunks(get_kernels(isa).extrapolate(V, W, 0.0))
        np.testing.assert_array_equal(W, V)
        assert_close(gram, V.astype(float).T @ V.astype(float), dtype, "gram")

    def test_extrapolation_is_clipped_at_zero(self, isa, dtype):
        V = np.full((3, 8), 2.0, dtype)
        W = np.repeat(np.array([[1.0], [2.0], [8.0]], dtype), 8, axis=1)
        get_kernels(isa).extrapolate(V, W, 0.5)
        np.testing.assert_array_equal(W[:, 0], [2.5, 2.0, 0.0])


@pytest.mark.parametrize("isa", ALL_KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("many_shards")
class TestDeflate:
    def test_drops_zeros_and_keeps_the_order(self, isa, dtype, layout):
        # Small integers: the differences are exact, and half of them are zero.
        R = np.array([[3, 0, 1, 5], [0, 0, 0, 0], [2, 2, 0, 1], [1, 4, 1, 1]], dtype)
        U, V = np.zeros((4, 8), dtype), np.zeros((4, 8), dtype)
        U[:, 0], V[:, 0] = [1, 1, 2, 1], [1, 1, 1, 2]
        matrix = layout(sparse.csr_array(R), get_kernels(isa))
        assert matrix.n_shards > 1
        norm2 = get_kernels(isa).deflate(matrix, U, V).sum()
        left = matrix.to_csr()
        np.testing.assert_array_equal(left.toarray(), [[2, 0, 0, 3], [0] * 4, [0] * 4, [0, 3, 0, 0]])
        np.testing.assert_array_equal(left.indices, [0, 3, 1])
        np.testing.assert_array_equal(left.data, [2, 3, 3])
        assert matrix.nnz == 3
        assert norm2 == 22

    def test_repeated_deflation_in_place(self, isa, dtype, layout):
        matrix = MATRICES["gaps"].astype(dtype)
        R = layout(matrix, get_kernels(isa))
        memory = R.data.ctypes.data
        expected = matrix.toarray()
        for seed in range(4):
            U, V = factors(matrix, 8, dtype, seed)
            U *= U.dtype.type(0.1)
            before = R.nnz
            norm2 = get_kernels(isa).deflate(R, U, V).sum()
            expected = reference.residual(expected, U, V)
            assert_close(R.to_csr().toarray(), expected, dtype, f"step {seed}")
            assert R.to_csr().has_sorted_indices
            assert norm2 == pytest.approx(np.sum(expected**2), rel=TOLERANCE[dtype])
            assert 0 < R.nnz < before
        assert R.data.ctypes.data == memory

    def test_deflation_to_an_empty_residual(self, isa, dtype, layout):
        matrix = MATRICES["plain"].astype(dtype)
        U, V = (np.full((rows, 8), 2, dtype) for rows in matrix.shape)
        R = layout(matrix, get_kernels(isa))
        assert get_kernels(isa).deflate(R, U, V).sum() == 0
        assert R.nnz == 0
        assert get_kernels(isa).deflate(R, U, V).sum() == 0

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_nan_and_inf_propagate(self, isa, dtype, layout, bad):
        matrix = MATRICES["plain"].astype(dtype)
        matrix.data[17] = bad
        _, norm2, _ = run_deflate(get_kernels(isa), matrix, 8, dtype, layout)
        assert not np.isfinite(norm2)


WALK_GRAPHS = {
    **graphs.DRAWABLE,
    "49 nodes, some isolated": lambda: graphs.random_graph(49, 3, seed=5),
    "16 nodes": lambda: graphs.random_graph(16, 5),
    "weighted karate": lambda: graphs.scaled(graphs.karate(), 2.5),
}


@pytest.mark.parametrize("isa", ALL_KERNELS)
@pytest.mark.parametrize("name", WALK_GRAPHS)
class TestWalkColumns:
    @pytest.mark.parametrize("window", [1, 2, 5, 10])
    def test_against_matrix_powers(self, isa, name, window, dtype):
        graph = WALK_GRAPHS[name]()
        columns = run_walk(get_kernels(isa), graph, window, dtype)
        expected = matrix_powers(name, window)
        assert len(columns) == graph.n_nodes
        for c, (rows, values) in enumerate(columns):
            assert rows.dtype == np.int32
            assert values.dtype == dtype
            assert (np.diff(rows) > 0).all()
            assert (values > 0).all()
            column = np.zeros(graph.n_nodes)
            column[rows] = values
            np.testing.assert_allclose(column, expected[:, c], atol=1e-5 if dtype == "float32" else 1e-11)

    def test_a_range_of_columns_equals_the_slice(self, isa, name, dtype):
        graph = WALK_GRAPHS[name]()
        whole = run_walk(get_kernels(isa), graph, 5, dtype)
        part = run_walk(get_kernels(isa), graph, 5, dtype, range(1, graph.n_nodes - 1))
        assert len(part) == graph.n_nodes - 2
        for (rows, values), (all_rows, all_values) in zip(part, whole[1:-1], strict=True):
            np.testing.assert_array_equal(rows, all_rows)
            np.testing.assert_allclose(values, all_values, rtol=1e-5)


@pytest.mark.compiled
def test_isolated_nodes_have_empty_columns():
    graph = WALK_GRAPHS["49 nodes, some isolated"]()
    assert 0 < len(graph.isolated) < 49
    for isa in ALL_KERNELS:
        columns = run_walk(get_kernels(isa), graph, 5, "float32")
        assert all(len(columns[c][0]) == 0 for c in graph.isolated)
        assert not any(np.isin(rows, graph.isolated).any() for rows, _ in columns)


def flat(results):
    """Return all values of a nested result as bytes."""
    if isinstance(results, (list, tuple)):
        return b"".join(map(flat, results))
    if sparse.issparse(results):
        return flat([results.indptr, results.indices, results.data])
    return np.ascontiguousarray(results).tobytes()


BIG = random_matrix(1500, 1300, 0.02)


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.usefixtures("many_shards")
class TestBitwiseReproducibility:
    runs = (run_sweep, run_solve_rows, run_hals, run_extrapolate, run_deflate)

    def test_results_do_not_depend_on_threads(self, isa, dtype):
        assert ShardedCSR.from_csr(BIG).n_shards == 7
        for run in self.runs:
            one = flat(run(get_kernels(isa, threads=1), BIG, 16, dtype))
            for threads in (2, 3, 16):
                assert flat(run(get_kernels(isa, threads=threads), BIG, 16, dtype)) == one, run.__name__

    def test_walk_columns_do_not_depend_on_threads(self, isa, dtype):
        graph = graphs.random_graph(300, 6)
        one = flat(run_walk(get_kernels(isa, threads=1), graph, 5, dtype))
        for threads in (2, 3, 16):
            assert flat(run_walk(get_kernels(isa, threads=threads), graph, 5, dtype)) == one

    def test_uninitialized_memory_is_not_read(self, isa, dtype, monkeypatch):
        graph = WALK_GRAPHS["49 nodes, some isolated"]()
        clean = [flat(run(get_kernels(isa), MATRICES["gaps"], 16, dtype)) for run in self.runs]
        clean.append(flat(run_walk(get_kernels(isa), graph, 5, dtype)))
        empty = np.empty

        def poisoned(*arguments, **options):
            array = empty(*arguments, **options)
            array.reshape(-1).view(np.uint8)[:] = 0xFF  # NaN, or -1
            return array

        with monkeypatch.context() as patch:
            patch.setattr(np, "empty", poisoned)
            assert np.isnan(aligned_empty((2, 8), dtype)).all()
            dirty = [flat(run(get_kernels(isa), MATRICES["gaps"], 16, dtype)) for run in self.runs]
            dirty.append(flat(run_walk(get_kernels(isa), graph, 5, dtype)))
        assert dirty == clean

    def test_scratch_memory_is_reused_safely(self, isa, dtype):
        # Scratch memory is kept between calls with different shapes and types.
        kernels = get_kernels(isa)
        first = [flat(run(kernels, MATRICES["gaps"], 16, dtype)) for run in self.runs]
        run_sweep(kernels, BIG, 32, "float64")
        run_walk(kernels, graphs.karate(), 3, "float32")
        assert [flat(run(kernels, MATRICES["gaps"], 16, dtype)) for run in self.runs] == first


@pytest.mark.parametrize("isa", ALL_KERNELS)
@pytest.mark.parametrize("components", [1, 3, 5, 8, 10, 17])
@pytest.mark.usefixtures("many_shards")
def test_engine_padding_does_not_change_the_result(isa, components, dtype):
    matrix = MATRICES["gaps"]
    V = np.random.default_rng(0).random((matrix.shape[1], components))
    engine = LocalEngine(get_kernels(isa))
    engine.load(CSRSource(matrix.astype(dtype)))
    engine.start_level(V.astype(dtype))
    result = engine.step(2)
    U1, V1 = engine.factors()
    U, V, history = reference.hals_level(matrix.toarray(), V, passes=1, sweeps=2)
    assert U1.shape == (70, components)
    assert V1.shape == (50, components)
    assert_close(U1, U, dtype, "U")
    assert_close(V1, V, dtype, "V")
    value = engine.norm2 - 2 * result.product + np.sum(result.gram_u * result.gram_v)
    assert value == pytest.approx(history[0], rel=TOLERANCE[dtype])
    engine.deflate()
    left = reference.residual(matrix.toarray(), U, V)
    assert engine.norm2 == pytest.approx(np.sum(left**2), rel=TOLERANCE[dtype])


class TestShardedCSR:
    @pytest.mark.parametrize("name", MATRICES)
    @pytest.mark.usefixtures("many_shards")
    def test_round_trip(self, name):
        matrix = MATRICES[name]
        R = ShardedCSR.from_csr(matrix)
        back = R.to_csr()
        assert (R.n_rows, R.n_columns, R.nnz) == (*matrix.shape, matrix.nnz)
        assert back.shape == matrix.shape
        np.testing.assert_array_equal(back.toarray(), matrix.toarray())
        np.testing.assert_array_equal(back.indices, matrix.indices)

    @pytest.mark.parametrize("name", MATRICES)
    @pytest.mark.parametrize("max_shards", [1, 2, 7, 64, 1000])
    def test_shards_cover_every_row_once(self, name, max_shards, monkeypatch):
        monkeypatch.setattr(sharded_csr, "MIN_SHARD_ENTRIES", 1)
        monkeypatch.setattr(sharded_csr, "ROW_ENTRIES_PER_SHARD", 0.01)
        monkeypatch.setattr(sharded_csr, "MAX_SHARDS", max_shards)
        matrix = MATRICES[name]
        cuts = cut_rows(matrix.indptr.astype(np.int64), matrix.shape[1])
        assert cuts[0] == 0
        assert cuts[-1] == matrix.shape[0]
        assert (np.diff(cuts) > 0).all()
        assert len(cuts) - 1 <= max_shards

    def test_shards_are_balanced(self, monkeypatch):
        monkeypatch.setattr(sharded_csr, "MIN_SHARD_ENTRIES", 1)
        cuts = cut_rows(BIG.indptr.astype(np.int64), BIG.shape[1])
        entries = np.diff(BIG.indptr[cuts])
        assert len(entries) == 4
        assert entries.max() < 1.1 * entries.min()

    def test_small_matrices_have_one_shard(self):
        assert ShardedCSR.from_csr(MATRICES["plain"]).n_shards == 1

    def test_copy_does_not_modify_the_original(self):
        matrix = MATRICES["plain"].copy()
        kept = matrix.copy()
        R = ShardedCSR.from_csr(matrix)
        R.data[:] = -1
        R.indices[:] = 0
        np.testing.assert_array_equal(matrix.toarray(), kept.toarray())

    def test_without_copy_the_arrays_are_shared(self):
        matrix = MATRICES["plain"].copy()
        R = ShardedCSR.from_csr(matrix, copy=False)
        assert np.shares_memory(R.data, matrix.data)

    def test_indices_are_converted_to_int32(self):
        matrix = MATRICES["plain"].copy()
        matrix.indices = matrix.indices.astype(np.int64)
        assert ShardedCSR.from_csr(matrix).indices.dtype == np.int32


class TestColumnBlockedCSR:
    @pytest.mark.parametrize("isa", ALL_KERNELS)
    @pytest.mark.parametrize("name", MATRICES)
    @pytest.mark.usefixtures("many_shards")
    def test_round_trip(self, name, isa):
        matrix = MATRICES[name]
        R = column_blocked(matrix, get_kernels(isa))
        back = R.to_csr()
        assert (R.n_rows, R.n_columns, R.nnz) == (*matrix.shape, matrix.nnz)
        np.testing.assert_array_equal(back.toarray(), matrix.toarray())
        np.testing.assert_array_equal(back.indices, matrix.indices)

    @pytest.mark.parametrize("bits", [1, 3, 12])
    @pytest.mark.parametrize("block_rows", [1, 5, 1000])
    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("name", MATRICES)
    def test_sorting_matches_the_reference(self, name, bits, block_rows, threads):
        ours, expected = (
            ColumnBlockedCSR.from_csr(MATRICES[name].copy(), kernels, bits=bits, block_rows=block_rows)
            for kernels in (get_kernels(threads=threads), ReferenceKernels())
        )
        for array in ("cuts", "blocks", "rows", "starts", "packed_indices", "data"):
            np.testing.assert_array_equal(getattr(ours, array), getattr(expected, array), err_msg=array)

    def test_entries_are_stored_strip_by_strip(self):
        R = ColumnBlockedCSR.from_csr(sparse.csr_array([[5.0, 0, 6], [0, 7, 8]]), ReferenceKernels(), bits=1)
        np.testing.assert_array_equal(R.data, [5, 7, 6, 8])
        np.testing.assert_array_equal(R.packed_indices, [0b00, 0b11, 0b00, 0b10])
        np.testing.assert_array_equal(R.starts, [[0, 2, 4]])

    @pytest.mark.parametrize("isa", NATIVE)
    def test_results_do_not_depend_on_threads(self, isa, dtype):
        found = []
        for threads in (1, 2, 3):
            kernels = get_kernels(isa, threads=threads)
            U, V = factors(BIG, 16, dtype)
            R = column_blocked(BIG.astype(dtype), kernels)
            C, gram = summed(kernels.sweep(R, V, gram_of(V), U, inner=2))
            found.append([U, C, gram, kernels.deflate(R, U, V), R.to_csr().toarray()])
        for other in found[1:]:
            for a, b in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(a, b)

    def test_layout_depends_on_the_number_of_columns(self, monkeypatch):
        assert isinstance(as_residual(MATRICES["plain"].copy(), get_kernels()), ShardedCSR)
        monkeypatch.setattr(column_blocked_csr, "COLUMN_BLOCKED_FROM", 40)
        assert isinstance(as_residual(MATRICES["plain"].copy(), get_kernels()), ColumnBlockedCSR)
        assert isinstance(as_residual(MATRICES["tall"].copy(), get_kernels()), ShardedCSR)


class TestLayout:
    @pytest.mark.parametrize(("components", "width"), [(1, 8), (8, 8), (9, 16), (16, 16), (17, 32)])
    def test_padded_factor(self, components, width, dtype):
        factor = np.random.default_rng(0).random((5, components)).astype(dtype)
        padded = padded_factor(factor)
        assert padded.shape == (5, width)
        assert padded.dtype == dtype
        assert padded.ctypes.data % 64 == 0
        np.testing.assert_array_equal(padded[:, :components], factor)
        assert not padded[:, components:].any()

    def test_chunk_columns(self):
        assert chunk_columns(1024, np.dtype("float32"), threads=2) == 1024
        assert chunk_columns(10**7, np.dtype("float32"), threads=2) == 64  # two blocks of 16 columns per thread

    def test_push_chunk_rows(self):
        assert push_chunk_rows(1000, 1024, np.dtype("float32")) == 1024
        assert push_chunk_rows(640_000, 1024, np.dtype("float32")) == 10_000  # at most 64 chunks
        assert push_chunk_rows(10**7, 1024, np.dtype("float32")) == 1 << 14
        assert push_chunk_rows(1000, 10**6, np.dtype("float64")) == 64


def test_signatures_match_the_sources():
    code = "".join(path.read_text() for path in Path(library.__file__).parent.glob("*.cpp"))
    found = re.findall(r"BOOSTNE_API \w+ boostne_(\w+?)(_##SUFFIX)?\(([^)]*)\)", code)
    scalars = {"int": "i", "int64_t": "l", "uint64_t": "u", "float": "f", "double": "d"}
    arrays = {"int32_t": "I", "int64_t": "L", "uint32_t": "U", "float": "F", "double": "D"}
    declared = {}
    for name, typed, parameters in found:
        types = [p.replace("const ", "").split() for p in parameters.replace("\\", "").split(",") if p.strip()]
        for suffix, array in (("_f32", "F"), ("_f64", "D")) if typed else (("", ""),):
            declared[name + suffix] = "".join(
                {**arrays, "T": array, "D": array}[kind[:-1]] if kind.endswith("*") else scalars[kind]
                for kind, _ in types
            )
    assert declared.pop("best_isa") == ""  # the only function that returns a value instead of a status
    assert declared == {name: types.replace(" ", "") for name, types in library.SIGNATURES.items()}


class TestGetKernels:
    @pytest.mark.skipif(
        platform.machine() != "x86_64" or not Path("/proc/cpuinfo").exists(), reason="needs the flags of an x86 CPU"
    )
    @pytest.mark.compiled
    def test_the_widest_instruction_set_is_found(self):
        flags = set(re.search(r"^flags\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1].split())
        sets = {"avx512": {"avx512f", "avx512vl", "fma"}, "avx2": {"avx2", "fma"}, "baseline": set()}
        assert NATIVE[-1] == next(name for name, needed in sets.items() if needed <= flags)

    def test_unknown_name(self):
        with pytest.raises(ParameterError, match=r"kernels must be one of reference, baseline.*got 'mmx'"):
            get_kernels("mmx")

    @pytest.mark.compiled
    def test_environment_variable_selects_the_kernels(self, monkeypatch):
        for name in ALL_KERNELS:
            monkeypatch.setenv("BOOSTNE_KERNELS", name)
            assert instruction_set() == name
        monkeypatch.setenv("BOOSTNE_KERNELS", "")
        assert instruction_set() == NATIVE[-1]

    @pytest.mark.compiled
    def test_unsupported_instruction_set(self, monkeypatch):
        monkeypatch.setattr("boostne.kernels.KERNELS", (*NATIVE, "avx1024"))
        monkeypatch.setattr(bindings, "INSTRUCTION_SETS", (*NATIVE, "avx1024"))
        with pytest.raises(ParameterError, match=f"not support avx1024; its best instruction set is {NATIVE[-1]}"):
            get_kernels("avx1024")

    def test_missing_library(self, monkeypatch):
        monkeypatch.delenv("BOOSTNE_KERNELS", raising=False)
        monkeypatch.setattr(library, "find_library", lambda folders: None)
        with pytest.warns(UserWarning, match="without its compiled kernels"):
            assert get_kernels().instruction_set == "reference"
        with pytest.raises(ParameterError, match="'baseline' require the compiled library"):
            get_kernels("baseline")

    @pytest.mark.parametrize("isa", NATIVE)
    def test_strided_arrays_are_rejected(self, isa):
        _, V = factors(MATRICES["plain"], 16, "float32")
        with pytest.raises(
            TypeError, match="C-contiguous array of float32 here; got a non-contiguous array of float32"
        ):
            get_kernels(isa).extrapolate(V[:, ::2], np.zeros_like(V[:, ::2]), 0.0)
