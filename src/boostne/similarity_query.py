"""Queries of a similarity search: a node, several nodes, or vectors; and their results by node id."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError, UnknownNodeError
from boostne.node_ids import as_ids, format_ids
from boostne.similarity import FloatArray, Neighbors
from boostne.validation import check_integer

_MATRIX_NDIM = 2


class _Queries(NamedTuple):
    vectors: NDArray[Any]
    rows: list[int] | None  # of the nodes that are queried, which are not among their own neighbors
    single: bool


def most_similar(
    query: Any,
    n: int,
    *,
    nodes: NDArray[Any],
    width: int,
    vectors_of: Callable[[NDArray[np.int64]], FloatArray],
    row_of: Callable[[Any], int],
    search: Callable[[NDArray[Any], int], list[Neighbors]],
) -> list[Any]:
    """Answer a query; see :meth:`boostne.Embedding.most_similar`.

    Parameters
    ----------
    query : id, sequence of ids, or array
    n : int
    nodes : ndarray
        The ids of all rows.
    width : int
        The length of a vector.
    vectors_of : callable
        Returns the vectors of some rows.
    row_of : callable
        Returns the row of an id, or raises an error.
    search : callable
        Returns the neighbors of each vector of a matrix.
    """
    n = check_integer("n", n, 0)
    queries = _parse(query, width, vectors_of, row_of)
    found = search(queries.vectors, n if queries.rows is None else n + 1)
    excluded = [-1] * len(found) if queries.rows is None else queries.rows
    results = [_by_node(nodes, neighbors, row, n) for neighbors, row in zip(found, excluded, strict=True)]
    return results[0] if queries.single else results


def is_collection(query: Any) -> bool:
    """Return whether an object is a list or array of ids or numbers; a tuple is a node id."""
    return isinstance(query, list | range) or (hasattr(query, "__array__") and np.ndim(query) > 0)


def find_row(row_of: Mapping[Any, int], node: Any, nodes: NDArray[Any]) -> int:
    """Return the row of a node id."""
    try:
        return row_of[node]
    except KeyError:
        raise UnknownNodeError(f"node {node!r} is not in the embedding of {format_ids(nodes)}") from None


def rows_of(ids: Any, row_of: Callable[[Any], int]) -> list[int]:
    """Return the rows of several ids."""
    if getattr(ids, "dtype", None) == np.bool_:
        raise ParameterError("nodes are selected by their ids, got an array of booleans: pass embedding.nodes[mask]")
    return [row_of(node) for node in as_ids(ids).tolist()]


def _parse(
    query: Any, width: int, vectors_of: Callable[[NDArray[np.int64]], FloatArray], row_of: Callable[[Any], int]
) -> _Queries:
    if not is_collection(query):
        try:
            row = row_of(query)
        except TypeError:  # not hashable
            raise ParameterError(
                f"the query must be a node id, a list or array of ids, or vectors; got {type(query).__name__}"
            ) from None
        return _Queries(vectors_of(np.array([row])), [row], single=True)
    if _has_numbers(query):
        matrix = _as_matrix(query, width)
        return _Queries(np.atleast_2d(matrix), None, single=matrix.ndim == 1)
    rows = rows_of(query, row_of)
    return _Queries(vectors_of(np.array(rows, dtype=np.int64)), rows, single=False)


def _has_numbers(query: Any) -> bool:
    """Return whether a list or array consists of vectors, or is one, rather than of ids."""
    if isinstance(query, list):
        return bool(query) and isinstance(query[0], float | np.floating | list | np.ndarray)
    array = np.asarray(query)
    return array.ndim > 1 or array.dtype.kind == "f"


def _as_matrix(query: Any, width: int) -> NDArray[Any]:
    try:
        matrix = np.asarray(query)
    except ValueError:  # rows of different lengths
        matrix = np.array(None)
    if matrix.dtype.kind not in "fiub" or matrix.ndim > _MATRIX_NDIM or matrix.shape[-1:] != (width,):
        raise ParameterError(
            f"query vectors must be real numbers in rows of length {width}, got shape {matrix.shape} of type "
            f"{matrix.dtype}"
        )
    finite = np.isfinite(matrix)
    if not finite.all():
        row = int(np.argmin(np.atleast_2d(finite).all(axis=1)))
        raise ParameterError(f"query vectors must be finite, got NaN or infinity in row {row}")
    return matrix


def _by_node(nodes: NDArray[Any], neighbors: Neighbors, excluded: int, n: int) -> list[tuple[Any, float]]:
    keep = neighbors.rows != excluded
    rows, similarities = neighbors.rows[keep][:n], neighbors.similarities[keep][:n]
    return list(zip(nodes[rows].tolist(), similarities.tolist(), strict=True))
