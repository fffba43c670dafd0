"""Reading adjacency matrices from Matrix Market, MATLAB and SciPy files; row ``i`` is node ``i``."""

from io import BytesIO
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from scipy import sparse

from boostne.errors import FileFormatError, ParameterError
from boostne.graph import Graph
from boostne.interop import EdgeOptions, as_graph
from boostne.io.delimited_text import read_bytes
from boostne.io.files import open_binary

_GRAPH_VARIABLES = ("network", "A", "adj", "adjacency", "graph", "W")


def read_mtx(path: Path, **options: Unpack[EdgeOptions]) -> Graph:
    """Read a Matrix Market file."""
    from scipy.io import mminfo, mmread

    # SciPy's reader crashes on zero bytes, trailing white space and matrices without rows.
    raw = read_bytes(path).rstrip() + b"\n"
    rows, columns, *_ = mminfo(BytesIO(raw))
    if rows != columns or not rows:
        raise FileFormatError(f"{path}: an adjacency matrix must be square, got {rows} × {columns}")
    return as_graph(mmread(BytesIO(raw)), **options)


def read_scipy_npz(path: Path, **options: Unpack[EdgeOptions]) -> Graph:
    """Read a sparse matrix written by ``scipy.sparse.save_npz``."""
    with open_binary(path) as stream:
        archive = np.load(stream, allow_pickle=False)
        names = getattr(archive, "files", None)
        if names is None or "format" not in names:
            raise FileFormatError(
                f"{path}: not a matrix written by scipy.sparse.save_npz; "
                f"it contains {', '.join(map(repr, names)) if names else 'a plain array'}"
            )
        stream.seek(0)
        matrix = sparse.load_npz(stream)
    return as_graph(matrix, **options)


def read_mat(path: Path, *, variable: str | None, **options: Unpack[EdgeOptions]) -> Graph:
    """Read a graph from a variable of a MATLAB file."""
    variables = load_mat(path)
    matrix = choose_variable(path, variables, variable, _graph_variable(variables))
    return as_graph(matrix, **options)


def load_mat(path: Path) -> dict[str, Any]:
    """Return the variables of a MATLAB file."""
    from scipy.io import loadmat

    with open_binary(path) as stream:
        try:
            content = loadmat(stream)
        except NotImplementedError:
            raise FileFormatError(
                f"{path}: MATLAB 7.3 files (HDF5) are not supported: save it with save(…, '-v7')"
            ) from None
    return {name: value for name, value in content.items() if not name.startswith("__")}


def choose_variable(path: Path, variables: dict[str, Any], wanted: str | None, default: str | None) -> Any:
    """Return the wanted or the default variable; raise an error that lists all variables if there is none."""
    if wanted is not None and wanted not in variables:
        raise ParameterError(f"variable={wanted!r} is not in the file; it contains {_describe(variables)}")
    name = wanted or default
    if name is None:
        raise FileFormatError(
            f"{path}: the variable is ambiguous; the file contains {_describe(variables)}: choose one with variable="
        )
    return variables[name]


def _describe(variables: dict[str, Any]) -> str:
    shapes = {
        name: " × ".join(map(str, getattr(value, "shape", ()))) or type(value).__name__
        for name, value in variables.items()
    }
    return ", ".join(f"{name!r} ({shape})" for name, shape in shapes.items()) or "no variables"


def _graph_variable(variables: dict[str, Any]) -> str | None:
    named = next((name for name in _GRAPH_VARIABLES if name in variables), None)
    if named:
        return named
    square = [name for name, value in variables.items() if sparse.issparse(value) and value.shape[0] == value.shape[1]]
    return square[0] if len(square) == 1 else None
