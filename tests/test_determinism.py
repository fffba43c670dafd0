"""The same bits for any number of threads, in any process, whatever numpy's global generator was up to."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests import graphs

import boostne
from boostne import BoostNE
from boostne.kernels import column_blocked_csr as striped
from boostne.kernels.sharded_csr import ShardedCSR

FORMS = {
    "exact": {},
    "spectral": {"approximation": "spectral", "eigenpairs": 60},
    "push": {"approximation": "push", "epsilon": 1e-4, "max_per_row": 150},
}

SCRIPT = """
import hashlib
from boostne import BoostNE, Graph
import numpy as np
ends = np.random.default_rng(0).integers(1000, size=(2, 5000))
graph = Graph.from_indices(np.arange(1000), *ends).without_isolated()
push = {"approximation": "push", "epsilon": 1e-4, "max_per_row": 150}
for form in ({}, {"approximation": "spectral", "eigenpairs": 60}, push):
    vectors = BoostNE(24, levels=2, window=3, max_iter=12, **form).fit_transform(graph)
    print(hashlib.sha256(vectors.tobytes()).hexdigest())

# large enough for a BLAS that is left to itself to add up in another order with each number of threads
from boostne.matrices.deepwalk.spectral import leading_eigenpairs
ends = np.random.default_rng(0).integers(14000, size=(2, 70000))
_, vectors = leading_eigenpairs(Graph.from_indices(np.arange(14000), *ends).without_isolated(), 20, seed=0)
print(hashlib.sha256(vectors.tobytes()).hexdigest())
"""


def model(form="exact", **changes):
    return BoostNE(24, levels=2, window=3, max_iter=12, **FORMS[form], **changes)


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


def test_any_number_of_threads_in_strips(graph, monkeypatch):
    by_rows = model().fit(graph)
    monkeypatch.setattr(striped, "COLUMN_BLOCKED_FROM", 0)
    one = model(threads=1).fit(graph)
    for threads in (2, 4, None):
        other = model(threads=threads).fit(graph)
        np.testing.assert_array_equal(other.embedding_.vectors, one.embedding_.vectors)
        np.testing.assert_array_equal(other.residual_norms_, one.residual_norms_)
    np.testing.assert_allclose(one.residual_norms_, by_rows.residual_norms_, rtol=1e-4)
    assert (one.embedding_.vectors != by_rows.embedding_.vectors).any()  # sums were taken in another order


def test_any_process_and_any_number_of_blas_threads(graph):
    here = [digest(model(form).fit_transform(graph)) for form in FORMS]
    source = str(Path(boostne.__file__).parents[1])
    printed = []
    for threads in ("1", "2"):
        env = {**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": threads}
        env |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
        )
        printed.append(done.stdout.split())
    assert len(printed[0]) == 4
    assert printed[0] == printed[1]
    assert printed[0][:3] == here


@pytest.mark.parametrize("form", FORMS)
def test_again(graph, form):
    assert digest(model(form).fit_transform(graph)) == digest(model(form).fit_transform(graph))


@pytest.mark.parametrize("form", FORMS)
def test_seeds_differ(graph, form):
    digests = {digest(model(form, random_state=seed).fit_transform(graph)) for seed in range(3)}
    assert len(digests) == 3


def test_levels_start_from_seeds_of_their_own(graph):
    # The first level does not depend on how many follow.
    short = BoostNE(12, levels=1, window=3, max_iter=12).fit(graph)
    np.testing.assert_array_equal(short.levels_[0], model().fit(graph).levels_[0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("random_state", [0, 7, np.random.default_rng(3), np.random.RandomState(3)])
def test_numpy_s_global_generator_is_left_alone(form, random_state):
    graph = graphs.planted_partition([40, 40], 0.4, 0.05)[0]
    np.random.seed(123)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    model(form, random_state=random_state).fit(graph)
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]


def test_numpy_s_global_generator_is_not_used(graph):
    np.random.seed(1)  # noqa: NPY002
    first = digest(model().fit_transform(graph))
    np.random.seed(2)  # noqa: NPY002
    assert digest(model().fit_transform(graph)) == first


def test_generators_are_drawn_from():
    graph = graphs.karate()
    small = {"dimensions": 4, "levels": 2, "window": 2}
    generator = np.random.default_rng(5)
    first, second = (BoostNE(**small, random_state=generator).fit_transform(graph) for _ in range(2))
    again = BoostNE(**small, random_state=np.random.default_rng(5)).fit_transform(graph)
    assert digest(first) == digest(again)
    assert digest(first) != digest(second)
