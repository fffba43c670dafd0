"""Reading tables of edges from Parquet files."""

from pathlib import Path

import numpy as np

from boostne.graph import Duplicates, Graph, SelfLoops
from boostne.interop import Weight, choose_columns
from boostne.io.files import open_binary


def read_edge_table(
    path: Path,
    *,
    directed: bool | None,
    source: str | None,
    target: str | None,
    weight: Weight,
    duplicates: Duplicates,
    self_loops: SelfLoops,
) -> Graph:
    """Read a Parquet table with one edge per row; ids keep the type of their columns."""
    from pyarrow.parquet import ParquetFile

    with open_binary(path) as stream:
        file = ParquetFile(stream)
        columns = choose_columns(file.schema_arrow.names, source, target, weight)
        table = file.read(columns=[name for name in columns if name])
    return Graph.from_edges(
        table[columns.source],
        table[columns.target],
        np.asarray(table[columns.weight]) if columns.weight else None,
        directed=bool(directed),
        duplicates=duplicates,
        self_loops=self_loops,
    )
