"""Passes on the Dask engine compared with the local one, on worker processes of this machine, over TCP.

Every result is first compared with the local engine's: bit for bit if X has a shard for each worker, else up to
rounding. Then, per pass: bytes that each worker sends, CPU time and time as ratios; and the peak memory of a worker
while X is built and, separately, during the passes.
"""

import time
from typing import Any

import numpy as np

from benchmarks.common import load_graph, peak_bytes, reset_peak, save, show
from boostne import Graph
from boostne.factorization import LocalEngine, random_start
from boostne.factorization.dask.engine import DaskEngine
from boostne.factorization.dask.factor_store import ClientFactorStore
from boostne.factorization.engine import Engine
from boostne.kernels import get_kernels
from boostne.matrices import MatrixSource
from boostne.matrices.deepwalk.exact import ExactSource
from boostne.matrices.deepwalk.push import PushSource

# Data set or number of nodes to generate, and entries per row of the pruned X; 0 is the exact X.
CASES = ((300_000, 200), ("blogcatalog", 0), (1_000_000, 60))
EPSILON_SHARE = 0.02  # ε times the entries per row
WORKERS = (2, 4, 8)
MEMORY_LIMIT = "3GB"  # per worker
WIDTH = 16  # d_s of the default settings
PASSES = 4
INNER_SWEEPS = 4
ROUNDING = 1e-3  # largest difference of the product if X has more shards than on the local engine


def run() -> None:
    """Run all cases; those that are finished are saved."""
    rows: list[dict[str, Any]] = []
    for name, max_per_row in CASES:
        graph = load_graph(name)
        rows += compare_engines(str(name), graph, source_of(graph, max_per_row))
        save("cluster", rows, memory_limit=MEMORY_LIMIT, passes=PASSES)
    show("Dask workers; 0 is the local engine with one thread", rows)


def source_of(graph: Graph, max_per_row: int) -> MatrixSource:
    """Return DeepWalk's X, pruned to ``max_per_row`` entries per row unless that is 0."""
    options: dict[str, Any] = {"window": 10, "negative": 1, "dtype": "float32"}
    if not max_per_row:
        return ExactSource(graph, **options)
    return PushSource(graph, epsilon=EPSILON_SHARE / max_per_row, max_per_row=max_per_row, **options)


def compare_engines(name: str, graph: Graph, source: MatrixSource) -> list[dict[str, Any]]:
    """Run passes on the local engine and on clusters; returns a row for each."""
    local = measured_passes(LocalEngine(get_kernels(threads=1)), source)
    rows = []
    for workers in (0, *WORKERS):
        found = passes_on_cluster(source, workers) if workers else local
        rows.append(
            {
                "graph": name,
                "workers": workers,
                "same_bits": str(check_same(found, local)),
                "time_ratio": found["seconds"] / local["seconds"],
                "cpu_ratio": found["cpu"] / local["cpu"],
                "load_peak_MB": found["load_peak"] / 1e6,
                "pass_peak_MB": found["pass_peak"] / 1e6,
                "limit_MB": worker_limit(graph, local["nnz"], workers) / 1e6 if workers else 0.0,
                "sent_MB_per_pass": found["sent"] / 1e6,
                "sent_limit_MB": 2.1 * 4 * WIDTH * graph.n_nodes / 1e6,
            }
        )
        show("so far", rows[-1:])
    return rows


def worker_limit(graph: Graph, nnz: int, workers: int) -> float:
    """Return what a worker may hold: three arrays of the size of V, its share of X, the graph, and 64 MB."""
    A = graph.adjacency
    adjacency = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    return 3 * 4 * WIDTH * graph.n_nodes + 8 * nnz / workers + adjacency + 64e6


def measured_passes(engine: Engine, source: MatrixSource, client: Any = None) -> dict[str, Any]:
    """Load X and run some passes; returns time and CPU seconds of both, bytes sent per pass, and the last result.

    If a client is given, CPU time and bytes are those of its workers: the sum, and those of the worker that sends most.
    So are the peaks of memory while X is built and during the passes, beyond what the workers held before.
    """
    held, before, begin = held_before(client), spent(client), time.perf_counter()
    engine.load(source)
    load_seconds, load_cpu = time.perf_counter() - begin, float((spent(client)[0] - before[0]).sum())
    load_peak = worker_peak(client, held)
    engine.start_level(random_start(0, engine.shape[1], WIDTH, engine.dtype)(0))
    engine.step(INNER_SWEEPS)
    before, seconds = spent(client), []
    for _ in range(PASSES):
        begin = time.perf_counter()
        engine.accept(0.5)
        result = engine.step(INNER_SWEEPS)
        seconds.append(time.perf_counter() - begin)
    cpu, sent = (after - first for after, first in zip(spent(client), before, strict=True))
    return {
        "result": result,
        "nnz": engine.nnz,
        "seconds": float(np.median(seconds)),
        "cpu": float(cpu.sum()) / PASSES,
        "sent": float(sent.max()) / PASSES,
        "load_seconds": load_seconds,
        "load_cpu": load_cpu,
        "load_peak": load_peak,
        "pass_peak": worker_peak(client, held),
    }


def held_before(client: Any) -> dict[str, int]:
    """Return the memory of each worker now, beyond which peaks are counted; nothing without a client."""
    return dict(client.run(reset_peak)) if client else {}


def worker_peak(client: Any, held: dict[str, int]) -> int:
    """Return the largest peak of a worker since the last call, beyond what it held at first."""
    if client is None:
        return 0
    peaks = client.run(peak_bytes)
    client.run(reset_peak)
    return max(peaks[address] - held[address] for address in held)


def spent(client: Any) -> tuple[Any, Any]:
    """Return the CPU seconds and the bytes sent of each worker so far; without a client, those of this process."""
    if client is None:
        return np.array([time.process_time()]), np.zeros(1)
    found = [sorted(client.run(function).items()) for function in (time.process_time, sent_bytes)]
    cpu, sent = ([value for _, value in by_address] for by_address in found)
    return np.array(cpu), np.array(sent)


def cluster_options(workers: int) -> dict[str, Any]:
    """Return the options of a cluster of single-threaded processes."""
    return {
        "n_workers": workers,
        "threads_per_worker": 1,
        "processes": True,
        "memory_limit": MEMORY_LIMIT,
        "dashboard_address": None,
    }


def passes_on_cluster(source: MatrixSource, workers: int) -> dict[str, Any]:
    """Run passes on a new cluster; returns what :func:`measured_passes` does."""
    from distributed import Client

    with Client(**cluster_options(workers)) as client:
        client.wait_for_workers(workers)
        client.run(count_sent_bytes)
        with DaskEngine(client, WIDTH, ClientFactorStore(recall=lambda _: (np.empty(0),) * 2), 1) as engine:
            return measured_passes(engine, source, client)


def count_sent_bytes() -> None:
    """Import what a block needs, and count the bytes that this process sends over TCP, from now on."""
    from distributed.comm.tcp import TCP

    import boostne.factorization.dask.engine  # noqa: F401  not part of the memory of a block

    write = TCP.write
    TCP.boostne_sent = 0  # type: ignore[attr-defined]

    async def counted(comm: Any, *arguments: Any, **options: Any) -> Any:
        n_bytes = await write(comm, *arguments, **options)
        TCP.boostne_sent += n_bytes  # type: ignore[attr-defined]
        return n_bytes

    TCP.write = counted  # type: ignore[method-assign]


def sent_bytes() -> int:
    """Return the bytes counted so far."""
    from distributed.comm.tcp import TCP

    return int(TCP.boostne_sent)  # type: ignore[attr-defined]


def check_same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Return whether two results have the same bits; raise unless they are equal up to rounding."""
    np.testing.assert_allclose(found["result"].product, expected["result"].product, rtol=ROUNDING)
    return all(np.array_equal(*pair) for pair in zip(found["result"], expected["result"], strict=True))
