"""Reading tables of edges from Parquet files."""

from pathlib import Path
from typing import Unpack

from boostne.graph import Graph
from boostne.interop import EdgeOptions, Weight, as_graph, choose_columns
from boostne.io.files import open_seekable
from boostne.io.reading_budget import ReadingBudget


def read_edge_table(
    path: Path,
    *,
    source: str | None,
    target: str | None,
    weight: Weight,
    budget: ReadingBudget,
    **options: Unpack[EdgeOptions],
) -> Graph:
    """Read a Parquet table with one edge per row; ids keep the type of their columns."""
    from pyarrow.parquet import ParquetFile

    with open_seekable(path, budget) as stream:
        file = ParquetFile(stream)
        columns = choose_columns(file.schema_arrow.names, source, target, weight)
        table = file.read(columns=[name for name in columns if name])
    return as_graph(table, source=columns.source, target=columns.target, weight=columns.weight or False, **options)
