"""A run killed at random moments and started again: whether it ends with the bits of one that was left alone."""

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
    """Kill ten runs, each once."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        whole, expected = left_alone(Path(folder) / "whole.npz")
        rows = [killed(Path(folder) / str(i), rng.uniform(0, whole), expected) for i in range(KILLS)]
    show(f"{GRAPH}: killed once, started again (whole run: {whole:.1f} s)", rows)
    save("resume", rows, graph=GRAPH, whole_s=whole)


def left_alone(output: Path) -> tuple[float, np.ndarray]:
    """Return the seconds and the vectors of a run that nobody disturbs."""
    begin = time.perf_counter()
    subprocess.run(command(output), check=True)
    return time.perf_counter() - begin, read_embedding(output).vectors


def killed(folder: Path, after: float, expected: np.ndarray) -> dict[str, Any]:
    """Kill a run after so many seconds, start it again, and compare."""
    kept, output = folder / "kept", folder / "vectors.npz"
    folder.mkdir()
    process = subprocess.Popen([*command(output), "--checkpoint", str(kept)])
    time.sleep(after)
    process.kill()
    process.wait()
    files = {path: path.stat().st_mtime_ns for path in kept.glob("level-*.npz")}
    begin = time.perf_counter()
    subprocess.run([*command(output), "--checkpoint", str(kept)], check=True)
    return {
        "killed_after_s": after,
        "levels_kept": len(files),
        "made_anew": sum(path.stat().st_mtime_ns != when for path, when in files.items()),
        "seconds_to_the_end": time.perf_counter() - begin,
        "same_bits": str(np.array_equal(read_embedding(output).vectors, expected)),
    }


def command(output: Path) -> list[str]:
    """Return what a user would type."""
    return [
        *(sys.executable, "-m", "boostne", "embed", GRAPH, "-o", str(output)),
        *("--levels", str(LEVELS), "--quiet"),
    ]
