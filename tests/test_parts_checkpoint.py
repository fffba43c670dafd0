"""Checkpoints of runs whose workers write parts: kills, other workers, damaged files, files of other runs."""

import errno
import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import graphs
from tests.cluster import client_of, process_cluster
from tests.parameters import boostne
from tests.processes import start_python

from boostne import BoostNE, Graph, read_embedding
from boostne.errors import CheckpointError, CheckpointWarning, ClusterError, FileFormatError, ParameterError
from boostne.factorization import factor_files
from boostne.factorization.boosting import Level
from boostne.factorization.checkpoint import FORM, CheckpointFolder
from boostne.factorization.checkpoint_files import checksum, write_arrays, write_json
from boostne.factorization.dask import worker_block
from boostne.factorization.dask.engine import DaskEngine
from boostne.factorization.dask.factor_store import check_written
from boostne.factorization.factor_files import FactorFiles, FactorParts

pytest.importorskip("distributed")

ROOT = Path(__file__).parents[1]
SETTINGS = {"dimensions": 12, "levels": 3, "window": 3, "max_iter": 12}
PLAIN = {"propagation": 0, "vector_length": 0}
HISTORY = ("residual_norms_", "n_iter_", "nnz_", "objective_")
# A client that stops when its progress starts with some text, or when all parts are written.
CLIENT = """
import sys
import threading
from boostne import BoostNE, read_graph
from boostne.factorization.dask.engine import DaskEngine

address, source, output, checkpoint, awaited = sys.argv[1:]
write_parts = DaskEngine.write_parts

def stop():
    print("reached", flush=True)
    threading.Event().wait()

def write_and_stop(*arguments):
    write_parts(*arguments)
    stop()

DaskEngine.write_parts = write_and_stop
graph = read_graph(source) if source.endswith(".csv") else source
model = BoostNE(engine=address, checkpoint=checkpoint, **{settings})
model.fit_to_parts(graph, output, progress=lambda at: stop() if at.detail.startswith(awaited) else None)
"""
# ``boostne embed``, which stops in the second pass of the last level.
COMMAND = """
import threading
from boostne.cli import main
from boostne.factorization.dask.engine import DaskEngine

step = DaskEngine.step

def step_or_stop(engine, *arguments):
    if engine._level == 1:
        print("reached", flush=True)
        threading.Event().wait()
    return step(engine, *arguments)

DaskEngine.step = step_or_stop
main()
"""

needs_signals = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")


@pytest.fixture(scope="module")
def three_workers(tmp_path_factory):
    with process_cluster(tmp_path_factory.mktemp("three"), 3) as cluster, client_of(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def graph():
    """X has four shards or more."""
    return graphs.planted_partition([100, 300, 800], 0.08, 0.004, seed=3)[0]


@pytest.fixture(scope="module")
def expected(graph):
    return BoostNE(**SETTINGS, **PLAIN).fit(graph)


@pytest.fixture(scope="module")
def sources(graph, tmp_path_factory):
    """The edges in a text file, which a client reads, and in a Parquet file, which workers read."""
    folder = tmp_path_factory.mktemp("edges")
    A = graph.adjacency.tocoo()
    once = A.row < A.col
    u, v = (graph.nodes[ends[once]] for ends in (A.row, A.col))
    pq.write_table(pa.table({"source": u, "target": v}), folder / "edges.parquet")
    np.savetxt(folder / "edges.csv", np.column_stack([u, v]), "%d", ",", header="source,target", comments="")
    return {"client": folder / "edges.csv", "workers": folder / "edges.parquet"}


@pytest.fixture(scope="module")
def finished(client, graph, tmp_path_factory):
    """The checkpoint of a finished run."""
    folder = tmp_path_factory.mktemp("finished")
    BoostNE(**SETTINGS, engine=client, checkpoint=folder / "kept").fit_to_parts(graph, folder / "out")
    return folder / "kept"


@pytest.fixture
def kept(finished, tmp_path):
    """A copy of the checkpoint of a finished run."""
    return copy_of(finished, tmp_path / "kept")


def copy_of(folder, to):
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


def killed_client(cluster, source, folder, awaited):
    """Kill a client with SIGKILL when it stops; returns the files of its checkpoint with the times of changes."""
    code = CLIENT.replace("{settings}", repr(SETTINGS))
    arguments = (cluster.address, source, folder / "out", folder / "kept", awaited)
    process = start_python("-c", code, *arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout.readline() == "reached\n"
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    return times(folder / "kept")


def times(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("level-*")}


def resume(client, source, folder, **changes):
    """Run to the end; returns the model and the levels that were computed."""
    passes = []
    model = BoostNE(**{**SETTINGS, **changes}, engine=client, checkpoint=folder / "kept")
    model.fit_to_parts(source, folder / "out", progress=lambda at: passes.append(at.detail))
    return model, sorted({detail[:9] for detail in passes if detail.startswith("level ")})


def assert_same(model, folder, expected):
    for name in HISTORY:
        for found, wanted in zip(getattr(model, name), getattr(expected, name), strict=True):
            np.testing.assert_array_equal(found, wanted)
    found = read_embedding(folder / "out")
    assert found.nodes.tolist() == expected.embedding_.nodes.tolist()
    np.testing.assert_array_equal(found.vectors, expected.embedding_.vectors)
    assert [path.name for path in (folder / "out").iterdir() if not path.name.startswith("part-")] == []


def wait_for(path):
    while not path.exists():
        time.sleep(0.01)


@needs_signals
def test_interrupted_while_parts_are_written(client, graph, expected, tmp_path):
    def delay():  # the next part of a worker
        write_embedding = worker_block.write_embedding

        def delayed(embedding, path):
            worker_block.write_embedding = write_embedding
            (tmp_path / "waiting").touch()
            while not (tmp_path / "go").exists():
                time.sleep(0.01)
            try:
                write_embedding(embedding, path)
            finally:
                (tmp_path / "done").touch()

        worker_block.write_embedding = delayed

    def interrupt():
        wait_for(tmp_path / "waiting")
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    client.run(delay, workers=[min(client.scheduler_info()["workers"])])
    thread = threading.Thread(target=interrupt)
    thread.start()
    model = BoostNE(**SETTINGS, engine=client, checkpoint=tmp_path / "kept")
    with pytest.raises(KeyboardInterrupt):
        model.fit_to_parts(graph, tmp_path / "out")
    thread.join()
    (tmp_path / "go").touch()
    wait_for(tmp_path / "done")
    assert not list((tmp_path / "out").iterdir())
    model, levels = resume(client, graph, tmp_path)
    assert levels == []
    assert_same(model, tmp_path, expected)


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, r"; they take 8 B there\. Free some space"), (errno.ETIMEDOUT, r"\. Make the")],
)
def test_errors_of_the_disk_of_a_worker_advise_to_free_space_if_it_is_full(number, advice):
    with pytest.raises(OSError, match=rf"{os.strerror(number)}{advice}.*; with a checkpoint, the run resumes") as error:
        check_written([(range(2), "checksum"), OSError(number, "", "level.npz")], "they take 8 B there")
    assert (error.value.errno, error.value.filename) == (number, "level.npz")


@needs_signals
class TestFullDisk:
    @pytest.mark.parametrize(
        ("awaited", "computed", "file", "needed"),
        [
            (
                "levels: level 3/3",
                ["level 3/3"],
                r"kept.level-03-U-\d+\.npz",
                r"U and V of each level take 38 kB there",
            ),
            ("writing", [], r"out.*part-0000\d\.parquet", r"the vectors take 58 kB there"),
        ],
    )
    def test_finished_levels_are_safe(self, client, graph, expected, tmp_path, awaited, computed, file, needed):
        resource = pytest.importorskip("resource")
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)

        def limit(size):
            client.run(resource.setrlimit, resource.RLIMIT_FSIZE, (size, most))

        def fill(progress):
            if f"{progress.stage}: {progress.detail}".startswith(awaited):
                limit(2000)

        model = BoostNE(**SETTINGS, engine=client, checkpoint=tmp_path / "kept")
        try:
            with pytest.raises(
                OSError, match=rf"{needed}\. Free some space; with a checkpoint, the run resumes"
            ) as error:
                model.fit_to_parts(graph, tmp_path / "out", progress=fill)
        finally:
            limit(most)
        assert re.search(file, error.value.filename)
        before = times(tmp_path / "kept")
        model, levels = resume(client, graph, tmp_path)
        assert levels == computed
        assert_same(model, tmp_path, expected)
        assert times(tmp_path / "kept").items() >= before.items()


@needs_signals
class TestKilled:
    @pytest.mark.parametrize(
        ("reader", "awaited", "computed"),
        [
            ("client", "level 1/3, pass 2", ["level 1/3", "level 2/3", "level 3/3"]),
            ("workers", "level 3/3, pass 2", ["level 3/3"]),
            ("client", "the end", []),
            ("workers", "the end", []),
        ],
    )
    def test_client(self, two_workers, client, graph, sources, expected, tmp_path, reader, awaited, computed):
        before = killed_client(two_workers, sources[reader], tmp_path, awaited)
        if awaited == "the end":
            with pytest.raises(FileFormatError, match="the run that writes this embedding has not finished"):
                read_embedding(tmp_path / "out")
        source = sources["workers"] if reader == "workers" else graph
        model, levels = resume(client, source, tmp_path)
        assert levels == computed
        assert_same(model, tmp_path, expected)
        after = times(tmp_path / "kept")
        assert {name: after[name] for name in before} == before
        assert len(before) == 5 * (3 - len(computed))

    @pytest.mark.parametrize("reader", ["client", "workers"])
    def test_the_other_reader_and_another_number_of_workers(
        self, two_workers, three_workers, graph, sources, expected, tmp_path, reader
    ):
        killed_client(two_workers, sources[reader], tmp_path, "level 3/3, pass 2")
        source = {"client": sources["workers"], "workers": graph}[reader]
        model, levels = resume(three_workers, source, tmp_path)
        assert levels == ["level 3/3"]
        assert_same(model, tmp_path, expected)
        assert len(list((tmp_path / "kept").glob("level-03-U-*"))) == 3
        assert len(list((tmp_path / "kept").glob("level-02-U-*"))) == 2

    def test_command(self, two_workers, sources, graph, tmp_path):
        options = ("--dimensions", "8", "--levels", "2", "--window", "3", "--checkpoint", "kept")
        command = ("embed", sources["workers"], "-o", "out/", *options, "--scheduler", two_workers.address)
        process = start_python("-c", COMMAND, *command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        assert process.stdout.readline() == "reached\n"
        process.kill()
        process.communicate()
        before = times(tmp_path / "kept")
        assert len(before) == 5
        done = start_python("-m", "boostne", *command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        assert "out/ (2 parts, " in done.communicate()[0]
        assert done.returncode == 0
        wanted = boostne(8, levels=2, window=3, **PLAIN).fit(graph).embedding_
        np.testing.assert_array_equal(read_embedding(tmp_path / "out").vectors, wanted.vectors)
        assert times(tmp_path / "kept").items() >= before.items()

    @pytest.mark.slow
    def test_command_with_local_workers(self, sources, graph, tmp_path):
        pytest.importorskip("cryptography")
        options = ("--dimensions", "8", "--levels", "2", "--window", "3", "--checkpoint", "kept")
        command = ("embed", sources["client"], "-o", "out/", *options, "--workers")
        process = start_python("-c", COMMAND, *command, "2", stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        assert process.stdout.readline() == "reached\n"
        process.kill()
        process.communicate()
        before = times(tmp_path / "kept")
        assert len(before) == 5
        done = start_python("-m", "boostne", *command, "1", cwd=tmp_path)
        assert done.wait() == 0
        wanted = boostne(8, levels=2, window=3, **PLAIN).fit(graph).embedding_
        np.testing.assert_array_equal(read_embedding(tmp_path / "out").vectors, wanted.vectors)
        assert times(tmp_path / "kept").items() >= before.items()

    @pytest.mark.slow
    def test_cluster(self, client, graph, expected, tmp_path):
        def kill_at(progress):
            if progress.detail.startswith("level 3/3"):
                cluster.stop()

        with process_cluster(tmp_path, 1) as cluster, client_of(cluster) as one_worker:
            model = BoostNE(**SETTINGS, engine=one_worker, checkpoint=tmp_path / "kept")
            with pytest.raises(ClusterError, match="is gone and the run cannot continue"):
                model.fit_to_parts(graph, tmp_path / "out", progress=kill_at)
        assert not list((tmp_path / "out").iterdir())
        model, levels = resume(client, graph, tmp_path)
        assert levels == ["level 3/3"]
        assert_same(model, tmp_path, expected)

    @pytest.mark.slow
    @pytest.mark.usefixtures("kept")
    def test_worker_while_levels_are_verified_and_replayed(self, graph, expected, tmp_path, monkeypatch):
        find_damage, replay = DaskEngine.find_damage, DaskEngine.replay

        def kill_at(level, method):
            def wrapped(engine, *arguments):
                if engine._level == level:
                    cluster.kill(next(iter(cluster.workers)))
                return method(engine, *arguments)

            return wrapped

        monkeypatch.setattr(DaskEngine, "find_damage", kill_at(1, find_damage))
        monkeypatch.setattr(DaskEngine, "replay", kill_at(2, replay))
        with process_cluster(tmp_path, 3) as cluster, client_of(cluster) as client:
            model, levels = resume(client, graph, tmp_path)
            assert len(cluster.workers) == 1
        assert levels == []
        assert_same(model, tmp_path, expected)


class TestDamaged:
    @pytest.mark.parametrize(
        ("name", "computed"), [("level-01-U-0.npz", 3), ("level-02-V-600.npz", 2), ("level-03.npz", 1)]
    )
    def test_files_are_computed_again(self, client, graph, expected, kept, tmp_path, name, computed):
        content = bytearray((kept / name).read_bytes())
        content[content.rindex(b"\x93NUMPY") + 128] ^= 1  # the first value of the last array
        (kept / name).write_bytes(content)
        message = rf"{name} is damaged \(.*\): level {4 - computed} is computed again"
        with pytest.warns(CheckpointWarning, match=message):
            model, levels = resume(client, graph, tmp_path)
        assert levels == [f"level {level}/3" for level in range(4 - computed, 4)]
        assert_same(model, tmp_path, expected)
        assert len(list(kept.glob("level-*"))) == 15

    def test_a_missing_file(self, client, sources, expected, kept, tmp_path):
        (kept / "level-03-V-600.npz").unlink()
        with pytest.warns(CheckpointWarning, match=r"level-03-V-600.npz is damaged \(No such file or directory\)"):
            model, levels = resume(client, sources["workers"], tmp_path)
        assert levels == ["level 3/3"]
        assert_same(model, tmp_path, expected)

    def test_a_kill_while_a_damaged_level_is_replaced(self, client, graph, expected, kept, tmp_path):
        # The files of level 2 were written again, by other workers, and not yet listed.
        FactorFiles(str(kept), 4, np.dtype("float32")).remove_from(1)
        assert len(list(kept.glob("level-*"))) == 5
        (kept / "level-02-U-400.npz").write_bytes(b"stale")
        (kept / "level-03-U-0.npz").write_bytes(b"stale")
        model, levels = resume(client, graph, tmp_path)
        assert levels == ["level 2/3", "level 3/3"]
        assert_same(model, tmp_path, expected)
        assert not (kept / "level-02-U-400.npz").exists()


class TestForeign:
    @pytest.mark.usefixtures("kept")
    def test_parameters(self, client, graph, sources, tmp_path):
        with pytest.raises(CheckpointError, match="max_iter was 12 and is 13"):
            resume(client, graph, tmp_path, max_iter=13)
        with pytest.raises(CheckpointError, match="max_iter was 12 and is 13"):  # before the graph is read
            resume("tcp://127.0.0.1:1", sources["workers"], tmp_path, max_iter=13)
        assert not (tmp_path / "out").exists()

    @pytest.mark.usefixtures("kept")
    def test_graph(self, client, sources, tmp_path):
        with pytest.raises(CheckpointError, match=r"graph was '.*' and is '"):
            resume(client, graphs.karate(), tmp_path)
        table = pq.read_table(sources["workers"])
        pq.write_table(table.slice(1), tmp_path / "changed.parquet")
        with pytest.raises(CheckpointError, match=r"graph was '.*' and is '"):
            resume(client, tmp_path / "changed.parquet", tmp_path)
        assert not list((tmp_path / "out").iterdir())

    def test_checkpoint_of_a_fit(self, client, graph, tmp_path):
        BoostNE(**SETTINGS, checkpoint=tmp_path / "kept").fit(graph)
        with pytest.raises(CheckpointError, match="output was None and is 'parts'"):
            resume(client, graph, tmp_path)

    def test_files(self, client, graph, kept, tmp_path):
        other = BoostNE(**{**SETTINGS, "tol": 0.1}, engine=client, checkpoint=tmp_path / "other")
        other.fit_to_parts(graph, tmp_path / "first")
        for name, problem in {
            "level-02-U-0.npz": "belongs to another run, or to another copy of the level",
            "level-02.npz": "belongs to another run; restore",
        }.items():
            content = (kept / name).read_bytes()
            (kept / name).write_bytes((tmp_path / "other" / name).read_bytes())
            with pytest.raises(CheckpointError, match=f"{name} {problem}"):
                resume(client, graph, tmp_path)
            (kept / name).write_bytes(content)
        (kept / "level-02-U-0.npz").write_bytes((kept / "level-01-U-0.npz").read_bytes())
        with pytest.raises(
            CheckpointError, match=r"level-02-U-0.npz contains 'level 1, U, .*' instead of 'level 2, U, "
        ):
            resume(client, graph, tmp_path)

    def test_other_files(self, client, graph, tmp_path):
        (tmp_path / "kept").mkdir()
        (tmp_path / "kept" / "thesis.tex").touch()
        for source in (graph, "edges.parquet"):
            with pytest.raises(CheckpointError, match=r"not empty and holds no checkpoint \(found 'thesis.tex'\)"):
                resume(client, source, tmp_path)

    @pytest.mark.parametrize(("name", "out"), [("out", "out"), ("out/kept", "out"), ("kept", "kept/out")])
    def test_the_checkpoint_and_the_parts_contain_one_another(self, client, graph, tmp_path, name, out):
        model = BoostNE(**SETTINGS, engine=client, checkpoint=tmp_path / name)
        with pytest.raises(
            ParameterError, match=f"the checkpoint .*{name} and the folder .*{out} must not contain one another"
        ):
            model.fit_to_parts(graph, tmp_path / out)
        assert not list(tmp_path.iterdir())


class TestResult:
    def test_a_finished_run_writes_the_parts_again(self, client, graph, expected, kept, tmp_path):
        before = times(kept)
        model, levels = resume(client, graph, tmp_path)
        assert levels == []
        assert_same(model, tmp_path, expected)
        assert times(kept) == before

    def test_zero_levels(self, client, tmp_path):
        graph = Graph.from_edges(["a", "b", 7, 7], ["b", 7, "a", "end"])
        options = {"levels": 4, "dimensions": 16, "max_iter": 100}
        wanted = BoostNE(**{**SETTINGS, **options}, **PLAIN).fit(graph)
        assert wanted.n_iter_[-1] == 0
        for computed in (True, False):
            model, levels = resume(client, graph, tmp_path, **options)
            assert bool(levels) == computed
            assert_same(model, tmp_path, wanted)
            (tmp_path / "out").rename(tmp_path / f"out-{computed}")

    @pytest.mark.parametrize("reader", ["client", "workers"])
    def test_the_form_of_the_first_run(self, client, graph, sources, kept, tmp_path, reader):
        """Whatever memory is free now."""
        for path in kept.glob("level-*"):
            path.unlink()
        content = json.loads((kept / FORM).read_text())
        del content["sha256"]
        form = {"name": "push", "epsilon": 1e-4, "max_per_row": 50}
        write_json(kept / FORM, {**content, "form": form})
        source = sources["workers"] if reader == "workers" else graph
        model, _ = resume(client, source, tmp_path)
        assert (model.approximation_, model.epsilon_, model.max_per_row_) == tuple(form.values())
        assert json.loads((kept / FORM).read_text())["form"] == form

    def test_the_client_stores_lists_of_files(self, kept):
        with np.load(kept / "level-01.npz") as file:
            assert sum(file[name].nbytes for name in file.files if name != "origin") < 1000


RUN = {"graph": "abc", "output": "parts"}


class TestFiles:
    """Of a level with five rows in two files, without a cluster."""

    U = np.arange(10, dtype=np.float32).reshape(5, 2)

    @pytest.fixture
    def files(self, tmp_path):
        return FactorFiles(str(tmp_path), 2, np.dtype("float32"))

    def written(self, files, level=0):
        return FactorParts.of([files.write(level, "U", 3, self.U[3:]), files.write(level, "U", 0, self.U[:3])])

    def test_any_rows_are_read(self, files):
        parts = self.written(files)
        assert parts.cuts.tolist() == [0, 3, 5]
        for rows in (range(5), range(3), range(2, 4), range(4, 5), range(1, 1)):
            np.testing.assert_array_equal(files.read(0, "U", parts, rows), self.U[rows.start : rows.stop])

    @pytest.mark.parametrize(
        ("rows", "problem"),
        [
            (np.ones((3, 2)), "rows must have shape .* found .*float64"),
            (np.ones((3, 3), "f4"), r"rows must have shape \(3, 2\)"),
            (np.full((3, 2), np.nan, "f4"), "rows must be finite and not negative"),
            (-np.ones((3, 2), "f4"), "rows must be finite and not negative"),
            (np.ones((3, 2), "?"), "rows must have shape .* found .*bool"),
        ],
    )
    def test_invalid_values_with_a_valid_checksum(self, files, rows, problem):
        span, total = range(3), checksum({"content": "level 1, U, rows 0 to 2"}, {"rows": rows})
        write_arrays(files.path(0, "U", 0), {"content": "level 1, U, rows 0 to 2"}, {"rows": rows}, total)
        parts = FactorParts.of([(span, total)])
        with pytest.raises(FileFormatError, match=problem):
            files.read(0, "U", parts, span)
        assert files.problem(0, "U", parts, 0) is not None

    @pytest.mark.parametrize("content", [b"", b"PK", None])
    def test_damaged_and_missing_files(self, files, content):
        parts, path = self.written(files), files.path(0, "U", 3)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        assert files.problem(0, "U", parts, 0) is None
        assert files.problem(0, "U", parts, 1) == "No such file or directory" or content is not None

    def test_a_file_that_this_user_may_not_read_is_not_damaged(self, files, monkeypatch):
        parts = self.written(files)

        def refuse(path, *_):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(factor_files, "read_arrays", refuse)
        with pytest.raises(CheckpointError, match=r"level-01-U-3\.npz cannot be read \(Permission denied\); make it"):
            files.problem(0, "U", parts, 1)

    def test_files_of_a_level_and_later_ones_are_removed(self, files, tmp_path):
        for level in range(3):
            self.written(files, level)
            (tmp_path / f"level-{level + 1:02d}.npz").touch()
        (tmp_path / "level-02.txt").touch()
        (tmp_path / ".boostne-0123.npz").touch()
        files.remove_from(1)
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "level-01-U-0.npz",
            "level-01-U-3.npz",
            "level-01.npz",
            "level-02.txt",
        ]

    def stored(self, folder, level):
        checkpoint = CheckpointFolder(folder, RUN)
        checkpoint.save_level(1, level)
        found = CheckpointFolder(folder, RUN)
        return list(found.levels_in_parts(8, 5, lambda *_: None))

    def level(self, files, n_iter=4, **changes):
        parts = self.written(files)
        U = FactorParts(**{**vars(parts), **changes})
        return Level(U, parts, np.array([0.5, 0.25]), n_iter, 2.0, 17)

    def test_lists_of_files_round_trip(self, files, tmp_path):
        level = self.level(files)
        (found,) = self.stored(tmp_path / "kept", level)
        np.testing.assert_array_equal(found.U.checksums, level.U.checksums)
        np.testing.assert_array_equal(found.U.cuts, [0, 3, 5])
        np.testing.assert_array_equal(found.objective, level.objective)
        assert (found.n_iter, found.residual_norm, found.nnz) == (4, 2.0, 17)

    @pytest.mark.parametrize(
        ("changes", "problem"),
        [
            ({"cuts": np.array([0, 3, 6])}, "U_cuts must increase from 0 to 5"),
            ({"cuts": np.array([1, 3, 5])}, "U_cuts must increase from 0 to 5"),
            ({"cuts": np.array([0, 5, 5])}, "U_cuts must increase from 0 to 5"),
            ({"cuts": np.array([0, -3, 5])}, "U_cuts must be finite and not negative"),
            ({"cuts": np.array([0, 5])}, "U_checksums must have shape"),
            ({"cuts": np.array([], np.int64)}, "U_checksums must have shape"),
            ({"cuts": np.array([[0, 3, 5]])}, "U_cuts must have shape"),
            ({"cuts": np.array([0.0, 3, 5])}, "U_cuts must have shape .* float64"),
            ({"checksums": np.zeros((2, 31), np.uint8)}, "U_checksums must have shape"),
            ({"checksums": np.zeros((2, 32), np.int8)}, "U_checksums must have shape .* int8"),
            ({"n_iter": 0}, "U_cuts must increase from 0 to 0"),
        ],
    )
    def test_invalid_lists_with_a_valid_checksum(self, files, tmp_path, changes, problem):
        with pytest.warns(CheckpointWarning, match=rf"level-01.npz is damaged \({problem}.*level 1 is computed again"):
            assert self.stored(tmp_path / "kept", self.level(files, **changes)) == []
