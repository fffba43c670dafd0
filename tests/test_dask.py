"""The Dask engine on real processes: equal to the local engine, and robust to failures of a cluster."""

import asyncio
import gc
import os
import re
import signal
import socket
import subprocess
import time
import warnings
from contextlib import closing
from copy import copy
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from tests import graphs
from tests.cluster import client_of, process_cluster
from tests.parameters import boostne
from tests.processes import start_python, wait_until

from boostne import BoostNE, Graph, load_dataset, read_embedding
from boostne.errors import BoostneWarning, ClusterError, FileFormatError, GraphError, MemoryLimitError, ParameterError
from boostne.factorization import LevelLost, LocalEngine, random_start
from boostne.factorization.dask import block_actor, worker_block
from boostne.factorization.dask import cluster as dask_cluster
from boostne.factorization.dask.block_actor import GroupTask, branches, on_block
from boostne.factorization.dask.block_placement import BlockPlacement
from boostne.factorization.dask.cluster import connect
from boostne.factorization.dask.engine import DaskEngine
from boostne.factorization.dask.exchange import BlockLostError, ContextSlices, Exchange
from boostne.factorization.dask.factor_store import ClientFactorStore
from boostne.factorization.dask.partition import block_ranges, even_cuts
from boostne.factorization.dask.worker_block import BlockRange, TaskStamp, block_state
from boostne.factorization.local import squared_norm
from boostne.generators import planted_partition
from boostne.kernels.column_blocked_csr import COLUMN_BLOCKED_FROM
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.matrices import CSRSource
from boostne.matrices.csr_builder import CSRBuilder, one_block_per_row
from boostne.matrices.deepwalk.exact import ExactSource

distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")

SETTINGS = {"dimensions": 12, "levels": 3, "window": 3, "max_iter": 12}
# What workers write: the factors as they are.
PLAIN = {"propagation": 0, "vector_length": 0}


@pytest.fixture(scope="module")
def graph():
    """Degrees differ so much that equal numbers of rows are not equal numbers of entries; X has several shards."""
    return graphs.planted_partition([100, 300, 800], 0.08, 0.004, seed=3)[0]


@pytest.fixture
def reordered(monkeypatch):
    """Reorder nodes by community, as in large graphs."""
    monkeypatch.setattr("boostne.factorization.ordering.REORDER_NODES", 0)
    monkeypatch.setattr("boostne.factorization.ordering.MAX_COMMUNITY", 200)


def local(graph, **changes):
    return boostne(**{**SETTINGS, **changes}).fit(graph)


def on(client, graph, progress=lambda _: None, **changes):
    return boostne(**{**SETTINGS, **changes}, engine=client).fit(graph, progress=progress)


def assert_same(model, expected):
    """Assert that all fitted attributes have the same bits."""
    np.testing.assert_array_equal(model.embedding_.vectors, expected.embedding_.vectors)
    np.testing.assert_array_equal(model.context_, expected.context_)
    np.testing.assert_array_equal(model.residual_norms_, expected.residual_norms_)
    np.testing.assert_array_equal(model.nnz_, expected.nnz_)
    np.testing.assert_array_equal(model.n_iter_, expected.n_iter_)
    for found, objective in zip(model.objective_, expected.objective_, strict=True):
        np.testing.assert_array_equal(found, objective)


def held_by_workers(client):
    """Return the kinds of results that the workers hold; garbage is not held."""

    def keys(dask_worker):
        gc.collect()
        return [*dask_worker.data, *dask_worker.state.actors, *block_actor.ACTORS]

    return {key.partition("-")[0] for some in client.run(keys).values() for key in some}


class TestEqualToTheLocalEngine:
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"dtype": "float64", "threads": 2},
            {"approximation": "push", "max_per_row": 50},
            {"approximation": "spectral", "eigenpairs": 40},
            {"connectivity": "common-neighbors"},
            {"tol": 0.0, "max_iter": 3, "dimensions": 9},
        ],
        ids=["exact", "float64", "push", "spectral", "another matrix", "max_iter reached"],
    )
    def test_to_the_last_bit(self, client, graph, changes):
        expected = local(graph, **changes)
        model = on(client, graph, **changes)
        assert_same(model, expected)
        assert model.residual_norms_[-1] < 0.9 * model.residual_norms_[0]

    @pytest.mark.parametrize("changes", [{}, {"approximation": "push", "epsilon": 1e-4, "max_per_row": 50}])
    def test_directed_graphs(self, client, changes):
        ends = np.random.default_rng(0).integers(1500, size=(2, 9000))
        directed = Graph.from_indices(np.arange(1500), ends[0] // 2 * 2, ends[1], directed=True).without_isolated()
        expected = local(directed, **changes)
        model = on(client, directed, **changes)
        assert_same(model, expected)
        np.testing.assert_array_equal(model.targets_.vectors, expected.targets_.vectors)

    @pytest.mark.usefixtures("reordered")
    def test_nodes_reordered_by_community(self, client, graph, tmp_path):
        expected = local(graph, **PLAIN)
        assert_same(on(client, graph, **PLAIN), expected)
        BoostNE(**SETTINGS, engine=client).fit_to_parts(graph, tmp_path / "out")
        found = read_embedding(tmp_path / "out")
        order = np.argsort(found.nodes)
        np.testing.assert_array_equal(found.nodes[order], graph.nodes)
        np.testing.assert_array_equal(found.vectors[order], expected.embedding_.vectors)
        assert (np.diff(order) < 0).any()

    def test_residual_in_column_blocks(self, client):
        graph = planted_partition(COLUMN_BLOCKED_FROM + 1000, communities=200, mean_degree=4, seed=1).graph
        small = {"connectivity": "normalized", "levels": 2, "dimensions": 8, "max_iter": 4}
        expected = local(graph, **small)
        assert_same(on(client, graph, **small), expected)
        assert expected.residual_norms_[-1] < expected.residual_norms_[0]

    def test_resumes_a_checkpoint_of_the_local_engine(self, client, graph, tmp_path):
        expected = local(graph, checkpoint=tmp_path)
        for number in (2, 3):
            (tmp_path / f"level-{number:02d}.npz").unlink()
        assert_same(on(client, graph, checkpoint=tmp_path), expected)
        assert (tmp_path / "level-03.npz").exists()

    def test_every_method_of_the_engine(self, client, graph):
        # In other orders, too, than those of the boosting loop.
        X = BoostNE(**SETTINGS).connectivity_matrix(graph)
        n, components = X.shape[0], 4
        seen = []
        for engine in (LocalEngine(), DaskEngine(client, components, ClientFactorStore(recall=None))):
            found = []
            with engine:
                engine.load(CSRSource(X.copy()))
                for _ in range(2):
                    engine.start_level(random_start(0, n, components, X.dtype)(0))
                    found.append(engine.gram_v())
                    found.extend([*engine.step(2), engine.gram_v()])
                    engine.accept(0.5)
                    found.extend([engine.gram_v(), *engine.factors(), *engine.step(2)])
                    engine.reseed(1, np.linspace(0, 1, n, dtype="float32"))
                    engine.accept(0.0)
                    found.extend([*engine.step(2), engine.gram_v()])
                    engine.revert()
                    found.extend([*engine.factors(), *engine.step(2)])
                    engine.accept(0.3)
                    engine.reseed(2, np.linspace(1, 0, n, dtype="float32"))
                    found.extend(engine.step(2))
                    engine.revert()
                    engine.rescale(np.array([1.0, 0.5, 0.0, 2.0] + [0.0] * 4))
                    found.extend(engine.factors())
                    engine.deflate()
                    found.extend([engine.norm2, engine.nnz])
            seen.append(found)
        for local_result, dask_result in zip(*seen, strict=True):
            np.testing.assert_array_equal(dask_result, local_result)

    def test_matrix_has_several_shards(self, graph):
        X = BoostNE(**SETTINGS).connectivity_matrix(graph)
        assert ShardedCSR.from_csr(X).n_shards >= 4

    def test_graph_with_a_single_block(self, client):
        assert_same(on(client, graphs.karate(), dimensions=4, levels=2), local(graphs.karate(), dimensions=4, levels=2))

    def test_workers_release_all_results(self, client, graph):
        on(client, graph, levels=1)
        wait_until(lambda: not held_by_workers(client))

    @pytest.mark.parametrize("step", ["_connect", "call"])
    def test_workers_release_all_of_a_run_whose_error_is_kept(self, client, graph, monkeypatch, step):
        """As a notebook keeps the last one, and with it the frames and their futures."""

        def fail(placement, *_):
            raise RuntimeError(len(placement.placed))

        monkeypatch.setattr(BlockPlacement, step, fail)
        with pytest.raises(RuntimeError) as kept:
            on(client, graph)
        wait_until(lambda: not held_by_workers(client))
        assert kept.traceback[-1].frame.f_locals["placement"].placed

    def test_workers_hold_nothing_but_their_blocks(self, client, graph, monkeypatch):
        """They release the graph and drafts of rows even if the client had to wait and its garbage is not collected."""
        monkeypatch.setattr(dask_cluster, "POLL_SECONDS", 0.001)
        source = ExactSource(graph, window=3, negative=1, dtype="float32")

        gc.disable()
        try:
            with DaskEngine(client, 4, ClientFactorStore(recall=None)) as engine:
                engine.load(source)
                wait_until(lambda: held_by_workers(client) == {"BlockActor"})
        finally:
            gc.enable()

    def test_scheduler_address_on_the_command_line(self, two_workers, tmp_path):
        from boostne.cli.program import program

        files = []
        for name, options in {"local": [], "dask": ["--scheduler", two_workers.address]}.items():
            files.append(tmp_path / f"{name}.npz")
            command = ["embed", "karate", "-o", str(files[-1]), "--dimensions", "4", "--levels", "2", *options]
            result = CliRunner().invoke(program, command, catch_exceptions=False)
            assert result.exit_code == 0, result.output
        with np.load(files[0]) as expected, np.load(files[1]) as found:
            np.testing.assert_array_equal(found["vectors"], expected["vectors"])


def assert_same_embedding(found, expected):
    assert found.nodes.tolist() == expected.nodes.tolist()
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    assert found.vectors.dtype == expected.vectors.dtype
    assert found.levels.tolist() == expected.levels.tolist()


class TestParts:
    def parts(self, client, graph, folder, progress=lambda _: None, **changes):
        model = BoostNE(**{**SETTINGS, **changes}, engine=client)
        return model, model.fit_to_parts(graph, folder, progress=progress)

    def test_contain_the_vectors_of_a_fit(self, client, graph, tmp_path):
        expected = local(graph, **PLAIN)
        model, paths = self.parts(client, graph, tmp_path / "out")
        assert paths == sorted((tmp_path / "out").iterdir())
        assert len(paths) == 2
        found = read_embedding(tmp_path / "out")
        assert_same_embedding(found, expected.embedding_)
        np.testing.assert_array_equal(model.residual_norms_, expected.residual_norms_)
        assert model.engine_ == "dask"
        assert (model.settings_["propagation"], model.settings_["vector_length"]) == (0, 0)
        assert not hasattr(model, "embedding_")
        import pandas as pd

        table = pd.read_parquet(tmp_path / "out")
        np.testing.assert_array_equal(table.drop(columns="node"), found.vectors)

    def test_mixed_node_ids_and_zero_levels(self, client, tmp_path):
        graph = Graph.from_edges(["a", "b", 7, 7], ["b", 7, "a", "end"])
        for options in ({"levels": 2, "dimensions": 4}, {"levels": 4, "dimensions": 16, "max_iter": 100}):
            folder = tmp_path / str(options["levels"])
            self.parts(client, graph, folder, **options)
            assert_same_embedding(read_embedding(folder), local(graph, **options, **PLAIN).embedding_)

    @pytest.mark.slow
    def test_a_worker_is_killed(self, graph, tmp_path):
        # Its rows of the finished levels are in files.
        with process_cluster(tmp_path, 2) as cluster, client_of(cluster) as client:
            due = ["level 3/3, pass 2", "on the workers"]

            def kill(progress):
                if progress.stage in ("levels", "writing") and due and progress.detail.startswith(due[0]):
                    due.pop(0)
                    cluster.kill(next(iter(cluster.workers)))
                    cluster.add_worker()

            self.parts(client, graph, tmp_path / "out", kill)
        assert not due
        assert_same_embedding(read_embedding(tmp_path / "out"), local(graph, **PLAIN).embedding_)

    def test_folder_is_empty_after_a_failure(self, client, graph, tmp_path):
        def fail(progress):
            if progress.detail.startswith("level 2/3"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.parts(client, graph, tmp_path / "out", fail)
        assert not list((tmp_path / "out").iterdir())

    def test_invalid_parameters_and_folders(self, client, graph, tmp_path, monkeypatch):
        with pytest.raises(
            ParameterError, match=r"workers of a Dask cluster, without propagation.* got engine='local'"
        ):
            BoostNE().fit_to_parts(graph, tmp_path)
        with pytest.raises(ParameterError, match=r"without propagation .* propagation=0\.5"):
            self.parts(client, graph, tmp_path, propagation=0.5)
        (tmp_path / "thesis.txt").touch()
        with pytest.raises(ParameterError, match=r"is not empty \(found 'thesis.txt'\)"):
            self.parts(client, graph, tmp_path)
        with pytest.raises(ParameterError, match=r"cannot use .* as a folder"):
            self.parts(client, graph, tmp_path / "thesis.txt" / "x")
        for hidden in ("out", "kept"):  # as on workers of another machine, which do not have this folder
            monkeypatch.setattr(
                worker_block,
                "folder_problem",
                lambda path, hidden=hidden: "does not see" if hidden in Path(path).parts else None,
            )
            message = rf"tcp://.* does not see the folder .*{hidden}; give one that all machines share"
            with pytest.raises(ParameterError, match=message):
                self.parts(client, graph, tmp_path / "out", checkpoint=tmp_path / "kept")
        with pytest.raises(FileFormatError, match=r"a folder without part-\*.parquet"):
            read_embedding(tmp_path)

    def test_a_refused_run_closes_its_client(self, two_workers, client, graph, tmp_path, monkeypatch):
        def clients():
            return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.clients))

        monkeypatch.setattr(worker_block, "folder_problem", lambda _: "cannot write into")
        before = clients()
        with pytest.raises(
            ParameterError, match=r"cannot write into the folder .*; give one that all machines share and"
        ):
            self.parts(two_workers.address, graph, tmp_path / "out")
        while clients() > before:  # the scheduler notices it later
            time.sleep(0.01)

    @pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs a folder in which nobody can write")
    def test_folders_of_workers(self, tmp_path):
        (tmp_path / "probe").touch()
        assert worker_block.folder_problem(str(tmp_path / "probe")) is None
        assert worker_block.folder_problem(str(tmp_path / "other")) == "does not see"
        assert worker_block.folder_problem("/proc/self/status") == "cannot write into"

    def test_command_line(self, two_workers, tmp_path, capsys):
        from boostne.cli.program import run

        options = ["--dimensions", "4", "--levels", "2"]
        folder = f"{tmp_path / 'out'}/"
        assert run(["embed", "karate", "-o", folder, *options, "--scheduler", two_workers.address]) == 0
        assert "out/ (1 part, " in capsys.readouterr().out
        expected = BoostNE(4, levels=2, **PLAIN).fit(load_dataset("karate").graph).embedding_
        assert_same_embedding(read_embedding(folder), expected)
        assert run(["embed", "karate", "-o", folder, *options]) == 1
        assert "give --scheduler or --workers, or a file" in capsys.readouterr().err


def ones(n):
    """Return a matrix with several blocks."""
    return sparse.csr_array(np.ones((n, n), "float32"))


PARENT = """
import subprocess
from tests.processes import start_python
code = "import threading; print('running', flush=True); threading.Event().wait()"
child = start_python("-c", code, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


def test_processes_die_with_a_killed_parent():
    root = Path(__file__).parents[1]
    parent = start_python("-c", PARENT, stdout=subprocess.PIPE, text=True, cwd=root)
    child = psutil.Process(int(parent.stdout.readline()))
    assert child.is_running()
    parent.kill()
    parent.communicate()
    psutil.wait_procs([child], timeout=30)
    assert not child.is_running()


REPLACES_STDIN = """
import os, threading
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # as pytest does
print('running', flush=True)
threading.Event().wait(1)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_processes_survive_a_pause():
    child = start_python("-c", REPLACES_STDIN, stdout=subprocess.PIPE)
    child.stdout.readline()
    for number in (signal.SIGSTOP, signal.SIGCONT):
        child.send_signal(number)
        time.sleep(0.1)
    child.communicate()
    assert child.returncode == 0


def random_matrix(seed):
    """Return a matrix with ten shards."""
    return sparse.csr_array(np.random.default_rng(seed).random((700, 700), "float32"))


def depends_on_summation_order(X):
    """Return whether the norms of the shards have another sum in pairs than in sequence."""
    R = ShardedCSR.from_csr(X.copy())
    norms = np.array([squared_norm(R.values(shard)) for shard in range(R.n_shards)])
    return norms.sum() != sum(norms.tolist())


def run_one_pass(engine):
    engine.start_level(random_start(0, engine.shape[1], 4, engine.dtype)(0))
    engine.step(1)


@pytest.mark.slow
class TestFaults:
    def test_workers_are_killed(self, graph, tmp_path):
        # One while X is built, and in the middle of a level the first, which the client calls.
        expected = local(graph)
        with process_cluster(tmp_path, 3) as cluster, client_of(cluster) as client:
            workers = client.scheduler_info()["workers"]
            by_address = [workers[address]["name"] for address in sorted(workers)]
            due = {"on the workers": by_address[2], "level 2/3, pass 3": by_address[0]}
            killed = []

            def kill(progress):
                for moment, name in due.items():
                    if progress.detail.startswith(moment) and name not in killed:
                        killed.append(name)
                        cluster.kill(name)

            model = on(client, graph, kill)
        assert len(killed) == 2
        assert_same(model, expected)

    def test_a_worker_is_killed_right_after_the_blocks_are_built(self, graph, tmp_path, monkeypatch):
        expected = local(graph, levels=1)
        with process_cluster(tmp_path, 2) as cluster, client_of(cluster) as client:

            class Unlucky(BlockPlacement):
                def __init__(self, *arguments):
                    super().__init__(*arguments)
                    cluster.kill(next(iter(cluster.workers)))

            monkeypatch.setattr("boostne.factorization.dask.engine.BlockPlacement", Unlucky)
            assert_same(on(client, graph, levels=1), expected)
            assert len(cluster.workers) == 1

    @pytest.mark.usefixtures("reordered")
    def test_the_only_worker_is_replaced(self, graph, tmp_path, monkeypatch):
        expected = local(graph)
        with process_cluster(tmp_path, 1) as cluster, client_of(cluster) as client:
            replaced = []

            def replace(progress):
                if progress.detail.startswith("level 3/3, pass 2") and not replaced:
                    replaced.append(cluster.kill(next(iter(cluster.workers))))
                    cluster.add_worker()

            assert_same(on(client, graph, replace), expected)
            assert replaced

            def kill(progress):
                if progress.detail.startswith("level 2/3"):
                    for name in list(cluster.workers):
                        cluster.kill(name)

            monkeypatch.setattr(dask_cluster, "REPLACEMENT_SECONDS", 2)
            with pytest.raises(ClusterError, match=r"none of the 0 left .* has the \d+ MB that its rows need"):
                on(client, graph, kill)

    def test_a_worker_dies_before_its_result_is_gathered(self, tmp_path, monkeypatch):
        # Dask would wait forever: no other worker may run the task again.
        monkeypatch.setattr(dask_cluster, "GATHER_SECONDS", 0.5)
        with process_cluster(tmp_path, 2) as cluster, client_of(cluster) as client:
            workers = client.scheduler_info()["workers"]
            connected = dask_cluster.Cluster(client)
            worker = next(iter(connected.workers().values()))
            future = connected.submit(worker, abs, -1)
            assert connected.results([future], {worker.address}) == [1]
            cluster.kill(workers[worker.address]["name"])
            monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)  # as if it had just finished
            with pytest.raises(dask_cluster.WorkerLostError):
                connected.results([future], {worker.address})

    def test_the_scheduler_is_killed(self, graph, tmp_path):
        with process_cluster(tmp_path, 1) as cluster, client_of(cluster) as client:

            def kill(progress):
                if progress.detail.startswith("level 2/3"):
                    cluster.scheduler.kill()

            with pytest.raises(ClusterError, match=f"the scheduler at {cluster.address} is gone"):
                on(client, graph, kill)

    def test_a_worker_is_killed_while_levels_are_replayed(self, graph, tmp_path, monkeypatch):
        folder = tmp_path / "run"
        expected = local(graph, checkpoint=folder)
        (folder / "level-03.npz").unlink()
        replay = DaskEngine.replay
        with process_cluster(tmp_path, 2) as cluster, client_of(cluster) as client:

            def replay_after_a_loss(engine, U, V):
                if engine._level == 1:
                    cluster.kill(next(iter(cluster.workers)))
                replay(engine, U, V)

            monkeypatch.setattr(DaskEngine, "replay", replay_after_a_loss)
            assert_same(on(client, graph, checkpoint=folder), expected)
            assert len(cluster.workers) == 1

    def test_norm_has_the_same_bits_after_a_loss(self, tmp_path):
        X = next(X for seed in range(1000) if depends_on_summation_order(X := random_matrix(seed)))
        with process_cluster(tmp_path, 2) as cluster, client_of(cluster) as client:
            seen = []
            for engine in (LocalEngine(), DaskEngine(client, 4, ClientFactorStore(recall=None))):
                engine.load(CSRSource(X.copy()))
                seen.append(engine.norm2)
            cluster.kill(next(iter(cluster.workers)))
            with engine, pytest.raises(LevelLost):
                run_one_pass(engine)
            assert seen == [engine.norm2] * 2


def test_different_instruction_sets_are_a_warning(tmp_path, graph):
    with process_cluster(tmp_path, 0) as cluster:
        cluster.add_worker(BOOSTNE_KERNELS="baseline")
        cluster.add_worker(BOOSTNE_KERNELS="reference")
        with client_of(cluster) as client, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = BoostNE(engine=client, **SETTINGS, **PLAIN).fit(graph)
    (message,) = [str(one.message) for one in caught if one.category is BoostneWarning]
    address = r"tcp://127\.0\.0\.1:\d+"
    assert re.fullmatch(
        rf"the workers have different instruction sets \(baseline: {address}; reference: {address}\), so that results "
        "depend on which worker has which rows, up to rounding; for the same bits in every run, start all workers with "
        "BOOSTNE_KERNELS=reference",
        message,
    )
    expected = BoostNE(**SETTINGS, **PLAIN).fit(graph)
    np.testing.assert_allclose(found.residual_norms_, expected.residual_norms_, rtol=1e-3)


class TestErrors:
    def test_exceptions_of_workers_are_raised_here(self, client):
        async def fail(group):
            async def on_block(group):
                return group.block.no_such_thing

            await group.run_on_all(GroupTask(on_block, ()))

        async def out_of_date(group):
            group.block.exchange_at(TaskStamp(3, 1))

        with closing(dask_cluster.Cluster(client)) as connected:
            placement = BlockPlacement(connected, CSRSource(ones(900)), 4, 1)
            assert len(placement.placed) == 2
            with pytest.raises(AttributeError, match="no_such_thing"):
                placement.call(fail)
            with pytest.raises(BlockLostError):
                placement.call(out_of_date)
            worker = placement.placed[0].worker
            with pytest.raises(BlockLostError):
                connected.results([connected.submit(worker, on_block, "no key", block_state)], {worker.address})

    def test_timeouts_of_tasks_are_raised(self, client):
        def time_out():  # as a network drive
            raise TimeoutError(110, "Connection timed out", "level-01.npz")

        connected = dask_cluster.Cluster(client)
        worker = next(iter(connected.workers().values()))
        with pytest.raises(TimeoutError, match=r"level-01\.npz"):
            connected.results([connected.submit(worker, time_out)], {worker.address})

    def test_a_connection_between_workers_breaks(self, client):
        # Dask would wait forever: the worker that was called is alive, and the caller's worker does not ask for it.
        async def hang_up(_):
            port = int(distributed.get_worker().address.rpartition(":")[2])
            for number in range(3, 1000):
                try:
                    connection = socket.socket(fileno=os.dup(number))
                    if connection.family == socket.AF_INET and connection.getsockname()[1] == port:
                        connection.getpeername()  # not the socket that listens
                        connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
            return "nobody hears this"

        async def ask(group):
            block_actor.REPLY_SECONDS = 1.0
            try:
                return await group.ask(1, hang_up)
            finally:
                block_actor.REPLY_SECONDS = 120.0

        async def indices(group):
            async def on_block(group):
                return [group.index]

            return await group.run_on_all(GroupTask(on_block, ()))

        with closing(dask_cluster.Cluster(client)) as connected:
            placement = BlockPlacement(connected, CSRSource(ones(900)), 4, 1)
            with pytest.raises(BlockLostError):
                placement.call(ask)
            assert placement.call(indices) == [0, 1]

    def test_a_norm_out_of_range_is_an_error(self, client):
        with pytest.raises(GraphError, match=r"norm of the connectivity matrix is 3e\+31"):
            on(client, graphs.karate(), connectivity=np.full((34, 34), 1e30), dimensions=4, levels=2)

    @pytest.mark.slow
    @pytest.mark.parametrize("listening", [False, True])
    def test_no_scheduler_at_an_address(self, graph, listening, monkeypatch):
        monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            if not listening:
                server.close()
            with pytest.raises(ClusterError, match=f"no Dask scheduler answers at tcp://127.0.0.1:{port}"):
                on(f"tcp://127.0.0.1:{port}", graph)

    def test_invalid_addresses(self, graph):
        with pytest.raises(ClusterError, match="no Dask scheduler answers at nowhere://1"):
            on("nowhere://1", graph)
        with pytest.raises(ParameterError, match=r"address of a scheduler such as .*; got 'nowhere'"):
            on("nowhere", graph)

    @pytest.mark.slow
    def test_workers_with_another_version(self, graph, tmp_path):
        # The metadata of an installation of that version.
        metadata = tmp_path / "other" / "boostne-0.0.7.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: boostne\nVersion: 0.0.7\n")
        with process_cluster(tmp_path, 0) as cluster:
            cluster.add_worker(PYTHONPATH=str(metadata.parent))
            with client_of(cluster) as client, pytest.raises(ClusterError, match=r"has 0\.0\.7; install boostne=="):
                on(client, graph)

    @pytest.mark.slow
    def test_no_workers_and_workers_with_little_memory(self, graph, tmp_path, monkeypatch):
        monkeypatch.setattr(dask_cluster, "WORKERS_SECONDS", 1)
        with process_cluster(tmp_path, 0) as cluster, client_of(cluster) as client:
            with pytest.raises(ClusterError, match=f"has no workers; start some with: dask worker {cluster.address}"):
                on(client, graph)
            cluster.add_worker("--memory-limit", "400MB")
            wide = {"dimensions": 128, "levels": 1, "window": 1, "approximation": "exact"}
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(MemoryLimitError, match=r"need about \d+ MB on each of 1 workers; tcp.* has .* free"):
                on(client, graphs.random_graph(30_000, 4), **wide)

    def test_a_worker_dies_while_all_are_checked(self, client, monkeypatch):
        run, died = client.run, []

        def run_once_dead(*arguments, on_error="raise", **options):
            if len(died) < 2:
                died.append(on_error)
                if on_error == "return":
                    return {"tcp://dead": OSError(), **run(*arguments, **options)}
                raise OSError
            return run(*arguments, on_error=on_error, **options)

        monkeypatch.setattr(dask_cluster, "POLL_SECONDS", 0)
        monkeypatch.setattr(client, "run", run_once_dead)
        connected = dask_cluster.Cluster(client)
        assert list(connected.run_on_all(abs, -1).values()) == [1, 1]
        assert died == ["return", "raise"]

    def test_an_answer_without_workers_is_asked_for_again(self, client, monkeypatch):
        """The client refreshes what it knows in its own thread, without workers: these must not be taken as lost."""
        engine_cluster, ask, answers = dask_cluster.Cluster(client), client.scheduler_info, []

        def raced(**options):
            answers.append(ask(**options))
            return {**answers[-1], "workers": {}} if len(answers) == 1 else answers[-1]

        monkeypatch.setattr(client, "scheduler_info", raced)
        assert len(engine_cluster.workers()) == 2
        assert len(answers) == 2

    def test_an_interrupted_wait_leaves_no_coroutine(self, client, monkeypatch, recwarn):
        """Dask cancels what it waits for when the user interrupts it, maybe before the first step of that."""
        engine_cluster = dask_cluster.Cluster(client)

        async def reply():
            return 1

        async def canceled_at_once(function, timeout):
            started = function()
            task = asyncio.ensure_future(asyncio.wait_for(started, timeout) if timeout else started)
            task.cancel()
            await task

        def interrupted(function, callback_timeout=None):
            with pytest.raises(asyncio.CancelledError):
                asyncio.run(canceled_at_once(function, callback_timeout))
            raise KeyboardInterrupt

        monkeypatch.setattr(client, "sync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine_cluster._within(1, reply)
        assert [str(warning.message) for warning in recwarn] == []

    def test_closed_client(self, two_workers, graph):
        client = connect(two_workers.address)
        client.close()
        with pytest.raises(ClusterError, match="the client given as engine is closed; open a new one"):
            on(client, graph)

    @pytest.mark.parametrize("engine", [7, None])
    def test_not_a_client(self, engine, graph):
        with pytest.raises(ParameterError, match=rf"a distributed\.Client or the address .*; got {engine}"):
            on(engine, graph)

    def test_default_client(self, client):
        small = {"dimensions": 4, "levels": 2}
        with pytest.raises(ParameterError, match="uses the current default client of Dask, and there is none"):
            on("dask", graphs.karate())
        with client.as_current():
            assert_same(on("dask", graphs.karate(), **small), local(graphs.karate(), **small))

    def test_the_default_client_is_that_of_another_cluster(self, client):
        small = {"dimensions": 4, "levels": 2}
        with distributed.Client(n_workers=0, processes=False, dashboard_address=None):
            assert_same(on(client, graphs.karate(), **small), local(graphs.karate(), **small))

    def test_parameters_for_one_machine(self, graph, tmp_path):
        for change in ({"memory_limit": "2GB"}, {"checkpoint": tmp_path, "keep_matrix": True}):
            with pytest.raises(ParameterError, match="are for X on this machine; on a Dask cluster"):
                on("dask", graph, **change)

    def test_command_line(self, tmp_path):
        from boostne.cli.program import run

        output = ["-o", str(tmp_path / "out.npz")]
        assert run(["embed", "karate", *output, "--workers", "1", "--scheduler", "x"]) == 2
        assert run(["embed", "karate", *output, "--method", "netmf", "--workers", "1"]) == 2
        assert not list(tmp_path.iterdir())


class TestPartition:
    def test_workers_get_equal_numbers_of_entries_not_rows(self):
        counts = np.repeat([1000.0, 10.0], [100, 10_000])
        first, second = even_cuts(counts, 2)
        assert first.stop == second.start
        assert abs(counts[: first.stop].sum() - counts.sum() / 2) <= 1000

    def test_shards_are_those_of_the_whole_matrix(self, graph):
        X = BoostNE(**SETTINGS).connectivity_matrix(graph)
        for n_workers in (1, 2, 3, 4):
            found = block_ranges(np.diff(X.indptr), X.shape[1], n_workers)
            cuts = [0, *(int(cut) + place.rows.start for place in found for cut in place.cuts[1:])]
            np.testing.assert_array_equal(cuts, ShardedCSR.from_csr(X).cuts)
            assert len(found) == n_workers
            assert [place.first_shard for place in found] == sorted({place.first_shard for place in found})

    def test_more_workers_than_shards_get_one_shard_each(self):
        found = block_ranges(np.full(10_000, 400), 10_000, 40)
        assert len(found) == 40
        assert found[-1].rows.stop == 10_000


def test_only_documented_names_of_dask():
    folder = Path(block_actor.__file__).parent
    private = re.compile(r"worker\.(data|executor|handlers|rpc)\b|\.proxy\(|to_serialize")
    assert not [path.name for path in sorted(folder.glob("*.py")) if private.search(path.read_text())]


@pytest.mark.parametrize("size", range(1, 18))
def test_branches_reach_every_block_once_and_in_order(size):
    def reached(blocks):
        parts = branches(blocks)
        assert len(parts) <= (len(blocks) - 1).bit_length()
        return [blocks[0], *(block for part in parts for block in reached(part))]

    assert reached(range(size)) == list(range(size))


class TestWorkerBlock:
    rows = range(40, 90)
    place = BlockRange(rows, np.array([0, 20, 50]), 2)

    @pytest.fixture
    def source(self):
        return ExactSource(graphs.random_graph(120, 6), window=3, negative=1, dtype="float32")

    @pytest.mark.parametrize(
        "drafted", [range(40, 90), range(50, 70), range(20, 60), range(60, 110), range(30), range(100, 120)]
    )
    def test_built_from_a_draft_of_another_range(self, source, drafted):
        X, _ = source.build()
        missing = np.diff(X.indptr)[self.rows.start : drafted.start]
        draft = worker_block.draft_rows(source, drafted, 1)
        from_draft = worker_block.build_block(source, self.place, 1, draft, missing)
        built = worker_block.build_block(source, self.place, 1)
        for block in (from_draft, built):
            assert (block.R.to_csr() != X[40:90]).nnz == 0
            assert block.R.first_shard == 2
            assert block.R.n_shards == 2
        np.testing.assert_array_equal(from_draft.norms, built.norms)

    def test_tasks_out_of_date_are_rejected(self, source):
        block = worker_block.build_block(source, self.place, 1)
        exchange = Exchange(1, 0, ContextSlices.divide(120, 1))
        with pytest.raises(BlockLostError):
            block.apply(TaskStamp(0, 0))
        block.start(TaskStamp(0, 1), exchange, 8)
        with pytest.raises(BlockLostError):  # its slice of V has not arrived
            block.apply(TaskStamp(0, 1))
        block.start_context(TaskStamp(0, 1), 8)
        block.apply(TaskStamp(0, 1))[0][:] = 3
        block.apply(TaskStamp(0, 1, 2, "accept"))[0][:] = 5
        assert (block.apply(TaskStamp(0, 1, 3, "revert"))[0] == 3).all()
        for stamp in (TaskStamp(0, 0), TaskStamp(1, 1), TaskStamp(0, 2, 1, "accept")):
            with pytest.raises(BlockLostError):
                block.apply(stamp)
        for stamp in (TaskStamp(0, 1), TaskStamp(0, 0), TaskStamp(1, 2)):
            with pytest.raises(BlockLostError):
                block.start(stamp, exchange, 8)
        block.start(TaskStamp(0, 2), exchange, 8)
        block.start_context(TaskStamp(0, 2), 8)
        assert not block.apply(TaskStamp(0, 2))[0].any()

    def test_a_level_is_replayed_once(self, source):
        block = worker_block.build_block(source, self.place, 1)
        U, V = np.ones((50, 3), "float32") / 9, np.ones((120, 3), "float32")
        first, second = (worker_block.replay(block, 0, U, V) for _ in range(2))
        assert first.level == second.level == 1
        np.testing.assert_array_equal(first.norms, second.norms)
        assert first.norms.sum() < worker_block.build_block(source, self.place, 1).norms.sum()

    def test_cannot_be_pickled(self, source):
        with pytest.raises(TypeError, match="stays on the worker"):
            copy(worker_block.build_block(source, self.place, 1))


def test_rows_of_a_matrix_source():
    X, _ = ExactSource(graphs.random_graph(120, 6), window=3, negative=1, dtype="float32").build()
    builder = CSRBuilder(120, X.dtype)
    for rows in (range(50), range(50, 51), range(51, 120)):
        builder.extend(CSRSource(X).rows(rows))
    assert (builder.finish() != X).nnz == 0


def test_builder_drops_and_prepends_rows():
    builder = CSRBuilder(5, np.float64)
    row = lambda *at: (np.array(at, np.int32), np.array(at, float) + 1)  # noqa: E731
    builder.extend(one_block_per_row([row(0, 1), row(), row(2), row(3, 4)]))
    builder.keep(1, 3)
    builder.prepend(np.array([1, 2]), one_block_per_row([row(4), row(0, 3)]))
    np.testing.assert_array_equal(builder.counts, [1, 2, 0, 1])
    expected = [[0, 0, 0, 0, 5], [1, 0, 0, 4, 0], [0] * 5, [0, 0, 3, 0, 0]]
    np.testing.assert_array_equal(builder.finish().toarray(), expected)
