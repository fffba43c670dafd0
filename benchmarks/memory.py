"""The estimate of peak memory against what a fit takes, on six graphs, and limits against what is kept of them."""

from benchmarks.common import graph_named, peak_memory, peak_so_far, save, show
from boostne import BoostNE
from boostne.errors import MemoryLimitError
from boostne.memory import parse_bytes

# A data set or a number of nodes to generate, and how X is asked for.
CASES = (
    ("ppi", {"approximation": "exact"}),
    ("blogcatalog", {"approximation": "exact"}),
    ("blogcatalog", {"approximation": "spectral"}),
    ("blogcatalog", {"approximation": "push", "max_per_row": 500}),
    (20_000, {"approximation": "exact"}),
    (100_000, {"approximation": "push"}),
    (300_000, {"approximation": "push"}),
)
# A graph, the limit, and how X is asked for.
LIMITS = (
    ("blogcatalog", "2GB", {"approximation": "spectral"}),
    ("blogcatalog", "2GB", {"approximation": "push"}),
    ("blogcatalog", "2GB", {}),
    ("blogcatalog", "350MB", {}),
    (300_000, "3GB", {}),
    (300_000, "1GB", {}),
    (300_000, "500MB", {}),
)


def run() -> None:
    """Measure each in a process of its own."""
    rows = estimates()
    show("Peak memory beyond what is held before (d = 128, k = 8, T = 10)", rows)
    limits = [kept(*case) for case in LIMITS]
    show("Peak memory of the whole process, and what was allowed", limits)
    save("memory", rows, limits=limits)


def estimates() -> list[dict]:
    """Compare estimates with what fits take."""
    rows = []
    for name, options in CASES:
        peak, _ = peak_memory(fit, name, options)
        # Not where the peak is measured: what an estimate took and gave back would count as held before.
        expected = model(options).estimate(graph_named(name))
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


def kept(name: str | int, limit: str, options: dict) -> dict:
    """Fit within a limit; returns what became of it."""
    _, (form, peak) = peak_memory(fit_within, name, limit, options)
    row = {"graph": str(name), "limit_MB": parse_bytes("limit", limit) / 1e6, "form": form}
    return row | {"peak_MB": peak / 1e6, "kept": str(peak <= parse_bytes("limit", limit))}


def fit_within(name: str | int, limit: str, options: dict):
    """Prepare the graph; what comes back fits, or is refused, and tells the peak."""
    graph = graph_named(name)

    def work() -> tuple[str, int]:
        try:
            fitted = model({"memory_limit": limit, **options}).fit(graph)
        except MemoryLimitError as error:
            return str(error), peak_so_far()
        return f"{fitted.approximation_}, {fitted.nnz_[0]:,} entries", peak_so_far()

    return work


def fit(name: str | int, options: dict):
    """Prepare the graph; what comes back fits."""
    graph = graph_named(name)
    return lambda: bool(model(options).fit(graph))


def model(options: dict) -> BoostNE:
    """Three passes a level: memory does not depend on their number, and time does."""
    return BoostNE(max_iter=3, **options)
