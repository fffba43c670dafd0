"""The default setting: scores on the data sets, and how far it is from the best of other settings on generated graphs.

Node classification, one-vs-rest logistic regression with C = 1, top-k rule. The windows of the rule were chosen with
the data sets and with similar generated graphs in view; see docs/method.md.
"""

from typing import Any

from benchmarks.common import save, show, timed
from benchmarks.graph_kinds import KINDS, generate
from benchmarks.quality import DATASETS
from boostne import BoostNE, DeepWalkMatrix, evaluate, load_dataset
from boostne.datasets import Dataset

TRAIN = (1, 2, 5, 10, 50, 90)
GENERATED_NODES, GENERATED_TRAIN, GENERATED_SPLITS, SEED = 4000, (5, 20, 80), 3, 100
OTHERS: dict[str, dict[str, Any]] = {
    **{f"window {window}": {"window": window} for window in (1, 2, 5, 10, 15)},
    "spectral, window 5": {"connectivity": DeepWalkMatrix(window=5, approximation="spectral")},
    "not propagated": {"propagation": 0},
    "length 1.5": {"vector_length": 1.5},
    "length 4": {"vector_length": 4},
    "paper": {"connectivity": DeepWalkMatrix(window=10), "propagation": 0, "vector_length": 0},
}


def run() -> None:
    """Score the data sets, then the generated graphs."""
    rows = [score_dataset(name) for name in DATASETS]
    show("The default setting: mean F1 of ten splits, ± the standard error of Micro-F1", rows)
    generated = [compare_settings(kind) for kind in KINDS]
    show("Mean Micro-F1 over the ratios on generated graphs", generated)
    save("default_setting", rows, generated=generated, train=GENERATED_TRAIN, splits=GENERATED_SPLITS, seed=SEED)


def score_dataset(name: str) -> dict[str, Any]:
    """Return the scores of a data set."""
    data = load_dataset(name)
    seconds, model = timed(lambda: BoostNE().fit(data.graph))
    result = evaluate(model.embedding_, data.labels, train=TRAIN, classifier="fast")
    row = {"dataset": name, **model.settings_, "seconds": seconds}
    for metric in ("micro", "macro"):
        for ratio, value in zip(TRAIN, result.mean(metric), strict=True):
            row[f"{metric} {ratio}%"] = float(value)
    for ratio, spread in zip(TRAIN, result.std("micro"), strict=True):
        row[f"± {ratio}%"] = float(spread) / result.repeats**0.5
    show("so far", [row])
    return row


def compare_settings(kind: str) -> dict[str, Any]:
    """Return the score of the default on a generated graph, and the gain of each other setting over it."""
    data = generate(kind, GENERATED_NODES, seed=SEED)
    model = BoostNE().fit(data.graph)
    default = mean_score(data, model)
    row = {"kind": kind, "degree": 2 * data.graph.n_edges / data.graph.n_nodes, **model.settings_, "micro": default}
    for name, setting in OTHERS.items():
        row[f"gain, {name}"] = mean_score(data, BoostNE(**setting).fit(data.graph)) - default
    show("so far", [row])
    return row


def mean_score(data: Dataset, model: BoostNE) -> float:
    """Return the mean Micro-F1 over the ratios."""
    result = evaluate(model.embedding_, data.labels, train=GENERATED_TRAIN, repeats=GENERATED_SPLITS, classifier="fast")
    return float(result.mean("micro").mean())
