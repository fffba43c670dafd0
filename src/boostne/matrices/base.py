"""ConnectivityMatrix: a connectivity matrix by its name and parameters, before it is bound to a graph."""

import hashlib
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from boostne.budget import Workload
from boostne.edges import checked_matrix
from boostne.errors import GraphError, ParameterError
from boostne.graph import Graph
from boostne.matrices.block import between_sides
from boostne.matrices.source import CSRSource, MatrixSource
from boostne.memory import MemoryBudget
from boostne.node_ids import format_ids


@dataclass(frozen=True)
class MatrixForm:
    """The form that X takes: "exact", "spectral" or "push", the latter with its ε and entries per row."""

    name: str = "exact"
    epsilon: float | None = None
    max_per_row: int | None = None

    def __str__(self) -> str:
        if self.name != "push":
            return self.name
        return f"push, ε = {self.epsilon:.2g}, at most {self.max_per_row:,} entries per row"


EXACT = MatrixForm()
# Largest norm of X by the size of a number, and the inverse of the smallest: its square must not overflow.
MAX_NORM = {4: 1e18, 8: 1e150}
# Rounding error of a logarithm of n summed terms, in units of the machine epsilon times √n.
ROUNDING = 8.0


@dataclass(frozen=True)
class RowSample:
    """Some rows of X, and the estimated seconds to build all of them.

    ``growth`` is the number of entries of X relative to what the rows suggest, ``build_bytes`` the memory held beside X
    while it is built, and ``n_rows`` the number of rows of X, by default that of its columns.
    """

    rows: sparse.csr_array
    seconds: float
    growth: float = 1.0
    build_bytes: int = 0
    n_rows: int | None = None

    @property
    def n_entries(self) -> int:
        """Estimated entries of X."""
        n_sampled, n_columns = self.rows.shape
        density = min(self.growth * self.rows.nnz / (n_sampled * n_columns), 1.0)
        return int(density * ((self.n_rows or n_columns) * n_columns))


class GraphSize(Protocol):
    """The size of a graph, which may be elsewhere."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""

    @property
    def n_edges(self) -> int:
        """Number of edges."""


class ConnectivityMatrix(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the connectivity matrices: parameters in scikit-learn's style, bound to a graph by :meth:`source`.

    Attributes
    ----------
    directed : bool
        Whether the matrix is defined for directed graphs, too.
    reorderable : bool
        Whether the matrix of a graph with permuted nodes is the permuted matrix.
    scale_invariant : bool
        Whether multiplying all weights by a constant leaves the matrix unchanged.
    logarithmic : bool
        Whether the entries are logarithms of ratios, 0 where nodes are as close as chance, so that rounding errors are
        absolute.
    empty_remedy : str
        What to change if all entries are zero.
    """

    directed = False
    reorderable = True
    scale_invariant = False
    logarithmic = False
    empty_remedy = "multiply the weights by a constant, so that their mean is about 1"

    def check(self) -> None:
        """Raise ParameterError if a parameter is out of range."""

    def check_graph(self, graph: Graph) -> None:
        """Raise GraphError if the graph is directed and the matrix is defined for undirected graphs only."""
        if graph.directed and not self.directed:
            raise GraphError(
                f"{type(self).__name__} is defined for undirected graphs and this graph is directed; use "
                "connectivity='deepwalk', 'adjacency', 'common-neighbors', 'adamic-adar', 'katz' or 'pagerank', or "
                "pass as_graph(graph).to_undirected()"
            )

    def for_graph(self, graph: Graph) -> "ConnectivityMatrix":
        """Return this matrix with the parameters that depend on the graph; by default there are none."""
        return self

    def with_form(self, form: MatrixForm) -> "ConnectivityMatrix":
        """Return this matrix in a form that was chosen before; matrices with a single form return themselves."""
        del form
        return self

    def source(
        self, graph: Graph, form: MatrixForm = EXACT, *, dtype: Any, seed: int = 0, threads: int = 1
    ) -> MatrixSource:
        """Return the rows of this matrix for a graph.

        Parameters
        ----------
        graph : Graph
            Undirected unless ``directed`` is True. If it has sides, the nodes of the first come first, and X has the
            rows of these and the columns of the others.
        form : MatrixForm
            As :meth:`plan` chose it; matrices with a single form ignore it.
        dtype : numpy dtype
            float32 or float64.
        seed : int
            Seed of solvers; it affects no more than the last digits.
        threads : int
            The result does not depend on it.
        """
        if self.scale_invariant:
            graph, _ = graph.rescaled()
        return between_sides(self._source(graph, form, np.dtype(dtype), seed, threads), graph)

    @abstractmethod
    def _source(self, graph: Graph, form: MatrixForm, dtype: Any, seed: int, threads: int) -> MatrixSource:
        """Return the rows of all nodes; see :meth:`source`."""

    def check_norm(self, n_entries: int, norm2: float, graph: GraphSize, dtype: Any) -> None:
        """Raise GraphError if X is zero, up to rounding, or its squared norm is out of the range of factorizations."""
        norm, largest = float(np.sqrt(norm2)), MAX_NORM[np.dtype(dtype).itemsize]
        noise = ROUNDING * np.finfo(dtype).eps * np.sqrt(graph.n_nodes * n_entries) if self.logarithmic else 0.0
        if norm <= noise:
            raise GraphError(
                f"the connectivity matrix of this graph with {graph.n_edges:,} edges is zero: {self.empty_remedy}"
            )
        if not 1 / largest <= norm <= largest:
            raise GraphError(
                f"the norm of the connectivity matrix is {norm:.1g}, and {np.dtype(dtype)} allows {1 / largest:.0e} to "
                f"{largest:.0e}: multiply the weights by a constant, so that their mean is about 1, or use "
                "dtype='float64'"
            )

    @property
    def requested_form(self) -> MatrixForm | None:
        """The form if the parameters determine it; None if it depends on the available memory."""
        return EXACT

    def device_form(self, graph: Graph) -> MatrixForm | None:
        """Return the form to build on a GPU; None if X is built on the host and copied."""
        return None

    def plan(self, graph: Graph, work: Workload, budget: MemoryBudget) -> MatrixForm:
        """Return the form that X takes within a memory budget.

        Raises
        ------
        MemoryLimitError
            If no form fits; the message states the budget that would be enough.
        """
        return EXACT

    def sample(self, graph: Graph, form: MatrixForm, work: Workload) -> RowSample:
        """Build some rows of X, or all of them where they cannot be built one by one, and measure the time."""
        begin = time.perf_counter()
        X, _ = self.source(graph, form, dtype=work.dtype, seed=0, threads=work.threads).build()
        return RowSample(X, time.perf_counter() - begin, n_rows=X.shape[0])


class SparseMatrix(ConnectivityMatrix):
    """Base of the matrices that are few sparse products of the adjacency, computed as a whole."""

    @abstractmethod
    def build(self, graph: Graph) -> Any:
        """Return the matrix, sparse or dense, non-negative; the caller may overwrite it."""

    def _source(self, graph: Graph, form: MatrixForm, dtype: Any, seed: int, threads: int) -> CSRSource:
        return CSRSource(nonnegative_csr(self.build(graph), graph, dtype))


def nonnegative_csr(matrix: Any, graph: Graph, dtype: Any) -> sparse.csr_array:
    """Return a matrix in canonical CSR format; raise ParameterError unless all entries are finite and non-negative."""
    n = graph.n_nodes
    if not hasattr(matrix, "shape") and not isinstance(matrix, list | tuple):
        raise ParameterError(
            f"connectivity must be a matrix of numbers or a function that returns one; got {type(matrix).__name__}"
        )
    with np.errstate(over="ignore"):  # infinite entries are reported below
        X = sparse.csr_array(checked_matrix(matrix, "connectivity", ParameterError), dtype=dtype)
    if X.shape != (n, n):
        raise ParameterError(f"connectivity must be {n} × {n}, as the graph has {n} nodes; got {X.shape}")
    X.sum_duplicates()
    bad = np.flatnonzero(~((X.data >= 0) & (X.data < np.inf)))  # NaN fails both comparisons
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        nodes = format_ids(graph.nodes[[row, X.indices[bad[0]]]])
        if X.data[bad[0]] == np.inf:
            raise ParameterError(
                f"connectivity must be finite; entry ({nodes}) is inf in {X.dtype}: divide the weights by their mean, "
                "or use dtype='float64'"
            )
        raise ParameterError(
            "connectivity must be finite and non-negative, since the product of non-negative factors is never "
            f"negative; entry ({nodes}) is {X.data[bad[0]]}. SocialDimension and HOPE factorize without it"
        )
    X.eliminate_zeros()
    X.sort_indices()
    return X


def check_entries(n_entries: int, work: Workload, budget: MemoryBudget, remedy: str) -> None:
    """Raise MemoryLimitError unless a fit through X with about ``n_entries`` entries stays within a memory budget."""
    budget.check(
        work.peak_bytes(n_entries),
        f"embedding {work.n_nodes:,} nodes through X with about {n_entries:,} entries",
        remedy,
    )


def sample_rows(
    source: MatrixSource, size: int, blocks: int, *, growth: float = 1.0, build_bytes: int = 0
) -> RowSample:
    """Build a few blocks of rows, evenly spaced."""
    n = source.shape[0]
    starts = np.unique(np.linspace(0, max(n - size, 0), blocks).astype(int))
    begin = time.perf_counter()
    found = [block for start in starts for block in source.rows(range(start, min(start + size, n)))]
    seconds = time.perf_counter() - begin
    counts, columns, values = (np.concatenate([block[i] for block in found]) for i in range(3))
    pointers: NDArray[np.int64] = np.concatenate([[0], np.cumsum(counts)])
    rows = sparse.csr_array((values, columns, pointers), shape=(len(counts), source.shape[1]))
    return RowSample(rows, seconds * n / len(counts), growth, build_bytes, n)


def matrix_sha256(matrix: Any) -> str:
    """Return a SHA-256 checksum of a matrix: its shape, dtype, entries and their positions."""
    X = sparse.csr_array(checked_matrix(matrix, "the matrix", ParameterError))
    digest = hashlib.sha256(f"matrix 1 {X.shape} {X.dtype.name}\n".encode())
    for positions in (X.indptr, X.indices):
        digest.update(positions.astype("<i8").data)
    digest.update(X.data.astype(X.dtype.newbyteorder("<")).data)
    return digest.hexdigest()
