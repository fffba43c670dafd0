"""Runs the experiments of a plan, with every result cached as soon as it is computed."""

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
from boostne.reproduction.fitting import Fitter
from boostne.reproduction.node_maps import sample_maps
from boostne.reproduction.plan import Experiment, Protocol, make_plan

FORMAT = 2  # of the cache entries
C = 1.0  # the paper's classifier
RULE: Final = "top-k"
FIT, MAP = "vectors", "maps"
# Rough costs in core seconds, for weighting the computations in the progress.
FIT_COST = 3e-7  # per pair of nodes
SPLIT_COST = 9e-6  # per training node and class
MAP_COST = 2e-3  # per node and level


class Computation(NamedTuple):
    """A cacheable computation.

    Attributes
    ----------
    name : str or int
        "vectors", "maps", or the training ratio of scores.
    key : dict
        Everything that the value depends on.
    cost : float
    compute : callable
    """

    name: str | int
    key: dict[str, Any]
    cost: float
    compute: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """The result of an experiment on one data set.

    Attributes
    ----------
    experiment : Experiment
    values : dict
        Values of the computations, by name.
    """

    experiment: Experiment
    values: dict[str | int, Any]

    def evaluation(self, train: Iterable[int]) -> Evaluation:
        """Return the scores at the given ratios as :func:`boostne.evaluate` would."""
        entries = [self.values[ratio] for ratio in train]
        rows = [tuple(row) for entry in entries for row in entry["scores"]]
        facts = entries[0]["facts"]
        return Evaluation(scores=np.array(rows, dtype=SCORE), train=tuple(float(ratio) for ratio in train), **facts)

    def seconds(self) -> dict[str, float]:
        """Return how long each computation took."""
        return {_display_name(name): value["seconds"] for name, value in self.values.items()}


@dataclass(frozen=True, eq=False)
class DatasetResults:
    """The results of all experiments on one data set."""

    data: Dataset
    results: list[ExperimentResult]


Pending = tuple[Fitter, ExperimentResult, Computation]


def run_experiments(
    datasets: Iterable[Dataset],
    methods: Iterable[str],
    protocol: Protocol,
    cache: Cache,
    *,
    threads: int | None = None,
    progress: ProgressCallback = silent,
) -> list[DatasetResults]:
    """Compute all experiments of the plan that are not cached yet.

    Parameters
    ----------
    datasets : iterable of Dataset
    methods : iterable of str
        Class names of the estimators.
    protocol : Protocol
    cache : Cache
        Receives every value as soon as it is computed.
    threads : int, optional
        Number of threads; all cores by default. The results do not depend on it.
    progress : callable, optional
        Called before each computation with the completed fraction of the uncached work.
    """
    results: list[DatasetResults] = []
    pending: list[Pending] = []
    for data in datasets:
        fitter = Fitter(data, threads)
        results.append(DatasetResults(data, []))
        for experiment in make_plan(tuple(methods), protocol):
            computations = list(_computations(experiment, fitter, protocol))
            result = ExperimentResult(experiment, {one.name: cache.get(one.key) for one in computations})
            results[-1].results.append(result)
            pending += [(fitter, result, one) for one in computations if result.values[one.name] is None]
    _compute(pending, cache, progress)
    return results


def _compute(pending: list[Pending], cache: Cache, progress: ProgressCallback) -> None:
    total, done = sum(computation.cost for *_, computation in pending), 0.0
    last: Fitter | None = None
    for fitter, result, computation in pending:
        if last is not None and last is not fitter:
            last.release()
        last = fitter
        detail = f"{fitter.data.name}: {result.experiment.name}, {_display_name(computation.name)}"
        progress(Progress("reproduce", done / total, detail))
        begin = time.perf_counter()
        value = computation.compute()
        result.values[computation.name] = {"seconds": time.perf_counter() - begin, **value}
        cache.put(computation.key, result.values[computation.name])
        done += computation.cost


def _display_name(name: str | int) -> str:
    return name if isinstance(name, str) else f"scores at {name} %"


def _computations(experiment: Experiment, fitter: Fitter, protocol: Protocol) -> Iterator[Computation]:
    """List the computations of an experiment: its vectors, their scores, a map."""
    data, n = fitter.data, fitter.data.graph.n_nodes
    key = {
        "format": FORMAT,
        "version": boostne.__version__,
        "graph": data.graph.fingerprint(),
        **experiment.configuration.key(),
    }
    yield Computation(FIT, key | {"what": FIT}, FIT_COST * n**2, lambda: _fit(experiment, fitter))
    split = {"repeats": protocol.repeats, "seed": protocol.seed, "C": C, "rule": RULE}
    scored = key | {"what": "scores", "labels": labels_sha256(data.labels), **split}
    for ratio in sorted(experiment.train):
        cost = SPLIT_COST * protocol.repeats * n * ratio / 100 * len(data.labels.classes)
        compute = partial(_score, experiment, fitter, ratio, protocol)
        yield Computation(ratio, scored | {"train": ratio}, cost, compute)
    if experiment.mapped:
        max_nodes, seed = protocol.map_nodes, protocol.seed
        yield Computation(
            MAP,
            scored | {"what": MAP, "nodes": max_nodes},
            MAP_COST * min(n, max_nodes) * (1 + experiment.configuration.parameters["levels"]),
            lambda: sample_maps(data, fitter.fit(experiment).embedding, max_nodes, seed),
        )


def _fit(experiment: Experiment, fitter: Fitter) -> dict[str, Any]:
    return {"residual": fitter.fit(experiment).residual}


def _score(experiment: Experiment, fitter: Fitter, ratio: int, protocol: Protocol) -> dict[str, Any]:
    result = evaluate(
        fitter.fit(experiment).embedding,
        fitter.data.labels,
        train=ratio,
        repeats=protocol.repeats,
        seed=protocol.seed,
        C=C,
        rule=RULE,
        threads=fitter.threads,
    )
    facts = {
        name: getattr(result, name)
        for name in (
            "repeats", "seed", "C", "rule", "n_labeled", "n_without_vector", "n_classes",
            "embedding_sha256", "labels_sha256",
        )
    }  # fmt: skip
    return {"scores": [list(row) for row in result.scores.tolist()], "facts": facts}
