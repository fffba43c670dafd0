"""GraRep's connectivity matrices: one for each number of steps of a random walk.

``X_p = max(Y_p, 0)``,  ``(Y_p)_ij = log( S^p_ij / Σ_t S^p_tj ) - log b``,  ``S = D^-1 A``.

The powers of S fill up, so they are never stored: blocks of their rows are, computed from S for each p.
"""

from typing import Any

import numpy as np

from boostne.budget import Workload
from boostne.graph import Graph
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.layout import chunk_columns
from boostne.matrices.adjacency import transition, transition_graph
from boostne.matrices.base import EXACT, ConnectivityMatrix, MatrixForm, RowSample, check_entries, sample_rows
from boostne.matrices.csr_builder import RowBlock, one_block_per_row
from boostne.matrices.source import KernelSource
from boostne.memory import MemoryBudget
from boostne.validation import check_integer, check_number

SAMPLED_ROWS, SAMPLED_BLOCKS = 16, 4


class GraRepMatrix(ConnectivityMatrix):
    """``X = max( log( S^T_ij / Σ_t S^T_tj ) - log(b / n) , 0 )``: GraRep's matrix for walks of T steps.

    Parameters
    ----------
    window : int, default=10
        T, the number of steps.
    negative : float, default=1.0
        b; larger values keep fewer entries.

    Examples
    --------
    >>> from boostne import BoostNE, GraRepMatrix, load_dataset
    >>> BoostNE(8, levels=2, connectivity=GraRepMatrix(window=3)).fit(load_dataset("karate").graph).embedding_
    Embedding(34 nodes, 8 dimensions, levels [4, 4], float32)
    """

    scale_invariant = True
    logarithmic = True
    empty_remedy = "use another window, or lower negative"

    def __init__(self, *, window: int = 10, negative: float = 1.0) -> None:
        self.window = window
        self.negative = negative

    def check(self) -> None:
        check_integer("window", self.window, 1)
        check_number("negative", self.negative, 0, strict=True)

    def _source(self, graph: Graph, form: MatrixForm, dtype: Any, seed: int, threads: int) -> "StepSource":
        shift, kernels = self.negative / graph.n_nodes, get_kernels(threads=threads)
        return StepSource(graph, self.window, shift=shift, dtype=dtype, kernels=kernels)

    def plan(self, graph: Graph, work: Workload, budget: MemoryBudget) -> MatrixForm:
        remedy = "Lower window or dimensions, or choose a sparser connectivity such as 'adjacency'."
        check_entries(self.sample(graph, EXACT, work).n_entries, work, budget, remedy)
        return EXACT

    def sample(self, graph: Graph, form: MatrixForm, work: Workload) -> RowSample:
        return sample_rows(
            self.source(graph, form, dtype=work.dtype, threads=work.threads), SAMPLED_ROWS, SAMPLED_BLOCKS
        )


class StepSource(KernelSource):
    """Builds rows of ``X_p``.

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
    kernels : Kernels, optional
        By default the fastest available.
    """

    def __init__(
        self, graph: Graph, step: int, *, shift: float | None = None, dtype: Any, kernels: Kernels | None = None
    ) -> None:
        n = graph.n_nodes
        self.shape = (n, n)
        self.dtype = np.dtype(dtype)
        self._step = step
        self._transition = transition_graph(graph, self.dtype)
        reached, S = np.ones(n), transition(graph)  # Σ_t S^p_tj
        for _ in range(step):
            reached = S.T @ reached
        b = 1 / n if shift is None else shift
        # A is symmetric, so the kernel computes S^p_ij as S^p_ji d_j / d_i.
        column_scale = np.divide(graph.degrees, b * reached, out=np.zeros(n), where=reached > 0)
        self._column_scale = column_scale.astype(self.dtype)
        self._kernels = kernels

    def rows(self, rows: range) -> list[RowBlock]:
        scales = (self._transition.inverse_degree, self._column_scale)
        return one_block_per_row(self.kernels.step_rows(self._transition, scales, self._step, rows))

    def chunk_rows(self) -> int:
        return chunk_columns(self.shape[0], self.dtype, self.kernels.threads)

    def sample(self) -> RowSample:
        """Build a few rows, evenly spaced."""
        return sample_rows(self, SAMPLED_ROWS, SAMPLED_BLOCKS)
