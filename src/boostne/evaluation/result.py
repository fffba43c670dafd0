"""Evaluation results: the scores of every split and the protocol that produced them."""

import csv
import io
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.html import small_table, sparkline, summary

Rule = Literal["top-k", "threshold"]
Classifier = Literal["liblinear", "fast"]

SCORE = np.dtype([("ratio", "f8"), ("repeat", "i8"), ("micro", "f8"), ("macro", "f8"), ("absent", "i8")])
CLASSIFIERS = {
    "liblinear": "one-vs-rest logistic regression, liblinear, L2, C = {C:g}",
    "fast": "one-vs-rest logistic regression, Newton's method for all labels at once, L2, C = {C:g}",
}
LEVEL_WEIGHTS = "one weight per level is learned from the training nodes"
RULES = {
    "top-k": "a test node with l labels is assigned the l most probable ones",
    "threshold": "a test node is assigned every label with a probability of at least 0.5",
}


@dataclass(frozen=True, eq=False, repr=False)
class Scores(ABC):
    """Base class of evaluation results.

    Attributes
    ----------
    scores : structured array
        One row per repeat, in the groups defined by the subclass.
    repeats, seed : int
        As given.
    """

    task: ClassVar[str]
    metrics: ClassVar[dict[str, str]]  # score fields of `scores` and their display names

    scores: NDArray[np.void]
    repeats: int
    seed: int

    @property
    def measured(self) -> dict[str, str]:
        """The metrics that these scores have, and their display names."""
        names = self.scores.dtype.names or ()
        return {metric: title for metric, title in self.metrics.items() if metric in names}

    def mean(self, metric: str) -> NDArray[np.float64]:
        """Return the mean over the repeats for each group of scores."""
        return cast("NDArray[np.float64]", np.asarray(self._grouped(metric).mean(axis=-1))[()])

    def std(self, metric: str) -> NDArray[np.float64]:
        """Return the sample standard deviation over the repeats for each group; 0 for a single repeat."""
        spread = self._grouped(metric).std(axis=-1, ddof=min(1, self.repeats - 1))
        return cast("NDArray[np.float64]", np.asarray(spread)[()])

    def standard_error(self, metric: str) -> NDArray[np.float64]:
        """Return the standard error of the mean for each group, ``std / sqrt(repeats)``; 0 for a single repeat."""
        return cast("NDArray[np.float64]", self.std(metric) / np.sqrt(self.repeats))

    def _grouped(self, metric: str) -> NDArray[np.float64]:
        if metric not in self.measured:
            raise ParameterError(f"metric must be {' or '.join(map(repr, self.measured))}, got {metric!r}")
        return self.scores[metric].reshape(*self._groups(), self.repeats)

    def _groups(self) -> tuple[int, ...]:
        """Return the shape of the groups; empty for a single group."""
        return ()

    def _summary(self) -> dict[str, NDArray[np.float64]]:
        statistics = {"mean": self.mean, "std": self.std, "se": self.standard_error}
        return {f"{metric}_{name}": value(metric) for metric in self.measured for name, value in statistics.items()}

    def _cells(self, metric: str) -> list[str]:
        """Return the mean and its standard error for each group, as text; the mean alone for a single repeat."""
        pairs = zip(*np.atleast_1d(self.mean(metric), self.standard_error(metric)), strict=True)
        return [f"{mean:.4f} ± {error:.4f}" if self.repeats > 1 else f"{mean:.4f}" for mean, error in pairs]

    def _legend(self) -> str:
        """Say what the numbers of a table are."""
        return f"mean ± standard error of {self.repeats} repeats" if self.repeats > 1 else "a single repeat"

    def _rows(self) -> list[dict[str, Any]]:
        names = self.scores.dtype.names or ()
        return [dict(zip(names, row, strict=True)) for row in self.scores.tolist()]

    @abstractmethod
    def table(self) -> str:
        """Return the means and standard errors as a text table preceded by the protocol."""

    @abstractmethod
    def _protocol(self) -> str:
        """Return how the scores were computed."""

    def _group_names(self) -> list[str]:
        """Return the names of the groups; one empty name for a single group."""
        return [""]

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        means = {title: np.atleast_1d(self.mean(metric)) for metric, title in self.measured.items()}
        scores = ", ".join(f"{title} {_ends([f'{mean:.4f}' for mean in found])}" for title, found in means.items())
        groups = _ends(self._group_names())
        return f"{type(self).__name__}({scores}{f' for {groups}' if groups else ''}; {self.repeats} repeats)"

    def _repr_html_(self) -> str:
        columns = [self._cells(metric) for metric in self.measured]
        table = small_table(["", *self.measured.values()], list(zip(self._group_names(), *columns, strict=True)))
        first, title = next(iter(self.measured.items()))
        chart = sparkline(np.atleast_1d(self.mean(first)).tolist(), title, from_zero=False)
        return summary(type(self).__name__, {"protocol": self._protocol(), "scores": self._legend()}, table, chart)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the mean and the standard error of each metric.

        Requires the extra ``viz``: ``pip install "boostne[viz]"``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure of pyplot.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from boostne.visualization.plots import plot_scores

        subtitle = f"{self._legend()}; {self._protocol().partition('; ')[0]}"
        return plot_scores(self, self._group_names(), subtitle, ax=ax)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the scores of every repeat as CSV with a header; also write them to `path` if given."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.scores.dtype.names or ())
        writer.writerows(self.scores.tolist())
        text = buffer.getvalue()
        if path is not None:
            from boostne.io.atomic import atomic_path

            with atomic_path(path) as temporary:
                temporary.write_text(text, encoding="utf-8", newline="\n")
        return text


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Scores):
    """The classification scores of an embedding and the protocol that produced them.

    Attributes
    ----------
    scores : structured array
        One row per split: ``ratio`` (percentage of the labeled nodes used for training), ``repeat``, ``micro``,
        ``macro`` (F1), and ``absent``, the number of classes without training nodes, which are predicted with
        probability 0. Means are over the repeats of each ratio.
    train : tuple of float
        The ratios.
    repeats, seed, C, rule, classifier
        As given to :func:`boostne.evaluate`.
    n_labeled : int
        Number of nodes with at least one label.
    n_without_vector : int
        Number of labeled nodes that are not in the embedding; they are ignored.
    n_classes : int
    embedding_sha256, labels_sha256 : str
        Checksums of the vectors and of the labels by node id, independent of their order.
    level_weights : ndarray of shape (splits, levels) or None
        The weight of each level in each split, if they were learned.

    Examples
    --------
    >>> import boostne
    >>> vectors = [[0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [3, 0]]
    >>> labels = {i: "left" if i < 3 else "right" for i in range(6)}
    >>> result = boostne.evaluate(vectors, labels, train=[50], repeats=2)
    >>> result.train, result.repeats, result.n_classes
    ((50.0,), 2, 2)
    >>> result.mean("micro").shape, result.scores["macro"].shape
    ((1,), (2,))
    """

    task: ClassVar[str] = "Node classification"
    metrics: ClassVar[dict[str, str]] = {"micro": "Micro-F1", "macro": "Macro-F1"}

    train: tuple[float, ...]
    C: float
    rule: Rule
    n_labeled: int
    n_without_vector: int
    n_classes: int
    embedding_sha256: str
    labels_sha256: str
    classifier: Classifier = "liblinear"
    level_weights: NDArray[np.float64] | None = None

    def _groups(self) -> tuple[int, ...]:
        return (len(self.train),)

    def _group_names(self) -> list[str]:
        return [f"{ratio:g} %" for ratio in self.train]

    def table(self) -> str:
        """Return the means and standard errors as a text table preceded by the protocol."""
        cells = [self._cells(metric) for metric in self.metrics]
        width = len(cells[0][0])
        heads = "  ".join(f"{title:^{width}}" for title in self.metrics.values())
        lines = [f"{self._protocol()}; {self._legend()}", "", f"train   {heads}".rstrip()]
        lines += [f"{ratio:3g} %   {'  '.join(row)}" for ratio, *row in zip(self.train, *cells, strict=True)]
        if self.level_weights is not None:
            lines += ["", "train   mean weight of each level, coarse to fine"]
            lines += [
                f"{ratio:3g} %   {'  '.join(f'{weight:.2f}' for weight in weights)}"
                for ratio, weights in zip(self.train, self.mean_level_weights(), strict=True)
            ]
        return "\n".join(lines)

    def mean_level_weights(self) -> NDArray[np.float64]:
        """Return the mean weight of each level over the repeats of each ratio, (ratios, levels).

        Raises ParameterError unless they were learned.
        """
        if self.level_weights is None:
            raise ParameterError("no level weights were learned: pass level_weights=True to evaluate")
        return np.asarray(self.level_weights.reshape(len(self.train), self.repeats, -1).mean(axis=1))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-serializable Python values."""
        summary, splits = self._summary(), self._rows()
        if self.level_weights is not None:
            summary["level_weights"] = self.mean_level_weights()
            splits = [
                row | {"level_weights": weights.tolist()}
                for row, weights in zip(splits, self.level_weights, strict=True)
            ]
        return {
            "protocol": self._protocol(),
            "classifier": CLASSIFIERS[self.classifier].format(C=self.C),
            "rule": self.rule,
            "seed": self.seed,
            "repeats": self.repeats,
            "labeled_nodes": self.n_labeled,
            "labeled_nodes_without_vector": self.n_without_vector,
            "classes": self.n_classes,
            "embedding_sha256": self.embedding_sha256,
            "labels_sha256": self.labels_sha256,
            "versions": versions(),
            "summary": [
                {"train": ratio} | {name: values[i].tolist() for name, values in summary.items()}
                for i, ratio in enumerate(self.train)
            ],
            "splits": splits,
        }

    def _protocol(self) -> str:
        nodes = f"{self.n_labeled - self.n_without_vector:,} labeled nodes, {self.n_classes} classes"
        protocol = f"{nodes}; {self.repeats} random splits per ratio (seed {self.seed}); {RULES[self.rule]}"
        return protocol if self.level_weights is None else f"{protocol}; {LEVEL_WEIGHTS}"


def _ends(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{texts[0]} … {texts[-1]}"


def versions(*more: str) -> dict[str, str]:
    """Return the versions of boostne and of the packages that a score depends on."""
    from importlib.metadata import PackageNotFoundError, version

    def find(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:  # running from a source tree that is not installed
            return "unknown"

    return {package: find(package) for package in ("boostne", "numpy", "scikit-learn", *more)}
