"""DeepWalk's matrix for an estimator: which form it takes within the memory there is, and its making."""

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import ParameterError
from boostne.factorization.estimate import Estimate, Sample, Workload, estimate, sample_rows
from boostne.graph import Graph
from boostne.kernels import Kernels
from boostne.kernels.native.bindings import BLOCK_COLUMNS
from boostne.matrices import BoundedColumns, PushRows, WalkColumns, push_deepwalk, spectral_rows
from boostne.matrices.deepwalk.exact import chunk_columns
from boostne.matrices.deepwalk.push import PrunedRows, push_chunk
from boostne.matrices.source import RowSource, collect_rows
from boostne.memory import MemoryBudget, format_bytes
from boostne.progress import Progress, ProgressCallback
from boostne.validation import check_choice, check_integer, check_number

Form = Literal["auto", "exact", "spectral", "push"]

# Entries of the spectral X over those of the exact one: between 1.3 and 2.3 on the paper's four networks.
SPECTRAL_GROWTH = 2.3
# Vectors of n float64 for each eigenpair while they are searched for, and X's own factor.
SPECTRAL_VECTORS = 4

# Rows of the pruned X: never below the one, and as full as the other allows where there are few of them.
TYPICAL_PER_ROW = 200
TYPICAL_ENTRIES = 20_000_000
FEWEST_PER_ROW = 32
# ε times the entries of a row and the mean degree. Mass spread evenly over as many nodes as are kept is the inverse
# of their product; a fifth of that is still worth following.
EPSILON_SHARE = 0.2
# Nodes up to which nothing is worth dropping on the way: whole rows are built as quickly, and then bounded.
WHOLE_ROWS = 20_000

# Blocks of BLOCK_COLUMNS columns of the exact X: a few, and fewer where each takes seconds.
SAMPLED_BLOCKS = (2, 8)
SAMPLED_STEPS = 100_000_000  # edges times window, of all of them
SAMPLED_PUSHES = 1024  # rows of each of a few blocks of the pruned X

logger = logging.getLogger("boostne")


@dataclass(frozen=True)
class WalkOptions:
    """The parameters of :class:`boostne.BoostNE` that DeepWalk's matrix depends on."""

    window: int
    negative: float
    approximation: Form
    eigenpairs: int
    epsilon: float | None
    max_per_row: int | None

    def check(self) -> None:
        """Raise for a value out of its range, or one that would do nothing."""
        check_choice("approximation", self.approximation, get_args(Form))
        check_integer("window", self.window, 1)
        check_integer("eigenpairs", self.eigenpairs, 1)
        check_number("negative", self.negative, 0, strict=True)
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, 0)
        if self.max_per_row is not None:
            check_integer("max_per_row", self.max_per_row, 1)
        for name in ("epsilon", "max_per_row"):
            if getattr(self, name) is not None and self.approximation in ("exact", "spectral"):
                raise ParameterError(
                    f"{name} is for approximation='push'; got approximation={self.approximation!r}"
                )


@dataclass(frozen=True)
class Choice:
    """The form that X takes: "exact", "spectral" or "push", the latter with ε and the most entries of a row."""

    form: str
    epsilon: float | None = None
    max_per_row: int | None = None

    def __str__(self) -> str:
        if self.form != "push":
            return self.form
        return f"push, ε = {self.epsilon:.2g}, at most {self.max_per_row:,} entries a row"


class WalkMatrix:
    """DeepWalk's X of one graph.

    Parameters
    ----------
    graph : Graph
    options : WalkOptions
        Checked.
    work : Workload
        What will be done with X.
    kernels : Kernels
    """

    def __init__(self, graph: Graph, options: WalkOptions, work: Workload, kernels: Kernels) -> None:
        self._graph = graph
        self._options = options
        self._work = work
        self._kernels = kernels

    @property
    def asked(self) -> Choice | None:
        """The form that was asked for by name and leaves nothing to choose."""
        form = self._options.approximation
        return Choice(form) if form in ("exact", "spectral") else None

    def choose(self, room: MemoryBudget) -> Choice:
        """Return the form that X takes within the memory there is; too little raises, with what would do."""
        form, exact = self._options.approximation, Choice("exact")
        if form == "push":
            return self._pruned(room)
        if form == "spectral":
            self._check(Choice(form), room)
            return Choice(form)
        # A full X is the most that can come: where that fits, a sample would cost more than it tells.
        if room.fits(self._work.peak_bytes(self._work.n_nodes**2, self._building(exact))):
            return exact
        if form == "exact":
            self._check(exact, room)
            return exact
        needed = self._peak(exact)
        if room.fits(needed):
            return exact
        choice = self._pruned(room)
        logger.info(
            "the exact X would need about %s of memory, and %s may be taken: X is pruned (%s)",
            *(format_bytes(size) for size in (needed, room.size or 0)),
            choice,
        )
        return choice

    def estimate(self, choice: Choice) -> Estimate:
        """Return time and memory, from a small part of the work."""
        return estimate(
            self._pruned_sample(choice) if choice.form == "push" else self._exact_sample,
            self._work,
            self._kernels,
            form=str(choice),
            building=self._building(choice),
            growth=_growth(choice),
        )

    def build(
        self, choice: Choice, seed: int, report: ProgressCallback
    ) -> tuple[sparse.csr_array, NDArray[np.float64] | None]:
        """Return X and, where it is pruned, the mass that each row lost."""

        def tell(done: int, n: int) -> None:
            report(Progress("connectivity", done / n, f"{done:,} of {n:,} rows"))

        if choice.form == "push":
            return push_deepwalk(self._pruned_rows(choice), tell)
        if choice.form == "spectral":
            report(Progress("connectivity", 0.0, f"{self._options.eigenpairs} eigenpairs"))
        return collect_rows(self.rows(choice, seed), tell), None

    def rows(self, choice: Choice, seed: int) -> RowSource:
        """Return what makes the rows of X, wherever it is sent."""
        if choice.form == "push":
            return self._pruned_rows(choice)
        if choice.form == "exact":
            return self._columns()
        return spectral_rows(
            self._graph,
            window=self._options.window,
            negative=self._options.negative,
            eigenpairs=self._options.eigenpairs,
            dtype=self._work.dtype,
            seed=seed,
            threads=self._work.threads,
        )

    def _pruned(self, room: MemoryBudget) -> Choice:
        """Choose ε and the entries of a row; what the user set stays as it is."""
        options, work = self._options, self._work
        n = work.n_nodes
        wanted = options.max_per_row or max(TYPICAL_PER_ROW, TYPICAL_ENTRIES // n)
        # Zero where rows are built whole; what it is otherwise depends on the entries of a row.
        epsilon = options.epsilon if options.epsilon is not None or n > WHOLE_ROWS else 0.0
        fewest = min(options.max_per_row or FEWEST_PER_ROW, n)
        room.check(
            work.peak_bytes(fewest * n, self._building(Choice("push", epsilon, fewest))),
            f"embedding {n:,} nodes, with X pruned to {fewest} entries a row,",
            "Or lower dimensions"
            + (", or max_per_row." if options.max_per_row else ".")
            + ("" if work.dtype == np.float32 else " dtype='float32' halves it."),
        )
        per_row = min(wanted, n)
        if options.max_per_row is None and room.size is not None:
            per_row = self._entries_that_fit(epsilon, fewest, per_row, room.size)
        if epsilon is None:
            epsilon = EPSILON_SHARE * n / (per_row * int(self._graph.adjacency.nnz))
        return Choice("push", epsilon, per_row)

    def _entries_that_fit(self, epsilon: float | None, fewest: int, wanted: int, size: int) -> int:
        """Return the entries of a row, up to those that are wanted, for a peak of so many bytes."""
        per_row = fewest
        # What is there beside X while it is built depends, a little, on the answer: at first too little is left for it.
        for _ in range(2):
            most = self._work.most_entries(size, self._building(Choice("push", epsilon, per_row)))
            per_row = int(np.clip(most // self._work.n_nodes, fewest, wanted))
        return per_row

    def _check(self, choice: Choice, room: MemoryBudget) -> None:
        room.check(
            self._peak(choice),
            f"embedding {self._work.n_nodes:,} nodes through X with about {self._entries(choice):,} entries",
            "Or use approximation='auto', which prunes X until it fits, or lower window, so that walks reach fewer "
            "nodes" + ("." if self._work.dtype == np.float32 else ", or use dtype='float32'."),
        )

    def _entries(self, choice: Choice) -> int:
        """Entries of the exact or the spectral X, from a sample."""
        return int(min(_growth(choice) * self._exact_sample.density, 1.0) * self._work.n_nodes**2)

    def _peak(self, choice: Choice) -> int:
        return self._work.peak_bytes(self._entries(choice), self._building(choice))

    def _building(self, choice: Choice) -> int:
        """Bytes beside X while it is built."""
        work, n = self._work, self._work.n_nodes
        number, edges = work.dtype.itemsize, int(self._graph.adjacency.nnz)
        copies = n * (8 + 4 * number) + edges * (number if self._graph.weighted else 0)
        if choice.form == "push" and choice.epsilon != 0:
            per_row = choice.max_per_row or n
            chunk = min(push_chunk(n, per_row, work.dtype), n) * per_row
            # For each thread a table of the nodes that a row reaches, and lists of them, as if these were half of all;
            # and a degree for each edge.
            vectors = work.threads * n * (4 * number + 8)
            return copies + edges * number + vectors + chunk * work.entry_bytes
        if choice.form == "spectral":
            return copies + SPECTRAL_VECTORS * n * self._options.eigenpairs * 8
        blocks = 2 * work.threads * n * BLOCK_COLUMNS * number
        # Whole columns, and what is kept of them where they are bounded.
        chunk = min(chunk_columns(n, work.dtype, work.threads), n) * (n + (choice.max_per_row or 0))
        return copies + 4 * edges + blocks + chunk * work.entry_bytes

    def _columns(self) -> WalkColumns:
        return WalkColumns(self._graph, **self._common)

    @property
    def _common(self) -> dict[str, Any]:
        return {
            "window": self._options.window,
            "negative": self._options.negative,
            "dtype": self._work.dtype,
            "kernels": self._kernels,
        }

    def _pruned_rows(self, choice: Choice) -> PrunedRows:
        per_row = choice.max_per_row or self._work.n_nodes
        if not choice.epsilon:
            return BoundedColumns(self._graph, max_per_row=per_row, **self._common)
        return PushRows(self._graph, epsilon=choice.epsilon, max_per_row=per_row, **self._common)

    @cached_property
    def _exact_sample(self) -> Sample:
        return self._sampled_columns(self._columns())

    def _pruned_sample(self, choice: Choice) -> Sample:
        rows = self._pruned_rows(choice)
        return sample_rows(rows, SAMPLED_PUSHES, 4) if choice.epsilon else self._sampled_columns(rows)

    def _sampled_columns(self, columns: RowSource) -> Sample:
        steps = self._graph.adjacency.nnz * self._options.window
        blocks = int(np.clip(SAMPLED_STEPS // steps, *SAMPLED_BLOCKS))
        return sample_rows(columns, BLOCK_COLUMNS, blocks)


def _growth(choice: Choice) -> float:
    return SPECTRAL_GROWTH if choice.form == "spectral" else 1.0
