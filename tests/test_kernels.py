"""Every kernel on every instruction set of this machine against its readable twin, and the twin against loops."""

from functools import cache, reduce
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from tests import graphs, reference

from boostne.errors import ParameterError
from boostne.factorization import LocalEngine
from boostne.kernels import column_blocked_csr as striped
from boostne.kernels import get_kernels, instruction_set
from boostne.kernels import sharded_csr as sharded
from boostne.kernels.column_blocked_csr import StripedCSR
from boostne.kernels.native import bindings as native
from boostne.kernels.reference.kernels import ReferenceKernels, gram_of
from boostne.kernels.sharded_csr import ShardedCSR, cut_rows
from boostne.kernels.tree_reduction import join, total, total_in_order, tree_nodes
from boostne.matrices import WalkColumns

WIDTHS = [8, 16, 32, 48, 128]
TOLERANCE = {"float32": 2e-4, "float64": 1e-10}


def on_this_machine():
    names = ["baseline"]  # without the library this one fails, as it should
    for name in native.INSTRUCTION_SETS[1:]:
        try:
            get_kernels(name)
        except ParameterError:
            continue
        names.append(name)
    return names


NATIVE = on_this_machine()
EVERY = ["reference", *NATIVE]


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture
def many_shards(monkeypatch):
    """Cut even small matrices into several shards."""
    monkeypatch.setattr(sharded, "MIN_SHARD_ENTRIES", 1)
    monkeypatch.setattr(sharded, "ROW_ENTRIES_PER_SHARD", 1)
    monkeypatch.setattr(sharded, "MAX_SHARDS", 7)


def random_matrix(n_rows, n_columns, density, seed=0):
    rng = np.random.default_rng(seed)
    return sparse.random_array((n_rows, n_columns), density=density, rng=rng, format="csr")


def with_gaps():
    """Empty rows and columns at both ends and in the middle."""
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


def by_rows(matrix, kernels, **options):
    del kernels
    return ShardedCSR.from_csr(matrix, **options)


def in_strips(matrix, kernels, **options):
    """In strips so narrow and blocks so small that there are several of each."""
    return StripedCSR.from_csr(matrix.copy(), kernels, bits=4, block_rows=7, **options)


LAYOUTS = [by_rows, in_strips]


def factors(matrix, width, dtype, seed=0):
    """Non-negative factors with zeros in them, on a cache-line boundary as the engine has them."""
    rng = np.random.default_rng(seed)
    pair = []
    for rows in matrix.shape:
        values = rng.random((rows, width)) * (rng.random((rows, width)) < 0.5)
        array = native.aligned_empty((rows, width), dtype)
        array[:] = values
        pair.append(array)
    return pair


def close(actual, expected, dtype, name):
    """Equal up to rounding, measured against the largest number expected."""
    expected = np.asarray(expected)
    scale = np.abs(expected).max(initial=0.0) or 1.0
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE[dtype] * scale, err_msg=name)


def summed(swept):
    """Add up what a pass returns for its shards."""
    parts, grams = swept
    return total(parts), total_in_order(grams)


def run_sweep(kernels, matrix, width, dtype, inner=3, layout=by_rows):
    U, V = factors(matrix, width, dtype)
    R = layout(matrix.astype(dtype), kernels)
    return U, *summed(kernels.sweep(R, V, gram_of(V), U, inner=inner))


def run_hals(kernels, matrix, width, dtype, inner=3):
    U, V = factors(matrix, width, dtype)
    C = np.asarray(matrix.astype(dtype).T @ U)
    gram, product = kernels.hals(V, C, gram_of(U), inner=inner)
    return V, gram, product


def run_extrapolate(kernels, matrix, width, dtype, step=0.7):
    _, V = factors(matrix, width, dtype)
    _, W = factors(matrix, width, dtype, seed=1)
    return W, kernels.extrapolate(V, W, step)


def run_deflate(kernels, matrix, width, dtype, layout=by_rows):
    U, V = factors(matrix, width, dtype)
    R = layout(matrix.astype(dtype), kernels)
    norm2 = kernels.deflate(R, U * U.dtype.type(2 / width), V).sum()
    return R.to_csr(), norm2, R.nnz


def run_walk(kernels, graph, window, dtype, columns=None):
    make = WalkColumns(graph, window=window, negative=1, dtype=dtype, kernels=kernels)
    made = make(range(graph.n_nodes) if columns is None else columns)
    return [(rows, values) for _, rows, values in made]


@cache
def twin(run, name, width, dtype):
    """What the readable twin makes of a matrix; the same for every instruction set."""
    return run(ReferenceKernels(), MATRICES[name], width, dtype)


@cache
def matrix_powers(name, window):
    return reference.exact_connectivity(graphs.dense(WALK_GRAPHS[name]()), window, 1)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.usefixtures("many_shards")
class TestAgainstTheReadableTwin:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_sweep(self, isa, width, dtype, layout):
        for name, matrix in MATRICES.items():
            ours = run_sweep(get_kernels(isa), matrix, width, dtype, layout=layout)
            theirs = twin(run_sweep, name, width, dtype)
            for mine, its in zip(ours, theirs, strict=True):
                close(mine, its, dtype, name)

    def test_hals(self, isa, width, dtype):
        for name, matrix in MATRICES.items():
            ours = run_hals(get_kernels(isa), matrix, width, dtype)
            theirs = twin(run_hals, name, width, dtype)
            for mine, its in zip(ours, theirs, strict=True):
                close(mine, its, dtype, name)

    def test_extrapolate(self, isa, width, dtype):
        for name, matrix in MATRICES.items():
            ours = run_extrapolate(get_kernels(isa), matrix, width, dtype)
            theirs = twin(run_extrapolate, name, width, dtype)
            for mine, its in zip(ours, theirs, strict=True):
                close(mine, its, dtype, name)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_deflate(self, isa, width, dtype, layout):
        for name, matrix in MATRICES.items():
            ours, norm2, nnz = run_deflate(get_kernels(isa), matrix, width, dtype, layout)
            theirs, its_norm2, _ = twin(run_deflate, name, width, dtype)
            close(ours.toarray(), theirs.toarray(), dtype, name)
            close(norm2, its_norm2, dtype, name)
            assert nnz == ours.nnz, name


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.usefixtures("many_shards")
class TestTheTwinAgainstLoops:
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


@pytest.mark.parametrize("isa", EVERY)
@pytest.mark.parametrize("layout", LAYOUTS)
class TestSweep:
    def test_a_dead_component_gets_no_weight(self, isa, dtype, layout):
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
    def test_a_bad_number_is_not_swallowed(self, isa, dtype, layout, bad):
        matrix = MATRICES["plain"].astype(dtype)
        matrix.data[17] = bad
        _, C, gram = run_sweep(get_kernels(isa), matrix, 16, dtype, layout=layout)
        assert not np.isfinite(C).all()
        assert not np.isfinite(gram).all()

    def test_non_negative_and_not_all_zero(self, isa, dtype, layout):
        U, C, _ = run_sweep(get_kernels(isa), MATRICES["plain"], 16, dtype, layout=layout)
        assert (U >= 0).all()
        assert (C >= 0).all()
        assert (U > 0).any()


@pytest.mark.parametrize("isa", EVERY)
@pytest.mark.parametrize("shards", [1, 2, 3, 6, 8, 13, 16])
@pytest.mark.parametrize("holders", [1, 2, 3, 5])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_shards_add_up_the_same_wherever_they_are(isa, shards, holders, dtype, layout):
    matrix = BIG.astype(dtype)
    cuts = np.linspace(0, matrix.shape[0], shards + 1).astype(np.int64)
    U, V = factors(matrix, 16, dtype)
    kernels = get_kernels(isa)

    def sweep(first, last):
        rows = slice(cuts[first], cuts[last])
        part = layout(matrix[rows], kernels, cuts=cuts[first : last + 1] - cuts[first], first_shard=first)
        mine = U[rows].copy()
        parts, grams = kernels.sweep(part, V, gram_of(V), mine, inner=2)
        assert [(node.level, node.index) for node in parts] == tree_nodes(first, last - first)
        return parts, grams, mine

    bounds = np.unique(np.linspace(0, shards, holders + 1).astype(int))
    held = [sweep(first, last) for first, last in pairwise(bounds)]
    whole, grams, rows = sweep(0, shards)
    np.testing.assert_array_equal(total(reduce(join, [parts for parts, _, _ in held])), total(whole))
    np.testing.assert_array_equal(np.concatenate([gram for _, gram, _ in held]), grams)
    np.testing.assert_array_equal(np.concatenate([mine for _, _, mine in held]), rows)
    close(total(whole), matrix.T.astype(float) @ rows.astype(float), dtype, "C")


@pytest.mark.parametrize("isa", EVERY)
class TestHals:
    def test_a_dead_component_gets_no_weight(self, isa, dtype):
        matrix = MATRICES["plain"]
        U, V = factors(matrix, 16, dtype)
        U[:, [0, 5]] = 0
        gram, _ = get_kernels(isa).hals(V, np.asarray(matrix.astype(dtype).T @ U), gram_of(U), inner=2)
        assert not V[:, [0, 5]].any()
        assert not gram[:, [0, 5]].any()

    def test_a_bad_number_is_not_swallowed(self, isa, dtype):
        matrix = MATRICES["plain"]
        U, V = factors(matrix, 16, dtype)
        C = np.asarray(matrix.astype(dtype).T @ U)
        C[3, 2] = np.nan
        gram, product = get_kernels(isa).hals(V, C, gram_of(U), inner=2)
        assert np.isnan(product)
        assert np.isnan(gram).any()


@pytest.mark.parametrize("isa", EVERY)
class TestExtrapolate:
    def test_a_step_of_zero_is_a_copy(self, isa, dtype):
        _, V = factors(MATRICES["plain"], 16, dtype)
        W = np.full_like(V, 7)
        gram = get_kernels(isa).extrapolate(V, W, 0.0)
        np.testing.assert_array_equal(W, V)
        close(gram, V.astype(float).T @ V.astype(float), dtype, "gram")

    def test_goes_on_and_stays_non_negative(self, isa, dtype):
        V = np.full((3, 8), 2.0, dtype)
        W = np.repeat(np.array([[1.0], [2.0], [8.0]], dtype), 8, axis=1)
        get_kernels(isa).extrapolate(V, W, 0.5)
        np.testing.assert_array_equal(W[:, 0], [2.5, 2.0, 0.0])


@pytest.mark.parametrize("isa", EVERY)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("many_shards")
class TestDeflate:
    def test_drops_what_became_zero_and_keeps_the_order(self, isa, dtype, layout):
        # Small integers: the differences are exact, and half of them are exactly zero.
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

    def test_again_and_again_in_place(self, isa, dtype, layout):
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
            close(R.to_csr().toarray(), expected, dtype, f"step {seed}")
            assert R.to_csr().has_sorted_indices
            assert norm2 == pytest.approx(np.sum(expected**2), rel=TOLERANCE[dtype])
            assert 0 < R.nnz < before
        assert R.data.ctypes.data == memory

    def test_nothing_left(self, isa, dtype, layout):
        matrix = MATRICES["plain"].astype(dtype)
        U, V = (np.full((rows, 8), 2, dtype) for rows in matrix.shape)
        R = layout(matrix, get_kernels(isa))
        assert get_kernels(isa).deflate(R, U, V).sum() == 0
        assert R.nnz == 0
        assert get_kernels(isa).deflate(R, U, V).sum() == 0

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_bad_number_is_not_swallowed(self, isa, dtype, layout, bad):
        matrix = MATRICES["plain"].astype(dtype)
        matrix.data[17] = bad
        _, norm2, _ = run_deflate(get_kernels(isa), matrix, 8, dtype, layout)
        assert not np.isfinite(norm2)


WALK_GRAPHS = {
    **graphs.DRAWABLE,
    "49 nodes, some on their own": lambda: graphs.random_graph(49, 3, seed=5),
    "16 nodes": lambda: graphs.random_graph(16, 5),
    "weighted karate": lambda: graphs.scaled(graphs.karate(), 2.5),
}


@pytest.mark.parametrize("isa", EVERY)
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

    def test_a_range_is_part_of_the_whole(self, isa, name, dtype):
        graph = WALK_GRAPHS[name]()
        whole = run_walk(get_kernels(isa), graph, 5, dtype)
        part = run_walk(get_kernels(isa), graph, 5, dtype, range(1, graph.n_nodes - 1))
        assert len(part) == graph.n_nodes - 2
        for (rows, values), (all_rows, all_values) in zip(part, whole[1:-1], strict=True):
            np.testing.assert_array_equal(rows, all_rows)
            np.testing.assert_allclose(values, all_values, rtol=1e-5)


def test_nodes_on_their_own_have_no_walks():
    graph = WALK_GRAPHS["49 nodes, some on their own"]()
    assert 0 < len(graph.isolated) < 49
    for isa in EVERY:
        columns = run_walk(get_kernels(isa), graph, 5, "float32")
        assert all(len(columns[c][0]) == 0 for c in graph.isolated)
        assert not any(np.isin(rows, graph.isolated).any() for rows, _ in columns)


def flat(results):
    """All numbers of a nested result as one array of bytes."""
    if isinstance(results, (list, tuple)):
        return b"".join(map(flat, results))
    if sparse.issparse(results):
        return flat([results.indptr, results.indices, results.data])
    return np.ascontiguousarray(results).tobytes()


BIG = random_matrix(1500, 1300, 0.02)


@pytest.mark.parametrize("isa", NATIVE)
@pytest.mark.usefixtures("many_shards")
class TestBitForBit:
    runs = (run_sweep, run_hals, run_extrapolate, run_deflate)

    def test_any_number_of_threads(self, isa, dtype):
        assert ShardedCSR.from_csr(BIG).n_shards == 7
        for run in self.runs:
            one = flat(run(get_kernels(isa, threads=1), BIG, 16, dtype))
            for threads in (2, 3, 16):
                assert flat(run(get_kernels(isa, threads=threads), BIG, 16, dtype)) == one, run.__name__

    def test_any_number_of_threads_on_walks(self, isa, dtype):
        graph = graphs.random_graph(300, 6)
        one = flat(run_walk(get_kernels(isa, threads=1), graph, 5, dtype))
        for threads in (2, 3, 16):
            assert flat(run_walk(get_kernels(isa, threads=threads), graph, 5, dtype)) == one

    def test_whatever_memory_held_before(self, isa, dtype, monkeypatch):
        graph = WALK_GRAPHS["49 nodes, some on their own"]()
        clean = [flat(run(get_kernels(isa), MATRICES["gaps"], 16, dtype)) for run in self.runs]
        clean.append(flat(run_walk(get_kernels(isa), graph, 5, dtype)))
        empty = np.empty

        def poisoned(*arguments, **options):
            array = empty(*arguments, **options)
            array.reshape(-1).view(np.uint8)[:] = 0xFF  # a NaN, or -1
            return array

        with monkeypatch.context() as patch:
            patch.setattr(native.np, "empty", poisoned)
            assert np.isnan(native.aligned_empty((2, 8), dtype)).all()
            dirty = [flat(run(get_kernels(isa), MATRICES["gaps"], 16, dtype)) for run in self.runs]
            dirty.append(flat(run_walk(get_kernels(isa), graph, 5, dtype)))
        assert dirty == clean

    def test_the_same_kernels_used_again(self, isa, dtype):
        # Scratch memory is kept between calls of different shapes and types.
        kernels = get_kernels(isa)
        first = [flat(run(kernels, MATRICES["gaps"], 16, dtype)) for run in self.runs]
        run_sweep(kernels, BIG, 32, "float64")
        run_walk(kernels, graphs.karate(), 3, "float32")
        assert [flat(run(kernels, MATRICES["gaps"], 16, dtype)) for run in self.runs] == first


@pytest.mark.parametrize("isa", EVERY)
@pytest.mark.parametrize("components", [1, 3, 5, 8, 10, 17])
@pytest.mark.usefixtures("many_shards")
def test_the_engine_pads_without_a_trace(isa, components, dtype):
    matrix = MATRICES["gaps"]
    V = np.random.default_rng(0).random((matrix.shape[1], components))
    engine = LocalEngine(get_kernels(isa))
    engine.load(matrix.astype(dtype))
    context = engine.begin(V.astype(dtype))
    product = engine.update(context, swept := engine.sweep(context, 2), 2)
    U1, V1 = engine.collect(context)
    U, V, history = reference.hals_level(matrix.toarray(), V, passes=1, sweeps=2)
    assert U1.shape == (70, components)
    assert V1.shape == (50, components)
    close(U1, U, dtype, "U")
    close(V1, V, dtype, "V")
    value = engine.norm2 - 2 * product + np.sum(swept.gram * context.gram)
    assert value == pytest.approx(history[0], rel=TOLERANCE[dtype])
    engine.deflate(context)
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
    @pytest.mark.parametrize("most", [1, 2, 7, 64, 1000])
    def test_cuts_cover_every_row_once(self, name, most, monkeypatch):
        monkeypatch.setattr(sharded, "MIN_SHARD_ENTRIES", 1)
        monkeypatch.setattr(sharded, "ROW_ENTRIES_PER_SHARD", 0.01)
        monkeypatch.setattr(sharded, "MAX_SHARDS", most)
        matrix = MATRICES[name]
        cuts = cut_rows(matrix.indptr.astype(np.int64), matrix.shape[1])
        assert cuts[0] == 0
        assert cuts[-1] == matrix.shape[0]
        assert (np.diff(cuts) > 0).all()
        assert len(cuts) - 1 <= most

    def test_shards_are_about_equal(self, monkeypatch):
        monkeypatch.setattr(sharded, "MIN_SHARD_ENTRIES", 1)
        cuts = cut_rows(BIG.indptr.astype(np.int64), BIG.shape[1])
        entries = np.diff(BIG.indptr[cuts])
        assert len(entries) == 4
        assert entries.max() < 1.1 * entries.min()

    def test_small_matrices_are_one_shard(self):
        assert ShardedCSR.from_csr(MATRICES["plain"]).n_shards == 1

    def test_a_copy_leaves_the_original_alone(self):
        matrix = MATRICES["plain"].copy()
        kept = matrix.copy()
        R = ShardedCSR.from_csr(matrix)
        R.data[:] = -1
        R.indices[:] = 0
        np.testing.assert_array_equal(matrix.toarray(), kept.toarray())

    def test_without_a_copy_the_arrays_are_taken_over(self):
        matrix = MATRICES["plain"].copy()
        R = ShardedCSR.from_csr(matrix, copy=False)
        assert np.shares_memory(R.data, matrix.data)

    def test_wide_indices_become_narrow(self):
        matrix = MATRICES["plain"].copy()
        matrix.indices = matrix.indices.astype(np.int64)
        assert ShardedCSR.from_csr(matrix).indices.dtype == np.int32


class TestStripedCSR:
    @pytest.mark.parametrize("isa", EVERY)
    @pytest.mark.parametrize("name", MATRICES)
    @pytest.mark.usefixtures("many_shards")
    def test_round_trip(self, name, isa):
        matrix = MATRICES[name]
        R = in_strips(matrix, get_kernels(isa))
        back = R.to_csr()
        assert (R.n_rows, R.n_columns, R.nnz) == (*matrix.shape, matrix.nnz)
        np.testing.assert_array_equal(back.toarray(), matrix.toarray())
        np.testing.assert_array_equal(back.indices, matrix.indices)

    @pytest.mark.parametrize("bits", [1, 3, 12])
    @pytest.mark.parametrize("block_rows", [1, 5, 1000])
    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("name", MATRICES)
    def test_sorted_as_by_the_twin(self, name, bits, block_rows, threads):
        ours, twins = (
            StripedCSR.from_csr(MATRICES[name].copy(), kernels, bits=bits, block_rows=block_rows)
            for kernels in (get_kernels(threads=threads), ReferenceKernels())
        )
        for array in ("cuts", "blocks", "rows", "starts", "places", "data"):
            np.testing.assert_array_equal(getattr(ours, array), getattr(twins, array), err_msg=array)

    def test_the_entries_of_a_block_lie_strip_by_strip(self):
        R = StripedCSR.from_csr(sparse.csr_array([[5.0, 0, 6], [0, 7, 8]]), ReferenceKernels(), bits=1)
        np.testing.assert_array_equal(R.data, [5, 7, 6, 8])
        np.testing.assert_array_equal(R.places, [0b00, 0b11, 0b00, 0b10])
        np.testing.assert_array_equal(R.starts, [[0, 2, 4]])

    @pytest.mark.parametrize("isa", NATIVE)
    def test_any_number_of_threads(self, isa, dtype):
        found = []
        for threads in (1, 2, 3):
            kernels = get_kernels(isa, threads=threads)
            U, V = factors(BIG, 16, dtype)
            R = in_strips(BIG.astype(dtype), kernels)
            C, gram = summed(kernels.sweep(R, V, gram_of(V), U, inner=2))
            found.append([U, C, gram, kernels.deflate(R, U, V), R.to_csr().toarray()])
        for other in found[1:]:
            for a, b in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(a, b)

    def test_chosen_by_the_number_of_columns(self, monkeypatch):
        assert isinstance(striped.residual(MATRICES["plain"].copy(), get_kernels()), ShardedCSR)
        monkeypatch.setattr(striped, "STRIPED_FROM", 40)
        assert isinstance(striped.residual(MATRICES["plain"].copy(), get_kernels()), StripedCSR)
        assert isinstance(striped.residual(MATRICES["tall"].copy(), get_kernels()), ShardedCSR)


class TestChoice:
    def test_unknown_kernels(self):
        with pytest.raises(ParameterError, match=r"kernels must be one of reference, baseline.*got 'mmx'"):
            get_kernels("mmx")

    def test_the_environment_forces_a_choice(self, monkeypatch):
        for name in EVERY:
            monkeypatch.setenv("BOOSTNE_KERNELS", name)
            assert instruction_set() == name
        monkeypatch.setenv("BOOSTNE_KERNELS", "")
        assert instruction_set() == NATIVE[-1]

    def test_an_instruction_set_that_is_missing(self, monkeypatch):
        monkeypatch.setattr(native, "INSTRUCTION_SETS", (*NATIVE, "avx1024"))
        with pytest.raises(ParameterError, match=f"no avx1024; its best is {NATIVE[-1]}"):
            get_kernels("avx1024")

    def test_without_the_library(self, monkeypatch):
        monkeypatch.delenv("BOOSTNE_KERNELS", raising=False)
        monkeypatch.setattr(native, "find_library", lambda folders: None)
        with pytest.warns(UserWarning, match="without its compiled kernels"):
            assert get_kernels().instruction_set == "reference"
        with pytest.raises(ParameterError, match="'baseline' need the compiled library"):
            get_kernels("baseline")

    @pytest.mark.parametrize("isa", NATIVE)
    def test_strided_arrays_are_refused(self, isa):
        _, V = factors(MATRICES["plain"], 16, "float32")
        with pytest.raises(ValueError, match="C-contiguous"):
            get_kernels(isa).extrapolate(V[:, ::2], np.zeros_like(V[:, ::2]), 0.0)
