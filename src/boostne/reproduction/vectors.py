"""Recipes carried out on one data set."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from boostne.datasets import Dataset
from boostne.embedding import Embedding
from boostne.reproduction.plan import Recipe, Work


@dataclass(frozen=True, eq=False)
class Fitted:
    """What became of a recipe.

    Attributes
    ----------
    embedding : Embedding
    residual : float or None
        ``||R_{k+1}|| / ||X||``; None for a method that leaves no residual.
    """

    embedding: Embedding
    residual: float | None


class Vectors:
    """Fits recipes, and remembers the last one: scores at several ratios and a map are made of the same vectors.

    Parameters
    ----------
    data : Dataset
    threads : int or None
        For the methods whose result does not depend on it.
    """

    def __init__(self, data: Dataset, threads: int | None) -> None:
        self.data = data
        self.threads = threads
        self.forget()

    def forget(self) -> None:
        """Give back the memory."""
        self._last: tuple[Recipe, Fitted] | None = None
        self._X: sparse.csr_array | None = None

    def of(self, work: Work) -> Fitted:
        """Return the vectors of a recipe."""
        if self._last is None or self._last[0] != work.recipe:
            self._last = work.recipe, self._fit(work)
        return self._last[1]

    def _fit(self, work: Work) -> Fitted:
        # The points of a curve differ in the number of levels alone: one X serves them all.
        shared = {} if work.levels is None else {"connectivity": self._connectivity(work.recipe)}
        model: Any = work.recipe.build(threads=self.threads)
        model.set_params(**shared, **({"approximation": "exact"} if shared else {}))
        model.fit(self.data.graph)
        norms = getattr(model, "residual_norms_", None)
        residual = None if norms is None else float(norms[-1] / norms[0])
        found = model.embedding_
        vectors = found.vectors * np.asarray(work.recipe.scale, found.vectors.dtype)
        return Fitted(Embedding(found.nodes, vectors, found.levels), residual)

    def _connectivity(self, recipe: Recipe) -> sparse.csr_array:
        if self._X is None:
            model: Any = recipe.build(threads=self.threads)
            self._X = model.connectivity_matrix(self.data.graph)
        return self._X
