"""Parses a MATLAB file in a process of its own, which :mod:`boostne.io.mat_files` starts as a script.

SciPy's parser can crash on a damaged file. This module imports nothing of boostne, so that the process starts quickly.

The parent writes one JSON object per line to standard input, and reads one per line from standard output:

1. ``{"file": …, "memory": …, "sys_path": […]}``, answered by ``{"variables": {name: [shape, is sparse]}}``;
2. ``{"variable": name, "folder": …}``, answered by ``{"parts": [name, …]}``: the arrays ``folder/NAME.npy``.

An error is answered by ``{"error": kind, "reason": text}``.
"""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import IO, Any

_MAX_RETURNS = 1000


class _Stream:
    """A file in which SciPy cannot go back forever, as it would if a variable has a negative size."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._returns = 0
        self.read, self.tell = stream.read, stream.tell

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position; raise ValueError after many steps back, of which a valid file needs a few."""
        before = self.tell()
        position = self._stream.seek(offset, whence)
        if position < before - 1:  # SciPy returns by one byte after it has looked for the end of the file
            self._returns += 1
            if self._returns > _MAX_RETURNS:
                raise ValueError("a variable has a negative size")
        return position


def main() -> None:
    """Answer the two requests of the parent."""
    request = json.loads(sys.stdin.readline())
    sys.path[:] = request["sys_path"]
    try:
        _serve(request)
    except MemoryError as error:
        _answer(error="memory", reason=str(error))
    except Exception as error:  # SciPy raises anything
        _answer(error="format", reason=str(error).strip().split("\n")[0] or type(error).__name__)


def _serve(request: dict[str, Any]) -> None:
    import numpy as np
    from scipy import sparse
    from scipy.io import loadmat, whosmat

    if request["memory"] is not None:
        _limit_memory(request["memory"])
    file = request["file"]
    with (gzip.open if file.lower().endswith(".gz") else open)(file, "rb") as raw:
        stream = _Stream(raw)
        found = whosmat(stream)
        if not all(name for name, _, _ in found):  # SciPy before 1.16 takes zeros for variables
            raise ValueError("a variable has no name")
        variables = {name: (shape, kind == "sparse") for name, shape, kind in found if name[:2] != "__"}
        _answer(variables=variables)
        line = sys.stdin.readline()
        if not line:  # the parent found no variable to load
            return
        request = json.loads(line)
        stream.seek(0)
        value = loadmat(stream, variable_names=[request["variable"]])[request["variable"]]
    if sparse.issparse(value):
        value = value.tocsc(copy=False)
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr, "shape": np.array(value.shape)}
    else:
        parts = {"dense": np.asarray(value)}
    for name, array in parts.items():
        np.save(f"{request['folder']}/{name}.npy", array, allow_pickle=False)
    _answer(parts=list(parts))


def _limit_memory(size: int) -> None:
    """Limit the address space to what is used now and ``size`` more bytes, less what is resident; Linux only."""
    try:
        import resource

        used, resident, *_ = map(int, Path("/proc/self/statm").read_text().split())
    except (ImportError, OSError):
        return
    page = resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used * page + max(size - resident * page, 0)
    bounds = [bound for bound in (limit, soft, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(bounds), hard))


def _answer(**content: Any) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
