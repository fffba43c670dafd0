"""Graphs that the workers of a Dask cluster read themselves: equal results, one copy per machine, failures, errors."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import graphs
from tests.cluster import client_of, process_cluster
from tests.parameters import boostne

from boostne import Graph, read_embedding
from boostne.errors import ClusterError, FileFormatError, GraphError, InputWarning, MemoryLimitError, ParameterError
from boostne.factorization import ordering
from boostne.factorization.dask import cluster as dask_cluster
from boostne.factorization.dask import mapped_arrays
from boostne.factorization.dask.exchange import BlockLostError
from boostne.factorization.dask.mapped_arrays import OwnedFile, open_arrays, write_arrays
from boostne.factorization.dask.worker_graph import WorkerJob
from boostne.factorization.level_start import LevelStart

pytest.importorskip("distributed")

SETTINGS = {"dimensions": 12, "levels": 3, "window": 3, "max_iter": 12}
QUICK = {"dimensions": 8, "levels": 2, "max_iter": 4}
PLAIN = {"propagation": 0, "vector_length": 0}


@pytest.fixture(scope="module")
def graph():
    return graphs.planted_partition([100, 300, 800], 0.08, 0.004, seed=3)[0]


def write_parts(graph, folder, n_parts=3, ids=lambda nodes: nodes, weight=None):
    """Write the edges of a graph as the parts of a Parquet table."""
    folder.mkdir()
    A = graph.adjacency.tocoo()
    once = A.row < A.col
    columns = {"u": ids(graph.nodes[A.row[once]]), "v": ids(graph.nodes[A.col[once]])}
    if weight is not None:
        columns[weight] = A.data[once]
    for i in range(n_parts):
        part = {name: values[i::n_parts] for name, values in columns.items()}
        pq.write_table(pa.table(part), folder / f"part-{i}.parquet")
    return folder


def graph_files(client):
    """Return the files of graphs in the folders of all workers."""
    found = client.run(lambda dask_worker: sorted(map(str, Path(dask_worker.local_directory).rglob("arrays.bin"))))
    return [path for paths in found.values() for path in paths]


@contextmanager
def reordered(client):
    """Reorder nodes by community, as in large graphs, here and on the workers."""

    def apply(values):
        for name, value in values.items():
            setattr(ordering, name, value)

    changed = {"REORDER_NODES": 0, "MAX_COMMUNITY": 20}
    before = {name: getattr(ordering, name) for name in changed}
    try:
        apply(changed)
        client.run(apply, changed)
        yield
    finally:
        apply(before)
        client.run(apply, before)


def assert_same(folder, expected):
    found = read_embedding(folder)
    order = np.argsort(found.nodes)
    np.testing.assert_array_equal(found.nodes[order], expected.nodes)
    np.testing.assert_array_equal(found.vectors[order], expected.vectors)


class TestResult:
    def test_equals_that_of_a_graph_in_memory(self, client, graph, tmp_path):
        expected = boostne(**SETTINGS, **PLAIN).fit(graph)
        copies = []
        model = boostne(**SETTINGS, engine=client)
        paths = model.fit_to_parts(
            write_parts(graph, tmp_path / "edges"),
            str(tmp_path / "out"),
            progress=lambda at: copies.append(len(graph_files(client))) if at.detail.startswith("level 1/3") else None,
        )
        assert len(paths) == 2
        assert_same(tmp_path / "out", expected.embedding_)
        np.testing.assert_array_equal(model.residual_norms_, expected.residual_norms_)
        np.testing.assert_array_equal(model.nnz_, expected.nnz_)
        assert set(copies) == {1}  # for the two workers of one machine
        assert graph_files(client) == []
        facts = model.graph_facts_
        assert (facts.n_nodes, facts.n_edges, facts.weighted) == (graph.n_nodes, graph.n_edges, False)

    def test_weights_text_ids_and_reordered_nodes(self, client, tmp_path):
        given = graphs.planted_partition([40] * 40, 0.2, 0.004, seed=1)[0]
        weights = given.adjacency.copy()
        weights.data[:] = 1 + (np.add(*weights.nonzero()) % 3)
        given = Graph(weights, np.char.add("n", np.char.zfill(given.nodes.astype(str), 4)))
        edges = write_parts(given, tmp_path / "edges", weight="cost")
        push = {"approximation": "push", "epsilon": 1e-4, "max_per_row": 50}
        with reordered(client):
            expected = boostne(**SETTINGS, **PLAIN, **push).fit(given)
            model = boostne(**SETTINGS, **push, engine=client)
            model.fit_to_parts(edges, tmp_path / "out", read_options={"weight": "cost"})
        nodes = read_embedding(tmp_path / "out").nodes
        assert sorted(nodes) != list(nodes)
        assert_same(tmp_path / "out", expected.embedding_)
        assert model.graph_facts_.weighted

    @pytest.mark.parametrize(
        "changes", [{"approximation": "spectral", "eigenpairs": 40}, {"connectivity": "normalized"}]
    )
    def test_other_matrices(self, client, graph, tmp_path, changes):
        expected = boostne(**QUICK, **PLAIN, **changes).fit(graph)
        boostne(**QUICK, **changes, engine=client).fit_to_parts(
            write_parts(graph, tmp_path / "edges"), tmp_path / "out"
        )
        assert_same(tmp_path / "out", expected.embedding_)

    def test_command_line(self, two_workers, tmp_path, capsys):
        from boostne.cli.program import run

        edges = write_parts(graphs.karate(), tmp_path / "edges", 1, weight="w")
        small = ["--dimensions", "4", "--levels", "2"]
        for file in (edges, edges / "part-0.parquet"):
            output = f"{tmp_path / file.name}-out/"
            options = [*small, "--no-weight", "--scheduler", two_workers.address]
            assert run(["embed", str(file), "-o", output, *options]) == 0
            printed = capsys.readouterr()
            assert "34 nodes, 78 edges, unweighted" in printed.out
            assert f"boostne similar {output} 0" in printed.out
            assert "source 'u', target 'v', no weights; 34 nodes, 78 edges" in printed.err
            assert_same(output, boostne(4, levels=2, **PLAIN).fit(graphs.karate()).embedding_)
        options = [*small, "--no-header", "--scheduler", two_workers.address]
        assert run(["embed", str(edges), "-o", f"{tmp_path / 'other'}/", *options]) == 1
        assert "--header does not apply to format 'parquet'" in capsys.readouterr().err

    def test_warnings_are_issued_here(self, client, tmp_path):
        table = pa.table({"u": [1, 2, 3, 7, 4], "v": [2, 3, 1, 7, 1]})
        pq.write_table(table, tmp_path / "edges.pq")
        model = boostne(4, levels=2, engine=client)
        with pytest.warns(InputWarning) as caught:
            model.fit_to_parts(tmp_path / "edges.pq", tmp_path / "out")
        texts = [str(warning.message) for warning in caught if warning.category is InputWarning]
        assert "edges.pq: a Parquet table" in texts[0]
        assert "dropped 1 self-loop" in texts[0]
        assert texts[1:] == ["1 of 5 nodes have no edges; their vectors are zero"]
        assert read_embedding(tmp_path / "out").nodes.tolist() == [1, 2, 3, 4, 7]


@pytest.mark.slow
class TestFaults:
    def test_a_machine_without_the_graph_reads_it_again(self, graph, tmp_path):
        # The worker that read it is killed, and its folder removed, as Dask does when the next worker starts.
        expected = boostne(**QUICK, **PLAIN).fit(graph)
        edges = write_parts(graph, tmp_path / "edges")
        with process_cluster(tmp_path, 2) as cluster, client_of(cluster) as client:
            due = ["level 2/2, pass 2", "on the workers"]

            def kill_reader(progress):
                if progress.stage in ("levels", "writing") and due and progress.detail.startswith(due[0]):
                    due.pop(0)
                    (path,) = graph_files(client)
                    owners = client.run(lambda dask_worker: str(dask_worker.local_directory))
                    owner = next(address for address, folder in owners.items() if path.startswith(folder))
                    cluster.kill(client.scheduler_info()["workers"][owner]["name"])
                    shutil.rmtree(Path(path).parent)
                    cluster.add_worker()

            boostne(**QUICK, engine=client).fit_to_parts(edges, tmp_path / "out", progress=kill_reader)
            assert not due
            assert_same(tmp_path / "out", expected.embedding_)
            assert graph_files(client) == []

            def change(progress):
                if progress.detail.startswith("level 2/2"):
                    pq.write_table(pa.table({"u": [0], "v": [1199]}), edges / "part-9.parquet")
                    for path in graph_files(client):
                        shutil.rmtree(Path(path).parent)

            with pytest.raises(
                ClusterError, match=r"tcp://.* has read another graph from .*edges than the worker before"
            ):
                boostne(**QUICK, engine=client).fit_to_parts(edges, tmp_path / "again", progress=change)
            assert graph_files(client) == []
            assert not list((tmp_path / "again").iterdir())


def refused(client, path, error, message, folder, **options):
    """Assert that a path is refused, and that nothing is left of the attempt."""
    with pytest.raises(error, match=message):
        boostne(4, levels=2, engine=client).fit_to_parts(path, folder / "out", **options)
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())
    assert graph_files(client) == []


class TestErrors:
    def test_files_that_cannot_be_read(self, client, tmp_path):
        edges = write_parts(graphs.karate(), tmp_path / "edges")
        damaged = edges / "part-1.parquet"
        content = damaged.read_bytes()
        damaged.write_bytes(content[:-9])
        refused(client, edges, FileFormatError, r"part-1.parquet: cannot be read as parquet", tmp_path)
        pq.write_table(pa.table({"u": ["1"], "v": ["2"]}), damaged)
        refused(client, edges, FileFormatError, "edges: the parts of the table have different schemas", tmp_path)
        pq.write_table(pa.table({"u": [1, None], "v": [2, 3]}), edges / "part-0.parquet")
        refused(client, edges / "part-0.parquet", GraphError, "the node id at position 1 is missing", tmp_path)
        pq.write_table(pa.table({"a": [1], "b": [2], "c": [3], "d": [4]}), damaged)
        refused(client, damaged, ParameterError, "part-1.parquet: .*columns", tmp_path)
        (tmp_path / "empty").mkdir()
        refused(client, tmp_path / "empty", FileFormatError, "the folder has no Parquet files", tmp_path)
        (tmp_path / "edges.csv").write_text("1,2\n")
        message = (
            r"workers read Parquet files \(.parquet, .pq\) and folders of them, and .*edges.csv is neither; convert"
        )
        refused(client, tmp_path / "edges.csv", ParameterError, message, tmp_path)

    def test_paths_that_a_worker_does_not_see(self, client, tmp_path, monkeypatch):
        message = r"tcp://\S+ cannot read .*no.parquet \(No such file or directory\); give a path .*\(2 of 2 workers"
        refused(client, tmp_path / "no.parquet", ParameterError, message, tmp_path)
        if Path("/proc/self/cwd").exists():  # this process sees a file of its working directory, and the workers do not
            monkeypatch.chdir(tmp_path)
            edges = write_parts(graphs.karate(), tmp_path / "edges")
            assert Path("/proc/self/cwd/edges").is_dir()
            refused(
                client, "/proc/self/cwd/edges", ParameterError, r"tcp://\S+ cannot read /proc/self/cwd/edges", tmp_path
            )
            assert edges.is_dir()

    @pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs a path that differs between processes")
    def test_a_path_that_one_worker_does_not_see(self, client, tmp_path):
        write_parts(graphs.karate(), tmp_path / "edges")
        blind, seeing = sorted(client.scheduler_info()["workers"])
        home = client.run(os.getcwd, workers=[seeing])[seeing]
        client.run(os.chdir, str(tmp_path), workers=[seeing])
        try:
            message = rf"{blind} cannot read /proc/self/cwd/edges .*\(1 of 2 workers cannot\)"
            refused(client, "/proc/self/cwd/edges", ParameterError, message, tmp_path)
        finally:
            client.run(os.chdir, home, workers=[seeing])

    def test_graphs_that_cannot_be_embedded(self, client, tmp_path):
        path = tmp_path / "edges.parquet"
        pq.write_table(pa.table({"u": [1], "v": [1]}), path)
        refused(client, path, GraphError, "the graph has 1 nodes and no edges", tmp_path)
        pq.write_table(pa.table({"u": [1], "v": [2]}), path)
        with pytest.raises(ParameterError, match="the graph has only 2 nodes"):
            boostne(8, levels=2, engine=client).fit_to_parts(path, tmp_path / "out")

    def test_parameters_are_checked_before_the_graph_is_read(self, client, tmp_path):
        with pytest.raises(ParameterError, match="dimensions must be a multiple of levels"):
            boostne(7, levels=2, engine=client).fit_to_parts(tmp_path / "no.parquet", tmp_path / "out")
        message = "read_options must be among source, target, .*; got directed"
        refused(client, tmp_path, ParameterError, message, tmp_path, read_options={"directed": True})
        message = "read_options are for a path; got a Graph and"
        refused(client, graphs.karate(), ParameterError, message, tmp_path, read_options={"source": "u"})

    def test_workers_with_little_memory(self, client, tmp_path, monkeypatch):
        edges = write_parts(graphs.karate(), tmp_path / "edges")
        monkeypatch.setattr(dask_cluster, "USABLE", 1e-9)
        message = r"tcp://\S+, which reads the graph: .*edges: reading 78 rows would need"
        refused(client, edges, MemoryLimitError, message, tmp_path)


class TestMappedArrays:
    def test_come_back_as_read_only_views_of_the_file(self, tmp_path):
        arrays = {"a": np.arange(5, dtype=np.int32), "empty": np.empty(0), "text": np.array(["x", "yz"]), "n": 3}
        file = write_arrays(arrays, str(tmp_path))
        assert all(begin % mapped_arrays.ALIGNMENT == 0 for begin, _ in file.spans)
        found = open_arrays([file])
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
        assert not found["a"].flags.writeable
        assert not found["a"].flags.owndata
        assert len(file.rest) < 1000

    def test_file_is_removed_with_its_owner(self, tmp_path):
        owned = OwnedFile(write_arrays(np.arange(9), str(tmp_path)))
        file = owned.file
        found = open_arrays([file])
        assert file.exists
        del owned
        assert not file.exists
        assert not list(tmp_path.iterdir())
        assert found.sum() == 36  # mapped before
        with pytest.raises(BlockLostError):
            open_arrays([file])

    def test_first_file_of_this_machine_is_opened(self, tmp_path):
        files = [write_arrays(np.array([i]), str(tmp_path)) for i in range(2)]
        mapped_arrays.remove_files(files[:1])
        assert open_arrays(files).tolist() == [1]

    def test_disk_without_space(self, tmp_path, monkeypatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 99, 1))
        with pytest.raises(
            ClusterError, match=r"needs 8 B in the folder .* has 1 B free; start the workers with --local"
        ):
            write_arrays(np.arange(1), str(tmp_path))
        assert not list(tmp_path.iterdir())

    def test_objects_of_a_worker_stay_there(self, tmp_path):
        import pickle

        for pinned in (OwnedFile(write_arrays(0, str(tmp_path))), WorkerJob(None, None)):
            with pytest.raises(TypeError, match="worker that"):
                pickle.dumps(pinned)


@pytest.mark.parametrize("communities", [None, np.arange(50, dtype=np.int32) % 7])
@pytest.mark.parametrize("order", [slice(None), np.random.default_rng(0).permutation(50)], ids=["same", "other"])
def test_rows_of_the_start_of_a_level(communities, order):
    start = LevelStart(3, 50, 4, np.dtype("float32"), order, communities)
    V = start(1)
    np.testing.assert_array_equal(np.concatenate([start.rows(1, range(20)), start.rows(1, range(20, 50))]), V)
    assert not np.array_equal(V, start(0))
