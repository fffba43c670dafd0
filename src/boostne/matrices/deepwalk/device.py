"""Rows of DeepWalk's connectivity matrix, built on a GPU (or on another device of PyTorch's)."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from boostne.graph import Graph
from boostne.kernels.cuda import operations as gpu
from boostne.kernels.cuda.operations import CSR, Tensor
from boostne.matrices.adjacency import normalized_adjacency
from boostne.matrices.deepwalk.spectral import check_eigenpairs, leading_eigenpairs, spectral_factor

DENSE_NODES = 16_384  # up to which all eigenpairs at once are found sooner than the leading ones on the host
ALIGN = 32  # columns to which those that take a step together are padded


class ExactRows:
    """Makes rows of the exact X; see :mod:`boostne.matrices.deepwalk.exact`.

    Parameters
    ----------
    graph : Graph
        Undirected; weights count, isolated nodes get empty rows.
    window, negative : int, float
        T and b.
    dtype : numpy dtype
        float32 or float64.
    device : str
        PyTorch's name of the device.
    """

    def __init__(self, graph: Graph, *, window: int, negative: float, dtype: Any, device: str) -> None:
        A = graph.adjacency
        self.shape = (graph.n_nodes, graph.n_nodes)
        self.dtype = np.dtype(dtype)
        pointers = torch.tensor(A.indptr, device=device)
        indices = torch.tensor(A.indices, device=device)
        weights = torch.tensor(A.data, dtype=torch.float64, device=device)
        degrees = torch.from_numpy(graph.degrees).to(device)
        inverse = torch.where(degrees > 0, 1 / degrees, 0)
        rows = torch.repeat_interleave(inverse, pointers.diff())
        number = torch.from_numpy(np.empty(0, dtype)).dtype
        pointers = pointers.to(torch.int32)
        self._S = CSR(pointers[:-1], pointers[1:], indices.to(torch.int32), (rows * weights).to(number))
        # A is symmetric: column j of S is row j of this.
        self._columns = (weights * inverse[indices]).to(number)
        self._scale = (graph.volume / (negative * window) * inverse).to(number)
        self._window = window

    def __call__(self, nodes: NDArray[np.int64], out: Tensor) -> None:
        """Write the rows of some nodes. X is symmetric: they are built as its columns."""
        at = torch.from_numpy(nodes).to(out.device)
        gpu.truncated_log(self._walks(at), self._scale[at], out)

    def _walks(self, nodes: Tensor) -> Tensor:
        """Columns of ``S + S^2 + … + S^T`` by Horner's rule, ``B <- S (B + I)``, and padding."""
        columns = torch.arange(len(nodes), device=nodes.device)
        B = self._scale.new_zeros(self.shape[0], -(-len(nodes) // ALIGN) * ALIGN)
        self._first_step(nodes, B)
        after = torch.empty_like(B)
        for _ in range(self._window - 1):
            B[nodes, columns] += 1
            gpu.csr_matmul_wide(self._S, B, after)
            B, after = after, B
        return B

    def _first_step(self, nodes: Tensor, B: Tensor) -> None:
        """Write the columns ``S e_j`` of some nodes j to B, which is 0."""
        part = CSR(self._S.starts[nodes], self._S.ends[nodes], self._S.indices, self._columns)
        columns, entries = gpu.csr_entries(part)
        B[part.indices[entries], columns] = part.data[entries]


class SpectralRows:
    """Makes rows of the spectral X; see :mod:`boostne.matrices.deepwalk.spectral`. Parameters as there."""

    def __init__(
        self,
        graph: Graph,
        *,
        window: int,
        negative: float,
        eigenpairs: int,
        dtype: Any,
        seed: int,
        device: str,
    ) -> None:
        pairs = _eigenpairs(graph, eigenpairs, seed, device)
        self.shape = (graph.n_nodes, graph.n_nodes)
        self.dtype = np.dtype(dtype)
        F = spectral_factor(graph, *pairs, window=window, negative=negative, dtype=dtype)
        self._F = torch.tensor(F, device=device)

    def __call__(self, nodes: NDArray[np.int64], out: Tensor) -> None:
        """Write the rows of some nodes."""
        with gpu.float32_products():
            out[:] = self._F[torch.tensor(nodes, device=out.device)] @ self._F.T
        out.clamp_(min=1).log_()


Pairs = tuple[NDArray[np.float64], NDArray[np.float64]]


def _eigenpairs(graph: Graph, count: int, seed: int, device: str) -> Pairs:
    """Return the largest eigenvalues of the normalized adjacency, descending, and their vectors."""
    if graph.n_nodes <= DENSE_NODES:
        check_eigenpairs(graph, count)
        try:
            return _dense_eigenpairs(graph, count, device)
        except torch.OutOfMemoryError:
            pass  # the host needs little memory for them
    return leading_eigenpairs(graph, count, seed)


def _dense_eigenpairs(graph: Graph, count: int, device: str) -> Pairs:
    N = normalized_adjacency(graph).tocoo()
    dense = torch.zeros(N.shape, dtype=torch.float64, device=device)
    row, column, data = (torch.tensor(part, device=device) for part in (N.row, N.col, N.data))
    dense[row.long(), column.long()] = data.double()
    values, vectors = torch.linalg.eigh(dense)
    return values.flip(0)[:count].cpu().numpy(), vectors.flip(1)[:, :count].cpu().numpy()
