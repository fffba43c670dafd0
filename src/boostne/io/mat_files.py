"""MATLAB files, parsed in a process of their own: SciPy's parser can crash on a damaged file."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from boostne.errors import BoostneError, FileFormatError, ParameterError
from boostne.io.compression import STDIN, is_compressed, open_binary
from boostne.io.reading_budget import ReadingBudget

_HDF5 = 2  # major version of MATLAB 7.3 files
_PARSER = Path(__file__).with_name("mat_parser.py")


class Variable(NamedTuple):
    """Shape and kind of a variable in a MATLAB file."""

    shape: tuple[int, ...]
    is_sparse: bool


class MatFile:
    """An open MATLAB file; see :func:`open_mat`."""

    def __init__(self, path: Path, process: "subprocess.Popen[bytes]", folder: Path, budget: ReadingBudget) -> None:
        self._path = path
        self._process = process
        self._requests, self._answers = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
        self._folder = folder
        self._budget = budget
        request = {"file": str(path.resolve()), "memory": budget.left(), "sys_path": sys.path}
        self.variables = {
            name: Variable(tuple(shape), is_sparse)
            for name, (shape, is_sparse) in self._ask(request)["variables"].items()
        }

    def load(self, wanted: str | None, default: str | None) -> Any:
        """Return the wanted or the default variable; raise an error that lists all variables if there is none."""
        if wanted is not None and wanted not in self.variables:
            raise ParameterError(f"variable={wanted!r} is not in the file; it contains {self._describe()}")
        name = wanted or default
        if name is None:
            raise FileFormatError(
                f"{self._path}: the variable is ambiguous; the file contains {self._describe()}: "
                "choose one with variable="
            )
        parts = self._ask({"variable": name, "folder": str(self._folder)})["parts"]
        self._process.wait()  # so that its memory is free
        self._budget.check(sum((self._folder / f"{part}.npy").stat().st_size for part in parts), f"{name!r}")
        arrays = {part: np.load(self._folder / f"{part}.npy", allow_pickle=False) for part in parts}
        if "dense" in arrays:
            value = arrays["dense"]
            n_entries, working = int(np.count_nonzero(value)), 2 * value.nbytes
        else:
            value = sparse.csc_array(
                (arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"].tolist())
            )
            n_entries, working = value.nnz, 0
        self._budget.check_matrix(max(value.shape, default=0), n_entries, working=working)
        return value

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to the parser and return its answer."""
        with suppress(OSError):  # the parser may have ended
            self._requests.write(json.dumps(request).encode() + b"\n")
        line = self._answers.readline()
        if not line:
            code = self._process.wait()
            raise FileFormatError(
                f"{self._path}: cannot be read as mat: the file is damaged (SciPy's parser crashed with code {code}"
                f"{_last_line(self._folder / 'errors')})"
            )
        answer: dict[str, Any] = json.loads(line)
        match answer.get("error"):
            case "memory":
                raise self._budget.exceeded()
            case "format":
                raise ValueError(answer["reason"])
        return answer

    def _describe(self) -> str:
        shapes = {name: " × ".join(map(str, variable.shape)) for name, variable in self.variables.items()}
        return ", ".join(f"{name!r} ({shape})" for name, shape in shapes.items()) or "no variables"


@contextmanager
def open_mat(path: Path, budget: ReadingBudget) -> Iterator[MatFile]:
    """Open a MATLAB file; the process that parses it is stopped at the end."""
    if path == STDIN or (is_compressed(path) and path.suffix.lower() != ".gz"):
        raise FileFormatError(f"{path}: MATLAB files are read from disk, as they are or as .gz: decompress it first")
    _check_version(path, budget)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # its threads take address space
    with TemporaryDirectory() as folder, (Path(folder) / "errors").open("w") as errors:
        process = subprocess.Popen(  # noqa: S603 (a script of this package)
            [_interpreter(), "-P", str(_PARSER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            bufsize=0,  # a buffer would be written again when it is closed
        )
        with process:
            try:
                yield MatFile(path, process, Path(folder), budget)
            finally:
                process.kill()


def _check_version(path: Path, budget: ReadingBudget) -> None:
    """Raise an error for files that are no MATLAB files, without starting a process."""
    from scipy.io.matlab import matfile_version

    with open_binary(path, budget) as stream:
        version, _ = matfile_version(stream)
    if version == _HDF5:
        raise FileFormatError(f"{path}: MATLAB 7.3 files (HDF5) are not supported: save it with save(…, '-v7')")


def _interpreter() -> str:
    # In a program with an embedded or frozen interpreter, sys.executable is that program, or nothing.
    from multiprocessing.spawn import get_executable

    executable = get_executable()
    if not executable or getattr(sys, "frozen", False):
        raise BoostneError(
            "MATLAB files are read by a separate Python process, but there is no Python executable: name one with "
            "multiprocessing.set_executable, or convert the file to .npz or .mtx"
        )
    return os.fsdecode(executable)


def _last_line(file: Path) -> str:
    lines = file.read_text(errors="replace").strip().splitlines()
    return f": {lines[-1]}" if lines else ""
