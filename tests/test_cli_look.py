"""The commands ``similar`` and ``plot``."""

import json
import pathlib
import sys

import numpy as np
import pytest

from boostne.cli.program import run
from boostne.embedding import Embedding


@pytest.fixture
def vectors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    Embedding([f"n{i}" for i in range(20)], rng.normal(size=(20, 6)), levels=[2, 4]).save("v.npz")
    Embedding(range(-2, 18), rng.normal(size=(20, 6)), levels=[2, 4]).save("numbers.npz")
    Embedding([(0, 1), 7, "7", "x\x1b[1m"], np.eye(4)).save("mixed.npz")
    return Embedding.load("v.npz")


def test_similar_prints_the_most_similar_nodes(vectors, capsys):
    assert run(["similar", "v.npz", "n3", "-n", "2"]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["similar", "similarity"]
    assert [row.split() for row in rows] == [[node, f"{value:.4f}"] for node, value in vectors.most_similar("n3", n=2)]


def test_similar_of_several_nodes_prints_each(vectors, capsys):
    assert run(["similar", "v.npz", "n3", "n4", "-n", "1", "--level", "1"]) == 0
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["node", "similar", "similarity"]
    expected = vectors.most_similar(["n3", "n4"], n=1, level=1)
    assert [row.split()[:2] for row in rows] == [["n3", expected[0][0][0]], ["n4", expected[1][0][0]]]


def test_similar_prints_json(vectors, capsys):
    assert run(["similar", "numbers.npz", "--json", "-q", "-n", "3", "--threads", "1", "--", "-2"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["node"] == -2
    expected = Embedding.load("numbers.npz").most_similar(-2, n=3)
    assert [(row["node"], row["similarity"]) for row in found["similar"]] == expected


def test_similar_finds_ids_of_any_type_and_escapes_control_characters(vectors, capsys):
    assert run(["similar", "mixed.npz", "(0, 1)", "7"]) == 0
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "x\\x1b[1m" in output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["v.npz", "n33"], 1, "node 'n33' is not in the embedding; did you mean 'n3' or 'n13'?"),
        (["numbers.npz", "red"], 1, "node 'red' is not in the embedding; its ids are -2, -1, 0, …"),
        (["empty.npz", "n3"], 1, "node 'n3' is not in the embedding; it has no nodes"),
        (["v.npz", "n3", "--level", "3"], 1, "level must be between 1 and 2, got 3"),
        (["v.npz", "n3", "--level", "0"], 1, "--level must be an integer of at least 1; got 0"),
        (["v.npz", "n3", "-n", "0"], 1, "-n must be an integer of at least 1; got 0"),
        (["v.npz"], 2, "Missing argument 'NODE...'"),
        (["missing.npz", "n3"], 1, "missing.npz: No such file or directory"),
    ],
)
def test_similar_reports_errors_on_one_line(vectors, capsys, arguments, code, message):
    Embedding([], np.zeros((0, 2))).save("empty.npz")
    assert run(["similar", *arguments]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plot_writes_a_picture_with_the_same_bytes_each_time(vectors, capsys, suffix):
    (pathlib.Path("labels.txt")).write_text("n1 red\nn2 blue\nn99 red\n")
    contents = []
    for name in (f"one.{suffix}", f"two.{suffix}"):
        assert run(["plot", "v.npz", "--labels", "labels.txt", "--level", "2", "-o", name]) == 0
        contents.append(pathlib.Path(name).read_bytes())
    assert contents[0] == contents[1]
    captured = capsys.readouterr()
    assert captured.out == f"wrote one.{suffix}\nwrote two.{suffix}\n"
    assert captured.err.count("note: 1 labeled nodes are not in the embedding and are ignored") == 2


def test_plot_can_be_quiet(vectors, capsys):
    assert run(["plot", "v.npz", "-q", "-o", "map.png"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["v.npz", "-o", "map.jpg"], 1, "map.jpg: the suffix of a picture must be one of .png, .svg, .pdf, got '.jpg'"),
        (["v.npz", "-o", "no/map.png"], 1, "the folder"),
        (["v.npz"], 2, "Missing option '-o'"),
        (["v.npz", "-o", "map.png", "--level", "3"], 1, "level must be between 1 and 2, got 3"),
        (["v.npz", "-o", "map.png", "--labels", "missing.txt"], 1, "there is no file or data set 'missing.txt'"),
        (["empty.npz", "-o", "map.png"], 1, "empty.npz: no vectors, so there is nothing to draw"),
        (["missing.npz", "-o", "map.png"], 1, "missing.npz: No such file"),
    ],
)
def test_plot_reports_errors_and_writes_nothing(vectors, capsys, arguments, code, message):
    Embedding([], np.zeros((0, 2))).save("empty.npz")
    assert run(["plot", *arguments]) == code
    assert message in capsys.readouterr().err
    assert not list(pathlib.Path().glob("map.*"))


def test_plot_without_matplotlib_names_the_extra(vectors, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(["plot", "v.npz", "-o", "map.png"]) == 1
    assert 'pip install "boostne[viz]"' in capsys.readouterr().err
