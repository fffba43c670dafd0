"""GraRep's connectivity matrices: one for each number of steps that a random walk takes.

``X_p = max(Y_p, 0)``,  ``(Y_p)_ij = log( S^p_ij / Σ_t S^p_tj ) - log b``,  ``S = D^-1 A``.

The powers of S fill up, so they are never held: a block of their rows is, ``S^p[rows] = S^(p-1)[rows] S``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.connectivity.adjacency import transition
from boostne.connectivity.rows import RowCollector, blocks_in_order
from boostne.graph import Graph

BLOCK_BYTES = 1 << 23  # of the dense rows that one thread holds

Progress = Callable[[int, int], None]
Row = tuple[NDArray[np.int32], NDArray[Any]]


class StepRows:
    """Makes rows of ``X_1 … X_K``.

    Parameters
    ----------
    graph : Graph
        Undirected; weights count, isolated nodes get empty rows.
    steps : int
        K.
    shift : float, optional
        b; by default 1/n.
    dtype : numpy dtype
        float32 or float64.
    """

    def __init__(self, graph: Graph, *, steps: int, shift: float | None, dtype: Any) -> None:
        self.n = graph.n_nodes
        self.steps = steps
        self.dtype = np.dtype(dtype)
        S = transition(graph)
        self._S = S.astype(self.dtype)
        self._transposed = S.T.tocsr().astype(self.dtype)
        b = 1 / self.n if shift is None else shift
        self._scale = []
        reached = np.ones(self.n)  # Σ_t S^p_tj
        for _ in range(steps):
            reached = S.T @ reached
            scale = np.divide(1, b * reached, out=np.zeros(self.n), where=reached > 0)
            self._scale.append(scale.astype(self.dtype))

    def __call__(self, rows: range, first: int = 1) -> list[list[Row]]:
        """Return the positive entries of the given rows, as columns and values, for each p from ``first`` to K."""
        columns = np.ascontiguousarray(self._S[rows.start : rows.stop].toarray().T)
        made = []
        for p, scale in enumerate(self._scale, start=1):
            if p > 1:
                columns = self._transposed @ columns
            if p >= first:
                made.append([_positive(row * scale) for row in np.ascontiguousarray(columns.T)])
        return made

    def block_rows(self) -> int:
        """Return how many rows to ask for at a time."""
        return int(max(1, BLOCK_BYTES // (self.n * self.dtype.itemsize)))


def grarep(
    graph: Graph,
    step: int = 1,
    *,
    shift: float | None = None,
    dtype: Any = np.float64,
    threads: int = 1,
    progress: Progress | None = None,
) -> sparse.csr_array:
    """Return ``X_p``, built by blocks of rows.

    Parameters
    ----------
    graph : Graph
        Undirected; weights count, isolated nodes get empty rows.
    step : int, default=1
        p.
    shift : float, optional
        b; by default 1/n.
    dtype : numpy dtype
        float32 or float64.
    threads : int
        Blocks built side by side. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(done, n)`` after each block.

    Returns
    -------
    csr_array of shape (n, n)
        Non-negative; not symmetric.
    """
    rows = StepRows(graph, steps=step, shift=shift, dtype=dtype)
    return grarep_steps(rows, first=step, threads=threads, progress=progress)[0]


def grarep_steps(
    rows: StepRows, *, first: int = 1, threads: int = 1, progress: Progress | None = None
) -> list[sparse.csr_array]:
    """Return ``X_first … X_K``, in one pass over the rows; parameters as for :func:`grarep`."""
    collectors = [RowCollector(rows.n, rows.dtype) for _ in range(first, rows.steps + 1)]
    for block, made in blocks_in_order(lambda part: rows(part, first), rows.n, rows.block_rows(), threads):
        for collector, part in zip(collectors, made, strict=True):
            collector.extend(part)
        if progress is not None:
            progress(block.stop, rows.n)
    return [collector.finish() for collector in collectors]


def _positive(row: NDArray[Any]) -> Row:
    at = np.flatnonzero(row > 1)
    return at.astype(np.int32), np.log(row[at])
