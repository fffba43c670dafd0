"""Our baselines compared with the paper's: difference of Micro-F1, averaged over training percentages.

Reads ``results/scores.csv``, which ``boostne reproduce`` writes.
"""

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.common import save, show

SCORES = Path(__file__).parents[1] / "results" / "scores.csv"
TOLERANCE = -0.015  # a baseline further below the paper is considered a defect


def run() -> None:
    """Show the table and mark baselines that are too weak."""
    if not SCORES.is_file():
        print(f"baselines: no {SCORES}; run `boostne reproduce -o {SCORES.parent}` first")
        return
    with SCORES.open(newline="") as file:
        rows = differences(list(csv.DictReader(file)))
    if not rows:
        print(f"baselines: {SCORES} contains no Micro-F1 that the paper reports")
        return
    show(f"Micro-F1 minus the paper's, mean over training percentages (! is below {TOLERANCE})", rows)
    save("baselines", rows, tolerance=TOLERANCE)


def differences(scores: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return the mean differences, marked if too low: one row per method and setting, one column per data set."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        if score["metric"].startswith("micro") and score["difference"]:
            method = " ".join(filter(None, (score["method"], score["setting"])))
            found[method][score["dataset"]].append(float(score["difference"]))
    datasets = sorted({dataset for by_dataset in found.values() for dataset in by_dataset})
    return [
        {"method": method, **{dataset: _cell(by_dataset.get(dataset, [])) for dataset in datasets}}
        for method, by_dataset in found.items()
    ]


def _cell(values: list[float]) -> str:
    if not values:
        return ""
    mean = sum(values) / len(values)
    return f"{mean:+.3f}{' !' if mean < TOLERANCE else ''}"
