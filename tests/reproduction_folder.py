"""A small results folder, as written by ``boostne reproduce``, from real fits on the built-in networks."""

import json
import math

from boostne import BoostNE, Embedding, NetMF, SpectralClustering, evaluate, load_dataset
from boostne.evaluation import compare
from boostne.reproduction import Protocol
from boostne.reproduction.csv_tables import COLUMNS, METRICS, to_csv
from boostne.reproduction.environment import describe
from boostne.reproduction.result_rows import shortfall_rows
from boostne.visualization.explorer.layouts import level_layouts

DATASETS = ("karate", "digits")
TRAIN = (20, 50, 80)
REPEATS = 6
LEVELS = (1, 2, 4)
CURVE_TRAIN = (50, 80)
MAP_NODES = 150


def write_reproduction(folder):
    """Run three methods on two networks and write the results."""
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
        found = {key: evaluate(one, data.labels, train=TRAIN, repeats=REPEATS) for key, one in vectors.items()}
        # The scores of a single level stand in for the values of a paper.
        paper = evaluate(fitted[1].embedding_, data.labels, train=TRAIN, repeats=REPEATS)
        scores += _scores(name, found, paper)
        tests += _tests(name, found)
        errors += [[name, k, model.residual_norms_[-1] / model.residual_norms_[0]] for k, model in fitted.items()]
        for k, model in fitted.items():
            levels += _curve(name, "BoostNE", k, evaluate(model.embedding_, data.labels, train=CURVE_TRAIN, repeats=2))
        netmf = evaluate(vectors["NetMF", ""], data.labels, train=CURVE_TRAIN, repeats=2)
        levels += _curve(name, "NetMF", 1, netmf)
        _map(folder / "maps" / f"{name}.csv", data, fitted[4].embedding_)
    tables = {"scores": scores, "wilcoxon": tests, "approximation": errors, "levels": levels}
    for table, rows in tables.items():
        _write(folder / f"{table}.csv", table, rows)
    shortfalls = shortfall_rows(_as_dicts("scores", scores))
    (folder / "shortfalls.csv").write_text(to_csv("shortfalls", shortfalls))
    run = describe([], Protocol(train=TRAIN, repeats=REPEATS), threads=None)
    run |= {"datasets": {name: _facts(name) for name in DATASETS}}
    (folder / "run.json").write_text(json.dumps(run))


def _scores(name, found, published):
    return [
        [name, method, setting, metric, ratio, mean, std, std / math.sqrt(REPEATS), paper, mean - paper]
        for (method, setting), result in found.items()
        for metric, field in METRICS.items()
        for ratio, mean, std, paper in zip(
            TRAIN, result.mean(field), result.std(field), published.mean(field), strict=True
        )
    ]


def _tests(name, found):
    ours = {setting: result for (method, setting), result in found.items() if method == "BoostNE"}
    others = {method: result for (method, _), result in found.items() if method != "BoostNE"}
    return [
        [name, setting, method, f"{t.metric}-f1", t.wins, t.ties, t.losses, t.difference, t.effect, t.p, t.p_holm]
        for setting, result in ours.items()
        for method, other in others.items()
        for t in compare({"ours": result, "theirs": other}).tests
    ]


def _curve(name, method, k, result):
    return [
        [name, method, k, metric, ratio, mean, std, std / math.sqrt(result.repeats)]
        for metric, field in METRICS.items()
        for ratio, mean, std in zip(result.train, result.mean(field), result.std(field), strict=True)
    ]


def _map(path, data, embedding):
    n = min(MAP_NODES, len(embedding))
    sample = Embedding(embedding.nodes[:n], embedding.vectors[:n], embedding.levels)
    lines = [
        [node, level, x, y, data.labels[node][0]]
        for level, points in enumerate(level_layouts(sample, seed=0))
        for node, (x, y) in zip(sample.nodes.tolist(), points, strict=True)
    ]
    _write(path, "map", lines)


def _facts(name):
    graph = load_dataset(name).graph
    return {"nodes": graph.n_nodes, "edges": graph.n_edges, "sha256": graph.fingerprint()}


def _as_dicts(table, rows):
    return [dict(zip(COLUMNS[table], row, strict=True)) for row in rows]


def _write(path, table, rows):
    path.write_text(to_csv(table, _as_dicts(table, rows)))
