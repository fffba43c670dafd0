"""Reading lines of a node and its labels, and tables with a column of nodes and one of labels."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.errors import FileFormatError, ParameterError
from boostne.io.delimited_text import (
    LABEL_COLUMNS,
    NODE_COLUMNS,
    PYTHON_BLOCK,
    TextBlock,
    TextFile,
    has_header,
    has_usual_names,
    normalized_name,
    read_text,
)
from boostne.io.mistaken_tables import are_components, looks_like_vector
from boostne.io.reading_budget import ReadingBudget
from boostne.io.reading_notes import ReadingNotes
from boostne.io.text_ids import TextIdColumns
from boostne.labels import Labels
from boostne.node_ids import format_ids

Column = str | int

_PAIR = 2
_DECIMAL = re.compile(r"[+-]?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?")


class _Layout(NamedTuple):
    """How lines are read: the columns of node and label, or None if all fields after the node are labels."""

    header: bool
    guessed: bool
    node: int
    label: int | None
    rest_is_label: bool


class _Lines(NamedTuple):
    """What the lines contain: a node each, its labels, and how many these are."""

    nodes: TextIdColumns
    labels: TextIdColumns
    counts: NDArray[np.int64]
    longest: tuple[int, list[str]]


def read_lines(
    path: Path,
    *,
    delimiter: str | None,
    comments: str | None,
    header: bool | None,
    node: Column | None,
    label: Column | None,
    multilabel: bool | None,
    budget: ReadingBudget,
    notes: ReadingNotes,
) -> Labels:
    """Read labels from lines; see :func:`boostne.io.read_labels`."""
    text = read_text(path, delimiter, comments, budget, PYTHON_BLOCK)
    first, mark = text.sample_rows()[0], text.delimiter
    layout = _layout(text, header, node, label, multilabel)
    notes.assume(_describe(text, layout, first[1]))
    lines = _parse(text, layout, budget)
    if not lines.counts.any():
        raise FileFormatError(
            f"{path}: no labels: each line has one column; see delimiter=, or format='communities', "
            "which reads the nodes of one label per line"
        )
    ids, (positions,) = lines.nodes.encode(budget)
    classes, (columns,) = lines.labels.encode(budget)
    if layout.label is None and multilabel is None:
        _check_several(path, lines, classes, columns, spaces=mark == " " and delimiter is None)
    if layout.guessed and ids.dtype.kind != "i":
        _check_first_line(path, first, layout, ids, columns, notes)
    if lines.nodes.has_whole_floats(ids):
        notes.assume("ids such as '1.0' are integers")
    return Labels.from_indices(ids, classes, np.repeat(positions, lines.counts), columns)


def _layout(
    text: TextFile, header: bool | None, node: Column | None, label: Column | None, multilabel: bool | None
) -> _Layout:
    sample = [row for _, row in text.sample_rows()]
    first, width = sample[0], len(sample[0])
    named = [name for name in (node, label) if isinstance(name, str)]
    guessed = header is None and not named
    if header is None:
        constant = width > 1 and all(len(row) == width for row in sample)
        header = bool(named) or ((constant or has_usual_names(first)) and has_header(sample))
    elif named and not header:
        raise ParameterError(f"{named[0]!r} is a column name, but header=False: use its position, starting at 0")
    if not header and node is None and label is None:
        return _Layout(header, guessed, 0, None, multilabel is False)
    names = first if header else [str(position) for position in range(width)]
    if header and label is None and are_components(names):
        raise FileFormatError(
            f"{text.path}: the columns are those of vectors ({format_ids(names)}): give a file of labels"
        )
    at = _position("node", node, names, NODE_COLUMNS if header else (), 0) or 0
    others = [position for position in range(width) if position != at]
    if multilabel and label is None:
        return _Layout(header, guessed, at, None, rest_is_label=False)
    only = others[0] if len(others) == 1 else None
    found = _position("label", label, names, LABEL_COLUMNS if header else (), only)
    if found is None or found == at:
        raise ParameterError(
            f"the column of labels is ambiguous; the columns are {format_ids(names, 20)}: pass "
            f"label={names[others[-1]] if header and others else 1!r}, or multilabel=True if all columns are labels"
        )
    return _Layout(header, guessed, at, found, rest_is_label=False)


def _position(
    role: str, column: Column | None, names: list[str], usual: tuple[str, ...], default: int | None
) -> int | None:
    """Return the position of a column: the given one, that with the first of the usual names, or the default."""
    if isinstance(column, int):
        if not 0 <= column < len(names):
            raise ParameterError(f"there is no column {column}: the file has {len(names)} columns, starting at 0")
        return column
    if column is not None:
        if column not in names:
            raise ParameterError(f"{role}={column!r} is not a column; the columns are {format_ids(names, 20)}")
        return names.index(column)
    lower = [normalized_name(name) for name in names]
    return next((lower.index(name) for name in usual if name in lower), default)


def _describe(text: TextFile, layout: _Layout, first: list[str]) -> str:
    header = f"header in line {text.sample_rows()[0][0]}" if layout.header else "no header"
    if layout.label is None:
        columns = "the rest of each line is one label" if layout.rest_is_label else "a node and its labels per line"
    elif layout.header:
        columns = f"node {first[layout.node]!r}, label {first[layout.label]!r} of {len(first)} columns"
    else:
        columns = f"node in column {layout.node}, label in column {layout.label}"
    return f"{text.describe()}, {header}; {columns}"


def _parse(text: TextFile, layout: _Layout, budget: ReadingBudget) -> _Lines:
    nodes, labels, counts = TextIdColumns(1), TextIdColumns(1), [np.zeros(0, dtype=np.int64)]
    longest: tuple[int, list[str]] = (0, [])
    n_labels = 0
    header, width = layout.header, len(text.sample_rows()[0][1])
    for block in text.blocks():
        budget.check_labels(n_labels, block.raw)
        numbered = list(islice(_rows(block, layout), int(header), None))
        rows = [_chosen_fields(number, row, block, layout, width) for number, row in numbered]
        header = False
        longest = max([longest, *((number, row) for number, row in numbered)], key=lambda one: len(one[1]))
        nodes.add([row[0] for row in rows])
        labels.add([label for row in rows for label in row[1:]])
        counts.append(np.array([len(row) - 1 for row in rows], dtype=np.int64))
        n_labels += int(counts[-1].sum())
    budget.check_labels(n_labels)
    return _Lines(nodes, labels, np.concatenate(counts), longest)


def _rows(block: TextBlock, layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    if not layout.rest_is_label or block.delimiter != " ":
        yield from block.rows()
        return
    for number, line in block.lines():
        yield number, [field.strip() for field in re.split("[ \t]+", line.strip(" \t"), maxsplit=1)]


def _chosen_fields(number: int, row: list[str], block: TextBlock, layout: _Layout, width: int) -> list[str]:
    if layout.label is not None:
        if len(row) != width:
            raise block.error(number, f"{len(row)} columns, but the first line has {width}: fix the line")
        row = [row[layout.node], row[layout.label]]
    elif layout.rest_is_label and len(row) > _PAIR:
        raise block.error(number, f"{len(row)} columns, but multilabel=False: choose one with label=")
    elif layout.node:
        row = [row[layout.node], *row[: layout.node], *row[layout.node + 1 :]]
    if not row[0]:
        raise block.error(number, "an empty node id: fill it in or remove the line")
    # "node," in a table is a node without labels.
    return [row[0], *filter(None, row[1:])]


def _check_several(
    path: Path, lines: _Lines, classes: NDArray[Any], columns: NDArray[np.int64], *, spaces: bool
) -> None:
    """Raise FileFormatError if lines with more than two fields can be several labels, one label, or a table."""
    number, row = lines.longest
    if len(row) <= _PAIR:
        return
    where = f"{path}, line {number}: "
    text = classes.dtype.kind != "i"
    if text and (looks_like_vector(row) or all(map(_DECIMAL.fullmatch, row[1:]))):
        raise FileFormatError(f"{where}{len(row) - 1} numbers: a vector instead of labels; give a file of labels")
    if text and spaces:
        raise FileFormatError(
            f"{where}{' '.join(row[1:])!r} may be {len(row) - 1} labels or one with spaces: multilabel=True reads "
            f"{len(row) - 1} labels, multilabel=False reads one"
        )
    width = int(lines.counts[0])
    if width > 1 and np.all(lines.counts == width):
        of_column = [set(column.tolist()) for column in columns.reshape(-1, width).T]
        if sum(map(len, of_column)) == len(set().union(*of_column)):
            raise FileFormatError(
                f"{where}{len(row)} columns without a value in common: label={len(row) - 1} reads the labels from the "
                "last column (see label=), multilabel=True reads all columns but the first as labels"
            )


def _check_first_line(
    path: Path,
    first: tuple[int, list[str]],
    layout: _Layout,
    ids: NDArray[Any],
    columns: NDArray[np.int64],
    notes: ReadingNotes,
) -> None:
    """Raise FileFormatError for a header that is also a node, and note a first line that can be a header."""
    number, fields = first
    if layout.header:
        if fields[layout.node] in ids:
            raise FileFormatError(
                f"{path}, line {number}: {fields[layout.node]!r} is the name of a column, but also a node: "
                "header=True reads the line as column names, header=False as a node with its labels"
            )
        return
    occurrences = np.bincount(columns)
    if len(fields) == _PAIR and occurrences[columns[0]] == 1 and occurrences.max() > 1:
        notes.doubt(
            f"line {number} ({' | '.join(fields)!r}) is read as a node and its label, which no other node has; "
            "header=True reads it as column names"
        )
