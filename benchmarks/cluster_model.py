"""Time, traffic and memory per worker of a Dask cluster, predicted from costs that are measured in the same run.

A worker's time is CPU time divided by its threads, plus the time of messages. Costs per row, entry, column and byte
are measured in CPU seconds (:mod:`benchmarks.cluster_costs`), memory is estimated by :mod:`boostne.budget`, and traffic
follows from the slices of :mod:`boostne.factorization.dask.exchange`. The model is compared with runs on 1, 2, 4 and 8
worker processes of this machine, which share its cores: CPU time, bytes and peak memory.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks.cluster import WIDTH, passes_on_cluster, source_of
from benchmarks.cluster_costs import Costs, measured_costs
from benchmarks.common import load_graph, save, show
from boostne import Graph
from boostne.budget import Workload, graph_reader_bytes, push_source_bytes, worker_block_bytes
from boostne.factorization.dask.exchange import ContextSlices, messages, request_bytes
from boostne.kernels import available_threads
from boostne.kernels.layout import padded_width
from boostne.kernels.sharded_csr import MAX_SHARDS, ROW_ENTRIES_PER_SHARD
from boostne.kernels.tree_reduction import tree_nodes
from boostne.matrices.deepwalk.plan import typical_per_row

DTYPE = np.dtype("float32")
LEVELS, MAX_ITER = 8, 100
EDGE_BYTES = 16  # two int64 ids in a Parquet file, uncompressed
GBIT = 1e9 / 8
CHECKED_NODES, CHECKED_PER_ROW = 300_000, 60
CHECKED_WORKERS = (1, 2, 4, 8)
TOLERANCE = 0.25


@dataclass(frozen=True)
class Case:
    """A graph and a cluster.

    Attributes
    ----------
    nodes, edges, workers, threads : int
        Threads are those of each worker.
    per_row : int
        Entries of X per row.
    bandwidth : float
        Bytes per second that a worker can send, and receive at the same time.
    """

    nodes: int
    edges: int
    workers: int
    threads: int = 4
    per_row: int = 60
    bandwidth: float = 10 * GBIT

    @property
    def entries(self) -> int:
        """Entries of X."""
        return self.nodes * self.per_row

    @property
    def shards(self) -> int:
        """Shards of X on a worker."""
        count = max(self.workers, min(MAX_SHARDS, max(4, self.per_row // ROW_ENTRIES_PER_SHARD)))
        return -(-count // self.workers)

    @property
    def workload(self) -> Workload:
        """The sizes that the number of passes depends on."""
        return Workload(self.nodes, LEVELS, WIDTH, MAX_ITER, DTYPE, self.threads)


# The figure that the design aims at, and other sizes: nodes, edges, workers.
TARGET = Case(100_000_000, 1_000_000_000, 64)
TABLE = tuple(
    Case(nodes, 10 * nodes, workers, per_row=typical_per_row(nodes))
    for nodes, counts in (
        (1_000_000, (1, 4)),
        (10_000_000, (1, 4, 16)),
        (100_000_000, (4, 16, 64, 256)),
        (1_000_000_000, (64, 256, 1024)),
    )
    for workers in counts
)


def run() -> None:
    """Measure the costs, compare predictions with runs, and predict larger cases."""
    costs = measured_costs()
    show("Measured costs, in CPU nanoseconds of one thread unless named otherwise", [costs.in_nanoseconds()])
    graph = load_graph(CHECKED_NODES)
    checks = [check(costs, graph, workers) for workers in CHECKED_WORKERS]
    show(f"Predictions / measurements on worker processes of this machine; within {TOLERANCE:.0%}?", checks)
    rows = [predicted_row(costs, case) for case in (TARGET, *TABLE)]
    rows += [predicted_row(costs, replace(TARGET, bandwidth=gbit * GBIT)) for gbit in (1, 25, 100)]
    show("Predictions; the first row is the target", rows)
    save("cluster_model", rows, costs=asdict(costs), checks=checks, tolerance=TOLERANCE)


def pass_cpu(costs: Costs, case: Case) -> dict[str, float]:
    """Return the CPU seconds of a worker per pass: over R, on V, and for messages."""
    n, w, growth = case.nodes, case.workers, costs.growth(costs.pass_growth, case.nodes)
    over_r = costs.pass_entry * case.entries / w + costs.pass_row * n / w + costs.pass_column * n * case.shards
    return {
        "sweep": growth * over_r,
        "update": costs.update_row * n / w,
        "messages": costs.message_byte * sent_bytes(case) + costs.message_call * calls(case),
    }


def build_cpu(costs: Costs, case: Case) -> float:
    """Return the CPU seconds of a worker to build its rows of X, the sorting of their entries included."""
    per_row = costs.push_row + costs.push_entry * case.per_row
    return costs.growth(costs.push_growth, case.nodes) * per_row * case.nodes / case.workers


def sent_bytes(case: Case) -> int:
    """Return what the worker that sends most sends per pass: its slice of V, and its sums of all other rows of C."""
    if case.workers == 1:
        return 0
    slices = ContextSlices.divide(case.nodes, case.workers)
    row = padded_width(WIDTH) * DTYPE.itemsize
    most = 0
    for block in range(case.workers):
        own = len(slices.rows(block))
        sums = len(tree_nodes(block * case.shards, case.shards))
        most = max(most, (case.workers - 1) * own + (case.nodes - own) * sums)
    return most * row


def calls(case: Case) -> int:
    """Return the calls that a worker makes to others per pass: for rows of V, and for sums of its slice."""
    others = case.workers - 1
    if not others:
        return 0
    rows = ContextSlices.divide(case.nodes, case.workers).rows(0)
    row_bytes = padded_width(WIDTH) * DTYPE.itemsize
    return 2 * others * len(list(messages(rows, row_bytes * others, request_bytes(row_bytes * case.nodes))))


def reading_memory(case: Case) -> int:
    """Return the peak memory of a worker while it reads the graph, before it has rows of X."""
    return graph_reader_bytes(case.nodes, case.edges, weighted=False)


def memory(case: Case) -> int:
    """Return the peak memory of a worker that does not read the graph."""
    return worker_block_bytes(
        (case.nodes, case.nodes),
        DTYPE,
        source_bytes=push_source_bytes(case.nodes, 2 * case.edges, False, DTYPE),
        nnz=case.entries,
        n_workers=case.workers,
        components=WIDTH,
        threads=case.threads,
    )


def seconds(costs: Costs, case: Case) -> dict[str, float]:
    """Return the seconds of a whole fit by cause, if each worker has a machine and a link of its own.

    Messages are handled by one thread while the network transmits them, so the slower of the two counts. Each worker
    reads all edges.
    """
    cpu = pass_cpu(costs, case)
    sent = sent_bytes(case)
    network = sent / case.bandwidth + costs.latency * calls(case) / max(case.workers - 1, 1)
    work = case.workload
    passes = work.levels_seconds(1.0, 0.0)
    deflate = LEVELS * costs.deflate_entry * case.entries / case.workers / case.threads
    return {
        "read": max(costs.read_edge * case.edges, EDGE_BYTES * case.edges / case.bandwidth),
        "build X": costs.start + build_cpu(costs, case) / case.threads,
        "sweep": passes * cpu["sweep"] / case.threads + deflate,
        "update V": passes * cpu["update"] / case.threads,
        # Before each deflation V is gathered once more: half of a pass.
        "network" if network >= cpu["messages"] else "messages": (passes + LEVELS / 2) * max(network, cpu["messages"]),
    }


def predicted_row(costs: Costs, case: Case) -> dict[str, Any]:
    """Return the prediction for one case."""
    by_cause = seconds(costs, case)
    exchange = by_cause.get("network", 0.0) + by_cause.get("messages", 0.0)
    return {
        "nodes": case.nodes,
        "edges": case.edges,
        "workers": case.workers,
        "threads": case.threads,
        "Gbit/s": case.bandwidth / GBIT,
        "entries_per_row": case.per_row,
        "read_s": by_cause["read"],
        "build_s": by_cause["build X"],
        "sweep_s": by_cause["sweep"],
        "update_s": by_cause["update V"],
        "exchange_s": exchange,
        "minutes": sum(by_cause.values()) / 60,
        "sent_GB_per_pass": sent_bytes(case) / 1e9,
        "reading_GB": reading_memory(case) / 1e9,
        "memory_GB": max(reading_memory(case), memory(case)) / 1e9,
        "bottleneck": max(by_cause, key=by_cause.__getitem__),
    }


def check(costs: Costs, graph: Graph, workers: int) -> dict[str, Any]:
    """Run passes on worker processes of this machine; returns measurements, and predictions divided by them.

    The processes share the cores: CPU seconds of all of them, divided by as many cores as they can use, are the time
    that the machine needs. Of each elapsed second, every process spends ``costs.background`` on other things, which is
    subtracted from the measured CPU time. Elapsed time is reported as well, but other load on the machine is in it.
    """
    case = Case(graph.n_nodes, graph.n_edges, workers, threads=1, per_row=CHECKED_PER_ROW)
    found = passes_on_cluster(source_of(graph, CHECKED_PER_ROW), workers)
    case = replace(case, per_row=round(found["nnz"] / case.nodes))
    cores = min(workers, available_threads())
    times = {
        "build": (
            workers * (costs.start + costs.receive_edge * case.edges + build_cpu(costs, case)),
            found["load_cpu"],
            found["load_seconds"],
        ),
        "pass": (workers * sum(pass_cpu(costs, case).values()), found["cpu"], found["seconds"]),
    }
    row: dict[str, Any] = {"workers": workers}
    for name, (cpu, spent, elapsed) in times.items():
        measured = spent - costs.background * elapsed * workers
        row |= {f"{name}_cpu_s": measured / cores, f"{name}_ratio": cpu / measured, f"{name}_elapsed_s": elapsed}
    peak = max(found["load_peak"], found["pass_peak"])
    row |= {
        "sent_MB": found["sent"] / 1e6,
        "sent_ratio": sent_bytes(case) / found["sent"] if workers > 1 else 1.0,
        "peak_MB": peak / 1e6,
        "memory_ratio": memory(case) / peak,
    }
    row["within"] = str(all(abs(row[f"{name}_ratio"] - 1) <= TOLERANCE for name in (*times, "sent")))
    return row
