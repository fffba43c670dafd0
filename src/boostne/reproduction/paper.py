"""The values of the paper's tables III to VI: 4 networks × 7 methods × 2 metrics × 9 training ratios."""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

# The paper's names of the methods, in its order, and the estimators that implement them.
METHODS = {
    "Spectral Clustering": "SpectralClustering",
    "Social Dimension": "SocialDimension",
    "GraRep": "GraRep",
    "Deepwalk": "DeepWalk",
    "LINE": "LINE",
    "NetMF": "NetMF",
    "BoostNE": "BoostNE",
}


class PaperCell(NamedTuple):
    """A cell of the paper's tables.

    Attributes
    ----------
    dataset : str
    method : str
        Class name of the estimator.
    metric : str
        "micro-f1" or "macro-f1".
    train_percent : int
    """

    dataset: str
    method: str
    metric: str
    train_percent: int


@cache
def paper_values() -> dict[PaperCell, float]:
    """Return the 504 values of the paper.

    Examples
    --------
    >>> paper_values()[PaperCell("cora", "BoostNE", "micro-f1", 10)]
    0.7824
    """
    with files("boostne.reproduction").joinpath("paper.csv").open(encoding="utf-8") as stream:
        return {
            PaperCell(row["dataset"], METHODS[row["method"]], row["metric"], int(row["train_percent"])): float(
                row["value"]
            )
            for row in csv.DictReader(stream)
        }
