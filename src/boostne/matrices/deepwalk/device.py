"""Rows of DeepWalk's connectivity matrix, built by PyTorch on a GPU or another device."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from boostne.graph import Graph
from boostne.kernels.csr_graph import CSRGraph
from boostne.kernels.cuda import operations as gpu
from boostne.kernels.cuda.operations import CSR, Tensor
from boostne.matrices.adjacency import cast_inverse_degrees, normalized_adjacency, reciprocal
from boostne.matrices.deepwalk.directed import DirectedWalk
from boostne.matrices.deepwalk.spectral import Eigenpairs, check_eigenpairs, leading_eigenpairs, spectral_factor

DENSE_NODES = 16_384  # up to here a dense eigendecomposition on the device beats the iterative one on the host
ALIGN = 32  # the number of columns that take a step together is padded to a multiple of this


class ExactDeviceRows:
    """Builds rows of the exact X; see :mod:`boostne.matrices.deepwalk.exact`.

    Parameters
    ----------
    graph : Graph
        Weights count, isolated nodes get empty rows.
    window, negative : int, float
        T and b.
    dtype : numpy dtype
        float32 or float64.
    device : str
        Name of the device, as in PyTorch.
    """

    def __init__(self, graph: Graph, *, window: int, negative: float, dtype: Any, device: str) -> None:
        self._window = window
        self._target_scale: Tensor | None = None
        if graph.directed:
            self._store_directed(graph, negative, np.dtype(dtype), device)
            return
        A = graph.adjacency
        pointers = torch.tensor(A.indptr, device=device)
        indices = torch.tensor(A.indices, device=device)
        weights = torch.tensor(A.data, dtype=torch.float64, device=device)
        degrees = torch.from_numpy(graph.degrees).to(device)
        inverse = torch.where(degrees > 0, 1 / degrees, 0)
        rows = torch.repeat_interleave(inverse, pointers.diff())
        number = torch.from_numpy(np.empty(0, dtype)).dtype
        pointers = pointers.to(torch.int32)
        self._S = CSR(pointers[:-1], pointers[1:], indices.to(torch.int32), (rows * weights).to(number))
        # A is symmetric, so column j of S is row j of this.
        columns = (weights * inverse[indices]).to(number)
        self._columns = CSR(self._S.starts, self._S.ends, self._S.indices, columns)
        self._scale = (graph.volume / (negative * window) * inverse).to(number)

    def _store_directed(self, graph: Graph, negative: float, dtype: np.dtype[Any], device: str) -> None:
        """Store ``S^T`` instead of S: its columns are rows of S."""
        walk = DirectedWalk.of(graph, self._window)
        transition = walk.transition_graph(dtype)
        self._S, self._columns = (_on_device(edges, device) for edges in (transition, transition.reversed))
        self._scale = torch.from_numpy((walk.starts / (negative * self._window)).astype(dtype)).to(device)
        visits = cast_inverse_degrees(reciprocal(walk.mean_visits), dtype)
        self._target_scale = torch.from_numpy(visits).to(device)

    def __call__(self, nodes: NDArray[np.int64], out: Tensor) -> None:
        """Write the rows of some nodes, built as columns."""
        at = torch.from_numpy(nodes).to(out.device)
        walks = self._walks(at)
        if self._target_scale is not None:
            walks *= self._target_scale[:, None]
        gpu.truncated_log(walks, self._scale[at], out)

    def _walks(self, nodes: Tensor) -> Tensor:
        """Return columns of ``S + S^2 + … + S^T``, padded, by Horner's rule ``B <- S (B + I)``."""
        columns = torch.arange(len(nodes), device=nodes.device)
        B = self._scale.new_zeros(len(self._scale), -(-len(nodes) // ALIGN) * ALIGN)
        self._first_step(nodes, B)
        after = torch.empty_like(B)
        for _ in range(self._window - 1):
            B[nodes, columns] += 1
            gpu.csr_matmul_wide(self._S, B, after)
            B, after = after, B
        return B

    def _first_step(self, nodes: Tensor, B: Tensor) -> None:
        """Write the columns ``S e_j`` of some nodes j to B, which is zero."""
        every = self._columns
        part = CSR(every.starts[nodes], every.ends[nodes], every.indices, every.data)
        columns, entries = gpu.csr_entries(part)
        B[part.indices[entries], columns] = part.data[entries]


def _on_device(edges: CSRGraph, device: str) -> CSR:
    pointers, indices, data = (
        torch.from_numpy(array).to(device) for array in (edges.indptr, edges.indices, edges.weights)
    )
    pointers = pointers.to(torch.int32)
    return CSR(pointers[:-1], pointers[1:], indices, data)


class SpectralDeviceRows:
    """Builds rows of the spectral X; parameters as for :class:`~boostne.matrices.deepwalk.spectral.SpectralSource`."""

    def __init__(
        self, graph: Graph, *, window: int, negative: float, eigenpairs: int, dtype: Any, seed: int, device: str
    ) -> None:
        pairs = _eigenpairs(graph, eigenpairs, seed, device)
        F = spectral_factor(graph, *pairs, window=window, negative=negative, dtype=dtype)
        self._F = torch.tensor(F, device=device)

    def __call__(self, nodes: NDArray[np.int64], out: Tensor) -> None:
        """Write the rows of some nodes."""
        with gpu.float32_products():
            out[:] = self._F[torch.tensor(nodes, device=out.device)] @ self._F.T
        out.clamp_(min=1).log_()


def _eigenpairs(graph: Graph, count: int, seed: int, device: str) -> Eigenpairs:
    """Return the largest eigenvalues of the normalized adjacency, descending, and their eigenvectors."""
    if graph.n_nodes <= DENSE_NODES:
        check_eigenpairs(graph, count)
        try:
            return _dense_eigenpairs(graph, count, device)
        except torch.OutOfMemoryError:
            pass  # the iterative solver on the host needs little memory
    return leading_eigenpairs(graph, count, seed)


def _dense_eigenpairs(graph: Graph, count: int, device: str) -> Eigenpairs:
    N = normalized_adjacency(graph).tocoo()
    dense = torch.zeros(N.shape, dtype=torch.float64, device=device)
    row, column, data = (torch.tensor(part, device=device) for part in (N.row, N.col, N.data))
    dense[row.long(), column.long()] = data.double()
    values, vectors = torch.linalg.eigh(dense)
    return values.flip(0)[:count].cpu().numpy(), vectors.flip(1)[:, :count].cpu().numpy()
