"""Results do not depend on threads, engines or blocks on other CPUs either.

``BOOSTNE_KERNELS`` and ``OPENBLAS_CORETYPE`` select the code that other CPUs run. Both are read when a process starts,
so the tests whose results could depend on the CPU run again in child processes, with each instruction set of the
kernels and each kind of BLAS kernels that this CPU can execute.
"""

import os
import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.processes import start_python
from threadpoolctl import threadpool_info

from boostne.errors import ParameterError
from boostne.kernels import get_kernels, instruction_set

ROOT = Path(__file__).parents[1]
TESTS = (
    "tests/test_determinism.py",
    "tests/test_eigensolvers.py",
    "tests/test_engine_contract.py",
    "tests/test_engines.py",
    "tests/test_kernels.py",
    "tests/test_propagation.py",
    "tests/test_dask.py::TestEqualToTheLocalEngine",
)
# The engine of PyTorch uses neither of the two kinds of kernels; one of its variants is compared with the local engine.
SELECTED = "not (cuda-dense or cuda-sparse)"
# Kernels of boostne, and of OpenBLAS for CPUs of the same kind.
X86 = [
    ("reference", "Prescott"),
    ("baseline", "Prescott"),
    ("avx2", "Haswell"),
    ("avx2", "Zen"),
    ("avx512", "SkylakeX"),
]  # fmt: skip

pytestmark = pytest.mark.slow


def selected():
    """Return the kernels of boostne and of OpenBLAS that this process uses."""
    np.ones((2, 2)) @ np.ones((2, 2))  # loads the library
    return instruction_set(), *sorted({library.get("architecture", "") for library in threadpool_info()})


def executable():
    """List what this CPU can execute."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return [("reference", "")]
    return [cpu for cpu in X86 if can_execute(cpu[0])]


def can_execute(kernels):
    try:
        get_kernels(kernels)
    except ParameterError:
        return False
    return True


def run_python(*arguments, **variables):
    # Coverage of the children would only repeat that of this process.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")} | variables
    child = start_python(*arguments, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        output, _ = child.communicate()
    finally:
        child.kill()
    return child.returncode, output


def selected_in_child(**variables):
    # In this process, other tests may have loaded more libraries.
    code, output = run_python("-c", "from tests.test_other_cpus import selected; print(*selected())", **variables)
    assert code == 0, output
    return output.split()


@pytest.fixture(scope="module")
def usual():
    return selected_in_child()


@pytest.mark.parametrize(("kernels", "blas"), executable())
def test_determinism_and_equal_results(kernels, blas, usual):
    cpu = {"BOOSTNE_KERNELS": kernels, "OPENBLAS_CORETYPE": blas}
    found = selected_in_child(**cpu)
    assert found[0] == kernels
    if found == usual:  # a build of OpenBLAS may use the same kernels for several CPUs
        pytest.skip("all other tests run with these kernels")
    code, output = run_python("-m", "pytest", "-p", "no:cacheprovider", "--no-header", "-k", SELECTED, *TESTS, **cpu)
    assert code == 0, output[-5000:]
