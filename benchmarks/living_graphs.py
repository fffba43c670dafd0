"""Graphs that change: new nodes folded in, and updates of a model, each compared with a new fit.

New nodes: a tenth of the nodes is hidden, the rest is embedded, and a classifier is trained on its vectors. The hidden
nodes are then classified by vectors that are folded in, by the mean vector of their neighbors, and by the vectors of a
fit to the whole graph, for which the classifier is trained on the same nodes. "refreshed" and "updated" are the vectors
of ``transform(refresh=True)`` and of ``update``, by which known nodes also benefit from the edges to new ones; the
classifier is trained on these. Known nodes are folded in again, and the results compared with the vectors of the fit.

The control shows what missing edges alone cost: a tenth of the known nodes is classified by the vectors of the fit to
the smaller graph, and by those of the fit to the whole graph, with a classifier trained on the other known nodes.

Updates: ten times, 1 % of the edges change, and the model is updated. It is then compared with a fit to the last graph.
"""

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.common import save, show
from boostne import BoostNE, Embedding, Graph, evaluate, load_dataset
from boostne.datasets import Dataset
from boostne.evaluation.classification import LabeledVectors, score_split

# With the number of splits: a tenth of a small network has few nodes to test.
DATASETS = {"cora": 40, "wiki": 40, "ppi": 20, "blogcatalog": 10}
HIDDEN = 0.1
UPDATED, UPDATES, CHANGED = ("cora", "wiki"), 10, 0.01
TRAIN = (10, 50, 90)


def run() -> None:
    """Measure new nodes and updates on the data sets."""
    rows = []
    for name, splits in DATASETS.items():
        data = load_dataset(name)
        rows += [hidden_nodes(data, seed) for seed in range(splits)]
        show(f"new nodes of {name}", rows[-splits:])
    means = [mean_row(name, [row for row in rows if row["dataset"] == name]) for name in DATASETS]
    show("Micro-F1 of hidden nodes, mean of the splits; cosine of known nodes folded in again", means)
    updates = [repeated_updates(load_dataset(name)) for name in UPDATED]
    show(f"Mean Micro-F1 after {UPDATES} updates with {CHANGED:.0%} of the edges changed", updates)
    save("living_graphs", rows, means=means, updates=updates, hidden=HIDDEN, changed=CHANGED, train=TRAIN)


def hidden_nodes(data: Dataset, seed: int) -> dict[str, Any]:
    """Hide some nodes, and classify them by the vectors of three methods."""
    graph = data.graph
    rng = np.random.default_rng(seed)
    order, count = rng.permutation(graph.n_nodes), round(HIDDEN * graph.n_nodes)
    hidden, control, rest = np.sort(order[:count]), np.sort(order[count : 2 * count]), np.sort(order[count:])
    others = np.setdiff1d(rest, control)
    model = BoostNE().fit(Graph(graph.adjacency[rest][:, rest], graph.nodes[rest]))
    folded = model.transform(graph)
    means = folded.copy()
    means[hidden] = neighbor_means(graph, folded, rest)[hidden]
    refreshed = model.transform(graph, refresh=True)
    refit = BoostNE(connectivity=model.connectivity_).fit(graph)
    refitted = refit.embedding_.vectors
    model.update(graph)
    return {
        "dataset": data.name,
        "split": seed,
        "folded_in": micro_f1(data, folded, rest, hidden),
        "mean_of_neighbors": micro_f1(data, means, rest, hidden),
        "refreshed": micro_f1(data, refreshed, rest, hidden),
        "updated": micro_f1(data, model.embedding_.vectors, rest, hidden),
        "refit": micro_f1(data, refitted, rest, hidden),
        "control_known": micro_f1(data, folded, others, control),
        "control_refit": micro_f1(data, refitted, others, control),
        "cosine_again": float(np.median(cosines(refitted, folded_again(refit, graph)))),
    }


def neighbor_means(graph: Graph, vectors: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the mean vector of the known neighbors of each node, or zeros."""
    is_known = np.zeros(graph.n_nodes)
    is_known[known] = 1
    weights = graph.adjacency @ is_known
    sums = graph.adjacency @ (is_known[:, None] * vectors)
    return sums / np.maximum(weights, 1e-12)[:, None]


def folded_again(model: BoostNE, graph: Graph) -> np.ndarray:
    """Return the vectors of all nodes, folded in as if their edges had changed."""
    digests = model.fitted_graph_.neighborhoods
    digests += np.uint64(1)
    found = model.transform(graph, refresh=True)
    digests -= np.uint64(1)
    return found


def micro_f1(data: Dataset, vectors: np.ndarray, training: np.ndarray, test: np.ndarray) -> float:
    """Return the Micro-F1 of the labeled test nodes."""
    matrix, _ = data.labels.align(data.graph.nodes)
    indicator = matrix.toarray()
    labeled = indicator.any(axis=1)
    task = LabeledVectors(vectors.astype(np.float64), indicator, labeled)
    micro, _, _ = score_split(task, training[labeled[training]], test[labeled[test]], 1.0, "top-k", "fast")
    return micro


def cosines(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the cosine of each pair of rows, without those of zero vectors."""
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return (ours * theirs).sum(axis=1)[norms > 0] / norms[norms > 0]


def mean_row(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Average the splits of a data set; losses are compared with the new fit of the same split."""
    found = {
        column: np.array([row[column] for row in rows]) for column in rows[0] if column not in ("dataset", "split")
    }
    means: dict[str, Any] = {"dataset": name, "splits": len(rows)}
    means |= {column: float(values.mean()) for column, values in found.items()}
    for column in ("folded_in", "mean_of_neighbors", "refreshed", "updated", "control_known"):
        loss = found[column] - found["control_refit" if column == "control_known" else "refit"]
        means[f"{column}_minus_refit"] = float(loss.mean())
        means[f"{column}_error"] = float(loss.std(ddof=1) / np.sqrt(len(loss)))
    return means


def repeated_updates(data: Dataset) -> dict[str, Any]:
    """Update a model several times, and compare it with a fit to the last graph."""
    rng, graph = np.random.default_rng(0), data.graph
    model = BoostNE().fit(graph)
    first = model.embedding_
    for _ in range(UPDATES):
        graph = change_edges(graph, CHANGED, rng)
        model.update(graph)
    refit = BoostNE(connectivity=model.connectivity_).fit(graph)
    row: dict[str, Any] = {"dataset": data.name}
    for name, embedding in (("first", first), ("updated", model.embedding_), ("refit", refit.embedding_)):
        row[name] = mean_micro(embedding, data)
    cosine = float(np.median(cosines(first.vectors, model.embedding_.vectors)))
    return row | {"updated_minus_refit": row["updated"] - row["refit"], "cosine_to_first": cosine}


def mean_micro(embedding: Embedding, data: Dataset) -> float:
    """Return the mean Micro-F1 over the training percentages."""
    return float(evaluate(embedding, data.labels, train=TRAIN, repeats=5, classifier="fast").mean("micro").mean())


def change_edges(graph: Graph, share: float, rng: np.random.Generator) -> Graph:
    """Remove half of a share of the edges at random, and add as many between nodes two steps apart."""
    A = graph.adjacency
    upper = sparse.triu(A, 1).tocoo()
    count = max(round(share * upper.nnz / 2), 1)
    keep = rng.permutation(upper.nnz)[count:]
    degrees = np.diff(A.indptr)

    def step(nodes: np.ndarray) -> np.ndarray:
        return A.indices[A.indptr[nodes] + (rng.random(len(nodes)) * degrees[nodes]).astype(np.int64)]

    sources = upper.row[rng.integers(upper.nnz, size=4 * count)]
    targets = step(step(sources))
    new = np.flatnonzero(sources != targets)[:count]
    rows = np.concatenate([upper.row[keep], sources[new]])
    columns = np.concatenate([upper.col[keep], targets[new]])
    changed = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=A.shape).tocsr()
    changed = sparse.csr_array(changed + changed.T)
    changed.data[:] = 1
    return Graph(changed, graph.nodes)
