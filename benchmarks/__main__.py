"""``python -m benchmarks [name …]``: run all benchmarks, or those named."""

import sys
from importlib import import_module

from benchmarks.common import find_data

NAMES = (
    "everyday",
    "passes",
    "connectivity",
    "levels",
    "quality",
    "default_setting",
    "direction",
    "scoring",
    "level_weights",
    "tuning",
    "propagation",
    "living_graphs",
    "bipartite",
    "push",
    "memory",
    "reading_memory",
    "resume",
    "damaged_checkpoints",
    "neighbors",
    "methods",
    "walks",
    "skipgram",
    "baselines",
)
ON_DEMAND = (
    "scale",
    "frontier",
    "half_precision",
    "large",
    "cleora",
    "living_graphs_scale",
    "cluster",
    "cluster_fits",
    "cluster_kills",
    "cluster_model",
    "client_memory",
    "bytes_per_edge",
    "worker_calls",
    "gpu",
    "address_space",
    "tuned_peers",
    "explore",
    "explorer_screenshots",
)  # take long, or need special hardware, systems or a browser


def main() -> None:
    """Run the requested benchmarks in order."""
    names = [name.replace("-", "_") for name in sys.argv[1:]] or NAMES
    known = (*NAMES, *ON_DEMAND)
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"unknown benchmark: {', '.join(sorted(unknown))}; choose from {', '.join(known)}")
    find_data()
    for name in names:
        import_module(f"benchmarks.{name}").run()


if __name__ == "__main__":
    main()
