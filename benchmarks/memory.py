"""The estimate of peak memory against what a fit takes, on six graphs, and limits against what is kept of them."""

from benchmarks.common import graph_of, peak_memory, save, show
from boostne import BoostNE, Graph, planted_partition

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


def run() -> None:
    """Measure each in a process of its own."""
    rows = []
    for name, options in CASES:
        peak, (form, expected) = peak_memory(fit, name, options)
        rows.append(
            {
                "graph": str(name),
                "form": form,
                "estimate_MB": expected / 1e6,
                "peak_MB": peak / 1e6,
                "estimate/peak": expected / peak,
            }
        )
    show("Peak memory beyond what is held before (d = 128, k = 8, T = 10)", rows)
    save("memory", rows)


def graph_named(name: str | int) -> Graph:
    """Return a data set's graph, or one with so many nodes."""
    return planted_partition(name).graph if isinstance(name, int) else graph_of(name)


def fit(name: str | int, options: dict):
    """Prepare the graph and the estimate; what comes back fits."""
    graph = graph_named(name)
    # Three passes a level: memory does not depend on their number, and time does.
    model = BoostNE(max_iter=3, **options)
    expected = model.estimate(graph)

    def work() -> tuple[str, int]:
        model.fit(graph)
        return expected.form, expected.peak_bytes

    return work
