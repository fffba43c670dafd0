"""Reading edge lists and adjacency lists: one edge, or one node and its neighbors, per line."""

from codecs import BOM_UTF8
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.edges import find_invalid_weight, logger
from boostne.errors import FileFormatError, ParameterError
from boostne.graph import Duplicates, Graph, SelfLoops
from boostne.interop import choose_columns
from boostne.io.delimited_text import PYTHON_BLOCK, TextBlock, TextFile, count_lines, has_header, read_text
from boostne.io.reading_budget import ReadingBudget
from boostne.io.text_ids import TextIdColumns
from boostne.sides import COLUMNS

# Name of a column, or its position, starting at 0.
Column = str | int

_BLOCK = 1 << 22  # bytes parsed at a time
_SHORTEST_LINE = 4


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
    bipartite: bool | None,
    duplicates: Duplicates,
    self_loops: SelfLoops,
    budget: ReadingBudget,
) -> Graph:
    """Read a graph from a text file with one edge per line; see :func:`boostne.io.read_graph`."""
    import pyarrow.csv  # noqa: F401 (so that the budget includes it)

    _check_size(path, budget)
    text = read_text(path, delimiter, comments, budget, _BLOCK)
    layout = _layout(text, header, source, target, weight)
    ids, (u, v), weights = _parse(text, layout, budget)
    if not len(u):
        raise FileFormatError(f"{path}: a header without edges")
    budget.check_edges(len(u), len(ids), weighted=weights is not None)
    return Graph.from_indices(
        ids,
        u,
        v,
        weights,
        directed=bool(directed),
        duplicates=duplicates,
        self_loops=self_loops,
        sides=COLUMNS if bipartite else None,
    )


def read_adjlist(
    path: Path,
    *,
    directed: bool | None,
    delimiter: str | None,
    comments: str | None,
    duplicates: Duplicates,
    self_loops: SelfLoops,
    budget: ReadingBudget,
) -> Graph:
    """Read a graph from lines with a node and its neighbors, of which there may be none."""
    text = read_text(path, delimiter, comments, budget, PYTHON_BLOCK)
    columns, counts = TextIdColumns(2), []
    n_edges = 0
    for block in text.blocks():
        rows = []
        for number, fields in block.rows():
            if "" in fields:
                raise block.error(number, "an empty node id between two delimiters")
            rows.append(fields)
        counts.append(np.array([len(row) - 1 for row in rows], dtype=np.int64))
        n_edges += int(counts[-1].sum())
        columns.add([row[0] for row in rows], [node for row in rows for node in row[1:]])
        budget.check_block(n_edges, block.raw, weighted=False)
    ids, (heads, tails) = columns.encode(budget)
    heads = np.repeat(heads, np.concatenate(counts))
    budget.check_edges(n_edges, len(ids), weighted=False)
    return Graph.from_indices(ids, heads, tails, directed=bool(directed), duplicates=duplicates, self_loops=self_loops)


def _layout(
    text: TextFile,
    header: bool | None,
    source: Column | None,
    target: Column | None,
    weight: Column | Literal[False] | None,
) -> _Layout:
    sample = text.sample_rows()
    number, first = sample[0]
    width = len(first)
    if width < 2:  # noqa: PLR2004
        raise text.sample[0].error(number, _wrong_width(first, text.delimiter))
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
        None if chosen.weight is None else names.index(chosen.weight),
    )


def _column_name(column: Column | None, names: list[str]) -> str | None:
    if not isinstance(column, int):
        return column
    if not 0 <= column < len(names):
        raise ParameterError(f"there is no column {column}: the file has {len(names)} columns, starting at 0")
    return names[column]


def _check_size(path: Path, budget: ReadingBudget) -> None:
    """Raise MemoryLimitError if the lines of a file are too many; those of a compressed file are counted later."""
    size = path.stat().st_size if path.is_file() and path.suffix.lower() != ".gz" else 0
    if not budget.fits_lines(size / _SHORTEST_LINE, size):
        budget.check_lines(count_lines(path), size)


def _parse(
    text: TextFile, layout: _Layout, budget: ReadingBudget
) -> tuple[NDArray[Any], list[NDArray[np.int64]], NDArray[np.float64] | None]:
    """Return the distinct ids, the positions of sources and targets in them, and the weights."""
    columns, weights = TextIdColumns(2), []
    n_edges, commented = 0, []
    weighted = layout.weight is not None
    header = layout.header
    for block in text.blocks():
        commented += block.commented_rows(layout.width)
        budget.check_block(n_edges, block.raw, weighted=weighted)
        table = _parse_block(block, layout, header)
        n_edges += table.num_rows
        if columns.add(table[str(layout.source)], table[str(layout.target)]):
            raise _locate_error(block, layout, header, "an empty node id")
        if weighted:
            weights.append(np.asarray(table[str(layout.weight)]))
            _check_weights(weights[-1], block, header)
        header = False
    if commented:
        logger.info(
            "%s: %d comment%s look%s like an edge, such as %s; comments='' reads all lines",
            text.path,
            len(commented),
            *(("", "s") if len(commented) == 1 else ("s", "")),
            _shorten(commented[:1]),
        )
    ids, ends = columns.encode(budget)
    return ids, ends, np.concatenate(weights) if weights else None


def _parse_block(block: TextBlock, layout: _Layout, header: bool) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    raw = block.cleaned()
    if header:
        raw = raw[raw.index(b"\n") + 1 :]
    if raw.startswith(BOM_UTF8):  # part of an id, but Arrow drops a mark at the start
        raw = BOM_UTF8 + raw
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
                delimiter=block.delimiter, quote_char=False if block.delimiter == " " else '"'
            ),
            # Ids stay text until all are known: type inference would merge 007 with 7, or turn ids into floats.
            convert_options=csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        )
    except pa.ArrowInvalid as error:
        raise _locate_error(block, layout, header, str(error)) from None


def _check_weights(weights: NDArray[Any], block: TextBlock, header: bool) -> None:
    bad = find_invalid_weight(weights)
    if bad is not None:
        position, problem = bad
        number, _ = next(islice(block.rows(), position + header, None))
        raise block.error(number, problem)


def _locate_error(block: TextBlock, layout: _Layout, header: bool, reason: str) -> FileFormatError:
    """Return an error that names the line on which the Arrow parser failed."""
    for number, fields in islice(block.rows(), int(header), None):
        problem = _find_problem(fields, block, layout)
        if problem:
            return block.error(number, problem)
    return FileFormatError(f"{block.path}: {reason.splitlines()[0]}")


def _find_problem(fields: list[str], block: TextBlock, layout: _Layout) -> str | None:
    if len(fields) < 2:  # noqa: PLR2004
        return _wrong_width(fields, block.delimiter)
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


def _wrong_width(fields: list[str], delimiter: str) -> str:
    delimiter = "a space" if delimiter == " " else repr(delimiter)
    return (
        f"one column ({_shorten(fields)}), but an edge needs two: the delimiter is {delimiter}; "
        "set another one with delimiter="
    )


def _shorten(fields: list[str]) -> str:
    line = " | ".join(fields)
    return repr(line if len(line) <= 60 else f"{line[:60]}…")  # noqa: PLR2004
