"""DeepWalk's connectivity matrix pruned: what makes graphs of a million nodes fit.

Either by forward push (:class:`PushRows`), or, where a graph is small enough, by building rows whole and keeping their
strongest entries (:class:`BoundedColumns`), which is what push with ``ε = 0`` would come to.

From each node i a unit of mass takes T steps of the random walk; what stands at k after r steps is ``S^r_ik``. Mass
below ``ε d_j`` at a node j goes no further, and of a row the ``max_per_row`` strongest entries are kept. With ``ε = 0``
and no bound on the entries this is X itself.

What is dropped can be bounded. A walk is reversible, ``S^r_jk / d_k = S^r_kj / d_j``, so mass ``p < ε d_j`` dropped at
j would have added less than ``ε S^r_kj`` to the entry of k. Summed over j, and over the pairs of a step at which mass
is dropped and a later one, at which it is missing, no entry of ``vol(G)/(b T) Σ_r S^r D^-1`` is too small by more than
``ε vol(G) (T - 1) / (2 b)``, with vol(G) in units of the mean weight.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.graph import Graph
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.push_graph import PushGraph
from boostne.matrices.deepwalk.exact import WalkColumns
from boostne.matrices.source import KernelRows, Piece, Progress, RowCollector, RowSource, chunks

CHUNK_BYTES = 1 << 23  # room for the rows that are built between two looks at the clock
MOST_CHUNKS = 64  # of a large graph: each begins with a look at all of its nodes
MAX_CHUNK_ROWS = 1 << 14


class PrunedRows(RowSource, Protocol):
    """Makes rows of a pruned X."""

    def with_dropped(self, rows: range, /) -> tuple[list[Piece], NDArray[np.float64]]:
        """Return the entries of some rows, and the share of its walks that each of them dropped."""


class BoundedColumns(WalkColumns):
    """Makes rows of X whole, and keeps their strongest entries.

    Parameters
    ----------
    graph, window, negative, dtype, kernels
        As for :class:`~boostne.matrices.deepwalk.exact.WalkColumns`.
    max_per_row : int
        Entries of a row at most; among equal ones those of the first columns.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        window: int,
        negative: float,
        max_per_row: int,
        dtype: Any,
        kernels: Kernels | None = None,
    ) -> None:
        super().__init__(graph, window=window, negative=negative, dtype=dtype, kernels=kernels)
        self._max_per_row = max_per_row

    def __call__(self, rows: range) -> list[Piece]:
        """Return the entries of some rows."""
        return self.with_dropped(rows)[0]

    def with_dropped(self, rows: range) -> tuple[list[Piece], NDArray[np.float64]]:
        """Return the entries of some rows, and the share of its walks that each of them dropped."""
        whole = super().__call__(rows)
        dropped = np.zeros(len(whole))
        for i, (_, columns, values) in enumerate(whole):
            if len(columns) > self._max_per_row:
                keep = _strongest(values, self._max_per_row)
                mass = np.exp(values[~keep], dtype=np.float64) / self._scale[columns[~keep]]
                dropped[i] = mass.sum() / self._window
                whole[i] = np.array([self._max_per_row]), columns[keep], values[keep]
        return whole, dropped


class PushRows(KernelRows):
    """Makes rows of the pruned X.

    Parameters
    ----------
    graph : Graph
        Undirected; weights count, isolated nodes get empty rows.
    window : int
        T, the longest walk.
    negative : float
        b.
    epsilon : float
        ε. Degrees are taken in units of the mean weight, so that the unit of weights does not matter.
    max_per_row : int
        Entries of a row at most.
    dtype : numpy dtype
        float32 or float64.
    kernels : Kernels, optional
        By default the fastest there are.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        window: int,
        negative: float,
        epsilon: float,
        max_per_row: int,
        dtype: Any,
        kernels: Kernels | None = None,
    ) -> None:
        A = graph.adjacency
        self.n = graph.n_nodes
        self.dtype = np.dtype(dtype)
        self.max_per_row = min(max_per_row, self.n)
        unit = graph.volume / A.nnz  # 1 without weights
        degrees = graph.degrees / unit
        inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
        self._graph = PushGraph(
            A.indptr.astype(np.int64),
            A.indices.astype(np.int32, copy=False),
            (A.data.astype(np.float64) / unit).astype(self.dtype) if graph.weighted else None,
            inverse.astype(self.dtype),
        )
        self._factor = A.nnz / (negative * window)
        self._epsilon = epsilon
        self._window = window
        self._kernels = kernels or get_kernels()

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self._graph.nbytes

    def chunk_rows(self) -> int:
        """Return how many rows to ask for at a time."""
        return push_chunk(self.n, self.max_per_row, self.dtype)

    def __call__(self, rows: range) -> list[Piece]:
        """Return the entries of some rows."""
        return self.with_dropped(rows)[0]

    def with_dropped(self, rows: range) -> tuple[list[Piece], NDArray[np.float64]]:
        """Return the entries of some rows, and the share of its walks that each of them dropped."""
        counts, columns, values, dropped = self.kernels.push_rows(
            self._graph,
            factor=self._factor,
            epsilon=self._epsilon,
            window=self._window,
            cap=self.max_per_row,
            rows=rows,
        )
        return [(counts, columns, values)], dropped


def push_chunk(n: int, max_per_row: int, dtype: np.dtype[Any]) -> int:
    """Return how many rows to ask for at a time: few enough to stay small beside X."""
    per_row = max_per_row * (dtype.itemsize + np.dtype(np.int32).itemsize)
    return int(np.clip(max(CHUNK_BYTES // per_row, n // MOST_CHUNKS), 64, MAX_CHUNK_ROWS))


def push_deepwalk(
    rows: PrunedRows, progress: Progress | None = None
) -> tuple[sparse.csr_array, NDArray[np.float64]]:
    """Build the pruned X by blocks of rows.

    Parameters
    ----------
    rows : PrunedRows
        What makes the rows.
    progress : callable, optional
        Called as ``progress(done, n)`` after each block.

    Returns
    -------
    X : csr_array of shape (n, n)
        Non-negative. Not symmetric: each row is pruned by itself.
    dropped : ndarray of shape (n,)
        Share of each node's walks that went missing, from 0 to 1: mass that was dropped, times the steps it had still
        to go, and mass of entries beyond ``max_per_row``.
    """
    collector = RowCollector(rows.n, rows.dtype)
    dropped = np.empty(rows.n)
    for chunk in chunks(range(rows.n), rows.chunk_rows()):
        pieces, dropped[chunk.start : chunk.stop] = rows.with_dropped(chunk)
        collector.extend(pieces)
        del pieces  # not kept while the next ones are made
        if progress is not None:
            progress(chunk.stop, rows.n)
    return collector.finish(), dropped


def _strongest(values: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Tell which are the ``count`` largest of more values; among equal ones the first."""
    least = np.partition(values, len(values) - count)[len(values) - count]
    keep: NDArray[np.bool_] = values > least
    keep[np.flatnonzero(values == least)[: count - np.count_nonzero(keep)]] = True
    return keep
