"""DeepWalk's connectivity matrix in closed form, exactly.

``X = log max( vol(G) / (b T) · (S + S^2 + … + S^T) D^-1 , 1 )`` with ``S = D^-1 A``: section III.A of the paper,
after Qiu et al., "Network Embedding as Matrix Factorization" (NetMF). T is the window, b the number of negative
samples; the maximum with 1 is the shift to non-negative values that NetMF introduced. For directed graphs see
:mod:`boostne.matrices.deepwalk.directed`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.graph import Graph
from boostne.kernels import Kernels
from boostne.kernels.layout import chunk_columns
from boostne.matrices.adjacency import cast_inverse_degrees, inverse_degrees, reciprocal, transition_graph
from boostne.matrices.csr_builder import RowBlock, one_block_per_row
from boostne.matrices.deepwalk.directed import DirectedWalk
from boostne.matrices.source import DeviceRows, KernelSource


class ExactSource(KernelSource):
    """Builds rows of X.

    If the graph is undirected, X is symmetric, and its rows are built as columns of powers of S. If it is directed,
    they are columns of powers of ``S^T``.

    Parameters
    ----------
    graph : Graph
        Weights count, isolated nodes get empty rows.
    window : int
        T, the longest walk.
    negative : float
        b.
    dtype : numpy dtype
        float32 or float64.
    kernels : Kernels, optional
        By default the fastest available.
    """

    def __init__(
        self, graph: Graph, *, window: int, negative: float, dtype: Any, kernels: Kernels | None = None
    ) -> None:
        self.shape = graph.adjacency.shape
        self.dtype = np.dtype(dtype)
        self._graph = graph
        # Walks from u to v are multiplied by a number of u and, if it is not None, by one of v.
        self._target_scale: NDArray[Any] | None = None
        if graph.directed:
            walk = DirectedWalk.of(graph, window)
            self._transition = walk.transition_graph(self.dtype)
            self._scale = (walk.starts / (negative * window)).astype(self.dtype)
            self._target_scale = cast_inverse_degrees(reciprocal(walk.mean_visits), self.dtype)
        else:
            self._transition = transition_graph(graph, self.dtype)
            self._scale = (graph.volume / (negative * window) * inverse_degrees(graph)).astype(self.dtype)
        self._window, self._negative = window, negative
        self._kernels = kernels

    def __getstate__(self) -> dict[str, Any]:
        # Workers need the arrays, not the graph they were taken from.
        return {name: value for name, value in super().__getstate__().items() if name != "_graph"}

    def rows(self, rows: range) -> list[RowBlock]:
        found = self.kernels.walk_columns(self._transition, self._scale, self._window, rows, self._target_scale)
        return one_block_per_row(found)

    def chunk_rows(self) -> int:
        return chunk_columns(self.shape[0], self.dtype, self.kernels.threads)

    def device_rows(self, device: str) -> DeviceRows | None:
        from boostne.matrices.deepwalk.device import ExactDeviceRows

        return ExactDeviceRows(
            self._graph, window=self._window, negative=self._negative, dtype=self.dtype, device=device
        )
