"""DeepWalk's connectivity matrix in closed form, exactly.

``X = log max( vol(G) / (b T) · (S + S^2 + … + S^T) D^-1 , 1 )`` with ``S = D^-1 A``: section III.A of the paper,
after Qiu et al., "Network Embedding as Matrix Factorization" (NetMF). T is the window, b the number of negative
samples; the maximum with 1 is the shift to non-negative values that NetMF introduced.
"""

from typing import Any

import numpy as np
from scipy import sparse

from boostne.graph import Graph
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.csr_graph import TransitionGraph
from boostne.kernels.layout import BLOCK_COLUMNS
from boostne.matrices.source import KernelRows, Piece, Progress, collect_rows, row_by_row

CHUNK_BYTES = 1 << 23  # room for the columns that are built between two looks at the clock


class WalkColumns(KernelRows):
    """Makes columns of X. The graph is undirected, so X is symmetric and its columns are its rows.

    Parameters
    ----------
    graph : Graph
        Undirected; weights count, isolated nodes get empty columns.
    window : int
        T, the longest walk.
    negative : float
        b.
    dtype : numpy dtype
        float32 or float64.
    kernels : Kernels, optional
        By default the fastest there are.
    """

    def __init__(
        self, graph: Graph, *, window: int, negative: float, dtype: Any, kernels: Kernels | None = None
    ) -> None:
        A, degrees = graph.adjacency, graph.degrees
        self.n = graph.n_nodes
        self.dtype = np.dtype(dtype)
        inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
        self._graph = TransitionGraph(
            A.indptr.astype(np.int64, copy=False),
            A.indices.astype(np.int32, copy=False),
            A.data.astype(self.dtype, copy=False) if graph.weighted else None,
            inverse.astype(self.dtype),
        )
        self._scale = (graph.volume / (negative * window) * inverse).astype(self.dtype)
        self._window = window
        self._kernels = kernels or get_kernels()

    def __call__(self, columns: range) -> list[Piece]:
        """Return the positive entries of the given columns, as row numbers and values."""
        return row_by_row(self.kernels.walk_columns(self._graph, self._scale, self._window, columns))

    def chunk_rows(self) -> int:
        """Return how many columns to ask for at a time."""
        return chunk_columns(self.n, self.dtype, self.kernels.threads)


def chunk_columns(n: int, dtype: np.dtype[Any], threads: int) -> int:
    """Return how many columns of n numbers to ask for at a time: few, but enough to keep all threads busy."""
    per_column = n * (dtype.itemsize + np.dtype(np.int32).itemsize)
    blocks = CHUNK_BYTES // (per_column * BLOCK_COLUMNS)
    return int(max(blocks, 2 * threads)) * BLOCK_COLUMNS


def exact_deepwalk(columns: WalkColumns, progress: Progress | None = None) -> sparse.csr_array:
    """Build X by blocks of columns; the memory needed beside X is that of one chunk of columns.

    Parameters
    ----------
    columns : WalkColumns
        What makes the columns.
    progress : callable, optional
        Called as ``progress(done, n)`` after each chunk.

    Returns
    -------
    csr_array of shape (n, n)
        Non-negative, symmetric up to rounding.
    """
    return collect_rows(columns, progress)
