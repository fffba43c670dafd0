"""Shared by all benchmarks: description of the machine, timing, peak memory in a separate process, JSON output."""

import ctypes
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from boostne import BoostNE, DeepWalkMatrix, Graph, load_dataset, planted_partition
from boostne.kernels import available_threads, instruction_set
from boostne.reproduction.environment import processor

RESULTS = Path(__file__).parent / "results"
SHARED_DATA = Path(__file__).parents[2] / "shared" / "datasets"


def find_data() -> None:
    """If BOOSTNE_DATA is not set, set it to a folder next to the checkout, if that exists; else data are downloaded."""
    if "BOOSTNE_DATA" not in os.environ and SHARED_DATA.is_dir():
        os.environ["BOOSTNE_DATA"] = str(SHARED_DATA)


def machine() -> dict[str, Any]:
    """Describe the machine of the measurements."""
    return {
        "processor": processor(),
        "cores": available_threads(),
        "instruction_set": instruction_set(),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        **{name: version(name) for name in ("boostne", "numpy", "scipy", "scikit-learn")},
    }


def save(name: str, rows: list[dict[str, Any]], **facts: Any) -> None:
    """Write a benchmark's raw numbers to ``benchmarks/results``."""
    RESULTS.mkdir(exist_ok=True)
    # JSON has no NaN: missing measurements are null.
    plain = [{key: None if is_nan(value) else value for key, value in row.items()} for row in rows]
    content = {"benchmark": name, "machine": machine(), **facts, "rows": plain}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def is_nan(value: Any) -> bool:
    """Whether a measurement is missing."""
    return isinstance(value, float) and np.isnan(value)


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in rows[0]:
        table.add_column(column.replace("_", " "), justify="left" if isinstance(rows[0][column], str) else "right")
    for row in rows:
        table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def timed(function: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the median time of some calls in seconds, and the last result."""
    seconds, result = [], None
    for _ in range(repeats):
        begin = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds)), result


def peak_memory(function: Callable[..., Any], *arguments: Any) -> tuple[int, Any]:
    """Measure peak memory in a new process, beyond what it holds before.

    ``function(*arguments)`` prepares the measurement and returns the function to measure, without arguments.
    Returns the peak in bytes and the result of that function.
    """
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_measure, args=(queue, function, arguments))
    process.start()
    peak, result = queue.get()
    process.join()
    return peak, result


def _measure(queue: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    prepared = function(*arguments)
    # glibc retains memory freed during preparation, which would hide later allocations.
    ctypes.CDLL(None).malloc_trim(0)
    before = reset_peak()
    result = prepared()
    queue.put((peak_bytes() - before, result))


def reset_peak() -> int:
    """Reset the peak memory of this process to what it holds now, in bytes, and return it."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_bytes()


def peak_bytes() -> int:
    """Return the peak resident memory of this process in bytes."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def dataset_graph(name: str) -> Graph:
    """Return the graph of a data set."""
    return load_dataset(name).graph


def load_graph(name: str | int) -> Graph:
    """Return the graph of a data set, or generate one with the given number of nodes."""
    return planted_partition(name).graph if isinstance(name, int) else dataset_graph(name)


def exact_matrix(name: str) -> sparse.csr_array:
    """Return the exact connectivity matrix of a data set at the paper's settings."""
    return BoostNE(connectivity=DeepWalkMatrix(window=10, approximation="exact")).connectivity_matrix(
        dataset_graph(name)
    )
