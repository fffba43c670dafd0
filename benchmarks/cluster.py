"""The engine on Dask against the local one, on worker processes of this machine that talk over TCP.

The same result comes first: every run is compared with the local engine's, bit for bit. Then the time as a ratio,
the peak memory of each process, the bytes that a pass sends, and what becomes of killed workers.
"""

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import (
    graph_named,
    graph_of,
    peak_memory,
    peak_so_far,
    save,
    show,
    start_of_peak,
    timed,
)
from boostne import BoostNE, Graph
from boostne.kernels import available_threads

LARGE = 300_000
# A data set or a number of nodes to generate, the options of its fits, and how often they are timed.
CASES: tuple[tuple[str | int, dict[str, Any], int], ...] = (
    ("blogcatalog", {}, 3),
    (LARGE, {"approximation": "push"}, 1),
)
KILLED = "blogcatalog"
WORKERS = (1, 2, 4)
MEMORY_LIMIT = "3GB"  # of a worker
KILLS = 5
WIDTH = 16  # d_s of the default settings


def run() -> None:
    """Run every part and save them together."""
    rows = [row for case in CASES for row in compared(*case)]
    show("Workers 0 is the local engine", rows)
    graph = graph_named(KILLED)
    killed = kills(graph, fit(graph), whole=rows[len(WORKERS)]["seconds"])
    show(f"{KILLED}: one of three workers killed at a random moment", killed)
    rates = local_rates(LARGE)
    predicted = predictions(**rates)
    show("Reckoned, not measured", predicted)
    save("cluster", rows, memory_limit=MEMORY_LIMIT, kills=killed, rates=rates, predictions=predicted)


def compared(name: str | int, options: dict[str, Any], repeats: int) -> list[dict[str, Any]]:
    """Fit a graph here and on clusters; returns a row for each."""
    graph = graph_named(name)
    local_peak, _ = peak_memory(prepare_local, name, options)
    local_seconds, expected = timed(lambda: fit(graph, **options), repeats)
    rows = [
        {"graph": str(name), "workers": 0, "seconds": local_seconds, "ratio": 1.0}
        | {"peak_MB": local_peak / 1e6, "peak_ratio": 1.0, "client_MB": 0.0}
        | {"client_limit_MB": client_limit(graph) / 1e6, "sent_MB_a_pass": 0.0, "model_MB_a_pass": 0.0}
    ]
    show("so far", rows)
    for workers in WORKERS:
        found = on_cluster(graph, options, workers, expected, repeats)
        client_peak, _ = peak_memory(prepare_client, name, options, workers)
        rows.append(
            {
                "graph": str(name),
                "workers": workers,
                "seconds": found["seconds"],
                "ratio": found["seconds"] / local_seconds,
                "peak_MB": found["worker_peak"] / 1e6,
                "peak_ratio": found["worker_peak"] / local_peak,
                "client_MB": client_peak / 1e6,
                "client_limit_MB": client_limit(graph) / 1e6,
                "sent_MB_a_pass": found["sent_a_pass"] / 1e6,
                "model_MB_a_pass": 2 * (workers - 1) * WIDTH * 4 * graph.n_nodes / 1e6,
            }
        )
        show("so far", rows[-1:])
    return rows


def fit(graph: Graph, **options: Any) -> BoostNE:
    """Embed with the default settings."""
    return BoostNE(**options).fit(graph)


def client_limit(graph: Graph) -> float:
    """Adjacency, U and V, and half as much again."""
    A = graph.adjacency
    adjacency = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    return 1.5 * (adjacency + 2 * graph.n_nodes * BoostNE().dimensions * 4)


def prepare_local(name: str | int, options: dict[str, Any]) -> Any:
    """For the peak of the local engine: everything but the fit."""
    graph = graph_named(name)
    return lambda: bool(fit(graph, **options))


def prepare_client(name: str | int, options: dict[str, Any], workers: int) -> Any:
    """For the peak of the client: a graph and a cluster, whose processes are not counted."""
    from distributed import Client

    graph = graph_named(name)
    client = Client(**cluster_of(workers))
    client.wait_for_workers(workers)
    return lambda: bool(fit(graph, engine="dask", client=client, **options))


def cluster_of(workers: int) -> dict[str, Any]:
    """Options of a cluster of single-threaded processes."""
    return {
        "n_workers": workers,
        "threads_per_worker": 1,
        "processes": True,
        "memory_limit": MEMORY_LIMIT,
        "dashboard_address": None,
    }


def on_cluster(
    graph: Graph, options: dict[str, Any], workers: int, expected: BoostNE, repeats: int
) -> dict[str, Any]:
    """Fit on a fresh cluster; returns seconds, peak memory of the largest worker, and bytes that a pass sends."""
    from distributed import Client

    with Client(**cluster_of(workers)) as client:
        client.wait_for_workers(workers)
        fit(graph_of("karate"), dimensions=8, levels=1, engine="dask", client=client)  # imports
        before = client.run(start_of_peak)
        seconds, model = timed(lambda: fit(graph, engine="dask", client=client, **options), repeats)
        peaks = client.run(peak_so_far)
        sent = sent_a_pass(lambda **more: fit(graph, engine="dask", client=client, **options, **more))
    check_same(model, expected)
    return {
        "seconds": seconds,
        "worker_peak": max(peaks[address] - before[address] for address in peaks),
        "sent_a_pass": sent,
    }


def sent_a_pass(fitted: Callable[..., BoostNE]) -> float:
    """Return the bytes that one more pass sends over this machine's loopback device, whoever sends them."""
    import psutil

    sent, passes = [], []
    for most in (5, 25):
        before = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        model = fitted(levels=1, dimensions=WIDTH, tol=0.0, max_iter=most)
        sent.append(psutil.net_io_counters(pernic=True)["lo"].bytes_sent - before)
        passes.append(int(model.n_iter_.sum()))
    return (sent[1] - sent[0]) / (passes[1] - passes[0])


def check_same(model: BoostNE, expected: BoostNE) -> None:
    """Raise unless all that was learned is equal to the last bit."""
    np.testing.assert_array_equal(model.embedding_.vectors, expected.embedding_.vectors)
    np.testing.assert_array_equal(model.residual_norms_, expected.residual_norms_)


def kills(graph: Graph, expected: BoostNE, whole: float) -> list[dict[str, Any]]:
    """Kill one of three workers at random moments of a run of ``whole`` seconds; the result must be the same."""
    import psutil
    from distributed import Client

    rng = random.Random(0)
    rows = []
    for _ in range(KILLS):
        with Client(**cluster_of(3)) as client:
            client.wait_for_workers(3)
            processes = client.run(lambda: psutil.Process().pid)
            after, victim = rng.uniform(0.05, 0.9) * whole, rng.choice(sorted(processes))
            timer = threading.Timer(after, psutil.Process(processes[victim]).kill)
            timer.start()
            begin = time.perf_counter()
            model = fit(graph, engine="dask", client=client)
            seconds = time.perf_counter() - begin
            in_time = not timer.is_alive()
            timer.cancel()
        check_same(model, expected)
        rows.append(
            {"killed_after_s": after, "before_the_end": str(in_time), "seconds": seconds, "same": "yes"}
        )
    return rows


def local_rates(nodes: int) -> dict[str, float]:
    """Measure what a thread needs for a row of a pruned X and for an entry in a pass, and the passes of a fit."""
    begun: dict[str, float] = {}
    graph = graph_named(nodes)
    model = BoostNE(approximation="push")
    model.fit(graph, progress=lambda at: begun.setdefault(at.stage, time.perf_counter()) and None)
    end, threads = time.perf_counter(), available_threads()
    passes = int(model.n_iter_.sum())
    return {
        "row_us": (begun["levels"] - begun["connectivity"]) * threads / nodes * 1e6,
        "entry_ns": (end - begun["levels"]) * threads / (passes * float(model.nnz_[0])) * 1e9,
        "row_entries": float(model.nnz_[0]) / nodes,
        "passes": passes,
    }


# Assumptions of the predictions: a cluster that is not here.
THREADS = 4
LINK = 1.25e9  # bytes a second between two workers: 10 Gbit/s


def predictions(*, row_us: float, entry_ns: float, row_entries: float, passes: float) -> list[dict[str, Any]]:
    """Reckon minutes and memory for graphs that no one machine here can hold, from what one thread needs here."""
    from boostne.factorization.dask.partition import block_bytes

    class Source:  # what block_bytes asks of a source: five edges a node, 32-bit numbers
        dtype = np.dtype(np.float32)

        def __init__(self, n: int) -> None:
            self.n, self.nbytes = n, 10 * n * 4 + 20 * n

    rows = []
    for n in (10_000_000, 100_000_000):
        for workers in (16, 64):
            factor = n * WIDTH * 4 / LINK
            arithmetic = row_entries * n * entry_ns * 1e-9 / (workers * THREADS)
            rounds = np.log2(workers)
            rows.append(
                {
                    "nodes": n,
                    "workers": workers,
                    "X_minutes": n * row_us * 1e-6 / (workers * THREADS) / 60,
                    "arithmetic_s_a_pass": arithmetic,
                    "network_s_a_pass": 2 * rounds * factor,
                    "levels_minutes": passes * (arithmetic + 2 * rounds * factor) / 60,
                    "gb_a_worker": block_bytes(Source(n), int(row_entries * n), workers, WIDTH, THREADS)
                    / 1e9,
                }
            )
    return rows
