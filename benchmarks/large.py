"""A million to ten million nodes, from a text file to saved vectors by ``boostne embed``, with the default setting.

Each graph is a planted partition with mean degree 10. Time is wall and CPU time of the whole process, memory the peak
of its resident set; accuracy is that of a classifier trained on 5,000 nodes. ``LARGE_NODES=1000000,2500000`` selects
the sizes, and ``LARGE_FOLDER`` a folder for graphs, checkpoints and vectors, in which a run that was interrupted
resumes (25 GB at ten million nodes). Rows of the results that were measured on a quiet machine are not measured
again.
"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, save, show
from benchmarks.scale import accuracy, stored

NODES = (100_000, 1_000_000, 2_500_000, 10_000_000)
NAME = "large"
EXPONENT_FROM = 100_000
QUIET_LOAD = 1.0  # rows that were measured under a higher load are measured again


def run() -> None:
    """Measure the sizes that are not in the results yet, and fit the growth of time."""
    chosen = os.environ.get("LARGE_NODES")
    sizes = [int(n) for n in chosen.split(",")] if chosen else NODES
    rows = earlier_rows()
    for n in sizes:
        if n in {row["nodes"] for row in rows if row["load_before"] < QUIET_LOAD}:
            continue
        rows = [row for row in rows if row["nodes"] != n]
        with working_folder() as folder:
            rows.append({"nodes": n, "load_before": os.getloadavg()[0], **measured(n, Path(folder) / f"planted-{n}")})
        rows.sort(key=lambda row: row["nodes"])
        save(NAME, rows, exponents=exponents(rows))
    show("From a text file to saved vectors, default setting", rows)


def earlier_rows() -> list[dict[str, Any]]:
    """Return the rows of the results, without any if there are none."""
    path = RESULTS / f"{NAME}.json"
    return list(json.loads(path.read_text())["rows"]) if path.exists() else []


def working_folder() -> AbstractContextManager[str]:
    """Return a context manager for the folder of graphs and vectors; one that was given is kept."""
    given = os.environ.get("LARGE_FOLDER")
    if given is None:
        return tempfile.TemporaryDirectory()
    Path(given).mkdir(parents=True, exist_ok=True)
    return nullcontext(given)


def measured(n: int, folder: Path) -> dict[str, Any]:
    """Generate a graph unless it is there, embed it, and score the vectors."""
    folder.mkdir(exist_ok=True)
    edges, labels, vectors = folder / "edges.csv", folder / "labels.csv", folder / "vectors.npz"
    if not labels.exists():  # written last
        boostne("generate", str(edges), "--labels", str(labels), "--nodes", str(n))
    checkpoint = ["--checkpoint", str(folder / "levels")] if "LARGE_FOLDER" in os.environ else []
    usage = boostne("embed", str(edges), "-o", str(vectors), *checkpoint)
    return {**usage, "accuracy": accuracy(*stored(folder))}


def boostne(*arguments: str) -> dict[str, float]:
    """Run a command of boostne in a process of its own; return its time and peak memory."""
    return measured_process("-m", "boostne", *arguments)


# A small process of its own: the peak of a new process includes the memory of the one that starts it.
LAUNCHER = """
import json, os, sys, time
begin = time.perf_counter()
process = os.posix_spawn(sys.executable, sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
_, status, usage = os.wait4(process, 0)
print(json.dumps({
    "code": os.waitstatus_to_exitcode(status),
    "total_s": time.perf_counter() - begin,
    "cpu_s": usage.ru_utime + usage.ru_stime,
    "peak_GB": usage.ru_maxrss * 1024 / 1e9,
}))
"""


def measured_process(*arguments: str) -> dict[str, float]:
    """Run Python with some arguments; return the time and the peak memory of the process."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, sys.executable, *arguments]
    done = subprocess.run(launcher, check=True, stdout=subprocess.PIPE, text=True)
    usage: dict[str, float] = json.loads(done.stdout)
    code = usage.pop("code")
    if code:
        raise RuntimeError(f"{' '.join(arguments)} ended with {code}; an embedding is resumed by the same benchmark")
    return usage


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the exponents of the growth of wall and CPU time with the number of nodes."""
    points = [row for row in rows if row["nodes"] >= EXPONENT_FROM]
    if len(points) < 2:
        return {}
    nodes = np.log([row["nodes"] for row in points])
    return {
        name: float(np.polyfit(nodes, np.log([row[name] for row in points]), 1)[0]) for name in ("total_s", "cpu_s")
    }
