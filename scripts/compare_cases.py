"""Fit the cases of ``scripts/compare-with`` and compare two sets of results bit by bit.

``fit FOLDER`` fits models with the installed boostne and writes ``FOLDER/CASE.npz``; ``compare FOLDER FOLDER`` prints
a table and exits with status 1 unless all arrays are equal; ``names`` prints the cases. ``--cases NAME,NAME`` selects
some of them. Graphs are drawn here, with NumPy only, so that all revisions embed the same ones.
"""

import argparse
import importlib
import inspect
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Arrays = dict[str, NDArray[Any]]

# A matrix of each form, by name and parameters.
EXACT = ("deepwalk", {"approximation": "exact", "window": 5})
SPECTRAL = ("deepwalk", {"approximation": "spectral", "window": 5, "eigenpairs": 64})
PUSH = ("deepwalk", {"approximation": "push", "window": 5, "max_per_row": 60})
FORMS = {"exact": EXACT, "spectral": SPECTRAL, "push": PUSH}
OTHER_MATRICES = {  # without "common-neighbors", which older revisions spell differently
    "node2vec": {"p": 0.5, "q": 2.0, "window": 4},
    "line": {"negative": 2.0},
    "grarep": {"window": 3},
    "adjacency": {},
    "normalized": {},
    "adamic-adar": {},
    "katz": {},
    "pagerank": {},
}
MIXING = 0.3  # fraction of edges that ignore the communities
# Where ``gpu_device`` is defined, newest layout first.
CUDA_MODULES = ("boostne.factorization.cuda.engine", "boostne.engines.cuda")


def partition_graph(n_nodes: int, communities: int, degree: int, *, weighted: bool) -> sparse.csr_array:
    """Draw the adjacency matrix of a graph with communities, in which no node is isolated."""
    rng = np.random.default_rng(7)
    sources = np.repeat(np.arange(n_nodes), degree // 2)
    within = (sources + communities * rng.integers(1, n_nodes // communities, len(sources))) % n_nodes
    targets = np.where(rng.random(len(sources)) < MIXING, rng.integers(n_nodes, size=len(sources)), within)
    kept = sources != targets
    upper = sparse.csr_array((np.ones(kept.sum()), (sources[kept], targets[kept])), shape=(n_nodes, n_nodes))
    adjacency = (upper + upper.T).tocsr()
    if not weighted:
        adjacency.data[:] = 1.0
    return adjacency


def make_model(matrix: tuple[str, dict[str, Any]], *, engine: Any = "local", **parameters: Any) -> Any:
    """Make a BoostNE of any revision: with flat parameters, or with matrix objects and a client as the engine."""
    import boostne

    name, options = matrix
    known = inspect.signature(boostne.BoostNE).parameters
    if "negative" in known:
        parameters |= {"connectivity": name, **options}
    else:
        parameters["connectivity"] = importlib.import_module("boostne.matrices").MATRICES[name](**options)
    if "client" in known and not isinstance(engine, str):
        parameters["client"], engine = engine, "dask"
    return boostne.BoostNE(**{"dimensions": 32, "levels": 4, "engine": engine, **parameters})


def learned(model: Any, prefix: str = "") -> Arrays:
    """Return what a fitted model learned, as arrays."""
    return {
        prefix + "vectors": model.embedding_.vectors,
        prefix + "context": model.context_,
        prefix + "nnz": model.nnz_,
        prefix + "n_iter": model.n_iter_,
        prefix + "residual_norms": model.residual_norms_,
        prefix + "objective": np.concatenate(model.objective_),
    }


def fit_form(matrix: tuple[str, dict[str, Any]], dtype: str) -> Arrays:
    """Fit one form of DeepWalk's matrix on the local engine."""
    return learned(make_model(matrix, dtype=dtype).fit(partition_graph(2000, 8, 12, weighted=True)))


def fit_engine(engine: Any) -> Arrays:
    """Fit all forms of DeepWalk's matrix, and another matrix, on one engine."""
    graph = partition_graph(1000, 8, 10, weighted=True)
    results: Arrays = {}
    for name, matrix in {**FORMS, "katz": ("katz", {})}.items():
        results |= learned(make_model(matrix, engine=engine, max_iter=20).fit(graph), f"{name}_")
    return results


def fit_dask() -> Arrays:
    """Fit on two worker processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return fit_engine(client)


def fit_cuda() -> Arrays:
    """Fit on the CUDA engine, which runs on PyTorch's CPU device."""
    import torch

    torch.set_num_threads(1)  # OpenMP threads of so many small operations would mostly wait for each other
    with cuda_engine_on_cpu():
        return fit_engine("cuda")


@contextmanager
def cuda_engine_on_cpu() -> Iterator[None]:
    """Replace the device of the CUDA engine, wherever it is imported."""
    for name in CUDA_MODULES:
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    owners = [module for name, module in sys.modules.items() if _has_gpu_device(name, module)]
    if not owners:
        raise RuntimeError(f"none of {', '.join(CUDA_MODULES)} defines gpu_device; name its module in {__file__}")
    original = owners[0].gpu_device
    for module in owners:
        module.gpu_device = lambda: "cpu"
    try:
        yield
    finally:
        for module in owners:
            module.gpu_device = original


def _has_gpu_device(name: str, module: Any) -> bool:
    return name.startswith("boostne.") and "gpu_device" in vars(module)


def fit_large() -> Arrays:
    """Fit a graph of 140,000 nodes, which is reordered by community and stored in column blocks."""
    matrix = ("deepwalk", {"approximation": "push", "window": 4, "max_per_row": 50})
    model = make_model(matrix, levels=2, max_iter=20)
    return learned(model.fit(partition_graph(140_000, 50, 8, weighted=False)))


def fit_resumed() -> Arrays:
    """Fit each of the other matrices, delete all levels but the first from the checkpoint, and resume."""
    graph = partition_graph(300, 4, 8, weighted=True)
    results: Arrays = {}
    for name, options in OTHER_MATRICES.items():
        with tempfile.TemporaryDirectory() as folder:
            make_model((name, options), checkpoint=folder).fit(graph)
            _, *later = sorted(Path(folder).glob("level-*.npz"))
            for path in later:
                path.unlink()
            results |= learned(make_model((name, options), checkpoint=folder).fit(graph), f"{name}_")
            if not later:
                raise RuntimeError(f"the checkpoint of {name!r} has no level after the first")
    return results


CASES: dict[str, Callable[[], Arrays]] = {
    "exact-float32": lambda: fit_form(EXACT, "float32"),
    "exact-float64": lambda: fit_form(EXACT, "float64"),
    "spectral-float32": lambda: fit_form(SPECTRAL, "float32"),
    "spectral-float64": lambda: fit_form(SPECTRAL, "float64"),
    "push-float32": lambda: fit_form(PUSH, "float32"),
    "push-float64": lambda: fit_form(PUSH, "float64"),
    "dask": fit_dask,
    "cuda": fit_cuda,
    "large": fit_large,
    "resumed": fit_resumed,
}


def fit(folder: Path, names: list[str]) -> None:
    """Write the results of each case to a file of its own; a case that fails has none."""
    folder.mkdir(parents=True)
    for name in names:
        begin = time.perf_counter()
        try:
            np.savez(folder / f"{name}.npz", allow_pickle=False, **CASES[name]())
        except Exception:  # the other cases are still worth comparing
            traceback.print_exc()
        sys.stderr.write(f"  {name}: {time.perf_counter() - begin:.1f} s\n")


def compare(one: Path, two: Path, names: list[str]) -> bool:
    """Print a table of the differences; return whether there are none."""
    from rich.console import Console
    from rich.table import Table

    table = Table("case", "equal", "max abs difference", "arrays that differ")
    all_equal = True
    for name in names:
        paths = [folder / f"{name}.npz" for folder in (one, two)]
        if not all(path.exists() for path in paths):
            table.add_row(name, "failed")
            all_equal = False
            continue
        differences = differing_arrays(*paths)
        all_equal &= not differences
        largest = max(differences.values(), default=0.0)
        table.add_row(name, "no" if differences else "yes", f"{largest:.3g}", ", ".join(differences))
    Console().print(table)
    return all_equal


def differing_arrays(one: Path, two: Path) -> dict[str, float]:
    """Return the names of the arrays that differ in any bit, with their largest absolute difference."""
    with np.load(one) as first, np.load(two) as second:
        distances = {name: array_distance(first.get(name), second.get(name)) for name in sorted({*first, *second})}
    return {name: distance for name, distance in distances.items() if distance is not None}


def array_distance(a: NDArray[Any] | None, b: NDArray[Any] | None) -> float | None:
    """Return the largest absolute difference, NaN if the shapes differ, or None if all bits are equal."""
    if a is None or b is None or a.shape != b.shape:
        return float("nan")
    if a.dtype == b.dtype and a.tobytes() == b.tobytes():
        return None
    return float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max())


def main() -> int:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["names", "fit", "compare"])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--cases", default=",".join(CASES), help="names separated by commas; by default all")
    arguments = parser.parse_args()
    names = arguments.cases.split(",")
    if unknown := [name for name in names if name not in CASES]:
        parser.error(f"unknown case {unknown[0]!r}; the cases are {', '.join(CASES)}")
    if arguments.command == "compare":
        return 0 if compare(*arguments.folders, names) else 1
    if arguments.command == "fit":
        fit(*arguments.folders, names)
    else:
        sys.stdout.write("\n".join(names) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
