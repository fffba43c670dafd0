"""Executes cases in worker processes, and attributes crashes and hangs to their cases."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.case import CRASH, HANG, Report, call_file
from fuzz.schedule import Batch, Schedule
from fuzz.worker import save_failure

ROOT = Path(__file__).parents[1]
HANG_SECONDS = 20.0
PATIENCE = 6  # times the limit that a case gets in its second attempt
POLL_SECONDS = 0.1
MAX_CASES_PER_PROCESS = 20_000  # bounds what leaks could add up to
# One thread per process: there are as many processes as cores.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}

# Called with target, number, report and seconds.
Record = Callable[[str, int, Report, float], None]


class Runner:
    """Executes the cases of a schedule.

    Parameters
    ----------
    seed : int
    failures : Path
        Folder for the files of failing cases.
    hang_seconds : float
        The process of a case that takes longer is killed. The case is a failure if it takes six times as long when it
        is repeated: a busy machine is no hang.
    """

    def __init__(self, seed: int, failures: Path, hang_seconds: float = HANG_SECONDS) -> None:
        self._seed = seed
        self._failures = failures
        self._hang_seconds = hang_seconds

    def run(self, schedule: Schedule, processes: int, record: Record) -> None:
        """Execute the cases of a schedule in several processes; ``record`` is called for each, by one thread a time."""
        lock = threading.Lock()

        def record_case(target: str, number: int, report: Report, seconds: float) -> None:
            schedule.spent(target, seconds)
            with lock:
                record(target, number, report, seconds)

        # Shared memory, if there is any: most of the time would otherwise be spent in flushing files to disk.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="boostne-fuzz-", dir=memory, ignore_cleanup_errors=True) as scratch:
            workers = [_Worker(self._seed, self._failures, Path(scratch) / str(i)) for i in range(processes)]
            threads = [threading.Thread(target=worker.serve, args=(schedule, record_case)) for worker in workers]
            for thread in threads:
                thread.start()
            try:
                while any(thread.is_alive() for thread in threads):
                    time.sleep(POLL_SECONDS)
                    for worker in workers:
                        worker.kill_if_hanging(self._hang_seconds)
            finally:
                for worker in workers:
                    worker.close()
            for worker in workers:
                if worker.error is not None:
                    raise worker.error


class _Worker:
    """A worker process, which is started again after a crash, and the thread that talks to it."""

    def __init__(self, seed: int, failures: Path, scratch: Path) -> None:
        self._seed = seed
        self._failures = failures
        self._folder = scratch / "case"
        self._folder.mkdir(parents=True)
        call_file(self._folder).touch()
        self._log = scratch / "stderr"
        self._process: subprocess.Popen[str] | None = None
        self._executed = 0
        self._busy_since: float | None = None
        self._hanging = False
        self._patience = 1
        self._closed = False
        self.error: Exception | None = None  # of the thread that talks to the process

    def serve(self, schedule: Schedule, record: Record) -> None:
        """Execute batches until the schedule ends."""
        try:
            while not self._closed and (batch := schedule.next()) is not None:
                for number, report, seconds in self._execute(batch):
                    record(batch.target, number, report, seconds)
        except Exception as error:
            self.error = error
        self.close()

    def kill_if_hanging(self, limit: float) -> None:
        """Kill the process if its case takes too long."""
        since, process = self._busy_since, self._process
        if since is not None and process is not None and time.monotonic() - since > limit * self._patience:
            self._hanging = True
            process.kill()

    def close(self) -> None:
        """End the process."""
        self._closed = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _execute(self, batch: Batch) -> Any:
        """Yield the number, report and time of each case."""
        number = batch.first
        while number < batch.stop and not self._closed:
            stdout = self._request(batch.target, number, batch.stop)
            while number < batch.stop:
                begin = self._busy_since = time.monotonic()
                line = stdout.readline()
                self._busy_since = None
                self._executed += 1
                if not line and self._hanging and self._patience == 1:
                    self._patience = PATIENCE
                    self._process.wait()
                    break
                self._patience = 1
                if not line:
                    if not self._closed:
                        yield number, self._died(batch.target, number), time.monotonic() - begin
                    number += 1
                    break
                *report, seconds = json.loads(line)
                yield number, Report(*report), seconds
                number += 1

    def _request(self, target: str, first: int, stop: int) -> Any:
        """Send a request, wait until the target is loaded, and return the stream of reports."""
        process = self._start()
        process.stdin.write(json.dumps([target, first, stop]) + "\n")
        process.stdin.flush()
        if process.stdout.readline() != '"ready"\n' and not self._closed:
            raise RuntimeError(f"{target} cannot be loaded:\n{self._log.read_text(errors='replace')}")
        return process.stdout

    def _start(self) -> Any:
        if self._process is not None and (self._executed >= MAX_CASES_PER_PROCESS or self._process.poll() is not None):
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._process is None:
            self._executed, self._hanging = 0, False
            command = [sys.executable, "-m", "fuzz.worker", str(self._folder), str(self._failures), str(self._seed)]
            with self._log.open("w") as log:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT,
                    env=os.environ | ENVIRONMENT,
                )  # fmt: skip
        return self._process

    def _died(self, target: str, number: int) -> Report:
        """Return the report of the case during which the process ended, and save its files."""
        code = self._process.wait()
        reason = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        log = "\n".join(line for line in lines if not line.startswith("Extension modules"))[-4000:]
        call = call_file(self._folder).read_text(encoding="utf-8")
        outcome, reason = (HANG, "hang") if self._hanging else (CRASH, reason)
        report = Report(outcome, f"{target}: {reason}", f"{call}\n{log}")
        save_failure(self._failures, self._folder, target, self._seed, number, report)
        return report
