"""The work itself: each piece is looked up in the cache first, and stored there as soon as it is computed."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

import boostne
from boostne.datasets import Dataset
from boostne.evaluation import Evaluation, evaluate
from boostne.evaluation.checksum import labels_sha256
from boostne.evaluation.result import SCORE
from boostne.progress import Progress, ProgressCallback, silent
from boostne.reproduction.cache import Cache
from boostne.reproduction.maps import draw_maps
from boostne.reproduction.plan import Protocol, Work, make_plan
from boostne.reproduction.vectors import Vectors

FORMAT = 1  # of the cache's entries
C = 1.0  # the paper's classifier
RULE: Final = "top-k"
FIT, MAP = "vectors", "maps"
# Seconds on one core, roughly: what the pieces weigh against each other in the time left.
FIT_COST = 3e-7  # a pair of nodes
SPLIT_COST = 9e-6  # a training node and class
MAP_COST = 2e-3  # a node and level

Values = dict[str | int, Any]


class Piece(NamedTuple):
    """A value to be had, from the cache or by computing it.

    Attributes
    ----------
    name : str or int
        "vectors", "maps", or the per cent that are trained on.
    key : dict
        All that it depends on.
    cost : float
    compute : callable
    """

    name: str | int
    key: dict[str, Any]
    cost: float
    compute: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Found:
    """What was found for one recipe on one data set.

    Attributes
    ----------
    work : Work
    values : dict
        Of every piece, under its name.
    """

    work: Work
    values: Values

    def evaluation(self, train: Iterable[int]) -> Evaluation:
        """Return the scores at some ratios as :func:`boostne.evaluate` would have."""
        entries = [self.values[ratio] for ratio in train]
        rows = [tuple(row) for entry in entries for row in entry["scores"]]
        facts = entries[0]["facts"]
        return Evaluation(
            scores=np.array(rows, dtype=SCORE), train=tuple(float(ratio) for ratio in train), **facts
        )

    def seconds(self) -> dict[str, float]:
        """Return how long each piece took when it was computed."""
        return {
            name if isinstance(name, str) else f"scores at {name} %": value["seconds"]
            for name, value in self.values.items()
        }


@dataclass(frozen=True, eq=False)
class DatasetResults:
    """All that was found for one data set."""

    data: Dataset
    found: list[Found]


def run(
    datasets: Iterable[Dataset],
    methods: Iterable[str],
    protocol: Protocol,
    cache: Cache,
    *,
    threads: int | None = None,
    report: ProgressCallback = silent,
) -> list[DatasetResults]:
    """Compute everything that the plan asks for and the cache does not hold.

    Parameters
    ----------
    datasets : iterable of Dataset
    methods : iterable of str
        Names of classes.
    protocol : Protocol
    cache : Cache
        Every piece is stored here as soon as it is computed.
    threads : int, optional
        By default every core. The results do not depend on it.
    report : callable, optional
        Told before each missing piece what it is, and which share of the missing work is done.
    """
    results: list[DatasetResults] = []
    missing: list[tuple[Vectors, Found, Piece]] = []
    for data in datasets:
        vectors = Vectors(data, threads)
        results.append(DatasetResults(data, []))
        for work in make_plan(data, tuple(methods), protocol):
            pieces = list(_pieces(work, vectors, protocol))
            found = Found(work, {piece.name: cache.get(piece.key) for piece in pieces})
            results[-1].found.append(found)
            missing += [(vectors, found, piece) for piece in pieces if found.values[piece.name] is None]
    _compute(missing, cache, report)
    return results


def _compute(missing: list[tuple[Vectors, Found, Piece]], cache: Cache, report: ProgressCallback) -> None:
    total, done = sum(piece.cost for *_, piece in missing), 0.0
    last: Vectors | None = None
    for vectors, found, piece in missing:
        if last is not None and last is not vectors:
            last.forget()
        last = vectors
        what = piece.name if isinstance(piece.name, str) else f"scores at {piece.name} %"
        report(Progress("reproduce", done / total, f"{vectors.data.name}: {found.work.name}, {what}"))
        begin = time.perf_counter()
        value = piece.compute()
        found.values[piece.name] = {"seconds": time.perf_counter() - begin, **value}
        cache.put(piece.key, found.values[piece.name])
        done += piece.cost


def _pieces(work: Work, vectors: Vectors, protocol: Protocol) -> Iterator[Piece]:
    """List what is wanted of a recipe: its vectors, their scores, a map."""
    data, n = vectors.data, vectors.data.graph.n_nodes
    key = {
        "format": FORMAT,
        "version": boostne.__version__,
        "graph": data.graph.fingerprint(),
        **work.recipe.key(),
    }
    yield Piece(FIT, key | {"what": FIT}, FIT_COST * n**2, lambda: _fit(work, vectors))
    split = {"repeats": protocol.repeats, "seed": protocol.seed, "C": C, "rule": RULE}
    scored = key | {"what": "scores", "labels": labels_sha256(data.labels), **split}
    for ratio in sorted(work.train):
        cost = SPLIT_COST * protocol.repeats * n * ratio / 100 * len(data.labels.classes)
        yield Piece(
            ratio,
            scored | {"train": ratio},
            cost,
            partial(_score, work, vectors, ratio, protocol),
        )
    if work.mapped:
        nodes, seed = protocol.map_nodes, protocol.seed
        yield Piece(
            MAP,
            scored | {"what": MAP, "nodes": nodes},
            MAP_COST * min(n, nodes) * (1 + work.recipe.parameters["levels"]),
            lambda: draw_maps(data, vectors.of(work).embedding, nodes, seed),
        )


def _fit(work: Work, vectors: Vectors) -> dict[str, Any]:
    return {"residual": vectors.of(work).residual}


def _score(work: Work, vectors: Vectors, ratio: int, protocol: Protocol) -> dict[str, Any]:
    embedding = vectors.of(work).embedding
    found = evaluate(
        embedding,
        vectors.data.labels,
        train=ratio,
        repeats=protocol.repeats,
        seed=protocol.seed,
        C=C,
        rule=RULE,
        n_jobs=vectors.threads,
    )
    facts = {
        name: getattr(found, name)
        for name in (
            "repeats", "seed", "C", "rule", "n_labeled", "n_without_vector", "n_classes",
            "embedding_sha256", "labels_sha256",
        )
    }  # fmt: skip
    return {"scores": [list(row) for row in found.scores.tolist()], "facts": facts}
