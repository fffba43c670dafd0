"""Learned level weights against uniform ones: node classification, C = 1, top-k rule, ten splits.

The weights of each split are learned from its training nodes.
"""

from functools import partial
from typing import Any

from benchmarks.common import save, show, timed
from benchmarks.quality import DATASETS, TRAIN
from boostne import BoostNE, evaluate, load_dataset


def run() -> None:
    """Embed each data set with the default settings, and score it with both kinds of weights."""
    rows = []
    for name in DATASETS:
        rows += compare_weights(name)
        show("so far", rows[-2 * len(TRAIN) :])
    show("F1 with learned level weights: mean of ten splits, gain over uniform weights ± its standard error", rows)
    save("level_weights", rows)


def compare_weights(name: str) -> list[dict[str, Any]]:
    """Return one row per ratio and kind of weights."""
    data = load_dataset(name)
    embedding = BoostNE(random_state=0).fit(data.graph).embedding_
    found, seconds = {}, {}
    for kind in ("uniform", "learned"):
        score = partial(evaluate, embedding, data.labels, train=TRAIN, classifier="fast")
        seconds[kind], found[kind] = timed(partial(score, level_weights=kind == "learned"))
    rows = []
    for i, ratio in enumerate(TRAIN):
        for kind, result in found.items():
            row = {"dataset": name, "train": ratio, "weights": kind, "seconds, all ratios": seconds[kind]}
            row["by level"] = ""
            for metric in ("micro", "macro"):
                gains = (result.scores[metric] - found["uniform"].scores[metric]).reshape(len(TRAIN), -1)[i]
                row[metric] = float(result.mean(metric)[i])
                row[f"{metric} gain"] = float(gains.mean())
                row[f"± {metric}"] = float(gains.std(ddof=1) / len(gains) ** 0.5)
            if kind == "learned":
                row["by level"] = " ".join(f"{weight:.2f}" for weight in result.mean_level_weights()[i])
            rows.append(row)
    return rows
