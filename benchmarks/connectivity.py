"""Building X: time, and peak memory over the bytes of its CSR arrays; then the same for a whole fit."""

import time

from benchmarks.common import graph_of, peak_memory, save, show
from boostne import BoostNE

DATASETS = ("cora", "wiki", "ppi", "blogcatalog")


def run() -> None:
    """Measure each in a process of its own."""
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
    """Prepare the graph; what comes back builds X and tells seconds, bytes and entries."""
    graph = graph_of(name)
    model = BoostNE(approximation=form)
    model.estimate(graph)  # loads the kernels and what they need

    def work():
        begin = time.perf_counter()
        X = model.connectivity_matrix(graph)
        seconds = time.perf_counter() - begin
        return seconds, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, int(X.nnz)

    return work


def fit(name: str, form: str):
    """Prepare the graph; what comes back fits and tells the seconds."""
    graph = graph_of(name)
    model = BoostNE(approximation=form)
    model.estimate(graph)

    def work() -> float:
        begin = time.perf_counter()
        model.fit(graph)
        return time.perf_counter() - begin

    return work
