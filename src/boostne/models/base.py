"""What all estimators share: a graph of any kind in, vectors with their node ids out."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_non_negative

from boostne.embedding import Embedding
from boostne.errors import GraphError
from boostne.graph import Graph
from boostne.interop import as_graph
from boostne.progress import ProgressCallback, silent


@dataclass(frozen=True)
class Capabilities:
    """What a method honors; ``boostne methods`` prints it.

    Attributes
    ----------
    weights, direction : bool
        Whether edge weights and edge direction count. What does not count is refused, never dropped in silence.
    engines : tuple of str
        Engines that can run it.
    cost : str
        Growth of time with the nodes n, the edges m, the dimensions d and the entries of X, nnz.
    paper : str
        Where the method comes from.
    """

    weights: bool
    direction: bool
    engines: tuple[str, ...]
    cost: str
    paper: str


class NodeEmbedder(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the estimators. A subclass gives ``capabilities`` and ``_fit(graph, report) -> vectors, levels``.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors with the ids of their nodes.
    n_features_in_ : int
        Number of nodes, under scikit-learn's name for the columns of a square matrix.
    """

    capabilities: Capabilities
    embedding_: Embedding

    @abstractmethod
    def _fit(self, graph: Graph, report: ProgressCallback) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the vectors of the graph's nodes, (n, d), and the width of each level."""

    def fit(self, X: Any, y: object = None, *, progress: ProgressCallback = silent) -> Self:  # noqa: ARG002
        """Embed the nodes of a graph.

        Parameters
        ----------
        X : Graph, matrix, networkx graph, edge table or list of pairs
            Whatever :func:`boostne.as_graph` takes.
        y : None
            Ignored; here because scikit-learn passes it.
        progress : callable, optional
            Called with a :class:`boostne.progress.Progress` now and then.

        Returns
        -------
        self
        """
        graph = self._check_graph(X)
        vectors, levels = self._fit(graph, progress)
        self.embedding_ = Embedding(graph.nodes, vectors, levels)
        self.n_features_in_ = graph.n_nodes
        return self

    def fit_transform(self, X: Any, y: object = None, *, progress: ProgressCallback = silent) -> NDArray[Any]:
        """Embed the nodes of a graph and return their vectors; row i belongs to ``embedding_.nodes[i]``."""
        return self.fit(X, y, progress=progress).embedding_.vectors

    def _check_graph(self, X: Any) -> Graph:
        name = type(self).__name__
        if isinstance(X, np.ndarray) or sparse.issparse(X):
            X = check_array(X, accept_sparse=True, ensure_min_samples=2, input_name="X", estimator=self)
            check_non_negative(X, name)
        graph = as_graph(X)
        if graph.directed and not self.capabilities.direction:
            raise GraphError(
                f"{name} embeds undirected graphs and this one is directed; call to_undirected() on it, "
                f"or use {_those_that('direction')}"
            )
        if graph.weighted and not self.capabilities.weights:
            raise GraphError(
                f"{name} ignores weights and this graph has them; set them to 1 first, "
                f"or use {_those_that('weights')}"
            )
        if graph.adjacency.nnz == 0:
            raise GraphError(f"the graph has {graph.n_nodes} nodes and no edges: there is nothing to embed")
        if len(graph.isolated):
            warnings.warn(
                f"{len(graph.isolated)} of {graph.n_nodes} nodes have no edges; their vectors are zero",
                stacklevel=2,
            )
        return graph

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


def _those_that(honor: str) -> str:
    """Names of the methods that honor weights or direction."""
    from boostne.models import METHODS

    found = [method.__name__ for method in METHODS.values() if getattr(method.capabilities, honor)]
    return " or ".join(found)
