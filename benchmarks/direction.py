"""Directed graphs: prediction of links and of their direction, recovery of planted communities, and engines.

The edge lists of cora and wiki are read as directed graphs. A tenth of the connected pairs is held out, and scored by
BoostNE, by HOPE and by BoostNE without directions. In the planted graphs, edges lead from each community to the next,
or from the communities of sources to those of targets, where both of a node are independent.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import save, show, timed
from boostne import HOPE, BoostNE, DeepWalkMatrix, Embedding, Graph, evaluate, evaluate_links, read_graph
from boostne.labels import Labels

EDGE_LISTS = {"cora": "cora_edgelist.txt", "wiki": "Wiki_edgelist.txt"}
TEST, REPEATS = 0.1, 5
NODES, COMMUNITIES, DEGREE, MIXING = 2000, 20, 10, 0.2
# Bounds on the comparison: links at least as good as with the others, directions better than HOPE's by this.
DIRECTION_GAIN = 0.02
RECOVERED = 0.95
ROUNDING = 1e-4  # relative difference of residual norms on another device


def run() -> None:
    """Run all parts and save them together."""
    links = [row for name in EDGE_LISTS for row in link_rows(name)]
    show(f"Held-out links, {TEST:.0%}, mean of {REPEATS} splits", links)
    planted = [planted_row(independent) for independent in (False, True)]
    show("Planted communities: Micro-F1 of classifiers trained on half of the nodes", planted)
    engines = engine_rows(planted_graph(independent=False)[0])
    show("Engines compared with the local one", engines)
    targets = {
        **link_targets(links),
        "communities": all(row["sources"] >= RECOVERED <= row["targets"] for row in planted),
    }
    targets |= {"engines": all(row["agrees"] for row in engines)}
    print({name: "reached" if reached else "missed" for name, reached in targets.items()})
    save("direction", links, planted=planted, engines=engines, reached=targets)


def link_rows(name: str) -> list[dict[str, Any]]:
    """Score the methods by the links of a data set."""
    graph = directed_graph(name)
    methods = {
        "BoostNE": BoostNE(),
        "HOPE": HOPE(),
        "BoostNE, undirected": lambda training: BoostNE().fit(training.to_undirected()).embedding_,
    }
    rows = []
    for method, estimator in methods.items():
        options = {"test": TEST, "repeats": REPEATS, "operator": "dot"}
        seconds, found = timed(lambda method=estimator, options=options: evaluate_links(method, graph, **options))
        scores = {metric: float(found.mean(metric)[0]) for metric in ("auc", "ap", "direction")}
        spread = {f"{metric}_std": float(found.std(metric)[0]) for metric in ("auc", "direction")}
        rows.append({"dataset": name, "method": method, **scores, **spread, "seconds": seconds / REPEATS})
        show("so far", rows[-1:])
    return rows


def directed_graph(name: str) -> Graph:
    """Read the edge list of a data set as a directed graph."""
    if "BOOSTNE_DATA" not in os.environ:
        sys.exit("set BOOSTNE_DATA to the folder with the data sets: their edge lists are read as directed graphs")
    return read_graph(Path(os.environ["BOOSTNE_DATA"]) / name / EDGE_LISTS[name], directed=True).without_isolated()


def link_targets(rows: list[dict[str, Any]]) -> dict[str, bool]:
    """Return which comparisons with the other methods turned out as expected."""
    found = {(row["dataset"], row["method"]): row for row in rows}
    reached = {}
    for name in EDGE_LISTS:
        ours, hope, undirected = (found[name, method] for method in ("BoostNE", "HOPE", "BoostNE, undirected"))
        reached[f"{name} links"] = ours["auc"] >= max(hope["auc"], undirected["auc"])
        reached[f"{name} direction"] = ours["direction"] >= hope["direction"] + DIRECTION_GAIN
    return reached


def planted_graph(*, independent: bool, seed: int = 0) -> tuple[Graph, NDArray[np.int64], NDArray[np.int64]]:
    """Draw a directed graph with communities; returns it with the communities of nodes as sources and as targets.

    Each node points to some nodes of the target community with the number of its own as source, and, with a small
    probability, to any. If the two are not independent, sources c are targets c - 1: edges lead from one to the next.
    """
    rng = np.random.default_rng(seed)
    sources = rng.integers(COMMUNITIES, size=NODES)
    targets = rng.integers(COMMUNITIES, size=NODES) if independent else (sources - 1) % COMMUNITIES
    order = np.argsort(targets, kind="stable")
    sizes = np.bincount(targets, minlength=COMMUNITIES)
    starts = np.cumsum(sizes) - sizes
    ends = np.repeat(np.arange(NODES), DEGREE)
    community = sources[ends]
    drawn = order[starts[community] + (rng.random(len(ends)) * sizes[community]).astype(np.int64)]
    mixed = rng.random(len(ends)) < MIXING
    drawn[mixed] = rng.integers(NODES, size=np.count_nonzero(mixed))
    return Graph.from_indices(np.arange(NODES), ends, drawn, directed=True), sources, targets


def planted_row(independent: bool) -> dict[str, Any]:
    """Return how well the communities of sources and of targets are recovered from the vectors."""
    graph, sources, targets = planted_graph(independent=independent)
    model = BoostNE().fit(graph)
    return {
        "graph": "independent roles" if independent else "from each community to the next",
        "sources": accuracy(model.embedding_, sources),
        "targets": accuracy(model.embedding_.targets, targets),
    }


def accuracy(embedding: Embedding | None, community: NDArray[np.int64]) -> float:
    """Return the Micro-F1 of a classifier that is trained on half of the nodes."""
    positions = np.arange(NODES)
    labels = Labels.from_indices(positions, np.arange(COMMUNITIES), positions, community)
    return float(evaluate(embedding, labels, train=[50], repeats=REPEATS, classifier="fast").mean("micro")[0])


def engine_rows(graph: Graph) -> list[dict[str, Any]]:
    """Compare the vectors of other engines with those of the local one, for both forms of X."""
    from boostne.factorization.dask.cluster import local_cluster

    rows = []
    with local_cluster(2) as client:
        for form in ("exact", "push"):
            settings = {"connectivity": DeepWalkMatrix(window=5, approximation=form)}
            expected, dask = (BoostNE(engine=engine, **settings).fit(graph) for engine in ("local", client))
            differs = max(np.abs(a - b).max() for a, b in zip(vectors(dask), vectors(expected), strict=True))
            rows.append({"engine": "dask", "form": form, "difference": float(differs), "agrees": bool(differs == 0)})
            cuda, device = on_torch(graph, settings)
            norms = float(np.abs(cuda.residual_norms_ / expected.residual_norms_ - 1).max())
            rows.append({"engine": f"cuda ({device})", "form": form, "difference": norms, "agrees": norms <= ROUNDING})
    return rows


def vectors(model: BoostNE) -> list[NDArray[Any]]:
    """Return source and target vectors."""
    return [found.vectors for found in (model.embedding_, model.targets_) if found is not None]


def on_torch(graph: Graph, settings: dict[str, Any]) -> tuple[BoostNE, str]:
    """Fit on the GPU or, if there is none, with the same code on PyTorch's CPU device."""
    import torch

    from boostne.factorization.cuda import engine

    device = "cuda" if torch.cuda.is_available() else "cpu"
    engine.gpu_device = lambda: device
    return BoostNE(engine="cuda", **settings).fit(graph), device
