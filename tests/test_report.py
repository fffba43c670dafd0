"""Reports: reading of result folders, error handling, and the generated HTML and figures."""

import csv
import json
import re
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.reproduction_folder import DATASETS, MAP_NODES, TRAIN, write_reproduction

from boostne import load_dataset
from boostne.cli.program import run
from boostne.errors import BoostneError, FileFormatError, ParameterError
from boostne.reproduction import write_reproduction_report
from boostne.reproduction.result_charts import describe_errors
from boostne.reproduction.results_folder import read_results_folder
from boostne.visualization.charts import Chart, Line
from boostne.visualization.extras import require_extras
from boostne.visualization.html import element, json_script
from boostne.visualization.html_tables import ScoreCell, ScoreRow, plain_table, score_table
from boostne.visualization.level_map import LevelMap, to_integer_grid
from boostne.visualization.matplotlib_figures import save_chart
from boostne.visualization.palette import DARK, LIGHT, MARKERS, class_style
from boostne.visualization.provenance import provenance


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction") / "results"
    write_reproduction(folder)
    return folder


@pytest.fixture
def results(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "results")


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_results_folder_is_read_completely(finished):
    found = read_results_folder(finished)
    assert found.datasets == list(DATASETS)
    assert len(found.scores) == len(DATASETS) * 4 * 2 * len(TRAIN)
    assert {len(points) for points in found.errors.values()} == {3}
    assert [len(one.nodes) for one in found.maps] == [34, MAP_NODES]
    assert list(found.maps[0].positions) == [0, 1, 2, 3, 4]
    with (finished / "scores.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [score.difference for score in found.scores] == pytest.approx(
        [float(row["difference"]) for row in rows], abs=1e-6
    )


def test_sections_of_missing_files_are_omitted(results):
    for name in ("wilcoxon", "approximation", "levels", "shortfalls"):
        (results / f"{name}.csv").unlink()
    shutil.rmtree(results / "maps")
    page = write_reproduction_report(results).read_text()
    assert 'id="scores-karate"' in page
    assert 'id="maps"' not in page
    assert 'id="levels"' not in page
    for name in re.findall(r'href="([^"#]+)"', page.partition("report-data")[0]):
        assert (results / name).is_file(), name


@pytest.mark.parametrize("name", ["scores.csv", "run.json"])
def test_folder_without_required_file_raises(results, name):
    (results / name).unlink()
    with pytest.raises(ParameterError, match=f"has no {name}; it must be a folder written by 'boostne reproduce"):
        write_reproduction_report(results)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("scores.csv", "train_percent", "percent", "scores.csv has no column 'train_percent'"),
        ("scores.csv", ",micro-f1,", ",accuracy,", "line 2: metric must be micro-f1 or macro-f1, got 'accuracy'"),
        ("scores.csv", "\nkarate,", "\n../../karate,", r"line 2: dataset must consist of .* got '../../karate'"),
        ("approximation.csv", "karate,1,", "karate,1,nan#", "approximation.csv, line 2"),
        ("approximation.csv", "karate,1,", "karate,one,", "approximation.csv, line 2: .*'one'"),
        ("levels.csv", "karate,", "", "levels.csv, line 2: the number of values differs"),
        ("maps/karate.csv", "\n0,1,", "\nnobody,1,", "maps/karate.csv: level 0 has 34 of the 35 nodes"),
        ("run.json", "{", "", "run.json is not valid JSON"),
    ],
)
def test_corrupt_files_raise(results, file, old, new, message):
    replace(results / file, old, new)
    with pytest.raises(FileFormatError, match=message):
        write_reproduction_report(results)


def test_static_figures_are_reproducible(finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "results")
    write_reproduction_report(folder)
    names = {path.name for path in (folder / "figures").iterdir()}
    curves = {f"levels-{name}-{metric}" for name in DATASETS for metric in ("micro-f1", "macro-f1")}
    figures = {"approximation"} | curves | {f"map-{name}" for name in DATASETS}
    assert names == {f"{figure}{suffix}" for figure in figures for suffix in (".svg", ".png")}
    for path in (folder / "figures").glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    before = {path.name: path.read_bytes() for path in (folder / "figures").iterdir()}
    page = (folder / "report.html").read_bytes()
    write_reproduction_report(folder)
    assert {path.name: path.read_bytes() for path in (folder / "figures").iterdir()} == before
    assert (folder / "report.html").read_bytes() == page


def test_special_characters_in_figure_labels(tmp_path):
    lines = [Line(name, [1, 2], [0.1, 0.2], i) for i, name in enumerate(["$x_1", "_hidden", "a$b$", "<b>"])]
    save_chart(Chart("odd", "odd", "x", "y", lines), tmp_path)
    assert len((tmp_path / "odd.svg").read_text()) > 1000


def test_describe_errors():
    falling, rising = {"a": [(1, 0.5), (8, 0.3), (64, 0.2)]}, {"b": [(1, 0.5), (8, 0.6), (64, 0.2)]}
    assert describe_errors(falling) == ["a: decreases with every step of k; k = 8 (0.3000) is below k = 1 (0.5000)"]
    assert describe_errors(rising) == [
        "b: does not decrease from k = 1 to 8; k = 8 (0.6000) is not below k = 1 (0.5000)"
    ]


def test_missing_extra_raises(monkeypatch, finished):
    monkeypatch.setattr("boostne.visualization.extras._PACKAGES", ("plotly", "no_such_package"))
    message = r'reports require no_such_package, .*: pip install "boostne\[report\]"'
    with pytest.raises(BoostneError, match=message):
        require_extras()
    with pytest.raises(BoostneError, match=message):
        write_reproduction_report(finished)


def test_text_is_escaped_and_markup_is_not():
    assert element("td", "<b>", title='"') == '<td title="&quot;">&lt;b&gt;</td>'
    assert element("td", element("b", 1), hidden=True, id=None) == "<td hidden><b>1</b></td>"
    assert "</script>" not in json_script("x", {"</script><!--": ["<"]})[:-9]
    assert "<i>" not in provenance({"<i>": {"<i>": ["<i>"]}, "list": [{"name": "<i>", "x": "<i>"}]})


def test_nan_in_page_data_raises():
    with pytest.raises(ValueError, match="JSON"):
        json_script("x", [float("nan")])


def test_score_table_marks_the_best_and_the_difference_from_the_paper():
    rows = [
        ScoreRow("ours", [ScoreCell(0.9, 0.01, 0.003, 0.8), None]),
        ScoreRow("theirs", [ScoreCell(0.7, 0.01, 0.003, 0.72), ScoreCell(0.5, 0, 0)]),
    ]
    table = score_table("Micro-F1", [10, 90], rows)
    assert re.findall(r'class="best">([^<]*)', table) == ["0.9000", "0.5000"]
    assert re.findall(r'class="(above|under)" style="--strength:(\d+)%"', table) == [("above", "60"), ("under", "24")]
    assert re.findall(r'difference">([^<]*)', table) == ["+0.1000", "−0.0200"]
    assert "<td>–</td>" in table


def test_plain_table_right_aligns_numbers():
    table = plain_table("t", ["name", "p", "kind"], [["a", "0.01*", "x"], ["b", "-1", ""]])
    assert re.findall(r'<th scope="col"( class="text")?>(\w+)', table) == [
        (' class="text"', "name"),
        ("", "p"),
        (' class="text"', "kind"),
    ]
    assert "<td>−1</td>" in table


def test_map_classes_are_the_most_frequent_labels():
    labels = [["a"], ["a", "b"], ["c"], ["c", "d"], [], ["a"]]
    found = LevelMap("m", list("uvwxyz"), labels, {0: np.arange(12.0).reshape(6, 2)})
    assert found.classes() == (["a", "c"], [0, 0, 1, 1, -1, 0])
    made = found.to_dict()
    assert made["labels"] == ["a", "a, b", "c", "c, d", "", "a"]
    assert (min(made["levels"][0]["x"]), max(made["levels"][0]["x"])) == (0, 1000)


def test_integer_grid_preserves_the_aspect_ratio():
    assert to_integer_grid(np.array([[0.0, 0.0], [2.0, 1.0]])).tolist() == [[0, 0], [1000, 500]]
    assert to_integer_grid(np.array([[3.0, 3.0], [3.0, 3.0]])).tolist() == [[0, 0], [0, 0]]


def test_fifty_class_styles_are_distinct():
    assert len({class_style(i) for i in range(50)}) == 50
    assert len(LIGHT) == len(DARK) == 10
    assert len({marker.plotly for marker in MARKERS}) == len(MARKERS)


@pytest.fixture
def vectors(tmp_path):
    for name, window in (("one", 10), ("two", 2)):
        arguments = ["embed", "karate", "-o", str(tmp_path / f"{name}.npz"), "--dimensions", "4", "--levels", "2"]
        assert run([*arguments, "--window", str(window), "-q"]) == 0
    return tmp_path


SHORT = ("--train", "30,60", "--repeats", "3")


def test_evaluate_command_writes_a_report(vectors, capsys):
    page = vectors / "scores.html"
    assert run(["evaluate", str(vectors / "one.npz"), "karate", *SHORT, "--json", "--report", str(page)]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert f"wrote {page}" in err
    text = page.read_text()
    for sign in (found["embedding_sha256"], found["labels_sha256"], found["classifier"], found["protocol"]):
        assert sign in text
    for row in found["summary"]:
        assert f"{row['micro_mean']:.4f}" in text
    data = json.loads(re.search(r'id="report-data">(.*?)</script>', text, re.DOTALL)[1])
    assert sorted(data["maps"][0]["nodes"]) == sorted(map(str, load_dataset("karate").graph.nodes.tolist()))
    assert [level["level"] for level in data["maps"][0]["levels"]] == [0, 1, 2]


def test_evaluate_command_compares_several_embeddings(vectors, capsys):
    files = [str(vectors / "one.npz"), str(vectors / "two.npz")]
    alone = []
    for file in files:
        assert run(["evaluate", file, "karate", *SHORT, "--json"]) == 0
        alone.append(json.loads(capsys.readouterr().out))
    assert run(["evaluate", *files, "karate", *SHORT, "--json"]) == 0
    both = json.loads(capsys.readouterr().out)
    assert both["embeddings"] == dict(zip(["one.npz", "two.npz"], alone, strict=True))
    assert [test["metric"] for test in both["comparison"]["tests"]] == ["micro", "macro"]
    assert run(["evaluate", *files, "karate", *SHORT]) == 0
    table = capsys.readouterr().out
    assert table.startswith("one.npz: 34 labeled nodes")
    assert "two.npz: 34 labeled nodes" in table
    assert "Wilcoxon" in table
    assert run(["evaluate", *files, "karate", *SHORT, "--csv"]) == 0
    heads, *rows = csv.reader(capsys.readouterr().out.splitlines())
    assert heads[:3] == ["embedding", "ratio", "repeat"]
    assert [row[0] for row in rows] == ["one.npz"] * 6 + ["two.npz"] * 6


def test_embeddings_with_equal_file_names_keep_their_paths(vectors, capsys):
    (vectors / "more").mkdir()
    shutil.copy(vectors / "two.npz", vectors / "more" / "one.npz")
    files = [str(vectors / "one.npz"), str(vectors / "more" / "one.npz")]
    assert run(["evaluate", *files, "karate", *SHORT, "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["embeddings"]) == files
    assert run(["evaluate", files[0], files[0], "karate"]) == 2
    assert "an embedding was given twice" in capsys.readouterr().err


def test_unwritable_report_fails_before_the_embedding_is_read(vectors, capsys, monkeypatch):
    arguments = ["evaluate", str(vectors / "missing.npz"), "karate", "--report"]
    assert run([*arguments, str(vectors / "no" / "page.html")]) == 1
    assert "no does not exist" in capsys.readouterr().err
    monkeypatch.setattr("boostne.visualization.extras._PACKAGES", ("no_such_package",))
    assert run([*arguments, str(vectors / "page.html")]) == 1
    assert 'pip install "boostne[report]"' in capsys.readouterr().err


def test_report_command(results, capsys):
    assert run(["report", str(results)]) == 0
    assert capsys.readouterr().out == f"wrote {results / 'report.html'}\n"
    assert run(["report", str(results / "maps")]) == 1
    assert "has no scores.csv" in capsys.readouterr().err
