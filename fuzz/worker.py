"""Worker process: ``python -m fuzz.worker FOLDER FAILURES SEED`` executes the cases named on standard input.

Each input line is a target and a range of numbers. The answer is a line when the target is loaded, and then one line
per case, its report. The process exits when its input ends, even if a case hangs.
"""

import json
import logging
import os
import queue
import shutil
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from fuzz.case import FAILURE, Report, execute, find_target

ADDRESS_SPACE = 3 * 1024**3
KEPT_PER_SIGNATURE = 3


def main(folder: Path, failures: Path, seed: int) -> None:
    """Execute cases until standard input ends."""
    # Results have a stream of their own: what the code under test prints must not mix with them.
    results = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    logging.getLogger("boostne").addHandler(logging.NullHandler())
    limit_memory()
    kept: Counter[str] = Counter()
    for name, first, stop in read_requests():
        find_target(name)
        write(results, "ready")
        for number in range(first, stop):
            clear(folder)
            begin = time.perf_counter()
            report = execute(name, seed, number, folder)
            seconds = time.perf_counter() - begin
            kept[report.signature] += 1
            if report.outcome == FAILURE and kept[report.signature] <= KEPT_PER_SIGNATURE:
                save_failure(failures, folder, name, seed, number, report)
            write(results, [*report, seconds])


def limit_memory() -> None:
    """Limit the address space of this process, on platforms that support it."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def read_requests() -> Iterator[tuple[str, int, int]]:
    """Yield the lines of standard input; a thread reads them, to notice the end of input at any time."""
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        with os.fdopen(os.dup(0)) as stream:
            for line in stream:
                requests.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield json.loads(requests.get())


def save_failure(failures: Path, folder: Path, name: str, seed: int, number: int, report: Report) -> None:
    """Copy the files of a failing case, with a description and the command that repeats it."""
    saved = failures / f"{name.replace(':', '.')}-{seed}-{number}"
    shutil.rmtree(saved, ignore_errors=True)
    shutil.copytree(folder, saved / "files", symlinks=True)
    command = f"python -m fuzz --target {name} --case {seed}:{number}"
    (saved / "report.txt").write_text(f"{command}\n{report.outcome}\n{report.detail}\n", "utf-8", "backslashreplace")


def clear(folder: Path) -> None:
    """Remove the files of the last case."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def write(stream: IO[str], content: object) -> None:
    """Write one line of JSON."""
    stream.write(json.dumps(content) + "\n")
    stream.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
