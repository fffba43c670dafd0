"""All matrix methods on blogcatalog at d = 128: time, and peak memory beyond the graph.

Compared with scikit-network's Spectral and SVD at the same d.
"""

import time
from collections.abc import Callable
from typing import Any

from benchmarks.common import dataset_graph, peak_memory, save, show
from boostne import DeepWalkMatrix
from boostne.models import METHODS

DATASET, DIMENSIONS = "blogcatalog", 128
# Label, method, parameters.
OURS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("spectral-clustering", "spectral-clustering", {}),
    ("social-dimension", "social-dimension", {}),
    ("graph-factorization", "graph-factorization", {}),
    ("grarep", "grarep", {}),
    ("hope", "hope", {}),
    ("netmf nmf", "netmf", {"factorization": "nmf"}),
    ("netmf svd", "netmf", {"factorization": "svd"}),
    ("boostne", "boostne", {}),
    ("boostne spectral", "boostne", {"connectivity": DeepWalkMatrix(window=10, approximation="spectral")}),
)
PEERS = ("Spectral", "SVD")


def run() -> None:
    """Fit each in a separate process."""
    rows = []
    for label, name, options in OURS:
        peak, seconds = peak_memory(our_fit, name, options)
        rows.append(_row(label, seconds, peak))
    for name in PEERS:
        peak, seconds = peak_memory(peer_fit, name)
        rows.append(_row(f"scikit-network {name}", seconds, peak))
    show(f"Matrix methods on {DATASET}, d = {DIMENSIONS}", rows)
    save("methods", rows, dataset=DATASET, dimensions=DIMENSIONS)


def _row(method: str, seconds: float, peak: int) -> dict[str, Any]:
    row = {"method": method, "seconds": seconds, "peak_MB": peak / 1e6}
    show("so far", [row])
    return row


def our_fit(name: str, options: dict[str, Any]) -> Callable[[], float]:
    """Return a function that fits one of our methods and returns the seconds."""
    graph = dataset_graph(DATASET)
    return lambda: _seconds(lambda: METHODS[name](DIMENSIONS, **options).fit(graph))


def peer_fit(name: str) -> Callable[[], float]:
    """Return the same for an embedding of scikit-network."""
    from scipy import sparse
    from sknetwork import embedding

    adjacency = sparse.csr_matrix(dataset_graph(DATASET).adjacency)
    return lambda: _seconds(lambda: getattr(embedding, name)(DIMENSIONS).fit(adjacency))


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
