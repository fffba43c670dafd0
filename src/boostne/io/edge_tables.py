"""Reading tables of edges from Parquet files, or from a folder of them as Spark, Dask and polars write it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Unpack

from boostne.errors import FileFormatError, GraphError
from boostne.graph import Graph
from boostne.interop import Columns, EdgeOptions, Weight, as_graph, choose_columns
from boostne.io.compression import format_suffix
from boostne.io.files import PARQUET_SUFFIXES, errors_naming, is_parquet_data, open_seekable, parquet_files
from boostne.io.integer_tables import IntegerEdges, has_integers, read_integer_edges
from boostne.io.mistaken_tables import refuse_other_columns
from boostne.io.reading_budget import ReadingBudget
from boostne.io.reading_notes import ReadingNotes
from boostne.sides import COLUMNS

_TEXT_OFFSETS = 16  # bytes per value of a column of text


def read_edge_table(
    path: Path,
    *,
    source: str | None,
    target: str | None,
    weight: Weight,
    bipartite: bool | None,
    budget: ReadingBudget,
    notes: ReadingNotes,
    **options: Unpack[EdgeOptions],
) -> Graph:
    """Read a Parquet table with one edge per row, from one file or a folder; ids keep the type of their columns."""
    choice, add = (source, target, weight), options["duplicates"] == "sum"
    if path.is_dir():
        parts = part_files(path)
        edges, columns = _read_edges(parts, parts, choice, budget, add=add)
    else:
        with open_seekable(path, budget) as stream:
            edges, columns = _read_edges([path], [stream], choice, budget, add=add)
    weights = "no weights" if columns.weight is None else f"weight {columns.weight!r}"
    notes.assume(f"a Parquet table, source {columns.source!r}, target {columns.target!r}, {weights}")
    sides = COLUMNS if bipartite else None
    if isinstance(edges, IntegerEdges):
        return Graph.from_indices(
            *edges,
            directed=bool(options["directed"]),
            duplicates=options["duplicates"],
            self_loops=options["self_loops"],
            sides=sides,
        )
    chosen: Weight = False if columns.weight is None else columns.weight
    return as_graph(edges, source=columns.source, target=columns.target, weight=chosen, sides=sides, **options)


def is_parquet(path: Path) -> bool:
    """Return whether a path is a folder, or has the suffix of a Parquet file."""
    return path.is_dir() or format_suffix(path) in PARQUET_SUFFIXES


def part_files(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder; raise FileFormatError if there are none, or if some are in subfolders."""
    # Parts of a table that is partitioned by a column, whose values are the names of the subfolders.
    below = (path for path in folder.rglob("*/*") if is_parquet_data(path.relative_to(folder)) and path.is_file())
    nested = next(below, None)
    if nested is not None:
        raise FileFormatError(
            f"{folder}: {nested.relative_to(folder)} is in a subfolder, and partitioned tables are not supported: move "
            "all parts of the table into one folder"
        )
    parts = parquet_files(folder)
    if not parts:
        raise FileFormatError(
            f"{folder}: the folder has no Parquet files, whose names end in {' or '.join(PARQUET_SUFFIXES)}; give a "
            "file, or a folder with the parts of one table"
        )
    return parts


def _read_edges(
    paths: Sequence[Path],
    files: Sequence[Path | IO[bytes]],
    choice: tuple[Any, Any, Weight],
    budget: ReadingBudget,
    *,
    add: bool,
) -> tuple[Any, Columns]:
    """Read the columns of the edges from the parts of a table; ``paths`` are their names in messages.

    Returns
    -------
    edges
        IntegerEdges, or a table if the columns have other types.
    columns
        The columns of the table.
    """
    schema, n_rows, n_bytes = _read_schema(paths, files)
    if choice[:2] == (None, None):
        refuse_other_columns(paths[0], schema.names)
    columns = choose_columns(schema.names, *choice)
    _check_types(schema, columns)
    edges: Any = None
    if has_integers(schema, columns):
        weighted = add or columns.weight is not None
        edges = read_integer_edges(paths, files, schema, columns, n_rows, budget, weighted=weighted)
    if edges is None:
        edges = _read_table(paths, files, schema, columns, n_rows, n_bytes // len(schema.names), budget)
    return edges, columns


def _read_table(
    paths: Sequence[Path],
    files: Sequence[Path | IO[bytes]],
    schema: Any,
    columns: Columns,
    n_rows: int,
    column_bytes: int,
    budget: ReadingBudget,
) -> Any:
    import pyarrow as pa

    names = [name for name in columns if name is not None]
    weighted = columns.weight is not None
    budget.check_table(n_rows, column_bytes * len(names), weighted=weighted)
    # Text that is stored once in a file stays so until its size is known.
    texts = [name for name in names if _is_text(schema.field(name).type)]
    tables: list[Any] = []
    text_bytes = 0
    for path, file in zip(paths, files, strict=True):
        with errors_naming(path, "parquet"):
            for table in _row_groups(file, names, texts):
                tables.append(table)
                text_bytes += sum(map(_text_bytes, table.columns))
                budget.check_table(n_rows, text_bytes, weighted=weighted)
    return pa.concat_tables(tables)


def _read_schema(paths: Sequence[Path], files: Sequence[Path | IO[bytes]]) -> tuple[Any, int, int]:
    """Return the schema, the rows and the bytes of a table; raise FileFormatError unless all parts have one schema."""
    from pyarrow.parquet import ParquetFile

    first: Any = None
    n_rows = n_bytes = 0
    for path, file in zip(paths, files, strict=True):
        with errors_naming(path, "parquet"), ParquetFile(file) as opened:
            schema, metadata = opened.schema_arrow, opened.metadata
            # Not the sizes of columns: PyArrow 26 aborts if the statistics of a damaged file are inconsistent.
            n_bytes += sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            n_rows += metadata.num_rows
        first = schema if first is None else first
        _check_same(first, schema, paths[0], path)
    return first, n_rows, n_bytes


def _check_same(first: Any, schema: Any, first_path: Path, path: Path) -> None:
    """Raise FileFormatError if two parts of a table have other columns, or other types of them."""
    columns, others = ([(field.name, field.type) for field in one] for one in (first, schema))
    if columns == others:
        return
    differing = next((pair for pair in zip(columns, others, strict=False) if pair[0] != pair[1]), None)
    found = f"{len(columns)} and {len(others)} columns"
    if differing is not None:
        found = " and ".join(f"the column {name!r} of type {kind}" for name, kind in differing)
    raise FileFormatError(
        f"{path.parent}: the parts of the table have different schemas: {first_path.name} and {path.name} have "
        f"{found}; write all parts with the same columns and types, or move other tables out of the folder"
    )


def _check_types(schema: Any, columns: Columns) -> None:
    import pyarrow as pa

    for name in columns:
        if name is not None and schema.names.count(name) > 1:
            raise GraphError(f"several columns are called {name!r}: rename them")
    for name in (columns.source, columns.target):
        kind = schema.field(name).type
        value = kind.value_type if pa.types.is_dictionary(kind) else kind
        # Floats and missing ids have messages of their own.
        if not (_is_text(value) or pa.types.is_integer(value) or pa.types.is_floating(value) or value == pa.null()):
            raise GraphError(
                f"the column {name!r} has type {kind}, but node ids must be integers or strings: convert it"
            )
    if columns.weight:
        kind = schema.field(columns.weight).type
        if pa.types.is_temporal(kind) or pa.types.is_nested(kind):
            raise GraphError(f"the column {columns.weight!r} has type {kind}, but weights must be numbers: convert it")


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _row_groups(file: Path | IO[bytes], names: list[str], texts: list[str]) -> Iterator[Any]:
    """Yield the row groups of a file, after an empty one; columns of text are dictionary-encoded."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file, read_dictionary=texts) as opened:
        yield pa.schema([opened.schema_arrow.field(name) for name in names]).empty_table()
        for i in range(opened.metadata.num_row_groups):
            yield opened.read_row_group(i, columns=names)


def _text_bytes(column: Any) -> int:
    """Return the size of a column of text in which each occurrence is stored; 0 for other columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return 0
    lengths = [pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
    return sum(pc.sum(chunk.cast(pa.int64())).as_py() or 0 for chunk in lengths) + _TEXT_OFFSETS * len(column)
