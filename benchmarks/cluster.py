"""The Dask engine compared with the local one, on worker processes of this machine that communicate over TCP.

Every result is first compared with the local engine's, bit for bit. Then: time as a ratio, peak memory of each process,
bytes sent per pass, and recovery from killed workers.
"""

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import dataset_graph, load_graph, peak_bytes, peak_memory, reset_peak, save, show, timed
from boostne import BoostNE, DeepWalkMatrix, Graph
from boostne.budget import worker_block_bytes
from boostne.kernels import available_threads

LARGE = 300_000
# Data set or number of nodes to generate, parameters of the fits, number of repetitions.
CASES: tuple[tuple[str | int, dict[str, Any], int], ...] = (
    ("blogcatalog", {}, 3),
    (LARGE, {"connectivity": DeepWalkMatrix(window=10, approximation="push")}, 1),
)
KILLED = "blogcatalog"
WORKERS = (1, 2, 4)
MEMORY_LIMIT = "3GB"  # per worker
KILLS = 5
WIDTH = 16  # d_s of the default settings


def run() -> None:
    """Run all parts and save them together."""
    rows = [row for case in CASES for row in compare_engines(*case)]
    show("Dask workers; 0 is the local engine", rows)
    graph = load_graph(KILLED)
    killed = kill_workers(graph, fit(graph), duration=rows[len(WORKERS)]["seconds"])
    show(f"{KILLED}: one of three workers killed at a random time", killed)
    rates = local_rates(LARGE)
    predicted = predictions(**rates)
    show("Predictions, not measurements", predicted)
    save("cluster", rows, memory_limit=MEMORY_LIMIT, kills=killed, rates=rates, predictions=predicted)


def compare_engines(name: str | int, options: dict[str, Any], repeats: int) -> list[dict[str, Any]]:
    """Fit a graph locally and on clusters; returns a row for each."""
    graph = load_graph(name)
    local_peak, _ = peak_memory(prepare_local, name, options)
    local_seconds, expected = timed(lambda: fit(graph, **options), repeats)
    rows = [
        {"graph": str(name), "workers": 0, "seconds": local_seconds, "ratio": 1.0}
        | {"peak_MB": local_peak / 1e6, "peak_ratio": 1.0, "client_MB": 0.0}
        | {"client_limit_MB": client_limit(graph) / 1e6, "sent_MB_per_pass": 0.0, "model_MB_per_pass": 0.0}
    ]
    show("so far", rows)
    for workers in WORKERS:
        measured = fit_on_cluster(graph, options, workers, expected, repeats)
        client_peak, _ = peak_memory(prepare_client, name, options, workers)
        rows.append(
            {
                "graph": str(name),
                "workers": workers,
                "seconds": measured["seconds"],
                "ratio": measured["seconds"] / local_seconds,
                "peak_MB": measured["worker_peak"] / 1e6,
                "peak_ratio": measured["worker_peak"] / local_peak,
                "client_MB": client_peak / 1e6,
                "client_limit_MB": client_limit(graph) / 1e6,
                "sent_MB_per_pass": measured["sent_per_pass"] / 1e6,
                "model_MB_per_pass": 2 * (workers - 1) * WIDTH * 4 * graph.n_nodes / 1e6,
            }
        )
        show("so far", rows[-1:])
    return rows


def fit(graph: Graph, **options: Any) -> BoostNE:
    """Embed with default parameters."""
    return BoostNE(**options).fit(graph)


def client_limit(graph: Graph) -> float:
    """Return 1.5 times the bytes of adjacency, U and V."""
    A = graph.adjacency
    adjacency = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    return 1.5 * (adjacency + 2 * graph.n_nodes * BoostNE().dimensions * 4)


def prepare_local(name: str | int, options: dict[str, Any]) -> Any:
    """Prepare a fit on the local engine, for :func:`peak_memory`."""
    graph = load_graph(name)
    return lambda: bool(fit(graph, **options))


def prepare_client(name: str | int, options: dict[str, Any], workers: int) -> Any:
    """Prepare a fit on a cluster, for :func:`peak_memory`; worker processes are not counted."""
    from distributed import Client

    graph = load_graph(name)
    client = Client(**cluster_options(workers))
    client.wait_for_workers(workers)
    return lambda: bool(fit(graph, engine=client, **options))


def cluster_options(workers: int) -> dict[str, Any]:
    """Return the options of a cluster of single-threaded processes."""
    return {
        "n_workers": workers,
        "threads_per_worker": 1,
        "processes": True,
        "memory_limit": MEMORY_LIMIT,
        "dashboard_address": None,
    }


def fit_on_cluster(
    graph: Graph, options: dict[str, Any], workers: int, expected: BoostNE, repeats: int
) -> dict[str, Any]:
    """Fit on a new cluster; returns seconds, peak memory of the largest worker, and bytes sent per pass."""
    from distributed import Client

    with Client(**cluster_options(workers)) as client:
        client.wait_for_workers(workers)
        fit(dataset_graph("karate"), dimensions=8, levels=1, engine=client)  # warm-up: imports
        before = client.run(reset_peak)
        seconds, model = timed(lambda: fit(graph, engine=client, **options), repeats)
        peaks = client.run(peak_bytes)
        sent = sent_per_pass(lambda **extra: fit(graph, engine=client, **options, **extra))
    check_same(model, expected)
    return {
        "seconds": seconds,
        "worker_peak": max(peaks[address] - before[address] for address in peaks),
        "sent_per_pass": sent,
    }


def sent_per_pass(fitted: Callable[..., BoostNE]) -> float:
    """Return the bytes that one additional pass sends over the loopback device, by any process."""
    import psutil

    sent, passes = [], []
    for max_iter in (5, 25):
        before = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        model = fitted(levels=1, dimensions=WIDTH, tol=0.0, max_iter=max_iter)
        sent.append(psutil.net_io_counters(pernic=True)["lo"].bytes_sent - before)
        passes.append(int(model.n_iter_.sum()))
    return (sent[1] - sent[0]) / (passes[1] - passes[0])


def check_same(model: BoostNE, expected: BoostNE) -> None:
    """Raise unless both models are equal, bit for bit."""
    np.testing.assert_array_equal(model.embedding_.vectors, expected.embedding_.vectors)
    np.testing.assert_array_equal(model.residual_norms_, expected.residual_norms_)


def kill_workers(graph: Graph, expected: BoostNE, duration: float) -> list[dict[str, Any]]:
    """Kill one of three workers at a random time of a fit that takes ``duration`` seconds; results must be the same."""
    import psutil
    from distributed import Client

    rng = random.Random(0)
    rows = []
    for _ in range(KILLS):
        with Client(**cluster_options(3)) as client:
            client.wait_for_workers(3)
            processes = client.run(lambda: psutil.Process().pid)
            after, victim = rng.uniform(0.05, 0.9) * duration, rng.choice(sorted(processes))
            timer = threading.Timer(after, psutil.Process(processes[victim]).kill)
            timer.start()
            begin = time.perf_counter()
            model = fit(graph, engine=client)
            seconds = time.perf_counter() - begin
            in_time = not timer.is_alive()
            timer.cancel()
        check_same(model, expected)
        rows.append({"killed_after_s": after, "during_the_fit": str(in_time), "seconds": seconds, "same": "yes"})
    return rows


def local_rates(nodes: int) -> dict[str, float]:
    """Measure the time of one thread per row of a pruned X and per entry and pass, and the passes of a fit."""
    starts: dict[str, float] = {}
    graph = load_graph(nodes)
    model = BoostNE(connectivity=DeepWalkMatrix(window=10, approximation="push"))
    model.fit(graph, progress=lambda at: starts.setdefault(at.stage, time.perf_counter()) and None)
    end, threads = time.perf_counter(), available_threads()
    passes = int(model.n_iter_.sum())
    return {
        "row_us": (starts["levels"] - starts["connectivity"]) * threads / nodes * 1e6,
        "entry_ns": (end - starts["levels"]) * threads / (passes * float(model.nnz_[0])) * 1e9,
        "row_entries": float(model.nnz_[0]) / nodes,
        "passes": passes,
    }


# Assumed cluster of the predictions.
THREADS = 4
LINK = 1.25e9  # bytes per second between two workers: 10 Gbit/s


def predictions(*, row_us: float, entry_ns: float, row_entries: float, passes: float) -> list[dict[str, Any]]:
    """Predict time and memory for graphs larger than one machine, from the rates of one local thread."""
    rows = []
    for n in (10_000_000, 100_000_000):
        for workers in (16, 64):
            factor = n * WIDTH * 4 / LINK
            arithmetic = row_entries * n * entry_ns * 1e-9 / (workers * THREADS)
            rounds = np.log2(workers)
            memory = worker_block_bytes(
                (n, n),
                np.dtype(np.float32),
                source_bytes=10 * n * 4 + 20 * n,  # five edges per node, 32-bit numbers
                nnz=int(row_entries * n),
                n_workers=workers,
                components=WIDTH,
                threads=THREADS,
            )
            rows.append(
                {
                    "nodes": n,
                    "workers": workers,
                    "X_minutes": n * row_us * 1e-6 / (workers * THREADS) / 60,
                    "arithmetic_s_per_pass": arithmetic,
                    "network_s_per_pass": 2 * rounds * factor,
                    "levels_minutes": passes * (arithmetic + 2 * rounds * factor) / 60,
                    "GB_per_worker": memory / 1e9,
                }
            )
    return rows
