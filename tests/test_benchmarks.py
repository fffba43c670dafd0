"""Computations of the benchmarks other than timing."""

from benchmarks import baselines, propagation

from boostne import Graph, as_labels
from boostne.datasets import Dataset

HEADER = "dataset,method,setting,metric,train_percent,mean,std,se,paper,difference"
SCORES = """
cora,grarep,,micro,10,.74,.01,.003,.76,-0.02
cora,grarep,,micro,90,.76,.01,.003,.78,-0.02
cora,grarep,,macro,90,.70,.01,.003,.20,0.5
wiki,grarep,,micro,10,.60,.01,.003,.59,0.01
wiki,grarep,,micro,90,.60,.01,.003,.61,-0.01
cora,netmf,nmf,micro,10,.60,.01,.003,.61,-0.01
cora,hope,,micro,10,.60,.01,.003,,
"""


def test_baselines_shows_mean_difference_from_the_paper_and_marks_weak_ones(tmp_path, monkeypatch, capsys):
    path = tmp_path / "scores.csv"
    path.write_text(HEADER + SCORES)
    saved = []
    monkeypatch.setattr(baselines, "SCORES", path)
    monkeypatch.setattr(baselines, "save", lambda name, rows, **facts: saved.append((name, rows)))
    baselines.run()
    assert saved == [
        (
            "baselines",
            [
                {"method": "grarep", "cora": "-0.020 !", "wiki": "+0.000"},
                {"method": "netmf nmf", "cora": "-0.010", "wiki": ""},
            ],
        )
    ]
    assert "-0.020 !" in capsys.readouterr().out


def test_baselines_without_scores_names_the_command_that_writes_them(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(baselines, "SCORES", tmp_path / "scores.csv")
    baselines.run()
    assert "boostne reproduce" in capsys.readouterr().out


def test_the_oracle_of_propagation_takes_the_most_frequent_label_among_the_neighbors():
    # Node 3 has neighbors of both labels, and node 4 one of the other label only.
    graph = Graph.from_edges([0, 0, 1, 3, 3], [1, 2, 2, 2, 4])
    labels = as_labels({0: "a", 1: "a", 2: "a", 3: "a", 4: "b"})
    assert propagation.neighbor_vote(Dataset(graph, labels, "five nodes")) == (3 + 0.5) / 5
