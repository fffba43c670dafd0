"""What tuning returns: the embedding, its setting, and all trials."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.html import small_table, sparkline, summary
from boostne.models import BoostNE
from boostne.models.base import to_json

_SHOWN, _MAX_BARS = 5, 40  # trials in the table and in the chart of a notebook
TABLE_HEADS = (
    "trial", "score", "window", "form", "negative", "propagation", "length", "levels", "passes", "rung", "seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """A setting and its score.

    Attributes
    ----------
    rung : int
        From 1, the cheapest, to the last, that of full fits. Scores of different rungs are not comparable.
    max_iter : int
        Largest number of passes per level.
    window, approximation, negative
        Parameters of :class:`boostne.DeepWalkMatrix`.
    propagation, vector_length
        Parameters of :class:`boostne.BoostNE`.
    score : float
        NaN if the fit failed.
    seconds : float
        Time of the fit, which all trials of one factorization share, and of this score.
    level_weights : tuple of float, optional
        The weights that the levels were multiplied by.
    error : str
        Why the fit failed, if it did.
    """

    rung: int
    max_iter: int
    window: int
    approximation: str
    negative: float
    propagation: float
    vector_length: float
    score: float
    seconds: float
    level_weights: tuple[float, ...] | None = None
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-serializable values; a score of NaN is None."""
        weights = None if self.level_weights is None else list(self.level_weights)
        return {**vars(self), "score": None if math.isnan(self.score) else self.score, "level_weights": weights}

    def describe(self, approximation: str) -> str:
        """Return the setting in words; `approximation` is the one that was used, as the trial's may be "auto"."""
        return (
            f"window {self.window}, {approximation}, negative {self.negative:g}, propagation {self.propagation:g}, "
            f"vector length {self._length()}"
        )

    def _length(self) -> str:
        return f"{self.vector_length:g}" if self.vector_length else "as is"

    def cells(self) -> list[str]:
        """Return the row of this trial in a table, without its number."""
        score = "failed" if math.isnan(self.score) else f"{self.score:.4f}"
        return [
            *(score, str(self.window), self.approximation, f"{self.negative:g}", f"{self.propagation:g}"),
            *(self._length(), "uniform" if self.level_weights is None else "weighted"),
            *(str(self.max_iter), str(self.rung), f"{self.seconds:.1f}"),
        ]


@dataclass(frozen=True, eq=False, repr=False)
class TuningResult:
    """The best setting found, its embedding, and all trials.

    Attributes
    ----------
    embedding : Embedding
        The vectors of the winner, its levels multiplied by ``level_weights``, if there are any.
    model : BoostNE
        Fitted with ``settings``.
    settings : dict
        The winner as parameters of :class:`boostne.BoostNE`.
    level_weights : ndarray or None
        Factor of each level, if learned weights were better than uniform ones.
    best, default : Trial
        The trial of the winner, and that of the estimator's own setting, in the same rung.
    trials : tuple of Trial
        All trials, in order.
    criterion : str
        What the scores are.
    budget, spent : float
        Full fits that were allowed, and those that were used, including the last one.
    complete : bool
        False if the search was interrupted: then ``model`` is not fitted, and ``embedding`` has the vectors of the best
        trial so far, which may come from fewer passes or, without labels, from the graph without its hidden edges.

    Examples
    --------
    >>> from boostne import BoostNE, load_dataset, tune
    >>> space = {"window": [1, 3], "negative": [1], "propagation": [0.6]}
    >>> result = tune(load_dataset("karate").graph, estimator=BoostNE(8, levels=2), space=space, budget=3)
    >>> result.embedding
    Embedding(34 nodes, 8 dimensions, levels [4, 4], float32)
    >>> result.complete, len(result.trials) > 1
    (True, True)
    """

    embedding: Embedding
    model: BoostNE
    settings: dict[str, Any]
    level_weights: NDArray[np.float64] | None
    best: Trial
    default: Trial
    trials: tuple[Trial, ...]
    criterion: str
    budget: float
    spent: float
    complete: bool = True

    def __repr__(self) -> str:
        scores = f"{self.criterion} {self.best.score:.4f}, default setting {self.default.score:.4f}"
        return f"TuningResult({scores}, {len(self.trials)} trials{'' if self.complete else ', interrupted'})"

    def _repr_html_(self) -> str:
        facts = {
            "setting": self.describe(),
            "score": f"{self.best.score:.4f} ({self.criterion})",
            "default setting": f"{self.default.score:.4f}",
            "trials": f"{len(self.trials)}, at the cost of {self.spent:g} full fits",
            "search": "complete" if self.complete else "interrupted",
        }
        last = [trial.score for trial in self.trials if trial.rung == self.best.rung and not math.isnan(trial.score)]
        chart = sparkline(sorted(last)[-_MAX_BARS:], "scores of the last rung", from_zero=False)
        return summary("TuningResult", facts, small_table(TABLE_HEADS, self.rows(_SHOWN)), chart)

    def describe(self) -> str:
        """Return the setting of the winner in words."""
        return self.best.describe(self.model.approximation_ if self.complete else self.best.approximation)

    def table(self, n: int | None = 10) -> str:
        """Return the best trials of the last rung as a text table, all trials in order if `n` is None."""
        return "\n".join("  ".join(row).rstrip() for row in _aligned([list(TABLE_HEADS), *self.rows(n)]))

    def rows(self, n: int | None = None) -> list[list[str]]:
        """Return the cells of the table; see :meth:`table`."""
        trials = list(enumerate(self.trials, 1))
        if n is not None:
            last = [(i, one) for i, one in trials if one.rung == self.best.rung and not math.isnan(one.score)]
            trials = sorted(last, key=lambda numbered: -numbered[1].score)[:n]
        return [[str(i), *one.cells()] for i, one in trials]

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the scores of all trials, in order, and those of the best and the default setting.

        Requires the extra ``viz``: ``pip install "boostne[viz]"``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure of pyplot.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from boostne.visualization.plots import plot_trials

        return plot_trials(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the vectors as JSON-serializable values."""
        return {
            "criterion": self.criterion,
            "budget": self.budget,
            "spent": self.spent,
            "complete": self.complete,
            "settings": {name: to_json(name, value) for name, value in self.settings.items()},
            "level_weights": None if self.level_weights is None else self.level_weights.tolist(),
            "best": self.best.to_dict(),
            "default": self.default.to_dict(),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2)


class TuningInterrupted(KeyboardInterrupt):
    """Raised by :func:`boostne.tune` if it is interrupted after the first trial.

    It is a :class:`KeyboardInterrupt`, so that a program which does not handle it ends as usual.

    Attributes
    ----------
    result : TuningResult
        The best so far; see :attr:`TuningResult.complete`.

    Examples
    --------
    >>> from boostne import TuningInterrupted
    >>> issubclass(TuningInterrupted, KeyboardInterrupt)  # raised instead, with the best so far as ``result``
    True
    """

    def __init__(self, result: TuningResult) -> None:
        super().__init__(f"tuning was interrupted after {len(result.trials)} trials")
        self.result = result


def _aligned(rows: list[list[str]]) -> list[list[str]]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
