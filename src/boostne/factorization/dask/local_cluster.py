"""A Dask cluster on this machine that only its owner can use: on the loopback interface, with mutual TLS, no HTTP."""

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dask import config
from distributed import Client, Nanny, Scheduler, Security, SpecCluster, Worker

from boostne.child_processes import interrupts_blocked_in_children, signals_deferred
from boostne.errors import ClusterError, ParameterError
from boostne.memory import check_memory

HOST = "127.0.0.1"
WORKER_BYTES = 200_000_000  # of a worker without data


class _PrivateScheduler(Scheduler):
    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start none: Dask's would answer any user of this machine, without TLS."""


class _PrivateWorker(Worker):
    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start none; see :class:`_PrivateScheduler`."""


@contextmanager
def local_cluster(workers: int) -> Iterator[Client]:
    """Start workers as processes on this machine, with one thread each; yields a client of their scheduler.

    Any process that can send messages to a Dask process can run code in it. These listen on the loopback interface
    only, and reject connections without the certificate of this cluster, which is in the memory of its processes.
    """
    check_memory(workers * WORKER_BYTES, f"starting {workers:,} workers on this machine", "Start fewer workers.")
    security = _temporary_security()
    # Dask's default folder for the files of workers may belong to another user.
    with tempfile.TemporaryDirectory(prefix="boostne-") as folder:
        with signals_deferred(), interrupts_blocked_in_children(), config.set({"temporary-directory": folder}):
            try:
                cluster: Any = SpecCluster(**_specification(workers, security))  # type: ignore[no-untyped-call]
            except (OSError, RuntimeError) as error:
                cause: BaseException = error
                while cause.__cause__ is not None:  # Dask only names the process that failed
                    cause = cause.__cause__
                raise ClusterError(f"cannot start {workers} workers on this machine: {cause}") from error
            client: Any = Client(cluster, set_as_default=False)  # type: ignore[no-untyped-call]
        try:
            yield client
        finally:
            with signals_deferred():
                client.close()
                cluster.close()


def _specification(workers: int, security: Security) -> dict[str, Any]:
    common = {"host": HOST, "protocol": "tls", "security": security}
    silence = {"silence_logs": logging.CRITICAL}
    worker = {
        "cls": Nanny,
        "options": common
        | silence
        | {
            "worker_class": _PrivateWorker,
            "nthreads": 1,
            "memory_limit": 1.0 / workers,  # of the memory of the machine
        },
    }
    return {
        "scheduler": {"cls": _PrivateScheduler, "options": common | {"port": 0, "dashboard": False}},
        "workers": dict.fromkeys(range(workers), worker),
        "security": security,
        **silence,
    }


def _temporary_security() -> Security:
    try:
        security: Security = Security.temporary()  # type: ignore[no-untyped-call]
    except ImportError as error:
        raise ParameterError('--workers needs the package cryptography: pip install "boostne[dask]"') from error
    return security
