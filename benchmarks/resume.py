"""Runs killed at a random time and resumed: whether they give the same bits as an uninterrupted run."""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import save, show
from boostne import read_embedding

KILLS = 10
GRAPH = "blogcatalog"
LEVELS = 8


def run() -> None:
    """Kill and resume ten runs, each once."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        duration, expected = uninterrupted(Path(folder) / "uninterrupted.npz")
        rows = [killed(Path(folder) / str(i), rng.uniform(0, duration), expected) for i in range(KILLS)]
    show(f"{GRAPH}: killed once and resumed (uninterrupted run: {duration:.1f} s)", rows)
    save("resume", rows, graph=GRAPH, uninterrupted_s=duration)


def uninterrupted(output: Path) -> tuple[float, np.ndarray]:
    """Return the seconds and the vectors of an uninterrupted run."""
    begin = time.perf_counter()
    subprocess.run(command(output), check=True)
    return time.perf_counter() - begin, read_embedding(output).vectors


def killed(folder: Path, after: float, expected: np.ndarray) -> dict[str, Any]:
    """Kill a run after some seconds, resume it, and compare."""
    checkpoint, output = folder / "checkpoint", folder / "vectors.npz"
    folder.mkdir()
    process = subprocess.Popen([*command(output), "--checkpoint", str(checkpoint)])
    time.sleep(after)
    process.kill()
    process.wait()
    files = {path: path.stat().st_mtime_ns for path in checkpoint.glob("level-*.npz")}
    begin = time.perf_counter()
    subprocess.run([*command(output), "--checkpoint", str(checkpoint)], check=True)
    return {
        "killed_after_s": after,
        "levels_stored": len(files),
        "recomputed": sum(path.stat().st_mtime_ns != when for path, when in files.items()),
        "seconds_to_finish": time.perf_counter() - begin,
        "same_bits": str(np.array_equal(read_embedding(output).vectors, expected)),
    }


def command(output: Path) -> list[str]:
    """Return the command line of a run."""
    return [
        *(sys.executable, "-m", "boostne", "embed", GRAPH, "-o", str(output)),
        *("--levels", str(LEVELS), "--quiet"),
    ]
