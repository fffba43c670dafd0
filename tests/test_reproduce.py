"""The reproduction: plan, cache, results and command."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from boostne import BoostNE, Embedding, GraRep, NetMF, evaluate, load_dataset
from boostne.cli.program import run as run_program
from boostne.cli.reproduce import PAPER
from boostne.errors import ParameterError
from boostne.evaluation import evaluate_nested
from boostne.reproduction import (
    Protocol,
    choose_methods,
    reproduce,
    write_figures,
    write_reproduction_report,
    write_results_page,
)
from boostne.reproduction.cache import Cache
from boostne.reproduction.node_maps import sample_maps
from boostne.reproduction.paper import PaperCell, paper_values
from boostne.reproduction.plan import PAPER_MODEL, make_plan
from boostne.reproduction.result_rows import better_setting, shortfall_rows
from boostne.reproduction.tuned_comparison import CANDIDATES, find_candidates, unit_scale

TINY = Protocol(
    train=(10, 50),
    repeats=2,
    levels=(1, 8),
    curve_train=(50,),
    map_nodes=60,
    tuned_methods=("GraRep", "BoostNE"),
    tuned_train=(5, 50),
    tuned_repeats=2,
    tuned_strengths=(4, 64),
)
TINY_METHODS = ("GraRep", "NetMF", "BoostNE")
SHARED = Path(__file__).parents[2] / "shared" / "paper" / "tables.csv"


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


TIMED = ("run.json", "report.html")


def contents(folder):
    """Return all files that must be reproducible, which excludes those with timings."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in TIMED)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    cache = Cache(folder / "cache")
    found = reproduce(["digits"], TINY_METHODS, folder / "results", cache, tuned_datasets=["digits"], protocol=TINY)
    return found, cache


# ---- the paper


def test_paper_values_are_complete():
    cells = paper_values()
    assert len(cells) == 504 == 4 * 7 * 2 * 9
    assert {cell.dataset for cell in cells} == set(PAPER)
    assert (
        cells[PaperCell("blogcatalog", "DeepWalk", "macro-f1", 90)]
        != cells[PaperCell("blogcatalog", "LINE", "macro-f1", 90)]
    )
    assert all(0 < value < 1 for value in cells.values())


@pytest.mark.skipif(not SHARED.is_file(), reason="the transcribed tables are not next to the repository")
def test_paper_values_equal_the_transcription():
    import boostne.reproduction

    shipped = Path(boostne.reproduction.__file__).with_name("paper.csv")
    assert rows_of(shipped) == rows_of(SHARED)


# ---- the plan


def test_each_configuration_is_planned_once():
    plan = make_plan(("NetMF", "BoostNE"), Protocol())
    keys = [experiment.configuration.key() for experiment in plan]
    assert all(one != other for i, one in enumerate(keys) for other in keys[:i])
    eight = next(experiment for experiment in plan if experiment.levels == 8)
    assert eight.settings == ["paper"]
    assert eight.train == set(range(10, 100, 10))
    assert [experiment.levels for experiment in plan if experiment.levels] == [8, 1, 2, 4, 16, 32, 64]
    assert [experiment.mapped for experiment in plan].count(True) == 1
    assert all(key["parameters"]["dimensions"] == 128 for key in keys)


def test_settings():
    plan = make_plan(("BoostNE",), Protocol())
    configuration = next(one.configuration for one in plan if "paper" in one.settings)
    model = configuration.build()
    matrix = model.connectivity
    assert (matrix.approximation, matrix.eigenpairs, matrix.window, model.levels) == ("spectral", 256, 10, 8)
    assert (model.propagation, model.vector_length) == (0, 0)
    recommended = next(one.configuration for one in plan if "recommended" in one.settings).build()
    assert recommended.get_params() == BoostNE(random_state=0).get_params()


def test_choose_methods():
    assert choose_methods(["boostne", "social-dimension"]) == ("SocialDimension", "BoostNE")
    with pytest.raises(ParameterError, match=r"methods must be among SpectralClustering, .*, got 'HOPE'"):
        choose_methods(["HOPE"])


def test_every_method_of_the_paper_can_be_built():
    assert len(choose_methods([])) == 7
    for experiment in make_plan(choose_methods([]), TINY):
        assert type(experiment.configuration.build(threads=2)).__name__ == experiment.method


# ---- the cache


def test_cache_returns_stored_values(tmp_path):
    cache = Cache(tmp_path / "new")
    assert cache.get({"a": 1}) is None
    cache.put({"a": 1, "b": (1, 2)}, {"x": [0.1, None, "ü"]})
    assert Cache(tmp_path / "new").get({"b": [1, 2], "a": 1}) == {"x": [0.1, None, "ü"]}
    assert cache.get({"a": 1, "b": (1, 3)}) is None
    with pytest.raises(ValueError, match="JSON"):
        cache.put({"a": 1}, float("nan"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-10],
        lambda text: text.replace("0.25", "0.26"),
        lambda text: text.replace('"a":1', '"a":2'),
        lambda text: "",
        lambda text: "[]",
    ],
    ids=["truncated", "changed value", "changed key", "empty", "not an entry"],
)
def test_corrupt_cache_entry_is_missing(tmp_path, damage):
    cache = Cache(tmp_path)
    cache.put({"a": 1}, 0.25)
    path = cache.path({"a": 1})
    path.write_text(damage(path.read_text()))
    with pytest.warns(UserWarning, match="is corrupt and will be recomputed"):
        assert cache.get({"a": 1}) is None
    cache.put({"a": 1}, 0.25)
    assert cache.get({"a": 1}) == 0.25


def test_cache_folder_that_is_a_file_raises(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="is a file"):
        Cache(tmp_path / "file")


# ---- the results


def test_result_files(done):
    found, _ = done
    heads = {path.stem: path.read_text().partition("\n")[0] for path in found.folder.glob("*.csv")}
    assert heads["scores"] == ("dataset,method,setting,metric,train_percent,mean,std,se,paper,difference")
    assert heads["approximation"] == "dataset,k,relative_error"
    assert heads["levels"] == "dataset,method,k,metric,train_percent,mean,std,se"
    assert {"wilcoxon", "shortfalls"} <= set(heads)
    scores = rows_of(found.folder / "scores.csv")
    assert len(scores) == 4 * 2 * 2  # GraRep, NetMF, BoostNE twice; metrics; ratios
    assert len(rows_of(found.folder / "wilcoxon.csv")) == 2 * 2 * 2
    assert {(row["method"], row["k"]) for row in rows_of(found.folder / "levels.csv")} == {
        ("BoostNE", "1"), ("BoostNE", "8"), ("NetMF", "1"),
    }  # fmt: skip
    places = rows_of(found.folder / "maps" / "digits.csv")
    assert len(places) == 60 * 9
    assert {row["level"] for row in places} == set("012345678")
    facts = json.loads((found.folder / "run.json").read_text())
    assert facts["datasets"][0]["graph_sha256"] == load_dataset("digits").graph.fingerprint()
    assert facts["datasets"][0]["experiments"][0]["seconds"]["vectors"] > 0
    assert all(path.is_file() for path in found.files)


def test_results_page_shows_all_scores_and_figures(done, tmp_path):
    folder = shutil.copytree(done[0].folder, tmp_path / "results")
    write_figures(folder)
    page = write_results_page(folder).read_text()
    for row in rows_of(folder / "scores.csv"):
        assert f" {float(row['mean']):.3f} " in page
    shown = re.findall(r"!\[.*\]\((.*)\)", page)
    assert shown[0] == "figures/approximation.svg"
    assert all((folder / name).is_file() for name in shown)


def test_scores_equal_those_of_the_estimators(done, digits):
    found, _ = done
    direct = {
        ("NetMF", ""): NetMF(128, factorization="nmf", connectivity=PAPER_MODEL.connectivity),
        # Shares X with the other points of the curve, which must not change the result.
        ("BoostNE", "paper"): BoostNE.paper(),
    }
    for (method, setting), model in direct.items():
        expected = evaluate(model.fit(digits.graph).embedding_, digits.labels, train=TINY.train, repeats=TINY.repeats)
        rows = [
            row for row in found.scores
            if (row["method"], row["setting"], row["metric"]) == (method, setting, "macro-f1")
        ]  # fmt: skip
        assert [row["mean"] for row in rows] == [f"{mean:.6f}" for mean in expected.mean("macro")]
        errors = expected.std("macro") / np.sqrt(TINY.repeats)
        assert [row["se"] for row in rows] == [f"{error:.6f}" for error in errors]
    residuals = {row["k"]: row["relative_error"] for row in rows_of(found.folder / "approximation.csv")}
    norms = direct["BoostNE", "paper"].residual_norms_
    assert residuals["8"] == f"{norms[-1] / norms[0]:.6f}"


def test_one_level_equals_netmf(done):
    found, _ = done
    levels = rows_of(found.folder / "levels.csv")
    one = [row["mean"] for row in levels if (row["method"], row["k"]) == ("BoostNE", "1")]
    assert one == [row["mean"] for row in levels if row["method"] == "NetMF"]


def test_second_run_computes_nothing_and_writes_identical_files(done, tmp_path):
    found, cache = done
    before = {path: path.stat().st_mtime_ns for path in cache.folder.iterdir()}
    reports = []
    again = reproduce(
        ["digits"],
        TINY_METHODS,
        tmp_path,
        cache,
        tuned_datasets=["digits"],
        protocol=TINY,
        threads=1,
        progress=reports.append,
    )
    assert reports == []
    assert before == {path: path.stat().st_mtime_ns for path in cache.folder.iterdir()}
    assert contents(again.folder) == contents(found.folder)


@pytest.mark.parametrize("what", ["scores", "tuned scores"])
def test_corrupt_cache_entry_is_recomputed(done, tmp_path, what):
    found, cache = done
    texts = {path: path.read_text() for path in cache.folder.iterdir()}
    entry = next(path for path, text in texts.items() if '"train":50' in text and f'"what":"{what}"' in text)
    whole = json.loads(entry.read_text())
    entry.write_text(entry.read_text()[:100])
    with pytest.warns(UserWarning, match="corrupt"):
        again = reproduce(
            ["digits"], TINY_METHODS, tmp_path, cache, tuned_datasets=["digits"], protocol=TINY, threads=1
        )
    assert json.loads(entry.read_text())["value"]["scores"] == whole["value"]["scores"]
    assert contents(again.folder) == contents(found.folder)


def test_another_seed_is_cached_separately(done, tmp_path):
    found, cache = done
    entries = set(cache.folder.iterdir())
    other = reproduce(["digits"], ["GraRep"], tmp_path, cache, protocol=replace(TINY, seed=1))
    assert len(set(cache.folder.iterdir()) - entries) == 1 + len(TINY.train)
    assert other.scores[0]["mean"] != found.scores[0]["mean"]


# ---- the tuned comparison


def test_tuned_result_files(done):
    found, _ = done
    scores = rows_of(found.folder / "tuned_scores.csv")
    assert len(scores) == 2 * 2 * 3  # methods, metrics, two ratios and their mean
    for method in TINY.tuned_methods:
        one, other, mean = (
            float(row["mean"]) for row in scores if (row["method"], row["metric"]) == (method, "micro-f1")
        )
        assert mean == pytest.approx((one + other) / 2, abs=1e-6)
    choices = rows_of(found.folder / "tuned_choices.csv")
    assert len(choices) == 2 * 2 * 2  # methods, ratios, repeats
    assert {row["candidate"] for row in choices if row["method"] == "GraRep"} <= {"default", "4 steps", "2 steps"}
    assert {float(row["C"]) for row in choices} <= set(TINY.tuned_strengths)
    tests = rows_of(found.folder / "tuned_wilcoxon.csv")
    assert [(row["method"], row["metric"]) for row in tests] == [("GraRep", "micro-f1"), ("GraRep", "macro-f1")]
    (tuned,) = (dataset["tuned"] for dataset in json.loads((found.folder / "run.json").read_text())["datasets"])
    assert [one["name"] for one in tuned] == ["GraRep", "BoostNE"]
    assert tuned[0]["candidates"]["2 steps"]["parameters"]["steps"] == 2
    assert tuned[0]["seconds"]["vectors"] > 0


def test_tuned_scores_equal_a_nested_evaluation(done, digits):
    found, _ = done
    steps = {"default": 8, "4 steps": 4, "2 steps": 2}
    candidates = {name: unit_scale(GraRep(128, steps=n).fit(digits.graph).embedding_) for name, n in steps.items()}
    expected = evaluate_nested(candidates, digits.labels, train=(5, 50), repeats=2, C=(4, 64))
    rows = [row for row in found.tuned_scores if (row["method"], row["metric"]) == ("GraRep", "macro-f1")]
    assert [row["mean"] for row in rows[:2]] == [f"{mean:.6f}" for mean in expected.mean("macro")]
    chosen = [(row["candidate"], float(row["C"])) for row in rows_of(found.folder / "tuned_choices.csv")]
    assert tuple(chosen[:4]) == expected.choices


def test_pages_show_the_tuned_comparison(done, tmp_path):
    folder = shutil.copytree(done[0].folder, tmp_path / "results")
    report = write_reproduction_report(folder).read_text()
    page = write_results_page(folder).read_text()
    rows = rows_of(folder / "tuned_scores.csv")
    for row in rows:
        assert f"{float(row['mean']):.4f}" in report
        assert re.search(rf"\b{float(row['mean']):.3f}\b(\*\*)? ± {float(row['se']):.3f}", page)
    best = max(float(row["mean"]) for row in rows if (row["metric"], row["train_percent"]) == ("micro-f1", "all"))
    assert f"**{best:.3f}** ±" in page
    assert "Tuned comparison" in report
    assert "chooses among its own candidates" in page


def test_single_parts(done, tmp_path):
    """A part that is not run writes no files, and the pages need only one part."""
    found, cache = done
    names = {}
    for part, datasets in {"paper": (["digits"], []), "tuned": ([], ["digits"])}.items():
        folder = tmp_path / part
        reproduce(datasets[0], TINY_METHODS, folder, cache, tuned_datasets=datasets[1], protocol=TINY)
        write_results_page(folder)
        names[part] = {path.name for path in folder.glob("*.csv")}
        for name in names[part]:
            assert (folder / name).read_bytes() == (found.folder / name).read_bytes()
    write_reproduction_report(tmp_path / "tuned")
    assert names["tuned"] == {"tuned_scores.csv", "tuned_choices.csv", "tuned_wilcoxon.csv"}
    assert not names["paper"] & names["tuned"]


def test_every_candidate_can_be_built():
    assert set(Protocol().tuned_methods) == set(CANDIDATES)
    for method in CANDIDATES:
        candidates = find_candidates(method, seed=3)
        assert 2 <= len(candidates) <= 4
        keys = [configuration.key() for configuration in candidates.values()]
        assert all(one != other for i, one in enumerate(keys) for other in keys[:i])
        for configuration in candidates.values():
            assert configuration.build(threads=2).random_state == 3


def test_unit_scale_of_zero_vectors():
    assert not unit_scale(Embedding([1, 2], np.zeros((2, 3)))).vectors.any()


def row(setting, difference, se="0.002", metric="micro-f1", percent=10, paper="0.5000"):
    return {
        "dataset": "cora", "method": "BoostNE", "setting": setting, "metric": metric, "se": se, "paper": paper,
        "train_percent": percent, "mean": f"{0.5 + difference:.6f}", "difference": f"{difference:.6f}",
    }  # fmt: skip


def test_shortfalls_of_the_better_setting_are_listed():
    scores = [
        row("paper", -0.004), row("paper", -0.001, percent=50), row("paper", 0.010, metric="macro-f1"),
        row("recommended", -0.020), row("recommended", 0.001, percent=50),
        row("recommended", 0.010, metric="macro-f1"),
    ]  # fmt: skip
    differences = [(row["setting"], float(row["difference"])) for row in scores]
    assert better_setting(differences) == "paper"
    (short,) = shortfall_rows(scores)
    assert (short["train_percent"], short["setting"], short["difference"]) == (10, "paper", "-0.004000")
    assert (short["other_setting"], short["other_mean"]) == ("recommended", "0.480000")


def test_map_of_an_all_zero_level(digits):
    vectors = np.random.default_rng(0).random((digits.graph.n_nodes, 4)).astype(np.float32)
    vectors[:, 2:] = 0
    found = sample_maps(digits, Embedding(digits.graph.nodes, vectors, [2, 2]), 20, seed=0)
    assert np.ptp(np.array(found["positions"][1]), axis=0).all()
    assert not np.ptp(np.array(found["positions"][2]), axis=0).any()  # all nodes share a position
    assert found["labels"] == [str(digits.labels[int(node)][0]) for node in found["nodes"]]


# ---- the command


def arguments(out, cache, *more):
    return ["reproduce", "--dataset", "digits", "--quick", "-o", str(out), "--cache", str(cache), *more]


FEW = ("--methods", "SpectralClustering,GraRep", "--threads", "1")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert run_program(arguments(folder / "out", folder / "cache", *FEW)) == 0
    return folder / "out"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_interrupted_run_resumes(tmp_path, how, jobs, uninterrupted):
    command = [*arguments(tmp_path / "out", tmp_path / "cache", *FEW), "--jobs", jobs]
    process = subprocess.Popen(
        [sys.executable, "-m", "boostne", *command],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # The first method has four computations: stop between them.
    while len(list((tmp_path / "cache").glob("[!.]*.json"))) < 2 and process.poll() is None:
        time.sleep(0.002)
    # A terminal sends Ctrl-C to all processes. A killed process cannot end its children, so they end by themselves;
    # until then the pipes are open.
    (os.killpg if how == signal.SIGINT else os.kill)(process.pid, how)
    _, told = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -how), told
    if how == signal.SIGINT:
        (line,) = (line for line in told.splitlines() if "progress" not in line)
        assert line.startswith("boostne: interrupted; results so far are cached in ")
    assert not (tmp_path / "out" / "scores.csv").exists()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("[!.]*.json")}
    assert 2 <= len(kept) < 8
    assert all(json.loads(path.read_text())["value"] for path in kept)

    assert run_program(arguments(tmp_path / "out", tmp_path / "cache", *FEW)) == 0
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    assert contents(tmp_path / "out") == contents(uninterrupted)


def test_command_prints_the_scores(done, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(Protocol, "quick", classmethod(lambda cls, seed=0: TINY))
    _, cache = done
    assert run_program(arguments(tmp_path / "out", cache.folder, "--methods", ",".join(TINY_METHODS))) == 0
    out, told = capsys.readouterr()
    assert told == ""
    assert "BoostNE (recommended)" in out
    assert "digits, Micro-F1, tuned, by percentage" in out
    assert "report.html" in out


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--dataset", "karate"), 2, "'karate' is not one of"),
        (("--methods", "word2vec"), 1, "methods must be among SpectralClustering"),
        (("--methods", "HOPE", "--parts", "paper"), 1, "methods must be among SpectralClustering"),
        (("--parts", "all"), 1, "parts must be among paper, tuned, got 'all'"),
        (("--seed", "-1"), 2, "--seed"),
        (("--jobs", "0"), 2, "--jobs"),
    ],
)
def test_invalid_arguments_are_reported(tmp_path, capsys, more, code, words):
    assert run_program(arguments(tmp_path / "out", tmp_path / "cache", *more)) == code
    assert words in capsys.readouterr().err


def test_output_folder_that_is_a_file_is_reported(tmp_path, capsys):
    (tmp_path / "out").write_text("mine")
    assert run_program(arguments(tmp_path / "out", tmp_path / "cache", "--methods", "GraRep")) == 1
    assert "is a file" in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "mine"
