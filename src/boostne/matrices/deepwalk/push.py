"""DeepWalk's connectivity matrix, pruned so that graphs with a million nodes fit into memory.

Rows are computed by forward push (:class:`PushSource`) or, on small graphs, computed exactly and then reduced to their
strongest entries (:class:`BoundedExactSource`), which is what push with ``ε = 0`` amounts to.

A unit of mass starts at each node i and takes T steps of the random walk; after r steps, the mass at k is ``S^r_ik``.
Mass below ``ε d_j`` at a node j is dropped, and each row keeps its ``max_per_row`` largest entries. With ``ε = 0``
and no limit on the entries, this is X itself.

The error is bounded. A random walk is reversible, ``S^r_jk / d_k = S^r_kj / d_j``, so mass ``p < ε d_j`` dropped at j
would have added less than ``ε S^r_kj`` to entry k. Summed over j, and over pairs of a step at which mass is dropped
and a later step at which it is missing, no entry of ``vol(G)/(b T) Σ_r S^r D^-1`` is too small by more than
``ε vol(G) (T - 1) / (2 b)``, with vol(G) in units of the mean weight.

A row of which nothing is left is computed again with ``ε = 0`` if the work for all such rows is bounded
(:func:`unpruned_rows`). In a star, for example, all entries are sums of masses below ``ε d_j``.

In a directed graph (:mod:`boostne.matrices.deepwalk.directed`), the visits ``m_j`` times the number of edges take the
place of ``d_j``. Mass dropped at j then adds up to ``ε |E| Σ_j m_j S^r_jk``, the visits of k some steps later, which
are close to ``ε |E| m_k`` if the visits of a node change little from step to step.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.array_chunks import row_slices
from boostne.graph import Graph
from boostne.kernels import Kernels
from boostne.kernels.layout import push_chunk_rows
from boostne.kernels.push_graph import PushGraph
from boostne.matrices.adjacency import cast_inverse_degrees, reciprocal
from boostne.matrices.csr_builder import RowBlock
from boostne.matrices.deepwalk.directed import DirectedWalk
from boostne.matrices.deepwalk.exact import ExactSource
from boostne.matrices.source import KernelSource

MAX_UNPRUNED_STEPS = 2e10  # along edges; about a minute


class BoundedExactSource(ExactSource):
    """Builds rows of X exactly and keeps the strongest entries of each.

    Parameters
    ----------
    graph, window, negative, dtype, kernels
        As for :class:`~boostne.matrices.deepwalk.exact.ExactSource`.
    max_per_row : int
        Largest number of entries per row; ties are resolved in favor of the first columns.
    first_column : int, default=0
        Columns before this one are left out.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        window: int,
        negative: float,
        max_per_row: int,
        dtype: Any,
        first_column: int = 0,
        kernels: Kernels | None = None,
    ) -> None:
        super().__init__(graph, window=window, negative=negative, dtype=dtype, kernels=kernels)
        self._max_per_row = max_per_row
        # By what the number of walks to a node is multiplied. X of an undirected graph is symmetric.
        scale = self._target_scale
        self._target_factors: NDArray[Any] = self._scale if scale is None else scale / (negative * window)
        self._first_column = first_column

    def rows(self, rows: range) -> list[RowBlock]:
        return [self._bounded(row) for row in super().rows(rows)]

    def device_rows(self, device: str) -> None:
        """Return None: rows are pruned on the host."""
        return

    def _bounded(self, row: RowBlock) -> RowBlock:
        first = int(np.searchsorted(row.columns, self._first_column))
        if first:
            row = RowBlock(row.counts - first, row.columns[first:], row.values[first:])
        if len(row.columns) <= self._max_per_row:
            return row._replace(dropped=np.zeros(1))
        keep = _strongest(row.values, self._max_per_row)
        lost = np.exp(row.values[~keep], dtype=np.float64) / self._target_factors[row.columns[~keep]]
        dropped = np.array([lost.sum() / self._window])
        return RowBlock(np.array([self._max_per_row]), row.columns[keep], row.values[keep], dropped)


class PushSource(KernelSource):
    """Builds rows of X by forward push.

    The result is not symmetric: each row is pruned by itself. ``RowBlock.dropped`` counts dropped mass times the number
    of steps it still had to go, plus the mass of entries beyond ``max_per_row``.

    Parameters
    ----------
    graph : Graph
        Weights count, isolated nodes get empty rows.
    window : int
        T, the longest walk.
    negative : float
        b.
    epsilon : float
        ε. Degrees are in units of the mean weight, so the unit of the weights does not matter.
    max_per_row : int
        Largest number of entries per row.
    dtype : numpy dtype
        float32 or float64.
    first_column : int, default=0
        Columns before this one are left out.
    kernels : Kernels, optional
        By default the fastest available.
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
        first_column: int = 0,
        kernels: Kernels | None = None,
    ) -> None:
        A = graph.adjacency
        self.shape = A.shape
        self.dtype = np.dtype(dtype)
        self.max_per_row = min(max_per_row, graph.n_nodes)
        unit = graph.volume / A.nnz  # 1 for an unweighted graph
        self._starts: NDArray[np.bool_] | None = None
        if graph.directed:
            walk = DirectedWalk.of(graph, window)
            self._graph = walk.push_graph(unit, graph.weighted, self.dtype)
            self._starts = walk.starts
        else:
            self._graph = PushGraph(
                A.indptr.astype(np.int64),
                A.indices.astype(np.int32, copy=False),
                (A.data.astype(np.float64) / unit).astype(self.dtype) if graph.weighted else None,
                cast_inverse_degrees(reciprocal(graph.degrees / unit), self.dtype),
            )
        self._factor = len(self._graph.indices) / (negative * window)
        self._unpruned = unpruned_rows(self._graph, self._factor, window)
        if self._starts is not None:
            self._unpruned &= self._starts
        self._epsilon = epsilon
        self._first_column = first_column
        self._window = window
        self._kernels = kernels

    @property
    def nbytes(self) -> int:
        return self._graph.nbytes

    def chunk_rows(self) -> int:
        return push_chunk_rows(self.shape[0], self.max_per_row, self.dtype)

    def rows(self, rows: range) -> list[RowBlock]:
        block = self._push(rows, self._epsilon)
        empty = np.flatnonzero((block.counts == 0) & self._unpruned[rows.start : rows.stop])
        if not len(empty):
            return [block]
        blocks, ends, begin = [], np.cumsum(block.counts), 0
        for run in np.split(empty, np.flatnonzero(np.diff(empty) > 1) + 1):
            first, last = int(run[0]), int(run[-1]) + 1
            blocks += [_part(block, ends, begin, first), self._push(rows[first:last], 0.0)]
            begin = last
        return [*blocks, _part(block, ends, begin, len(rows))]

    def _push(self, rows: range, epsilon: float) -> RowBlock:
        found = RowBlock(
            *self.kernels.push_rows(
                self._graph,
                factor=self._factor,
                epsilon=epsilon,
                window=self._window,
                cap=self.max_per_row,
                rows=rows,
                first_column=self._first_column,
            )
        )
        return found if self._starts is None else _rows_of_starts(found, self._starts[rows.start : rows.stop])


def unpruned_rows(graph: PushGraph, factor: float, window: int) -> NDArray[np.bool_]:
    """Mark the nodes whose rows are pushed again, without pruning, if pruning leaves nothing of them.

    The first step is never pruned. These are the nodes without an entry that it alone makes positive, such as those
    next to a hub with a large share of all edges: their entries are sums over many walks, each of little mass. None is
    marked if that would take too long.
    """
    indptr = graph.indptr
    marked = np.diff(indptr) > 0
    for rows in row_slices(indptr):
        first, filled = indptr[rows.start], marked[rows]  # a view
        span = slice(first, indptr[rows.stop])
        entries = graph.target_inverse_degree[span] * graph.inverse_degree.dtype.type(factor)
        if graph.weights is not None:
            entries *= graph.weights[span]
        largest = np.maximum.reduceat(entries, indptr[rows][filled] - first)
        filled[filled] = largest * graph.inverse_degree[rows][filled] <= 1
    steps = float(np.count_nonzero(marked)) * window * len(graph.indices)
    return marked if steps <= MAX_UNPRUNED_STEPS else np.zeros_like(marked)


def _rows_of_starts(block: RowBlock, starts: NDArray[np.bool_]) -> RowBlock:
    """Empty the rows of nodes where no walk starts."""
    if starts.all():
        return block
    kept = np.repeat(starts, block.counts)
    dropped = None if block.dropped is None else block.dropped * starts
    return RowBlock(block.counts * starts, block.columns[kept], block.values[kept], dropped)


def _part(block: RowBlock, ends: NDArray[np.int64], first: int, last: int) -> RowBlock:
    """Return some rows of a block, given the ends of all."""
    begin = ends[first - 1] if first else 0
    entries = slice(begin, ends[last - 1] if last else 0)
    dropped = None if block.dropped is None else block.dropped[first:last]
    return RowBlock(block.counts[first:last], block.columns[entries], block.values[entries], dropped)


def _strongest(values: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Mark the ``count`` largest values; ties are resolved in favor of the first."""
    least = np.partition(values, len(values) - count)[len(values) - count]
    keep: NDArray[np.bool_] = values > least
    keep[np.flatnonzero(values == least)[: count - np.count_nonzero(keep)]] = True
    return keep
