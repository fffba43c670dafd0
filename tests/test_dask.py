"""The engine on Dask, on real processes: equal to the local engine, and what goes wrong on a cluster."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from copy import copy

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from tests import graphs
from tests.cluster import Processes

from boostne import BoostNE, Graph, load_dataset, read_embedding
from boostne.errors import ClusterError, FileFormatError, MemoryLimitError, ParameterError
from boostne.factorization import LocalEngine
from boostne.factorization.boosting import random_start
from boostne.factorization.dask import cluster
from boostne.factorization.dask import worker_block as blocks
from boostne.factorization.dask.block_placement import Holdings
from boostne.factorization.dask.cluster import connect, local_cluster
from boostne.factorization.dask.engine import DaskEngine
from boostne.factorization.dask.factor_store import InFiles, OnClient
from boostne.factorization.dask.partition import even_cuts, places
from boostne.factorization.dask.worker_block import BlockLostError, LevelFiles, Moment, Place
from boostne.factorization.dask.worker_rpc import Team, Work, branches, outcome
from boostne.generators import planted_partition
from boostne.io.writing import write_edges
from boostne.kernels.column_blocked_csr import COLUMN_BLOCKED_FROM
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.matrices import WalkColumns
from boostne.matrices.source import MatrixRows, RowCollector, collect_rows, row_by_row

distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")

SETTINGS = {"dimensions": 12, "levels": 3, "window": 3, "max_iter": 12}


@contextmanager
def processes(folder, workers):
    made = Processes(folder, workers)
    try:
        yield made
    finally:
        made.stop()
        assert all(process.poll() is not None for process in [made.scheduler, *made.workers.values()])


@contextmanager
def client_of(made, workers):
    client = connect(made.address)
    try:
        if workers:
            client.wait_for_workers(workers, timeout=60)
        yield client
    finally:
        client.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two workers."""
    with processes(tmp_path_factory.mktemp("pair"), 2) as made:
        yield made


@pytest.fixture(scope="module")
def client(pair):
    with client_of(pair, 2) as made:
        yield made


@pytest.fixture(scope="module")
def graph():
    """Nodes of very different degrees, so that even rows are not even shares; X has several shards."""
    return graphs.planted_partition([100, 300, 800], 0.08, 0.004, seed=3)[0]


@pytest.fixture
def in_order(monkeypatch):
    """Nodes are sorted by community, as those of large graphs are."""
    monkeypatch.setattr("boostne.models.boostne.ORDERED_FROM", 0)
    monkeypatch.setattr("boostne.factorization.ordering.LARGEST_COMMUNITY", 200)


def local(graph, **changes):
    return BoostNE(**{**SETTINGS, **changes}).fit(graph)


def on(client, graph, progress=lambda _: None, **changes):
    return BoostNE(**{**SETTINGS, **changes}, engine="dask", client=client).fit(graph, progress=progress)


def assert_same(model, expected):
    """Equal to the last bit, in everything that was learned."""
    np.testing.assert_array_equal(model.embedding_.vectors, expected.embedding_.vectors)
    np.testing.assert_array_equal(model.context_, expected.context_)
    np.testing.assert_array_equal(model.residual_norms_, expected.residual_norms_)
    np.testing.assert_array_equal(model.nnz_, expected.nnz_)
    np.testing.assert_array_equal(model.n_iter_, expected.n_iter_)
    for ours, theirs in zip(model.objective_, expected.objective_, strict=True):
        np.testing.assert_array_equal(ours, theirs)


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
        ids=["exact", "float64", "push", "spectral", "another matrix", "out of passes"],
    )
    def test_to_the_last_bit(self, client, graph, changes):
        expected = local(graph, **changes)
        model = on(client, graph, **changes)
        assert_same(model, expected)
        assert model.residual_norms_[-1] < 0.9 * model.residual_norms_[0]

    @pytest.mark.usefixtures("in_order")
    def test_nodes_by_community(self, client, graph, tmp_path):
        expected = local(graph)
        assert_same(on(client, graph), expected)
        BoostNE(**SETTINGS, engine="dask", client=client).fit_to_parts(graph, tmp_path / "out")
        found = read_embedding(tmp_path / "out")
        order = np.argsort(found.nodes)
        np.testing.assert_array_equal(found.nodes[order], graph.nodes)
        np.testing.assert_array_equal(found.vectors[order], expected.embedding_.vectors)
        assert (np.diff(order) < 0).any()

    def test_a_graph_so_large_that_its_residual_is_in_strips(self, client):
        graph = planted_partition(COLUMN_BLOCKED_FROM + 1000, communities=200, mean_degree=4, seed=1).graph
        small = {
            "approximation": "push",
            "max_per_row": 8,
            "window": 2,
            "levels": 2,
            "dimensions": 8,
            "max_iter": 4,
        }
        expected = local(graph, **small)
        assert_same(on(client, graph, **small), expected)
        assert expected.residual_norms_[-1] < expected.residual_norms_[0]

    def test_a_checkpoint_begun_here_is_finished_there(self, client, graph, tmp_path):
        expected = local(graph, checkpoint=tmp_path)
        for number in (2, 3):
            (tmp_path / f"level-{number:02d}.npz").unlink()
        assert_same(on(client, graph, checkpoint=tmp_path), expected)
        assert (tmp_path / "level-03.npz").exists()

    def test_step_by_step(self, client, graph):
        # In other orders, too, than the loop takes them.
        X = BoostNE(**SETTINGS).connectivity_matrix(graph)
        n, components = X.shape[0], 4
        seen = []
        for engine in (LocalEngine(), DaskEngine(client, components, OnClient(recall=None))):
            found = []
            with engine:
                engine.load(X.copy())
                for _ in range(2):
                    context = engine.begin(random_start(0, engine, components)(0))
                    found.append(context.gram)

                    def run(engine=engine, context=context, found=found):
                        swept = engine.sweep(context, 2)
                        found.extend([engine.update(context, swept, 2), swept.gram, context.gram])

                    run()
                    engine.extrapolate(context, 0.5)
                    found.extend([context.gram, *engine.collect(context)])
                    run()
                    engine.reseed(context, 1, np.linspace(0, 1, n, dtype="float32"))
                    engine.extrapolate(context, 0.0)
                    run()
                    engine.retreat(context)
                    found.extend(engine.collect(context))
                    run()
                    engine.extrapolate(context, 0.3)
                    engine.reseed(context, 2, np.linspace(1, 0, n, dtype="float32"))
                    run()
                    engine.retreat(context)
                    engine.scale(context, np.array([1.0, 0.5, 0.0, 2.0] + [0.0] * 4))
                    found.extend(engine.collect(context))
                    engine.deflate(context)
                    found.extend([engine.norm2, engine.nnz])
            seen.append(found)
        for ours, theirs in zip(*seen, strict=True):
            np.testing.assert_array_equal(theirs, ours)

    def test_the_matrix_has_more_than_one_shard(self, graph):
        X = BoostNE(**SETTINGS).connectivity_matrix(graph)
        assert ShardedCSR.from_csr(X).n_shards >= 4

    def test_a_graph_too_small_to_share(self, client):
        assert_same(
            on(client, graphs.karate(), dimensions=4, levels=2),
            local(graphs.karate(), dimensions=4, levels=2),
        )

    def test_the_workers_keep_nothing(self, client, graph):
        on(client, graph, levels=1)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            held = client.run(lambda dask_worker: list(dask_worker.data))
            if not any(held.values()):
                return
            time.sleep(0.1)
        pytest.fail(f"results left on the workers: {held}")

    def test_an_address_for_a_client_on_the_command_line(self, pair, tmp_path):
        from boostne.cli.program import program

        files = []
        for name, options in {"local": [], "dask": ["--scheduler", pair.address]}.items():
            files.append(tmp_path / f"{name}.npz")
            command = [
                "embed",
                "karate",
                "-o",
                str(files[-1]),
                "--dimensions",
                "4",
                "--levels",
                "2",
                *options,
            ]
            result = CliRunner().invoke(program, command, catch_exceptions=False)
            assert result.exit_code == 0, result.output
        with np.load(files[0]) as ours, np.load(files[1]) as theirs:
            np.testing.assert_array_equal(ours["vectors"], theirs["vectors"])


def assert_equal(found, expected):
    assert found.nodes.tolist() == expected.nodes.tolist()
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    assert found.vectors.dtype == expected.vectors.dtype
    assert found.levels.tolist() == expected.levels.tolist()


class TestParts:
    def parts(self, client, graph, folder, progress=lambda _: None, **changes):
        model = BoostNE(**{**SETTINGS, **changes}, engine="dask", client=client)
        return model, model.fit_to_parts(graph, folder, progress=progress)

    def test_are_the_vectors_of_a_fit(self, client, graph, tmp_path):
        expected = local(graph)
        model, paths = self.parts(client, graph, tmp_path / "out")
        assert paths == sorted((tmp_path / "out").iterdir())
        assert len(paths) == 2
        found = read_embedding(tmp_path / "out")
        assert_equal(found, expected.embedding_)
        np.testing.assert_array_equal(model.residual_norms_, expected.residual_norms_)
        assert model.engine_ == "dask"
        assert not hasattr(model, "embedding_")
        import pandas as pd

        table = pd.read_parquet(tmp_path / "out")
        np.testing.assert_array_equal(table.drop(columns="node"), found.vectors)

    def test_ids_of_any_kind_and_levels_with_nothing_left(self, client, tmp_path):
        graph = Graph.from_edges(["a", "b", 7, 7], ["b", 7, "a", "end"])
        for options in ({"levels": 2, "dimensions": 4}, {"levels": 4, "dimensions": 16, "max_iter": 100}):
            folder = tmp_path / str(options["levels"])
            self.parts(client, graph, folder, **options)
            assert_equal(read_embedding(folder), local(graph, **options).embedding_)

    def test_a_worker_killed_in_the_middle(self, graph, tmp_path):
        # The files have what the killed one knew.
        with processes(tmp_path, 2) as made, client_of(made, 2) as client:
            due = ["level 3/3, pass 2", "on the workers"]

            def kill(progress):
                if progress.stage in ("levels", "writing") and due and progress.detail.startswith(due[0]):
                    due.pop(0)
                    made.kill(next(iter(made.workers)))
                    made.add_worker()

            self.parts(client, graph, tmp_path / "out", kill)
        assert not due
        assert_equal(read_embedding(tmp_path / "out"), local(graph).embedding_)

    def test_nothing_is_left_of_a_failure(self, client, graph, tmp_path):
        def fail(progress):
            if progress.detail.startswith("level 2/3"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.parts(client, graph, tmp_path / "out", fail)
        assert not list((tmp_path / "out").iterdir())

    def test_refused(self, client, graph, tmp_path, monkeypatch):
        with pytest.raises(
            ParameterError, match="workers of engine='dask', without a checkpoint; got engine='local'"
        ):
            BoostNE().fit_to_parts(graph, tmp_path)
        with pytest.raises(ParameterError, match="checkpoint='kept'"):
            self.parts(client, graph, tmp_path, checkpoint="kept")
        (tmp_path / "thesis.txt").touch()
        with pytest.raises(ParameterError, match=r"is not empty \(found 'thesis.txt'\)"):
            self.parts(client, graph, tmp_path)
        with pytest.raises(ParameterError, match=r"cannot use .* as a folder"):
            self.parts(client, graph, tmp_path / "thesis.txt" / "x")
        # Workers on another machine do not see a folder of this one: as if it had another name there.
        monkeypatch.setattr(InFiles, "files", property(lambda _: LevelFiles("/nowhere")))
        with pytest.raises(
            ParameterError, match=r"tcp://.* does not see the folder .*out; give one that is on all"
        ):
            self.parts(client, graph, tmp_path / "out")
        with pytest.raises(FileFormatError, match=r"a folder without part-\*.parquet"):
            read_embedding(tmp_path)

    def test_the_command_line(self, pair, tmp_path, capsys):
        from boostne.cli.program import run

        options = ["--dimensions", "4", "--levels", "2"]
        folder = f"{tmp_path / 'out'}/"
        assert run(["embed", "karate", "-o", folder, *options, "--scheduler", pair.address]) == 0
        assert "out/ (1 part, " in capsys.readouterr().out
        expected = BoostNE(4, levels=2).fit(load_dataset("karate").graph).embedding_
        assert_equal(read_embedding(folder), expected)
        assert run(["embed", "karate", "-o", folder, *options]) == 1
        assert "give --scheduler or --workers, or a file" in capsys.readouterr().err


def test_a_cluster_of_one_s_own(graph):
    with local_cluster(2) as address:
        model = on(address, graphs.karate(), dimensions=4, levels=2)
    assert_same(model, local(graphs.karate(), dimensions=4, levels=2))
    with pytest.raises(ClusterError, match="no Dask scheduler answers"):
        connect(address)


def ones(n):
    """A matrix for more than one worker."""
    return sparse.csr_array(np.ones((n, n), "float32"))


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_an_interrupt_ends_a_cluster_of_one_s_own(tmp_path):
    # As a terminal sends it: to the workers, too.
    write_edges(planted_partition(40_000).graph, tmp_path / "edges.csv")
    command = ["embed", "edges.csv", "-o", "out.npz", "--workers", "1", "--approximation", "push"]
    process = subprocess.Popen(
        [sys.executable, "-m", "boostne", *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not (workers := psutil.Process(process.pid).children(recursive=True)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(3)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; nothing was written" in output
    assert "Traceback" not in output
    psutil.wait_procs(workers, timeout=30)
    assert not any(worker.is_running() for worker in workers)


class TestFaults:
    def test_workers_killed_in_the_middle(self, graph, tmp_path):
        # One while X is built, the first one (it has V) and another in the middle of a level.
        expected = local(graph)
        with processes(tmp_path, 3) as made, client_of(made, 3) as client:
            workers = client.scheduler_info()["workers"]
            by_address = [workers[address]["name"] for address in sorted(workers)]
            due = {"on the workers": by_address[2], "level 2/3, pass 3": by_address[0]}
            killed = []

            def kill(progress):
                for moment, name in due.items():
                    if progress.detail.startswith(moment) and name not in killed:
                        killed.append(name)
                        made.kill(name)

            model = on(client, graph, kill)
        assert len(killed) == 2
        assert_same(model, expected)

    def test_a_worker_killed_as_soon_as_the_blocks_are_there(self, graph, tmp_path, monkeypatch):
        expected = local(graph, levels=1)
        with processes(tmp_path, 2) as made, client_of(made, 2) as client:

            class Unlucky(Holdings):
                def __init__(self, *arguments):
                    super().__init__(*arguments)
                    made.kill(next(iter(made.workers)))

            monkeypatch.setattr("boostne.factorization.dask.engine.Holdings", Unlucky)
            assert_same(on(client, graph, levels=1), expected)
            assert len(made.workers) == 1

    @pytest.mark.usefixtures("in_order")
    def test_one_worker_after_the_other(self, graph, tmp_path, monkeypatch):
        # The only worker dies, and another one comes later.
        expected = local(graph)
        with processes(tmp_path, 1) as made, client_of(made, 1) as client:
            replaced = []

            def replace(progress):
                if progress.detail.startswith("level 3/3, pass 2") and not replaced:
                    replaced.append(made.kill(next(iter(made.workers))))
                    made.add_worker()

            assert_same(on(client, graph, replace), expected)
            assert replaced

            def kill(progress):
                if progress.detail.startswith("level 2/3"):
                    for name in list(made.workers):
                        made.kill(name)

            monkeypatch.setattr(cluster, "REPLACEMENT_SECONDS", 2)
            with pytest.raises(
                ClusterError, match=r"none of the 0 left .* has the \d+ MB that its rows need"
            ):
                on(client, graph, kill)

    def test_a_worker_dies_between_its_result_and_the_fetching(self, tmp_path, monkeypatch):
        # Dask would wait for the task, which no other worker may do, to be done again.
        monkeypatch.setattr(cluster, "GATHER_SECONDS", 0.5)
        with processes(tmp_path, 2) as made, client_of(made, 2) as client:
            workers = client.scheduler_info()["workers"]
            there = cluster.Cluster(client)
            worker = next(iter(there.workers().values()))
            future = there.submit(worker, abs, -1)
            assert there.results([future], {worker.address}) == [1]
            made.kill(workers[worker.address]["name"])
            monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)  # as if it had just said: done
            with pytest.raises(cluster.WorkerLostError):
                there.results([future], {worker.address})

    def test_the_scheduler_goes_away(self, graph, tmp_path):
        with processes(tmp_path, 1) as made, client_of(made, 1) as client:

            def kill(progress):
                if progress.detail.startswith("level 2/3"):
                    made.scheduler.kill()

            begin = time.monotonic()
            with pytest.raises(ClusterError, match=f"the scheduler at {made.address} went away"):
                on(client, graph, kill)
            assert time.monotonic() - begin < 60

    def test_what_a_worker_raises_is_raised_here(self, client):
        async def fail(team):
            await team.on_all(Work(lambda block: block.no_such_thing, (), list))

        async def too_late(team):
            team.block.context_at(Moment(3, 1))

        async def unheard_of(team):
            return await Team(team._worker, [("tcp://127.0.0.1:1", "no key"), *team._sites]).on_all(None)

        there = cluster.Cluster(client)
        holdings = Holdings(there, MatrixRows(ones(900)), 4, 1)
        assert len(holdings.held) == 2
        with pytest.raises(AttributeError, match="no_such_thing"):
            holdings.ask(fail)
        for lost in (too_late, unheard_of):
            with pytest.raises(BlockLostError):
                holdings.ask(lost)
        first = holdings.held[0]
        with pytest.raises(BlockLostError):  # no handler of this name
            outcome(there.call(first.worker.address, "nonsense", {}, {first.worker.address}))

    @pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
    def test_numbers_that_run_over_are_seen(self, client):
        with pytest.raises(FloatingPointError, match="no longer finite"):
            on(client, graphs.karate(), connectivity=np.full((34, 34), 1e30), dimensions=4, levels=2)


class TestRefused:
    @pytest.mark.parametrize("listening", [False, True])
    def test_an_address_that_does_not_answer(self, graph, listening):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            if not listening:
                server.close()
            begin = time.monotonic()
            with pytest.raises(ClusterError, match=f"no Dask scheduler answers at tcp://127.0.0.1:{port}"):
                on(f"tcp://127.0.0.1:{port}", graph)
        assert time.monotonic() - begin < 15

    def test_an_address_that_is_none(self, graph):
        with pytest.raises(ClusterError, match="no Dask scheduler answers at nowhere"):
            on("nowhere", graph)

    def test_workers_with_another_version(self, graph, tmp_path):
        # The metadata is what an installation of that version would have.
        metadata = tmp_path / "other" / "boostne-0.0.7.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: boostne\nVersion: 0.0.7\n")
        with processes(tmp_path, 0) as made:
            made.add_worker(PYTHONPATH=str(metadata.parent))
            with (
                client_of(made, 1) as client,
                pytest.raises(ClusterError, match=r"has 0\.0\.7; install boostne=="),
            ):
                on(client, graph)

    def test_no_workers_and_workers_too_small(self, graph, tmp_path, monkeypatch):
        monkeypatch.setattr(cluster, "WORKERS_SECONDS", 1)
        with processes(tmp_path, 0) as made, client_of(made, 0) as client:
            with pytest.raises(
                ClusterError, match=f"has no workers; start some with: dask worker {made.address}"
            ):
                on(client, graph)
            made.add_worker("--memory-limit", "400MB")
            wide = {"dimensions": 128, "levels": 1, "window": 1, "approximation": "exact"}
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(
                MemoryLimitError, match=r"need about \d+ MB on each of 1 workers; tcp.* room for"
            ):
                on(client, graphs.random_graph(30_000, 4), **wide)

    def test_a_closed_client(self, pair, graph):
        client = connect(pair.address)
        client.close()
        with pytest.raises(ClusterError, match="the client is closed; open a new one"):
            on(client, graph)

    def test_things_that_are_no_client(self, graph):
        with pytest.raises(ParameterError, match=r"client must be a distributed\.Client or the address"):
            on(7, graph)
        with pytest.raises(ParameterError, match="needs a cluster"):
            on(None, graph)
        with pytest.raises(ParameterError, match="client is for engine='dask'"):
            BoostNE(client="tcp://127.0.0.1:1").fit(graph)

    def test_the_command_line(self, tmp_path):
        from boostne.cli.program import run

        output = ["-o", str(tmp_path / "out.npz")]
        assert run(["embed", "karate", *output, "--workers", "1", "--scheduler", "x"]) == 2
        assert run(["embed", "karate", *output, "--method", "netmf", "--workers", "1"]) == 1
        assert not list(tmp_path.iterdir())


class TestPartition:
    def test_shares_of_entries_not_of_rows(self):
        counts = np.repeat([1000.0, 10.0], [100, 10_000])
        first, second = even_cuts(counts, 2)
        assert first.stop == second.start
        assert abs(counts[: first.stop].sum() - counts.sum() / 2) <= 1000

    def test_the_shards_are_those_of_the_whole_matrix(self, graph):
        X = BoostNE(**SETTINGS).connectivity_matrix(graph)
        for workers in (1, 2, 3, 4):
            found = places(np.diff(X.indptr), X.shape[1], workers)
            cuts = [0, *(int(cut) + place.rows.start for place in found for cut in place.cuts[1:])]
            np.testing.assert_array_equal(cuts, ShardedCSR.from_csr(X).cuts)
            assert len(found) == workers
            assert [place.first_shard for place in found] == sorted({place.first_shard for place in found})

    def test_more_workers_than_shards_get_shards_of_their_own(self):
        found = places(np.full(10_000, 400), 10_000, 40)
        assert len(found) == 40
        assert found[-1].rows.stop == 10_000


class TestTeam:
    @pytest.mark.parametrize("size", range(1, 18))
    def test_everyone_is_asked_once_and_in_order(self, size):
        def reached(sites):
            parts = branches(sites)
            assert len(parts) <= (len(sites) - 1).bit_length()
            return [sites[0], *(site for part in parts for site in reached(part))]

        sites = [("address", str(i)) for i in range(size)]
        assert reached(sites) == sites


class TestBlocks:
    rows = range(40, 90)
    place = Place(rows, np.array([0, 20, 50]), 2)

    @pytest.fixture
    def source(self):
        return WalkColumns(graphs.random_graph(120, 6), window=3, negative=1, dtype="float32")

    @pytest.mark.parametrize(
        "drafted",
        [range(40, 90), range(50, 70), range(20, 60), range(60, 110), range(30), range(100, 120)],
    )
    def test_from_a_draft_for_another_place(self, source, drafted):
        X = collect_rows(source)
        missing = np.diff(X.indptr)[self.rows.start : drafted.start]
        draft = blocks.draft_rows(source, drafted, 1)
        block = blocks.build_block(source, self.place, 1, draft, missing)
        built = blocks.build_block(source, self.place, 1)
        for made in (block, built):
            assert (made.R.to_csr() != X[40:90]).nnz == 0
            assert made.R.first_shard == 2
            assert made.R.n_shards == 2
        np.testing.assert_array_equal(block.norms, built.norms)

    def test_a_task_out_of_date_is_refused(self, source):
        block = blocks.build_block(source, self.place, 1)
        block.rows_at(Moment(0, 1, "begin"), 8)[:] = 3
        block.rows_at(Moment(0, 1, "accept"), 8)[:] = 5
        assert (block.rows_at(Moment(0, 1, "retreat"), 8) == 3).all()
        for late in (
            Moment(0, 0),
            Moment(1, 1),
            Moment(0, 2, "accept"),
            Moment(0, 1, "begin"),
            Moment(1, 2, "begin"),
        ):
            if late != Moment(0, 1, "begin"):
                with pytest.raises(BlockLostError):
                    block.rows_at(late, 8)
        assert not block.rows_at(Moment(0, 2, "begin"), 8).any()

    def test_a_level_is_taken_once(self, source):
        block = blocks.build_block(source, self.place, 1)
        U, V = np.ones((50, 3), "float32") / 9, np.ones((120, 3), "float32")
        first = blocks.deflate_again(block, 0, U, V)
        again = blocks.deflate_again(block, 0, U, V)
        assert first.level == again.level == 1
        np.testing.assert_array_equal(first.norms, again.norms)
        assert first.norms.sum() < blocks.build_block(source, self.place, 1).norms.sum()

    def test_a_block_does_not_travel(self, source):
        with pytest.raises(TypeError, match="stays on the worker"):
            copy(blocks.build_block(source, self.place, 1))

    def test_the_rows_of_a_matrix(self, source):
        X = collect_rows(source)
        assert (collect_rows(MatrixRows(X)) != X).nnz == 0

    def test_a_collector_loses_and_gains_rows_in_front(self):
        collector = RowCollector(5, np.float64)
        row = lambda *at: (np.array(at, np.int32), np.array(at, float) + 1)  # noqa: E731
        collector.extend(row_by_row([row(0, 1), row(), row(2), row(3, 4)]))
        collector.keep(1, 3)
        collector.prepend(np.array([1, 2]), row_by_row([row(4), row(0, 3)]))
        np.testing.assert_array_equal(collector.counts, [1, 2, 0, 1])
        expected = [[0, 0, 0, 0, 5], [1, 0, 0, 4, 0], [0] * 5, [0, 0, 3, 0, 0]]
        np.testing.assert_array_equal(collector.finish().toarray(), expected)
