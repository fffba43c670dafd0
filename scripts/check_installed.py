"""Run the contract and kernel tests against the installed package instead of the source tree.

    python scripts/check_installed.py [--reference] [option of pytest]...

The tests are copied to a temporary folder, so that ``boostne`` can only be the installed package. It must have its
compiled kernels; with ``--reference``, it must have been installed without, and the tests of the compiled kernels are
left out.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = (
    "test_boosting.py",
    "test_contract.py",
    "test_engine_contract.py",
    "test_kernels.py",
    "test_layout.py",
    "test_products.py",
    "test_public.py",
    "test_skipgram.py",
    "test_walks.py",
)
NEEDS_SOURCES = "tests/test_kernels.py::test_signatures_match_the_sources"  # wheels do not contain the C++ code
COMPILED = "baseline or avx2 or avx512"
CHECK = """
import sys, warnings, boostne, boostne.kernels
warnings.simplefilter("ignore")  # that the kernels are slow
found = boostne.kernels.instruction_set()
print(f"boostne {boostne.__version__} in {boostne.__path__[0]}, {found} kernels", flush=True)
if (found == "reference") != (sys.argv[1] == "reference"):
    sys.exit(f"expected {sys.argv[1]} kernels, found {found} ones")
"""


def main() -> int:
    """Return the exit status of pytest."""
    options = sys.argv[1:]
    reference = "--reference" in options
    selection = [f"--deselect={NEEDS_SOURCES}"]
    if reference:
        options.remove("--reference")
        selection += ["-m", "not compiled", "-k", f"not ({COMPILED})"]
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "BOOSTNE_KERNELS"}}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "tests", Path(folder, "tests"))
        shutil.copy(ROOT / "pyproject.toml", folder)

        files = [f"tests/{name}" for name in TESTS]
        for arguments in (
            ["-c", CHECK, "reference" if reference else "compiled"],
            ["-m", "pytest", *files, *selection, *options],
        ):
            done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=False)  # noqa: S603
            if done.returncode:
                break
            if reference:  # chosen, rather than fallen back to with a warning, which some tests would count
                environment["BOOSTNE_KERNELS"] = "reference"
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
