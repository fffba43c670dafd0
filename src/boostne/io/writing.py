"""Writing graphs and labels to CSV files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scipy import sparse

from boostne.graph import Graph
from boostne.io.atomic import atomic_path
from boostne.labels import Labels

_BLOCK_ROWS = 1 << 20


def write_edges(graph: Graph, path: str | Path) -> None:
    """Write one edge per line, with its weight if the graph is weighted, for :func:`~boostne.io.read_graph`.

    Parameters
    ----------
    graph : Graph
        Undirected edges are written once, with the first side of a bipartite graph as the source; isolated nodes are
        not written.
    path : str or Path
        A CSV file, written with a header.
    """
    A = graph.adjacency.tocoo() if graph.directed else sparse.triu(graph.adjacency).tocoo()
    if graph.sides is not None:
        A = graph.adjacency.multiply(graph.sides[:, None]).tocoo()
        A.eliminate_zeros()
    columns = {"source": graph.nodes[A.row], "target": graph.nodes[A.col]}
    if graph.weighted:
        columns["weight"] = A.data
    write_columns(columns, path)


def write_labels(labels: Labels, path: str | Path) -> None:
    """Write one node and one of its labels per line, for :func:`~boostne.io.read_labels`."""
    pairs = labels.matrix.tocoo()
    write_columns({"node": labels.nodes[pairs.row], "label": labels.classes[pairs.col]}, path)


def write_columns(columns: Mapping[str, Any], path: str | Path) -> None:
    """Write columns of equal length to a CSV file with a header."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table(columns)
    with atomic_path(Path(path)) as temporary, csv.CSVWriter(temporary, table.schema) as writer:
        writer.write_table(table, max_chunksize=_BLOCK_ROWS)
