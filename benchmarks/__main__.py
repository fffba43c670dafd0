"""``python -m benchmarks [name …]``: run all benchmarks, or those named."""

import sys
from importlib import import_module

from benchmarks.common import find_data

NAMES = ("everyday", "passes", "connectivity", "levels", "quality", "cluster")


def main() -> None:
    """Run the benchmarks asked for, in order."""
    names = sys.argv[1:] or NAMES
    unknown = set(names) - set(NAMES)
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    find_data()
    for name in names:
        import_module(f"benchmarks.{name}").run()


if __name__ == "__main__":
    main()
