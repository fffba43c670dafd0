"""Exact search for the most similar vectors by cosine similarity.

Similarities with all vectors are estimated by BLAS, in the precision of the vectors. Those that may be among the n
largest, considering rounding, are then computed in float64, each from two vectors alone. Results therefore depend
neither on the BLAS library nor on how its products are split among threads.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32] | NDArray[np.float64]

_BLOCK_ROWS = 16_384  # rows of a product: its result fits into the cache
_CHUNK_QUERIES = 64  # columns of a product
_SAMPLE_STRIDE = 16  # every 16th row is in the sample that gives a first lower bound
_EXACT_ROWS = 8192
_MAX_CANDIDATES = 1 << 22  # of all queries of a chunk, unless it is a single one
# Squared lengths within these limits neither overflow nor lose precision by underflow in estimates.
_SAFE_SQUARES = {"float32": (1e-30, 1e30), "float64": (1e-200, 1e200)}


class Neighbors(NamedTuple):
    """Rows in order of decreasing similarity; rows of equal similarity in ascending order."""

    rows: NDArray[np.int64]
    similarities: NDArray[np.float64]


class SimilaritySearch:
    """Searches a matrix for the rows most similar to given vectors.

    The lengths of the rows are computed once; the matrix must not change afterwards.

    Parameters
    ----------
    vectors : array of shape (n, d)
        float32 or float64, finite.
    threads : int, optional
        Number of threads that compute the lengths; all cores by default.
    """

    def __init__(self, vectors: FloatArray, *, threads: int | None = None) -> None:
        self._vectors = vectors
        self._estimated, self._inverse_lengths = _normalization(vectors, threads)
        eps = np.finfo(vectors.dtype).eps + np.finfo(np.float64).eps
        # An upper bound of the difference between the estimated and the computed similarity.
        self._error = 2 * (vectors.shape[1] + 8) * eps

    def search(self, queries: NDArray[Any], n: int, *, threads: int | None = None) -> list[Neighbors]:
        """Return the `n` rows most similar to each query.

        A zero vector has similarity 0 with every vector.

        Parameters
        ----------
        queries : array of shape (q, d)
        n : int
        threads : int, optional
            Number of threads; all cores by default. The result does not depend on it.
        """
        from threadpoolctl import threadpool_limits

        from boostne.kernels import check_threads

        count = min(n, len(self._vectors))
        if count == 0:
            return [Neighbors(np.zeros(0, dtype=np.int64), np.zeros(0))] * len(queries)
        targets = unit_rows(queries)
        found = []
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(check_threads(threads)) as pool:
            for start in range(0, len(targets), _CHUNK_QUERIES):
                found += self._search_chunk(targets[start : start + _CHUNK_QUERIES], count, pool)
        return found

    def _search_chunk(self, targets: NDArray[np.float64], count: int, pool: ThreadPoolExecutor) -> list[Neighbors]:
        zero = np.all(targets == 0, axis=1)
        if zero.any():  # all similarities are 0: the first rows; the estimates would select all rows
            nonzero = iter(self._search_chunk(targets[~zero], count, pool) if not zero.all() else [])
            first = Neighbors(np.arange(count), np.zeros(count))
            return [first if is_zero else next(nonzero) for is_zero in zero.tolist()]
        queries = targets.astype(self._estimated.dtype)
        floors, n_expected = self._lower_bounds(queries, count)
        half = len(targets) // 2
        if half and n_expected > _MAX_CANDIDATES:  # many ties: smaller chunks take less memory
            return self._search_chunk(targets[:half], count, pool) + self._search_chunk(targets[half:], count, pool)

        def select(rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
            estimates = self._estimate(queries, rows)
            query, row = np.divmod(np.flatnonzero(estimates >= floors[:, None]), estimates.shape[1])
            return query, row + rows.start, estimates[query, row]

        parts = list(pool.map(select, _blocks(len(self._vectors), _BLOCK_ROWS)))
        query, row, estimate = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.argsort(query, kind="stable")  # keeps rows in ascending order
        groups = np.split(order, np.searchsorted(query[order], np.arange(1, len(targets))))
        return list(
            pool.map(lambda target, group: self._exact(target, row[group], estimate[group], count), targets, groups)
        )

    def _lower_bounds(self, queries: NDArray[Any], count: int) -> tuple[NDArray[Any], int]:
        """Return for each query a number that no estimate of its `count` most similar rows is below.

        Also returns how many estimates of all queries are expected to be above these numbers.
        """
        sample = slice(0, None, _SAMPLE_STRIDE)
        size = -(-len(self._vectors) // _SAMPLE_STRIDE)
        if size < count:
            return np.full(len(queries), -np.inf, dtype=queries.dtype), len(queries) * len(self._vectors)
        estimates = self._estimate(queries, sample)
        floors = np.asarray(np.partition(estimates, size - count, axis=1)[:, size - count] - 2 * self._error)
        return floors, _SAMPLE_STRIDE * int(np.count_nonzero(estimates >= floors[:, None]))

    def _estimate(self, queries: NDArray[Any], rows: slice) -> NDArray[Any]:
        """Return the similarity of each query with the given rows, up to rounding."""
        estimates = queries @ self._estimated[rows].T
        estimates *= self._inverse_lengths[rows]
        return np.asarray(estimates)

    def _exact(
        self, target: NDArray[np.float64], rows: NDArray[np.int64], estimates: NDArray[Any], count: int
    ) -> Neighbors:
        """Return the most similar of the given rows, which include the `count` most similar ones of all."""
        if len(rows) > count:
            cutoff = np.partition(estimates, len(rows) - count)[len(rows) - count] - 2 * self._error
            rows = rows[estimates >= cutoff]
        similarities = np.empty(len(rows))
        for block in _blocks(len(rows), _EXACT_ROWS):
            similarities[block] = cosines(self._vectors[rows[block]], target)
        order = np.argsort(-similarities, kind="stable")[:count]
        return Neighbors(rows[order], similarities[order])


def cosines(vectors: FloatArray, target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine similarity of each row with a unit vector."""
    # einsum instead of BLAS: equal rows give bitwise equal sums at any position, so ties are exact.
    products: NDArray[np.float64] = np.einsum("ij,j->i", unit_rows(vectors), target)
    return np.clip(products, -1.0, 1.0)


def unit_rows(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Scale rows to unit length, in float64; zero rows stay zero."""
    rows = vectors.astype(np.float64)
    # Divide by the largest entry first: squares of very large or small entries would overflow or underflow.
    for order in (np.inf, 2):
        length = np.linalg.norm(rows, ord=order, axis=1)
        rows /= np.where(length > 0, length, 1.0)[:, None]
    return rows


def _blocks(n_rows: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def _normalization(vectors: FloatArray, threads: int | None) -> tuple[FloatArray, NDArray[Any]]:
    """Return rows and factors by which products with the rows have to be multiplied to become similarities.

    The rows are those of the matrix itself, or unit vectors if squares of its entries would overflow or underflow.
    """
    from boostne.kernels import check_threads

    low, high = _SAFE_SQUARES[vectors.dtype.name]
    inverse = np.empty(len(vectors), dtype=vectors.dtype)

    def invert(rows: slice) -> bool:
        block = vectors[rows]
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", block, block)
        nonzero = squares > 0
        inverse[rows] = np.where(nonzero, 1 / np.sqrt(np.where(nonzero, squares, 1)), 0)
        in_range = (squares >= low) & (squares <= high)
        return bool(in_range.all()) or not block[~in_range].any()

    blocks = list(_blocks(len(vectors), _BLOCK_ROWS))
    with ThreadPoolExecutor(check_threads(threads)) as pool:
        safe = list(pool.map(invert, blocks))
    if all(safe):
        return vectors, inverse
    rows = np.empty(vectors.shape, dtype=vectors.dtype)
    for block in blocks:
        rows[block] = unit_rows(vectors[block])
    return rows, np.ones(len(vectors), dtype=vectors.dtype)
