"""Reports: reading of result folders, error handling, and the generated HTML and figures."""

import csv
import json
import re
import shutil
import sys
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from tests.reproduction_folder import DATASETS, MAP_NODES, TRAIN, write_reproduction

from boostne.cli.program import run
from boostne.errors import FileFormatError, ParameterError
from boostne.evaluation import Comparison, PairTest, conclude
from boostne.evaluation.conclusion import headline
from boostne.reproduction import write_figures, write_reproduction_report
from boostne.reproduction.conclusions import conclusion
from boostne.reproduction.conclusions import headline as reproduction_headline
from boostne.reproduction.csv_tables import to_csv
from boostne.reproduction.result_charts import describe_errors
from boostne.reproduction.results_folder import read_results_folder
from boostne.visualization.charts import Chart, Line
from boostne.visualization.html import element, json_script
from boostne.visualization.html_tables import ScoreCell, ScoreRow, plain_table, score_table
from boostne.visualization.matplotlib_figures import save_chart
from boostne.visualization.palette import DARK, LIGHT, MARKERS, class_style
from boostne.visualization.provenance import provenance
from boostne.visualization.svg_charts import chart_figure, nice_ticks


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
    assert len(found.maps[0].layouts) == 5
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
    assert 'id="map"' not in page
    assert 'id="levels"' not in page
    for name in re.findall(r'<a href="([^"#]+)"', page):
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


def test_map_with_missing_levels_raises(results):
    path = results / "maps" / "karate.csv"
    path.write_text("".join(line for line in path.open() if ",2," not in line[:8]))
    with pytest.raises(FileFormatError, match=r"levels must be 0, .* got \[0, 1, 3, 4\]"):
        write_reproduction_report(results)


def test_static_figures_are_reproducible(results):
    write_figures(results)
    names = {path.name for path in (results / "figures").iterdir()}
    curves = {f"levels-{name}-{metric}" for name in DATASETS for metric in ("micro-f1", "macro-f1")}
    figures = {"approximation"} | curves | {f"map-{name}" for name in DATASETS}
    assert names == {f"{figure}{suffix}" for figure in figures for suffix in (".svg", ".png")}
    for path in (results / "figures").glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    before = {path.name: path.read_bytes() for path in (results / "figures").iterdir()}
    page = write_reproduction_report(results).read_bytes()
    write_figures(results)
    assert {path.name: path.read_bytes() for path in (results / "figures").iterdir()} == before
    assert write_reproduction_report(results).read_bytes() == page


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


def test_report_needs_no_extra(monkeypatch, results, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(["report", str(results)]) == 0
    out, err = capsys.readouterr()
    assert out == f"wrote {results / 'report.html'}\n"
    assert 'no figures: plots need matplotlib, which is not installed: pip install "boostne[viz]"' in err
    assert "figures/" not in (results / "report.html").read_text()


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
        ScoreRow("ours", [ScoreCell(0.9, 0.003, 0.8), None]),
        ScoreRow("theirs", [ScoreCell(0.7, 0.003, 0.72), ScoreCell(0.50001, 0)]),
        ScoreRow("other", [ScoreCell(0.7, 0.003), ScoreCell(0.5, 0)]),
    ]
    table = score_table("Micro-F1", "method", [10, 90], rows)
    best = re.findall(r'<td data-value="([^"]*)" class="best"[^>]*><span>([^<]*)', table)
    assert best == [("0.9", "0.9000"), ("0.50001", "0.5000"), ("0.5", "0.5000")]  # equal as shown
    assert re.findall(r'below difference (above|under)">([^<]*)', table) == [("above", "+0.1000"), ("under", "−0.0200")]
    assert "<td>–</td>" in table
    # The standard error is shown whatever is selected if there is no value of the paper.
    assert re.findall(r'class="below ([a-z ]*)">±', table) == ["se", "se", *["difference paper se"] * 3]
    assert '<th scope="col" class="text">method</th>' in table


def test_report_without_values_of_the_paper_shows_standard_errors(results):
    with (results / "scores.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert 'type="radio" name="below"' in write_reproduction_report(results).read_text()
    for row in rows:
        row["paper"] = row["difference"] = ""
    (results / "scores.csv").write_text(to_csv("scores", rows))
    page = write_reproduction_report(results).read_text()
    assert 'type="radio" name="below"' not in page
    assert "Below each mean over the splits is its standard error." in page


def test_plain_table_right_aligns_numbers_and_marks_the_best():
    rows = [["1", "0.01*", "x", "0.5"], ["2", "-1", "", "failed"], ["3", "1", "", "0.7"]]
    table = plain_table("t", ["name", "p", "kind", "score"], rows, best="score")
    assert re.findall(r'<th scope="col"( class="text")?>(\w+)', table) == [
        (' class="text"', "name"),
        ("", "p"),
        (' class="text"', "kind"),
        (' class="text"', "score"),
    ]
    assert "<td>−1</td>" in table
    assert re.findall(r'class="best"[^>]*>([^<]*)', table) == ["0.7"]


def pair(first, second, difference, p, metric="micro", effect=None):
    wins = 9 if difference > 0 else 1
    effect = difference if effect is None else effect
    return PairTest(first, second, metric, wins, 0, 10 - wins, difference, effect, p, p)


def conclusions(*tests):
    both = [*tests, *(pair(t.first, t.second, t.difference, t.p, "macro") for t in tests)]
    return conclude(Comparison(tuple(both), 0.05, (50.0,), 10, 0))


def test_conclusion_names_the_best_by_how_much_and_how_sure():
    found = conclusions(pair("a", "b", -0.02, 0.001))
    assert str(found[0]) == (
        "Micro-F1: b is 0.0200 above a on average, and above it on 9 of 10 splits. The difference is significant "
        "(p = 0.001)."
    )
    assert headline(found) == "b is best"


def test_conclusion_without_significance():
    found = conclusions(pair("a", "b", 0.02, 0.4))
    assert "not significant (p = 0.4): either may be the better one" in str(found[0])
    assert headline(found) == "a is ahead, but not clearly"
    # Significant ranks in favor of the one with the lower mean do not count.
    assert conclude(Comparison((pair("a", "b", 0.02, 0.001, effect=-0.5), pair("a", "b", 0.02, 0.001, "macro")),
                               0.05, (50.0,), 10, 0))[0].unclear == ("b",)  # fmt: skip


def test_conclusion_of_equal_and_of_several_embeddings():
    same = conclusions(pair("a", "b", 0.0, 1.0))
    assert "a and b have the same mean" in str(same[0])
    assert headline(same) == "a and b score the same"
    found = conclusions(pair("a", "b", -0.02, 0.2), pair("a", "c", 0.01, 0.3), pair("b", "c", 0.03, 0.01))
    assert (found[0].best, found[0].runner_up, found[0].worse, found[0].unclear) == ("b", "a", ("c",), ("a",))
    assert "significantly better than c, but not than a (p < 0.05" in str(found[0])
    clear = conclusions(pair("a", "b", 0.02, 0.01), pair("a", "c", 0.03, 0.01), pair("b", "c", 0.01, 0.9))
    assert "significantly better than b and c" in str(clear[0])


def test_conclusion_by_metric():
    tests = (pair("a", "b", 0.02, 0.01), pair("a", "b", -0.02, 0.01, "macro"))
    found = conclude(Comparison(tests, 0.05, (50.0,), 10, 0))
    assert headline(found) == "a is best by Micro-F1, b is best by Macro-F1"


def test_conclusion_of_a_reproduction(finished):
    found = read_results_folder(finished)
    sentences = conclusion(found)
    assert re.fullmatch(r"\w+ has the highest Micro-F1 on [12] of 2 data sets", reproduction_headline(found))
    assert sentences[0].startswith(f"{sum(s.difference >= 0 for s in better_scores(found))} of 12 scores of BoostNE")
    for name, sentence in zip(DATASETS, sentences[1:], strict=False):
        _, table = found.score_table(name, "micro-f1")
        means = {title: sum(cell.mean for cell in cells) / len(cells) for title, cells in table.items()}
        best, runner_up = sorted(means, key=lambda title: -means[title])[:2]
        lead = f"{means[best] - means[runner_up]:.4f} above {runner_up}"
        assert sentence.startswith(f"{name}: {best} is best with {means[best]:.4f}, {lead}")


def test_conclusion_of_a_reproduction_of_one_data_set_without_significance(results):
    for name in ("scores", "wilcoxon"):
        with (results / f"{name}.csv").open() as stream:
            rows = [row for row in csv.DictReader(stream) if row["dataset"] == "karate"]
        for row in rows:
            if row["method"] == "BoostNE" and row["setting"] == "recommended":
                row["mean"] = "0.9999"
            if "p_holm" in row:
                row["p_holm"] = "0.5"
        (results / f"{name}.csv").write_text(to_csv(name, rows))
    found = read_results_folder(results)
    assert reproduction_headline(found) == "BoostNE has the highest Micro-F1 on karate"
    assert any("but not significantly better than any of 2 methods" in sentence for sentence in conclusion(found))


def better_scores(results):
    return [score for one in results.compare_with_paper() if one.is_better for score in one.scores]


@pytest.mark.parametrize(("low", "high"), [(0.61, 0.85), (0, 1), (-3e-5, 4e-5), (0.899, 0.9012), (12, 950)])
def test_ticks_are_inside_and_evenly_spaced(low, high):
    ticks = nice_ticks(low, high)
    steps = [b - a for a, b in pairwise(ticks)]
    assert 5 <= len(ticks) <= 12
    assert low - 1e-9 <= ticks[0]
    assert ticks[-1] <= high + 1e-9
    assert steps == pytest.approx([steps[0]] * len(steps))


def test_chart_draws_lines_errors_and_a_legend():
    lines = [
        Line("<b>", [1, 2], [0.1, 0.2], 0, error=[0.01, 0.02]),
        Line("paper", [1, 2], [0.3] * 2, 1, reference=True),
    ]
    figure = chart_figure(Chart("c", "title", "x", "y", lines), has_files=False)
    assert figure.count("&lt;b&gt;") == 3  # in the legend, and in the tooltip of each point
    assert figure.count('class="error"') == 2
    assert figure.count("curve reference") == 2
    assert "mean ± standard error" in figure
    alone = chart_figure(Chart("c", "title", "x", "y", [Line("a", [5], [0.5], 0)]), has_files=True)
    assert "±" not in alone
    assert "figures/c.svg" in alone


def test_fifty_class_styles_are_distinct():
    assert len({class_style(i) for i in range(50)}) == 50
    assert len(LIGHT) == len(DARK) == 10
    assert len({marker.path for marker in MARKERS}) == len(MARKERS)


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
    assert table.startswith("Micro-F1: ")
    assert "\n\none.npz: 34 labeled nodes" in table
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


def test_unwritable_report_fails_before_the_embedding_is_read(vectors, capsys):
    arguments = ["evaluate", str(vectors / "missing.npz"), "karate", "--report"]
    assert run([*arguments, str(vectors / "no" / "page.html")]) == 1
    assert "no does not exist" in capsys.readouterr().err


def test_report_command(results, capsys):
    assert run(["report", str(results)]) == 0
    assert capsys.readouterr().out == f"wrote {results / 'report.html'}\n"
    assert run(["report", str(results / "maps")]) == 1
    assert "has no scores.csv" in capsys.readouterr().err
