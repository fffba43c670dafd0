"""Adjacency matrices in CSR format from arrays of edges, and with other nodes or edges.

Working memory is that of a chunk of edges or rows, not of all of them: of a large graph, no second copy is made.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.array_chunks import row_slices, slices
from boostne.edges import as_float, index_dtype, merge_edges
from boostne.integer_ids import Integers, first_of_runs


def edges_to_csr(
    u: Integers, v: Integers, weights: NDArray[Any] | None, n: int, *, mirrored: bool, add: bool
) -> sparse.csr_array:
    """Return the canonical ``n × n`` matrix of edges, which may be listed several times.

    Edges are counted per row, put into their rows in any order, and then sorted and merged row by row in place. The
    result does not depend on the order of the edges.

    Parameters
    ----------
    u, v
        Integers of the ends of each edge.
    weights
        Weight of each edge; None means 1. Edges of weight 0 are not stored.
    n
        Number of nodes.
    mirrored
        Whether each edge is also stored at the transposed position.
    add
        Whether to add the weights of equal edges; otherwise the largest is kept.
    """
    if add and weights is not None:
        weights = _summable(weights)
    indptr = np.zeros(n + 1, dtype=np.int64)
    for rows, _, _ in _entries(u, v, None, mirrored=mirrored):
        np.add.at(indptr[1:], rows, 1)
    np.cumsum(indptr, out=indptr)
    n_entries = int(indptr[-1])
    indices = np.empty(n_entries, dtype=index_dtype(0, n))
    data = None if weights is None else np.empty(n_entries, dtype=weights.dtype)
    _fill_rows(_entries(u, v, weights, mirrored=mirrored), indptr, indices, data)
    if weights is None and add:
        data = np.empty(n_entries, dtype=index_dtype(len(u), n))  # how often an edge is listed
    nnz = _merge_rows(indptr, indices, data, listed=weights is None, add=add)
    for array in (indices, data):
        if array is not None:
            array.resize(nnz, refcheck=False)  # in place; there are no views
    index = index_dtype(nnz, n)
    values = np.ones(nnz, dtype=np.float32) if data is None else as_float(data)
    return sparse.csr_array((values, indices.astype(index, copy=False), indptr.astype(index)), shape=(n, n))


def _summable(weights: NDArray[Any]) -> NDArray[Any]:
    """Return weights whose sums do not wrap around: integers as floats if they are too large."""
    if weights.dtype.kind == "f" or not len(weights):
        return weights
    fits = float(weights.max()) * len(weights) <= np.iinfo(weights.dtype).max
    return weights if fits else weights.astype(np.float64)


def _entries(
    u: Integers, v: Integers, weights: NDArray[Any] | None, *, mirrored: bool
) -> Iterator[tuple[Integers, Integers, NDArray[Any] | None]]:
    """Yield rows, columns and weights of entries; those off the diagonal also mirrored."""
    for span in slices(len(u)):
        rows, columns, values = u[span], v[span], None if weights is None else weights[span]
        if mirrored:
            off = rows != columns
            rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
            values = None if values is None else np.concatenate([values, values[off]])
        yield rows, columns, values


def _fill_rows(
    entries: Iterator[tuple[Integers, Integers, NDArray[Any] | None]],
    indptr: NDArray[np.int64],
    indices: Integers,
    data: NDArray[Any] | None,
) -> None:
    """Put entries into their rows, in any order."""
    free = indptr[:-1].copy()  # the next free position of each row
    for rows, columns, values in entries:
        order = np.argsort(rows)
        ordered = rows[order]
        starts = np.flatnonzero(first_of_runs(ordered))
        counts = np.diff(starts, append=len(ordered))
        distinct = ordered[starts]
        slots = np.repeat(free[distinct] - starts, counts)
        slots += np.arange(len(ordered))
        free[distinct] += counts
        indices[slots] = columns[order]
        if data is not None and values is not None:
            data[slots] = values[order]


def _merge_rows(
    indptr: NDArray[np.int64], indices: Integers, data: NDArray[Any] | None, *, listed: bool, add: bool
) -> int:
    """Sort each row, merge equal entries and leave out zeros, all in place; return how many entries remain.

    If ``listed``, all weights are 1 and ``data``, if any, receives the sums.
    """
    n, end = len(indptr) - 1, 0
    bits = max(n - 1, 1).bit_length()
    for rows in row_slices(indptr):
        first, last = int(indptr[rows.start]), int(indptr[rows.stop])
        numbers = np.arange(rows.stop - rows.start) << bits
        keys = indices[first:last]
        if len(numbers) > 1:  # the row of a hub is long
            keys = np.repeat(numbers, np.diff(indptr[rows.start : rows.stop + 1]))
            keys += indices[first:last]
        weights = None if data is None or listed else data[first:last]
        keys, merged = merge_edges(keys, weights, add=add)
        if weights is not None and not merged.all():
            keys, merged = keys[merged != 0], merged[merged != 0]
        # The entries of later rows have not moved yet.
        indptr[rows] = end + np.searchsorted(keys, numbers.astype(keys.dtype))
        keys &= (1 << bits) - 1
        indices[end : end + len(keys)] = keys
        if data is not None:
            data[end : end + len(keys)] = merged
        end += len(keys)
    indptr[n] = end
    return end


def permuted_csr(A: sparse.csr_array, order: NDArray[np.int64], *, equal_values: bool) -> sparse.csr_array:
    """Return ``A[order][:, order]`` for a permutation; values that are all equal are shared with A."""
    n, begin = len(order), 0
    position = np.empty(n, dtype=A.indices.dtype)
    position[order] = np.arange(n)
    counts = np.diff(A.indptr)[order]
    indptr = np.zeros(n + 1, dtype=A.indptr.dtype)
    np.cumsum(counts, out=indptr[1:], dtype=indptr.dtype)
    indices = np.empty_like(A.indices)
    data = A.data if equal_values else np.empty_like(A.data)
    bits = max(n - 1, 1).bit_length()
    for rows in row_slices(indptr):
        slots = np.repeat(A.indptr[order[rows]] - indptr[rows].astype(np.int64), counts[rows])
        span = slice(begin, begin + len(slots))
        slots += np.arange(span.start, span.stop)
        keys = np.repeat(np.arange(rows.stop - rows.start) << bits, counts[rows])
        keys += position[A.indices[slots]]
        if equal_values:
            keys.sort()
        else:
            ascending = np.argsort(keys)
            keys, data[span] = keys[ascending], A.data[slots[ascending]]
        keys &= (1 << bits) - 1
        indices[span] = keys
        begin = span.stop
    return sparse.csr_array((data, indices, indptr), shape=A.shape)


def without_diagonal(A: sparse.csr_array, *, equal_values: bool) -> sparse.csr_array:
    """Return a canonical matrix without its diagonal; values that are all equal are shared with A."""
    off = np.empty(A.nnz, dtype=bool)
    for rows in row_slices(A.indptr):
        span = slice(int(A.indptr[rows.start]), int(A.indptr[rows.stop]))
        counts = np.diff(A.indptr[rows.start : rows.stop + 1])
        off[span] = A.indices[span] != np.repeat(np.arange(rows.start, rows.stop), counts)
    indptr = A.indptr.copy()
    indptr[1:] -= np.cumsum(A.diagonal() != 0, dtype=indptr.dtype)
    data = A.data[: indptr[-1]] if equal_values else A.data[off]
    return sparse.csr_array((data, A.indices[off], indptr), shape=A.shape)
