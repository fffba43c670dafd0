"""Rows of the DeepWalk and GraRep matrices in NumPy."""

import numpy as np
from scipy import sparse

from boostne.kernels.contract import Array, PushedRows, SparseRows
from boostne.kernels.csr_graph import TransitionGraph
from boostne.kernels.push_graph import PushGraph


def adjacency(graph: TransitionGraph) -> sparse.csr_array:
    """Return the adjacency matrix, with explicit weights."""
    data = np.ones(len(graph.indices), graph.inverse_degree.dtype) if graph.weights is None else graph.weights
    return sparse.csr_array((data, graph.indices, graph.indptr), shape=(graph.n, graph.n))


def identity_columns(graph: TransitionGraph, columns: range) -> Array:
    """Return some columns of the identity matrix."""
    block = np.zeros((graph.n, len(columns)), graph.inverse_degree.dtype)
    block[np.arange(columns.start, columns.stop), np.arange(len(columns))] = 1
    return block


def positive_logarithms(B: Array) -> SparseRows:
    """Return the positive entries of ``log B``, column by column."""
    kept = [np.flatnonzero(column > 1).astype(np.int32) for column in B.T]
    return [(rows, np.log(B[rows, c])) for c, rows in enumerate(kept)]


def walk_columns(
    graph: TransitionGraph, scale: Array, window: int, columns: range, row_scale: Array | None = None
) -> SparseRows:
    """Compute columns of the DeepWalk matrix: ``B <- S (B + I)``, ``window`` times."""
    A, identity = adjacency(graph), identity_columns(graph, columns)
    B = np.zeros_like(identity)
    for _ in range(window):
        B = graph.inverse_degree[:, None] * (A @ (B + identity))
    B *= scale[columns.start : columns.stop]
    if row_scale is not None:
        B *= row_scale[:, None]
    return positive_logarithms(B)


def step_rows(graph: TransitionGraph, scales: tuple[Array, Array], steps: int, rows: range) -> SparseRows:
    """Compute rows of a GraRep matrix: ``B <- S B``, ``steps`` times."""
    A, B = adjacency(graph), identity_columns(graph, rows)
    for _ in range(steps):
        B = graph.inverse_degree[:, None] * (A @ B)
    B *= scales[0][rows.start : rows.stop] * scales[1][:, None]
    return positive_logarithms(B)


def push_rows(
    graph: PushGraph, *, factor: float, epsilon: float, window: int, cap: int, rows: range, first_column: int = 0
) -> PushedRows:
    """Compute rows of the DeepWalk matrix by forward push."""
    A, inverse_degree, inverse_visits = adjacency(graph), graph.inverse_degree, graph.inverse_visits
    pushed, dropped = [], np.zeros(len(rows))
    for r, i in enumerate(rows):
        mass, total = np.zeros(graph.n, A.dtype), np.zeros(graph.n, A.dtype)
        mass[i] = 1
        for step in range(window):
            if step > 0:
                small = inverse_visits * mass < epsilon
                dropped[r] += mass[small].sum(dtype=np.float64) * (window - step)
                mass[small] = 0
            mass = A.T @ (inverse_degree * mass)
            total += mass
        entries = total * inverse_visits * inverse_visits.dtype.type(factor)
        entries[:first_column] = 0
        columns = np.flatnonzero(entries > 1)
        descending = columns[np.argsort(-entries[columns], kind="stable")]
        dropped[r] += total[descending[cap:]].sum(dtype=np.float64)
        columns = np.sort(descending[:cap])
        pushed.append((columns, np.log(entries[columns])))
    counts = np.array([len(columns) for columns, _ in pushed], np.int64)
    columns, values = (np.concatenate(parts) for parts in zip(*pushed, strict=True))
    return counts, columns.astype(np.int32), values, dropped / window
