"""Print the lowest versions of all dependencies, extras and build requirements that pyproject.toml allows.

Each ``name>=version`` becomes ``name==version``, a constraint for pip. torch is left out: requirements-dev.txt pins it.
"""

import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
PINNED_ELSEWHERE = {"torch"}
REQUIREMENT = re.compile(r"([\w.-]+)>=([\w.]+)")


def main() -> None:
    """Print one constraint per line; fail if a requirement has no lower bound."""
    settings = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    project = settings["project"]
    groups = [settings["build-system"]["requires"], project["dependencies"], *project["optional-dependencies"].values()]
    lowest: dict[str, str] = {}
    for requirement in chain(*groups):
        match = REQUIREMENT.fullmatch(requirement)
        if match is None:
            sys.exit(f"{requirement!r} in {PYPROJECT.name} must have the form 'name>=version'")
        name, version = match.groups()
        if lowest.setdefault(name, version) != version:
            sys.exit(f"{name} has two lower bounds in {PYPROJECT.name}: {lowest[name]} and {version}")
    sys.stdout.writelines(f"{name}=={lowest[name]}\n" for name in sorted(lowest.keys() - PINNED_ELSEWHERE))


if __name__ == "__main__":
    main()
