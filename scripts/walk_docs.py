"""Walk through README, docs and tutorials as a reader does; `make walk-docs` does so in a new environment.

    python scripts/walk_docs.py [PAGE]...

The Python blocks of a page run as one script in a process of its own, and the commands between them by the installed
program, in a temporary folder with the files that ``tests/test_docs.py`` prepares. Blocks that a page marks as not run
are left out. Pages are named as in ``README.md``, ``faq.md`` or ``links.py``; all by default.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import test_docs  # noqa: E402

PREAMBLE = """
import subprocess
from pathlib import Path
from tests import test_docs
globals().update(test_docs.prepare(Path({page!r})))
"""
COMMAND = "assert subprocess.run({command!r}).returncode == {status}\n"


def main() -> int:
    """Run the pages; return 1 if one fails."""
    scripts = {page: script_of(page) for page in test_docs.RUNNABLE}
    scripts |= {page: page.read_text(encoding="utf-8") for page in sorted((ROOT / "examples").glob("*.py"))}
    chosen = set(sys.argv[1:]) or {page.name for page in scripts}
    failed = [page.name for page, script in scripts.items() if page.name in chosen and not passes(page, script)]
    print("failed: " + ", ".join(failed) if failed else f"{len(chosen)} pages run", flush=True)  # noqa: T201
    return int(bool(failed))


def script_of(page: Path) -> str:
    """Return a script that prepares the files of a page and executes its blocks."""
    parts = [PREAMBLE.format(page=str(page))]
    for language, code in test_docs.blocks(page):
        if language == "python":
            parts.append(code)
        for arguments in test_docs.commands(language, code):
            command = [str(Path(sys.executable).with_name("boostne")), *shlex.split(arguments, comments=True)]
            parts.append(COMMAND.format(command=command, status=test_docs.FAILING.get(arguments, 0)))
    return "\n".join(parts)


def passes(page: Path, script: str) -> bool:
    """Run a script in an empty folder; show its output if it fails."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.py")
        file.write_text(script, encoding="utf-8")
        done = subprocess.run(  # noqa: S603
            [sys.executable, str(file)], cwd=folder, env=environment, check=False, capture_output=True, encoding="utf-8"
        )
    print(f"{'FAILED' if done.returncode else 'ok':6} {page.relative_to(ROOT)}", flush=True)  # noqa: T201
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", flush=True)  # noqa: T201
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
