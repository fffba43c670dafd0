"""DeepWalk's connectivity matrix from the leading eigenpairs, as NetMF does it for large windows.

With ``N = D^-1/2 A D^-1/2`` and its h largest eigenvalues ``λ`` and eigenvectors Q,

``X = log max( vol(G) / b · D^-1/2 Q f(Λ) Q^T D^-1/2 , 1 )``,  ``f(λ) = max((λ + λ^2 + … + λ^T) / T, 0)``.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.eigensolvers import largest_eigenpairs
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices.adjacency import inverse_root_degrees, normalized_adjacency
from boostne.matrices.source import Piece, Progress, blocks_in_order, collect_rows, log_above_one

BLOCK_BYTES = 1 << 23  # of the dense rows that one thread holds


def window_filter(eigenvalues: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return ``f(λ)``: what averaging walks of 1 to T steps makes of an eigenvalue, negative ones cut off."""
    total = np.zeros_like(eigenvalues)
    for _ in range(window):  # Horner's rule; the closed form divides by 1 - λ
        total = eigenvalues * (total + 1)
    return np.maximum(total / window, 0)


def leading_eigenpairs(
    graph: Graph, n_eigenpairs: int, seed: int, threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of the normalized adjacency, descending, and their vectors.

    All components share the eigenvalue 1, which says no more than "this component"; an h that is not above their
    number is refused.
    """
    components = check_eigenpairs(graph, n_eigenpairs)
    return component_eigenpairs(graph, n_eigenpairs, seed, components, threads)


def component_eigenpairs(
    graph: Graph,
    count: int,
    seed: int,
    components: list[NDArray[np.int64]] | None = None,
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of the normalized adjacency, descending, and their vectors.

    Each connected component is solved by itself: the components share the eigenvalue 1, whose vectors could be
    mixed at will, and so each has its own. Pairs beyond the number of nodes that have an edge are zero.
    """
    N = normalized_adjacency(graph)
    pairs = []
    for nodes in _components(graph) if components is None else components:
        found = largest_eigenpairs(N[nodes][:, nodes], min(count, len(nodes)), seed=seed, threads=threads)
        pairs += [(value, nodes, vector) for value, vector in zip(found[0].tolist(), found[1].T, strict=True)]
    pairs.sort(key=lambda pair: -pair[0])  # stable: equal ones stay in the order of their components
    values = np.zeros(count)
    vectors = np.zeros((graph.n_nodes, count))
    for column, (value, nodes, vector) in enumerate(pairs[:count]):
        values[column] = value
        vectors[nodes, column] = vector
    return values, vectors


def _components(graph: Graph) -> list[NDArray[np.int64]]:
    """Nodes of each connected component that has an edge."""
    from scipy.sparse.csgraph import connected_components

    n_components, component = connected_components(graph.adjacency, directed=False)
    order = np.argsort(component, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(component, minlength=n_components))[:-1])
    return [
        nodes for nodes in groups if graph.adjacency.indptr[nodes[0]] < graph.adjacency.indptr[nodes[0] + 1]
    ]


def check_eigenpairs(graph: Graph, n_eigenpairs: int) -> list[NDArray[np.int64]]:
    """Return the nodes of each connected component that has an edge; an h that suits them not is an error."""
    components = _components(graph)
    n_nodes, n_components = graph.n_nodes, len(components)
    if n_eigenpairs >= n_nodes:
        raise ParameterError(
            f"eigenpairs must be below the number of nodes, {n_nodes}; got {n_eigenpairs}. "
            "For a graph this small use approximation='exact'"
        )
    if n_eigenpairs <= n_components:
        raise ParameterError(
            f"eigenpairs must be well above the number of connected components, {n_components}; got "
            f"{n_eigenpairs}. Raise eigenpairs, or use approximation='exact'"
        )
    return components


@dataclass(frozen=True)
class SpectralRows:
    """Makes rows of ``X = log max(F F^T, 1)``.

    Attributes
    ----------
    F : ndarray of shape (n, h)
        ``sqrt(vol(G) / b) D^-1/2 Q f(Λ)^1/2``.
    threads : int
        Blocks of rows built side by side.
    """

    F: NDArray[Any]
    threads: int

    @property
    def n(self) -> int:
        """Rows and columns of X."""
        return len(self.F)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of X."""
        return self.F.dtype

    @property
    def nbytes(self) -> int:
        """Memory of F."""
        return self.F.nbytes

    def with_threads(self, threads: int) -> "SpectralRows":
        """Return the same rows, so many blocks of them at a time."""
        return replace(self, threads=threads)

    def chunk_rows(self) -> int:
        """Return how many rows to ask for at a time."""
        return self._block_rows() * self.threads

    def __call__(self, rows: range) -> list[Piece]:
        """Return the positive entries of some rows.

        Blocks begin at multiples of their size, whatever is asked for: the last bits of a matrix product depend
        on the shape of the block.
        """
        from threadpoolctl import threadpool_limits

        size = self._block_rows()
        begin, end = rows.start - rows.start % size, min(-(-rows.stop // size) * size, self.n)
        made: list[Piece] = []
        with threadpool_limits(limits=1, user_api="blas"):
            for _, block in blocks_in_order(self._block, end, size, self.threads, begin):
                made.extend(block)
        return made[rows.start - begin : rows.stop - begin]

    def _block_rows(self) -> int:
        return int(max(1, BLOCK_BYTES // (self.n * self.F.itemsize)))

    def _block(self, rows: range) -> list[Piece]:
        return log_above_one(self.F[rows.start : rows.stop] @ self.F.T)


def spectral_rows(
    graph: Graph, *, window: int, negative: float, eigenpairs: int, dtype: Any, seed: int, threads: int
) -> SpectralRows:
    """Solve for the eigenpairs and return what makes X from them; parameters as in :func:`spectral_deepwalk`."""
    pairs = leading_eigenpairs(graph, eigenpairs, seed, threads)
    return SpectralRows(
        spectral_factor(graph, *pairs, window=window, negative=negative, dtype=dtype), threads
    )


def spectral_factor(
    graph: Graph,
    values: NDArray[np.float64],
    vectors: NDArray[np.float64],
    *,
    window: int,
    negative: float,
    dtype: Any,
) -> NDArray[Any]:
    """Return F, of which ``X = log max(F F^T, 1)``; see :class:`SpectralRows`."""
    scale = np.sqrt(graph.volume / negative * window_filter(values, window))
    factor: NDArray[Any] = (inverse_root_degrees(graph)[:, None] * vectors * scale).astype(dtype)
    return factor


def spectral_deepwalk(
    graph: Graph,
    *,
    window: int,
    negative: float,
    eigenpairs: int,
    dtype: Any,
    seed: int,
    threads: int,
    progress: Progress | None = None,
) -> sparse.csr_array:
    """Build X by blocks of rows from ``eigenpairs`` eigenpairs.

    Parameters
    ----------
    graph : Graph
        Undirected; weights count, isolated nodes get empty rows.
    window, negative : int, float
        T and b.
    eigenpairs : int
        h; between the number of connected components and the number of nodes.
    dtype : numpy dtype
        float32 or float64.
    seed : int
        Of the eigensolver's start.
    threads : int
        Blocks built side by side. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(done, n)`` after each block.

    Returns
    -------
    csr_array of shape (n, n)
        Non-negative.
    """
    rows = spectral_rows(
        graph,
        window=window,
        negative=negative,
        eigenpairs=eigenpairs,
        dtype=dtype,
        seed=seed,
        threads=threads,
    )
    return collect_rows(rows, progress)
