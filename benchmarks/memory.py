"""Estimated and measured peak memory of fits, and whether memory limits are respected."""

from benchmarks.common import load_graph, peak_bytes, peak_memory, save, show
from boostne import BoostNE, DeepWalkMatrix
from boostne.errors import MemoryLimitError
from boostne.memory import parse_bytes

# Data set or number of nodes to generate, and X.
CASES = (
    ("ppi", DeepWalkMatrix(window=10, approximation="exact")),
    ("blogcatalog", DeepWalkMatrix(window=10, approximation="exact")),
    ("blogcatalog", DeepWalkMatrix(window=10, approximation="spectral")),
    ("blogcatalog", DeepWalkMatrix(window=10, approximation="push", max_per_row=500)),
    (20_000, DeepWalkMatrix(window=10, approximation="exact")),
    (100_000, DeepWalkMatrix(window=10, approximation="push")),
    (300_000, DeepWalkMatrix(window=10, approximation="push")),
)
# Data set or number of nodes, limit, and X.
LIMITS = (
    ("blogcatalog", "2GB", DeepWalkMatrix(window=10, approximation="spectral")),
    ("blogcatalog", "2GB", DeepWalkMatrix(window=10, approximation="push")),
    ("blogcatalog", "2GB"),
    ("blogcatalog", "350MB"),
    (300_000, "3GB"),
    (300_000, "1GB"),
    (300_000, "500MB"),
)


def run() -> None:
    """Measure each case in a separate process."""
    rows = estimates()
    show("Peak memory beyond what the process held before (d = 128, k = 8, T = 10)", rows)
    limits = [limited(*case) for case in LIMITS]
    show("Peak memory of the whole process, and its limit", limits)
    save("memory", rows, limits=limits)


def estimates() -> list[dict]:
    """Compare estimates with measurements."""
    rows = []
    for name, matrix in CASES:
        peak, _ = peak_memory(fit, name, matrix)
        # In this process: memory freed by the estimate would distort the measurement.
        expected = model(matrix).estimate(load_graph(name))
        rows.append(
            {
                "graph": str(name),
                "form": expected.form,
                "estimate_MB": expected.peak_bytes / 1e6,
                "peak_MB": peak / 1e6,
                "estimate/peak": expected.peak_bytes / peak,
            }
        )
    return rows


def limited(name: str | int, limit: str, matrix: DeepWalkMatrix | None = None) -> dict:
    """Fit with a memory limit; returns the form of X and the peak."""
    _, (form, peak) = peak_memory(fit_within, name, limit, matrix or DeepWalkMatrix())
    row = {"graph": str(name), "limit_MB": parse_bytes("limit", limit) / 1e6, "form": form}
    return row | {"peak_MB": peak / 1e6, "within_limit": str(peak <= parse_bytes("limit", limit))}


def fit_within(name: str | int, limit: str, matrix: DeepWalkMatrix):
    """Return a function that fits, or is refused, and returns the outcome and the peak."""
    graph = load_graph(name)

    def work() -> tuple[str, int]:
        try:
            fitted = model(matrix, limit).fit(graph)
        except MemoryLimitError as error:
            return str(error), peak_bytes()
        return f"{fitted.approximation_}, {fitted.nnz_[0]:,} entries", peak_bytes()

    return work


def fit(name: str | int, matrix: DeepWalkMatrix):
    """Return a function that fits."""
    graph = load_graph(name)
    return lambda: bool(model(matrix).fit(graph))


def model(matrix: DeepWalkMatrix, memory_limit: str | None = None) -> BoostNE:
    """Return a model with three passes per level: their number affects time, but not memory."""
    return BoostNE(connectivity=matrix, memory_limit=memory_limit, max_iter=3)
