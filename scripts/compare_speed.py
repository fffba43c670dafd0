"""Time the parts of a fit for ``scripts/compare-with REV --speed N``.

``measure FILE`` runs one fit of each case with the installed boostne and appends its seconds and peak memory to a file
of JSON lines; ``compare FILE FILE`` prints the best of all runs of both revisions, and their ratio.
"""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

KILOBYTE, MEGABYTE = 1024, 1e6


def measure(path: Path) -> None:
    """Append one measurement of each case; the first also times the import."""
    begin = time.perf_counter()
    import boostne

    estimator = boostne.BoostNE
    results: dict[str, float] = {"import seconds": time.perf_counter() - begin}
    del estimator
    from compare_cases import make_model, partition_graph

    graphs = {
        "exact 6,000": (("deepwalk", {"approximation": "exact"}), partition_graph(6000, 20, 30, weighted=False)),
        "push 140,000": (
            ("deepwalk", {"approximation": "push", "max_per_row": 60}),
            partition_graph(140_000, 50, 8, weighted=False),
        ),
    }
    for name, (matrix, adjacency) in graphs.items():
        results |= {f"{name}: {key}": value for key, value in fit_times(make_model, matrix, adjacency).items()}
    results["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTE / MEGABYTE
    with path.open("a") as file:
        file.write(json.dumps(results) + "\n")


def fit_times(make_model: Any, matrix: Any, adjacency: Any) -> dict[str, float]:
    """Return the seconds of X, of the levels, of a pass and of the whole fit."""
    from boostne import as_graph

    graph = as_graph(adjacency)
    model = make_model(matrix, dimensions=128, levels=8)
    levels_begin = None

    def progress(event: Any) -> None:
        nonlocal levels_begin
        if event.stage == "levels" and levels_begin is None:
            levels_begin = time.perf_counter()

    begin = time.perf_counter()
    model.fit(graph, progress=progress)
    end = time.perf_counter()
    levels_begin = levels_begin or begin
    return {
        "X": levels_begin - begin,
        "levels": end - levels_begin,
        "pass": (end - levels_begin) / int(model.n_iter_.sum()),
        "fit": end - begin,
    }


def compare(this: Path, other: Path) -> None:
    """Print the best of all runs of both revisions, and their ratio."""
    runs = [[json.loads(line) for line in path.read_text().splitlines()] for path in (this, other)]
    sys.stdout.write(f"best of {len(runs[0])} alternating runs\n{'':28}{'this':>10}{'other':>10}{'ratio':>8}\n")
    for name in runs[0][0]:
        best = [min(run[name] for run in one) for one in runs]
        sys.stdout.write(f"{name:28}{best[0]:10.4g}{best[1]:10.4g}{best[0] / best[1]:8.3f}\n")


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    {"measure": measure, "compare": compare}[command](*map(Path, paths))
