"""The result of an evaluation: the scores of every split, and the protocol that led to them."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError

Metric = Literal["micro", "macro"]
Rule = Literal["top-k", "threshold"]

SCORE = np.dtype([("ratio", "f8"), ("repeat", "i8"), ("micro", "f8"), ("macro", "f8"), ("absent", "i8")])
RULES = {
    "top-k": "a test node with l labels is given the l most probable ones",
    "threshold": "a test node is given every label of probability 0.5 or more",
}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of one embedding, with all that is needed to repeat them.

    Attributes
    ----------
    scores : structured array
        One row per split: ``ratio`` (per cent of the labelled nodes in training), ``repeat``, ``micro``,
        ``macro`` (F1), and ``absent``, the number of classes without a training node: their probability is 0.
    train : tuple of float
        The ratios.
    repeats, seed, C, rule
        As given to :func:`boostne.evaluate`.
    n_labelled : int
        Nodes with at least one label.
    n_without_vector : int
        Those of them that the embedding does not hold; they are left out.
    n_classes : int
    """

    scores: NDArray[np.void]
    train: tuple[float, ...]
    repeats: int
    seed: int
    C: float
    rule: Rule
    n_labelled: int
    n_without_vector: int
    n_classes: int

    def mean(self, metric: Metric) -> NDArray[np.float64]:
        """Return the mean F1 ("micro" or "macro") for each ratio in ``train``."""
        return np.asarray(self._per_ratio(metric).mean(axis=1))

    def std(self, metric: Metric) -> NDArray[np.float64]:
        """Return the sample standard deviation over the repeats for each ratio; 0 for a single repeat."""
        spread = self._per_ratio(metric)
        return np.asarray(spread.std(axis=1, ddof=min(1, self.repeats - 1)))

    def _per_ratio(self, metric: Metric) -> NDArray[np.float64]:
        if metric not in get_args(Metric):
            raise ParameterError(f"metric must be 'micro' or 'macro', got {metric!r}")
        return self.scores[metric].reshape(len(self.train), self.repeats)

    def table(self) -> str:
        """Return the means and standard deviations as text, with the protocol above them."""
        lines = [self._protocol(), "", "train        Micro-F1         Macro-F1"]
        columns = (self.mean("micro"), self.std("micro"), self.mean("macro"), self.std("macro"))
        lines += [
            f"{ratio:3g} %   {micro:.4f} ± {micro_std:.4f}  {macro:.4f} ± {macro_std:.4f}"
            for ratio, micro, micro_std, macro, macro_std in zip(self.train, *columns, strict=True)
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values, ready for ``json.dumps``."""
        summary = {
            f"{metric}_{name}": getattr(self, name)(metric)
            for metric in get_args(Metric)
            for name in ("mean", "std")
        }
        return {
            "protocol": self._protocol(),
            "classifier": f"one-vs-rest logistic regression, liblinear, L2, C = {self.C:g}",
            "rule": self.rule,
            "seed": self.seed,
            "repeats": self.repeats,
            "labelled_nodes": self.n_labelled,
            "labelled_nodes_without_vector": self.n_without_vector,
            "classes": self.n_classes,
            "versions": _versions(),
            "summary": [
                {"train": ratio} | {name: float(values[i]) for name, values in summary.items()}
                for i, ratio in enumerate(self.train)
            ],
            "splits": [dict(zip(SCORE.names or (), row, strict=True)) for row in self.scores.tolist()],
        }

    def _protocol(self) -> str:
        nodes = f"{self.n_labelled - self.n_without_vector} labelled nodes, {self.n_classes} classes"
        return f"{nodes}; {self.repeats} random splits a ratio (seed {self.seed}); {RULES[self.rule]}"


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    def find(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:  # run from a source tree that was not installed
            return "unknown"

    return {package: find(package) for package in ("boostne", "numpy", "scikit-learn")}
