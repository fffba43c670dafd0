"""Fits the configurations of a reproduction on one data set."""

from dataclasses import dataclass
from typing import Any

from scipy import sparse

from boostne.datasets import Dataset
from boostne.embedding import Embedding
from boostne.reproduction.plan import Configuration, Experiment


@dataclass(frozen=True, eq=False)
class FittedEmbedding:
    """The result of a fit.

    Attributes
    ----------
    embedding : Embedding
    residual : float or None
        ``||R_{k+1}|| / ||X||``; None for a method without a residual.
    """

    embedding: Embedding
    residual: float | None


class Fitter:
    """Fits configurations and keeps the last fit, from which several scores and a map are computed.

    Parameters
    ----------
    data : Dataset
    threads : int or None
        For the methods whose result does not depend on it.
    """

    def __init__(self, data: Dataset, threads: int | None) -> None:
        self.data = data
        self.threads = threads
        self.release()

    def release(self) -> None:
        """Release the last fit and X."""
        self._last: tuple[Configuration, FittedEmbedding] | None = None
        self._X: sparse.csr_array | None = None

    def fit(self, experiment: Experiment) -> FittedEmbedding:
        """Return the fit of the configuration of an experiment."""
        if self._last is None or self._last[0] is not experiment.configuration:
            self._last = experiment.configuration, self._fit(experiment)
        return self._last[1]

    def _fit(self, experiment: Experiment) -> FittedEmbedding:
        configuration = experiment.configuration
        model: Any = configuration.build(threads=self.threads)
        if experiment.levels is not None:
            # The points of a curve differ only in the number of levels: they share X.
            model.set_params(connectivity=self._connectivity(configuration))
        model.fit(self.data.graph)
        norms = getattr(model, "residual_norms_", None)
        residual = None if norms is None else float(norms[-1] / norms[0])
        return FittedEmbedding(model.embedding_, residual)

    def _connectivity(self, configuration: Configuration) -> sparse.csr_array:
        if self._X is None:
            model: Any = configuration.build(threads=self.threads)
            self._X = model.connectivity_matrix(self.data.graph)
        return self._X
