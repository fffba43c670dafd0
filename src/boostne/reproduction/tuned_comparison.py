"""The tuned comparison: every method chooses its parameters on the training nodes of each split, by one protocol.

See :mod:`boostne.evaluation.nested`. Vectors of all candidates are scaled to a root-mean-square length of 1: twice the
scale is four times C, so that this makes the same grid of C suitable for all methods.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import boostne
from boostne.datasets import Dataset
from boostne.embedding import Embedding
from boostne.evaluation import Choice, NestedEvaluation, evaluate_nested
from boostne.evaluation.checksum import embedding_sha256, labels_sha256
from boostne.evaluation.result import SCORE
from boostne.matrices import DeepWalkMatrix
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
from boostne.reproduction.fitting import DatasetFitter
from boostne.reproduction.plan import DIMENSIONS, Configuration, Protocol

FOLDS = 3
# Rough cost in core seconds, per training node, class, candidate, C and fold; like FIT_COST.
FOLD_COST = 2e-6

_WIDTHS = {"default": {}, "64 dimensions": {"dimensions": 64}}  # for methods without other parameters
_SVD = {"factorization": "svd"}
CANDIDATES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "SpectralClustering": _WIDTHS,
    "SocialDimension": _WIDTHS,
    "GraphFactorization": _WIDTHS,
    "HOPE": {"default": {}, "Adamic-Adar": {"similarity": "adamic-adar"}},
    "GraRep": {"default": {}, "4 steps": {"steps": 4}, "2 steps": {"steps": 2}},
    "DeepWalk": {"default": {}, "window 5": {"window": 5}},
    "Node2Vec": {"default": {}, "p 4, q 0.25": {"p": 4.0, "q": 0.25}, "p 0.25, q 4": {"p": 0.25, "q": 4.0}},
    "LINE": {"default": {}, "100 epochs": {"epochs": 100}},
    "NetMF": {"window 10": _SVD | {"window": 10}, "window 5": _SVD | {"window": 5}, "window 1": _SVD | {"window": 1}},
    "BoostNE": {
        "default": {},
        "window 1": {"window": 1},
        "window 10": {"window": 10},
        "window 5, spectral": {"connectivity": DeepWalkMatrix(window=5, approximation="spectral", eigenpairs=256)},
    },
}


@dataclass(frozen=True, eq=False)
class TunedResult:
    """The result of a method in the tuned comparison on one data set.

    Attributes
    ----------
    method : str
        Class name of the estimator.
    candidates : mapping from name to Configuration
    values : dict
        Values of the computations, by name.
    """

    method: str
    candidates: Mapping[str, Configuration]
    values: Values

    def evaluation(self, train: Iterable[int]) -> NestedEvaluation:
        """Return the scores at the given ratios as :func:`boostne.evaluation.evaluate_nested` would."""
        entries = [self.values[ratio] for ratio in train]
        return NestedEvaluation(
            scores=np.array([tuple(row) for entry in entries for row in entry["scores"]], dtype=SCORE),
            train=tuple(float(ratio) for ratio in train),
            C=math.nan,
            choices=tuple(Choice(*choice) for entry in entries for choice in entry["choices"]),
            **entries[0]["facts"],
        )


@dataclass(frozen=True, eq=False)
class TunedDataset:
    """The results of all methods on one data set."""

    data: Dataset
    results: list[TunedResult] = field(default_factory=list)


class CandidateFitter(DatasetFitter[dict[str, Embedding]]):
    """Fits all candidates of a method."""

    def fit(self, candidates: Mapping[str, Configuration]) -> dict[str, Embedding]:
        """Return the scaled vectors of the candidates."""
        return self._fit_once(candidates, lambda: {name: self._fit(one) for name, one in candidates.items()})

    def _fit(self, configuration: Configuration) -> Embedding:
        return unit_scale(configuration.build(threads=self.threads).fit(self.data.graph).embedding_)


def unit_scale(embedding: Embedding) -> Embedding:
    """Return an embedding whose vectors have a root-mean-square length of 1.

    Examples
    --------
    >>> unit_scale(Embedding([1, 2], [[3.0, 4.0], [0.0, 5.0]])).vectors.tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """
    vectors = embedding.vectors.astype(np.float64)
    length = math.sqrt(np.einsum("ij,ij->", vectors, vectors) / len(vectors))
    return Embedding(embedding.nodes, vectors / (length or 1.0), embedding.levels)


def find_candidates(method: str, seed: int) -> dict[str, Configuration]:
    """Return the candidates of a method by name, the default first."""
    common = {"dimensions": DIMENSIONS, "random_state": seed}
    return {name: Configuration(method, common | dict(own)) for name, own in CANDIDATES[method].items()}


def plan_tuned(
    datasets: Iterable[Dataset], methods: Iterable[str], protocol: Protocol, cache: Cache | None, threads: int | None
) -> tuple[list[TunedDataset], list[Pending]]:
    """Return the methods with their cached values, and the computations that are left.

    Parameters
    ----------
    datasets : iterable of Dataset
    methods : iterable of str
        Class names; those that are not in ``protocol.tuned_methods`` are ignored.
    protocol : Protocol
    cache : Cache or None
        With None, all computations are left.
    threads : int or None
        Number of threads; None means all cores. The results do not depend on it.
    """
    chosen = set(methods)
    results: list[TunedDataset] = []
    pending: list[Pending] = []
    for data in datasets:
        fitter = CandidateFitter(data, threads)
        results.append(TunedDataset(data))
        for method in protocol.tuned_methods:
            if method not in chosen:
                continue
            candidates = find_candidates(method, protocol.seed)
            computations = _computations(candidates, fitter, protocol)
            values, left = look_up(computations, cache, fitter, f"{data.name}: {method} (tuned)")
            results[-1].results.append(TunedResult(method, candidates, values))
            pending += left
    return results, pending


def _computations(
    candidates: Mapping[str, Configuration], fitter: CandidateFitter, protocol: Protocol
) -> Iterator[Computation]:
    """List the computations of a method: the vectors of its candidates, and the scores at each ratio."""
    data, n = fitter.data, fitter.data.graph.n_nodes
    key = {
        "format": FORMAT,
        "version": boostne.__version__,
        "graph": data.graph.fingerprint(),
        "candidates": {name: configuration.key() for name, configuration in candidates.items()},
    }
    cost = FIT_COST * n**2 * len(candidates)
    yield Computation(FIT, key | {"what": "tuned vectors"}, cost, lambda: _fit(candidates, fitter))
    choice = {"C": protocol.tuned_strengths, "folds": FOLDS, "repeats": protocol.tuned_repeats, "seed": protocol.seed}
    scored = key | {"what": "tuned scores", "labels": labels_sha256(data.labels), **choice}
    for ratio in protocol.tuned_train:
        fits = len(candidates) * len(protocol.tuned_strengths) * FOLDS * protocol.tuned_repeats
        cost = FOLD_COST * fits * n * ratio / 100 * len(data.labels.classes)
        yield Computation(ratio, scored | {"train": ratio}, cost, partial(_score, candidates, fitter, ratio, protocol))


def _fit(candidates: Mapping[str, Configuration], fitter: CandidateFitter) -> dict[str, Any]:
    return {"sha256": {name: embedding_sha256(vectors) for name, vectors in fitter.fit(candidates).items()}}


def _score(
    candidates: Mapping[str, Configuration], fitter: CandidateFitter, ratio: int, protocol: Protocol
) -> dict[str, Any]:
    result = evaluate_nested(
        fitter.fit(candidates),
        fitter.data.labels,
        train=ratio,
        repeats=protocol.tuned_repeats,
        seed=protocol.seed,
        C=protocol.tuned_strengths,
        folds=FOLDS,
        threads=fitter.threads,
    )
    return cached_scores(result, "classifier") | {"choices": [list(choice) for choice in result.choices]}
