"""Reading edge lists and adjacency lists: one edge, or one node and its neighbors, per line."""

from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.edges import find_invalid_weight
from boostne.errors import FileFormatError, GraphError, ParameterError
from boostne.graph import Duplicates, Graph, SelfLoops, logger
from boostne.interop import choose_columns
from boostne.io.delimited_text import SAMPLE_LINES, TextFile, has_header, read_text
from boostne.node_ids import encode_text_ids

# Name of a column, or its position, starting at 0.
Column = str | int


class _Layout(NamedTuple):
    """Columns of an edge list."""

    width: int
    header: bool
    source: int
    target: int
    weight: int | None


def read_edgelist(
    path: Path,
    *,
    directed: bool | None,
    delimiter: str | None,
    comments: str | None,
    header: bool | None,
    source: Column | None,
    target: Column | None,
    weight: Column | Literal[False] | None,
    duplicates: Duplicates,
    self_loops: SelfLoops,
) -> Graph:
    """Read a graph from a text file with one edge per line; see :func:`boostne.io.read_graph`."""
    text = read_text(path, delimiter, comments)
    layout = _layout(text, header, source, target, weight)
    table = _parse(text, layout)
    if not table.num_rows:
        raise FileFormatError(f"{path}: a header without edges")
    ids, (u, v) = encode_text_ids(table[str(layout.source)], table[str(layout.target)])
    if ids.dtype.kind != "i" and ids[0] == "":  # sorted: an empty id comes first
        raise _locate_error(text, layout, "an empty node id")
    weights = None if layout.weight is None else np.asarray(table[str(layout.weight)])
    try:
        return Graph.from_indices(
            ids, u, v, weights, directed=bool(directed), duplicates=duplicates, self_loops=self_loops
        )
    except GraphError:
        if weights is not None:
            _check_weights(weights, text, layout)  # names the line
        raise


def read_adjlist(
    path: Path,
    *,
    directed: bool | None,
    delimiter: str | None,
    comments: str | None,
    duplicates: Duplicates,
    self_loops: SelfLoops,
) -> Graph:
    """Read a graph from lines with a node and its neighbors, of which there may be none."""
    text = read_text(path, delimiter, comments)
    rows = []
    for number, fields in text.rows():
        if "" in fields:
            raise text.error(number, "an empty node id between two delimiters")
        rows.append(fields)
    counts = [len(row) - 1 for row in rows]
    ids, (heads, tails) = encode_text_ids([row[0] for row in rows], [node for row in rows for node in row[1:]])
    heads = np.repeat(heads, counts)
    return Graph.from_indices(ids, heads, tails, directed=bool(directed), duplicates=duplicates, self_loops=self_loops)


def _layout(
    text: TextFile,
    header: bool | None,
    source: Column | None,
    target: Column | None,
    weight: Column | Literal[False] | None,
) -> _Layout:
    sample = list(islice(text.rows(), SAMPLE_LINES))
    number, first = sample[0]
    width = len(first)
    if width < 2:  # noqa: PLR2004
        raise text.error(number, _wrong_width(first, text))
    named = [name for name in (source, target, weight) if isinstance(name, str) and not name.isdecimal()]
    if header is None:
        header = bool(named) or has_header([row for _, row in sample])
        if header:
            logger.info("%s: line %d is read as a header; header=False reads it as an edge", text.path, number)
    elif named and not header:
        raise ParameterError(f"{named[0]!r} is a column name, but header=False: use its position, starting at 0")
    names = first if header else [str(position) for position in range(width)]
    if not header and width == 3 and weight is None and source is None:  # noqa: PLR2004
        weight = 2
    chosen = choose_columns(
        names,
        _column_name(source, names),
        _column_name(target, names),
        False if weight is False else _column_name(weight, names),
    )
    return _Layout(
        width,
        header,
        names.index(chosen.source),
        names.index(chosen.target),
        names.index(chosen.weight) if chosen.weight else None,
    )


def _column_name(column: Column | None, names: list[str]) -> str | None:
    if not isinstance(column, int):
        return column
    if not 0 <= column < len(names):
        raise ParameterError(f"there is no column {column}: the file has {len(names)} columns, starting at 0")
    return names[column]


def _parse(text: TextFile, layout: _Layout) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    raw = text.cleaned()
    if layout.header:
        raw = raw[raw.index(b"\n") + 1 :]
    columns = [str(position) for position in range(layout.width)]
    types = {str(layout.source): pa.string(), str(layout.target): pa.string()}
    if layout.weight is not None:
        types[str(layout.weight)] = pa.float64()
    if not raw:
        return pa.schema(types).empty_table()
    try:
        return csv.read_csv(
            pa.BufferReader(raw),
            read_options=csv.ReadOptions(column_names=columns),
            parse_options=csv.ParseOptions(
                delimiter=text.delimiter, quote_char=False if text.delimiter == " " else '"'
            ),
            # Ids stay text until all are known: type inference would merge 007 with 7, or turn ids into floats.
            convert_options=csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        )
    except pa.ArrowInvalid as error:
        raise _locate_error(text, layout, str(error)) from None


def _check_weights(weights: NDArray[Any], text: TextFile, layout: _Layout) -> None:
    bad = find_invalid_weight(weights)
    if bad is not None:
        position, problem = bad
        number, _ = next(islice(text.rows(), position + layout.header, None))
        raise text.error(number, problem)


def _locate_error(text: TextFile, layout: _Layout, reason: str) -> FileFormatError:
    """Return an error that names the line on which the Arrow parser failed."""
    for number, fields in islice(text.rows(), int(layout.header), None):
        problem = _find_problem(fields, text, layout)
        if problem:
            return text.error(number, problem)
    return FileFormatError(f"{text.path}: {reason.splitlines()[0]}")


def _find_problem(fields: list[str], text: TextFile, layout: _Layout) -> str | None:
    if len(fields) < 2:  # noqa: PLR2004
        return _wrong_width(fields, text)
    if len(fields) != layout.width:
        return (
            f"{len(fields)} columns, but the lines above have {layout.width} ({_shorten(fields)}): fix the "
            "line, or set delimiter=; format='adjlist' reads a node and its neighbors"
        )
    if not fields[layout.source] or not fields[layout.target]:
        return f"an empty node id ({_shorten(fields)}): fill it in or remove the line"
    if layout.weight is None:
        return None
    try:
        float(fields[layout.weight])
    except ValueError:
        return (
            f"the weight {fields[layout.weight]!r} is not a number: fix it, choose another column with "
            "weight=, or ignore weights with weight=False"
        )
    return None


def _wrong_width(fields: list[str], text: TextFile) -> str:
    delimiter = "a space" if text.delimiter == " " else repr(text.delimiter)
    return (
        f"one column ({_shorten(fields)}), but an edge needs two: the delimiter is {delimiter}; "
        "set another one with delimiter="
    )


def _shorten(fields: list[str]) -> str:
    line = " | ".join(fields)
    return repr(line if len(line) <= 60 else f"{line[:60]}…")  # noqa: PLR2004
