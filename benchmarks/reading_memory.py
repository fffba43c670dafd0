"""Peak memory of reading files under a memory limit: within the limit, or refused before it is exceeded."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
from scipy import sparse
from scipy.io import mmwrite, savemat

from benchmarks.common import save, show
from boostne.memory import parse_bytes

LIMITS = ("200MB", "300MB", "500MB", "1GB", "2GB")
MORE_LIMITS = {
    "edges.txt": ("850MB", "950MB"),
    "numbers.parquet": ("270MB", "290MB"),
    "text.parquet": ("600MB", "700MB"),
    "edges.txt.gz": ("250MB", "400MB"),
}
EDGES = 2_000_000
MANY_EDGES = 20_000_000

# Run in a new process, whose peak includes the interpreter and the libraries. The parser of MATLAB files is a child,
# whose memory is added. (ru_maxrss would include that of the process that starts another one.)
READ = """
import json, sys, threading
from pathlib import Path
from boostne.errors import MemoryLimitError
from boostne.io import read_graph, read_labels

def resident(pid):
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

def sample():
    children = Path(f"/proc/self/task/{threading.main_thread().native_id}/children")
    while not done.wait(0.002):
        found = children.read_text().split()
        if found:
            peaks.append(sum(map(resident, ["self", *found])))

path, limit = sys.argv[1:]
peaks, done = [0], threading.Event()
thread = threading.Thread(target=sample)
base = peak()
thread.start()
read = read_labels if "labels" in path else read_graph
try:
    outcome = repr(read(path, memory_limit=limit))
except MemoryLimitError as error:
    outcome = str(error)
done.set()
thread.join()
print(json.dumps({"outcome": outcome, "base": base, "peak": max(peak(), *peaks)}))
"""


def run() -> None:
    """Read each file with each limit, in a separate process."""
    rows = []
    with TemporaryDirectory() as folder:
        for name, write in FILES.items():
            path = Path(folder) / name
            write(path)
            rows += [measure(path, limit) for limit in (*LIMITS, *MORE_LIMITS.get(name, ()))]
            path.unlink()
    show("Peak memory of the whole process while reading, and its limit", rows)
    save("reading_memory", rows, within_or_refused=sum(row["kept"] for row in rows), cases=len(rows))


def measure(path: Path, limit: str) -> dict[str, Any]:
    """Read a file with a limit; the limit is kept if the peak, refused or not, is below it."""
    command = [sys.executable, "-c", READ, str(path), limit]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    bound = parse_bytes("limit", limit)
    refused = "memory" in result["outcome"]
    return {
        "file": path.name,
        "file_MB": path.stat().st_size / 1e6,
        "limit_MB": bound / 1e6,
        "before_MB": result["base"] / 1e6,
        "outcome": "refused" if refused else "read",
        "peak_MB": result["peak"] / 1e6,
        "kept": result["peak"] <= bound,
        "message": result["outcome"].replace(str(path.parent), ""),
    }


def random_ends(n_edges: int, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of random edges."""
    random = np.random.default_rng(0)
    return random.integers(0, n_nodes, n_edges), random.integers(0, n_nodes, n_edges)


def random_matrix() -> sparse.csc_array:
    """Return a symmetric matrix with two entries per edge."""
    ends = random_ends(EDGES, EDGES // 10)
    matrix = sparse.coo_array((np.ones(EDGES), ends), shape=(EDGES // 10, EDGES // 10)).tocsc()
    return sparse.csc_array(matrix + matrix.T)


def random_network(n_edges: int) -> nx.Graph:
    """Return a random graph."""
    return nx.gnm_random_graph(n_edges // 5, n_edges, seed=0)


def write_text(path: Path, n_edges: int, delimiter: str, prefix: str = "", weighted: bool = False) -> None:
    """Write random edges, one per line."""
    options = arrow_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    with pa.OSFile(str(path), "wb") as stream:
        for start in range(0, n_edges, EDGES):
            ends = random_ends(min(EDGES, n_edges - start), n_edges // 10)
            columns = [np.char.add(prefix, end.astype(str)) if prefix else end for end in ends]
            columns += [np.random.default_rng(1).random(len(ends[0]))] if weighted else []
            arrow_csv.write_csv(pa.table(columns, names=["u", "v", "w"][: len(columns)]), stream, options)


def write_compressed(path: Path, lines: Callable[[], bytes], repeats: int) -> None:
    """Write the same lines several times, compressed."""
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(repeats):
            stream.write(lines())


def write_adjacency(path: Path) -> None:
    """Write a node and ten neighbors per line."""
    u, v = random_ends(EDGES, EDGES // 10)
    with path.open("w") as stream:
        for node, neighbors in zip(u[::10], v.reshape(-1, 10), strict=True):
            print(node, *neighbors, file=stream)


def write_archive_bomb(path: Path) -> None:
    """Write a matrix of a few hundred kilobytes that unpacks to 450 MB."""
    zeros = np.zeros(150_000_000, dtype=np.int8)
    np.savez_compressed(path, format=b"coo", shape=np.array([2, 2]), data=zeros, row=zeros, col=zeros)


def write_table(path: Path, prefix: str) -> None:
    """Write edges as a Parquet table."""
    columns = [end.astype(str) if prefix else end for end in random_ends(EDGES, EDGES // 10)]
    pq.write_table(pa.table({"source": columns[0], "target": columns[1]}), path)


def write_distinct(path: Path, factor: int) -> None:
    """Write edges without a common node, whose ids are multiples of a factor."""
    u, v = factor * np.arange(4 * EDGES).reshape(2, 2 * EDGES)
    table = pa.table({"source": u, "target": v})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        arrow_csv.write_csv(table, path, arrow_csv.WriteOptions(include_header=False, delimiter=" "))


def random_lines() -> bytes:
    """Return 100,000 lines of text."""
    u, v = random_ends(100_000, EDGES // 10)
    return "".join(f"{i} {j}\n" for i, j in zip(u, v, strict=True)).encode()


EMPTY_NODES = "%%MatrixMarket matrix coordinate pattern general\n20000000 20000000 1\n1 2\n"
FILES: dict[str, Callable[[Path], None]] = {
    "edges.txt": lambda path: write_text(path, MANY_EDGES, " "),
    "text-ids.csv": lambda path: write_text(path, EDGES, ",", "user", weighted=True),
    "distinct-ids.csv": lambda path: write_text(path, EDGES // 4, ",", "a-distinct-id-" * 4),
    "edges.txt.gz": lambda path: write_compressed(path, random_lines, EDGES // 100_000),
    "bomb.txt.gz": lambda path: write_compressed(path, lambda: b"1 2\n" * 1_000_000, 250),
    "one-line.txt.gz": lambda path: write_compressed(path, lambda: b"1" * 4_000_000, 250),
    "lists.adjlist": write_adjacency,
    "matrix.mtx": lambda path: mmwrite(path, random_matrix(), symmetry="general"),
    "empty-nodes.mtx": lambda path: path.write_text(EMPTY_NODES),
    "matrix.npz": lambda path: sparse.save_npz(path, random_matrix(), compressed=True),
    "bomb.npz": write_archive_bomb,
    "matrix.mat": lambda path: savemat(path, {"A": random_matrix()}),
    "bomb.mat": lambda path: savemat(path, {"A": np.zeros((8000, 8000))}, do_compression=True),
    "numbers.parquet": lambda path: write_table(path, ""),
    "text.parquet": lambda path: write_table(path, "user"),
    "wide-ids.txt": lambda path: write_distinct(path, 2**40),
    "matching.parquet": lambda path: write_distinct(path, 1),
    "network.graphml": lambda path: nx.write_graphml_xml(random_network(EDGES // 10), path),
    "network.gml": lambda path: nx.write_gml(random_network(EDGES // 20), path),
    "labels.txt": lambda path: write_text(path, EDGES, " "),
}
