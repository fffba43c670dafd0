"""Reading adjacency matrices from Matrix Market, MATLAB and SciPy files; row ``i`` is node ``i``."""

from io import BytesIO
from pathlib import Path
from typing import Any, Unpack

from boostne.errors import FileFormatError
from boostne.graph import Graph
from boostne.interop import EdgeOptions, as_graph
from boostne.io.delimited_text import check_is_text
from boostne.io.files import read_into_memory
from boostne.io.mat_files import MatFile, open_mat
from boostne.io.reading_budget import ReadingBudget
from boostne.io.reading_notes import ReadingNotes
from boostne.io.sparse_npz import read_sparse_npz

_GRAPH_VARIABLES = ("network", "A", "adj", "adjacency", "graph", "W")
_PARSED_ENTRY = 16  # bytes of an entry in SciPy's matrix
_SHORTEST_ENTRY = {"coordinate": 4, "array": 2}  # bytes


def read_mtx(path: Path, *, budget: ReadingBudget, notes: ReadingNotes, **options: Unpack[EdgeOptions]) -> Graph:
    """Read a Matrix Market file."""
    from scipy.io import mminfo, mmread

    raw = read_into_memory(path, budget).getvalue()
    # SciPy's reader crashes on zero bytes, trailing white space and matrices without rows.
    check_is_text(path, raw)
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not raw.endswith(b"\n") or raw[-2:-1].isspace():
        raw = raw.rstrip() + b"\n"
    rows, columns, n_entries, layout, _, symmetry = mminfo(BytesIO(raw))
    if rows != columns or rows <= 0:
        raise FileFormatError(f"{path}: an adjacency matrix must be square, got {rows} × {columns}")
    if layout == "array" and symmetry != "general":
        n_entries = rows * (rows - 1) // 2
    if n_entries * _SHORTEST_ENTRY[layout] > len(raw):
        raise FileFormatError(
            f"{path}: cannot be read as mtx: Truncated: it claims {n_entries:,} entries, but has {len(raw):,} bytes"
        )
    n_stored = n_entries if symmetry == "general" else 2 * n_entries
    budget.check_matrix(rows, n_stored, working=_PARSED_ENTRY * n_stored)
    matrix = mmread(BytesIO(raw))
    del raw
    return _as_graph(matrix, notes, "a Matrix Market file", options)


def read_scipy_npz(path: Path, *, budget: ReadingBudget, notes: ReadingNotes, **options: Unpack[EdgeOptions]) -> Graph:
    """Read a sparse matrix written by ``scipy.sparse.save_npz``."""
    return _as_graph(read_sparse_npz(path, budget), notes, "a SciPy matrix", options)


def read_mat(
    path: Path, *, variable: str | None, budget: ReadingBudget, notes: ReadingNotes, **options: Unpack[EdgeOptions]
) -> Graph:
    """Read a graph from a variable of a MATLAB file."""
    with open_mat(path, budget) as file:
        chosen = variable or _graph_variable(file)
        matrix = file.load(variable, chosen)
    return _as_graph(matrix, notes, f"variable {chosen!r}", options)


def _as_graph(matrix: Any, notes: ReadingNotes, content: str, options: EdgeOptions) -> Graph:
    graph = as_graph(matrix, **options)
    shape = "not symmetric, so directed" if graph.directed else "symmetric, so undirected"
    known = "directed" if graph.directed else "undirected"
    notes.assume(f"{content}, {shape if options['directed'] is None else known}; rows are nodes 0, 1, …")
    return graph


def _graph_variable(file: MatFile) -> str | None:
    named = next((name for name in _GRAPH_VARIABLES if name in file.variables), None)
    if named:
        return named
    square = [name for name, found in file.variables.items() if found.is_sparse and len(set(found.shape)) == 1]
    return square[0] if len(square) == 1 else None
