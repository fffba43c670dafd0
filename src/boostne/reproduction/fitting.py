"""Fits the configurations of a reproduction on one data set."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from scipy import sparse

from boostne.datasets import Dataset
from boostne.embedding import Embedding
from boostne.reproduction.plan import Configuration, Experiment

Fit = TypeVar("Fit")


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


class DatasetFitter(Generic[Fit]):
    """Keeps the last fit on a data set, from which several values are computed.

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
        """Release the last fit."""
        self._last: tuple[object, Fit] | None = None

    def _fit_once(self, fitted: object, fit: Callable[[], Fit]) -> Fit:
        """Return the last fit if it is that of the object `fitted`, else that of a call to `fit`."""
        if self._last is None or self._last[0] is not fitted:
            self._last = None
            self._last = fitted, fit()
        return self._last[1]


class Fitter(DatasetFitter[FittedEmbedding]):
    """Fits the configurations of experiments."""

    def release(self) -> None:
        """Release the last fit and X."""
        super().release()
        self._X: sparse.csr_array | None = None

    def fit(self, experiment: Experiment) -> FittedEmbedding:
        """Return the fit of the configuration of an experiment."""
        return self._fit_once(experiment.configuration, lambda: self._fit(experiment))

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
