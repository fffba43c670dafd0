"""A slow, plain parser of the documented text formats, with which the results of the readers are compared."""

import csv
import re
from codecs import BOM_UTF8
from typing import Any

from boostne.interop import ENDPOINT_COLUMNS
from boostne.io.delimited_text import COLUMN_WORDS
from fuzz.expectation import ExpectedGraph, expected_graph, merging_options, parse_ids

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NODE_COLUMNS = ("node", "nodes", "node_id", "id", "__index_level_0__")
_LABELED_NODES = ("node", "nodeid", "id", "vertex", "name")
_LABELS = ("label", "labels", "class", "category", "community", "group", "target")
_HEADERS = (*ENDPOINT_COLUMNS, *((node, label) for node in _LABELED_NODES for label in _LABELS))


class UndocumentedError(Exception):
    """The documentation does not say what such a file means, for instance one with quotes inside of a field."""


def parse_rows(data: bytes, delimiter: str | None, comments: str | None) -> tuple[list[list[str]], str]:
    """Return the fields of each line that is neither blank nor a comment, and the delimiter; ValueError if invalid."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UndocumentedError("UTF-16")
    if b"\0" in data:
        raise ValueError("a binary file")
    text = data.removeprefix(BOM_UTF8).decode().replace("\r\n", "\n").replace("\r", "\n")
    marks = "#%" if comments is None else comments
    lines = [line for line in text.split("\n") if line.strip(" \t") and line.strip(" \t")[0] not in marks]
    if not lines:
        raise ValueError("an empty file")
    if delimiter is None:
        delimiter = next((mark for mark in "\t;," if all(mark in line.strip(" \t") for line in lines)), " ")
    return [_fields(line, delimiter) for line in lines], delimiter


def _fields(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return [field.strip() for field in re.split("[ \t]+", line.strip(" \t"))]
    mark = re.escape(delimiter)
    if '"' in line and not re.fullmatch(rf'("([^"]|"")*"|[^"{mark}]*)({mark}("([^"]|"")*"|[^"{mark}]*))*', line):
        raise UndocumentedError("quotes inside of a field")
    return [field.strip() for field in next(csv.reader([line], delimiter=delimiter))]


def parse_edgelist(data: bytes, options: dict[str, Any]) -> ExpectedGraph:
    """Return the graph of an edge list; ValueError if it is invalid."""
    rows, _ = parse_rows(data, options.get("delimiter"), options.get("comments"))
    width = len(rows[0])
    header = options.get("header")
    names = [options.get(role) for role in ("source", "target", "weight")]
    if header is None:
        header = any(isinstance(name, str) and not name.isdecimal() for name in names) or has_header(rows)
    source, target, weight = _columns(rows[0] if header else None, width, *names)
    edges = []
    for row in rows[1:] if header else rows:
        if len(row) != width or not row[source] or not row[target]:
            raise ValueError(f"wrong row {row}")
        edges.append((row[source], row[target], 1.0 if weight is None else parse_weight(row[weight])))
    if not edges:
        raise ValueError("no edges")
    ids = parse_ids([end for edge in edges for end in edge[:2]])
    return expected_graph([(ids[u], ids[v], w) for u, v, w in edges], **merging_options(options))


def parse_adjlist(data: bytes, options: dict[str, Any]) -> ExpectedGraph:
    """Return the graph of an adjacency list; ValueError if it is invalid."""
    rows, _ = parse_rows(data, options.get("delimiter"), options.get("comments"))
    if any("" in row for row in rows):
        raise ValueError("an empty id")
    ids = parse_ids([field for row in rows for field in row])
    edges = [(ids[row[0]], ids[neighbor], 1.0) for row in rows for neighbor in row[1:]]
    return expected_graph(edges, sorted(set(ids.values())), **merging_options(options))


def parse_labels(data: bytes, options: dict[str, Any]) -> dict[Any, set[Any]]:
    """Return the labels of each node in lines of a node and its labels; ValueError if they are invalid."""
    rows, _ = parse_rows(data, options.get("delimiter"), options.get("comments"))
    header = options.get("header")
    if header is None:
        constant = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
        header = (constant or _has_usual_names(rows[0])) and has_header(rows)
    node = 0
    if header:
        names = [_normalized(name) for name in rows.pop(0)]
        node = next((names.index(name) for name in _LABELED_NODES if name in names), 0)
        if not options.get("multilabel"):
            label = next((names.index(name) for name in _LABELS if name in names), 1 - node)
            if label == node or any(len(row) != len(names) for row in rows):
                raise ValueError("no column of labels, or a row of another length")
            rows, node = [[row[node], row[label]] for row in rows], 0
    if any(len(row) <= node for row in rows):
        raise ValueError("a row without a node")
    rows = [[row[node], *filter(None, row[:node] + row[node + 1 :])] for row in rows]
    if not any(row[1:] for row in rows) or not all(row[0] for row in rows):
        raise ValueError("no labels, or an empty id")
    ids = parse_ids([row[0] for row in rows])
    classes = parse_ids([label for row in rows for label in row[1:]])
    found: dict[Any, set[Any]] = {}
    for node, *labels in rows:
        found.setdefault(ids[node], set()).update(classes[label] for label in labels)
    return found


def parse_communities(data: bytes, options: dict[str, Any]) -> dict[Any, set[Any]]:
    """Return the labels of each node in lines that list the nodes of one label; ValueError if they are invalid."""
    rows, _ = parse_rows(data, options.get("delimiter"), options.get("comments"))
    ids = parse_ids([node for row in rows for node in row if node])
    found: dict[Any, set[Any]] = {}
    for label, row in enumerate(rows):
        for node in filter(None, row):
            found.setdefault(ids[node], set()).add(label)
    return found


def parse_word2vec(data: bytes, id_type: str) -> tuple[list[Any], list[list[float]]]:
    """Return the ids and vectors of word2vec text; ValueError if it is invalid."""
    text = data.removeprefix(BOM_UTF8).decode()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    header = re.fullmatch(r"\s*([0-9]+)\s+([0-9]+)\s*", lines[0])
    rows = [line.split(" ") for line in lines[1:] if line] if header else [line.split(" ") for line in lines if line]
    if "\t" in text or any("%" in row[0] or row[-1] == "" for row in rows):
        raise UndocumentedError("tabs, percent signs or spaces at the end of a line")
    if header and (len(rows) != int(header[1]) or any(len(row) - 1 != int(header[2]) for row in rows)):
        raise ValueError("not the announced size")
    return _typed_ids([row[0] for row in rows], id_type), [[_parse_number(text) for text in row[1:]] for row in rows]


def parse_vector_table(data: bytes, id_type: str) -> tuple[list[Any], list[list[float]]]:
    """Return the ids and vectors of a CSV file; ValueError if it is invalid."""
    text = data.removeprefix(BOM_UTF8).decode().replace("\r\n", "\n")
    if "\r" in text or text.startswith("\n"):
        raise UndocumentedError("other ends of lines, or an empty first line")
    lines = [line for line in text.split("\n") if line]
    delimiter = max(",;\t", key=lines[0].count)
    rows = [_fields(line, delimiter) for line in lines]
    if rows[0][0].lower() in ("", *_NODE_COLUMNS) or not all(map(_is_number, rows[0][1:])):
        lower = [name.lower() for name in rows.pop(0)]
        position = next((lower.index(name) for name in _NODE_COLUMNS if name in lower), 0)
    elif [float(field) for field in rows[0][1:]] in (list(range(len(rows[0]) - 1)), list(range(1, len(rows[0])))):
        raise UndocumentedError("a vector 1, 2, 3 or a header")
    else:
        position = 0
    if any('"' in line for line in lines) or any(
        field != field.strip() for line in lines for field in line.split(delimiter)
    ):
        raise UndocumentedError("quotes, or white space around fields")
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("rows of different lengths")
    ids = _typed_ids([row.pop(position) for row in rows], id_type)
    return ids, [[_parse_number(field) for field in row] for row in rows]


def _typed_ids(texts: list[str], id_type: str) -> list[Any]:
    if id_type == "auto":
        ids = parse_ids(texts)
        return [ids[text] for text in texts]
    return [int(text) for text in texts] if id_type == "int" else texts


def _parse_number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"invalid number {text!r}")
    return float(text)


def parse_weight(text: str) -> float:
    """Return a weight; ValueError if it is not a finite number >= 0."""
    weight = _parse_number(text)
    if not 0 <= weight < float("inf"):
        raise ValueError(f"invalid weight {text!r}")
    return weight


def has_header(rows: list[list[str]]) -> bool:
    """Return whether the first row has usual names, or no number above a column of numbers, and does not recur."""
    first, rest = rows[0], rows[1:]
    if any(_is_number(field) or any(field in row for row in rest) for field in first):
        return False
    if _has_usual_names(first):
        return True
    if all(map(_names_a_column, first)) and rest and not all(map(_names_a_column, rest[0])):
        return True
    width = min(map(len, rest), default=0)
    return any(all(_is_number(row[j]) for row in rest) for j in range(width))


def _has_usual_names(row: list[str]) -> bool:
    names = {_normalized(field) for field in row}
    return any(set(pair) <= names for pair in _HEADERS if pair != ("u", "v"))


def _normalized(name: str) -> str:
    return re.sub("[ _-]", "", name.lower())


def _names_a_column(field: str) -> bool:
    word = re.sub("[12]$", "", _normalized(field))
    return bool({word, re.sub("id$", "", word), re.sub("s$", "", word)} & COLUMN_WORDS)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _columns(names: list[str] | None, width: int, source: Any, target: Any, weight: Any) -> tuple[int, int, int | None]:
    """Return the positions of the columns; ValueError if they cannot be determined."""
    if width < 2 or (source is None) != (target is None):
        raise ValueError("too few columns")
    if names is not None and len(set(names)) < len(names):
        raise UndocumentedError("equal column names")
    lower = [name.lower().replace("_", "") for name in names or ()]
    if source is None:
        usual = next((pair for pair in ENDPOINT_COLUMNS if set(pair) <= set(lower)), None)
        ends = (lower.index(usual[0]), lower.index(usual[1])) if usual else (0, 1)
    else:
        ends = _position(source, names, width), _position(target, names, width)
    if ends[0] == ends[1]:
        raise ValueError("one column for both ends")
    if weight is not None:
        found = None if weight is False else _position(weight, names, width)
        if found in ends:
            raise ValueError("one column for an end and the weight")
        return *ends, found
    usual_names = (lower.index(name) for name in ("weight", "weights", "w") if name in lower)
    found = next((position for position in usual_names if position not in ends), None)
    if found is None and width > 2:
        if names is not None or width > 3 or source is not None:
            raise ValueError("the weight is ambiguous")
        found = 2
    return *ends, found


def _position(column: Any, names: list[str] | None, width: int) -> int:
    if isinstance(column, str) and names is not None:
        return names.index(column)
    if not 0 <= int(column) < width:
        raise ValueError(f"no column {column}")
    return int(column)
