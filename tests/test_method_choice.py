"""The section "Which method when": best methods, ranks and tests of the tuned comparison."""

import json

import pytest

from boostne.reproduction import Protocol, write_results_page
from boostne.reproduction.csv_tables import to_csv
from boostne.reproduction.environment import describe
from boostne.reproduction.method_choice import (
    describe_leaders,
    describe_tests,
    leader_table,
    leaders,
    mean_ranks,
    rank_table,
)
from boostne.reproduction.results_folder import read_results_folder

# Means by data set and method at 1 %, at 50 %, and over both.
MEANS = {
    "cora": {"HOPE": (0.50, 0.70, 0.60), "NetMF": (0.55, 0.80, 0.675), "BoostNE": (0.60, 0.80, 0.70)},
    "wiki": {"HOPE": (0.30, 0.60, 0.45), "NetMF": (0.20, 0.61, 0.405), "BoostNE": (0.10, 0.50, 0.30)},
}
COLUMNS = ["1 %", "50 %", "mean"]
TESTS = [("cora", "HOPE", 0.9, 0.001), ("cora", "NetMF", 0.5, 0.2), ("wiki", "HOPE", -0.9, 0.001)]


def write_folder(folder, means=MEANS, tests=TESTS):
    folder.mkdir()
    scores = [
        {
            "dataset": dataset, "method": method, "metric": metric, "train_percent": ratio, "mean": mean, "std": 0.03,
            "se": 0.01,
        }
        for dataset, methods in means.items()
        for method, values in methods.items()
        for metric in ("micro-f1", "macro-f1")
        for ratio, mean in zip((1, 50, "all"), values, strict=True)
    ]  # fmt: skip
    rows = [
        {
            "dataset": dataset, "setting": "tuned", "method": method, "metric": "micro-f1", "wins": 1, "ties": 0,
            "losses": 1, "difference": 0.1, "effect": effect, "p": p, "p_holm": p,
        }
        for dataset, method, effect, p in tests
    ]  # fmt: skip
    (folder / "tuned_scores.csv").write_text(to_csv("tuned_scores", scores))
    (folder / "tuned_wilcoxon.csv").write_text(to_csv("tuned_wilcoxon", rows))
    (folder / "run.json").write_text(json.dumps(describe([], Protocol(), threads=None)))
    return folder


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "results")


def test_leaders(folder):
    found = leaders(read_results_folder(folder), "cora", "micro-f1")
    assert list(found) == COLUMNS
    one = found["1 %"]
    assert (one.best.method, one.runner_up.method) == ("BoostNE", "NetMF")
    assert one.difference == pytest.approx(0.05)
    assert one.is_clear  # 0.05 > 2 × 0.01 × √2 = 0.028
    assert not found["50 %"].is_clear
    assert not found["mean"].is_clear  # 0.025


def test_leader_table(folder):
    header, rows = leader_table(read_results_folder(folder), "micro-f1")
    assert header == ["", *COLUMNS]
    assert rows == [
        ["cora", "**BoostNE** +0.050", "NetMF +0.000", "BoostNE +0.025"],
        ["wiki", "**HOPE** +0.100", "NetMF +0.010", "**HOPE** +0.045"],
    ]


def test_ranks_are_averaged_over_data_sets_and_ties_share_a_rank(folder):
    ranks = mean_ranks(read_results_folder(folder), "micro-f1")
    assert ranks["BoostNE"] == {"1 %": 2.0, "50 %": (1.5 + 3) / 2, "mean": 2.0}
    assert ranks["NetMF"] == {"1 %": 2.0, "50 %": (1.5 + 1) / 2, "mean": 2.0}
    assert sum(row["50 %"] for row in ranks.values()) == 1 + 2 + 3
    _, rows = rank_table(read_results_folder(folder), "micro-f1")
    assert rows[1] == ["NetMF", "**2.0**", "**1.2**", "**2.0**"]


def test_sentences_follow_from_the_numbers(folder, tmp_path):
    results = read_results_folder(folder)
    assert describe_leaders(results, "micro-f1") == (
        "Best in Micro-F1, of 4 data sets and ratios: NetMF 2 (0 clearly), BoostNE 1 (1 clearly), HOPE 1 (1 clearly)."
    )
    assert list(describe_tests(results, "micro-f1")) == [
        "cora: BoostNE is significantly better than 1 of 2 methods, and worse than none.",
        "wiki: BoostNE is significantly better than 0 of 1 methods, and worse than HOPE.",
    ]
    assert list(describe_tests(results, "macro-f1")) == []


def test_results_page_has_the_section(folder):
    page = write_results_page(folder).read_text()
    section = page.split("## Which method when")[1]
    assert "| cora | **BoostNE** +0.050 | NetMF +0.000 | BoostNE +0.025 |" in section
    assert "- wiki: BoostNE is significantly better than 0 of 1 methods, and worse than HOPE." in section
    assert "### Macro-F1: mean rank" in section


def test_single_method_has_no_section(tmp_path):
    alone = {"cora": {"BoostNE": (0.5, 0.6, 0.55)}}
    folder = write_folder(tmp_path / "alone", alone, [])
    assert "Which method when" not in write_results_page(folder).read_text()


def test_method_without_scores_on_a_data_set(tmp_path):
    means = {"cora": MEANS["cora"], "wiki": {"NetMF": (0.2, 0.6, 0.4)}}
    results = read_results_folder(write_folder(tmp_path / "partial", means, []))
    assert leader_table(results, "micro-f1")[1][1] == ["wiki", "", "", ""]
    assert mean_ranks(results, "micro-f1")["HOPE"]["1 %"] == 3.0
