"""Search for similar nodes: times of the exact search, and times and recall of the approximate index.

The vectors are generated: a million of length 128, in 10,000 clusters, as the exact search takes the same time for any.
Wall-clock times depend on the load of the machine, which the results record, so CPU times are given beside them. The
index is also measured on vectors of BoostNE, since its recall depends on the vectors.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import peak_bytes, reset_peak, save, show
from boostne import BoostNE, Embedding, load_dataset, planted_partition

N_NODES, DIMENSIONS, CLUSTERS = 1_000_000, 128, 10_000
QUERIES = 1000
INDEXED = 100_000  # of the generated vectors; building the index of a million takes too long to repeat
REPEATS = 5
LIMITS = {"first query": 1.0, "one query": 0.15, "1,000 queries": 15.0}


def run() -> None:
    """Measure both searches."""
    embedding = Embedding(np.arange(N_NODES), clustered(N_NODES))
    queries = np.random.default_rng(1).choice(N_NODES, QUERIES, replace=False)
    rows = [
        measured("first query", lambda: embedding.most_similar(int(queries[0]))),
        measured("one query", lambda: embedding.most_similar(int(queries[1])), REPEATS),
        measured("one query, 1 thread", lambda: embedding.most_similar(int(queries[1]), threads=1), REPEATS),
        measured("1,000 queries", lambda: embedding.most_similar(queries)),
    ]
    show(f"Exact search of {N_NODES:,} × {DIMENSIONS} float32", rows)
    candidates = {
        f"generated, {INDEXED:,}": embedding[:INDEXED],
        "BoostNE, cora": BoostNE().fit(load_dataset("cora").graph).embedding_,
        "BoostNE, planted partition of 50,000": BoostNE().fit(planted_partition(50_000).graph).embedding_,
    }
    indexed = [{"vectors": name, **indexed_search(vectors)} for name, vectors in candidates.items()]
    show("Approximate index, built by one thread", indexed)
    save("neighbors", rows + indexed, nodes=N_NODES, dimensions=DIMENSIONS, queries=QUERIES, limits_s=LIMITS)


def clustered(n: int) -> np.ndarray[Any, Any]:
    """Return vectors around random centers."""
    rng = np.random.default_rng(0)
    centers = rng.random((CLUSTERS, DIMENSIONS), dtype=np.float32)
    return centers[rng.integers(CLUSTERS, size=n)] + 0.5 * rng.random((n, DIMENSIONS), dtype=np.float32)


def measured(name: str, function: Callable[[], Any], repeats: int = 1) -> dict[str, Any]:
    """Return the median wall-clock and CPU time of some calls, and the peak memory."""
    walls, cpus = [], []
    before = reset_peak()
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        function()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {
        "exact_search": name,
        "seconds": float(np.median(walls)),
        "cpu_seconds": float(np.median(cpus)),
        "peak_mb": (peak_bytes() - before) / 1e6,
    }


def indexed_search(embedding: Embedding) -> dict[str, Any]:
    """Return the times of building and searching an index, and its recall against the exact search."""
    queries = embedding.nodes[np.random.default_rng(1).permutation(len(embedding))[:QUERIES]]
    exact = embedding.most_similar(queries)
    cpu = time.process_time()
    index = embedding.index()
    build = time.process_time() - cpu
    cpu = time.process_time()
    found = index.most_similar(queries)
    search = time.process_time() - cpu
    return {
        "nodes": len(embedding),
        "build_cpu_s": build,
        "cpu_ms_per_query": 1000 * search / len(queries),
        "recall_at_10": recall(found, exact),
    }


def recall(found: list[Any], exact: list[Any]) -> float:
    """Return the mean share of the exact neighbors that were found; others that are as similar count, too."""
    shares = []
    for one, truth in zip(found, exact, strict=True):
        last = truth[-1][1] - 1e-6  # the index has rounded vectors
        shares.append(sum(value >= last for _, value in one) / len(truth))
    return float(np.mean(shares))
