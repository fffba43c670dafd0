"""Fixtures shared by several test modules."""

import os
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

# Background jobs of a shell ignore SIGINT, and jobs of nohup SIGHUP; so would the processes that tests send these to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_SIBLING_FOLDER = Path(__file__).parents[2] / "shared" / "datasets"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with the file that takes the longest, in whatever order the others come: one process runs all of it."""
    items.sort(key=lambda item: item.path.name != "test_other_cpus.py")


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder with the data sets of the paper; if there is none, skip the test, or fail in CI."""
    data = os.environ.get("BOOSTNE_DATA")
    folders = [Path(data), _SIBLING_FOLDER] if data else [_SIBLING_FOLDER]
    for folder in folders:
        if folder.is_dir():
            return folder
    places = " or ".join(map(str, folders))
    reason = f"the data sets of the paper are not in {places}; set BOOSTNE_DATA to their folder"
    required = "1" if os.environ.get("CI") == "true" else "0"
    if os.environ.get("BOOSTNE_REQUIRE_DATA", required) == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def paper_data(data_folder, monkeypatch):
    """Make the data sets of the paper available to ``load_dataset``."""
    monkeypatch.setenv("BOOSTNE_DATA", str(data_folder))
    return data_folder


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    """Start a Dask cluster with two workers, as processes of their own."""
    from tests.cluster import process_cluster

    with process_cluster(tmp_path_factory.mktemp("cluster"), 2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(two_workers):
    """Connect to the two workers."""
    from tests.cluster import client_of

    with client_of(two_workers) as client:
        yield client


@pytest.fixture(scope="module")
def one_torch_thread():
    """Run PyTorch on one thread: small tensors gain nothing from more and lose much on a busy machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def no_space():
    """Return a context in which no file can grow beyond a size, by default 1 kB, as with a disk quota."""
    resource = pytest.importorskip("resource", reason="needs a limit on the size of files")

    @contextmanager
    def limited(size=1000):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited
