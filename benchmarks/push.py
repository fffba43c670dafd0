"""Pruned X compared with the exact X and with path sampling of the same size: time and Micro-F1."""

import time

import numpy as np
from scipy import sparse

from benchmarks.common import save, show
from boostne import BoostNE, DeepWalkMatrix, Graph, evaluate, load_dataset

DATASETS = ("cora", "wiki", "ppi", "blogcatalog")
TRAIN = (10, 50, 90)
REPEATS = 10
WINDOW = 10
BATCH = 1 << 20  # paths sampled at a time
MAX_PATHS = 1 << 30


def run() -> None:
    """Embed and score each network with each X."""
    rows = []
    for name in DATASETS:
        data = load_dataset(name)
        forms = {"exact": {}, "push, ε = 1e-5": {"epsilon": 1e-5, "max_per_row": data.graph.n_nodes}, "push": {}}
        for label, options in forms.items():
            matrix = DeepWalkMatrix(window=10, approximation=label.split(",")[0], **options)
            model = BoostNE(connectivity=matrix)
            begin = time.perf_counter()
            X = model.connectivity_matrix(data.graph)
            rows.append(scored(data, label, X, time.perf_counter() - begin, model.epsilon_))
            if label != "exact":
                begin = time.perf_counter()
                sampled = sampled_paths(data.graph, X.nnz, np.random.default_rng(0))
                seconds = time.perf_counter() - begin
                rows.append(scored(data, f"paths, same size as {label}", sampled, seconds, None))
    show("X pruned by forward push, and X from sampled paths: entries, seconds, Micro-F1", rows)
    save("push", rows, repeats=REPEATS, note="paths are sampled by NumPy, push is compiled")


def scored(data, label: str, X: sparse.csr_array, seconds: float, epsilon: float | None) -> dict:
    """Factorize X and return a row of the table."""
    model = BoostNE(connectivity=X).fit(data.graph)
    scores = evaluate(model.embedding_, data.labels, train=TRAIN, repeats=REPEATS)
    row = {"dataset": data.name, "form": label, "epsilon": epsilon or 0.0, "entries": int(X.nnz)}
    row |= {"X_seconds": seconds}
    row |= {f"micro {ratio}%": float(v) for ratio, v in zip(TRAIN, scores.mean("micro"), strict=True)}
    show("so far", [row])
    return row


def sampled_paths(graph: Graph, entries: int, rng: np.random.Generator) -> sparse.csr_array:
    """Estimate DeepWalk's X from sampled paths, like NetSMF and LightNE, until it has a number of entries.

    A path of r steps, r uniform in 1 … T, through a uniform edge joins i and j with probability
    ``(1/T) Σ_r d_i S^r_ij / vol(G)``; so ``vol(G)² / (b d_i d_j)`` times its frequency estimates ``exp(X_ij)``.
    """
    n, degrees = graph.n_nodes, graph.degrees
    counts = sparse.csr_array((n, n))
    drawn = 0
    while drawn < MAX_PATHS:
        u, v = path_ends(graph, rng)
        drawn += BATCH
        counts = counts + sparse.coo_array((np.ones(2 * BATCH), (np.r_[u, v], np.r_[v, u])), shape=(n, n)).tocsr()
        M = sparse.csr_array(counts * (graph.volume**2 / (2 * drawn)))
        M = sparse.diags_array(1 / degrees) @ M @ sparse.diags_array(1 / degrees)
        M.data = np.log(np.maximum(M.data, 1)).astype(np.float32)
        M.eliminate_zeros()
        if M.nnz >= entries:
            break
    return sparse.csr_array(M)


def path_ends(graph: Graph, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sample a batch of paths; returns their ends."""
    A = graph.adjacency
    edge = rng.integers(A.nnz, size=BATCH)
    ends = [np.searchsorted(A.indptr, edge, side="right") - 1, A.indices[edge].astype(np.int64)]
    length = rng.integers(1, WINDOW + 1, size=BATCH)
    before = rng.integers(0, length)  # steps before the edge, out of length - 1
    for end, steps in zip(ends, (before, length - 1 - before), strict=True):
        for step in range(WINDOW):
            going = np.flatnonzero(steps > step)
            at = end[going]
            offset = (rng.random(len(going)) * (A.indptr[at + 1] - A.indptr[at])).astype(np.int64)
            end[going] = A.indices[A.indptr[at] + offset]
    return ends[0], ends[1]
