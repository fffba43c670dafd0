"""Costs of the parts of a fit on a cluster, in CPU seconds of one thread, for :mod:`benchmarks.cluster_model`.

CPU time depends less on other load than elapsed time, but cores share caches and memory: what all threads of a worker
do at the same time is measured in one process per core at the same time. Push and passes are measured on two sizes of
graphs, since larger ones fit worse into caches; this growth is extrapolated by the logarithm of the number of nodes.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.cluster import INNER_SWEEPS, WIDTH, cluster_options, count_sent_bytes, source_of
from benchmarks.common import load_graph
from boostne import Graph, read_graph
from boostne.factorization import random_start
from boostne.factorization.context_factor import ContextFactor
from boostne.factorization.dask.worker_block import draft_rows
from boostne.kernels import Kernels, available_threads, get_kernels
from boostne.kernels.column_blocked_csr import Residual, as_residual
from boostne.kernels.layout import padded_factor
from boostne.kernels.tree_reduction import tree_sum
from boostne.matrices import MatrixSource

SMALL_NODES, COST_NODES, GROWTH_NODES = 10_000, 150_000, 1_000_000
PER_ROW = (20, 60)
REPEATS = 3
# Rows of a fetched slice of V (a message, and one of no size), and how often it is fetched.
FETCHES = ((60_000, 20), (1, 60))
IDLE_SECONDS = 5


@dataclass(frozen=True)
class Costs:
    """CPU seconds of one thread.

    Attributes
    ----------
    push_row, push_entry : float
        To build and sort a row of X, and each of its entries.
    pass_entry, pass_row, pass_column : float
        Of a pass over R: per entry, per row, and per column and shard.
    deflate_entry : float
        To deflate an entry of R.
    update_row : float
        To extrapolate a row of V and update it.
    message_byte, message_call : float
        Of a worker, per byte and call, if it sends as much as it receives.
    latency : float
        Elapsed seconds of a call.
    background : float
        Of a worker process that does nothing, per elapsed second: Dask samples its threads and sends reports.
    start : float
        Of a worker process, to load what it needs for its first row.
    receive_edge : float
        To receive an edge of a graph that the client has, and to prepare it for push.
    read_edge : float
        To read an edge from a Parquet file and assemble the adjacency.
    push_growth, pass_growth : float
        Relative growth of the costs of push and of a pass when the number of nodes doubles.
    """

    push_row: float
    push_entry: float
    pass_entry: float
    pass_row: float
    pass_column: float
    deflate_entry: float
    update_row: float
    message_byte: float
    message_call: float
    latency: float
    background: float
    start: float
    receive_edge: float
    read_edge: float
    push_growth: float
    pass_growth: float

    def growth(self, per_doubling: float, nodes: int) -> float:
        """Return the cost on a graph of this size relative to the measured one."""
        return 1 + per_doubling * max(float(np.log2(nodes / COST_NODES)), 0.0)

    def in_nanoseconds(self) -> dict[str, float]:
        """Return all costs in nanoseconds, except the growth in percent."""
        return {name: 100 * value if "growth" in name else 1e9 * value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class MeasuredRows:
    """Some rows of X, built and passed over: sizes, and CPU seconds."""

    rows: int
    columns: int
    shards: int
    entries: int
    build: float
    sweep: float
    deflate: float


@dataclass(frozen=True)
class CoreCosts:
    """What one of several processes measured while the others did the same.

    Attributes
    ----------
    rows : list of MeasuredRows
        All rows of X for each number of entries per row, then an eighth of them, then as many of a larger graph.
    update : float
        CPU seconds to update a row of V.
    """

    rows: list[MeasuredRows]
    update: float


def measured_costs() -> Costs:
    """Measure all costs."""
    cores = on_all_cores(core_costs)
    *found, beyond = mean_rows(cores)
    full, part = found[:-1], found[-1]
    graph = load_graph(COST_NODES)
    push_row, push_entry = fitted([(m.rows, m.entries) for m in found], [m.build for m in found])
    sizes = [(m.entries, m.rows, m.columns * m.shards) for m in found]
    pass_entry, pass_row, pass_column = fitted(sizes, [m.sweep for m in found])
    expected = pass_entry * beyond.entries + pass_row * beyond.rows + pass_column * beyond.columns * beyond.shards
    doublings = float(np.log2(GROWTH_NODES / COST_NODES))
    message_byte, message_call, latency, background = measured_messages()
    start, receive_edge = measured_start(graph)
    return Costs(
        push_row=push_row,
        push_entry=push_entry,
        pass_entry=pass_entry,
        pass_row=pass_row,
        pass_column=pass_column,
        deflate_entry=full[-1].deflate / full[-1].entries,
        update_row=float(np.mean([core.update for core in cores])),
        message_byte=message_byte,
        message_call=message_call,
        latency=latency,
        background=background,
        start=start,
        receive_edge=receive_edge,
        read_edge=measured_reading(graph),
        push_growth=max(beyond.build / part.build * part.rows / beyond.rows - 1, 0.0) / doublings,
        pass_growth=max(beyond.sweep / expected - 1, 0.0) / doublings,
    )


def on_all_cores(measure: Callable[[], CoreCosts]) -> list[CoreCosts]:
    """Measure in one process per core at the same time."""
    cores = available_threads()
    with ProcessPoolExecutor(cores, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [future.result() for future in [pool.submit(measure) for _ in range(cores)]]


def core_costs() -> CoreCosts:
    """Measure the costs of rows of X and of V, in a process that uses one core."""
    graph, large = load_graph(COST_NODES), load_graph(GROWTH_NODES)
    n = graph.n_nodes
    cases = [(graph, n, per_row) for per_row in PER_ROW] + [(one, n // 8, PER_ROW[-1]) for one in (graph, large)]
    return CoreCosts([measured_rows(one, range(count), per_row) for one, count, per_row in cases], measured_update(n))


def mean_rows(cores: list[CoreCosts]) -> list[MeasuredRows]:
    """Return the means of what the processes measured; all of them built the same rows."""
    means = []
    for same in zip(*(core.rows for core in cores), strict=True):
        timings = {name: float(np.mean([getattr(m, name) for m in same])) for name in ("build", "sweep", "deflate")}
        means.append(replace(same[0], **timings))
    return means


def fitted(sizes: list[tuple[int, ...]], seconds: list[float]) -> list[float]:
    """Return the cost of each kind of unit, none negative, that explains the measured seconds best."""
    A, b = np.array(sizes, float), np.array(seconds)
    scale = A.max(axis=0)
    costs, _ = nnls(A / scale / b[:, None], np.ones(len(b)))  # relative errors count
    return [float(cost) for cost in costs / scale]


def cpu_seconds(function: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the median CPU time of some calls."""
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        seconds.append(time.process_time() - begin)
    return float(np.median(seconds))


def measured_rows(graph: Graph, rows: range, per_row: int) -> MeasuredRows:
    """Build some rows of X as a worker does, and pass over them."""
    kernels, n = get_kernels(threads=1), graph.n_nodes
    source = source_of(graph, per_row)
    R = built(source, rows, kernels)
    build = cpu_seconds(lambda: built(source, rows, kernels), repeats=REPEATS if len(rows) < n else 1)
    V = padded_factor(random_start(0, n, WIDTH, source.dtype)(0))
    U = padded_factor(np.zeros((len(rows), WIDTH), V.dtype))
    gram = V.T.astype(np.float64) @ V.astype(np.float64)
    entries = R.nnz
    sweep = cpu_seconds(lambda: tree_sum(kernels.sweep(R, V, gram, U, inner=INNER_SWEEPS)[0]))
    deflate = cpu_seconds(lambda: kernels.deflate(R, U, V), repeats=1)
    return MeasuredRows(len(rows), n, R.n_shards, entries, build, sweep, deflate)


def built(source: MatrixSource, rows: range, kernels: Kernels) -> Residual:
    """Return some rows of X in the layout of the passes; part of X is one shard."""
    X = draft_rows(source, rows, 1).builder.finish()
    cuts = None if len(rows) == source.shape[0] else np.array([0, len(rows)])
    return as_residual(X, kernels, cuts=cuts)


def measured_update(n: int) -> float:
    """Return the cost per row of accepting V and updating it."""
    V = padded_factor(random_start(0, n, WIDTH, np.float32)(0))
    context, C = ContextFactor(get_kernels(threads=1), V, WIDTH), V.copy()

    def update() -> None:
        context.accept(0.5)
        context.update(C, np.eye(V.shape[1]), INNER_SWEEPS)

    return cpu_seconds(update) / n


def measured_reading(graph: Graph) -> float:
    """Return the cost per edge of reading a graph from a Parquet file, and of what push needs beside it."""
    import pyarrow as pa
    from pyarrow import parquet

    A = graph.adjacency.tocoo()
    once = A.row < A.col
    table = pa.table({"source": A.row[once].astype(np.int64), "target": A.col[once].astype(np.int64)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        parquet.write_table(table, path)
        return cpu_seconds(lambda: source_of(read_graph(path), PER_ROW[-1])) / len(table)


def measured_start(graph: Graph) -> tuple[float, float]:
    """Return the CPU seconds of a worker until it has its first row: of a small graph, and more per edge."""
    from distributed import Client, wait

    spent = []
    with Client(**cluster_options(2)) as client:
        client.wait_for_workers(2)
        client.run(count_sent_bytes)  # as before the runs that are compared with the model
        for one in (load_graph(SMALL_NODES), graph):
            before = client.run(time.process_time)
            source = client.scatter(source_of(one, PER_ROW[-1]), broadcast=True, hash=False)
            wait([client.submit(draft_rows, source, range(1), 1, workers=[at], pure=False) for at in before])
            after = client.run(time.process_time)
            spent.append(sum(after[at] - before[at] for at in before) / len(before))
    small, full = spent
    return small, max(full, 0.0) / graph.n_edges


class Peer:
    """An actor that stores a slice and fetches those of others."""

    def __init__(self, rows: int) -> None:
        self._slice = np.ones((rows, WIDTH), np.float32)

    async def rows(self) -> Any:
        """Return the slice."""
        return self._slice

    async def fetch(self, other: Any, times: int) -> float:
        """Copy the slice of another peer some times; returns the least seconds of a call."""
        mine, seconds = np.empty_like(self._slice), []
        for _ in range(times):
            begin = time.perf_counter()
            mine[:] = await other.rows()
            seconds.append(time.perf_counter() - begin)
        return min(seconds)


def measured_messages() -> tuple[float, float, float, float]:
    """Return CPU seconds per byte and call, latency, and background of two workers that fetch from each other."""
    from distributed import Client

    cpu, least = [], []
    with Client(**cluster_options(2)) as client:
        client.wait_for_workers(2)
        addresses = sorted(client.run(time.process_time))
        before, begin = client.run(time.process_time), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        after, idle = client.run(time.process_time), time.perf_counter() - begin
        background = sum(after[at] - before[at] for at in addresses) / 2 / idle
        for rows, times in FETCHES:
            peers = [client.submit(Peer, rows, actor=True, workers=[at], pure=False).result() for at in addresses]
            for count in (3, times):  # the first calls open connections
                before, begin = client.run(time.process_time), time.perf_counter()
                futures = [peer.fetch(other, count) for peer, other in zip(peers, reversed(peers), strict=True)]
                latency = min(future.result() for future in futures)
                after, elapsed = client.run(time.process_time), time.perf_counter() - begin
            spent = sum(after[at] - before[at] for at in addresses) / 2 - background * elapsed
            cpu.append(max(spent, 0.0) / times)
            least.append(latency)
    (large, _), _ = FETCHES
    per_call = cpu[1]
    return max(cpu[0] - per_call, 0.0) / (large * WIDTH * 4), per_call, least[1], background
