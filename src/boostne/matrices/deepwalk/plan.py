"""Which form DeepWalk's X takes, given the graph and the available memory."""

import logging
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from boostne.budget import SPECTRAL_GROWTH, Workload, exact_build_bytes, push_build_bytes, spectral_build_bytes
from boostne.graph import Graph
from boostne.kernels.layout import BLOCK_COLUMNS
from boostne.matrices.base import EXACT, MatrixForm, RowSample, sample_rows
from boostne.matrices.deepwalk.rule import LARGE
from boostne.matrices.source import MatrixSource
from boostne.memory import MemoryBudget, format_bytes

if TYPE_CHECKING:
    from boostne.matrices.deepwalk.matrix import DeepWalkMatrix

# Entries per row of the pruned X: the typical number; more, as long as X is small; fewer, if it would be large, so that
# time and memory stay proportional to the nodes; and never below the least, whatever the memory.
TYPICAL_PER_ROW = 200
SMALL_ENTRIES = 20_000_000
LARGE_ENTRIES, LARGE_PER_ROW = 100_000_000, 60
MIN_PER_ROW = 32
# ε times the entries per row and the mean degree. Mass spread evenly over the kept nodes is the inverse of their
# product. With a quarter of that ε, fits take 14 to 41 % more CPU time; accuracy is higher by .008 on overlapping
# groups and by at most .002 on other graphs (python -m benchmarks frontier).
EPSILON_SHARE = 0.8

# Blocks of BLOCK_COLUMNS exact columns to sample: between two bounds, and fewer if each takes seconds.
SAMPLED_BLOCKS = (2, 8)
SAMPLED_STEPS = 100_000_000  # edges times window, over all sampled blocks
SAMPLED_PUSH_ROWS = 1024  # per sampled block of the pruned X

logger = logging.getLogger("boostne")


def typical_per_row(n_rows: int) -> int:
    """Return the entries per row of a pruned X if memory is not short; see docs/large-graphs.md for the measurements.

    Examples
    --------
    >>> [typical_per_row(n) for n in (50_000, 100_000, 500_000, 1_000_000, 10_000_000)]
    [400, 200, 200, 100, 60]
    """
    at_most = max(min(TYPICAL_PER_ROW, LARGE_ENTRIES // n_rows), LARGE_PER_ROW)
    return max(at_most, SMALL_ENTRIES // n_rows)


class DeepWalkPlan:
    """Sizes of the forms of X for one graph.

    Parameters
    ----------
    matrix : DeepWalkMatrix
        With checked parameters.
    graph : Graph
    work : Workload
    """

    def __init__(self, matrix: "DeepWalkMatrix", graph: Graph, work: Workload) -> None:
        self._matrix = matrix
        self._graph = graph
        self._work = work

    def choose(self, budget: MemoryBudget) -> MatrixForm:
        """Return the form that fits the budget; see :meth:`ConnectivityMatrix.plan`."""
        requested = self._matrix.requested_form
        if self._matrix.approximation == "push":
            return self._pruned(budget)
        if requested is None:
            return self._automatic(budget)
        if not self._surely_fits(requested, budget):
            self._check(requested, budget)
        return requested

    def _automatic(self, budget: MemoryBudget) -> MatrixForm:
        """Return the form for "auto", which weighs time and memory."""
        if self._work.n_nodes > LARGE and not self._matrix.is_sparse(self._graph):
            return self._pruned(budget)
        preferred = MatrixForm("spectral") if self._matrix.prefers_spectral(self._graph) else EXACT
        if self._surely_fits(preferred, budget):
            return preferred
        needed = self._peak(preferred)
        if budget.fits(needed):
            return preferred
        form = self._pruned(budget)
        logger.info(
            "the %s X would need about %s of memory and the budget is %s: X is pruned (%s)",
            preferred,
            *(format_bytes(size) for size in (needed, budget.size or 0)),
            form,
        )
        return form

    def _surely_fits(self, form: MatrixForm, budget: MemoryBudget) -> bool:
        """Whether even a full X fits, so that a sample would cost more time than it saves."""
        n_rows, n_columns = self._work.shape
        return budget.fits(self._work.peak_bytes(n_rows * n_columns, self._build_bytes(form)))

    def sample(self, form: MatrixForm) -> RowSample:
        """Build some rows of X; for "spectral" those of the exact X, scaled by the largest growth observed."""
        if form.name != "push":
            return self._exact_sample(form)
        if form.epsilon:
            return sample_rows(self._source(form), SAMPLED_PUSH_ROWS, 4, build_bytes=self._build_bytes(form))
        return sample_rows(self._source(form), BLOCK_COLUMNS, self._sampled_blocks, build_bytes=self._build_bytes(form))

    def _pruned(self, budget: MemoryBudget) -> MatrixForm:
        """Choose ε and the entries per row, unless the user did."""
        matrix, work = self._matrix, self._work
        n = work.n_nodes
        n_rows, n_columns = work.shape
        wanted = matrix.max_per_row or typical_per_row(n_rows)
        # None if it is to be derived from the entries per row. On small graphs nothing is pruned on the way: exact
        # rows take no longer to build, and are bounded afterwards.
        epsilon = matrix.epsilon if matrix.epsilon is not None or n > LARGE else 0.0
        least = min(matrix.max_per_row or MIN_PER_ROW, n_columns)
        budget.check(
            work.peak_bytes(least * n_rows, self._build_bytes(MatrixForm("push", epsilon, least))),
            f"embedding {n:,} nodes, with X pruned to {least} entries per row,",
            "Or lower dimensions"
            + (", or max_per_row." if matrix.max_per_row else ".")
            + ("" if work.dtype == np.float32 else " dtype='float32' halves it."),
        )
        per_row = min(wanted, n_columns)
        if matrix.max_per_row is None and budget.size is not None:
            per_row = self._entries_that_fit(epsilon, least, per_row, budget.size)
        if epsilon is None:
            epsilon = EPSILON_SHARE * n / (per_row * int(self._graph.adjacency.nnz))
        return MatrixForm("push", epsilon, per_row)

    def _entries_that_fit(self, epsilon: float | None, least: int, wanted: int, size: int) -> int:
        """Return the largest number of entries per row, up to ``wanted``, whose peak stays within ``size`` bytes."""
        per_row = least
        # The memory beside X depends slightly on the answer, so the first round is optimistic.
        for _ in range(2):
            most = self._work.max_entries(size, self._build_bytes(MatrixForm("push", epsilon, per_row)))
            per_row = int(np.clip(most // self._work.shape[0], least, wanted))
        return per_row

    def _check(self, form: MatrixForm, budget: MemoryBudget) -> None:
        budget.check(
            self._peak(form),
            f"embedding {self._work.n_nodes:,} nodes through X with about {self._exact_sample(form).n_entries:,} "
            "entries",
            "Or use approximation='auto', which prunes X until it fits, or lower window, so that walks reach fewer "
            "nodes" + ("." if self._work.dtype == np.float32 else ", or use dtype='float32'."),
        )

    def _peak(self, form: MatrixForm) -> int:
        return self._work.peak_bytes(self._exact_sample(form).n_entries, self._build_bytes(form))

    def _build_bytes(self, form: MatrixForm) -> int:
        sizes = self._work, int(self._graph.adjacency.nnz), self._graph.weighted
        if self._graph.directed:  # stored with its transpose, and with probabilities
            sizes = self._work, 2 * int(self._graph.adjacency.nnz), True
        if form.name == "spectral":
            return spectral_build_bytes(*sizes, self._matrix.eigenpairs)
        if form.name == "push" and form.epsilon != 0:
            return push_build_bytes(*sizes, form.max_per_row or self._work.n_nodes)
        return exact_build_bytes(*sizes, form.max_per_row or 0)

    def _exact_sample(self, form: MatrixForm) -> RowSample:
        rows, seconds = self._exact_rows
        growth = SPECTRAL_GROWTH if form.name == "spectral" else 1.0
        return RowSample(rows, seconds, growth, self._build_bytes(form), self._work.shape[0])

    @cached_property
    def _exact_rows(self) -> tuple[sparse.csr_array, float]:
        sample = sample_rows(self._source(EXACT), BLOCK_COLUMNS, self._sampled_blocks)
        return sample.rows, sample.seconds

    @property
    def _sampled_blocks(self) -> int:
        steps = self._graph.adjacency.nnz * self._matrix.window_for(self._graph)
        return int(np.clip(SAMPLED_STEPS // steps, *SAMPLED_BLOCKS))

    def _source(self, form: MatrixForm) -> MatrixSource:
        work = self._work
        return self._matrix.source(self._graph, form, dtype=work.dtype, seed=0, threads=work.threads)
