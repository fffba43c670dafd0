"""Adjacency matrices in files: Matrix Market, MATLAB, SciPy. Row ``i`` is node ``i``, counted from 0."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from boostne.errors import FileFormatError, ParameterError
from boostne.graph import Duplicates, Graph, SelfLoops
from boostne.interop import as_graph
from boostne.io.files import describe, open_binary
from boostne.io.text import read_bytes

_GRAPH_VARIABLES = ("network", "A", "adj", "adjacency", "graph", "W")


def read_mtx(path: Path, *, directed: bool | None, duplicates: Duplicates, self_loops: SelfLoops) -> Graph:
    """Read a Matrix Market file."""
    from scipy.io import mminfo, mmread

    # SciPy's reader crashes on zero bytes, on a space at the end of the file and on matrices without rows.
    raw = read_bytes(path).rstrip() + b"\n"
    rows, columns, *_ = mminfo(BytesIO(raw))
    if rows != columns or not rows:
        raise FileFormatError(f"{path}: a matrix of {rows} × {columns}; an adjacency matrix is square")
    matrix = mmread(BytesIO(raw))
    return as_graph(matrix, directed=directed, duplicates=duplicates, self_loops=self_loops)


def read_npz(path: Path, *, directed: bool | None, duplicates: Duplicates, self_loops: SelfLoops) -> Graph:
    """Read a sparse matrix that ``scipy.sparse.save_npz`` wrote."""
    with open_binary(path) as stream:
        archive = np.load(stream, allow_pickle=False)
        names = getattr(archive, "files", None)
        if names is None or "format" not in names:
            raise FileFormatError(
                f"{path}: not a matrix written by scipy.sparse.save_npz; "
                f"it holds {', '.join(map(repr, names)) if names else 'a plain array'}"
            )
        stream.seek(0)
        matrix = sparse.load_npz(stream)
    return as_graph(matrix, directed=directed, duplicates=duplicates, self_loops=self_loops)


def read_mat(
    path: Path,
    *,
    directed: bool | None,
    variable: str | None,
    duplicates: Duplicates,
    self_loops: SelfLoops,
) -> Graph:
    """Read a graph from a variable of a MATLAB file."""
    variables = load_mat(path)
    matrix = choose_variable(path, variables, variable, _graph_variable(variables))
    return as_graph(matrix, directed=directed, duplicates=duplicates, self_loops=self_loops)


def load_mat(path: Path) -> dict[str, Any]:
    """Return the variables of a MATLAB file."""
    from scipy.io import loadmat

    with open_binary(path) as stream:
        try:
            content = loadmat(stream)
        except NotImplementedError:
            raise FileFormatError(
                f"{path}: a MATLAB 7.3 file (HDF5), which cannot be read: save it with save(…, '-v7')"
            ) from None
    return {name: value for name, value in content.items() if not name.startswith("__")}


def choose_variable(path: Path, variables: dict[str, Any], wanted: str | None, default: str | None) -> Any:
    """Return the variable asked for, or the default; neither being there is an error that lists all."""
    if wanted is not None and wanted not in variables:
        raise ParameterError(
            f"variable={wanted!r} is not in the file; it holds {describe(variables) or 'none'}"
        )
    name = wanted or default
    if name is None:
        raise FileFormatError(
            f"{path}: which variable? It holds {describe(variables) or 'none'}: choose with variable="
        )
    return variables[name]


def _graph_variable(variables: dict[str, Any]) -> str | None:
    named = next((name for name in _GRAPH_VARIABLES if name in variables), None)
    if named:
        return named
    square = [
        name
        for name, value in variables.items()
        if sparse.issparse(value) and value.shape[0] == value.shape[1]
    ]
    return square[0] if len(square) == 1 else None
