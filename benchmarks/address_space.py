"""``boostne embed`` under limits of the address space (``ulimit -v``): it must finish, or exit with 3 and one line."""

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product, repeat
from pathlib import Path
from typing import Any

from benchmarks.common import save, show

STEPS = 60
LOWEST, HIGHEST = 200_000_000, 2_000_000_000
TIMEOUT = 120  # seconds
JOBS = 4  # runs at a time
OK, MEMORY = 0, 3
COMMANDS = {  # graph, suffix of the output, options
    "digits": ("digits", ".npz", []),
    "digits, spectral": ("digits", ".csv", ["--approximation", "spectral", "--threads", "16"]),
    "ppi": ("ppi", ".npz", ["--threads", "16"]),
    "edge list, deepwalk": ("edges.csv", ".parquet", ["--method", "deepwalk", "--walks", "1", "--threads", "16"]),
}


def run() -> None:
    """Run every command under every limit, and fail if one ends in another way."""
    limits = [LOWEST + (HIGHEST - LOWEST) * step // (STEPS - 1) for step in range(STEPS)]
    with tempfile.TemporaryDirectory() as folder:
        generate = ["generate", "edges.csv", "--nodes", "2000", "--quiet"]
        subprocess.run([sys.executable, "-m", "boostne", *generate], cwd=folder, check=True)
        with ThreadPoolExecutor(JOBS) as pool:
            rows = list(pool.map(embed, *zip(*product(COMMANDS, limits), strict=True), repeat(Path(folder))))
    show("boostne embed under a limited address space", [summary(name, rows) for name in COMMANDS])
    save("address_space", rows, commands=COMMANDS)
    wrong = [row for row in rows if not row["as_expected"]]
    if wrong:
        sys.exit(f"{len(wrong)} runs neither finished nor exited with {MEMORY} and one line: {wrong}")


def embed(name: str, limit: int, folder: Path) -> dict[str, Any]:
    """Run one command in a folder and describe how it ended."""
    graph, suffix, options = COMMANDS[name]
    command = [sys.executable, "-m", "boostne", "embed", graph, "-o", f"{graph}-{limit}{suffix}", *options, "--quiet"]
    begin = time.perf_counter()
    try:
        ended = subprocess.run(
            ["sh", "-c", 'ulimit -v "$0" && exec "$@"', str(limit // 1024), *command],
            cwd=folder,
            timeout=TIMEOUT,
            capture_output=True,
            text=True,
            check=False,
        )
        code, lines = ended.returncode, ended.stderr.splitlines()
    except subprocess.TimeoutExpired:
        code, lines = None, []
    one_error = len(lines) == 1 and lines[0].startswith("boostne: error: ")
    return {
        "command": name,
        "limit_mb": limit // 10**6,
        "exit_code": code,
        "as_expected": (code == OK and not lines) or (code == MEMORY and one_error),
        "stderr": lines,
        "seconds": time.perf_counter() - begin,
    }


def summary(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count how the runs of one command ended."""
    own = [row for row in rows if row["command"] == name]
    finished = [row["limit_mb"] for row in own if row["exit_code"] == OK]
    return {
        "command": name,
        "finished": len(finished),
        "smallest_sufficient_mb": min(finished, default=float("nan")),
        "exit_3_with_one_line": sum(row["as_expected"] and row["exit_code"] == MEMORY for row in own),
        "other": sum(not row["as_expected"] for row in own),
    }
