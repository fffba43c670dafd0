"""DeepWalk's connectivity matrix from the leading eigenpairs, as NetMF does it for large windows.

With ``N = D^-1/2 A D^-1/2`` and its h largest eigenvalues ``λ`` and eigenvectors Q,

``X = log max( vol(G) / b · D^-1/2 Q f(Λ) Q^T D^-1/2 , 1 )``,  ``f(λ) = max((λ + λ^2 + … + λ^T) / T, 0)``.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.connectivity.adjacency import inverse_root_degrees, normalized_adjacency
from boostne.connectivity.rows import RowCollector, blocks_in_order
from boostne.decompositions import lanczos
from boostne.errors import ParameterError
from boostne.graph import Graph

DENSE_SIZE = 256  # nodes of a component that is solved as a dense matrix
FLOOR = -1.5  # below all eigenvalues of the normalised adjacency
BLOCK_BYTES = 1 << 23  # of the dense rows that one thread holds

Progress = Callable[[int, int], None]


def window_filter(eigenvalues: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return ``f(λ)``: what averaging walks of 1 to T steps makes of an eigenvalue, negative ones cut off."""
    total = np.zeros_like(eigenvalues)
    for _ in range(window):  # Horner's rule; the closed form divides by 1 - λ
        total = eigenvalues * (total + 1)
    return np.maximum(total / window, 0)


def leading_eigenpairs(
    graph: Graph, n_eigenpairs: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of the normalised adjacency, descending, and their vectors.

    All components share the eigenvalue 1, which says no more than "this component"; an h that is not above their
    number is refused.
    """
    components = _components(graph)
    _check_eigenpairs(n_eigenpairs, graph.n_nodes, len(components))
    return component_eigenpairs(graph, n_eigenpairs, seed, components)


def component_eigenpairs(
    graph: Graph, count: int, seed: int, components: list[NDArray[np.int64]] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of the normalised adjacency, descending, and their vectors.

    Each connected component is solved by itself: a Lanczos method, which sees the whole matrix through one vector,
    finds an eigenvalue that several components share too few times. Pairs beyond the number of nodes that have an
    edge are zero.
    """
    root, N = inverse_root_degrees(graph), normalized_adjacency(graph)
    pairs = [
        (value, nodes, vector)
        for nodes in (_components(graph) if components is None else components)
        for value, vector in _component_eigenpairs(N[nodes][:, nodes], root[nodes], count, seed)
    ]
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


def _component_eigenpairs(
    N: sparse.csr_array, root: NDArray[np.float64], count: int, seed: int
) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Largest eigenpairs of one component, at most ``count``."""
    from scipy.linalg import eigh
    from threadpoolctl import threadpool_limits

    # One BLAS thread: the order of its sums, and so the last bits, must not depend on the machine's cores.
    with threadpool_limits(limits=1, user_api="blas"):
        if N.shape[0] <= max(DENSE_SIZE, count):
            values, vectors = eigh(N.toarray())
        else:
            # The first pair is known: eigenvalue 1, and the roots of the degrees.
            first = np.ones(1), (1 / root)[:, None] / np.linalg.norm(1 / root)
            values, vectors = lanczos(N, count, first, floor=FLOOR, rng=np.random.default_rng(seed))
    yield from zip(values.tolist(), vectors.T, strict=True)


def _check_eigenpairs(n_eigenpairs: int, n_nodes: int, n_components: int) -> None:
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
    from threadpoolctl import threadpool_limits

    values, vectors = leading_eigenpairs(graph, eigenpairs, seed)
    scale = np.sqrt(graph.volume / negative * window_filter(values, window))
    F = (inverse_root_degrees(graph)[:, None] * vectors * scale).astype(dtype)
    size = max(1, BLOCK_BYTES // (len(F) * F.itemsize))

    def build(rows: range) -> list[tuple[Any, Any]]:
        M = F[rows.start : rows.stop] @ F.T
        positions = [np.flatnonzero(row > 1) for row in M]
        return [(at.astype(np.int32), np.log(row[at])) for at, row in zip(positions, M, strict=True)]

    collector = RowCollector(graph.n_nodes, dtype)
    with threadpool_limits(limits=1, user_api="blas"):
        for rows, made in blocks_in_order(build, len(F), size, threads):
            collector.extend(made)
            if progress is not None:
                progress(rows.stop, len(F))
    return collector.finish()
