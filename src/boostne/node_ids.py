"""Node ids: their type, their encoding as consecutive integers, and lookup.

Ids are ``int64`` if all are integers, ``<U`` if all are strings, and ``object`` otherwise. Integers are never
converted to floats, which cannot represent large ids exactly.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import GraphError
from boostne.integer_ids import Integers, encode_integers, lookup_integers

_INT64_MAX = np.iinfo(np.int64).max
_FLOAT_DIGITS = 15  # doubles represent all integers with this many digits
# Strings that would take more than this in a fixed-width array, most of it padding, are stored as objects.
_MAX_FIXED_WIDTH_BYTES = 1 << 30


def as_ids(values: Any) -> NDArray[Any]:
    """Return node ids as a one-dimensional array of ``int64``, ``<U`` or ``object``.

    Parameters
    ----------
    values
        Any sequence or array of ids.

    Examples
    --------
    >>> as_ids([3, 1])
    array([3, 1])
    >>> as_ids(["b", "a"])
    array(['b', 'a'], dtype='<U1')
    >>> as_ids([1, "a", (0, 2)])
    array([1, 'a', (0, 2)], dtype=object)
    """
    if np.ma.is_masked(values):
        raise GraphError(f"the node id at position {np.argmax(values.mask)} is masked: remove that row")
    array = np.asarray(values) if hasattr(values, "__array__") else _object_array(values)
    if array.ndim != 1:
        raise GraphError(f"node ids must be one-dimensional, got an array of shape {array.shape}")
    if array.dtype.kind == "f":
        raise GraphError(
            f"node ids are floats ({array.dtype}), which cannot represent large ids: use integers or strings, "
            "e.g. ids.astype('int64')"
        )
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and array.max(initial=0) <= _INT64_MAX):
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "U":
        return array
    return _from_objects(array.astype(object))


def encode_ids(*columns: Any) -> tuple[NDArray[Any], list[Integers]]:
    """Encode the ids of several columns as positions in one array of distinct ids.

    Parameters
    ----------
    *columns
        Sequences, NumPy arrays or Arrow arrays of ids.

    Returns
    -------
    ids
        The distinct ids, sorted: integers numerically, strings by code point.
    codes
        For each column, the position in ``ids`` of each entry.

    Examples
    --------
    >>> encode_ids([7, 3], [3, 5])
    (array([3, 5, 7]), [array([2, 0], dtype=int32), array([0, 1], dtype=int32)])
    """
    arrays = [_to_arrow(column) for column in columns]
    kinds = {None if array is None else str(array.type) for array in arrays}
    if len(kinds) == 1 and None not in kinds:
        return _encode_arrow(arrays)
    lists = [_to_list(column) for column in columns]
    ids = _sort_objects({item for items in lists for item in items})
    position_of = {item: position for position, item in enumerate(ids)}
    codes = [np.fromiter(map(position_of.__getitem__, items), np.int64, len(items)) for items in lists]
    return as_ids(ids), codes


def encode_text_ids(*columns: Any) -> tuple[NDArray[Any], list[Integers]]:
    """Encode ids that were read as text; like :func:`encode_ids`, after :func:`parse_ids`.

    Surrounding white space is ignored.

    Examples
    --------
    >>> encode_text_ids(["10", "9 "], ["9", "9"])
    (array([ 9, 10]), [array([1, 0]), array([0, 0])])
    """
    import pyarrow as pa

    return _encode_arrow(
        [column if isinstance(column, pa.ChunkedArray) else pa.array(column, pa.string()) for column in columns],
        text=True,
    )


def parse_ids(texts: Any) -> NDArray[Any]:
    """Convert ids read as text to ``int64`` if all of them are integers; otherwise keep strings.

    Only canonical integers count: ``007`` and ``7`` stay different ids. Whole floats such as ``1.0``, as pandas writes
    integers in a column with missing values, count as well unless the same number also occurs without a point.

    Examples
    --------
    >>> parse_ids(["10", "-2"])
    array([10, -2])
    >>> parse_ids(["007", "7"])
    array(['007', '7'], dtype='<U3')
    >>> parse_ids(["1.0", "20.0"])
    array([ 1, 20])
    """
    import pyarrow as pa

    array = texts if isinstance(texts, pa.Array | pa.ChunkedArray) else pa.array(texts, pa.string())
    numbers = canonical_integers(array)
    if numbers is None:
        numbers = _whole_floats(array)
    return as_ids(np.asarray(array)) if numbers is None else np.asarray(numbers)


def canonical_integers(texts: Any) -> Any:
    """Return an Arrow column of strings as integers; None unless all of them are canonical integers."""
    import pyarrow as pa

    try:
        numbers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return numbers if numbers.cast(texts.type).equals(texts) else None


def _whole_floats(texts: Any) -> Any:
    """Return numbers such as ``1.0`` as integers; None unless all texts are such numbers or canonical integers."""
    import pyarrow.compute as pc

    pattern = rf"^-?[0-9]{{1,{_FLOAT_DIGITS}}}(\.0+)?$"
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, pattern)).as_py():
        return None
    numbers = canonical_integers(pc.replace_substring_regex(texts, r"\.0+$", ""))
    # "1" and "1.0" in one file are two ids.
    same = numbers is not None and pc.count_distinct(numbers).as_py() == pc.count_distinct(texts).as_py()
    return numbers if same else None


def lookup_ids(nodes: NDArray[Any], ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position in ``nodes`` of each id, or -1 if it is not there."""
    if nodes.dtype.kind == ids.dtype.kind == "i":
        rows = lookup_integers(nodes, ids)
        if rows is not None:
            return rows
    nodes_arrow, ids_arrow = _to_arrow(nodes), _to_arrow(ids)
    if nodes_arrow is not None and ids_arrow is not None and nodes_arrow.type == ids_arrow.type:
        import pyarrow.compute as pc

        found = pc.index_in(ids_arrow, value_set=nodes_arrow).fill_null(-1)
        return np.asarray(found).astype(np.int64)
    position_of = {node: position for position, node in enumerate(_to_list(nodes))}
    return np.array([position_of.get(item, -1) for item in _to_list(ids)], dtype=np.int64)


def find_duplicate(ids: NDArray[Any]) -> Hashable | None:
    """Return an id that occurs more than once, or None."""
    if ids.dtype.kind in "iU":
        ordered = np.sort(ids)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        duplicate: Hashable = repeated[0].item() if len(repeated) else None
        return duplicate
    seen: set[Hashable] = set()
    for item in _to_list(ids):
        if item in seen:
            return item
        seen.add(item)
    return None


def missing_id_error(position: int) -> GraphError:
    """Return the error for a column with a missing id."""
    return GraphError(f"the node id at position {position} is missing: remove that row")


def format_ids(ids: Sequence[Any] | NDArray[Any], limit: int = 3) -> str:
    """Format the first few ids for a message.

    Examples
    --------
    >>> format_ids(np.arange(5))
    '0, 1, 2, … (5 in all)'
    """
    items = [item.item() if isinstance(item, np.generic) else item for item in ids[:limit]]
    text = ", ".join(map(repr, items))
    return text if len(ids) <= limit else f"{text}, … ({len(ids)} in all)"


def _object_array(values: Iterable[Any]) -> NDArray[Any]:
    # np.array would turn a list of tuples into a matrix and [1, "a"] into strings.
    items = list(values)
    return np.fromiter(items, dtype=object, count=len(items))


def _from_objects(array: NDArray[Any]) -> NDArray[Any]:
    kinds = set(map(type, array))
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        try:
            return array.astype(np.int64)
        except OverflowError:
            return array
    if all(issubclass(kind, str) for kind in kinds):
        return _from_strings(array)
    try:  # first: arrays cannot be compared below
        set(array)
    except TypeError as error:
        raise GraphError(f"node ids must be hashable ({error}): use integers, strings or tuples") from None
    missing = [k for k, item in enumerate(array) if item is None or item != item]  # noqa: PLR0124 (NaN)
    if missing:
        raise GraphError(f"the node id at position {missing[0]} is missing ({array[missing[0]]}): remove that row")
    return array


def _from_strings(array: NDArray[Any]) -> NDArray[Any]:
    lengths = list(map(len, array))
    widest = max(lengths, default=1)
    if widest * 4 * len(array) > _MAX_FIXED_WIDTH_BYTES:
        return array
    fixed = array.astype(f"<U{max(widest, 1)}")
    # A fixed-width array cannot distinguish "a" from "a\0".
    return fixed if np.char.str_len(fixed).sum() == sum(lengths) else array


def _to_list(values: Any) -> list[Hashable]:
    items: list[Hashable] = as_ids(values).tolist()
    return items


def _to_arrow(values: Any) -> Any:
    """Return the ids as an Arrow array of int64 or large_string; None if they are neither."""
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _standardize_arrow(values)
    ids = as_ids(values)
    if ids.dtype.kind == "i":
        return pa.array(ids)
    if ids.dtype.kind == "U":
        try:
            return pa.array(ids, pa.large_string())
        except UnicodeError:  # a lone surrogate is valid in Python but not in UTF-8
            return None
    return None


def _standardize_arrow(array: Any) -> Any:
    import pyarrow as pa

    if array.null_count:
        raise missing_id_error(int(np.asarray(array.is_null()).argmax()))
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return array.cast(pa.int64())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.large_string())
    return None


def _encode_arrow(arrays: Sequence[Any], *, text: bool = False) -> tuple[NDArray[Any], list[Integers]]:
    import pyarrow as pa

    if arrays[0].type == pa.int64():
        return encode_integers([np.asarray(array) for array in arrays])
    column = pa.chunked_array(
        [chunk for array in arrays for chunk in getattr(array, "chunks", [array])], arrays[0].type
    )
    distinct, codes = _dictionary_encode(column)
    if text:
        distinct, codes = _trim(distinct, codes)
    ids = parse_ids(distinct) if text else as_ids(np.asarray(distinct))
    order = np.argsort(ids)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    ids, codes = ids[order], rank[codes]
    ends = np.cumsum([len(array) for array in arrays])
    return ids, np.split(codes, ends[:-1])


def _dictionary_encode(column: Any) -> tuple[Any, NDArray[np.int64]]:
    encoded = column.dictionary_encode()
    if not encoded.num_chunks:
        return column, np.zeros(0, dtype=np.int64)
    # All chunks share one dictionary.
    codes = np.concatenate([np.asarray(chunk.indices) for chunk in encoded.chunks])
    return encoded.chunks[0].dictionary, codes.astype(np.int64)


def _trim(distinct: Any, codes: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(distinct)
    if trimmed.equals(distinct):
        return distinct, codes
    merged, trimmed_codes = _dictionary_encode(pa.chunked_array([trimmed]))
    return merged, trimmed_codes[codes]


def _sort_objects(ids: Iterable[Any]) -> list[Any]:
    items = list(ids)
    try:
        return sorted(items)
    except (TypeError, ValueError):
        # Mixed types (a NumPy number compares with a tuple as with an array): group them by type, so that the order
        # does not depend on that of the input.
        return sorted(
            items, key=lambda item: (type(item).__name__, item if isinstance(item, int | str) else repr(item))
        )
