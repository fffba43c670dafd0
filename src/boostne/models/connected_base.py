"""Base class of the methods that embed only the nodes with at least one edge."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.models.base import NodeEmbedder
from boostne.progress import ProgressCallback
from boostne.validation import seed_from


class ConnectedEmbedder(NodeEmbedder):
    """Validates parameters and removes isolated nodes, whose vectors are zero.

    Subclasses define ``_embed``; those with further parameters, such as ``threads``, also ``__init__``.
    """

    def __init__(self, dimensions: int = 128, *, dtype: Any = "float32", random_state: Any = 0) -> None:
        self.dimensions = dimensions
        self.dtype = dtype
        self.random_state = random_state

    @abstractmethod
    def _embed(self, graph: Graph, seed: int, progress: ProgressCallback) -> NDArray[Any]:
        """Return the vectors, (n, d), of a graph without isolated nodes."""

    def _widths(self) -> list[int]:
        """Return the width of each level; a level cannot be wider than the number of nodes."""
        return [self.dimensions]

    def _check_parameters(self) -> None:
        self._check_common_parameters()

    def _fit(self, graph: Graph, progress: ProgressCallback) -> tuple[NDArray[Any], NDArray[np.int64]]:
        self._check_parameters()
        widths = self._widths()
        self._check_width(max(widths), graph)
        connected = np.ones(graph.n_nodes, bool)
        connected[graph.isolated] = False
        vectors = np.zeros((graph.n_nodes, self.dimensions), self.dtype)
        found = self._embed(graph.without_isolated(), seed_from(self.random_state), progress)
        with np.errstate(over="ignore"):  # checked by the caller
            vectors[connected] = found
        return vectors, np.array(widths)

    def _check_width(self, width: int, graph: Graph) -> None:
        if width <= graph.n_nodes:
            return
        per_level = f" ({width} per level)" if width < self.dimensions else ""
        raise ParameterError(
            f"{type(self).__name__} cannot compute more dimensions than there are nodes: the graph has "
            f"{graph.n_nodes} nodes, got dimensions={self.dimensions}{per_level}; lower dimensions"
        )
