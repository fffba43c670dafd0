"""Reading tables of edges from Parquet files."""

from pathlib import Path
from typing import Any, Unpack

from boostne.errors import GraphError
from boostne.graph import Graph
from boostne.interop import Columns, EdgeOptions, Weight, as_graph, choose_columns
from boostne.io.files import open_seekable
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
    """Read a Parquet table with one edge per row; ids keep the type of their columns."""
    from pyarrow.parquet import ParquetFile

    with open_seekable(path, budget) as stream:
        schema = ParquetFile(stream).schema_arrow
        if source is None and target is None:
            refuse_other_columns(path, schema.names)
        columns = choose_columns(schema.names, source, target, weight)
        names = [name for name in columns if name is not None]
        _check_types(schema, columns)
        # Text that is stored once in the file stays so until its size is known.
        file = ParquetFile(stream, read_dictionary=[name for name in names if _is_text(schema.field(name).type)])
        table = _read_columns(file, names, budget, weighted=columns.weight is not None)
    weights = "no weights" if columns.weight is None else f"weight {columns.weight!r}"
    notes.assume(f"a Parquet table, source {columns.source!r}, target {columns.target!r}, {weights}")
    chosen: Weight = False if columns.weight is None else columns.weight
    ends = {"source": columns.source, "target": columns.target}
    return as_graph(table, weight=chosen, sides=COLUMNS if bipartite else None, **ends, **options)


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


def _read_columns(file: Any, names: list[str], budget: ReadingBudget, *, weighted: bool) -> Any:
    import pyarrow as pa

    metadata = file.metadata
    groups = range(metadata.num_row_groups)
    # Not the sizes of columns: PyArrow 26 aborts if the statistics of a damaged file are inconsistent.
    n_bytes = sum(metadata.row_group(i).total_byte_size for i in groups) * len(names) // len(file.schema_arrow.names)
    budget.check_table(metadata.num_rows, n_bytes, weighted=weighted)
    tables = [pa.schema([file.schema_arrow.field(name) for name in names]).empty_table()]
    text_bytes = 0
    for i in groups:
        tables.append(file.read_row_group(i, columns=names))
        text_bytes += sum(map(_text_bytes, tables[-1].columns))
        budget.check_table(metadata.num_rows, text_bytes, weighted=weighted)
    return pa.concat_tables(tables)


def _text_bytes(column: Any) -> int:
    """Return the size of a column of text in which each occurrence is stored; 0 for other columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return 0
    lengths = [pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
    return sum(pc.sum(chunk.cast(pa.int64())).as_py() or 0 for chunk in lengths) + _TEXT_OFFSETS * len(column)
