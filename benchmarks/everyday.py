"""Everyday latencies: import, demo, reading a million edges."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import save, show, timed
from boostne import read_graph

EDGES = 1_000_000
NODES = 200_000
REPEATS = 5


def run() -> None:
    """Time each as a user would experience it."""
    rows = [
        {"what": "import boostne, beyond numpy + scipy", "seconds": import_seconds()},
        {"what": "boostne --version", "seconds": command_seconds("--version")},
        {"what": "boostne demo", "seconds": demo_seconds()},
        {"what": "read 1 M edges, integer ids", "seconds": reading_seconds("{}")},
        {"what": "read 1 M edges, string ids", "seconds": reading_seconds("user-{}")},
    ]
    show("Everyday latencies", rows)
    save("everyday", rows)


def import_seconds() -> float:
    """Return the seconds of ``import boostne`` after numpy and scipy.sparse are imported."""
    code = (
        "import numpy, scipy, scipy.sparse, time; begin = time.perf_counter(); import boostne; "
        "print(time.perf_counter() - begin)"
    )
    runs = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(REPEATS)]
    return float(np.median(runs))


def command_seconds(*arguments: str) -> float:
    """Return the seconds of a boostne command."""
    command = [sys.executable, "-m", "boostne", *arguments]
    return timed(lambda: subprocess.run(command, check=True, capture_output=True), REPEATS)[0]


def demo_seconds() -> float:
    """Return the seconds of the demo, including its files."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "boostne", "demo", "-o", folder]
        return timed(lambda: subprocess.run(command, check=True, capture_output=True))[0]


def reading_seconds(pattern: str) -> float:
    """Return the seconds to read a Graph from a text file with random edges."""
    ends = np.random.default_rng(0).integers(NODES, size=(EDGES, 2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.txt"
        path.write_text("".join(f"{pattern.format(u)} {pattern.format(v)}\n" for u, v in ends.tolist()))
        return timed(lambda: read_graph(path), REPEATS)[0]
