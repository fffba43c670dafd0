"""Multi-level network embedding: vectors for the nodes of a graph, from coarse to fine.

Names are loaded when first used, so ``import boostne`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boostne.datasets import load_dataset as load_dataset
    from boostne.embedding import Embedding as Embedding
    from boostne.evaluation import evaluate as evaluate
    from boostne.graph import Graph as Graph
    from boostne.io import read_embedding as read_embedding
    from boostne.io import read_graph as read_graph
    from boostne.io import read_labels as read_labels
    from boostne.labels import Labels as Labels
    from boostne.models import BoostNE as BoostNE

_HOME = {
    "BoostNE": "boostne.models",
    "Embedding": "boostne.embedding",
    "Graph": "boostne.graph",
    "Labels": "boostne.labels",
    "as_graph": "boostne.convert",
    "as_labels": "boostne.labels",
    "evaluate": "boostne.evaluation",
    "load_dataset": "boostne.datasets",
    "read_embedding": "boostne.io",
    "read_graph": "boostne.io",
    "read_labels": "boostne.io",
}

__all__ = [  # noqa: PLE0604  the names are strings, those of _HOME
    "__version__",
    *_HOME,
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("boostne")
        except PackageNotFoundError:  # run from its sources, without being installed
            return "0 (not installed)"
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'boostne' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
