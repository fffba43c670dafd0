"""Successive halving: many candidates with few passes, the better ones again with more.

A candidate is a set of parameters that needs its own factorization. The windows and forms of X are compared in up to
three rungs, each with more passes per level; the better third of a rung enters the next. The second rung also varies
the number of negative samples. One factorization serves all propagation weights and, in the last rung, with the best of
these, all lengths of the vectors. The default setting takes part in every rung.

K. Jamieson, A. Talwalkar: "Non-stochastic Best Arm Identification and Hyperparameter Optimization", AISTATS 2016.
"""

import math
import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from boostne.errors import BoostneError, ParameterError
from boostne.graph import Graph
from boostne.models import BoostNE
from boostne.models.folding import PROPAGATION_STEPS
from boostne.progress import Progress, ProgressCallback
from boostne.propagation import propagate_in_place
from boostne.refinement.search_space import Candidate, SearchSpace
from boostne.refinement.tuning_criterion import Criterion, Score, is_better
from boostne.refinement.tuning_result import Trial

KEPT = 3  # one of this many candidates enters the next rung
FEWEST = 2  # candidates of a rung, one of them the default
# Passes per level of each rung, None for those of the estimator, and what a fit counts.
PASSES = (3, 6, None)
COSTS = (0.25, 0.5, 1.0)
FINAL_FIT = 1.0


class Rung(NamedTuple):
    """How many candidates of the previous rung are kept, values of negative for each, and the index in ``PASSES``."""

    kept: int
    negatives: int
    passes: int

    @property
    def size(self) -> int:
        """Number of fits."""
        return self.kept * self.negatives


def plan_rungs(n_candidates: int, n_negatives: int, budget: float) -> list[Rung]:
    """Return the rungs within a budget. If it is small, first values of negative are left out, then candidates.

    Examples
    --------
    >>> [rung.size for rung in plan_rungs(8, 3, 11)]
    [8, 9, 3]
    >>> [rung.size for rung in plan_rungs(8, 3, 7)]
    [8, 3, 2]
    """
    least = COSTS[-1] + FINAL_FIT
    if budget < least:
        raise ParameterError(f"budget={budget:g} is less than {least:g} full fits, one to score and one for the winner")
    plans = [_rungs(n_candidates, m) for m in range(n_negatives, 0, -1)]
    plans += [_rungs(n, 1) for n in range(n_candidates - 1, 0, -1)]
    return next(rungs for rungs in plans if total_cost(rungs) <= budget)


def total_cost(rungs: list[Rung]) -> float:
    """Return the number of full fits that the rungs and the last fit count as."""
    return sum(rung.size * COSTS[rung.passes] for rung in rungs) + FINAL_FIT


def _rungs(n: int, m: int) -> list[Rung]:
    """Return the rungs for n candidates and m values of negative, without those that would drop no candidate."""
    kept = _share(n)
    last = _share(kept * m)
    first = [Rung(n, 1, 0)] if kept < n else []
    if last < kept * m:
        return [*first, Rung(kept, m, 1), Rung(last, 1, 2)]
    return [*first, Rung(kept, m, 2)]


def _share(n: int) -> int:
    return min(n, max(FEWEST, math.ceil(n / KEPT)))


@dataclass(frozen=True, eq=False)
class Scored:
    """A trial, and its score in detail."""

    trial: Trial
    candidate: Candidate
    score: Score


@dataclass(eq=False)
class Search:
    """A search and its state.

    Attributes
    ----------
    trials : list of Trial
        Those so far.
    spent : float
        Full fits so far.
    best : Scored or None
        The best of the current rung, or of the previous one until there is a trial.
    best_vectors : ndarray or None
        Its vectors, not yet rescaled.
    default : Scored or None
        The last trial of the estimator's own setting.
    """

    space: SearchSpace
    criterion: Criterion
    rungs: list[Rung]
    progress: ProgressCallback
    trials: list[Trial] = field(default_factory=list)
    spent: float = 0.0
    best: Scored | None = None
    best_vectors: NDArray[Any] | None = None
    default: Scored | None = None

    def run(self) -> tuple[Scored, Scored]:
        """Run all rungs; return the winner and the default of the last."""
        remaining = list(self.space.candidates)
        scored: list[Scored] = []
        for number, rung in enumerate(self.rungs, 1):
            remaining = [
                replace(candidate, negative=negative)
                for candidate in self._kept(remaining, rung.kept)
                for negative in self.space.negatives_of(candidate)[: rung.negatives]
            ]
            scored = [one for candidate in remaining for one in self._measure(number, rung.passes, candidate)]
            ranking = sorted(scored, key=lambda one: -one.score.value)
            remaining = list(dict.fromkeys(one.candidate for one in ranking))
        default = next(one for one in scored if self._is_default(one))
        better = is_better(ranking[0].score, default.score)
        return ranking[0] if better else default, default

    def _is_default(self, one: Scored) -> bool:
        """Whether a trial is of the estimator's own setting."""
        trial, space = one.trial, self.space
        found = (one.candidate, trial.propagation, trial.vector_length)
        return found == (space.candidates[0], space.propagations[0], space.vector_lengths[0])

    def _kept(self, ranked: list[Candidate], size: int) -> list[Candidate]:
        """Return the first candidates, the default among them."""
        kept, default = ranked[:size], self.space.candidates[0]
        return kept if default in kept else [*kept[:-1], default]

    def _measure(self, rung: int, passes: int, candidate: Candidate) -> list[Scored]:
        """Fit a candidate and score its vectors for each propagation and length; none if the fit fails."""
        space, begin = self.space, time.perf_counter()
        model = space.model(
            space.settings(candidate, 0.0, 0.0),
            max_iter=min(PASSES[passes] or space.estimator.max_iter, space.estimator.max_iter),
            checkpoint=None,
        )
        propagations, lengths = space.propagations, space.vector_lengths
        trial = Trial(rung, model.max_iter, **vars(candidate), propagation=propagations[0], vector_length=lengths[0],
                      score=math.nan, seconds=0.0)  # fmt: skip
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the last fit warns
                detail = f"rung {rung}/{len(self.rungs)}, {_describe(candidate)}"
                self.fit(model, self.criterion.graph, COSTS[passes], detail)
        except BoostneError as error:
            if candidate == space.candidates[0]:
                raise
            self.trials.append(replace(trial, seconds=time.perf_counter() - begin, error=str(error)))
            return []
        trial = replace(trial, seconds=time.perf_counter() - begin)
        sample = len(PASSES) - 1 - passes
        found = [self._score(trial, model, candidate, propagation, lengths[0], sample) for propagation in propagations]
        if rung == len(self.rungs) and self.criterion.lengths_matter:
            best = max(found, key=lambda one: one.score.value).trial.propagation
            found += [self._score(trial, model, candidate, best, length, sample) for length in lengths[1:]]
        return found

    def _score(
        self, trial: Trial, model: BoostNE, candidate: Candidate, propagation: float, length: float, sample: int
    ) -> Scored:
        """Score the vectors of a model with a propagation and a length, and record the trial."""
        begin = time.perf_counter()
        vectors = model.embedding_.vectors.copy()
        if propagation:
            steps = PROPAGATION_STEPS[model.approximation_]
            propagate_in_place(self.criterion.graph, vectors, propagation, steps, model.threads)
        score = self.criterion.score(vectors, length, sample)
        seconds = trial.seconds + time.perf_counter() - begin
        trial = replace(trial, propagation=propagation, vector_length=length, score=score.value, seconds=seconds)
        scored = Scored(trial, candidate, score)
        self._record(scored, vectors)
        return scored

    def fit(self, model: BoostNE, graph: Graph, cost: float, detail: str) -> None:
        """Fit a model, report progress, and count its cost."""
        done, total = 0.0, total_cost(self.rungs)
        if self.best is not None:
            detail += f"; best {self.best.score.value:.4f}"

        def show(inner: Progress) -> None:
            nonlocal done
            done = max(done, inner.done if inner.stage == "levels" else 0.0)
            self.progress(Progress("tuning", (self.spent + cost * done) / total, detail))

        model.fit(graph, progress=show)
        self.spent += cost

    def _record(self, one: Scored, vectors: NDArray[Any]) -> None:
        self.trials.append(one.trial)
        if self._is_default(one):
            self.default = one
        if self.best is None or one.trial.rung > self.best.trial.rung or one.score.value > self.best.score.value:
            self.best, self.best_vectors = one, vectors


def _describe(candidate: Candidate) -> str:
    return f"window {candidate.window}, {candidate.approximation}, negative {candidate.negative:g}"
