"""Limits of the address space (``ulimit -v``): commands finish, or exit with 3 and one line."""

import os
import signal
import subprocess
import sys

import pytest
from tests.processes import start_python

from boostne import address_space
from boostne.address_space import BYTES_PER_THREAD, address_space_left, affordable_threads
from boostne.cli import limited_memory, main
from boostne.cli.limited_memory import is_out_of_memory, load_blas, out_of_memory_message
from boostne.errors import MemoryLimitError
from boostne.kernels import get_kernels
from boostne.memory import available_memory

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is enforced by Linux only")

LIMITED = """
import resource, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from boostne.cli import main
main()
"""


@pytest.fixture
def limit(monkeypatch):
    """Pretend that the address space is limited."""

    def set_limit(size, left=None):
        monkeypatch.setattr(address_space, "address_space_limit", lambda: size)
        for module in (address_space, limited_memory):
            monkeypatch.setattr(module, "address_space_left", lambda: size if left is None else left)
        monkeypatch.setattr(limited_memory, "address_space_limit", lambda: size)

    return set_limit


@linux_only
class TestCommands:
    def run(self, folder, megabytes, *arguments):
        arguments = ["-c", LIMITED, megabytes * 10**6, *arguments]
        process = start_python(*arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        _, errors = process.communicate(timeout=120)
        return process.returncode, errors.splitlines()

    @pytest.mark.parametrize("megabytes", [150, 200, 444, 505, 600])
    def test_too_small_a_limit_is_one_line(self, tmp_path, megabytes):
        code, lines = self.run(tmp_path, megabytes, "embed", "digits", "-o", "vectors.npz", "--quiet")
        assert (code, len(lines)) == (3, 1), lines
        assert lines[0].startswith("boostne: error: ")
        assert f"address space is limited to {megabytes} MB: raise the limit (ulimit -v)" in lines[0]
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("megabytes", [710, 740])
    def test_a_limit_that_is_hardly_sufficient(self, tmp_path, megabytes):
        arguments = "--approximation", "spectral", "--levels", "2", "--threads", "16", "--quiet"
        code, lines = self.run(tmp_path, megabytes, "embed", "digits", "-o", "vectors.parquet", *arguments)
        assert (code, len(lines)) in [(0, 0), (3, 1)], lines

    def test_many_threads_under_a_limit(self, tmp_path):
        code, lines = self.run(
            tmp_path, 1200, "embed", "digits", "-o", "vectors.npz", "--threads", "4096", "--levels", "2", "--quiet"
        )
        assert (code, lines) == (0, [])
        assert (tmp_path / "vectors.npz").exists()


class TestLimits:
    def test_no_limit(self, monkeypatch):
        monkeypatch.setattr(address_space, "address_space_limit", lambda: None)
        assert address_space_left() is None
        assert affordable_threads(4096) == 4096

    def test_windows_has_no_limit(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "resource", None)
        assert address_space.address_space_limit() is None

    def test_unknown_size(self, monkeypatch, tmp_path):
        monkeypatch.setattr(address_space, "address_space_limit", lambda: 10**12)
        monkeypatch.setattr(address_space, "Path", lambda path: tmp_path / "missing")
        assert address_space_left() is None

    @linux_only
    def test_what_is_left(self, monkeypatch):
        monkeypatch.setattr(address_space, "address_space_limit", lambda: 10**13)
        assert 0 < address_space_left() < 10**13
        monkeypatch.setattr(address_space, "address_space_limit", lambda: 1)
        assert address_space_left() == 0
        assert available_memory() == 0

    def test_threads_that_fit(self, limit):
        limit(10 * BYTES_PER_THREAD)
        assert [affordable_threads(n) for n in (1, 10, 11, 4096)] == [1, 10, 10, 10]
        assert get_kernels(threads=4096).threads == 10
        limit(10 * BYTES_PER_THREAD, left=0)
        assert affordable_threads(4096) == 1


class TestStart:
    @pytest.fixture(autouse=True)
    def environment(self, monkeypatch):
        monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "2"})
        monkeypatch.setattr(limited_memory, "M_ARENA_MAX", 0)  # not a parameter of mallopt: this process has no limit
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
        handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        yield
        for number, handler in handlers.items():  # main() ends with signals ignored, as the process is to end
            if handler != signal.getsignal(number):
                signal.signal(number, handler)

    def variables(self):
        return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}

    @pytest.mark.parametrize("size", [None, limited_memory.AMPLE_BYTES])
    def test_without_a_tight_limit_nothing_changes(self, limit, size):
        limit(size)
        load_blas()
        assert self.variables() == {"OMP_NUM_THREADS": "2"}

    def test_fewer_threads_under_a_limit(self, limit):
        limit(3_000_000_000)
        load_blas()
        assert self.variables() == {
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "OPENBLAS_NUM_THREADS": "3",
            "OMP_NUM_THREADS": "2",
            "ARROW_IO_THREADS": "3",
        }

    def test_too_little_is_left(self, limit, capsys):
        limit(10**9, left=10**8)
        with pytest.raises(SystemExit, match="3"):
            main(["--version"])
        assert capsys.readouterr() == (
            "",
            "boostne: error: boostne and the libraries it uses need at least 1.5 GB; "
            "the address space is limited to 1.0 GB: raise the limit (ulimit -v)\n",
        )

    def test_closed_standard_error(self, limit, monkeypatch):
        limit(10**9, left=10**8)
        monkeypatch.setattr(sys, "stderr", None)
        with pytest.raises(SystemExit, match="3"):
            main(["--version"])

    def test_other_errors_are_not_hidden(self, monkeypatch):
        monkeypatch.setattr("boostne.cli.program.run", lambda arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            main(["--version"])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (MemoryLimitError("too large"), True),
        (ImportError("libopenblas.so: failed to map segment from shared object"), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("can't start new thread"), True),
        (RuntimeError("out of luck"), False),
        (ValueError("cannot allocate memory"), False),
        (ImportError("No module named 'networkx'"), False),
    ],
    ids=str,
)
def test_errors_due_to_missing_memory(error, expected):
    assert is_out_of_memory(error) is expected
    outer = ValueError("outer")
    outer.__cause__ = error
    assert is_out_of_memory(outer) is expected


def test_messages(limit):
    limit(None)
    estimate = "'boostne estimate' shows how much is needed"
    assert out_of_memory_message(MemoryError()) == f"not enough memory; {estimate}"
    assert out_of_memory_message(MemoryError("no 2 GB")) == f"no 2 GB; {estimate}"
    assert out_of_memory_message(ImportError("failed to map segment")) == f"not enough memory; {estimate}"
    assert out_of_memory_message(MemoryLimitError("Use less.")) == "Use less."
