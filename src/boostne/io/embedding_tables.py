"""Embeddings as tables, ``.parquet`` and ``.csv``: a column of nodes and one per dimension.

Arrow reads and writes them, some thousand rows at a time. Word2vec text uses the same blocks and the same reader.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding, column_names
from boostne.errors import ParameterError
from boostne.io.embedding_ids import IdType, ids_from_json, ids_from_text, ids_to_json
from boostne.node_ids import as_ids

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_A_TIME = 8192
_COUNTED = 3
_NODE_COLUMNS = ("node", "nodes", "node_id", "id", "__index_level_0__")


def write_parquet(embedding: Embedding, path: Path) -> None:
    """Write a Parquet table; the levels are in its metadata."""
    from pyarrow import parquet

    # Numbers that hardly ever repeat only grow in a dictionary.
    open_writer = partial(parquet.ParquetWriter, use_dictionary=False)
    _write_tables(_tables(embedding, embedding.vectors.dtype), path, open_writer)


def write_csv(embedding: Embedding, path: Path) -> None:
    """Write a CSV table with a header, its numbers as 32-bit floats."""
    from pyarrow import csv as arrow_csv

    _write_tables(_tables(embedding, np.float32), path, arrow_csv.CSVWriter)


def _write_tables(tables: Iterator["pa.Table"], path: Path, open_writer: Callable[..., Any]) -> None:
    first = next(tables)
    with open_writer(path, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _tables(embedding: Embedding, dtype: Any) -> Iterator["pa.Table"]:
    """Yield the embedding as Arrow tables of some thousand rows: a node column and one per dimension."""
    import pyarrow as pa

    metadata = {"boostne.levels": json.dumps(embedding.levels.tolist())}
    names = ["node", *embedding.columns()]
    mixed = embedding.nodes.dtype.kind == "O"
    if mixed:
        metadata["boostne.nodes_encoding"] = "json"
    node_type = pa.int64() if embedding.nodes.dtype.kind == "i" else pa.string()
    for nodes, block in blocks_of_rows(embedding, dtype):
        ids = pa.array(ids_to_json(nodes) if mixed else nodes.tolist(), node_type)
        yield pa.table([ids, *map(pa.array, block.T.copy())], names=names).replace_schema_metadata(metadata)


def blocks_of_rows(embedding: Embedding, dtype: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield some thousand ids and their vectors at a time; refuse numbers that `dtype` cannot hold."""
    # At least one block, so that an embedding without nodes still gets its columns.
    for start in range(0, max(len(embedding), 1), _ROWS_AT_A_TIME):
        rows = slice(start, start + _ROWS_AT_A_TIME)
        with np.errstate(over="ignore"):  # what does not fit becomes infinite
            block = embedding.vectors[rows].astype(dtype, copy=False)
        if not np.isfinite(block).all():
            raise ParameterError("the vectors do not fit in 32-bit numbers, as text files hold; save as .npz")
        yield embedding.nodes[rows], block


def read_parquet(paths: Sequence[Path]) -> Embedding:
    """Read a Parquet table of this library or of another tool, such as pandas; from several files if it has parts."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.concat_tables([parquet.read_table(path) for path in paths])
    metadata = table.schema.metadata or {}
    names = table.column_names
    place = _place_of_nodes(names)
    nodes = table.column(place).to_pylist()
    levels = json.loads(metadata.get(b"boostne.levels", b"null"))
    return Embedding(
        ids_from_json(nodes) if b"boostne.nodes_encoding" in metadata else as_ids(nodes),
        as_matrix(table.remove_column(place)),
        levels or _levels_of_columns(names[:place] + names[place + 1 :]),
    )


def read_csv(path: Path, id_type: IdType) -> Embedding:
    """Read a table separated by commas, semicolons or tabs, with or without a header."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline()
    delimiter = max(",;\t", key=line.count)
    names = next(csv.reader([line], delimiter=delimiter), [])
    header = bool(names) and _is_header(names)
    place = _place_of_nodes(names) if header else 0
    table = read_delimited(path, delimiter, columns=len(names), place=place, skip=int(header), quote='"')
    ids = ids_from_text(table.column(place).to_pylist(), id_type)
    levels = _levels_of_columns(names[:place] + names[place + 1 :]) if header else None
    return Embedding(ids, as_matrix(table.remove_column(place)), levels)


def read_delimited(
    path: Path,
    delimiter: str,
    *,
    columns: int,
    place: int = 0,
    skip: int,
    quote: str | bool,
    surplus: int = 0,
) -> "pa.Table":
    """Read ids as strings at `place`, numbers elsewhere; drop the `surplus` empty columns at the end."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [str(i) for i in range(columns + surplus)]
    types = dict.fromkeys(names, pa.float32()) | {str(place): pa.string()}
    return arrow_csv.read_csv(
        path,
        # One thread: only then do Arrow's messages give the row.
        arrow_csv.ReadOptions(use_threads=False, column_names=names, skip_rows=skip, block_size=1 << 24),
        arrow_csv.ParseOptions(delimiter=delimiter, quote_char=quote, newlines_in_values=bool(quote)),
        arrow_csv.ConvertOptions(column_types=types, null_values=[], include_columns=names[:columns]),
    )


def as_matrix(table: "pa.Table") -> NDArray[Any]:
    """Put the columns side by side; float64 when one of them needs it."""
    wide = any(str(field.type) not in {"float", "halffloat"} for field in table.schema)
    matrix = np.empty((table.num_rows, table.num_columns), dtype=np.float64 if wide else np.float32)
    for j, column in enumerate(table.columns):
        try:
            matrix[:, j] = column.to_numpy()
        except (ValueError, TypeError):
            name = table.column_names[j]
            raise ValueError(f"the column {name!r} must hold one number a row, got {column.type}") from None
    return matrix


def _place_of_nodes(names: Sequence[str]) -> int:
    lower = [name.lower() for name in names]
    return next((lower.index(name) for name in _NODE_COLUMNS if name in lower), 0)


def _levels_of_columns(names: Sequence[str]) -> list[int] | None:
    """Read the widths of the levels off names like ``u1_1``, ``u1_2``, ``u2_1``."""
    widths = [len(list(group)) for _, group in groupby(name.partition("_")[0] for name in names)]
    return widths if column_names(widths) == list(names) else None


def _is_header(names: Sequence[str]) -> bool:
    """Tell the names of columns from a node and its numbers."""
    if names[0].lower() in {"", *_NODE_COLUMNS}:
        return True
    try:
        numbers = [float(name) for name in names[1:]]
    except ValueError:
        return True
    # Tables often number their columns; no vector of some length counts like that.
    return len(numbers) >= _COUNTED and numbers in (
        list(range(len(numbers))),
        list(range(1, len(numbers) + 1)),
    )
