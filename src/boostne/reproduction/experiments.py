"""The experiments of a plan as cacheable computations, and their results."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

import boostne
from boostne.datasets import Dataset
from boostne.evaluation import Evaluation, evaluate
from boostne.evaluation.checksum import labels_sha256
from boostne.evaluation.result import SCORE
from boostne.reproduction.cache import Cache
from boostne.reproduction.computations import (
    FIT,
    FIT_COST,
    FORMAT,
    Computation,
    Pending,
    Values,
    cached_scores,
    look_up,
)
from boostne.reproduction.fitting import Fitter
from boostne.reproduction.node_maps import sample_maps
from boostne.reproduction.paper import METHODS
from boostne.reproduction.plan import Experiment, Protocol, make_plan

C = 1.0  # the paper's classifier
RULE: Final = "top-k"
MAP = "maps"
# Rough costs in core seconds, like FIT_COST.
SPLIT_COST = 9e-6  # per training node and class
MAP_COST = 2e-3  # per node and level


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
    values: Values

    def evaluation(self, train: Iterable[int]) -> Evaluation:
        """Return the scores at the given ratios as :func:`boostne.evaluate` would."""
        entries = [self.values[ratio] for ratio in train]
        rows = [tuple(row) for entry in entries for row in entry["scores"]]
        facts = entries[0]["facts"]
        return Evaluation(scores=np.array(rows, dtype=SCORE), train=tuple(float(ratio) for ratio in train), **facts)


@dataclass(frozen=True, eq=False)
class DatasetResults:
    """The results of all experiments on one data set."""

    data: Dataset
    results: list[ExperimentResult]


def plan_experiments(
    datasets: Iterable[Dataset], methods: Iterable[str], protocol: Protocol, cache: Cache | None, threads: int | None
) -> tuple[list[DatasetResults], list[Pending]]:
    """Return the experiments of the plan with their cached values, and the computations that are left.

    Parameters
    ----------
    datasets : iterable of Dataset
    methods : iterable of str
        Class names of the estimators; those that are not in the paper are ignored.
    protocol : Protocol
    cache : Cache or None
        With None, all computations are left.
    threads : int or None
        Number of threads; None means all cores. The results do not depend on it.
    """
    of_paper = tuple(name for name in methods if name in METHODS.values())
    results: list[DatasetResults] = []
    pending: list[Pending] = []
    for data in datasets:
        fitter = Fitter(data, threads)
        results.append(DatasetResults(data, []))
        for experiment in make_plan(of_paper, protocol):
            computations = _computations(experiment, fitter, protocol)
            values, left = look_up(computations, cache, fitter, f"{data.name}: {experiment.name}")
            results[-1].results.append(ExperimentResult(experiment, values))
            pending += left
    return results, pending


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
            scored | {"what": MAP, "nodes": max_nodes, "layouts": "aligned"},
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
    return cached_scores(result, "C")
