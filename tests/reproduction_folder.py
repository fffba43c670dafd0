"""A small reproduction: the files that ``boostne reproduce`` writes, from real runs on the built-in networks."""

import csv
import json
import math

import numpy as np

from boostne import BoostNE, NetMF, SpectralClustering, evaluate, load_dataset
from boostne.evaluation import compare
from boostne.reproduction import Protocol
from boostne.reproduction.environment import describe
from boostne.reproduction.tables import shortfall_rows, to_csv, write_text
from boostne.visualization.layout import level_maps

DATASETS = ("karate", "digits")
TRAIN = (20, 50, 80)
REPEATS = 6
LEVELS = (1, 2, 4)
CURVE_TRAIN = (50, 80)
MAP_NODES = 150
METRICS = {"micro": "micro-f1", "macro": "macro-f1"}


def write_reproduction(folder):
    """Run three methods on two networks and write what was found."""
    scores, tests, errors, levels = [], [], [], []
    (folder / "maps").mkdir(parents=True)
    for name in DATASETS:
        data = load_dataset(name)
        fitted = {k: BoostNE(dimensions=8, levels=k).fit(data.graph) for k in LEVELS}
        vectors = {
            ("SpectralClustering", ""): SpectralClustering(dimensions=8).fit(data.graph).embedding_,
            ("NetMF", ""): NetMF(dimensions=8).fit(data.graph).embedding_,
            ("BoostNE", "paper"): fitted[4].embedding_,
            ("BoostNE", "recommended"): BoostNE(dimensions=8, levels=4, window=5).fit(data.graph).embedding_,
        }
        found = {
            key: evaluate(one, data.labels, train=TRAIN, repeats=REPEATS) for key, one in vectors.items()
        }
        # What one level scores stands for what a paper would have said.
        said = evaluate(fitted[1].embedding_, data.labels, train=TRAIN, repeats=REPEATS)
        scores += _scores(name, found, said)
        tests += _tests(name, found)
        errors += [
            [name, k, model.residual_norms_[-1] / model.residual_norms_[0]] for k, model in fitted.items()
        ]
        for k, model in fitted.items():
            levels += _curve(
                name, "BoostNE", k, evaluate(model.embedding_, data.labels, train=CURVE_TRAIN, repeats=2)
            )
        netmf = evaluate(vectors["NetMF", ""], data.labels, train=CURVE_TRAIN, repeats=2)
        levels += _curve(name, "NetMF", 1, netmf)
        _map(folder / "maps" / f"{name}.csv", data, fitted[4].embedding_)
    heads = "dataset,method,setting,metric,train_percent,mean,std,se,paper,difference"
    _table(folder / "scores.csv", heads, scores)
    short = shortfall_rows(dict(zip(heads.split(","), row, strict=True)) for row in scores)
    write_text(folder / "shortfalls.csv", to_csv("shortfalls", short))
    _table(
        folder / "wilcoxon.csv",
        "dataset,setting,method,metric,wins,ties,losses,difference,effect,p,p_holm",
        tests,
    )
    _table(folder / "approximation.csv", "dataset,k,relative_error", errors)
    _table(folder / "levels.csv", "dataset,method,k,metric,train_percent,mean,std,se", levels)
    run = describe([], Protocol(train=TRAIN, repeats=REPEATS), threads=None)
    run |= {"datasets": {name: _facts(name) for name in DATASETS}}
    (folder / "run.json").write_text(json.dumps(run))


def _scores(name, found, said):
    return [
        [name, method, setting, metric, ratio, mean, std, std / math.sqrt(REPEATS), paper, mean - paper]
        for (method, setting), result in found.items()
        for short, metric in METRICS.items()
        for ratio, mean, std, paper in zip(
            TRAIN, result.mean(short), result.std(short), said.mean(short), strict=True
        )
    ]


def _tests(name, found):
    ours = {setting: result for (method, setting), result in found.items() if method == "BoostNE"}
    others = {method: result for (method, _), result in found.items() if method != "BoostNE"}
    return [
        [
            name,
            setting,
            method,
            METRICS[t.metric],
            t.wins,
            t.ties,
            t.losses,
            t.difference,
            t.effect,
            t.p,
            t.p_holm,
        ]
        for setting, result in ours.items()
        for method, other in others.items()
        for t in compare({"ours": result, "theirs": other}).tests
    ]


def _curve(name, method, k, result):
    return [
        [name, method, k, metric, ratio, mean, std, std / math.sqrt(result.repeats)]
        for short, metric in METRICS.items()
        for ratio, mean, std in zip(result.train, result.mean(short), result.std(short), strict=True)
    ]


def _map(path, data, embedding):
    rows = np.arange(min(MAP_NODES, len(embedding)))
    nodes = embedding.nodes[rows].tolist()
    places = level_maps(embedding, rows)
    lines = [
        [node, level, x, y, data.labels[node][0]]
        for level, points in places.items()
        for node, (x, y) in zip(nodes, points, strict=True)
    ]
    _table(path, "node,level,x,y,label", lines)


def _facts(name):
    graph = load_dataset(name).graph
    return {"nodes": graph.n_nodes, "edges": graph.n_edges, "sha256": graph.fingerprint()}


def _table(path, heads, rows):
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(heads.split(","))
        writer.writerows(rows)
