"""Integer ids: their encoding as consecutive integers, and lookup, in little more memory than the ids take."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne import array_chunks
from boostne.array_chunks import slices

# Ids whose range is below this many times their count are found by a lookup table.
_DENSE_RANGE = 4
_INT32 = np.iinfo(np.int32)

Integers = NDArray[np.signedinteger[Any]]


def encode_integers(columns: Sequence[Integers]) -> tuple[NDArray[np.int64], list[Integers]]:
    """Encode the ids of several columns as positions in one array of distinct ids.

    Returns
    -------
    ids
        The distinct ids, sorted.
    codes
        For each column, the position in ``ids`` of each entry: 32-bit integers unless there are too many ids.

    Examples
    --------
    >>> encode_integers([np.array([7, 3]), np.array([3, 5])])
    (array([3, 5, 7]), [array([2, 0], dtype=int32), array([0, 1], dtype=int32)])
    """
    found = _bounds(columns)
    # A lookup table is several times faster than sorting, and here it takes at most 5 bytes per entry.
    if found is not None and found[1] - found[0] < sum(map(len, columns)):
        return _encode_by_table(columns, *found)
    ids = _distinct(columns)
    return ids.astype(np.int64), [_ranks(ids, column) for column in columns]


def lookup_integers(nodes: Integers, ids: Integers) -> NDArray[np.int64] | None:
    """Return the position in ``nodes`` of each id, or -1 if it is not there; None if nodes have too large a range."""
    found = _bounds([nodes])
    if found is None or found[1] - found[0] >= _DENSE_RANGE * len(nodes):
        return None
    lowest, highest = found
    position = np.full(highest - lowest + 1, -1, dtype=np.int64)
    position[nodes - lowest] = np.arange(len(nodes))
    rows = np.full(len(ids), -1, dtype=np.int64)
    inside = (ids >= lowest) & (ids <= highest)
    rows[inside] = position[ids[inside] - lowest]
    return rows


def most_distinct(columns: Sequence[Integers]) -> int:
    """Return an upper bound on the number of distinct ids: their count, or their range if that is smaller.

    Examples
    --------
    >>> most_distinct([np.array([7, 3]), np.array([3, 5, 5, 5])])
    5
    """
    found = _bounds(columns)
    return 0 if found is None else min(found[1] - found[0] + 1, sum(map(len, columns)))


def narrow(numbers: NDArray[Any]) -> Integers:
    """Return integers as ``int32``, in which most ids fit, or else as ``int64``."""
    small = not len(numbers) or (numbers.min() >= _INT32.min and numbers.max() <= _INT32.max)
    return numbers.astype(np.int32 if small else np.int64, copy=False)


def first_of_runs(ordered: Integers) -> NDArray[np.bool_]:
    """Mark the numbers that differ from the one before.

    Examples
    --------
    >>> first_of_runs(np.array([3, 3, 5]))
    array([ True, False,  True])
    """
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return first


def _bounds(columns: Sequence[Integers]) -> tuple[int, int] | None:
    """Return the smallest and the largest id; None if there are none."""
    filled = [column for column in columns if len(column)]
    if not filled:
        return None
    return min(int(column.min()) for column in filled), max(int(column.max()) for column in filled)


def _parts(columns: Sequence[Integers]) -> Iterator[Integers]:
    for column in columns:
        for span in slices(len(column)):
            yield column[span]


def _encode_by_table(
    columns: Sequence[Integers], lowest: int, highest: int
) -> tuple[NDArray[np.int64], list[Integers]]:
    seen = np.zeros(highest - lowest + 1, dtype=bool)
    for part in _parts(columns):
        seen[part.astype(np.int64) - lowest] = True
    ids: NDArray[np.int64] = np.flatnonzero(seen)
    rank: Integers = np.cumsum(seen, dtype=_code_dtype(len(ids)))
    rank -= 1
    ids += lowest
    codes: list[Integers] = [np.empty(len(column), dtype=rank.dtype) for column in columns]
    for column, code in zip(columns, codes, strict=True):
        for span in slices(len(column)):
            code[span] = rank[column[span].astype(np.int64) - lowest]
    return ids, codes


def _distinct(columns: Sequence[Integers]) -> Integers:
    """Return the distinct ids, sorted."""
    found, waiting, n_waiting = np.zeros(0, dtype=np.result_type(*columns)), [], 0
    for part in _parts(columns):
        waiting.append(_sorted_distinct(part.copy()))
        n_waiting += len(waiting[-1])
        if n_waiting > max(len(found), array_chunks.CHUNK):
            found, waiting, n_waiting = _sorted_distinct(np.concatenate([found, *waiting])), [], 0
    return _sorted_distinct(np.concatenate([found, *waiting]))


def _sorted_distinct(numbers: Integers) -> Integers:
    numbers.sort()
    return numbers[first_of_runs(numbers)]


def _ranks(ids: Integers, column: Integers) -> Integers:
    """Return the position of each entry of a column in sorted ids."""
    ranks: Integers = np.empty(len(column), dtype=_code_dtype(len(ids)))
    for span in slices(len(column)):
        part = column[span]
        order = np.argsort(part)  # a search for sorted numbers reads the ids in sequence
        ranks[span][order] = np.searchsorted(ids, part[order])
    return ranks


def _code_dtype(n_ids: int) -> type[np.signedinteger[Any]]:
    return np.int32 if n_ids <= _INT32.max else np.int64
