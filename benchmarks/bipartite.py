"""Recommendations on planted bipartite graphs: recall of hidden edges, against implicit's ALS and simple baselines.

A fifth of the edges is hidden, but every node keeps one. Recall@20 is the share of a user's hidden items among the 20
best items that are not known, relative to the smaller of 20 and the number of hidden items; users without hidden items
do not count. BoostNE runs with its defaults at each size of the vectors, and for comparison with other windows and
numbers of levels, without propagation, and ranked by plain products. ALS runs with its defaults, and with the best
parameters of a grid on the hidden edges themselves, which favors ALS.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.common import save, show, timed
from boostne import BoostNE, DeepWalk, Graph, planted_bipartite

GRAPHS: dict[str, dict[str, Any]] = {
    "typical": {},
    "sparse": {"mean_degree": 8},
    "many communities": {"communities": 60, "mean_degree": 8},
    "few communities": {"communities": 15, "mean_degree": 40},
}
SIZES = (4000, 2000)
HIDDEN = 0.2
CUTOFF = 20
WIDTH = 16  # of the levels that are compared with the default, which has eight of any width
DIMENSIONS = (32, 128)
REGULARIZATIONS, ALPHAS = (1.0, 10.0, 50.0, 100.0, 200.0), (3.0, 10.0, 30.0, 60.0)
ALS_DEFAULT = (0.01, 1.0)
WALKS = 10  # of DeepWalk from each node; its default takes minutes
ITERATIONS = 15
BLOCK = 512
SEED = 1

Scores = Callable[[NDArray[np.int64]], NDArray[Any]]


class Split(NamedTuple):
    """Known and hidden edges, users in rows and items in columns, and the graph of the known ones."""

    known: sparse.csr_array
    hidden: sparse.csr_array
    graph: Graph


def run() -> None:
    """Compare the recall of all methods on all graphs."""
    rows = []
    for name, parameters in GRAPHS.items():
        split = hide_edges(planted_bipartite(*SIZES, **parameters).graph)
        for dimensions in DIMENSIONS:
            rows += [{"graph": name, "dimensions": dimensions, **found} for found in compared(split, dimensions)]
            show("so far", [row for row in rows if row["graph"] == name])
    show("Recall of hidden edges", rows)
    save("bipartite", rows, sizes=SIZES, hidden=HIDDEN, cutoff=CUTOFF, graphs=GRAPHS)


def hide_edges(graph: Graph) -> Split:
    """Hide some edges at random, such that each node keeps at least one."""
    A = graph.adjacency[graph.sides][:, ~graph.sides].tocoo()
    rng = np.random.default_rng(SEED)
    order = rng.permutation(A.nnz)
    hidden = rng.random(A.nnz) < HIDDEN
    for ends in (A.row, A.col):
        _, first = np.unique(ends[order], return_index=True)
        hidden[order[first]] = False
    known, other = (
        sparse.csr_array((np.ones(keep.sum(), np.float32), (A.row[keep], A.col[keep])), shape=A.shape)
        for keep in (~hidden, hidden)
    )
    users, items = np.arange(A.shape[0]), A.shape[0] + np.arange(A.shape[1])
    return Split(known, other, Graph.from_edges(users[A.row[~hidden]], items[A.col[~hidden]], sides="columns"))


def compared(split: Split, dimensions: int) -> Iterator[dict[str, Any]]:
    """Yield the recall and the seconds of each method."""
    settings: dict[str, dict[str, Any]] = {
        "default": {},
        "one level": {"levels": 1},
        "window 3": {"window": 3},
        "window 5": {"window": 5},
        f"levels of {WIDTH}": {"levels": dimensions // WIDTH},
        "no propagation": {"propagation": 0.0},
    }
    for setting, changes in settings.items():
        model = BoostNE(dimensions, **changes)
        seconds, _ = timed(lambda model=model: model.fit(split.graph))
        yield result("BoostNE", setting, recall_of_model(model, split), seconds)
        if not changes:
            U, V = model.embedding_.vectors, model.targets_.vectors
            yield result("BoostNE", "products", recall(lambda users, U=U, V=V: U[users] @ V.T, split), seconds)
    als = list(als_results(split, dimensions))
    yield als[0]
    yield max(als[1:], key=lambda row: row["recall"])
    popularity = split.known.sum(axis=0)
    yield result("popularity", "", recall(lambda users: np.tile(popularity, (len(users), 1)), split), 0.0)
    plain = split.graph.with_sides(None)
    for method, model in {"BoostNE": BoostNE(dimensions), "DeepWalk": DeepWalk(dimensions, walks=WALKS)}.items():
        seconds, _ = timed(lambda model=model: model.fit(plain))
        vectors = model.embedding_.vectors
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        n = split.known.shape[0]
        found = recall(lambda users, unit=unit, n=n: unit[users] @ unit[n:].T, split)
        yield result(method, "cosine, no sides", found, seconds)


def als_results(split: Split, dimensions: int) -> Iterator[dict[str, Any]]:
    """Yield the results of alternating least squares with its default parameters, and with each pair of others."""
    from implicit.als import AlternatingLeastSquares
    from threadpoolctl import threadpool_limits

    known = sparse.csr_matrix(split.known)
    for regularization, alpha in (ALS_DEFAULT, *itertools.product(REGULARIZATIONS, ALPHAS)):
        model = AlternatingLeastSquares(
            factors=dimensions, regularization=regularization, alpha=alpha, iterations=ITERATIONS, random_state=0
        )
        with threadpool_limits(1, "blas"):  # implicit has threads of its own
            seconds, _ = timed(lambda model=model: model.fit(known, show_progress=False))
        found = recall(lambda users, model=model: model.user_factors[users] @ model.item_factors.T, split)
        yield result("ALS", f"regularization {regularization:g}, alpha {alpha:g}", found, seconds)


def result(method: str, setting: str, found: float, seconds: float) -> dict[str, Any]:
    """Return a row of the table."""
    return {"method": method, "setting": setting, "recall": found, "seconds": seconds}


def recall_of_model(model: BoostNE, split: Split) -> float:
    """Return the mean recall of a model's recommendations."""
    hidden, first = split.hidden, split.known.shape[0]
    users = np.flatnonzero(np.diff(hidden.indptr))
    shares = []
    for user, best in zip(users, model.recommend(users, CUTOFF), strict=True):
        items = hidden.indices[hidden.indptr[user] : hidden.indptr[user + 1]] + first
        shares.append(len({item for item, _ in best} & set(items.tolist())) / min(len(items), CUTOFF))
    return float(np.mean(shares))


def recall(scores: Scores, split: Split) -> float:
    """Return the mean recall of the items with the highest scores."""
    users = np.flatnonzero(np.diff(split.hidden.indptr))
    shares = []
    for first in range(0, len(users), BLOCK):
        block = users[first : first + BLOCK]
        found = np.array(scores(block), dtype=np.float64)
        found[split.known[block].toarray() > 0] = -np.inf
        best = np.argpartition(-found, CUTOFF, axis=1)[:, :CUTOFF]
        hits = np.take_along_axis(split.hidden[block].toarray(), best, axis=1).sum(axis=1)
        shares.append(hits / np.minimum(np.diff(split.hidden.indptr)[block], CUTOFF))
    return float(np.concatenate(shares).mean())
