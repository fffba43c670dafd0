"""Time and peak memory of building X and of a whole fit, relative to the size of X in CSR format."""

import time

from benchmarks.common import dataset_graph, peak_memory, save, show
from boostne import BoostNE, DeepWalkMatrix

DATASETS = ("cora", "wiki", "ppi", "blogcatalog")


def run() -> None:
    """Measure each case in a separate process."""
    rows = []
    for name in DATASETS:
        for form in ("exact", "spectral"):
            build_peak, (seconds, size, nnz) = peak_memory(build, name, form)
            fit_peak, fit_seconds = peak_memory(fit, name, form)
            rows.append(
                {
                    "dataset": name,
                    "form": form,
                    "nnz": nnz,
                    "csr_MB": size / 1e6,
                    "X_seconds": seconds,
                    "X_peak/csr": build_peak / size,
                    "fit_seconds": fit_seconds,
                    "fit_peak/csr": fit_peak / size,
                }
            )
    show("Connectivity matrix and whole fit (d = 128, k = 8, T = 10)", rows)
    save("connectivity", rows)


def build(name: str, form: str):
    """Return a function that builds X and returns seconds, bytes and entries."""
    graph = dataset_graph(name)
    model = BoostNE(connectivity=DeepWalkMatrix(window=10, approximation=form))
    model.estimate(graph)  # loads kernels and imports

    def work():
        begin = time.perf_counter()
        X = model.connectivity_matrix(graph)
        seconds = time.perf_counter() - begin
        return seconds, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, int(X.nnz)

    return work


def fit(name: str, form: str):
    """Return a function that fits and returns the seconds."""
    graph = dataset_graph(name)
    model = BoostNE(connectivity=DeepWalkMatrix(window=10, approximation=form))
    model.estimate(graph)

    def work() -> float:
        begin = time.perf_counter()
        model.fit(graph)
        return time.perf_counter() - begin

    return work
