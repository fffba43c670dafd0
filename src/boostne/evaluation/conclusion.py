"""Conclusions of a comparison in words: which embedding is best, by how much, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from boostne.evaluation.comparison import Comparison, PairTest
from boostne.evaluation.result import Evaluation


@dataclass(frozen=True)
class Conclusion:
    """The best embedding by one metric.

    Attributes
    ----------
    metric : str
        Its display name.
    best, runner_up : str
        The embeddings with the two highest means.
    difference : float
        Mean of best minus runner-up over all splits.
    wins, splits : int
        Number of splits on which the best one is above the runner-up, and of all splits.
    p : float
        Of this difference, with Holm's correction for all tests of the comparison.
    worse, unclear : tuple of str
        The other embeddings, by whether p is below alpha.
    alpha : float
    """

    metric: str
    best: str
    runner_up: str
    difference: float
    wins: int
    splits: int
    p: float
    worse: tuple[str, ...]
    unclear: tuple[str, ...]
    alpha: float

    def __str__(self) -> str:
        return f"{self.metric}: {self.by_how_much()} {self.how_sure()}"

    def by_how_much(self) -> str:
        """Return a sentence on the difference from the runner-up."""
        if self.difference == 0:
            return f"{self.best} and {self.runner_up} have the same mean."
        return (
            f"{self.best} is {self.difference:.4f} above {self.runner_up} on average, and above it on {self.wins} of "
            f"{self.splits} splits."
        )

    def how_sure(self) -> str:
        """Return a sentence on the tests of the best embedding against all others."""
        if not self.unclear and len(self.worse) == 1:
            return f"The difference is significant (p = {self.p:.2g})."
        if not self.worse and len(self.unclear) == 1:
            return f"The difference is not significant (p = {self.p:.2g}): either may be the better one."
        level = f"p < {self.alpha:g} with Holm's correction"
        if not self.worse:
            return f"It is not significantly better than any other ({level})."
        exceptions = f", but not than {_listed(self.unclear)}" if self.unclear else ""
        return f"It is significantly better than {_listed(self.worse)}{exceptions} ({level})."


def conclude(comparison: Comparison) -> list[Conclusion]:
    """Return the conclusion for each metric.

    Examples
    --------
    >>> from boostne import evaluate
    >>> from boostne.evaluation import compare
    >>> labels = [0, 1] * 30
    >>> right, wrong = [[x] for x in labels], [[0.0]] * 60
    >>> results = {name: evaluate(x, labels, train=50) for name, x in (("wrong", wrong), ("right", right))}
    >>> micro, macro = conclude(compare(results))
    >>> micro.best, micro.runner_up, micro.wins, micro.worse
    ('right', 'wrong', 10, ('wrong',))
    """
    return [_conclude(comparison, metric) for metric in Evaluation.metrics]


def headline(conclusions: Sequence[Conclusion]) -> str:
    """Return the conclusions as one short sentence."""
    names = list(dict.fromkeys(one.best for one in conclusions))
    if len(names) > 1:
        return ", ".join(f"{one.best} is best by {one.metric}" for one in conclusions)
    if all(one.difference == 0 for one in conclusions):
        return f"{names[0]} and {conclusions[0].runner_up} score the same"
    if any(one.unclear for one in conclusions):
        return f"{names[0]} is ahead, but not clearly"
    return f"{names[0]} is best"


def _conclude(comparison: Comparison, metric: str) -> Conclusion:
    tests = [test for test in comparison.tests if test.metric == metric]
    names = dict.fromkeys(name for test in tests for name in (test.first, test.second))
    # The differences of one embedding from all others add up to the most for the one with the highest mean.
    best = max(names, key=lambda name: sum(test.difference for test in _tests_of(name, tests)))
    against = _tests_of(best, tests)
    closest = min(against, key=lambda test: test.difference)
    # Ranks may favor the one with the lower mean.
    significant = [test for test in against if test.p_holm < comparison.alpha and test.effect > 0]
    return Conclusion(
        metric=Evaluation.metrics[metric],
        best=best,
        runner_up=closest.second,
        difference=closest.difference,
        wins=closest.wins,
        splits=closest.wins + closest.ties + closest.losses,
        p=closest.p_holm,
        worse=tuple(test.second for test in significant),
        unclear=tuple(test.second for test in against if test not in significant),
        alpha=comparison.alpha,
    )


def _tests_of(name: str, tests: Sequence[PairTest]) -> list[PairTest]:
    """Return the tests of one embedding, each from its perspective."""
    return [test if test.first == name else _swapped(test) for test in tests if name in (test.first, test.second)]


def _swapped(test: PairTest) -> PairTest:
    return replace(
        test,
        first=test.second,
        second=test.first,
        wins=test.losses,
        losses=test.wins,
        difference=0.0 - test.difference,
        effect=0.0 - test.effect,
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
