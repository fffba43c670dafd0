"""Resuming killed runs: real processes, real signals, the same bits at the end."""

import signal
import subprocess
from functools import partial

import numpy as np
import pytest
from tests import graphs
from tests.parameters import boostne
from tests.processes import start_python, wait_until

from boostne import BoostNE, Checkpoint, DeepWalkMatrix, planted_partition
from boostne.errors import CheckpointError, ParameterError

SETTINGS = {"dimensions": 16, "levels": 4, "window": 4, "max_iter": 400, "tol": 0.0}
NODES = 1500
RUN = """
import sys
import threading
from boostne import BoostNE, Checkpoint, planted_partition

folder, output, awaited = sys.argv[1:]

def stop_there(progress):
    if progress.detail.startswith(awaited):
        print("reached", flush=True)
        threading.Event().wait()

graph = planted_partition({nodes}, communities=5, mean_degree=8, seed=1).graph
model = BoostNE(checkpoint=Checkpoint(folder, keep_matrix=True), **{settings})
print("started", flush=True)
model.fit(graph, progress=stop_there)
model.embedding_.save(output)
"""


@pytest.fixture(scope="module")
def graph():
    return planted_partition(NODES, communities=5, mean_degree=8, seed=1).graph


@pytest.fixture(scope="module")
def uninterrupted(graph):
    return BoostNE(**SETTINGS).fit(graph)


def start_run(folder, output, awaited):
    """Start a run in a process; it stops when its progress starts with ``awaited``."""
    code = RUN.format(nodes=NODES, settings=SETTINGS)
    process = start_python("-c", code, folder, output, awaited, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    return process


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
@pytest.mark.parametrize(
    "moment",
    [
        "checkpoint.json",
        "connectivity.npz",
        "level-01.npz",
        "level-03.npz",
        "level 1/4, pass 17,",
        "level 2/4, pass 1,",
        "level 4/4, pass 5,",
    ],
)
def test_a_killed_run_resumes_and_ends_with_the_same_bits(moment, graph, uninterrupted, tmp_path):
    folder, output = tmp_path / "run", tmp_path / "vectors.npz"
    if moment.startswith("level "):
        process = start_run(folder, output, moment)
        assert process.stdout.readline() == "reached\n"
    else:
        process = start_run(folder, output, "level 4/4, pass 5,")
        wait_until((folder / moment).exists, process)
    process.kill()
    assert process.wait(timeout=30) == -signal.SIGKILL
    assert not output.exists()
    stored = {path.name: path.stat().st_mtime_ns for path in folder.glob("level-*.npz")}
    model = BoostNE(checkpoint=Checkpoint(folder, keep_matrix=True), **SETTINGS).fit(graph)
    np.testing.assert_array_equal(model.embedding_.vectors, uninterrupted.embedding_.vectors)
    np.testing.assert_array_equal(model.context_, uninterrupted.context_)
    np.testing.assert_array_equal(model.residual_norms_, uninterrupted.residual_norms_)
    np.testing.assert_array_equal(model.n_iter_, uninterrupted.n_iter_)
    # Finished levels were not computed again.
    assert {name: (folder / name).stat().st_mtime_ns for name in stored} == stored


def test_a_finished_run_is_not_computed_again(graph, uninterrupted, tmp_path):
    details = []
    for _ in range(2):
        model = BoostNE(checkpoint=tmp_path, **SETTINGS)
        model.fit(graph, progress=lambda progress: details.append(progress.detail))
        np.testing.assert_array_equal(model.embedding_.vectors, uninterrupted.embedding_.vectors)
        details.append("end")
    first = details.index("end")
    assert any("pass" in detail for detail in details[:first])
    assert not any("pass" in detail for detail in details[first:])


def test_threads_and_memory_limit_may_change(graph, uninterrupted, tmp_path):
    BoostNE(checkpoint=tmp_path, threads=1, **SETTINGS).fit(graph)
    (tmp_path / "level-03.npz").unlink()
    model = BoostNE(checkpoint=tmp_path, threads=2, memory_limit="8GB", **SETTINGS).fit(graph)
    np.testing.assert_array_equal(model.embedding_.vectors, uninterrupted.embedding_.vectors)


def test_the_matrix_keeps_the_form_of_the_first_run(graph, tmp_path):
    settings = SETTINGS | {"max_iter": 5, "max_per_row": 40}
    first = boostne(checkpoint=tmp_path, approximation="push", keep_matrix=True, **settings).fit(graph)
    (tmp_path / "level-04.npz").unlink()
    resumed = boostne(checkpoint=tmp_path, approximation="push", keep_matrix=True, **settings).fit(graph)
    assert (resumed.approximation_, resumed.epsilon_) == (first.approximation_, first.epsilon_)
    np.testing.assert_array_equal(resumed.dropped_mass_, first.dropped_mass_)
    np.testing.assert_array_equal(resumed.embedding_.vectors, first.embedding_.vectors)


class TestErrors:
    small = partial(boostne, dimensions=4, levels=2, window=2)

    @pytest.mark.parametrize(
        ("change", "difference"),
        [
            ({"dimensions": 6}, "dimensions was 4 and is 6"),
            ({"tol": 0.1}, "tol was 0.0002 and is 0.1"),
            ({"dtype": "float64"}, "dtype was 'float32' and is 'float64'"),
            ({"random_state": 7}, "random_state was 0 and is 7"),
            ({"negative": 2.0}, r"'negative': 1\.0.* and is .*'negative': 2\.0"),
            (
                {"connectivity": "line"},
                r"connectivity was \{'name': 'DeepWalkMatrix', .*\} and is \{'name': 'LINEMatrix'",
            ),
        ],
    )
    def test_other_parameters(self, change, difference, tmp_path):
        self.small(checkpoint=tmp_path).fit(graphs.karate())
        with pytest.raises(CheckpointError, match=difference):
            self.small(**{"checkpoint": tmp_path, **change}).fit(graphs.karate())

    def test_a_name_is_the_matrix_with_default_parameters(self, tmp_path):
        self.small(checkpoint=tmp_path).fit(graphs.karate())
        self.small(checkpoint=tmp_path, connectivity=DeepWalkMatrix(window=2)).fit(graphs.karate())
        with pytest.raises(CheckpointError, match=r"'window': 2.* and is .*'window': 3"):
            self.small(checkpoint=tmp_path, connectivity=DeepWalkMatrix(window=3)).fit(graphs.karate())

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

    def test_a_function_has_no_fingerprint(self, tmp_path):
        with pytest.raises(ParameterError, match=r"connectivity is a function.*pass the matrix that it returns"):
            self.small(checkpoint=tmp_path, connectivity=lambda graph: graph.adjacency).fit(graphs.karate())

    def test_a_folder_that_cannot_be_created(self):
        with pytest.raises(ParameterError, match="cannot use"):
            self.small(checkpoint="/dev/null/run").fit(graphs.karate())
