"""Real Dask processes over TCP, for the tests: started here, killed here, none left behind."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


class Processes:
    """A scheduler and its workers, each a process of its own and without a nanny."""

    def __init__(self, folder, workers):
        self._folder = Path(folder)
        self._file = self._folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler",
            "--port",
            "0",
            "--host",
            "127.0.0.1",
            "--no-dashboard",
            "--scheduler-file",
            self._file,
        )
        self.workers = {}
        self.address = self._wait_for_address()
        for _ in range(workers):
            self.add_worker()

    def add_worker(self, *options, **environment):
        """Start a worker; returns its name."""
        name = f"w{len(list(self._folder.glob('w*.log')))}"
        self.workers[name] = self._start(
            "worker", self.address, "--name", name, "--no-nanny", "--no-dashboard",
            "--host", "127.0.0.1", "--nthreads", "1", *options, log=name, **environment
        )  # fmt: skip
        return name

    def kill(self, name):
        """Kill a worker as a machine that loses power would be killed."""
        worker = self.workers.pop(name)
        worker.kill()
        worker.wait()

    def stop(self):
        for process in [*self.workers.values(), self.scheduler]:
            process.kill()
        for process in [*self.workers.values(), self.scheduler]:
            process.wait()

    def log(self, name):
        return (self._folder / f"{name}.log").read_text()

    def _start(self, *command, log="scheduler", **environment):
        with (self._folder / f"{log}.log").open("w") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *map(str, command)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                cwd=self._folder,
            )

    def _wait_for_address(self, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._file.exists() and (text := self._file.read_text()):
                return json.loads(text)["address"]
            time.sleep(0.1)
        raise TimeoutError(self.log("scheduler"))
