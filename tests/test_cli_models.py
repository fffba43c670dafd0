"""Saved models on the command line: embed --model, transform, and update, on real files."""

import json
import os
import signal
import subprocess

import numpy as np
import pytest
from tests import graphs
from tests.processes import start_python, without_reading_notes
from tests.test_model_files import change_header

from boostne import BoostNE, Graph, read_embedding, read_graph
from boostne.cli.program import run

KARATE = [(int(u), int(v)) for u, v, *_ in graphs.edges(graphs.karate())]
NEW = [(34, 0), (34, 33), (35, 34), (35, 1)]
# Code that sends a signal to its own process while the model is computed, or when half of its file is written.
MOMENTS = {
    "computing": """
import os, signal
from boostne.models import updating

def interrupted(*_):
    os.kill(os.getpid(), signal.{})
    sum(range(100))  # Python handles signals between instructions

updating._quantiles = interrupted
""",
    "writing": """
import os, signal
import numpy as np

def interrupted(file, **arrays):
    file.write(b"PK" * 1000)
    file.flush()
    os.kill(os.getpid(), signal.{})
    sum(range(100))

np.savez = interrupted
""",
}
SMALL = ("--dimensions", "8", "--levels", "2")


def write_edges(path, edges, pattern="{} {}\n"):
    path.write_text("".join(pattern.format(*edge) for edge in edges))
    return path


@pytest.fixture
def program(tmp_path, monkeypatch, capsys):
    """Run the program in a folder with a model and the enlarged graph; returns stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    write_edges(tmp_path / "edges.txt", KARATE)
    write_edges(tmp_path / "today.txt", KARATE + NEW)

    def run_program(*arguments, code=0):
        found = run([str(argument) for argument in arguments])
        out, error = capsys.readouterr()
        assert found == code, error
        assert "Traceback" not in error
        return out, without_reading_notes(error)

    run_program("embed", "edges.txt", "-o", "vectors.npz", "--model", "model.npz", *SMALL)
    return run_program


def error_of(program, *arguments):
    """Return the error of a run that must fail with exit code 1 and print nothing else."""
    out, error = program(*arguments, code=1)
    assert out == ""
    assert error.startswith("boostne: error: ")
    assert len(error.splitlines()) == 1
    return error


class TestTransform:
    def test_known_nodes_keep_their_vectors(self, program):
        out, _ = program("transform", "model.npz", "today.txt", "-o", "today.csv")
        assert "model.npz: 34 nodes" in out
        assert "36 × 8" in out
        before, after = read_embedding("vectors.npz"), read_embedding("today.csv")
        assert after.nodes.tolist() == read_graph("today.txt").nodes.tolist()
        for node in before:
            np.testing.assert_array_equal(after[node], before[node])
        expected = BoostNE.load("model.npz").fold_in(read_graph("today.txt"))
        assert expected.nodes.tolist() == [34, 35]
        for node in expected:
            np.testing.assert_array_equal(after[node], expected[node])

    def test_new_only(self, program):
        program("transform", "model.npz", "today.txt", "-o", "new.npz", "--new-only")
        assert read_embedding("new.npz").nodes.tolist() == [34, 35]

    def test_refresh(self, program):
        program("transform", "model.npz", "today.txt", "-o", "kept.npz")
        program("transform", "model.npz", "today.txt", "-o", "refreshed.npz", "--refresh")
        program("transform", "model.npz", "today.txt", "-o", "computed.npz", "--refresh", "--new-only")
        kept, refreshed = read_embedding("kept.npz"), read_embedding("refreshed.npz")
        assert (kept[0] != refreshed[0]).any()
        computed = read_embedding("computed.npz")
        assert {0, 1, 33, 34, 35} <= set(computed.nodes.tolist())
        np.testing.assert_array_equal(computed[0], refreshed[0])

    def test_bytes_do_not_depend_on_threads(self, program, tmp_path):
        for threads in (1, 2, 3):
            program("transform", "model.npz", "today.txt", "-o", f"{threads}.npz", "--threads", threads)
        assert len({(tmp_path / f"{threads}.npz").read_bytes() for threads in (1, 2, 3)}) == 1

    def test_quiet(self, program):
        assert program("transform", "model.npz", "today.txt", "-o", "x.npz", "--quiet") == ("", "")

    def test_nodes_without_edges_are_one_note(self, program, tmp_path):
        lines = [f"{u} {v}\n" for u, v in KARATE]
        (tmp_path / "today.adjlist").write_text("".join([*lines, "40\n", "41\n"]))
        _, error = program("transform", "model.npz", "today.adjlist", "-o", "x.npz")
        assert error.count("2 of the nodes to embed have no edges; their vectors are zero") == 1
        found = read_embedding("x.npz")
        assert not found[40].any()
        assert not found[41].any()

    def test_graph_without_some_known_nodes(self, program, tmp_path):
        write_edges(tmp_path / "part.txt", [edge for edge in KARATE + NEW if not {2, 3} & set(edge)])
        _, error = program("transform", "model.npz", "part.txt", "-o", "x.npz")
        assert "2 nodes of the model are not in the graph: 2, 3; the model keeps their vectors" in error
        assert not {2, 3} & set(read_embedding("x.npz").nodes.tolist())

    def test_to_undirected(self, program):
        program("transform", "model.npz", "today.txt", "-o", "directed.npz", "--directed", "--to-undirected")
        program("transform", "model.npz", "today.txt", "-o", "plain.npz")
        np.testing.assert_array_equal(read_embedding("directed.npz").vectors, read_embedding("plain.npz").vectors)


class TestUpdate:
    def test_the_model_is_replaced(self, program, tmp_path):
        out, _ = program("update", "model.npz", "today.txt", "-o", "today.npz")
        assert "2 added, 0 removed, 3 changed; 36 computed again" in out
        assert "36 × 8" in out
        assert "quantiles of the cosine to the previous vectors" in out
        expected = BoostNE(8, levels=2).fit(read_graph("edges.txt"))
        expected.update(read_graph("today.txt"))
        model, vectors = BoostNE.load("model.npz"), read_embedding("today.npz")
        for found in (model.embedding_, vectors):
            np.testing.assert_array_equal(found.nodes, expected.embedding_.nodes)
            np.testing.assert_array_equal(found.vectors, expected.embedding_.vectors)
        np.testing.assert_array_equal(model.context_, expected.context_)
        out, _ = program("update", "model.npz", "today.txt", "-o", "again.npz")
        assert "0 added, 0 removed, 0 changed; 0 computed again" in out
        np.testing.assert_array_equal(read_embedding("again.npz").vectors, vectors.vectors)

    def test_another_model_file(self, program, tmp_path):
        before = (tmp_path / "model.npz").read_bytes()
        program("update", "model.npz", "today.txt", "-o", "today.npz", "--model", "new.npz")
        assert (tmp_path / "model.npz").read_bytes() == before
        program("update", "model.npz", "today.txt", "-o", "today.npz")
        assert (tmp_path / "model.npz").read_bytes() == (tmp_path / "new.npz").read_bytes()

    def test_a_stored_graph_stays_stored(self, program):
        graph = read_graph("edges.txt")
        BoostNE(8, levels=2).fit(graph).save("with.npz", graph=graph)
        program("update", "with.npz", "today.txt", "-o", "today.npz")
        assert BoostNE.load("with.npz").graph_.fingerprint() == read_graph("today.txt").fingerprint()

    def test_removed_nodes(self, program, tmp_path):
        write_edges(tmp_path / "part.txt", [edge for edge in KARATE if not {2, 3} & set(edge)])
        out, _ = program("update", "model.npz", "part.txt", "-o", "x.npz")
        assert "0 added, 2 removed" in out
        assert not {2, 3} & set(BoostNE.load("model.npz").embedding_.nodes.tolist())

    def test_bytes_do_not_depend_on_threads(self, program, tmp_path):
        for threads in (1, 3):
            options = ("-o", f"v{threads}.npz", "--model", f"m{threads}.npz", "--threads", threads)
            program("update", "model.npz", "today.txt", *options)
        for kind in "vm":
            assert (tmp_path / f"{kind}1.npz").read_bytes() == (tmp_path / f"{kind}3.npz").read_bytes()

    def test_another_graph_with_the_same_ids(self, program, tmp_path):
        before = (tmp_path / "model.npz").read_bytes()
        write_edges(tmp_path / "wrong.txt", [((7 * u + 3) % 34, (7 * v + 3) % 34) for u, v in KARATE])
        error = error_of(program, "update", "model.npz", "wrong.txt", "-o", "x.npz")
        assert "is this the graph of the model? If so, fit a new model" in error
        assert (tmp_path / "model.npz").read_bytes() == before
        assert not (tmp_path / "x.npz").exists()

    def test_quiet(self, program):
        assert program("update", "model.npz", "today.txt", "-o", "x.npz", "--quiet") == ("", "")

    def test_the_new_model_is_checked_before_the_work(self, program):
        arguments = ("update", "model.npz", "today.txt", "-o", "x.npz", "--model")
        assert "suffix of a model" in error_of(program, *arguments, "new.pkl")
        assert "would overwrite" in error_of(program, *arguments, "x.npz")

    @pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
    @pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
    @pytest.mark.parametrize("moment", MOMENTS)
    def test_a_signal_leaves_the_old_model(self, program, tmp_path, name, moment):
        before = (tmp_path / "model.npz").read_bytes()
        script = MOMENTS[moment].format(name) + "from boostne.cli import main\nmain()\n"
        arguments = ("update", "model.npz", "today.txt", "-o", "today.csv")
        process = start_python("-c", script, *arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, error = (text.decode() for text in process.communicate(timeout=120))
        number = getattr(signal, name)
        assert process.returncode == (-number if name == "SIGKILL" else 128 + number)
        assert out == ""
        written = "nothing was written" if moment == "computing" else "today.csv was written; the model was not"
        word = {"SIGINT": "interrupted", "SIGTERM": "terminated"}.get(name)
        assert without_reading_notes(error) == (f"boostne: {word}; {written}\n" if word else "")
        assert (tmp_path / "model.npz").read_bytes() == before
        assert (tmp_path / "today.csv").exists() == (moment == "writing")
        if name != "SIGKILL":
            assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
        program("update", "model.npz", "today.txt", "-o", "today.csv")
        assert len(BoostNE.load(tmp_path / "model.npz").embedding_) == 36


@pytest.fixture(params=["transform", "update"])
def command(request):
    """A command that takes a model, a graph and -o."""
    return request.param


class TestErrors:
    def test_missing_model(self, program, command):
        assert "no-model.npz" in error_of(program, command, "no-model.npz", "today.txt", "-o", "x.npz")

    def test_missing_graph(self, program, command):
        error = error_of(program, command, "model.npz", "tody.txt", "-o", "x.npz")
        assert "did you mean 'today.txt'?" in error

    def test_suffix_of_the_model(self, program, command):
        error = error_of(program, command, "edges.txt", "today.txt", "-o", "x.npz")
        assert "the suffix of a model must be .npz, got '.txt'" in error

    def test_an_embedding_is_no_model(self, program, command):
        error = error_of(program, command, "vectors.npz", "today.txt", "-o", "x.npz")
        assert "vectors.npz: an embedding, not a model; 'boostne embed --model'" in error

    def test_truncated_model(self, program, command, tmp_path):
        path = tmp_path / "model.npz"
        path.write_bytes(path.read_bytes()[:-1000])
        assert "model.npz" in error_of(program, command, "model.npz", "today.txt", "-o", "x.npz")
        assert not (tmp_path / "x.npz").exists()

    def test_foreign_file(self, program, command, tmp_path):
        np.savez(tmp_path / "foreign.npz", weights=np.arange(3))
        error = error_of(program, command, "foreign.npz", "today.txt", "-o", "x.npz")
        assert "foreign.npz: another file, not a model" in error

    def test_newer_version(self, program, command, tmp_path):
        change_header(tmp_path / "model.npz", format=99, boostne="9.0")
        error = error_of(program, command, "model.npz", "today.txt", "-o", "x.npz")
        assert "written by boostne 9.0 in format 99" in error
        assert "upgrade boostne" in error

    def test_no_common_node(self, program, command, tmp_path):
        write_edges(tmp_path / "other.txt", [("a", "b"), ("b", "c"), ("c", "a")])
        error = error_of(program, command, "model.npz", "other.txt", "-o", "x.npz")
        assert "the graph shares no node with the model: the graph has 'a', 'b', 'c', the model has 0, 1, 2" in error

    def test_other_weights(self, program, command, tmp_path):
        write_edges(tmp_path / "weighted.txt", [(*edge, 1 + i % 3) for i, edge in enumerate(KARATE)], "{} {} {}\n")
        error = error_of(program, command, "model.npz", "weighted.txt", "-o", "x.npz")
        assert "the graph is weighted, and the model was fitted to a graph that is unweighted" in error
        program(command, "model.npz", "weighted.txt", "-o", "x.npz", "--no-weight")

    def test_directed_graph(self, program, command):
        error = error_of(program, command, "model.npz", "today.txt", "-o", "x.npz", "--directed")
        assert "directed" in error

    def test_graph_without_edges(self, program, command, tmp_path):
        (tmp_path / "empty.adjlist").write_text("0\n1\n")
        assert "no edges" in error_of(program, command, "model.npz", "empty.adjlist", "-o", "x.npz")

    def test_a_matrix_of_ones_own(self, program, command, tmp_path):
        graph = Graph.from_edges(*np.array(KARATE).T)
        X = graph.adjacency @ graph.adjacency
        BoostNE(8, levels=2, connectivity=X).fit(graph).save(tmp_path / "own.npz")
        error = error_of(program, command, "own.npz", "today.txt", "-o", "x.npz")
        assert "the model was fitted with a matrix of your own, and its rows for other nodes are needed" in error

    def test_output_must_not_overwrite_an_input(self, program, command, tmp_path):
        before = (tmp_path / "model.npz").read_bytes()
        for path in ("model.npz", "./model.npz"):
            assert "would overwrite" in error_of(program, command, path, "today.txt", "-o", "model.npz")
        assert (tmp_path / "model.npz").read_bytes() == before

    def test_suffix_of_the_output(self, program, command):
        assert ".pkl" in error_of(program, command, "model.npz", "today.txt", "-o", "x.pkl")


class TestEmbed:
    def test_the_model_is_that_of_python(self, program):
        model = BoostNE(8, levels=2).fit(read_graph("edges.txt"))
        found = BoostNE.load("model.npz")
        np.testing.assert_array_equal(found.context_, model.context_)
        np.testing.assert_array_equal(read_embedding("model.npz").vectors, read_embedding("vectors.npz").vectors)
        with np.load("model.npz") as file:
            assert json.loads(file["model"].item())["parameters"]["dimensions"] == 8

    def test_model_options(self, program):
        assert "suffix of a model" in error_of(program, "embed", "edges.txt", "-o", "x.npz", "--model", "x.pkl")
        assert "would overwrite" in error_of(program, "embed", "edges.txt", "-o", "x.npz", "--model", "x.npz")
        _, error = program("embed", "edges.txt", "-o", "x.npz", "--model", "m.npz", "--method", "netmf", code=2)
        assert "--model belongs to --method boostne; got --method netmf." in error
