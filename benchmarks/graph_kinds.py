"""Generated graphs of several kinds, with one label per node: what the default setting is tested on.

Real counterparts: communities of people (planted, power-law, overlapping, hierarchical), nearest neighbors of points,
users and the items they choose (bipartite), and words that occur together in a text (words).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from boostne import Graph
from boostne.datasets import Dataset
from boostne.labels import as_labels

Rng = np.random.Generator
Indices = NDArray[np.int64]


def blocks(n: int, rng: Rng, *, classes: int, degree: float, mixing: float, exponent: float | None) -> Any:
    """Draw communities; degrees are equal in expectation, or follow a power law with an exponent."""
    labels = rng.integers(classes, size=n)
    weights = np.ones(n) if exponent is None else power_law(n, exponent, rng)
    sources, targets = chance_edges(weights, degree, rng)
    inside = rng.random(len(sources)) >= mixing
    rewire(sources, targets, inside, labels, labels, weights, rng)
    return sources, targets, None, labels


def hierarchy(n: int, rng: Rng, *, classes: int, groups: int, degree: float, shares: tuple[float, float]) -> Any:
    """Draw groups within classes: ``shares`` of the edges stay in the group, and in the class."""
    group = rng.integers(classes * groups, size=n)
    labels, weights = group // groups, np.ones(n)
    sources, targets = chance_edges(weights, degree, rng)
    kind = rng.random(len(sources))
    rewire(sources, targets, kind < shares[0], group, group, weights, rng)
    rewire(sources, targets, (kind >= shares[0]) & (kind < sum(shares)), labels, labels, weights, rng)
    return sources, targets, None, labels


def overlapping(n: int, rng: Rng, *, groups: int, classes: int, degree: float, mixing: float) -> Any:
    """Draw many groups, with half of the nodes in two of them; the class is that of the first group."""
    first = rng.integers(groups, size=n)
    second = np.where(rng.random(n) < 0.5, first, rng.integers(groups, size=n))
    weights = power_law(n, 2.5, rng)
    sources, targets = chance_edges(weights, degree, rng)
    chosen = np.where(rng.random(len(sources)) < 0.7, first[sources], second[sources])
    inside = rng.random(len(sources)) >= mixing
    for group in range(groups):
        members = np.flatnonzero((first == group) | (second == group))
        draw(targets, inside & (chosen == group), members, weights, rng)
    return sources, targets, None, rng.integers(classes, size=groups)[first]


def neighbors(n: int, rng: Rng, *, classes: int, k: int, noise: float) -> Any:
    """Connect the k nearest neighbors of points around the centers of the classes."""
    labels = rng.integers(classes, size=n)
    points = rng.normal(size=(classes, 10))[labels] + noise * rng.normal(size=(n, 10))
    nearest = kneighbors_graph(points, k).tocoo()
    return nearest.row, nearest.col, None, labels


def bipartite(n: int, rng: Rng, *, classes: int, degree: float, mixing: float) -> Any:
    """Let users, two thirds of the nodes, choose items of their class, and popular ones of any class."""
    users = 2 * n // 3
    labels = rng.integers(classes, size=n)
    weights = np.zeros(n)
    weights[users:] = (1 + rng.permutation(n - users)) ** -0.8
    n_edges = int(users * degree)
    sources = rng.integers(users, size=n_edges)
    targets = rng.choice(n, n_edges, p=weights / weights.sum())
    rewire(sources, targets, rng.random(n_edges) >= mixing, labels, labels, weights, rng)
    return sources, targets, None, labels


def words(n: int, rng: Rng, *, classes: int, tokens: int, window: int) -> Any:
    """Count words within a window of each other, in a text by Zipf's law whose word classes follow a Markov chain."""
    tokens *= n
    labels = rng.integers(classes, size=n)
    cumulative = rng.dirichlet(np.full(classes, 0.25), size=classes).cumsum(axis=1)
    chain, uniform, state = np.empty(tokens, np.int64), rng.random(tokens), 0
    for i in range(tokens):
        state = min(int(np.searchsorted(cumulative[state], uniform[i])), classes - 1)
        chain[i] = state
    text, frequency = np.empty(tokens, np.int64), 1 / (1 + rng.permutation(n))
    for c in range(classes):
        draw(text, chain == c, np.flatnonzero(labels == c), frequency, rng)
    pairs = [(text[:-d], text[d:]) for d in range(1, window + 1)]
    sources, targets = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return sources, targets, np.ones(len(sources)), labels


def power_law(n: int, exponent: float, rng: Rng) -> NDArray[np.float64]:
    """Return expected degrees, up to a factor."""
    return np.minimum((1 - rng.random(n)) ** (-1 / (exponent - 1)), np.sqrt(n))


def chance_edges(weights: NDArray[np.float64], degree: float, rng: Rng) -> tuple[Indices, Indices]:
    """Draw both ends of each edge in proportion to the weights."""
    n = len(weights)
    shares = weights / weights.sum()
    sources, targets = rng.choice(n, (2, int(n * degree / 2)), p=shares)
    return sources, targets


def rewire(
    sources: Indices, targets: Indices, which: NDArray[Any], group: Indices, of_target: Indices, weights: Any, rng: Rng
) -> None:
    """Replace the targets of some edges by nodes in the group of their source."""
    for one in range(group.max() + 1):
        draw(targets, which & (group[sources] == one), np.flatnonzero(of_target == one), weights, rng)


def draw(targets: Indices, which: NDArray[Any], members: Indices, weights: NDArray[np.float64], rng: Rng) -> None:
    """Replace some targets by members, drawn in proportion to their weights."""
    total = weights[members].sum()
    if total:
        targets[which] = rng.choice(members, np.count_nonzero(which), p=weights[members] / total)


KINDS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "planted, degree 4": (blocks, {"classes": 12, "degree": 5, "mixing": 0.25, "exponent": None}),
    "planted, degree 10": (blocks, {"classes": 20, "degree": 12, "mixing": 0.5, "exponent": None}),
    "planted, degree 50": (blocks, {"classes": 20, "degree": 57, "mixing": 0.75, "exponent": None}),
    "power-law, degree 4": (blocks, {"classes": 12, "degree": 5, "mixing": 0.2, "exponent": 2.5}),
    "power-law, degree 10": (blocks, {"classes": 20, "degree": 12, "mixing": 0.4, "exponent": 2.3}),
    "power-law, degree 60": (blocks, {"classes": 30, "degree": 69, "mixing": 0.75, "exponent": 2.2}),
    "hierarchy, degree 6": (hierarchy, {"classes": 8, "groups": 12, "degree": 6, "shares": (0.35, 0.25)}),
    "hierarchy, degree 40": (hierarchy, {"classes": 8, "groups": 12, "degree": 40, "shares": (0.15, 0.15)}),
    "overlapping, degree 10": (overlapping, {"groups": 100, "classes": 12, "degree": 11, "mixing": 0.4}),
    "overlapping, degree 30": (overlapping, {"groups": 100, "classes": 12, "degree": 33, "mixing": 0.6}),
    "5 nearest neighbors": (neighbors, {"classes": 15, "k": 5, "noise": 0.8}),
    "20 nearest neighbors": (neighbors, {"classes": 15, "k": 20, "noise": 1.0}),
    "bipartite, degree 8": (bipartite, {"classes": 10, "degree": 8, "mixing": 0.5}),
    "bipartite, degree 20": (bipartite, {"classes": 10, "degree": 20, "mixing": 0.65}),
    "words, window 1": (words, {"classes": 25, "tokens": 20, "window": 1}),
    "words, window 2": (words, {"classes": 25, "tokens": 75, "window": 2}),
}


def generate(kind: str, n_nodes: int, seed: int = 0) -> Dataset:
    """Return a graph of a kind, without isolated nodes."""
    function, parameters = KINDS[kind]
    sources, targets, weights, labels = function(n_nodes, np.random.default_rng(seed), **parameters)
    proper = sources != targets
    data = np.ones(np.count_nonzero(proper)) if weights is None else weights[proper]
    A = sparse.coo_array((data, (sources[proper], targets[proper])), shape=(n_nodes, n_nodes)).tocsr()
    A = (A + A.T).tocsr()
    if weights is None:
        A.data[:] = 1
    connected = np.flatnonzero(np.diff(A.indptr))
    graph = Graph(A[connected][:, connected], nodes=connected)
    return Dataset(graph, as_labels(dict(zip(connected.tolist(), map(str, labels[connected]), strict=True))), kind)
