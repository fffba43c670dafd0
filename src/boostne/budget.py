"""Every estimate of memory and time: formulas in the sizes of the problem, and nothing else.

Memory is counted beyond what the process holds before a fit starts. How near the estimates come to reality is measured
by ``python -m benchmarks memory`` and ``python -m benchmarks scale``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.edges import index_dtype
from boostne.html import summary
from boostne.io.reading_budget import integer_table_bytes
from boostne.kernels.column_blocked_csr import BLOCK_ENTRIES, BLOCK_ROWS, COLUMN_BLOCKED_FROM
from boostne.kernels.layout import BLOCK_COLUMNS, chunk_columns, push_chunk_rows, tile_width
from boostne.kernels.sharded_csr import MAX_SHARDS
from boostne.kernels.tree_reduction import max_pending_nodes
from boostne.memory import format_bytes

INDEX_BYTES = 4  # of a column index
POINTER_BYTES = 8  # of a row pointer
MIN_FACTOR_WIDTH = 16  # rows of a factor are padded to at least this many numbers
THREAD_BYTES = 1_000_000  # stack and allocator arena of one thread
SORTED_NODE_BYTES = 60  # two copies of ids and row pointers, the order and its inverse, communities
CSR_GROWTH = 1.1  # peak memory of a CSR matrix while it is assembled, relative to its final size

# Entries of the spectral X relative to the exact one: 1.3 to 2.3 on the paper's four networks.
SPECTRAL_GROWTH = 2.3
EIGENSOLVER_VECTORS = 4  # float64 vectors of length n per eigenpair while the solver runs

# From this size on, each factor of the finished levels is in a temporary file: 200,000 nodes with 128 float32 numbers.
ON_DISK_BYTES = 100_000_000
ON_DISK_COPIES = 3  # of a factor: both factors, and one of them copied from level order to row order

WORKER_MARGIN = 1.15  # a worker's block relative to an even share: shards are whole rows, and nnz is sampled
WORKER_CHUNK_BYTES = 1 << 26  # working memory while rows are built or received, generously
MESSAGE_SHARE = 32  # of V is received at a time
SORTED_SHARE = 8  # several threads sort at most this fraction of the entries at once: stripe in column_blocked.cpp
COLUMN_RANGES = 8  # at least, in which a column-blocked pass accumulates C: kRangesPerThread in column_blocked.cpp

# Passes per level at the default tolerance, and mean size of the residual relative to X, interpolated between two graph
# sizes: the larger X is, the less of it a level explains.
TYPICAL_NODES, TYPICAL_PASSES, TYPICAL_SHRINKAGE = (10_000, 100_000), (14, 6), (0.5, 1.0)
TYPICAL_DECAY = 0.25  # a pass of level i costs i^-0.25 of a pass of the first level
TYPICAL_LATER_PASSES = 11  # of a level after the first
NODE_ENTRIES = 250  # per-node work of a pass, expressed in entries


@dataclass(frozen=True, repr=False)
class Estimate:
    """Time and memory of a fit, before it runs.

    Attributes
    ----------
    nnz : int
        Entries of the connectivity matrix X.
    connectivity_bytes : int
        Memory of X.
    peak_bytes : int
        Peak memory beyond what the process holds before the fit.
    connectivity_seconds, levels_seconds : float
        Time to build X and to factorize it.
    form : str
        Form of X, such as ``"exact"``.
    """

    nnz: int
    connectivity_bytes: int
    peak_bytes: int
    connectivity_seconds: float
    levels_seconds: float
    form: str

    def __repr__(self) -> str:
        seconds = self.connectivity_seconds + self.levels_seconds
        memory = format_bytes(self.peak_bytes)
        return f"Estimate({self.form} X, {self.nnz:,} entries, peak memory {memory}, {seconds:.3g} s)"

    def _repr_html_(self) -> str:
        facts = {
            "form of X": self.form,
            "entries of X": f"{self.nnz:,}",
            "memory of X": format_bytes(self.connectivity_bytes),
            "peak memory": format_bytes(self.peak_bytes),
            "time for X": f"{self.connectivity_seconds:.3g} s",
            "time for levels": f"{self.levels_seconds:.3g} s",
        }
        return summary("Estimate", facts)


@dataclass(frozen=True)
class Workload:
    """The sizes that time and memory depend on, apart from the graph and the entries of X.

    Attributes
    ----------
    n_nodes, levels, components : int
        n, k and d_s, the width of a level.
    max_iter : int
        Largest number of passes per level.
    dtype : numpy dtype
    threads : int
    n_rows : int, optional
        Rows of X if the graph is bipartite: the nodes of its first side.
    on_disk : bool
        Whether the factors of finished levels are in temporary files.
    """

    n_nodes: int
    levels: int
    components: int
    max_iter: int
    dtype: np.dtype[Any]
    threads: int
    n_rows: int | None = None
    on_disk: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of X: all nodes, or those of the two sides."""
        return (self.n_nodes,) * 2 if self.n_rows is None else (self.n_rows, self.n_nodes - self.n_rows)

    @property
    def entry_bytes(self) -> int:
        """Memory of an entry of X: value and column index."""
        return entry_bytes(self.dtype)

    def peak_bytes(self, nnz: int, build_bytes: int = 0) -> int:
        """Return the peak memory of a fit; ``build_bytes`` is held beside X only while X is built."""
        X = nnz * self.entry_bytes
        return int(max(CSR_GROWTH * X + build_bytes, X + self.levels_bytes)) + self.threads * THREAD_BYTES

    def max_entries(self, size: int, build_bytes: int = 0) -> int:
        """Return how many entries X may have so that the peak stays within ``size`` bytes."""
        left = size - self.threads * THREAD_BYTES
        return int(min((left - build_bytes) / CSR_GROWTH, left - self.levels_bytes) / self.entry_bytes)

    @property
    def levels_bytes(self) -> int:
        """Memory of the factors, beside X.

        Both factors of every level, unless they are on disk; for the current level U, V, the accepted copies of both,
        two of C, the initial V, the two that were returned, and what the kernel needs for a pass.
        """
        width, stored = max(self.components, MIN_FACTOR_WIDTH), 0 if self.on_disk else self.levels * self.components
        of_row = stored + 3 * width
        n_rows, n_columns = self.shape
        copies = _pass_copies(n_columns, self.components, self.dtype, self.threads, MAX_SHARDS)
        of_column = stored + (6 + copies) * width
        numbers = int(n_rows * of_row + n_columns * of_column)
        return n_rows * 3 * POINTER_BYTES + numbers * self.dtype.itemsize

    def levels_seconds(self, fixed: float, per_row: float, growth: float = 1.0) -> float:
        """Return the time of all levels from measured passes.

        Parameters
        ----------
        fixed : float
            Seconds of a pass over an empty residual.
        per_row : float
            Further seconds of a pass per row of X.
        growth : float
            Entries of X relative to those of the measured rows.
        """
        passes = self.levels * min(_typical(self.n_nodes, TYPICAL_PASSES), self.max_iter)
        shrinkage = _typical(self.n_nodes, TYPICAL_SHRINKAGE) * growth
        return passes * (fixed + shrinkage * per_row * self.shape[0])


def entry_bytes(dtype: Any) -> int:
    """Memory of an entry of a sparse matrix: value and column index."""
    return int(np.dtype(dtype).itemsize) + INDEX_BYTES


def exact_build_bytes(work: Workload, n_entries: int, weighted: bool, max_per_row: int = 0) -> int:
    """Memory beside X while the exact X is built; ``n_entries`` are those of the adjacency.

    ``max_per_row`` is what a row keeps where exact rows are pruned afterwards.
    """
    n = work.n_nodes
    blocks = 2 * work.threads * n * BLOCK_COLUMNS * work.dtype.itemsize
    chunk = min(chunk_columns(n, work.dtype, work.threads), n) * (n + max_per_row)
    return _graph_bytes(work, n_entries, weighted) + INDEX_BYTES * n_entries + blocks + chunk * work.entry_bytes


def push_build_bytes(work: Workload, n_entries: int, weighted: bool, max_per_row: int) -> int:
    """Memory beside X while X is built by forward push."""
    n, number = work.n_nodes, work.dtype.itemsize
    chunk = min(push_chunk_rows(n, max_per_row, work.dtype), n) * max_per_row
    # Per thread a table of reached nodes and lists of them, as if half of all nodes were reached; a degree per edge.
    tables = work.threads * n * (4 * number + 8)
    return _graph_bytes(work, n_entries, weighted) + n_entries * number + tables + chunk * work.entry_bytes


def push_source_bytes(n_nodes: int, n_entries: int, weighted: bool, dtype: np.dtype[Any]) -> int:
    """Memory of an undirected graph as forward push reads it, on a worker; ``n_entries`` are those of the adjacency."""
    number = dtype.itemsize
    per_entry = INDEX_BYTES + (2 if weighted else 1) * number  # neighbor, its inverse degree, weight
    return POINTER_BYTES * (n_nodes + 1) + number * n_nodes + per_entry * n_entries


def graph_reader_bytes(n_nodes: int, n_edges: int, weighted: bool) -> int:
    """Memory of a worker that reads an undirected graph from Parquet files with integer ids.

    It reads the graph, sorts the nodes, which copies the neighbors and their weights, and derives the arrays from which
    rows of X are built; each step takes about as much memory.
    """
    index, weight = (np.dtype(dtype).itemsize for dtype in (index_dtype(2 * n_edges, n_nodes), np.float64))
    graph = index + (weight if weighted else np.dtype(np.float32).itemsize)
    copied = index + (weight if weighted else 0)  # ones are shared
    sorting = 2 * n_edges * (graph + copied) + n_nodes * SORTED_NODE_BYTES
    return max(integer_table_bytes(n_edges, n_nodes, weighted=weighted), sorting)


def spectral_build_bytes(work: Workload, n_entries: int, weighted: bool, eigenpairs: int) -> int:
    """Memory beside X while X is built from eigenpairs."""
    return (
        _graph_bytes(work, n_entries, weighted)
        + EIGENSOLVER_VECTORS * work.n_nodes * eigenpairs * np.dtype(np.float64).itemsize
    )


def full_matrix_bytes(n_nodes: int) -> int:
    """Memory of a sparse float64 matrix in which every entry is stored."""
    return n_nodes**2 * entry_bytes(np.float64)


def edge_chain_bytes(common_neighbors: int) -> int:
    """Memory of node2vec's transition matrix over directed edges; its entries are an upper bound."""
    return 4 * common_neighbors * (np.dtype(np.float64).itemsize + np.dtype(np.int64).itemsize)


def worker_block_bytes(
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    *,
    source_bytes: int,
    nnz: int,
    n_workers: int,
    components: int,
    threads: int,
) -> int:
    """Memory that a Dask worker needs for its block of X: while that is built, or for the passes if they need more.

    While X is built there are the source of its rows and a copy of the entries that are sorted. In the passes there are
    the factors of a level.
    """
    rows = -(-shape[0] // n_workers)
    entries = WORKER_MARGIN * nnz / n_workers
    growing = (CSR_GROWTH - 1) * entries
    sorted_at_once = _sorted_entries(shape, nnz, entries, threads)
    building = source_bytes + max(growing, sorted_at_once) * entry_bytes(dtype)
    # V and C, the accepted slice of V, messages, and what the kernel needs or, after the last pass, copies of U and V
    # for the client; U and the accepted U.
    copies = _pass_copies(shape[1], components, dtype, threads, max(1, MAX_SHARDS // n_workers))
    factors = (2 + max(copies, 1 / n_workers) + 1 / n_workers + 1 / MESSAGE_SHARE) * shape[1] + 3 * rows
    factor_bytes = factors * max(components, MIN_FACTOR_WIDTH) * dtype.itemsize
    block_bytes = entries * entry_bytes(dtype) + 2 * POINTER_BYTES * rows
    return int(block_bytes + max(building, factor_bytes) + WORKER_CHUNK_BYTES)


def device_residual_bytes(
    shape: tuple[int, int], nnz: int, dtype: np.dtype[Any], block_entries: int
) -> tuple[int, int, int]:
    """Memory of R on a GPU: if stored dense, if stored sparse with its transpose, and of a block while it is built."""
    full = shape[0] * shape[1]
    number = dtype.itemsize
    return full * number, 2 * nnz * entry_bytes(dtype), 4 * min(block_entries, full) * number


def share_done(n_nodes: int, levels: int, passes: NDArray[np.int64], entries: NDArray[np.int64], n_iter: int) -> float:
    """Return the completed share of the levels' work; the remaining work is extrapolated from completed passes.

    Parameters
    ----------
    n_nodes, levels : int
        n and k.
    passes : ndarray of int
        Passes of each finished level.
    entries : ndarray of int
        Entries of the residual before each finished level and before the current one.
    n_iter : int
        Passes of the current level so far.
    """
    level, work = len(passes), entries + NODE_ENTRIES * max(n_nodes, 1)
    now = work[-1]
    # The typical level counts as one more observation.
    seen = level * np.log(work[0] / now) / np.log(level + 1) if level else 0.0
    decay = (seen + TYPICAL_DECAY) / (level + 1)
    # A long first level predicts long later ones.
    typical = TYPICAL_LATER_PASSES if level else max(n_iter, TYPICAL_LATER_PASSES)
    expected = np.exp(np.log([typical, *np.maximum(passes, 1)]).mean())
    done = float(np.dot(passes, work[:-1])) + n_iter * now
    later = (np.arange(level + 2, levels + 1) / (level + 1)) ** -decay
    left = now * (max(expected - n_iter, 0) + expected * later.sum())
    return float(done / (done + left)) if done + left else 1.0


def _pass_copies(n_columns: int, components: int, dtype: np.dtype[Any], threads: int, n_shards: int) -> float:
    """Return the working memory of a pass in arrays as large as V: accumulators, and the copy of a wide V."""
    pending = max_pending_nodes(0, n_shards)
    blocked = n_columns >= COLUMN_BLOCKED_FROM
    accumulators = (1 + pending) / COLUMN_RANGES if blocked else threads + pending
    return accumulators + int(components > tile_width(dtype))


def _sorted_entries(shape: tuple[int, int], nnz: int, entries: float, threads: int) -> float:
    """Return how many entries are copied at once while those of a worker are sorted by strips of columns."""
    if shape[1] < COLUMN_BLOCKED_FROM:
        return 0.0
    of_block = min(nnz / max(shape[0], 1) * BLOCK_ROWS, BLOCK_ENTRIES, entries)
    return max(of_block, entries / SORTED_SHARE if threads > 1 else 0.0)


def _graph_bytes(work: Workload, n_entries: int, weighted: bool) -> int:
    """Return the memory of the graph's arrays, converted to the kernels' dtypes."""
    number = work.dtype.itemsize
    return work.n_nodes * (8 + 4 * number) + n_entries * (number if weighted else 0)


def _typical(n_nodes: int, values: tuple[float, float]) -> float:
    return float(np.interp(np.log(max(n_nodes, 1)), np.log(TYPICAL_NODES), values))
