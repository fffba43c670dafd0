"""Peak memory of the client of a Dask cluster that writes parts, if the workers read the graph and if the client does.

The client is ``boostne embed EDGES -o PARTS/ --scheduler ADDRESS`` in a process of its own; the scheduler and two
workers of one thread are other processes of this machine. EDGES is a folder of Parquet files, which the workers read,
or a text file with the same edges, which the client reads; both must give the same vectors. Levels have the default
width, but there are two of them: what the client holds does not grow with their number. The graphs are planted
partitions with mean degree 10, and ``CLIENT_MEMORY_NODES=100000`` selects their sizes.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cluster import cluster_options
from benchmarks.common import peak_bytes, save, show
from benchmarks.large import boostne

NODES = (100_000, 1_000_000)
PARTS = 4
WORKERS = 2
OPTIONS = ("--dimensions", "32", "--levels", "2")
LIMIT_MB = 400
# Runs a command of boostne and prints its peak memory in kB. The kernel would count the memory of this process, too, in
# what it reports of a child's peak.
CLIENT = """
import sys
from pathlib import Path
from boostne.cli.program import run
code = run(sys.argv[1:])
print(next(line.split()[1] for line in Path("/proc/self/status").open() if line.startswith("VmHWM")))
sys.exit(code)
"""


def run() -> None:
    """Measure both inputs for each size."""
    chosen = os.environ.get("CLIENT_MEMORY_NODES")
    rows: list[dict[str, Any]] = []
    for n in [int(n) for n in chosen.split(",")] if chosen else NODES:
        with tempfile.TemporaryDirectory() as folder:
            edges = Path(folder) / "edges.csv"
            boostne("generate", str(edges), "--nodes", str(n))
            parquet = write_parts(edges, Path(folder) / "edges")
            for reader, file in {"workers": parquet, "client": edges}.items():
                row = {"nodes": n, "reader": reader, "load_before": os.getloadavg()[0]}
                rows.append(row | measured(file, Path(folder) / f"by-{reader}"))
                show("so far", rows[-1:])
                save("client_memory", rows, workers=WORKERS, options=" ".join(OPTIONS), limit_MB=LIMIT_MB)
            check_same(*(Path(folder) / f"by-{reader}" for reader in ("workers", "client")))
    show("Memory of the client", rows)


def write_parts(edges: Path, folder: Path) -> Path:
    """Write the edges in a text file as Parquet files."""
    from pyarrow import csv, parquet

    table = csv.read_csv(edges)
    folder.mkdir()
    size = -(-len(table) // PARTS)
    for i in range(PARTS):
        parquet.write_table(table.slice(i * size, size), folder / f"part-{i}.parquet")
    return folder


def measured(edges: Path, parts: Path) -> dict[str, Any]:
    """Embed on a new cluster; returns time, and the peak memory of the client and of a worker."""
    from distributed import Client

    with Client(**cluster_options(WORKERS)) as client:
        client.wait_for_workers(WORKERS)
        arguments = ["embed", str(edges), "-o", f"{parts}/", *OPTIONS, "--quiet"]
        command = [sys.executable, "-c", CLIENT, *arguments, "--scheduler", client.scheduler.address]
        begin = time.perf_counter()
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        seconds = time.perf_counter() - begin
        worker_peak = max(client.run(peak_bytes).values())
    return {"client_peak_MB": 1024 * int(printed) / 1e6, "worker_peak_MB": worker_peak / 1e6, "total_s": seconds}


def check_same(*folders: Path) -> None:
    """Raise unless the parts in two folders have the same nodes and vectors."""
    from pyarrow import parquet

    first, second = (parquet.read_table(folder) for folder in folders)
    for name in first.column_names:
        np.testing.assert_array_equal(first[name].to_numpy(), second[name].to_numpy())
