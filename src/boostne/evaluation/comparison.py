"""Paired comparison of embeddings scored on the same splits."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostne.errors import ParameterError
from boostne.evaluation.result import Evaluation, versions
from boostne.html import small_table, summary

_MIN_RESULTS = 2
_HEAD = ("first", "second", "metric", "win/tie/loss", "difference", "effect", "p", "p (Holm)")
# Rounding makes scores and differences that are equal in exact arithmetic compare as ties.
_DECIMALS = 12


def compare(results: Mapping[str, Evaluation], *, alpha: float = 0.05) -> "Comparison":
    """Compare the scores of embeddings pairwise by Wilcoxon's signed-rank test.

    With d_i the difference of two embeddings' scores on split i, over all ratios and repeats, and R_i the rank
    of ``|d_i|`` among the nonzero differences (ties share the mean rank),

        ``W⁺ = Σ_{d_i > 0} R_i``,  ``W⁻ = Σ_{d_i < 0} R_i``,  ``r = (W⁺ - W⁻) / (W⁺ + W⁻)``.

    p is two-sided. The effect size r is the matched-pairs rank-biserial correlation: 1 if the first embedding is
    better on every split, -1 if the second is. Both the plain p, as most papers report it, and p after Holm's
    correction for all tests of the comparison (pairs × metrics) are returned.

    Parameters
    ----------
    results : mapping from name to Evaluation
        At least two, scored on the same splits: same labels, ratios, repeats, seed, rule and classifier.
    alpha : float, default 0.05
        Significance level.

    Returns
    -------
    Comparison

    Notes
    -----
    **Limitations.** The test assumes independent d_i. They are dependent: the splits of one graph share nodes (the
    training nodes at 20 % include those at 10 %, a node is tested in many repeats), and all scores come from a
    single fit of each embedding. So p is too small, sometimes by orders of magnitude, and Holm's correction does
    not fix that; more ratios and repeats lower p without adding evidence. A small p means that a difference is not
    an artifact of these splits, not that it carries over to another graph or another seed of the embedding. Look
    at r and the mean difference first. Conversely, fewer than six splits can never give p < 0.05.

    References
    ----------
    F. Wilcoxon: "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.
    S. Holm: "A simple sequentially rejective multiple test procedure", Scand. J. Statistics 6, 1979.
    D. S. Kerby: "The simple difference formula", Comprehensive Psychology 3, 2014.
    C. Nadeau, Y. Bengio: "Inference for the generalization error", Machine Learning 52, 2003.

    Examples
    --------
    >>> from boostne import evaluate
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(60) % 2
    >>> near, far = (labels[:, None] + noise * rng.normal(size=(60, 2)) for noise in (0.5, 2))
    >>> found = compare({name: evaluate(x, labels, train=50) for name, x in (("near", near), ("far", far))})
    >>> test = found.tests[0]
    >>> test.first, test.second, test.metric, test.wins, test.ties, test.losses, test.effect
    ('near', 'far', 'micro', 10, 0, 0, 1.0)
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must be strictly between 0 and 1, got {alpha!r}")
    _check_paired(results)
    pairs = [(first, second, metric) for first, second in combinations(results, 2) for metric in Evaluation.metrics]
    differences = [
        np.round(results[first].scores[metric] - results[second].scores[metric], _DECIMALS)
        for first, second, metric in pairs
    ]
    p = [_p_value(d) for d in differences]
    tests = tuple(
        PairTest(
            first,
            second,
            metric,
            wins=int(np.count_nonzero(d > 0)),
            ties=int(np.count_nonzero(d == 0)),
            losses=int(np.count_nonzero(d < 0)),
            difference=float(d.mean()),
            effect=rank_biserial(d),
            p=p_plain,
            p_holm=p_holm,
        )
        for (first, second, metric), d, p_plain, p_holm in zip(pairs, differences, p, holm(p).tolist(), strict=True)
    )
    one = next(iter(results.values()))
    return Comparison(tests, float(alpha), one.train, one.repeats, one.seed)


@dataclass(frozen=True)
class PairTest:
    """Wilcoxon's signed-rank test of two embeddings by one metric, from the perspective of the first.

    Attributes
    ----------
    first, second, metric : str
    wins, ties, losses : int
        Number of splits on which the first is better, equal, worse.
    difference : float
        Mean of first minus second.
    effect : float
        Matched-pairs rank-biserial correlation, from -1 to 1.
    p, p_holm : float
        p-value, plain and corrected for all tests of the comparison.

    Examples
    --------
    >>> import boostne
    >>> vectors = [[0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [3, 0]]
    >>> labels = {i: "left" if i < 3 else "right" for i in range(6)}
    >>> result = boostne.evaluate(vectors, labels, train=50, repeats=3)
    >>> other = boostne.evaluate([[0]] * 6, labels, train=50, repeats=3)
    >>> test = compare({"good": result, "constant": other}).tests[0]
    >>> test.first, test.second, test.metric, test.wins
    ('good', 'constant', 'micro', 3)
    """

    first: str
    second: str
    metric: str
    wins: int
    ties: int
    losses: int
    difference: float
    effect: float
    p: float
    p_holm: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """The tests of every pair of embeddings by both metrics.

    Attributes
    ----------
    tests : tuple of PairTest
    alpha : float
        Significance level.
    train, repeats, seed
        Parameters of the splits that all embeddings were scored on.

    Examples
    --------
    >>> import boostne
    >>> vectors = [[0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [3, 0]]
    >>> labels = {i: "left" if i < 3 else "right" for i in range(6)}
    >>> result = boostne.evaluate(vectors, labels, train=50, repeats=3)
    >>> other = boostne.evaluate([[0]] * 6, labels, train=50, repeats=3)
    >>> comparison = compare({"good": result, "constant": other})
    >>> len(comparison.tests), comparison.repeats
    (2, 3)
    >>> print(comparison.table().splitlines()[-1].split()[:3])
    ['good', 'constant', 'Macro-F1']
    """

    tests: tuple[PairTest, ...]
    alpha: float
    train: tuple[float, ...]
    repeats: int
    seed: int

    def table(self) -> str:
        """Return the tests as a text table preceded by the protocol; * marks p below alpha."""
        head, rows = list(_HEAD), self._rows()
        widths = [max(len(row[j]) for row in [head, *rows]) for j in range(len(head))]
        n_names = 3  # columns of names, left-aligned; numbers are right-aligned
        lines = [
            "  ".join(
                f"{cell:<{width}}" if j < n_names else f"{cell:>{width}}"
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [head, *rows]
        ]
        return "\n".join([self._protocol(), "", *lines])

    def _rows(self) -> list[list[str]]:
        return [
            [
                test.first,
                test.second,
                Evaluation.metrics[test.metric],
                f"{test.wins}/{test.ties}/{test.losses}",
                f"{test.difference:+.4f}",
                f"{test.effect:+.3f}",
                self.marked(test.p),
                self.marked(test.p_holm),
            ]
            for test in self.tests
        ]

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        names = {name for test in self.tests for name in (test.first, test.second)}
        significant = sum(test.p_holm < self.alpha for test in self.tests)
        tests = f"{significant} of {len(self.tests)} tests with p < {self.alpha:g} after Holm's correction"
        return f"Comparison({len(names)} embeddings, {tests})"

    def _repr_html_(self) -> str:
        return summary("Comparison", {"protocol": self._protocol()}, small_table(_HEAD, self._rows()))

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the mean difference of the scores of each pair of embeddings.

        Requires the extra ``viz``: ``pip install "boostne[viz]"``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure of pyplot.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from boostne.visualization.plots import plot_comparison

        return plot_comparison(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-serializable Python values."""
        return {
            "protocol": self._protocol(),
            "alpha": self.alpha,
            "train": list(self.train),
            "repeats": self.repeats,
            "seed": self.seed,
            "versions": versions("scipy"),
            "tests": [
                asdict(test) | {"significant": test.p < self.alpha, "significant_holm": test.p_holm < self.alpha}
                for test in self.tests
            ],
        }

    def marked(self, p: float) -> str:
        """Return p as text, with an asterisk if it is below alpha."""
        return f"{p:.2g}{'*' if p < self.alpha else ' '}"

    def _protocol(self) -> str:
        ratios = len(self.train)
        splits = f"{ratios * self.repeats} splits ({ratios} ratios × {self.repeats}, seed {self.seed})"
        return (
            f"Wilcoxon signed-rank test over {splits}, two-sided; Holm over {len(self.tests)} tests; "
            f"* p < {self.alpha:g}; the splits share nodes, so p is too small"
        )


def holm(p: Iterable[float]) -> NDArray[np.float64]:
    """Correct p-values for multiple testing by Holm's method.

    With ``p_(1) ≤ … ≤ p_(m)``, the corrected ``p_(i)`` is ``max_{j ≤ i} min(1, (m - j + 1) p_(j))``.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = np.array(list(p), dtype=np.float64)
    order = np.argsort(values, kind="stable")
    corrected = np.empty_like(values)
    factors = np.arange(len(values), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return corrected


def rank_biserial(differences: ArrayLike) -> float:
    """Return ``(W⁺ - W⁻) / (W⁺ + W⁻)``, the matched-pairs rank-biserial correlation; 0 if all differences are 0.

    Examples
    --------
    >>> rank_biserial([3, -1, 2, 0])  # ranks 3, 1, 2: (5 - 1) / 6
    0.6666666666666666
    """
    from scipy.stats import rankdata

    d = np.asarray(differences, dtype=np.float64)
    d = d[d != 0]
    if not len(d):
        return 0.0
    ranks = rankdata(np.abs(d))
    return float(np.sum(np.sign(d) * ranks) / np.sum(ranks))


def _p_value(differences: NDArray[np.float64]) -> float:
    from scipy.stats import wilcoxon

    d = differences[differences != 0]
    return float(wilcoxon(d).pvalue) if len(d) else 1.0  # SciPy rejects an empty sample


def _check_paired(results: Mapping[str, Evaluation]) -> None:
    if not isinstance(results, Mapping):
        raise ParameterError(
            f"results must map names to Evaluation objects from evaluate(), got {type(results).__name__}"
        )
    for name, result in results.items():
        if not isinstance(result, Evaluation):
            raise ParameterError(
                f"results[{name!r}] must be an Evaluation from evaluate(), got {type(result).__name__}"
            )
    if len(results) < _MIN_RESULTS:
        raise ParameterError(f"results must contain at least two evaluations, got {len(results)}")
    (first, reference), *others = results.items()
    for name, result in others:
        for field, words in _MUST_AGREE.items():
            one, other = getattr(reference, field), getattr(result, field)
            if one != other:
                raise ParameterError(
                    f"results are not paired: {words} is {_show(one)} for {first!r} and {_show(other)} for "
                    f"{name!r}; evaluate both with the same labels, train, repeats, seed, rule and classifier"
                )


_MUST_AGREE = {
    "seed": "the seed",
    "train": "train",
    "repeats": "repeats",
    "rule": "the rule",
    "classifier": "the classifier",
    "n_labeled": "the number of labeled nodes",
    "n_without_vector": "the number of labeled nodes without a vector",
    "n_classes": "the number of classes",
    "labels_sha256": "the checksum of nodes and labels",
}


def _show(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{item:g}" for item in value)
    return str(value)
