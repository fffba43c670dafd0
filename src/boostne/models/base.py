"""Base class of the estimators: converts any graph, runs the method, stores the embedding."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_non_negative

from boostne.edges import check_sparse
from boostne.embedding import Embedding
from boostne.errors import GraphError, InputWarning, ParameterError, warn_caller
from boostne.graph import Graph
from boostne.interop import as_graph
from boostne.matrices.base import matrix_sha256
from boostne.progress import ProgressCallback, ProgressOption, reporting
from boostne.validation import check_dtype, check_integer


@dataclass(frozen=True)
class Capabilities:
    """Properties of a method; ``boostne methods`` prints them.

    Attributes
    ----------
    weights, direction : bool
        Whether the method uses edge weights and edge direction. A method that does not use them raises
        :class:`~boostne.errors.GraphError` for weighted or directed graphs.
    engines : tuple of str
        Engines that can run the method.
    cost : str
        Time complexity in terms of the nodes n, the edges m, the dimensions d and the stored entries of X, nnz.
    paper : str
        Authors and year of the method's paper.
    """

    weights: bool
    direction: bool
    engines: tuple[str, ...]
    cost: str
    paper: str


class NodeEmbedder(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of the estimators. Subclasses define ``capabilities`` and ``_fit``.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors with the ids of their nodes.
    sources_ : Embedding
        Vectors of nodes as sources of edges; their targets, if there are any, are those of nodes as targets.
    targets_ : Embedding or None
        Vectors of nodes as targets of edges: the product of the source vector of u and the target vector of v is the
        score of an edge from u to v. None if the method makes no difference between sources and targets.
    n_features_in_ : int
        Number of nodes, named as in scikit-learn.
    """

    capabilities: Capabilities
    embedding_: Embedding

    dimensions: int
    dtype: Any
    threads: int | None = None  # of the methods that have this parameter

    # Whether the two sides of a bipartite graph get vectors of their own; otherwise all nodes are treated alike.
    _uses_sides: ClassVar[bool] = False
    # Parameters that affect how a fit runs but not its result.
    _execution_parameters: ClassVar[tuple[str, ...]] = ("threads",)

    @abstractmethod
    def _fit(self, graph: Graph, progress: ProgressCallback) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the vectors of the nodes, (n, d), and the width of each level."""

    def fit(self, X: Any, y: object = None, *, progress: ProgressOption = False) -> Self:  # noqa: ARG002
        """Embed the nodes of a graph.

        Parameters
        ----------
        X : Graph, matrix, networkx graph, edge table or list of pairs
            Anything that :func:`boostne.as_graph` accepts.
        y : None
            Ignored; present for compatibility with scikit-learn.
        progress : callable or bool, default False
            Called repeatedly with a :class:`boostne.progress.Progress`; True shows a progress bar.

        Returns
        -------
        self
        """
        graph = self._check_graph(X)
        with reporting(progress) as report:
            vectors, levels = self._fit(graph, report)
        _check_vectors(vectors)
        self.embedding_ = self._as_embedding(graph, vectors, levels)
        self.n_features_in_ = graph.n_nodes
        return self

    def fit_transform(self, X: Any, y: object = None, *, progress: ProgressOption = False) -> NDArray[Any]:
        """Embed the nodes of a graph and return their vectors; row i belongs to ``embedding_.nodes[i]``."""
        return self.fit(X, y, progress=progress).embedding_.vectors

    @property
    def sources_(self) -> Embedding:
        """Vectors of nodes as sources of edges."""
        return self.embedding_

    @property
    def targets_(self) -> Embedding | None:
        """Vectors of nodes as targets of edges."""
        return self.sources_.targets

    def _as_embedding(self, graph: Graph, vectors: NDArray[Any], levels: NDArray[np.int64]) -> Embedding:
        """Return what :meth:`_fit` returned as an embedding, with target vectors if there are any."""
        return Embedding(graph.nodes, vectors, levels)

    @classmethod
    def run_parameters(cls) -> tuple[str, ...]:
        """Return the names of the parameters that affect how a fit runs but not its result."""
        return cls._execution_parameters

    def result_parameters(self) -> dict[str, Any]:
        """Return the parameters that determine the result, as values that JSON can represent.

        Parameters that only affect how a fit runs, such as ``threads``, are left out. A dtype is given by its name,
        an object with parameters as ``{"name": class name, **parameters}``, a matrix by its SHA-256, and a random
        generator as None.

        Raises
        ------
        ParameterError
            If a parameter is a function, because changes to it cannot be detected.
        """
        return {
            name: to_json(name, value)
            for name, value in self.get_params(deep=False).items()
            if name not in self._execution_parameters
        }

    def _check_common_parameters(self) -> None:
        check_integer("dimensions", self.dimensions, 1)
        check_dtype("dtype", self.dtype)
        if self.threads is not None:
            check_integer("threads", self.threads, 1)

    def _check_graph(self, X: Any) -> Graph:
        """Convert and check a graph, and warn of isolated nodes."""
        graph = self._as_graph(X)
        self._warn_of_isolated(len(graph.isolated), graph.n_nodes)
        return graph

    def _warn_of_isolated(self, n_isolated: int, n_nodes: int) -> None:
        if n_isolated:
            warn_caller(f"{n_isolated} of {n_nodes} nodes have no edges; their vectors are zero", InputWarning)

    def _as_graph(self, X: Any) -> Graph:
        """Convert a graph; raise an error if this method cannot embed it."""
        name = type(self).__name__
        if isinstance(X, np.ndarray) or sparse.issparse(X):
            if sparse.issparse(X):
                check_sparse(X, "an adjacency matrix")
            else:
                X = np.asarray(np.ma.filled(X, 0))  # scikit-learn rejects matrices and ignores masks
            X = check_array(X, accept_sparse=True, ensure_min_samples=2, input_name="X", estimator=self)
            check_non_negative(X, name)
        graph = as_graph(X)
        if graph.sides is not None and not self._uses_sides:
            graph = graph.with_sides(None)
        if graph.directed and not self.capabilities.direction:
            raise GraphError(
                f"{name} embeds undirected graphs and this graph is directed; pass as_graph(graph).to_undirected(), "
                f"or use {_methods_with('direction')}"
            )
        if graph.weighted and not self.capabilities.weights:
            raise GraphError(
                f"{name} ignores edge weights and this graph is weighted; set the weights to 1 first, "
                f"or use {_methods_with('weights')}"
            )
        if graph.adjacency.nnz == 0:
            raise GraphError(f"the graph has {graph.n_nodes} nodes and no edges: there is nothing to embed")
        return graph

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


def _check_vectors(vectors: NDArray[Any]) -> None:
    """Raise GraphError if no entry is in the range of full precision, or one is not finite."""
    largest, limits = max(abs(vectors.max()), abs(vectors.min())), np.finfo(vectors.dtype)
    if not limits.tiny / limits.eps <= largest <= limits.max:
        raise GraphError(
            f"the largest entry of the vectors is {largest:g}, out of the range of {vectors.dtype}: multiply the "
            "weights by a constant, so that their mean is about 1, or use dtype='float64'"
        )


def _methods_with(capability: str) -> str:
    """Return the names of all methods with a capability."""
    classes: list[type] = [NodeEmbedder]
    for cls in classes:
        classes.extend(cls.__subclasses__())
    # A class with two bases is a subclass of both.
    able = [cls for cls in dict.fromkeys(classes) if getattr(getattr(cls, "capabilities", None), capability, False)]
    names = [cls.__name__ for cls in able]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def to_json(name: str, value: Any) -> Any:
    """Return a parameter as a value that JSON can represent; see :meth:`NodeEmbedder.result_parameters`."""
    if name == "dtype":
        return np.dtype(value).name
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False)
        return {"name": type(value).__name__, **{key: to_json(key, parameters[key]) for key in parameters}}
    if hasattr(value, "shape") and np.ndim(value):
        return f"matrix {matrix_sha256(value)}"
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if callable(value):
        raise ParameterError(
            f"{name} is a function, whose changes cannot be detected; pass the matrix that it returns instead"
        )
    return value
