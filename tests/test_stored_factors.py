"""Factors of finished levels in temporary files: the same results, and what happens if the disk is full."""

import errno
from types import SimpleNamespace

import numpy as np
import pytest

from boostne import BoostNE, Graph, planted_partition, read_embedding
from boostne.budget import Workload
from boostne.errors import MemoryLimitError
from boostne.factorization import stored_factors
from boostne.factorization.ordering import Permutation
from boostne.factorization.stored_factors import FactorInMemory, FactorOnDisk, has_space_on_disk

SETTINGS = {"dimensions": 12, "levels": 3, "window": 3, "max_iter": 6}
WORK = Workload(n_nodes=7, levels=3, components=2, max_iter=1, dtype=np.dtype("float32"), threads=1)


def unpermuted():
    return Permutation(slice(None), slice(None))


@pytest.fixture(scope="module")
def graph():
    return planted_partition(300, communities=6, seed=3).graph


@pytest.fixture
def on_disk(monkeypatch):
    """Store the factors of the smallest graphs on disk, and sort their nodes by community."""
    monkeypatch.setattr("boostne.models.factorization_base.ON_DISK_BYTES", 0)
    monkeypatch.setattr("boostne.factorization.ordering.REORDER_NODES", 0)
    monkeypatch.setattr(stored_factors, "BLOCK_ROWS", 64)


def directed(graph):
    A = graph.adjacency.tocoo()
    return Graph.from_indices(graph.nodes, A.row[A.row < A.col], A.col[A.row < A.col], directed=True)


@pytest.mark.parametrize("kind", ["undirected", "directed"])
def test_results_do_not_depend_on_where_factors_are(kind, graph, on_disk, monkeypatch, tmp_path):
    graph = graph if kind == "undirected" else directed(graph)
    model = BoostNE(**SETTINGS).fit(graph)
    assert isinstance(model.context_, np.memmap)
    monkeypatch.setattr("boostne.models.factorization_base.ON_DISK_BYTES", 10**9)
    expected = BoostNE(**SETTINGS).fit(graph)
    assert not isinstance(expected.context_, np.memmap)
    np.testing.assert_array_equal(model.embedding_.vectors, expected.embedding_.vectors)
    np.testing.assert_array_equal(model.context_, expected.context_)
    for found, level in zip(model.levels_, expected.levels_, strict=True):
        np.testing.assert_array_equal(found, level)
    model.embedding_.save(tmp_path / "vectors.npz")
    np.testing.assert_array_equal(read_embedding(tmp_path / "vectors.npz").vectors, expected.embedding_.vectors)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(BoostNE.load(tmp_path / "model.npz").context_, expected.context_)


@pytest.mark.parametrize("block_rows", [2, 7, 100])
@pytest.mark.parametrize("permuted", [False, True])
def test_levels_are_stored_and_merged(block_rows, permuted, monkeypatch):
    monkeypatch.setattr(stored_factors, "BLOCK_ROWS", block_rows)
    rng = np.random.default_rng(0)
    order = rng.permutation(7)
    permutation = Permutation(order, np.argsort(order)) if permuted else unpermuted()
    levels = [rng.random((7, 2), dtype=np.float32) for _ in range(3)]
    stores = FactorInMemory(7, WORK), FactorOnDisk(7, WORK)
    for store in stores:
        for i, level in enumerate(levels):
            store.append(level, permutation)
            np.testing.assert_array_equal(store.level(i)[permutation.order], level)
        np.testing.assert_array_equal(store.merged()[permutation.order], np.hstack(levels))


@pytest.mark.parametrize("method", ["write", "flush"])
def test_a_full_disk_names_the_folder_and_the_bytes(method, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    file = SimpleNamespace(**{"write": lambda _: None, "flush": lambda: None, method: full})
    monkeypatch.setattr(stored_factors.tempfile, "TemporaryFile", lambda: file)
    store = FactorOnDisk(7, WORK)
    with pytest.raises(MemoryLimitError, match=r"No space left on device\): up to 504 B are needed there.*TMPDIR"):
        store.append(np.ones((7, 2), np.float32), unpermuted())


def test_factors_stay_in_memory_if_the_disk_is_too_small(graph, on_disk, monkeypatch):
    usage = SimpleNamespace(free=100)
    monkeypatch.setattr(stored_factors.shutil, "disk_usage", lambda _: usage)
    assert has_space_on_disk(100)
    assert not has_space_on_disk(101)
    assert not isinstance(BoostNE(**SETTINGS).fit(graph).context_, np.memmap)


def test_peak_memory_does_not_include_factors_on_disk():
    in_memory, on_disk = (
        Workload(n_nodes=1000, levels=4, components=16, max_iter=9, dtype=np.dtype("f4"), threads=1, on_disk=where)
        for where in (False, True)
    )
    assert in_memory.levels_bytes - on_disk.levels_bytes == 2 * 1000 * 4 * 16 * 4
