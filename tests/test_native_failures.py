"""Failures inside the compiled library: they become Python exceptions, and no thread or lock is left behind."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from tests.processes import start_python

from boostne.errors import EngineError
from boostne.kernels import get_kernels
from boostne.kernels.column_blocked_csr import ColumnBlockedCSR
from boostne.kernels.native import library
from boostne.kernels.sharded_csr import ShardedCSR

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is enforced by Linux only")

PRELUDE = """
import os, resource, threading
import numpy as np
from scipy import sparse
from boostne.kernels import get_kernels
from boostne.kernels.column_blocked_csr import ColumnBlockedCSR
from boostne.kernels.csr_graph import CSRGraph, WalkGraph

def leave(megabytes):
    "Limit the address space to what is in use, and some megabytes."
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + megabytes * 10**6
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))

def unlimit():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

def tasks():
    return len(os.listdir("/proc/self/task"))
"""

# Each shard needs scratch memory of 34 MB, which malloc() maps and unmaps.
SWEEP = """
rng = np.random.default_rng(0)
X = sparse.random_array((1 << 21, 100), density=1e-3, rng=rng, format="csr", dtype=np.float32)
kernels = get_kernels(threads=4)
cuts = np.linspace(0, X.shape[0], 5).astype(np.int64)
R = ColumnBlockedCSR.from_csr(X, kernels, cuts=cuts, block_rows=1 << 19)
V = rng.random((100, 16), np.float32)
gram = (V.T @ V).astype(float)
U = np.empty((X.shape[0], 16), np.float32)
before = tasks()

def sweep():
    U[:] = 0
    partials, grams = kernels.sweep(R, V, gram, U, inner=1)
    return U.sum(), partials[0].sum.sum(), grams.sum()

expected, outcomes = sweep(), []
for megabytes in (5, 40, 50, 75, 85, 120, 400):
    leave(megabytes)
    try:
        result = sweep()
    except MemoryError as error:
        result = str(error)
    unlimit()
    assert tasks() == before
    assert result == expected or result.startswith("not enough memory in boostne_sweep_column_blocked_f32: "), result
    outcomes.append("finished" if result == expected else "failed")
assert outcomes[0] == "failed" and outcomes[-1] == "finished", outcomes
assert sweep() == expected
"""

COMMUNITIES = """
n = 1 << 22
graph = CSRGraph(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), None)
kernels = get_kernels()
leave(40)
try:
    kernels.communities(graph, max_size=4, max_rounds=1, tolerated_changes=0)
except MemoryError as error:
    print(error)
unlimit()
labels = kernels.communities(graph, max_size=4, max_rounds=1, tolerated_changes=0)
np.testing.assert_array_equal(labels, np.arange(n))
"""

WALKS = """
n = 100
neighbors = np.sort((np.arange(n)[:, None] + [1, 3]) % n).ravel().astype(np.int32)
graph = WalkGraph(np.arange(0, 2 * n + 1, 2), neighbors, None)
starts = np.arange(1 << 21, dtype=np.int32) % n
one, many = get_kernels(threads=1), get_kernels(threads=4096)
assert many.threads == 4096
expected = one.random_walks(graph, starts, 3, p=1, q=1, seed=0, first=0)
for megabytes in (26, 100, 400):  # the result takes 25 MB, the stack of a thread 8 MB
    leave(megabytes)
    walks = many.random_walks(graph, starts, 3, p=1, q=1, seed=0, first=0)
    unlimit()
    np.testing.assert_array_equal(walks, expected)
    del walks
"""


def run(code):
    process = start_python("-c", PRELUDE + code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, f"exit code {process.returncode}\n{errors}"
    return output


def test_a_thread_without_address_space_ends_the_sweep_of_all_threads():
    run(SWEEP)


def test_too_small_an_address_space_is_a_memory_error():
    assert run(COMMUNITIES).startswith("not enough memory in boostne_communities: ")


def test_results_are_the_same_if_the_address_space_is_too_small_for_all_threads():
    run(WALKS)


def test_all_threads_fail():
    # Each thread allocates a copy of the largest block, of more bytes than there are addresses.
    indptr = np.zeros(65, np.int64)
    indptr[-1] = 2**62
    empty = sparse.csr_array((64, 100), dtype=np.float32)
    kernels = get_kernels(threads=4)
    R = ColumnBlockedCSR.from_csr(empty, kernels, cuts=np.arange(65), block_rows=1)
    for _ in range(100):
        with pytest.raises(MemoryError, match="not enough memory in boostne_stripe_f32: "):
            kernels.stripe(indptr, R)


def test_other_failures_are_engine_errors():
    function = ctypes.CDLL(str(library.find_library(get_kernels.__globals__["__path__"]))).boostne_communities
    with pytest.raises(EngineError, match="boostne_communities failed with status 2"):
        library.raise_for_status(2, function, ())


class TestArguments:
    def factors(self, dtype="float32"):
        matrix = sparse.random_array((30, 20), density=0.3, rng=np.random.default_rng(0), format="csr", dtype=dtype)
        return ShardedCSR.from_csr(matrix), np.ones((30, 8), dtype), np.ones((20, 8), dtype)

    def test_other_precision(self):
        R, U, V = self.factors()
        with pytest.raises(TypeError, match="array of float64 here; got a C-contiguous array of float32"):
            get_kernels().deflate(R, U.astype(float), V.astype(float))
        with pytest.raises(TypeError, match="array of float32 here; got a C-contiguous array of float64"):
            get_kernels().deflate(R, U.astype(float), V)

    def test_an_interrupt_during_the_conversion_is_an_interrupt(self):
        class Interrupting(np.ndarray):
            @property
            def flags(self):
                raise KeyboardInterrupt

        R, U, V = self.factors()
        with pytest.raises(KeyboardInterrupt):
            get_kernels().deflate(R, U, V.view(Interrupting))

    def test_other_shapes(self):
        R, U, V = self.factors()
        with pytest.raises(ValueError, match=r"shapes \(29, 8\) and \(20, 8\) do not fit a 30 by 20 matrix"):
            get_kernels().deflate(R, U[1:], V)
        with pytest.raises(ValueError, match=r"shapes \(30, 4\) and \(20, 8\) do not fit"):
            get_kernels().sweep(R, V, np.eye(8), U[:, :4].copy(), inner=1)
        with pytest.raises(ValueError, match=r"the same shape; got \(20, 8\) and \(30, 8\)"):
            get_kernels().hals(V, U, np.eye(8), inner=1)
        with pytest.raises(ValueError, match=r"the same shape; got \(20, 8\) and \(30, 8\)"):
            get_kernels().extrapolate(V, U, 0.5)
        for cuts in ([0, 19], [1, 20], [0, 12, 9, 20]):
            with pytest.raises(ValueError, match="chunks must cover 20 rows in order; got the boundaries"):
                get_kernels().extrapolate(V, V.copy(), 0.5, np.array(cuts))
