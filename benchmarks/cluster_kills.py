"""Workers killed at random moments, while X is built, V is exchanged or parts are written: always the same result."""

import random
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cluster import cluster_options
from benchmarks.common import save, show
from boostne import BoostNE, Graph, planted_partition, read_embedding
from boostne.progress import Progress

NODES = 6_000
WORKERS = 3
KILLS = 20
# The progress at which a worker is killed at once; the other kills have random moments.
MOMENTS = ("connectivity", "levels", "writing")
FIT = {"dimensions": 64, "levels": 4, "propagation": 0, "vector_length": 0}


def run() -> None:
    """Kill a worker in each of several fits; every second fit writes parts."""
    graph = planted_partition(NODES).graph
    expected = BoostNE(**FIT).fit(graph).embedding_.vectors
    rng, rows, duration = random.Random(0), [], 0.0
    for number in range(KILLS + 1):  # the first is not interrupted, and tells how long a fit takes
        moment = MOMENTS[number - 1] if 1 <= number <= len(MOMENTS) else ""
        after = rng.uniform(0.02, 0.98) * duration
        row = interrupted_fit(graph, expected, moment, after if number else None, rng, parts=number % 2 == 1)
        if number:
            rows.append({"number": number, **row})
            show("so far", rows[-1:])
        else:
            duration = row["seconds"]
    show(f"One of {WORKERS} workers killed", rows)
    save("cluster_kills", rows, nodes=NODES, workers=WORKERS)


def interrupted_fit(
    graph: Graph, expected: Any, moment: str, after: float | None, rng: random.Random, *, parts: bool
) -> dict[str, Any]:
    """Fit on a new cluster, of which a worker is killed; raise unless the vectors have the bits of the local engine."""
    import psutil
    from distributed import Client

    with Client(**cluster_options(WORKERS)) as client, tempfile.TemporaryDirectory() as folder:
        client.wait_for_workers(WORKERS)
        processes = client.run(lambda: psutil.Process().pid)
        killed: list[float] = []
        begin = time.perf_counter()

        def kill() -> None:
            if not killed:
                killed.append(time.perf_counter() - begin)
                psutil.Process(processes[rng.choice(sorted(processes))]).kill()

        timer = threading.Timer(after or 0, kill)
        if after is not None and not moment:
            timer.start()
        vectors = fitted(client, graph, lambda at: kill() if at.stage == moment else None, folder if parts else None)
        seconds = time.perf_counter() - begin
        timer.cancel()
    np.testing.assert_array_equal(vectors, expected)
    when = killed[0] / seconds if killed else 1.0
    return {"moment": moment or "random", "parts": str(parts), "seconds": seconds, "at_share": when, "same": "yes"}


def fitted(client: Any, graph: Graph, progress: Callable[[Progress], None], folder: str | None) -> Any:
    """Return the vectors of a fit, by way of parts if there is a folder for them."""
    model = BoostNE(engine=client, **FIT)
    if folder is None:
        return model.fit(graph, progress=progress).embedding_.vectors
    model.fit_to_parts(graph, Path(folder) / "parts", progress=progress)
    found = read_embedding(Path(folder) / "parts")
    return found.vectors[np.argsort(found.nodes)]
