"""The same bits for any number of threads, in any process, independent of NumPy's global generator."""

import hashlib
import os
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests import graphs
from tests.parameters import boostne
from threadpoolctl import threadpool_limits

from boostne import BoostNE
from boostne import __file__ as package_file
from boostne.kernels import column_blocked_csr, get_kernels
from boostne.kernels.column_blocked_csr import ColumnBlockedCSR, as_residual
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.matrices.csr_builder import log_above_one
from boostne.matrices.deepwalk.spectral import GramSource

FORMS = {
    "exact": {},
    "spectral": {"approximation": "spectral", "eigenpairs": 60},
    "push": {"approximation": "push", "epsilon": 1e-4, "max_per_row": 150},
}

SCRIPT = """
import hashlib
import numpy as np
from boostne import BoostNE, DeepWalkMatrix, Graph
ends = np.random.default_rng(0).integers(1000, size=(2, 5000))
graph = Graph.from_indices(np.arange(1000), *ends).without_isolated()
push = {"approximation": "push", "epsilon": 1e-4, "max_per_row": 150}
for form in ({}, {"approximation": "spectral", "eigenpairs": 60}, push):
    matrix = DeepWalkMatrix(window=3, **form)
    vectors = BoostNE(24, levels=2, connectivity=matrix, max_iter=12).fit_transform(graph)
    print(hashlib.sha256(vectors.tobytes()).hexdigest())

# large enough that the order of sums in BLAS would depend on its number of threads
from boostne.matrices.deepwalk.spectral import leading_eigenpairs
ends = np.random.default_rng(0).integers(14000, size=(2, 70000))
_, vectors = leading_eigenpairs(Graph.from_indices(np.arange(14000), *ends).without_isolated(), 20, seed=0)
print(hashlib.sha256(vectors.tobytes()).hexdigest())
"""


def model(form="exact", **changes):
    return boostne(24, levels=2, window=3, max_iter=12, **FORMS[form], **changes)


def digest(vectors):
    return hashlib.sha256(vectors.tobytes()).hexdigest()


@pytest.fixture(scope="module")
def graph():
    return graphs.random_graph(1000, 10).without_isolated()


@pytest.mark.parametrize("form", FORMS)
def test_any_number_of_threads(graph, form):
    assert ShardedCSR.from_csr(model(form).connectivity_matrix(graph)).n_shards > 2
    one = model(form, threads=1).fit(graph)
    for threads in (2, 4, None):
        other = model(form, threads=threads).fit(graph)
        np.testing.assert_array_equal(other.embedding_.vectors, one.embedding_.vectors)
        np.testing.assert_array_equal(other.context_, one.context_)
        np.testing.assert_array_equal(other.residual_norms_, one.residual_norms_)
    assert one.embedding_.vectors.any()


def test_any_number_of_threads_in_column_blocks(graph, monkeypatch):
    by_rows = model().fit(graph)
    monkeypatch.setattr(column_blocked_csr, "COLUMN_BLOCKED_FROM", 0)
    assert isinstance(as_residual(model().connectivity_matrix(graph), get_kernels()), ColumnBlockedCSR)
    one = model(threads=1).fit(graph)
    for threads in (2, 4, None):
        other = model(threads=threads).fit(graph)
        np.testing.assert_array_equal(other.embedding_.vectors, one.embedding_.vectors)
        np.testing.assert_array_equal(other.residual_norms_, one.residual_norms_)
    np.testing.assert_allclose(one.residual_norms_, by_rows.residual_norms_, rtol=1e-4)


@pytest.mark.slow
def test_any_process_and_any_number_of_blas_threads(graph):
    expected = [digest(model(form).fit_transform(graph)) for form in FORMS]
    source = str(Path(package_file).parents[1])
    printed = []
    for threads in ("1", "2"):
        env = {**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": threads}
        env |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
        printed.append(done.stdout.split())
    assert len(printed[0]) == 4
    assert printed[0] == printed[1]
    assert printed[0][:3] == expected


def unaligned(F):
    """Return a copy at an address that is not a multiple of the size of its numbers."""
    buffer = np.empty(F.nbytes + 1, np.uint8)
    copy = buffer[1:].view(F.dtype).reshape(F.shape)
    copy[:] = F
    assert not copy.flags.aligned
    return copy


def dense_rows(source, ranges):
    """Return the rows of a source, requested in ranges."""
    rows = []
    for requested in ranges:
        for block in source.rows(requested):
            assert len(block.counts) == 1
            row = np.zeros(source.shape[1], source.dtype)
            row[block.columns] = block.values
            rows.append(row)
    return np.array(rows)


class TestGramSource:
    @pytest.fixture(params=["float32", "float64"])
    def factor(self, request):
        return np.random.default_rng(0).random((700, 60)).astype(request.param)

    @pytest.fixture(autouse=True)
    def _several_blocks(self, monkeypatch):
        monkeypatch.setattr("boostne.matrices.deepwalk.spectral.BLOCK_BYTES", 1 << 18)

    def test_is_the_logarithm_of_the_gram_matrix(self, factor):
        expected = np.log(np.maximum(factor.astype(np.float64) @ factor.T.astype(np.float64), 1))
        found = dense_rows(GramSource(factor, 1), [range(700)])
        np.testing.assert_allclose(found, expected, rtol=60 * np.finfo(factor.dtype).eps)

    def test_unaligned_and_pickled_copies(self, factor):
        source = GramSource(factor, 1)
        expected = dense_rows(source, [range(700)])
        assert source.chunk_rows() < 100  # rows are computed in several blocks
        copies = [
            GramSource(unaligned(factor), 1),
            GramSource(factor.copy(), 1),
            pickle.loads(pickle.dumps(source)),
            pickle.loads(pickle.dumps(GramSource(unaligned(factor), 1))),
            source.with_threads(3),
        ]
        for copy in copies:
            np.testing.assert_array_equal(dense_rows(copy, [range(700)]), expected)

    def test_a_single_block_of_all_rows(self, factor, monkeypatch):
        # NumPy would multiply all of F by its own transpose with another routine of BLAS.
        monkeypatch.setattr("boostne.matrices.deepwalk.spectral.BLOCK_BYTES", 1 << 26)
        source = GramSource(factor, 1)
        assert source.chunk_rows() >= 700
        expected = dense_rows(source, [range(700)])
        with threadpool_limits(limits=1, user_api="blas"):
            product = log_above_one(factor.copy() @ factor.T)
        np.testing.assert_array_equal(np.concatenate([row.values for row in product]), expected[expected > 0])
        for copy in (GramSource(unaligned(factor), 1), pickle.loads(pickle.dumps(source))):
            np.testing.assert_array_equal(dense_rows(copy, [range(700)]), expected)
            split = [range(1), range(1, 333), range(333, 700)]
            np.testing.assert_array_equal(dense_rows(copy, split), expected)

    @pytest.mark.parametrize("cuts", [[350], [1, 2, 3], [93, 94, 500], list(range(7, 700, 7))])
    def test_any_split_of_the_rows(self, factor, cuts):
        expected = dense_rows(GramSource(factor, 1), [range(700)])
        ranges = [range(*ends) for ends in pairwise([0, *cuts, 700])]
        for threads in (1, 3):
            np.testing.assert_array_equal(dense_rows(GramSource(factor, threads), ranges), expected)


@pytest.mark.parametrize("form", FORMS)
def test_a_second_fit(graph, form):
    assert digest(model(form).fit_transform(graph)) == digest(model(form).fit_transform(graph))


@pytest.mark.parametrize("form", FORMS)
def test_seeds_differ(graph, form):
    digests = {digest(model(form, random_state=seed).fit_transform(graph)) for seed in range(3)}
    assert len(digests) == 3


def test_levels_do_not_depend_on_how_many_follow(graph):
    plain = {"propagation": 0, "vector_length": 0}
    short = BoostNE(12, levels=1, window=3, max_iter=12, **plain).fit(graph)
    np.testing.assert_array_equal(short.levels_[0], model(**plain).fit(graph).levels_[0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("random_state", [0, 7, np.random.default_rng(3), np.random.RandomState(3)])
def test_numpy_global_generator_is_unchanged(form, random_state):
    graph = graphs.planted_partition([40, 40], 0.4, 0.05)[0]
    np.random.seed(123)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    model(form, random_state=random_state).fit(graph)
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]


def test_numpy_global_generator_is_not_used(graph):
    np.random.seed(1)  # noqa: NPY002
    first = digest(model().fit_transform(graph))
    np.random.seed(2)  # noqa: NPY002
    assert digest(model().fit_transform(graph)) == first


def test_a_generator_is_advanced():
    graph = graphs.karate()
    small = {"dimensions": 4, "levels": 2, "window": 2}
    generator = np.random.default_rng(5)
    first, second = (BoostNE(**small, random_state=generator).fit_transform(graph) for _ in range(2))
    same_seed = BoostNE(**small, random_state=np.random.default_rng(5)).fit_transform(graph)
    assert digest(first) == digest(same_seed)
    assert digest(first) != digest(second)
