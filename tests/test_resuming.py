"""Runs that are killed, and go on: real processes, real signals, the same bits at the end."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from tests import graphs

from boostne import BoostNE, planted_partition
from boostne.errors import CheckpointError, ParameterError

SETTINGS = {"dimensions": 16, "levels": 4, "window": 4, "max_iter": 400, "tol": 0.0}
NODES = 1500
RUN = """
import sys
from boostne import BoostNE, planted_partition
graph = planted_partition({nodes}, communities=5, mean_degree=8, seed=1).graph
model = BoostNE(checkpoint=sys.argv[1], keep_matrix=True, **{settings})
print("begun", flush=True)
model.fit(graph)
model.embedding_.save(sys.argv[2])
"""


@pytest.fixture(scope="module")
def graph():
    return planted_partition(NODES, communities=5, mean_degree=8, seed=1).graph


@pytest.fixture(scope="module")
def undisturbed(graph):
    return BoostNE(**SETTINGS).fit(graph)


def begin(folder, output):
    code = RUN.format(nodes=NODES, settings=SETTINGS)
    command = [sys.executable, "-c", code, str(folder), str(output)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    return process


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, "the run ended before it was killed"
        time.sleep(0.002)


@pytest.mark.parametrize("moment", ["checkpoint.json", "connectivity.npz", "level-01.npz", "level-03.npz"])
def test_a_killed_run_goes_on_and_ends_with_the_same_bits(moment, graph, undisturbed, tmp_path):
    folder = tmp_path / "run"
    process = begin(folder, tmp_path / "vectors.npz")
    wait_for(folder / moment, process)
    time.sleep(np.random.default_rng(len(moment)).uniform(0, 0.05))
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(timeout=30) == -signal.SIGKILL
    assert not (tmp_path / "vectors.npz").exists()
    kept = {path.name: path.stat().st_mtime_ns for path in folder.glob("level-*.npz")}
    model = BoostNE(checkpoint=folder, keep_matrix=True, **SETTINGS).fit(graph)
    np.testing.assert_array_equal(model.embedding_.vectors, undisturbed.embedding_.vectors)
    np.testing.assert_array_equal(model.context_, undisturbed.context_)
    np.testing.assert_array_equal(model.residual_norms_, undisturbed.residual_norms_)
    np.testing.assert_array_equal(model.n_iter_, undisturbed.n_iter_)
    # What was finished was not made again.
    assert {name: (folder / name).stat().st_mtime_ns for name in kept} == kept


def test_a_finished_run_is_read(graph, undisturbed, tmp_path):
    passes = []
    for _ in range(2):
        model = BoostNE(checkpoint=tmp_path, **SETTINGS)
        model.fit(graph, progress=lambda progress: passes.append(progress.detail))
        np.testing.assert_array_equal(model.embedding_.vectors, undisturbed.embedding_.vectors)
        passes.append("end")
    first = passes.index("end")
    assert any("pass" in detail for detail in passes[:first])
    assert not any("pass" in detail for detail in passes[first:])


def test_threads_and_memory_may_change(graph, undisturbed, tmp_path):
    BoostNE(checkpoint=tmp_path, threads=1, **SETTINGS).fit(graph)
    (tmp_path / "level-03.npz").unlink()
    model = BoostNE(checkpoint=tmp_path, threads=2, memory_limit="8GB", **SETTINGS).fit(graph)
    np.testing.assert_array_equal(model.embedding_.vectors, undisturbed.embedding_.vectors)


def test_the_form_of_the_matrix_is_that_of_the_first_run(graph, tmp_path):
    settings = SETTINGS | {"max_iter": 5, "max_per_row": 40}
    first = BoostNE(checkpoint=tmp_path, approximation="push", keep_matrix=True, **settings).fit(graph)
    (tmp_path / "level-04.npz").unlink()
    again = BoostNE(checkpoint=tmp_path, approximation="push", keep_matrix=True, **settings).fit(graph)
    assert (again.approximation_, again.epsilon_) == (first.approximation_, first.epsilon_)
    np.testing.assert_array_equal(again.dropped_mass_, first.dropped_mass_)
    np.testing.assert_array_equal(again.embedding_.vectors, first.embedding_.vectors)


class TestRefusals:
    small = partial(BoostNE, dimensions=4, levels=2, window=2)

    @pytest.mark.parametrize(
        ("change", "difference"),
        [
            ({"dimensions": 6}, "dimensions was 4 and is 6"),
            ({"tol": 0.1}, "tol was 0.0002 and is 0.1"),
            ({"dtype": "float64"}, "dtype was 'float32' and is 'float64'"),
            ({"random_state": 7}, "random_state was 0 and is 7"),
            ({"connectivity": "line"}, "connectivity was 'deepwalk' and is 'line'"),
        ],
    )
    def test_other_parameters(self, change, difference, tmp_path):
        self.small(checkpoint=tmp_path).fit(graphs.karate())
        with pytest.raises(CheckpointError, match=difference):
            self.small(**{"checkpoint": tmp_path, **change}).fit(graphs.karate())

    def test_another_graph(self, tmp_path):
        self.small(checkpoint=tmp_path).fit(graphs.karate())
        with pytest.raises(CheckpointError, match=r"graph was '.*' and is '"):
            self.small(checkpoint=tmp_path).fit(graphs.weighted())

    def test_another_matrix(self, tmp_path):
        graph = graphs.karate()
        A = graph.adjacency
        self.small(checkpoint=tmp_path, connectivity=A).fit(graph)
        self.small(checkpoint=tmp_path, connectivity=A.toarray()).fit(graph)
        with pytest.raises(CheckpointError, match=r"connectivity was 'matrix .*' and is 'matrix "):
            self.small(checkpoint=tmp_path, connectivity=2 * A).fit(graph)

    def test_a_function(self, tmp_path):
        with pytest.raises(ParameterError, match="give connectivity as the matrix it makes"):
            self.small(checkpoint=tmp_path, connectivity=lambda graph: graph.adjacency).fit(graphs.karate())

    def test_a_folder_without_rights(self):
        with pytest.raises(ParameterError, match="cannot use"):
            self.small(checkpoint="/dev/null/run").fit(graphs.karate())
