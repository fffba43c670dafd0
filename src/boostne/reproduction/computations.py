"""Cacheable computations of a reproduction, and the loop that runs those that are not cached yet."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from boostne.evaluation import Evaluation
from boostne.progress import Progress, ProgressCallback, silent
from boostne.reproduction.cache import Cache
from boostne.reproduction.fitting import DatasetFitter

FORMAT = 2  # of the cache entries
FIT = "vectors"  # name of the computation that fits, which all methods have
# Rough costs in core seconds, for weighting the computations in the progress.
FIT_COST = 3e-7  # of a fit, per pair of nodes

Values = dict[str | int, Any]  # by name of the computation


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
    compute: Callable[[], dict[str, Any]]


class Pending(NamedTuple):
    """A computation whose value is not cached.

    Attributes
    ----------
    fitter : DatasetFitter
        Used by the computation; released before a computation with another one.
    title : str
        Data set and method.
    values : dict
        Receives the value.
    computation : Computation
    """

    fitter: DatasetFitter[Any]
    title: str
    values: Values
    computation: Computation


def look_up(
    computations: Iterable[Computation], cache: Cache | None, fitter: DatasetFitter[Any], title: str
) -> tuple[Values, list[Pending]]:
    """Return the cached values, and the computations without one, which will add theirs; all if `cache` is None."""
    values: Values = {}
    pending = []
    for one in computations:
        values[one.name] = None if cache is None else cache.get(one.key)
        if values[one.name] is None:
            pending.append(Pending(fitter, title, values, one))
    return values, pending


def compute(pending: Sequence[Pending], cache: Cache, progress: ProgressCallback = silent) -> None:
    """Run computations in order and cache each value as soon as it is computed."""
    total, done = sum(one.computation.cost for one in pending), 0.0
    last: DatasetFitter[Any] | None = None
    for fitter, title, values, computation in pending:
        if last is not None and last is not fitter:
            last.release()
        last = fitter
        progress(Progress("reproduce", done / total, f"{title}, {display_name(computation.name)}"))
        begin = time.perf_counter()
        value = computation.compute()
        values[computation.name] = {"seconds": time.perf_counter() - begin, **value}
        cache.put(computation.key, values[computation.name])
        done += computation.cost


def cached_scores(result: Evaluation, *fields: str) -> dict[str, Any]:
    """Return the scores of an evaluation as a cache entry stores them, with these fields besides the common ones."""
    common = (
        "repeats", "seed", "rule", "n_labeled", "n_without_vector", "n_classes", "embedding_sha256", "labels_sha256",
    )  # fmt: skip
    facts = {name: getattr(result, name) for name in (*common, *fields)}
    return {"scores": [list(row) for row in result.scores.tolist()], "facts": facts}


def seconds(values: Values) -> dict[str, float]:
    """Return how long each computation took."""
    return {display_name(name): value["seconds"] for name, value in values.items()}


def display_name(name: str | int) -> str:
    """Return the name of a computation for users."""
    return name if isinstance(name, str) else f"scores at {name} %"
