"""Dask clusters of real processes over TCP, for tests: started here, killed here, none left behind."""

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

from tests.processes import start_python, wait_until

from boostne.factorization.dask.cluster import connect

START_SECONDS = 300  # on a busy machine
# The HTTP servers of schedulers and workers listen on all interfaces by default.
LOOPBACK = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")


class ProcessCluster:
    """A scheduler and its workers, each in its own process, without a nanny that would restart them."""

    def __init__(self, folder, n_workers):
        self._folder = Path(folder)
        self._file = self._folder / "scheduler.json"
        options = ("--port", "0", *LOOPBACK, "--scheduler-file", self._file)
        self.scheduler = self._start("scheduler", *options)
        self.workers = {}
        try:
            self.address = self._wait_for_address()
            for _ in range(n_workers):
                self.add_worker()
        except BaseException:
            self.stop()
            raise

    def add_worker(self, *options, **environment):
        """Start a worker; returns its name."""
        name = f"w{len(list(self._folder.glob('w*.log')))}"
        self.workers[name] = self._start(
            "worker", self.address, "--name", name, "--no-nanny",
            *LOOPBACK, "--nthreads", "1", *options, log=name, **environment
        )  # fmt: skip
        return name

    def kill(self, name):
        """Kill a worker, as a power failure would."""
        worker = self.workers.pop(name)
        worker.kill()
        worker.wait()

    def stop(self):
        """Kill every process and wait for its end."""
        for process in [*self.workers.values(), self.scheduler]:
            process.kill()
        for process in [*self.workers.values(), self.scheduler]:
            process.wait()

    def log(self, name):
        """Return the output of a worker, or of the scheduler."""
        return (self._folder / f"{name}.log").read_text()

    def _start(self, *command, log="scheduler", **environment):
        with (self._folder / f"{log}.log").open("w") as output:
            return start_python(
                "-m",
                "dask",
                *command,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                cwd=self._folder,
            )

    def _wait_for_address(self):
        wait_until(lambda: self._file.exists() and self._file.read_text(), self.scheduler, START_SECONDS)
        return json.loads(self._file.read_text())["address"]


@contextmanager
def process_cluster(folder, n_workers):
    """Yield a :class:`ProcessCluster` and stop it at the end."""
    cluster = ProcessCluster(folder, n_workers)
    try:
        yield cluster
    finally:
        cluster.stop()


@contextmanager
def client_of(cluster):
    """Yield a client that sees all workers of a :class:`ProcessCluster`."""
    client = connect(cluster.address)
    try:
        if cluster.workers:
            client.wait_for_workers(len(cluster.workers), timeout=START_SECONDS)
        yield client
    finally:
        client.close()
