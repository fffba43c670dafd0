"""Reading edge lists and adjacency lists: one edge, or one node and its neighbors, per line."""

from codecs import BOM_UTF8
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.edges import find_invalid_weight
from boostne.errors import FileFormatError, ParameterError
from boostne.graph import Duplicates, Graph, SelfLoops
from boostne.integer_ids import Integers
from boostne.interop import choose_columns
from boostne.io.compression import is_compressed
from boostne.io.delimited_text import PYTHON_BLOCK, TextBlock, TextFile, count_lines, has_header, is_number, read_text
from boostne.io.mistaken_tables import are_labels, looks_like_vector, refuse_other_columns
from boostne.io.reading_budget import ReadingBudget
from boostne.io.reading_notes import ReadingNotes, count_of
from boostne.io.text_ids import TextIdColumns
from boostne.sides import COLUMNS

# Name of a column, or its position, starting at 0.
Column = str | int

_BLOCK = 1 << 22  # bytes parsed at a time
_SHORTEST_LINE = 4


class _Layout(NamedTuple):
    """Columns of an edge list; ``guessed`` tells whether a header was looked for rather than known."""

    width: int
    header: bool
    guessed: bool
    names: list[str]
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
    notes: ReadingNotes,
) -> Graph:
    """Read a graph from a text file with one edge per line; see :func:`boostne.io.read_graph`."""
    import pyarrow.csv  # noqa: F401 (so that the budget includes it)

    _check_size(path, budget)
    text = read_text(path, delimiter, comments, budget, _BLOCK)
    layout, first_line = _layout(text, header, source, target, weight), text.sample_rows()[0]
    notes.assume(_describe(text, layout))
    ids, (u, v), weights = _parse(text, layout, budget, notes)
    if not len(u):
        raise FileFormatError(f"{path}: a header without edges")
    if layout.guessed and ids.dtype.kind != "i":
        _check_first_line(path, first_line, layout, ids, u, v)
    if not bipartite and source is None and are_labels(ids, u, v):
        notes.doubt("numbers in one column and text in the other are read as nodes: check that this is a file of edges")
    budget.check_edges(len(u), len(ids), weighted=weights is not None or duplicates == "sum")
    graph = Graph.from_indices(
        ids,
        u,
        v,
        weights,
        directed=bool(directed),
        duplicates=duplicates,
        self_loops=self_loops,
        sides=COLUMNS if bipartite else None,
    )
    n_zero = 0 if weights is None else int(np.count_nonzero(weights == 0))
    _note_merged(len(u) - n_zero, graph, duplicates, notes)
    if n_zero:
        notes.assume(f"{count_of(n_zero, 'line')} of weight 0, which are no edges")
    return graph


def read_adjlist(
    path: Path,
    *,
    directed: bool | None,
    delimiter: str | None,
    comments: str | None,
    duplicates: Duplicates,
    self_loops: SelfLoops,
    budget: ReadingBudget,
    notes: ReadingNotes,
) -> Graph:
    """Read a graph from lines with a node and its neighbors, of which there may be none."""
    text = read_text(path, delimiter, comments, budget, PYTHON_BLOCK)
    notes.assume(f"{text.describe()}: a node and its neighbors per line")
    columns, counts = TextIdColumns(2), []
    n_edges = 0
    for block in text.blocks():
        budget.check_lists(n_edges, block.raw, weighted=duplicates == "sum")
        rows = []
        for number, fields in block.rows():
            if "" in fields:
                raise block.error(number, "an empty node id between two delimiters")
            rows.append(fields)
        counts.append(np.array([len(row) - 1 for row in rows], dtype=np.int64))
        n_edges += int(counts[-1].sum())
        columns.add([row[0] for row in rows], [node for row in rows for node in row[1:]])
    ids, (heads, tails) = columns.encode(budget)
    heads = np.repeat(heads, np.concatenate(counts))
    budget.check_edges(n_edges, len(ids), weighted=duplicates == "sum")
    graph = Graph.from_indices(ids, heads, tails, directed=bool(directed), duplicates=duplicates, self_loops=self_loops)
    _note_merged(n_edges, graph, duplicates, notes)
    return graph


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
    guessed = header is None and not named
    if header is None:
        header = bool(named) or has_header([row for _, row in sample])
    elif named and not header:
        raise ParameterError(f"{named[0]!r} is a column name, but header=False: use its position, starting at 0")
    names = first if header else [str(position) for position in range(width)]
    if header and source is None and target is None:
        refuse_other_columns(text.path, names)
    if not header and source is None and weight is None and all(looks_like_vector(row) for _, row in sample):
        raise text.sample[0].error(number, f"a node and its vector ({_shorten(first)}): give a file of edges")
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
        guessed,
        names,
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
    size = path.stat().st_size if path.is_file() and not is_compressed(path) else 0
    if not budget.fits_lines(size / _SHORTEST_LINE, size):
        budget.check_lines(count_lines(path), size)


def _describe(text: TextFile, layout: _Layout) -> str:
    """Return how an edge list is read, for notes."""
    number = text.sample_rows()[0][0]
    header = f"header in line {number}" if layout.header else "no header"
    columns = f"source {_column(layout, layout.source)}, target {_column(layout, layout.target)}"
    weights = "no weights" if layout.weight is None else f"weight {_column(layout, layout.weight)}"
    return f"{text.describe()}, {header}; {columns}, {weights}"


def _column(layout: _Layout, position: int) -> str:
    return repr(layout.names[position]) if layout.header else f"in column {position}"


def _check_first_line(
    path: Path, first_line: tuple[int, list[str]], layout: _Layout, ids: NDArray[Any], u: Integers, v: Integers
) -> None:
    """Raise FileFormatError if the first line of a file with text ids can be a header as well as an edge.

    It is an edge if it contains a number or if one of its ids occurs again, and a header if it has names of columns and
    none of them is an id.
    """
    number, fields = first_line
    if any(map(is_number, fields)):
        return
    where = f"{path}, line {number}: {_shorten(fields)}"
    remedy = "header=True reads it as column names, header=False as an edge"
    if layout.header:
        also = [name for name in (fields[layout.source], fields[layout.target]) if name in ids]
        if also:
            raise FileFormatError(f"{where} has names of columns, but {also[0]!r} is also a node: {remedy}")
    elif len(u) > 1 and all(np.count_nonzero(u == end) + np.count_nonzero(v == end) == 1 for end in (u[0], v[0])):
        raise FileFormatError(f"{where} may be a header or an edge, since neither id occurs again: {remedy}")


def _note_merged(n_listed: int, graph: Graph, duplicates: Duplicates, notes: ReadingNotes) -> None:
    merged = n_listed - graph.n_edges
    if merged > 0:
        how = "with their weights added" if duplicates == "sum" else "once, with the largest weight"
        notes.assume(f"{count_of(merged, 'repeated edge')}, kept {how if graph.weighted else 'once'}")


def _parse(
    text: TextFile, layout: _Layout, budget: ReadingBudget, notes: ReadingNotes
) -> tuple[NDArray[Any], list[Integers], NDArray[np.float64] | None]:
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
        one = len(commented) == 1
        notes.doubt(
            f"{len(commented)} {'comment looks' if one else 'comments look'} like an edge, such as "
            f"{_shorten(commented[:1])}; comments='' reads all lines"
        )
    ids, ends = columns.encode(budget)
    if columns.has_whole_floats(ids):
        notes.assume("ids such as '1.0' are integers")
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
        found = f"{len(fields)} columns, but the lines above have {layout.width} ({_shorten(fields)})"
        vector = "a node and its vector instead of an edge: give a file of edges"
        other = "fix the line, or set delimiter=; format='adjlist' reads a node and its neighbors"
        return f"{found}: {vector if looks_like_vector(fields) else other}"
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
