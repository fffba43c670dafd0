"""DeepWalk's connectivity matrix from the leading eigenpairs, as NetMF builds it for large windows.

With ``N = D^-1/2 A D^-1/2`` and its h largest eigenvalues ``λ`` and eigenvectors Q,

``X = log max( vol(G) / b · D^-1/2 Q f(Λ) Q^T D^-1/2 , 1 )``,  ``f(λ) = max((λ + λ^2 + … + λ^T) / T, 0)``.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.eigensolvers import largest_eigenpairs
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices.adjacency import inverse_root_degrees, normalized_adjacency
from boostne.matrices.csr_builder import RowBlock, blocks_in_order, log_above_one
from boostne.matrices.source import DeviceRows, MatrixSource
from boostne.progress import Progress, ProgressCallback, silent

BLOCK_BYTES = 1 << 23  # size of the dense rows that one thread holds

Eigenpairs = tuple[NDArray[np.float64], NDArray[np.float64]]


class GramSource(MatrixSource):
    """Builds rows of ``X = log max(F F^T, 1)``.

    Parameters
    ----------
    F : ndarray of shape (n, h)
    threads : int
        Blocks of rows built in parallel. The result does not depend on it.
    """

    def __init__(self, F: NDArray[Any], threads: int) -> None:
        # An array that came from another process may be unaligned; NumPy would copy it for every product.
        self.F = np.require(F, requirements=["C", "A"])
        self._threads = threads
        self.shape = (len(F), len(F))
        self.dtype = F.dtype

    def __reduce__(self) -> Any:
        return GramSource, (self.F, self._threads)

    @property
    def nbytes(self) -> int:
        return self.F.nbytes

    def with_threads(self, threads: int) -> "GramSource":
        return GramSource(self.F, threads)

    def chunk_rows(self) -> int:
        return self._block_rows() * self._threads

    def rows(self, rows: range) -> list[RowBlock]:
        """Return the positive entries of some rows.

        Blocks start at multiples of their size whichever rows are requested: the last bits of a matrix product depend
        on the shape of its operands.
        """
        from threadpoolctl import threadpool_limits

        size = self._block_rows()
        begin, end = rows.start - rows.start % size, min(-(-rows.stop // size) * size, self.shape[0])
        with threadpool_limits(limits=1, user_api="blas"):
            found = list(blocks_in_order(self._block, range(begin, end), size, self._threads))
        return found[rows.start - begin : rows.stop - begin]

    def _block_rows(self) -> int:
        return int(max(1, BLOCK_BYTES // (self.shape[0] * self.dtype.itemsize)))

    def _block(self, rows: range) -> list[RowBlock]:
        # A copy: NumPy multiplies a matrix by its own transpose with another BLAS routine (syrk), whose bits differ.
        return log_above_one(self.F[rows.start : rows.stop].copy() @ self.F.T)


class SpectralSource(MatrixSource):
    """Builds rows of X from the eigenpairs of a graph, which are computed when rows are first requested.

    With ``F = sqrt(vol(G) / b) D^-1/2 Q f(Λ)^1/2`` it becomes a :class:`GramSource`, also when it is pickled.

    Parameters
    ----------
    graph : Graph
        Undirected; weights count, isolated nodes get empty rows.
    window, negative : int, float
        T and b.
    eigenpairs : int
        h; above the number of connected components and below the number of nodes.
    dtype : numpy dtype
        float32 or float64.
    seed : int
        Seed of the eigensolver's starting block.
    threads : int
        The result does not depend on it.
    """

    def __init__(
        self, graph: Graph, *, window: int, negative: float, eigenpairs: int, dtype: Any, seed: int, threads: int
    ) -> None:
        self.shape = graph.adjacency.shape
        self.dtype = np.dtype(dtype)
        self._graph = graph
        self._walks: dict[str, Any] = {"window": window, "negative": negative, "dtype": self.dtype}
        self._eigenpairs, self._seed, self._threads = eigenpairs, seed, threads

    @cached_property
    def _factorized(self) -> GramSource:
        pairs = leading_eigenpairs(self._graph, self._eigenpairs, self._seed, self._threads)
        return GramSource(spectral_factor(self._graph, *pairs, **self._walks), self._threads)

    def __reduce__(self) -> Any:
        return self._factorized.__reduce__()

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self._eigenpairs * self.dtype.itemsize

    def with_threads(self, threads: int) -> GramSource:
        return self._factorized.with_threads(threads)

    def chunk_rows(self) -> int:
        return self._factorized.chunk_rows()

    def rows(self, rows: range) -> list[RowBlock]:
        return self._factorized.rows(rows)

    def build(self, progress: ProgressCallback = silent) -> tuple[sparse.csr_array, NDArray[np.float64] | None]:
        """Compute the eigenpairs, then X; see :meth:`MatrixSource.build`."""
        progress(Progress("connectivity", 0.0, f"{self._eigenpairs} eigenpairs"))
        return super().build(progress)

    def device_rows(self, device: str) -> DeviceRows:
        from boostne.matrices.deepwalk.device import SpectralDeviceRows

        return SpectralDeviceRows(
            self._graph, eigenpairs=self._eigenpairs, seed=self._seed, device=device, **self._walks
        )


def window_filter(eigenvalues: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return ``f(λ)``: the eigenvalue of the mean of walks with 1 to T steps, clipped at 0."""
    total = np.zeros_like(eigenvalues)
    for _ in range(window):  # Horner's rule; the closed form divides by 1 - λ
        total = eigenvalues * (total + 1)
    return np.maximum(total / window, 0)


def spectral_factor(
    graph: Graph, values: NDArray[np.float64], vectors: NDArray[np.float64], *, window: int, negative: float, dtype: Any
) -> NDArray[Any]:
    """Return F, with ``X = log max(F F^T, 1)``; see :class:`SpectralSource`."""
    scale = np.sqrt(graph.volume / negative * window_filter(values, window))
    factor: NDArray[Any] = (inverse_root_degrees(graph)[:, None] * vectors * scale).astype(dtype)
    return factor


def leading_eigenpairs(graph: Graph, count: int, seed: int, threads: int | None = None) -> Eigenpairs:
    """Return the largest eigenvalues of the normalized adjacency, descending, and their eigenvectors.

    Raises
    ------
    ParameterError
        Unless ``count`` is above the number of connected components, which all have the eigenvalue 1, and below the
        number of nodes.
    """
    components = check_eigenpairs(graph, count)
    return component_eigenpairs(graph, count, seed, components, threads)


def component_eigenpairs(
    graph: Graph, count: int, seed: int, components: list[NDArray[np.int64]] | None = None, threads: int | None = None
) -> Eigenpairs:
    """Return the largest eigenvalues of the normalized adjacency, descending, and their eigenvectors.

    Connected components are solved separately: they share the eigenvalue 1, whose eigenvectors any solver may mix.
    Pairs beyond the number of non-isolated nodes are zero.
    """
    N = normalized_adjacency(graph)
    pairs = []
    for nodes in nonisolated_components(graph) if components is None else components:
        found = largest_eigenpairs(N[nodes][:, nodes], min(count, len(nodes)), seed=seed, threads=threads)
        pairs += [(value, nodes, vector) for value, vector in zip(found[0].tolist(), found[1].T, strict=True)]
    pairs.sort(key=lambda pair: -pair[0])  # stable: ties keep the order of their components
    values = np.zeros(count)
    vectors = np.zeros((graph.n_nodes, count))
    for column, (value, nodes, vector) in enumerate(pairs[:count]):
        values[column] = value
        vectors[nodes, column] = vector
    return values, vectors


def check_eigenpairs(graph: Graph, count: int) -> list[NDArray[np.int64]]:
    """Raise ParameterError if the number of eigenpairs is out of range; else return the connected components."""
    components = nonisolated_components(graph)
    n_nodes, n_components = graph.n_nodes, len(components)
    if count >= n_nodes:
        raise ParameterError(
            f"eigenpairs must be below the number of nodes, {n_nodes}; got {count}. "
            "For a graph this small use approximation='exact'"
        )
    if count <= n_components:
        raise ParameterError(
            f"eigenpairs must be well above the number of connected components, {n_components}; got "
            f"{count}. Raise eigenpairs, or use approximation='exact'"
        )
    return components


def nonisolated_components(graph: Graph) -> list[NDArray[np.int64]]:
    """Return the nodes of each connected component that has an edge."""
    from scipy.sparse.csgraph import connected_components

    n_components, component = connected_components(graph.adjacency, directed=False)
    order = np.argsort(component, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(component, minlength=n_components))[:-1])
    has_edge = np.diff(graph.adjacency.indptr) > 0
    return [nodes for nodes in groups if has_edge[nodes[0]]]
