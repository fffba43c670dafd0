"""What the methods share that embed only the nodes that have an edge."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.models.base import NodeEmbedder
from boostne.progress import ProgressCallback
from boostne.validation import check_dtype, check_integer, seed_from


class ConnectedEmbedder(NodeEmbedder):
    """Base of those methods: checks parameters, and leaves isolated nodes out, whose vectors are zero.

    A subclass has the parameters ``dimensions``, ``dtype`` and ``random_state``, and gives ``_embed``.
    """

    dimensions: int
    dtype: Any
    random_state: Any

    @abstractmethod
    def _embed(self, graph: Graph, seed: int, report: ProgressCallback) -> NDArray[Any]:
        """Return the vectors, (n, d), of a graph without isolated nodes."""

    def _widths(self) -> list[int]:
        """Columns that are found together, such as those of one step; none may be wider than the graph has nodes."""
        return [self.dimensions]

    def _check_parameters(self) -> None:
        check_integer("dimensions", self.dimensions, 1)
        check_dtype("dtype", self.dtype)

    def _fit(self, graph: Graph, report: ProgressCallback) -> tuple[NDArray[Any], NDArray[np.int64]]:
        self._check_parameters()
        widths = self._widths()
        self._check_width(max(widths), graph)
        embedded = np.ones(graph.n_nodes, bool)
        embedded[graph.isolated] = False
        vectors = np.zeros((graph.n_nodes, self.dimensions), self.dtype)
        vectors[embedded] = self._embed(graph.without_isolated(), seed_from(self.random_state), report)
        return vectors, np.array(widths)

    def _check_width(self, width: int, graph: Graph) -> None:
        if width <= graph.n_nodes:
            return
        parts = f", {width} of them found at once," if width < self.dimensions else ""
        raise ParameterError(
            f"{type(self).__name__} finds no more dimensions than there are nodes: the graph has {graph.n_nodes}, "
            f"and dimensions={self.dimensions}{parts} is too many; lower dimensions"
        )
