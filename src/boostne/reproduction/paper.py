"""The figures of the paper: tables III to VI, 4 networks × 7 methods × 2 metrics × 9 ratios."""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

# The paper's names of the methods, in its order, and the classes here that do the same.
METHODS = {
    "Spectral Clustering": "SpectralClustering",
    "Social Dimension": "SocialDimension",
    "GraRep": "GraRep",
    "Deepwalk": "DeepWalk",
    "LINE": "LINE",
    "NetMF": "NetMF",
    "BoostNE": "BoostNE",
}
DATASETS = ("cora", "wiki", "ppi", "blogcatalog")


class Cell(NamedTuple):
    """Where a figure stands in the paper's tables.

    Attributes
    ----------
    dataset : str
    method : str
        Name of the class here.
    metric : str
        "micro-f1" or "macro-f1".
    train_percent : int
    """

    dataset: str
    method: str
    metric: str
    train_percent: int


@cache
def paper_values() -> dict[Cell, float]:
    """Return the 504 figures of the paper.

    Examples
    --------
    >>> paper_values()[Cell("cora", "BoostNE", "micro-f1", 10)]
    0.7824
    """
    with files("boostne.reproduction").joinpath("paper.csv").open(encoding="utf-8") as stream:
        return {
            Cell(row["dataset"], METHODS[row["method"]], row["metric"], int(row["train_percent"])): float(
                row["value"]
            )
            for row in csv.DictReader(stream)
        }
