"""Adjacency matrices: Matrix Market, MATLAB and SciPy files."""

import io
from random import Random
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import savemat

from boostne.io import read_graph
from fuzz.arrays import npy_bytes, random_sparse
from fuzz.case import OK, Case, attempt, require
from fuzz.expectation import ExpectedGraph
from fuzz.generate import graph_options
from fuzz.mutations import compress, mutate, zip_archive
from fuzz.oracles import check_graph


def mtx(case: Case) -> str:
    """Read a Matrix Market file."""
    rng = case.rng
    data, matrix = _make_mtx(rng)
    valid = rng.random() < 0.3
    return _read(case, data if valid else mutate(rng, data, _make_mtx(rng)[0]), "mtx", matrix if valid else None)


def npz(case: Case) -> str:
    """Read a matrix written by SciPy; in damaged files the arrays are changed, with valid checksums."""
    rng = case.rng
    valid = rng.random() < 0.3
    matrix = random_sparse(rng, dtypes="fdiB" if valid else "fdiBgeFO?")
    members = {
        "format": np.array(matrix.format.encode()),
        "shape": np.array(matrix.shape),
        "data": matrix.data,
        **_index_arrays(matrix),
    }
    if not valid:
        _damage_arrays(rng, members)
    content = {f"{name}.npy": npy_bytes(value) for name, value in members.items()}
    data = zip_archive(rng, content, damage=not valid and rng.random() < 0.6)
    return _read(case, data, "npz", matrix if valid else None)


def mat(case: Case) -> str:
    """Read a variable of a MATLAB file."""
    rng = case.rng
    matrix = random_sparse(rng, dtypes="d").tocsc()
    valid = rng.random() < 0.3
    name = rng.choice(("network", "A", "other"))
    value = matrix if rng.random() < 0.7 else matrix.toarray()
    variables = {name: value}
    if rng.random() < 0.3:
        variables["text"] = "abc"
    buffer = io.BytesIO()
    savemat(buffer, variables, format=rng.choice(("4", "5", "5", "5")), do_compression=rng.random() < 0.3)
    # The only square sparse matrix is found under any name; a dense one has to be named.
    options = {"variable": name} if name == "other" else {}
    data = buffer.getvalue()
    return _read(case, data if valid else mutate(rng, data), "mat", matrix if valid else None, options)


def _read(case: Case, data: bytes, suffix: str, matrix: Any = None, extra: dict[str, Any] | None = None) -> str:
    """Read a file; if ``matrix`` is given, it must be its content."""
    rng = case.rng
    options = graph_options(rng) | (extra or {})
    packed = matrix is None and rng.random() < 0.1
    path = case.folder / f"graph.{suffix}{'.gz' if packed else ''}"
    path.write_bytes(compress(rng, data) if packed else data)
    case.announce(f"read_graph({path.name!r}, **{options})")
    graph, outcome = attempt(lambda: read_graph(path, **options), path)
    if matrix is None:
        if outcome == OK:
            check_graph(graph)
        return outcome
    expected = expected_graph_of(matrix.toarray().astype(np.float64), options)
    require(outcome == (OK if expected else "GraphError"), f"a valid file was read with the outcome {outcome}")
    if expected:
        check_graph(graph, expected)
    return outcome


def expected_graph_of(dense: Any, options: dict[str, Any]) -> ExpectedGraph | None:
    """Return the graph of a matrix; None if it must be refused, because it is directed."""
    symmetric = np.array_equal(dense, dense.T)
    directed = options.get("directed")
    if directed is False and not symmetric:
        return None
    edges = {(i, j): dense[i, j] for i, j in np.argwhere(dense > 0).tolist()}
    if options.get("self_loops") != "keep":
        edges = {(i, j): weight for (i, j), weight in edges.items() if i != j}
    return ExpectedGraph(list(range(len(dense))), edges, bool(directed) or not symmetric)


def _make_mtx(rng: Random) -> tuple[bytes, Any]:
    """Return a Matrix Market file and its matrix."""
    field = rng.choice(("real", "integer", "pattern"))
    symmetric = rng.random() < 0.5
    n = rng.randint(1, 8)
    entries = {}
    for _ in range(rng.randint(0, 12)):
        i, j = rng.randrange(n), rng.randrange(n)
        if not symmetric or i >= j:
            entries[i, j] = {"real": rng.choice((0.5, 1.0, 2.25)), "integer": rng.randint(1, 9), "pattern": 1}[field]
    lines = [f"%%MatrixMarket matrix coordinate {field} {'symmetric' if symmetric else 'general'}"]
    lines += ["% a comment"] * rng.randint(0, 2) + [f"{n} {n} {len(entries)}"]
    lines += [f"{i + 1} {j + 1}{'' if field == 'pattern' else f' {value}'}" for (i, j), value in entries.items()]
    if symmetric:
        entries |= {(j, i): value for (i, j), value in entries.items()}
    dense = np.zeros((n, n))
    for ends, value in entries.items():
        dense[ends] = value
    return "\n".join(lines).encode() + rng.choice((b"\n", b"", b"\n\n")), sparse.csr_array(dense)


def _index_arrays(matrix: Any) -> dict[str, Any]:
    if matrix.format == "coo":
        return {"row": matrix.row, "col": matrix.col}
    if matrix.format == "dia":
        return {"offsets": matrix.offsets}
    return {"indices": matrix.indices, "indptr": matrix.indptr}


def _damage_arrays(rng: Random, members: dict[str, Any]) -> None:
    """Change a value, type or shape of one of the arrays."""
    name = rng.choice(sorted(members))
    array = np.array(members[name])
    kind = rng.random()
    if kind < 0.5 and array.size and array.dtype.kind in "if":
        values = (
            (-1, 0, 1, 7, 10**6, 2**30, 2**31 - 1, 2**62, -(2**63)) if array.dtype.itemsize == 8 else (-1, 0, 2**30)
        )
        array.flat[rng.randrange(array.size)] = rng.choice(values)
    elif kind < 0.7:
        array = array.astype(rng.choice(("f8", "i1", "u8", "c16", "?", "U3", ">i4"))) if name != "format" else array
    elif kind < 0.8:
        array = array[..., :-1] if array.ndim else array.reshape(1)
    elif kind < 0.9:
        array = np.append(array, array)
    else:
        array = array.reshape((*array.shape, 1))
    members[name] = array
