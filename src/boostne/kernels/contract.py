"""The interface that every set of kernels implements."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.kernels.column_blocked_csr import ColumnBlockedCSR, Residual
from boostne.kernels.csr_graph import CSRGraph, TransitionGraph, WalkGraph
from boostne.kernels.push_graph import PushGraph
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.skipgram import Edges, SkipGram
from boostne.kernels.tree_reduction import PartialSum

# A component is dead if its squared norm is at most this fraction of the largest one.
DEAD_COMPONENT = 1e-12

Array = NDArray[Any]  # float32 or float64
DoubleArray = NDArray[np.float64]
IndexArray = NDArray[np.int32]
SparseRows = list[tuple[IndexArray, Array]]  # indices and values of each row
PushedRows = tuple[NDArray[np.int64], IndexArray, Array, DoubleArray]  # counts, columns, values, dropped mass


class Kernels(ABC):
    """Hot loops of the library: arrays in, arrays out.

    Results do not depend on the number of threads. Factors are C-contiguous, with a width padded by
    :func:`boostne.kernels.layout.padded_factor`.

    Attributes
    ----------
    instruction_set : str
        ``"avx512"``, ``"avx2"``, ``"baseline"`` or ``"reference"``.
    threads : int
        Number of threads.
    """

    instruction_set: str
    threads: int

    @abstractmethod
    def stripe(self, indptr: NDArray[np.int64], R: ColumnBlockedCSR) -> None:
        """Sort the entries of each block of R by strips, in place and stably.

        On entry, they are in CSR order with row pointers ``indptr``, and ``R.packed_indices`` holds their columns.
        Also fills ``R.starts``.
        """

    @abstractmethod
    def sweep(
        self, R: Residual, V: Array, gram_v: DoubleArray, U: Array, *, inner: int
    ) -> tuple[list[PartialSum], DoubleArray]:
        """Fused pass over the residual: for each row i, ``p = R_i V``, then ``inner`` HALS sweeps of ``U_i``.

        U is updated in place. Returns ``C = R^T U`` for the new U as partial sums, to be added by
        :func:`boostne.kernels.tree_reduction.tree_sum`, and ``U^T U`` of each shard.
        """

    @abstractmethod
    def solve_rows(self, R: ShardedCSR, V: Array, gram_v: DoubleArray, U: Array, *, inner: int) -> None:
        """Run ``inner`` HALS sweeps of each row of U in place, given V: :meth:`sweep` without ``R^T U``."""

    @abstractmethod
    def hals(
        self, V: Array, C: Array, gram_u: DoubleArray, *, inner: int, cuts: NDArray[np.int64] | None = None
    ) -> tuple[DoubleArray, DoubleArray]:
        """Run ``inner`` HALS sweeps on V in place, given ``C = R^T U`` and ``U^T U``.

        Returns ``V^T V`` and ``<C, V>`` of each chunk of rows, to be added in order. ``cuts`` are the boundaries of the
        chunks, by default :func:`boostne.kernels.layout.row_chunks`; those of part of V may begin within the whole.
        """

    @abstractmethod
    def extrapolate(self, V: Array, W: Array, step: float, cuts: NDArray[np.int64] | None = None) -> DoubleArray:
        """Replace W by ``max(V + step (V - W), 0)`` and return ``W^T W`` of each chunk of rows; see :meth:`hals`."""

    @abstractmethod
    def deflate(self, R: Residual, U: Array, V: Array) -> DoubleArray:
        """Replace R by ``max(R - U V^T, 0)`` on its sparsity pattern, dropping entries that became 0.

        Returns the squared norm of each shard.
        """

    @abstractmethod
    def walk_columns(
        self, graph: TransitionGraph, scale: Array, window: int, columns: range, row_scale: Array | None = None
    ) -> SparseRows:
        """Columns of ``log max(scale_c (S + S^2 + … + S^window)_{ic} r_i, 1)``, by Horner's rule.

        ``row_scale`` is r, by default 1. Returns for each column the rows of its positive entries, ascending, and their
        values.
        """

    @abstractmethod
    def step_rows(self, graph: TransitionGraph, scales: tuple[Array, Array], steps: int, rows: range) -> SparseRows:
        """Rows of ``log max(a_i (S^steps)_{ji} b_j, 1)``, where ``scales`` is ``(a, b)``.

        A is symmetric, so ``(S^p)_ij = d_j / d_i (S^p)_ji`` and a row is computed from a column. Returns for each
        row the columns of its positive entries, ascending, and their values.
        """

    @abstractmethod
    def push_rows(
        self,
        graph: PushGraph,
        *,
        factor: float,
        epsilon: float,
        window: int,
        cap: int,
        rows: range,
        first_column: int = 0,
    ) -> PushedRows:
        """Rows of ``log max(factor (S + S^2 + … + S^window)_{ik} / d_k, 1)`` by forward push.

        In a directed graph, d_k is not the degree but the visits of node k; see :class:`PushGraph`. A unit of mass
        starts at node i and takes ``window`` steps. Mass below ``epsilon d_k`` at a node k other than the start is
        dropped. Each row keeps its ``cap`` largest entries; ties go to the lower column. Columns before
        ``first_column`` are left out, which does not count as dropped.
        Returns the number of entries of each row, their columns (ascending within a row), their values, and the
        fraction of each row's mass that was dropped, by epsilon (weighted by the steps it had left) and by the cap.
        """

    @abstractmethod
    def communities(self, graph: CSRGraph, *, max_size: int, max_rounds: int, tolerated_changes: int) -> IndexArray:
        """Label the community of each node, by sequential label propagation.

        Each node starts with its own label. In each round nodes are visited in order and adopt the label with the
        largest total weight among their neighbors, provided it exceeds the weight of their current label and fewer
        than ``max_size`` nodes have it; ties go to the label seen first. Stops after ``max_rounds``, or after a round
        in which at most ``tolerated_changes`` nodes changed their label.
        """

    @abstractmethod
    def random_walks(
        self, graph: WalkGraph, starts: IndexArray, length: int, *, p: float, q: float, seed: int, first: int
    ) -> IndexArray:
        """Random walks with node2vec's return parameter p and in-out parameter q.

        A walk that moved from t to v continues to x with probability proportional to the weight of (v, x), times
        ``1/p`` if x is t, 1 if the edge (t, x) exists, and ``1/q`` otherwise. The first step, and every step if
        ``p = q = 1``, depends on the weights only. A walk ends at a node without outgoing edges.

        Parameters
        ----------
        graph
            May be directed.
        starts
            First node of each walk.
        length
            Number of nodes of a walk, including the first.
        p, q
            Return parameter and in-out parameter.
        seed
            Only the lower 64 bits are used.
        first
            Number of the first walk. A walk depends only on the seed, its number and its start, so walks can be
            generated in chunks.

        Returns
        -------
        ndarray of shape (len(starts), length)
            One walk per row, padded with -1.
        """

    @abstractmethod
    def train_walks(
        self, model: SkipGram, walks: IndexArray, *, window: int, rates: tuple[float, float], seed: int
    ) -> None:
        """Train a skip-gram model on walks, given as rows padded with -1.

        Each node of a walk is the output of pairs whose inputs are at most b steps away on the walk, with b drawn
        from 1 … window for each node. The learning rate decreases linearly from ``rates[0]`` to ``rates[1]``.
        """

    @abstractmethod
    def train_edges(
        self, model: SkipGram, edges: Edges, samples: int, *, rates: tuple[float, float], seed: int
    ) -> None:
        """Train a skip-gram model on ``samples`` edges drawn by weight: source as input, target as output."""

    @abstractmethod
    def product(self, R: ShardedCSR, V: DoubleArray) -> DoubleArray:
        """Return ``R V`` for a dense block V; a float32 R is converted to float64 entry by entry."""

    @abstractmethod
    def average(
        self, R: ShardedCSR, own: DoubleArray, neighbors: DoubleArray, V: DoubleArray, averages: DoubleArray
    ) -> None:
        """Set row i of ``averages`` to ``own[i] V_i + neighbors[i] (R V)_i``, for a square R.

        V and ``averages`` have as many columns as a tile of float64.
        """

    @abstractmethod
    def gram_product(self, R: ShardedCSR, V: DoubleArray) -> DoubleArray:
        """Return ``R^T R V`` for a dense block V, summed shard by shard."""
