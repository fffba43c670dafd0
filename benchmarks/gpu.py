"""The CUDA engine compared with the local one on the same machine: equality of results, then time and memory.

``python -m benchmarks gpu`` requires a GPU. Times are medians of calls after a warm-up, which compiles the kernels,
from the graph on the host to U and V on the host.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common import dataset_graph, save, show, timed
from boostne import BoostNE, DeepWalkMatrix, Graph, evaluate, load_dataset
from boostne.factorization import Engine, Level, LevelSettings, LocalEngine, boost, random_start
from boostne.factorization.boosting import INNER_SWEEPS
from boostne.matrices import CSRSource
from boostne.matrices.deepwalk.exact import ExactSource

DATASET = "blogcatalog"
LARGE_NODES, LARGE_EDGES = 100_000, 500_000
TRAIN = (10, 50, 90)
REPEATS = 7
NORM_RTOL = 1e-4  # of residual norms between the engines
DEVICE = "cuda"
SETTINGS = {"window": 10, "negative": 1.0, "dtype": "float32"}


def run() -> None:
    """Check, then measure."""
    import torch

    graph = dataset_graph(DATASET)
    first_call = timed(lambda: on_gpu(graph))[0]
    difference = check(graph)
    rows = [*compare(graph), *fits(graph)]
    show(f"{DATASET}, d = 128, k = 8: {torch.cuda.get_device_name()} and the local engine", rows)
    bandwidth = copy_bandwidth()
    passes = one_pass(graph, bandwidth)
    show(f"One pass over R; copying runs at {bandwidth / 1e12:.2f} TB/s", passes)
    large = [large_graph()]
    show("Generated graph", large)
    scores = f1(graph)
    show("Micro-F1", scores)
    facts = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "copy_bytes_per_s": bandwidth,
        "first_call_s": first_call,
        "difference_of_norms": difference,
    }
    save("gpu", rows, passes=passes, large=large, f1=scores, **facts)


def check(graph: Graph) -> float:
    """Exit unless the engines agree and the GPU is deterministic; returns the relative difference of residual norms."""
    local, cuda, again = on_local(graph)[2], on_gpu(graph)[2], on_gpu(graph)[2]
    difference = max(abs(b.residual_norm / a.residual_norm - 1) for a, b in zip(local, cuda, strict=True))
    if difference > NORM_RTOL or [level.n_iter for level in local] != [level.n_iter for level in cuda]:
        raise SystemExit(f"the engines differ: residual norms by {difference:.2g}")
    for other, same in zip(cuda, again, strict=True):
        if not (np.array_equal(other.U, same.U) and np.array_equal(other.V, same.V)):
            raise SystemExit("two runs on the GPU differ")
    engine = loaded_engine(graph)
    for level in cuda:
        engine.replay(level.U, level.V)
    if engine.nnz != cuda[-1].nnz or engine.norm2**0.5 != cuda[-1].residual_norm:
        raise SystemExit("replayed levels give a different residual")
    return difference


def compare(graph: Graph) -> list[dict[str, Any]]:
    """Return the seconds of X and of the levels on both engines."""
    theirs, ours = (median_of(run, graph) for run in (on_local, on_gpu))
    return [row(*of) for of in zip(("exact X", "8 levels", "both"), ours, theirs, strict=True)]


def fits(graph: Graph) -> list[dict[str, Any]]:
    """Return the seconds of whole fits."""
    rows = []
    for form, repeats in (("exact", REPEATS), ("spectral", 1)):
        seconds = []
        for engine in ("cuda", "local"):
            model = BoostNE(connectivity=DeepWalkMatrix(window=10, approximation=form), engine=engine)
            model.fit(graph)
            seconds.append(timed(partial(model.fit, graph), repeats)[0])
        rows.append(row(f"BoostNE.fit, {form}", *seconds))
    return rows


def row(what: str, gpu_s: float, local_s: float) -> dict[str, Any]:
    """Return a row of the table."""
    return {"what": what, "gpu_s": gpu_s, "local_s": local_s, "ratio": local_s / gpu_s}


def median_of(run: Callable[[Graph], tuple[float, float, list[Level]]], graph: Graph) -> tuple[float, ...]:
    """Return the median seconds of X, of the levels and of both."""
    run(graph)
    seconds = np.array([run(graph)[:2] for _ in range(REPEATS)])
    return tuple(np.median(np.column_stack([seconds, seconds.sum(1)]), axis=0).tolist())


def on_local(graph: Graph) -> tuple[float, float, list[Level]]:
    """Return the seconds of X, the seconds of the levels, and the levels."""
    begin = time.perf_counter()
    X, _ = ExactSource(graph, **SETTINGS).build()
    middle = time.perf_counter()
    engine = LocalEngine()
    engine.load(CSRSource(X))
    levels = run_levels(engine)
    return middle - begin, time.perf_counter() - middle, levels


def on_gpu(graph: Graph) -> tuple[float, float, list[Level]]:
    """Return the seconds of X, the seconds of the levels, and the levels."""
    import torch

    begin = time.perf_counter()
    engine = loaded_engine(graph)
    torch.cuda.synchronize()
    middle = time.perf_counter()
    levels = run_levels(engine)
    return middle - begin, time.perf_counter() - middle, levels


def loaded_engine(graph: Graph) -> Engine:
    """Return a CUDA engine that holds the exact X."""
    from boostne.factorization.cuda.engine import CudaEngine

    engine = CudaEngine()
    engine.load(ExactSource(graph, **SETTINGS))
    return engine


def run_levels(engine: Engine) -> list[Level]:
    """Return eight levels of sixteen dimensions."""
    model = BoostNE()
    settings = LevelSettings(model.dimensions // model.levels, model.tol, model.max_iter)
    start = random_start(0, engine.shape[1], settings.components, engine.dtype)
    return list(boost(engine, settings, model.levels, start))


def one_pass(graph: Graph, bandwidth: float) -> list[dict[str, Any]]:
    """Time the pass over R, stored densely and sparsely, and return the fraction of the bandwidth it achieves.

    R is read twice per pass. "both products" excludes the HALS sweeps and the sums.
    """
    import torch

    from boostne.factorization.cuda.blocks import DenseBlock, SparseBlock, dense_rows
    from boostne.factorization.cuda.level import DeviceLevel

    n = graph.n_nodes
    R = dense_rows(n, n, torch.float32, DEVICE)
    ExactSource(graph, **SETTINGS).device_rows(DEVICE)(np.arange(n), R)
    rows = []
    for storage, block in (("dense", DenseBlock(R)), ("sparse", SparseBlock.from_dense(R))):
        level = DeviceLevel([block], (n, n), 16, torch.float32, DEVICE)
        level.start(random_start(0, n, 16, np.float32)(0))
        size = n * n * 4 if storage == "dense" else block.nnz * 8
        P = torch.zeros(block.parts, n, 16, device=DEVICE)
        C = torch.zeros(block.transposed_parts, n, 16, device=DEVICE)

        def products(block: Any = block, V: Any = level.V, P: Any = P, C: Any = C) -> None:
            block.matmul(V, P)
            block.add_transposed_matmul(V, C)

        def whole(level: Any = level) -> None:
            level.step(INNER_SWEEPS)

        for what, work in (("both products", products), ("the pass", whole)):
            seconds = on_device(work)
            rows.append(
                {
                    "storage": storage,
                    "what": what,
                    "R_MB": size / 1e6,
                    "ms": seconds * 1e3,
                    "share_of_bandwidth, R read twice": 2 * size / seconds / bandwidth,
                    "R read once": size / seconds / bandwidth,
                }
            )
    return rows


def copy_bandwidth() -> float:
    """Return the bytes read and written per second by a large copy on the GPU."""
    import torch

    source = torch.rand(1 << 30, device=DEVICE)
    target = torch.empty_like(source)
    return 2 * source.nbytes / on_device(lambda: target.copy_(source))


def on_device(work: Callable[[], Any], repeats: int = 20) -> float:
    """Return the median seconds on the GPU."""
    import torch

    seconds = []
    for i in range(repeats + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        if i >= 3:  # after compilation and graph capture
            seconds.append(begin.elapsed_time(end) / 1e3)
    return float(np.median(seconds))


def large_graph() -> dict[str, Any]:
    """Time X and the levels of a graph whose X has about a billion entries."""
    import torch

    rng = np.random.default_rng(0)
    weight = rng.pareto(2.0, LARGE_NODES) + 1
    ends = (rng.choice(LARGE_NODES, LARGE_EDGES, p=weight / weight.sum()) for _ in range(2))
    graph = Graph.from_edges(*ends, nodes=np.arange(LARGE_NODES))
    torch.cuda.empty_cache()
    on_gpu(graph)
    torch.cuda.reset_peak_memory_stats()
    x_seconds, level_seconds, levels = on_gpu(graph)
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "X_s": x_seconds,
        "levels_s": level_seconds,
        "passes": sum(level.n_iter for level in levels),
        "nnz_left": levels[-1].nnz,
        "peak_GB": torch.cuda.max_memory_allocated() / 1e9,
    }


def f1(graph: Graph) -> list[dict[str, Any]]:
    """Return Micro-F1 of both engines on the same ten splits."""
    labels = load_dataset(DATASET).labels
    rows = []
    for engine in ("local", "cuda"):
        model = BoostNE(engine=engine).fit(graph)
        scores = evaluate(model.embedding_, labels, train=TRAIN)
        means = zip(TRAIN, scores.mean("micro"), strict=True)
        rows.append({"engine": engine, **{f"{ratio} %": float(mean) for ratio, mean in means}})
    return rows
