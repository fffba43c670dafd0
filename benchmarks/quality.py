"""Both forms of X with the paper's window and protocol: one-vs-rest liblinear, C = 1, top-k rule, ten splits.

The vectors are neither propagated nor rescaled; ``python -m benchmarks default_setting`` scores the default setting.
"""

from benchmarks.common import save, show
from boostne import BoostNE, DeepWalkMatrix, evaluate, load_dataset

DATASETS = ("cora", "wiki", "ppi", "blogcatalog")
TRAIN = (10, 50, 90)


def run() -> None:
    """Embed and score with both forms of X."""
    rows = []
    for name in DATASETS:
        data = load_dataset(name)
        for form in ("exact", "spectral"):
            matrix = DeepWalkMatrix(window=10, approximation=form)
            model = BoostNE.paper(connectivity=matrix).fit(data.graph)
            scores = evaluate(model.embedding_, data.labels, train=TRAIN)
            residual = model.residual_norms_[-1] / model.residual_norms_[0]
            row = {"dataset": name, "form": form, "residual": float(residual)}
            for metric in ("micro", "macro"):
                for ratio, value in zip(TRAIN, scores.mean(metric), strict=True):
                    row[f"{metric} {ratio}%"] = float(value)
            for ratio, spread in zip(TRAIN, scores.std("micro"), strict=True):
                row[f"± {ratio}%"] = float(spread) / scores.repeats**0.5
            rows.append(row)
            show("so far", rows[-1:])
    show("Residual after eight levels, and F1: mean of ten splits, ± the standard error of Micro-F1", rows)
    save("quality", rows)
