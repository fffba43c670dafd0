"""The cluster of ``--workers``: nobody else reaches it, and it ends with the program, however that ends."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from ipaddress import ip_address

import numpy as np
import pytest
from tests import graphs
from tests.cluster import process_cluster
from tests.parameters import boostne
from tests.processes import start_python, wait_until

from boostne.errors import ClusterError, MemoryLimitError, ParameterError
from boostne.factorization.dask.cluster import connect, local_cluster

distributed = pytest.importorskip("distributed")
pytest.importorskip("cryptography")
psutil = pytest.importorskip("psutil")

SMALL = ("--dimensions", "4", "--levels", "2")
# The program, but its first pass is repeated forever; the file "running" appears when the workers hold X.
ENDLESS = """
from pathlib import Path
from boostne.cli import main
from boostne.factorization.dask import cluster
from boostne.factorization.dask.engine import DaskEngine

step = DaskEngine.step

def step_forever(*arguments):
    while True:
        step(*arguments)
        Path("running").touch()

DaskEngine.step = step_forever
cluster.CONNECT_SECONDS = 2
main()
"""

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
pytestmark = pytest.mark.slow


class EndlessRun:
    """``boostne embed`` in a process group of its own that never ends, on a cluster."""

    def __init__(self, folder, *options):
        self.folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._file = folder / "output.txt"
        with self._file.open("w") as output:
            self.process = start_python(
                *("-c", ENDLESS, "embed", "karate", "-o", "out.npz", *SMALL, *options),
                cwd=folder,
                env=os.environ | {"TMPDIR": str(self.temporary)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()  # its workers end with it
        self.process.wait()

    def wait_until_running(self):
        started = (self.folder / "running").exists
        wait_until(lambda: started() or self.process.poll() is not None)
        assert started(), self.output()

    def tree(self):
        """Return the process and all of its children."""
        process = psutil.Process(self.process.pid)
        return [process, *process.children(recursive=True)]

    def end(self, send):
        """Call ``send`` while the run is in progress; return the output, once all of its processes have ended."""
        self.wait_until_running()
        tree = self.tree()
        send()
        self.process.wait(timeout=300)
        _, alive = psutil.wait_procs(tree, timeout=300)
        assert not alive
        assert not (self.folder / "out.npz").exists()
        assert not list(self.temporary.iterdir())
        return self.output()

    def output(self):
        """Return the standard output and standard error."""
        return self._file.read_text()


def listening(processes):
    """Return the addresses that processes listen on."""
    connections = [found for process in processes for found in process.net_connections("inet")]
    assert not [found for found in connections if found.type == socket.SOCK_DGRAM]
    return [found.laddr for found in connections if found.status == psutil.CONN_LISTEN]


def answer(port, request):
    """Return the answer of a port on the loopback interface, over TCP."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        try:
            plain.sendall(request)
            return plain.recv(1024)
        except ConnectionError:
            return b""


def answer_without_certificate(port):
    """Return the answer of a port to a TLS client that has no certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        try:
            with context.wrap_socket(plain) as encrypted:
                return encrypted.recv(1024)
        except (ssl.SSLError, ConnectionError):
            return b""


def test_ports_are_closed_to_others(tmp_path):
    with EndlessRun(tmp_path, "--workers", "2") as run:
        run.wait_until_running()
        addresses = listening(run.tree())
        # Files of workers contain pickles, too.
        assert [path.stat().st_mode & 0o777 for path in run.temporary.iterdir()] == [0o700]
        assert len(addresses) == 5  # of a scheduler, two workers and two nannies
        assert [address.ip for address in addresses if not ip_address(address.ip).is_loopback] == []
        assert {answer(address.port, b"GET / HTTP/1.0\r\n\r\n") for address in addresses} == {b""}
        assert {answer_without_certificate(address.port) for address in addresses} == {b""}


@needs_posix
@pytest.mark.parametrize(
    ("number", "times", "code", "word"),
    [(signal.SIGINT, 10, 130, "interrupted"), (signal.SIGTERM, 1, 143, "terminated")],
    ids=["SIGINT", "SIGTERM"],
)
def test_signals_end_the_cluster(tmp_path, number, times, code, word):
    with EndlessRun(tmp_path, "--workers", "1", "--checkpoint", "run") as run:

        def send():
            for _ in range(times):
                os.killpg(run.process.pid, number)  # to the workers, too, as a terminal or a service manager does

        output = run.end(send)
        assert run.process.returncode == code
        assert output == f"boostne: {word}; finished levels are saved in run; run the same command again to resume\n"


def test_a_lost_scheduler_is_one_line(tmp_path):
    with process_cluster(tmp_path, 1) as cluster, EndlessRun(tmp_path, "--scheduler", cluster.address) as run:
        output = run.end(cluster.scheduler.kill)
        assert run.process.returncode == 1
        message = f"error: the scheduler at {cluster.address} is gone and the run cannot continue."
        assert output == f"boostne: {message} Start the cluster and run again\n"


def test_same_result_as_without_a_cluster():
    small = {"dimensions": 4, "levels": 2}
    with local_cluster(2) as client:
        address = client.scheduler.address
        vectors = boostne(**small, engine=client).fit(graphs.karate()).embedding_.vectors
    np.testing.assert_array_equal(vectors, boostne(**small).fit(graphs.karate()).embedding_.vectors)
    socket.create_server(("127.0.0.1", int(address.rsplit(":", 1)[1]))).close()  # nothing else listens there


def test_a_cluster_that_cannot_be_started(monkeypatch):
    with pytest.raises(MemoryLimitError, match=r"starting 100,000 workers .* need about 20 TB"), local_cluster(100_000):
        pass
    monkeypatch.setattr("boostne.factorization.dask.local_cluster.HOST", "192.0.2.1")  # of no machine
    with pytest.raises(ClusterError, match=r"cannot start 1 workers on this machine: .*assign requested address"):
        local_cluster(1).__enter__()
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ParameterError, match=r"needs the package cryptography: pip install .boostne\[dask\]"):
        local_cluster(1).__enter__()


class TestTLS:
    """A cluster whose certificates are set in Dask's configuration."""

    @pytest.fixture
    def configuration(self, tmp_path):
        """Write a configuration; returns the environment of processes that use it."""
        security = distributed.Security.temporary()
        certificate, key, folder = tmp_path / "ca.pem", tmp_path / "key.pem", tmp_path / "configuration"
        certificate.write_text(security.tls_ca_file)
        key.write_text(security.tls_client_key)
        folder.mkdir()
        owner = {"cert": str(certificate), "key": str(key)}
        tls = {"ca-file": str(certificate), "scheduler": owner, "worker": owner, "client": owner}
        comm = {"default-scheme": "tls", "require-encryption": True, "tls": tls}
        (folder / "dask.yaml").write_text(json.dumps({"distributed": {"comm": comm}}))  # JSON is YAML
        return {"DASK_CONFIG": str(folder)}

    def test_scheduler_on_the_command_line(self, tmp_path, monkeypatch, configuration):
        for name, value in configuration.items():
            monkeypatch.setenv(name, value)
        with process_cluster(tmp_path, 1) as cluster:
            assert cluster.address.startswith("tls://")
            command = ("-m", "boostne", "embed", "karate", "-o", "out.csv", *SMALL, "--scheduler", cluster.address)
            process = start_python(*command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            output, _ = process.communicate(timeout=300)
            assert process.returncode == 0, output
            assert "dask" in output
            # This process has no certificates.
            with pytest.raises(ClusterError, match=f"{cluster.address} needs TLS certificates; set distributed.comm"):
                connect(cluster.address)

    def test_unusable_certificates(self):
        import dask

        missing = {f"distributed.comm.tls.{name}": "/no/file" for name in ("ca-file", "client.cert", "client.key")}
        with (
            dask.config.set(missing),
            pytest.raises(ClusterError, match=r"certificates cannot be used \(.*No such file"),
        ):
            connect("tls://127.0.0.1:1")
        with (
            dask.config.set({"distributed.comm.require-encryption": True}),
            pytest.raises(ClusterError, match=r"cannot connect to tcp://127.0.0.1:1: encryption required"),
        ):
            connect("tcp://127.0.0.1:1")
