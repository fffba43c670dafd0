"""Objects in memory: matrices, tables and lists for ``as_graph``, and matrices for ``connectivity=``."""

import warnings
from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
from scipy import sparse

from boostne import BoostNE, Graph, as_graph
from fuzz.arrays import random_dense, random_sparse
from fuzz.case import OK, Case, attempt, require
from fuzz.expectation import expected_graph, merging_options
from fuzz.generate import graph_options, make_edges, make_ids
from fuzz.oracles import check_embedding, check_graph
from fuzz.targets.matrix_graphs import expected_graph_of

_INDEX_NAMES = ("indptr", "indices", "row", "col", "offsets", "data")
_BAD_VALUES = (-1, 1, 5, 10**6, 2**30, 2**31 - 1, -(2**31))


def matrices(case: Case) -> str:
    """Convert a valid matrix of any format and type, or a malformed one."""
    rng = case.rng
    options = graph_options(rng)
    valid = rng.random() < 0.3
    if rng.random() < 0.3:
        matrix = random_dense(rng, dtypes="fdeg?bBhHiIlLqQ" if valid else "dFSUO")
    else:
        matrix = random_sparse(rng, dtypes="fd?bBhHiIlLqQ" if valid else "dfiFeO")
    if not valid:
        matrix = _malform(rng, matrix)
    case.announce(f"as_graph(…, **{options}): {_describe(matrix)}")
    graph, outcome = _attempt(lambda: as_graph(matrix, **options))
    if not valid:
        if outcome == OK:
            check_graph(graph)
        return outcome
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    expected = expected_graph_of(dense.astype(np.float64), options)
    require(outcome == (OK if expected else "GraphError"), f"a valid matrix was converted with the outcome {outcome}")
    if expected:
        check_graph(graph, expected)
    return outcome


def edges(case: Case) -> str:
    """Convert a list of edges, a networkx graph or a table."""
    rng = case.rng
    options = graph_options(rng)
    ids = make_ids(rng, rng.randint(2, 8))
    rows = make_edges(rng, ids, exact_sums=True)
    valid = rng.random() < 0.4
    kind = rng.choice((_pairs, _networkx, _arrow, _pandas))
    expected = expected_graph(rows, **merging_options(options))
    if not valid:
        rows = [tuple(_odd(rng) if rng.random() < 0.1 else item for item in row) for row in rows]
    try:
        obj = kind(rows)
    except (TypeError, ValueError, OverflowError, pa.ArrowException):  # the other library refuses it
        return "refused by its library"
    case.announce(f"as_graph({kind.__name__[1:]} of {rows!r}, **{options})")
    graph, outcome = _attempt(lambda: as_graph(obj, **options))
    if outcome != OK:
        require(not valid, f"valid edges were refused with {outcome}")
    elif valid and kind is not _networkx:
        check_graph(graph, expected)
    else:
        check_graph(graph)
    return outcome


def connectivity(case: Case) -> str:
    """Factorize a given matrix, valid or malformed."""
    rng = case.rng
    matrix = random_sparse(rng, dtypes="fdi") if rng.random() < 0.7 else random_dense(rng, dtypes="fdi")
    n = matrix.shape[0]
    if rng.random() < 0.7:
        matrix = _malform(rng, matrix)
    case.announce(f"BoostNE(connectivity=…): {_describe(matrix)}")
    graph = Graph(sparse.csr_array(1 - np.eye(n)))
    model = BoostNE(connectivity=matrix, dimensions=2, levels=1, max_iter=3, threads=1, random_state=0)
    fitted, outcome = _attempt(lambda: model.fit(graph))
    if outcome == OK:
        check_embedding(fitted.embedding_)
        require(fitted.embedding_.nodes.tolist() == list(range(n)), "other nodes")
    return outcome


def _attempt(function: Any) -> tuple[Any, str]:
    """Like ``attempt``; a TypeError about an object that is no graph is documented."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return attempt(function)
        except TypeError as error:
            if not str(error).startswith("cannot convert"):
                raise
            return None, "TypeError"


def _malform(rng: Random, matrix: Any) -> Any:
    """Change the type, shape or values of a matrix, without SciPy's checks."""
    if not sparse.issparse(matrix):
        value = rng.choice((np.nan, np.inf, -1.0, 1e-45, 1e40, 1e308, 5e-324))
        choices = (
            lambda: matrix[:-1],
            matrix.ravel,
            lambda: np.matrix(matrix),
            lambda: matrix[None],
            lambda: np.where(matrix == 1, value, matrix) if matrix.dtype.kind == "f" else matrix,
            lambda: matrix.astype(object),
            lambda: matrix.astype(">f8") if matrix.dtype.kind in "fi" else matrix,
            lambda: np.ma.masked_array(matrix, matrix == 1),
        )
        return rng.choice(choices)()
    names = [name for name in _INDEX_NAMES if hasattr(matrix, name)]
    array = np.array(getattr(matrix, name := rng.choice(names)))
    kind = rng.random()
    if kind < 0.5 and array.size and array.dtype.kind in "if":
        array.flat[rng.randrange(array.size)] = rng.choice(_BAD_VALUES)
    elif kind < 0.7:
        array = array.astype(rng.choice(("f8", "i8", "u4", "i2", ">i4", "?")))
    elif kind < 0.85:
        array = array[:-1]
    else:
        array = np.append(array, array)
    _set(matrix, name, array)
    return matrix


def _set(matrix: Any, name: str, array: Any) -> None:
    """Set an array of a matrix; coordinates are stored as a tuple in newer versions of SciPy."""
    if name in ("row", "col") and hasattr(matrix, "coords"):
        coords = list(matrix.coords)
        coords[name == "col"] = array
        matrix.coords = tuple(coords)
    else:
        setattr(matrix, name, array)


def _describe(matrix: Any) -> str:
    """Describe a matrix; not by its repr, which fails for malformed ones."""
    if not sparse.issparse(matrix):
        return f"{type(matrix).__name__} {matrix.tolist()} ({matrix.dtype})"
    arrays = {name: getattr(matrix, name) for name in _INDEX_NAMES if hasattr(matrix, name)}
    content = ", ".join(f"{name}={array.tolist()} ({array.dtype})" for name, array in arrays.items())
    return f"{type(matrix).__name__} {matrix.shape}, {content}"


def _odd(rng: Random) -> Any:
    return rng.choice((
        None, float("nan"), float("inf"), -1, 1.5, "x", "", (), (1,), [1], {}, b"x", 2**70, -(2**63), True, np.int8(3),
        np.float32(2), np.datetime64("2020-01-01"), 1j, "1", "nan",
    ))  # fmt: skip


def _pairs(rows: list[Any]) -> Any:
    return rows


def _networkx(rows: list[Any]) -> Any:
    graph = nx.Graph()
    graph.add_weighted_edges_from(rows)
    return graph


def _columns(rows: list[Any]) -> dict[str, list[Any]]:
    return dict(zip(("source", "target", "weight"), map(list, zip(*rows, strict=True)), strict=True))


def _arrow(rows: list[Any]) -> Any:
    # PyArrow itself crashes while it converts a list of NumPy dates and numbers.
    as_python = [[value.item() if isinstance(value, np.datetime64) else value for value in row] for row in rows]
    return pa.table(_columns(as_python))


def _pandas(rows: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(_columns(rows))
