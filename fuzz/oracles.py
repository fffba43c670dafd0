"""What must hold for every graph, labels and embedding that was read."""

from collections.abc import Callable
from typing import Any

import numpy as np

from boostne.embedding import Embedding
from boostne.graph import Graph
from boostne.labels import Labels
from fuzz.case import require
from fuzz.dialect import UndocumentedError
from fuzz.expectation import ExpectedGraph, mirrored

ROUNDING = 1e-12  # relative, of sums of weights; they are stored in float32 or float64


def check_graph(graph: Any, expected: ExpectedGraph | None = None) -> None:
    """Check the documented properties of a graph and, if known, its content."""
    require(isinstance(graph, Graph), f"not a graph: {type(graph)}")
    A, n = graph.adjacency, len(graph.nodes)
    require(A.shape == (n, n) == (graph.n_nodes, graph.n_nodes), f"{n} ids, but the adjacency has shape {A.shape}")
    check_ids(graph.nodes)
    require(A.data.dtype in (np.float32, np.float64), f"weights of type {A.data.dtype}")
    require(np.isfinite(A.data).all() and (A.data > 0).all(), "weights must be finite and positive")
    check_csr(A)
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    loops = int(np.count_nonzero(rows == A.indices))
    if not graph.directed:
        transpose = A.T.tocsr()
        transpose.sort_indices()
        require(
            np.array_equal(A.indices, transpose.indices) and np.array_equal(A.data, transpose.data), "not symmetric"
        )
    edges = A.nnz if graph.directed else (A.nnz + loops) // 2
    require((graph.n_edges, graph.n_self_loops) == (edges, loops), "wrong numbers of edges or self-loops")
    if expected is not None:
        _compare(graph, rows, expected)


def check_against_parser(
    found: Any,
    data: bytes,
    options: dict[str, Any],
    parse: Callable[[bytes, dict[str, Any]], Any],
    check: Callable[[Any, Any], None],
) -> None:
    """Compare what was read from a text file with the result of the simple parser, if that knows the rules."""
    try:
        expected = parse(data, options)
    except UndocumentedError:
        return
    except ValueError as error:
        require(False, f"an invalid file was read without an error: {type(error).__name__}")
    check(found, expected)


def check_csr(A: Any) -> None:
    """Check that the index arrays are valid, and that the entries are sorted and unique."""
    n_rows, n_columns = A.shape
    require(len(A.indptr) == n_rows + 1 and A.indptr[0] == 0 and A.indptr[-1] == len(A.indices), "invalid indptr")
    require((np.diff(A.indptr) >= 0).all() and len(A.data) == len(A.indices), "invalid indptr or data")
    if len(A.indices):
        require(A.indices.min() >= 0 and A.indices.max() < n_columns, "indices out of range")
        keys = np.repeat(np.arange(n_rows), np.diff(A.indptr)) * n_columns + A.indices
        require((np.diff(keys) > 0).all(), "entries are not sorted, or not unique")


def check_ids(ids: Any) -> None:
    """Check the type and uniqueness of ids."""
    require(ids.ndim == 1 and (ids.dtype == np.int64 or ids.dtype.kind in "UO"), f"ids of type {ids.dtype}")
    items = ids.tolist()
    require(len(set(items)) == len(items), "ids are not unique")


def _compare(graph: Graph, rows: Any, expected: ExpectedGraph) -> None:
    require(graph.nodes.tolist() == expected.nodes, f"nodes {graph.nodes.tolist()} instead of {expected.nodes}")
    require(graph.directed == expected.directed, f"directed={graph.directed} instead of {expected.directed}")
    keys = zip(rows.tolist(), graph.adjacency.indices.tolist(), strict=True)
    found = dict(zip(keys, graph.adjacency.data.tolist(), strict=True))
    entries = mirrored(expected)
    require(found.keys() == entries.keys(), f"edges {sorted(found)} instead of {sorted(entries)}")
    single = graph.adjacency.dtype == np.float32
    for ends, weight in found.items():
        wanted = float(np.float32(entries[ends])) if single else entries[ends]
        require(abs(weight - wanted) <= ROUNDING * wanted, f"weight {weight!r} of {ends} instead of {entries[ends]!r}")


def check_labels(labels: Any, expected: dict[Any, set[Any]] | None = None) -> None:
    """Check the documented properties of labels and, if known, the labels of each node."""
    require(isinstance(labels, Labels), f"not labels: {type(labels)}")
    check_ids(labels.nodes)
    check_ids(labels.classes)
    require(labels.matrix.shape == (len(labels.nodes), len(labels.classes)), "wrong shape")
    require(labels.matrix.dtype == bool and labels.matrix.data.all(), "not an indicator matrix")
    check_csr(labels.matrix)
    if expected is not None:
        matrix = labels.matrix.toarray()
        found = {
            node: set(labels.classes[row].tolist()) for node, row in zip(labels.nodes.tolist(), matrix, strict=True)
        }
        require(found == expected, f"labels {found} instead of {expected}")


def check_embedding(
    embedding: Any, nodes: list[Any] | None = None, vectors: Any = None, levels: list[int] | None = None
) -> None:
    """Check the documented properties of an embedding and, if known, its content."""
    require(isinstance(embedding, Embedding), f"not an embedding: {type(embedding)}")
    check_ids(embedding.nodes)
    X = embedding.vectors
    require(X.dtype in (np.float32, np.float64) and X.ndim == 2, f"vectors of type {X.dtype} and shape {X.shape}")
    require(X.shape == (len(embedding.nodes), embedding.dimensions) and X.shape[1] > 0, f"wrong shape {X.shape}")
    require(np.isfinite(X).all(), "vectors must be finite")
    require((embedding.levels > 0).all() and embedding.levels.sum() == X.shape[1], f"levels {embedding.levels}")
    if nodes is not None:
        found = embedding.nodes.tolist()
        require(found == nodes and list(map(type, found)) == list(map(type, nodes)), f"nodes {found}, not {nodes}")
        require(np.array_equal(X, vectors), f"vectors {X.tolist()} instead of {np.asarray(vectors).tolist()}")
    if levels is not None:
        require(embedding.levels.tolist() == levels, f"levels {embedding.levels.tolist()} instead of {levels}")
