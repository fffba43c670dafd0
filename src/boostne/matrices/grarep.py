"""GraRep's connectivity matrices: one for each number of steps that a random walk takes.

``X_p = max(Y_p, 0)``,  ``(Y_p)_ij = log( S^p_ij / Σ_t S^p_tj ) - log b``,  ``S = D^-1 A``.

The powers of S fill up, so they are never held: a block of their rows is, made anew for each p.
"""

from typing import Any

import numpy as np
from scipy import sparse

from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.kernels.csr_graph import TransitionGraph
from boostne.matrices.adjacency import inverse_degrees, transition
from boostne.matrices.deepwalk.exact import chunk_columns
from boostne.matrices.source import KernelRows, Piece, Progress, collect_rows, row_by_row


class StepRows(KernelRows):
    """Makes rows of ``X_p``.

    Parameters
    ----------
    graph : Graph
        Undirected; weights count, isolated nodes get empty rows.
    step : int
        p.
    shift : float, optional
        b; by default 1/n.
    dtype : numpy dtype
        float32 or float64.
    threads : int, optional
        By default every core. The rows do not depend on it.
    """

    def __init__(
        self, graph: Graph, step: int, *, shift: float | None, dtype: Any, threads: int | None = None
    ) -> None:
        A = graph.adjacency
        self.n = graph.n_nodes
        self.dtype = np.dtype(dtype)
        self._step = step
        self._graph = TransitionGraph(
            A.indptr.astype(np.int64),
            A.indices.astype(np.int32),
            A.data.astype(self.dtype) if graph.weighted else None,
            inverse_degrees(graph).astype(self.dtype),
        )
        reached, S = np.ones(self.n), transition(graph)  # Σ_t S^p_tj
        for _ in range(step):
            reached = S.T @ reached
        b = 1 / self.n if shift is None else shift
        # By the symmetry of A the kernel has S^p_ij as S^p_ji d_j / d_i.
        to = np.divide(graph.degrees, b * reached, out=np.zeros(self.n), where=reached > 0)
        self._to = to.astype(self.dtype)
        self._kernels = get_kernels(threads=threads)

    def __call__(self, rows: range) -> list[Piece]:
        """Return the positive entries of the given rows, as columns and values."""
        scales = self._graph.inverse_degree, self._to
        return row_by_row(self.kernels.step_rows(self._graph, scales, self._step, rows))

    def chunk_rows(self) -> int:
        """Return how many rows to ask for at a time."""
        return chunk_columns(self.n, self.dtype, self.kernels.threads)


def grarep(
    graph: Graph,
    step: int = 1,
    *,
    shift: float | None = None,
    dtype: Any = np.float64,
    threads: int | None = None,
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
    threads : int, optional
        By default every core. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(done, n)`` after each chunk of rows.

    Returns
    -------
    csr_array of shape (n, n)
        Non-negative; not symmetric.
    """
    return collect_rows(StepRows(graph, step, shift=shift, dtype=dtype, threads=threads), progress)
