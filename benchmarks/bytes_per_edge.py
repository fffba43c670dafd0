"""Peak memory per edge of reading a graph, and of what a worker of a cluster does with it next.

Files have the same random edges, ten for each node, most of them within groups of 1000 nodes. Each step includes what
the steps before it left, but not the interpreter and the libraries. ``BYTES_PER_EDGE_EDGES=1000000`` selects the sizes.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from benchmarks.common import peak_bytes, peak_memory, reset_peak, save, show
from boostne import BoostNE, read_graph
from boostne.factorization.dask.mapped_arrays import write_arrays
from boostne.factorization.dask.worker_graph import SharedGraph, form_within
from boostne.memory import resident_memory

EDGES = (5_000_000, 20_000_000)
PER_NODE = 10
GROUP = 1000
WITHIN = 0.8  # of the edges


def run() -> None:
    """Measure each kind of file in a process of its own."""
    chosen = os.environ.get("BYTES_PER_EDGE_EDGES")
    rows: list[dict[str, Any]] = []
    for n_edges in [int(n) for n in chosen.split(",")] if chosen else EDGES:
        for name, write in FILES.items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / name
                write(path, n_edges)
                _, (n_nodes, peaks) = peak_memory(prepared, path)
            sizes = {f"{step}_bytes_per_edge": peak / n_edges for step, peak in peaks.items()}
            rows.append({"file": name, "edges": n_edges, "nodes": n_nodes} | sizes)
            show("so far", rows[-1:])
            save("bytes_per_edge", rows)
    show("Peak memory in bytes per edge", rows)


def prepared(path: Path) -> Callable[[], tuple[int, dict[str, int]]]:
    """Import the libraries by reading a small file, and return the function to measure."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / path.name
        FILES[path.name](small, 100)
        read_graph(small)
    return lambda: steps(path)


def steps(path: Path) -> tuple[int, dict[str, int]]:
    """Read a graph, sort its nodes and write the arrays of X to a file; returns the nodes, and peaks in bytes."""
    base, peaks = resident_memory(), {}
    graph = read_graph(path)
    peaks["reading"] = peak_bytes() - base
    n_nodes = graph.n_nodes
    reset_peak()
    job = BoostNE(dimensions=32, levels=2, engine="local")._job_on_worker(0, graph, 1)  # noqa: SLF001
    del graph
    peaks["sorting"] = peak_bytes() - base
    reset_peak()
    form = form_within(None, job.matrix, job.reordered.graph, job.work)
    with tempfile.TemporaryDirectory() as folder:
        write_arrays(SharedGraph(job.source(form), job.reordered.graph.nodes, job.start(form)), folder)
    peaks["sharing"] = peak_bytes() - base
    return n_nodes, peaks


def random_columns(n_edges: int) -> dict[str, Any]:
    """Return the ends of random edges."""
    rng = np.random.default_rng(0)
    n_nodes = max(n_edges // PER_NODE, 2 * GROUP)
    source = rng.integers(0, n_nodes, n_edges)
    near = source // GROUP * GROUP + rng.integers(1, GROUP, n_edges)
    target = np.where(rng.random(n_edges) < WITHIN, near % n_nodes, rng.integers(0, n_nodes, n_edges))
    order = rng.permutation(n_nodes)
    apart = source != target
    return {"source": order[source[apart]], "target": order[target[apart]]}


def write_parquet(path: Path, n_edges: int, *, weighted: bool = False, wide: bool = False) -> None:
    """Write edges as a Parquet table; wide ids need 64 bits."""
    columns = random_columns(n_edges)
    if wide:
        ids = np.random.default_rng(1).integers(0, 1 << 62, max(n_edges // PER_NODE, 2 * GROUP))
        columns = {name: ids[ends] for name, ends in columns.items()}
    if weighted:
        columns["weight"] = np.random.default_rng(1).random(len(columns["source"]))
    pq.write_table(pa.table(columns), path)


FILES: dict[str, Callable[[Path, int], None]] = {
    "integers.parquet": write_parquet,
    "weighted.parquet": lambda path, n_edges: write_parquet(path, n_edges, weighted=True),
    "wide-integers.parquet": lambda path, n_edges: write_parquet(path, n_edges, wide=True),
    "edges.csv": lambda path, n_edges: arrow_csv.write_csv(pa.table(random_columns(n_edges)), path),
}
