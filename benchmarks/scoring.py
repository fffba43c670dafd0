"""Node classification with both classifiers: time of the paper's protocol, and differences of their F1 scores.

The vectors are BoostNE's and, as a harder problem, those of SpectralClustering, whose entries are multiplied by √n. The
fast classifier is timed on blogcatalog with all nine ratios and ten splits. Both are timed and compared on fewer
splits of every network.
"""

import numpy as np

from benchmarks.common import save, show, timed
from boostne import BoostNE, Embedding, SpectralClustering, evaluate, load_dataset
from boostne.datasets import Dataset

DATASETS = ("cora", "wiki", "ppi", "blogcatalog")
TIMED = "blogcatalog"
MODELS = {"BoostNE": BoostNE, "SpectralClustering": SpectralClustering}
TRAIN = (10, 50, 90)  # ratios at which both classifiers are compared
REPEATS = 2


def run() -> None:
    """Time and compare the classifiers on the vectors of both methods."""
    rows = []
    for name in DATASETS:
        data = load_dataset(name)
        for method, model in MODELS.items():
            embedding = model().fit(data.graph).embedding_
            rows.append({"dataset": name, "vectors": method, **compared(embedding, data)})
            show("so far", rows[-1:])
    show("Seconds of both classifiers on the same splits, and the largest difference of F1", rows)
    save("scoring", rows, train=TRAIN, repeats=REPEATS)


def compared(embedding: Embedding, data: Dataset) -> dict[str, float]:
    """Return the seconds of both classifiers on some splits, the differences of F1, and the time of all splits."""
    options = {"train": TRAIN, "repeats": REPEATS}
    seconds, results = {}, {}
    for classifier in ("liblinear", "fast"):
        seconds[classifier], results[classifier] = timed(
            lambda name=classifier: evaluate(embedding, data.labels, classifier=name, **options)
        )
    differences = {
        metric: float(np.abs(results["fast"].scores[metric] - results["liblinear"].scores[metric]).max())
        for metric in ("micro", "macro")
    }
    everything = float("nan")
    if data.name == TIMED:
        everything, _ = timed(lambda: evaluate(embedding, data.labels, classifier="fast"))
    return {
        "liblinear_s": seconds["liblinear"],
        "fast_s": seconds["fast"],
        "ratio": seconds["liblinear"] / seconds["fast"],
        "max_micro_difference": differences["micro"],
        "max_macro_difference": differences["macro"],
        "fast_90_splits_s": everything,
    }
