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
    "push",
    "memory",
    "resume",
    "methods",
    "walks",
    "skipgram",
    "baselines",
)
ON_DEMAND = ("scale", "cluster", "gpu")  # too long to be run with the others, or not for every machine


def main() -> None:
    """Run the benchmarks asked for, in order."""
    names = sys.argv[1:] or NAMES
    known = (*NAMES, *ON_DEMAND)
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    find_data()
    for name in names:
        import_module(f"benchmarks.{name}").run()


if __name__ == "__main__":
    main()
