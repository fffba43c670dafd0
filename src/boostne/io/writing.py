"""Graphs and labels to text: one edge, or one node with its label, a line."""

from pathlib import Path

import numpy as np
from scipy import sparse

from boostne.graph import Graph
from boostne.io.atomic import atomic_path
from boostne.labels import Labels

EDGES_AT_A_TIME = 1 << 20


def write_edges(graph: Graph, path: str | Path) -> None:
    """Write the two ends of each edge, and its weight where there are weights; :func:`read_graph` reads it back.

    Parameters
    ----------
    graph : Graph
        Its isolated nodes have no line. An undirected edge is written once.
    path : str or Path
        A CSV file with a header.
    """
    A = graph.adjacency.tocoo() if graph.directed else sparse.triu(graph.adjacency).tocoo()
    columns = {"source": graph.nodes[A.row], "target": graph.nodes[A.col]}
    if graph.weighted:
        columns["weight"] = A.data
    _write(columns, path)


def write_labels(labels: Labels, path: str | Path) -> None:
    """Write each node with each of its labels; :func:`read_labels` reads it back."""
    pairs = labels.matrix.tocoo()
    _write({"node": labels.nodes[pairs.row], "label": labels.classes[pairs.col]}, path)


def _write(columns: dict[str, np.ndarray], path: str | Path) -> None:
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table(columns)
    with atomic_path(Path(path)) as temporary, csv.CSVWriter(temporary, table.schema) as writer:
        writer.write_table(table, max_chunksize=EDGES_AT_A_TIME)
