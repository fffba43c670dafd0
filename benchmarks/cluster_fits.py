"""Whole fits on single-threaded Dask workers, compared with the local engine with as many threads, in one run.

Both use the default setting without propagation, which runs on the client, and alternate; the vectors must be equal.
"""

from typing import Any

import numpy as np

from benchmarks.cluster import cluster_options
from benchmarks.common import load_graph, save, show, timed
from boostne import BoostNE, Graph

GRAPHS: tuple[str | int, ...] = ("blogcatalog", 300_000, 1_000_000)
WORKERS = 2
REPEATS = {"blogcatalog": 5, "300000": 3, "1000000": 3}
FIT = {"propagation": 0, "vector_length": 0}


def run() -> None:
    """Fit each graph on both engines."""
    rows: list[dict[str, Any]] = []
    for name in GRAPHS:
        rows.append({"graph": str(name), **compare(load_graph(name), REPEATS[str(name)])})
        show("so far", rows[-1:])
        save("cluster_fits", rows, workers=WORKERS)
    show(f"{WORKERS} workers, and the local engine with {WORKERS} threads", rows)


def compare(graph: Graph, repeats: int) -> dict[str, Any]:
    """Return the median times of a fit, and their ratio."""
    from distributed import Client

    with Client(**cluster_options(WORKERS)) as client:
        client.wait_for_workers(WORKERS)
        seconds: dict[str, list[float]] = {"local": [], "workers": []}
        vectors = {}
        for _ in range(repeats):
            for name, options in (("local", {"threads": WORKERS}), ("workers", {"engine": client})):
                elapsed, model = timed(lambda options=options: BoostNE(**FIT, **options).fit(graph))
                seconds[name].append(elapsed)
                vectors[name] = model.embedding_.vectors
        if not np.array_equal(vectors["local"], vectors["workers"]):
            raise AssertionError("the vectors differ")
    local, workers = (float(np.median(seconds[name])) for name in ("local", "workers"))
    return {"local_s": local, "workers_s": workers, "ratio": workers / local, "seconds": seconds}
