"""Embeddings in Parquet and CSV tables: a column of nodes and one per dimension.

Word2vec text shares the blocks of rows and the parser.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding, column_names
from boostne.errors import FileFormatError, ParameterError
from boostne.io.delimited_text import DELIMITER_NAMES, is_number
from boostne.io.embedding_ids import IdType, ids_from_json, ids_from_text, ids_to_json
from boostne.io.files import errors_naming
from boostne.io.mistaken_tables import check_vectors
from boostne.io.numpy_files import WRONG_SUFFIX
from boostne.io.reading_notes import ReadingNotes, count_of
from boostne.io.spreadsheets import escape_formulas, unescape_formulas
from boostne.memory import check_memory
from boostne.node_ids import as_ids

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_ROWS = 8192
_NUMBER_BYTES = 8
_MIN_NUMBERED_COLUMNS = 3
_LONGEST = 60  # characters of a field in a message
_NODE_COLUMNS = ("node", "nodes", "node_id", "id", "__index_level_0__")


def write_parquet(embedding: Embedding, path: Path) -> None:
    """Write a Parquet table with the levels in its metadata."""
    from pyarrow import parquet

    # Dictionary encoding does not pay for values that rarely repeat.
    open_writer = partial(parquet.ParquetWriter, use_dictionary=False, write_page_checksum=True)
    _write_tables(_tables(embedding, embedding.vectors.dtype), path, open_writer)


def write_csv(embedding: Embedding, path: Path) -> None:
    """Write a CSV table of 32-bit floats with a header."""
    from pyarrow import csv as arrow_csv

    _write_tables(map(_without_formulas, _tables(embedding, np.float32)), path, arrow_csv.CSVWriter)


def _write_tables(tables: Iterator["pa.Table"], path: Path, open_writer: Callable[..., Any]) -> None:
    first = next(tables)
    with open_writer(path, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _without_formulas(table: "pa.Table") -> "pa.Table":
    # The column of ids; integers, including negative ones, are numbers.
    return table.set_column(0, "node", escape_formulas(table.column(0))) if table.schema[0].type == "string" else table


def _tables(embedding: Embedding, dtype: Any) -> Iterator["pa.Table"]:
    """Yield the embedding as Arrow tables of a few thousand rows each."""
    import pyarrow as pa

    metadata = {"boostne.levels": json.dumps(embedding.levels.tolist())}
    names = ["node", *embedding.columns()]
    mixed = embedding.nodes.dtype.kind == "O"
    if mixed:
        metadata["boostne.nodes_encoding"] = "json"
    node_type = pa.int64() if embedding.nodes.dtype.kind == "i" else pa.string()
    for nodes, block in row_blocks(embedding, dtype):
        ids = pa.array(ids_to_json(nodes) if mixed else nodes.tolist(), node_type)
        yield pa.table([ids, *map(pa.array, block.T.copy())], names=names).replace_schema_metadata(metadata)


def row_blocks(embedding: Embedding, dtype: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield blocks of ids and their vectors as `dtype`; raise if a number overflows."""
    # At least one block, so that an empty embedding has columns, too.
    for start in range(0, max(len(embedding), 1), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        with np.errstate(over="ignore"):  # values out of range become infinite
            block = embedding.vectors[rows].astype(dtype, copy=False)
        if not np.isfinite(block).all():
            raise ParameterError("the vectors exceed the range of 32-bit floats, which text files store; save as .npz")
        yield embedding.nodes[rows], block


def read_parquet(paths: Sequence[Path], notes: ReadingNotes) -> Embedding:
    """Read a Parquet table, in one or several files, written by this library or another tool, such as pandas."""
    import pyarrow as pa

    table = pa.concat_tables([_read_parquet_file(path) for path in paths])
    metadata = table.schema.metadata or {}
    names = table.column_names
    if not names:
        raise FileFormatError(f"{paths[0]}: a table without columns is not an embedding")
    position = _node_column(names)
    nodes = table.column(position)
    if pa.types.is_binary(nodes.type):  # strings of tools that do not mark them as such
        nodes = nodes.cast(pa.string())
    encoded = b"boostne.nodes_encoding" in metadata
    if encoded and nodes.type != pa.string():
        raise FileFormatError(f"{paths[0]}: the column {names[position]!r} must contain ids as JSON, got {nodes.type}")
    notes.assume(f"{'a Parquet table' if len(paths) == 1 else f'{len(paths)} Parquet files'}, node {names[position]!r}")
    levels = json.loads(metadata.get(b"boostne.levels", b"null"))
    return Embedding(
        ids_from_json(nodes.to_pylist()) if encoded else as_ids(nodes.to_pylist()),
        as_matrix(table.remove_column(position)),
        _levels_of_columns(names[:position] + names[position + 1 :]) if levels is None else levels,
    )


def _read_parquet_file(path: Path) -> "pa.Table":
    from pyarrow import parquet

    # Not read_table, which adds the folders of a path as columns.
    with (
        errors_naming(path, "a Parquet file", WRONG_SUFFIX),
        path.open("rb") as stream,  # Arrow's error for a missing file has no file name
        parquet.ParquetFile(stream, page_checksum_verification=True) as file,
    ):
        needed = file.metadata.num_rows * file.metadata.num_columns * _NUMBER_BYTES
        check_memory(needed, f"reading {path}", "Close other programs or use a machine with more memory.")
        return file.read()


def read_csv(path: Path, id_type: IdType, notes: ReadingNotes) -> Embedding:
    """Read a table separated by commas, semicolons or tabs, with or without a header."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline()
    delimiter = max(",;\t", key=line.count)
    names = next(csv.reader([line], delimiter=delimiter), [])
    header = bool(names) and _is_header(names)
    position = _node_column(names) if header else 0
    column = f"header in line 1; node {names[position]!r}" if header else "no header; node in column 0"
    notes.assume(f"separated by {DELIMITER_NAMES[delimiter]}, {column}")
    table = read_delimited(path, delimiter, columns=len(names), id_column=position, skip=int(header), quote='"')
    levels = _levels_of_columns(names[:position] + names[position + 1 :]) if header else None
    nodes = table.column(position)
    if levels is not None:  # written by this library
        nodes = unescape_formulas(nodes)
    ids = ids_from_text(nodes.to_pylist(), id_type, path, 1 + int(header))
    vectors = as_matrix(table.remove_column(position))
    if levels is None:
        check_vectors(path, vectors)
    return Embedding(ids, vectors, levels)


def read_delimited(
    path: Path, delimiter: str, *, columns: int, id_column: int = 0, skip: int, quote: str | bool, surplus: int = 0
) -> "pa.Table":
    """Read strings from the `id_column` and numbers from the others; drop `surplus` columns at the end, all empty."""
    import pyarrow as pa
    from pyarrow import compute
    from pyarrow import csv as arrow_csv

    names = [str(i) for i in range(columns + surplus)]
    types = dict.fromkeys(names[:columns], pa.float32()) | dict.fromkeys(names[columns:], pa.binary())
    types[str(id_column)] = pa.string()
    try:
        table = arrow_csv.read_csv(
            path,
            arrow_csv.ReadOptions(use_threads=False, column_names=names, skip_rows=skip, block_size=1 << 24),
            arrow_csv.ParseOptions(delimiter=delimiter, quote_char=quote, newlines_in_values=bool(quote)),
            arrow_csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid:
        _raise_for_line(path, delimiter, columns, surplus, id_column, skip, quote)
        raise
    for column in table.columns[columns:]:
        filled = compute.index(compute.equal(column, b""), False).as_py()
        if filled >= 0:
            raise FileFormatError(
                f"{path}: vector {filled + 1} has more than the {columns - 1} numbers of the first vector: "
                f"{column[filled].as_py()!r} follows"
            )
    return table.select(names[:columns])


def _raise_for_line(
    path: Path, delimiter: str, columns: int, surplus: int, id_column: int, skip: int, quote: str | bool
) -> None:
    """Raise FileFormatError for the first line that is not a node and its vector."""
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    with path.open(encoding="utf-8-sig", newline="") as file, suppress(csv.Error):
        rows = csv.reader(file, delimiter=delimiter, quoting=quoting)
        for row in islice(rows, skip, None):
            if row and len(row) != columns + surplus:
                raise FileFormatError(
                    f"{path}, line {rows.line_num}: {count_of(len(row) - 1, 'number')}, but the first vector has "
                    f"{columns - 1}: "
                    "each line needs a node and its vector"
                )
            text = next(
                (row[i] for i in range(min(columns, len(row))) if i != id_column and not is_number(row[i])), None
            )
            if text is not None:
                raise FileFormatError(
                    f"{path}, line {rows.line_num}: {text[:_LONGEST]!r} is not a number: each line needs a node and "
                    "its vector; give a file of vectors, not of edges or labels"
                )


def as_matrix(table: "pa.Table") -> NDArray[Any]:
    """Return the columns as a matrix, in float64 if one of them requires it."""
    from pyarrow import types

    wide = any(str(field.type) not in {"float", "halffloat"} for field in table.schema)
    matrix = np.empty((table.num_rows, table.num_columns), dtype=np.float64 if wide else np.float32)
    for j, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        # NumPy would also convert text and dates.
        if not any(check(column.type) for check in (types.is_floating, types.is_integer, types.is_boolean)):
            raise ParameterError(f"the column {name!r} must contain one number per row, got {column.type}")
        matrix[:, j] = column.to_numpy()
    return matrix


def _node_column(names: Sequence[str]) -> int:
    lower = [name.lower() for name in names]
    return next((lower.index(name) for name in _NODE_COLUMNS if name in lower), 0)


def _levels_of_columns(names: Sequence[str]) -> list[int] | None:
    """Return the widths of levels with column names like ``u1_1``, ``u1_2``, ``u2_1``; None for other names."""
    widths = [len(list(group)) for _, group in groupby(name.partition("_")[0] for name in names)]
    return widths if column_names(widths) == list(names) else None


def _is_header(names: Sequence[str]) -> bool:
    """Return whether these are column names rather than a node and its vector."""
    if names[0].lower() in {"", *_NODE_COLUMNS}:
        return True
    try:
        numbers = [float(name) for name in names[1:]]
    except ValueError:
        return True
    # Columns are often numbered; a vector hardly ever equals 0, 1, 2, …
    return len(numbers) >= _MIN_NUMBERED_COLUMNS and numbers in (
        list(range(len(numbers))),
        list(range(1, len(numbers) + 1)),
    )
