"""Operations of the CUDA engine on PyTorch tensors.

Operations without a fast PyTorch equivalent are Triton kernels for tensors on a GPU. For tensors on the CPU they are
the plain code in this module, which documents what the kernels compute and lets the engine's tests run without a GPU.
No operation synchronizes with the host unless its docstring says so.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from boostne.kernels.contract import DEAD_COMPONENT

Tensor = torch.Tensor

NORM_CHUNK = 1 << 25  # values converted to double at a time
DENSE_PROGRAMS = 1024  # target number of programs of a dense product
MAX_DENSE_PARTS = 8


@dataclass
class CSR:
    """A sparse matrix: row i has the values ``data[starts[i]:ends[i]]`` in the columns ``indices[starts[i]:ends[i]]``.

    A row that shrinks leaves a gap at its end, so the arrays stay in place.
    """

    starts: Tensor
    ends: Tensor
    indices: Tensor
    data: Tensor

    @property
    def nnz(self) -> int:
        """Number of entries; synchronizes with the host."""
        return int((self.ends - self.starts).sum())


def _triton() -> Any:
    from boostne.kernels.cuda import triton_kernels

    return triton_kernels


@contextmanager
def float32_products() -> Iterator[None]:
    """Compute products of float32 matrices in full float32 precision, regardless of global settings."""
    matmul = torch.backends.cuda.matmul
    # Since torch 2.9, which warns if the two settings are mixed.
    new = hasattr(matmul, "fp32_precision")
    name, exact = ("fp32_precision", "ieee") if new else ("allow_tf32", False)
    before = getattr(matmul, name)
    setattr(matmul, name, exact)
    try:
        yield
    finally:
        setattr(matmul, name, before)


class CudaGraphRunner:
    """Runs a sequence of operations on fixed tensors as a single CUDA graph.

    The first call compiles the kernels, the second captures them as a graph, and later calls replay it: launching the
    kernels one by one takes longer than running them. On the CPU, operations run directly.
    """

    def __init__(self, device: str) -> None:
        self._eager = torch.device(device).type != "cuda"
        self._compiled = False
        self._graph: Any = None

    def __call__(self, work: Callable[[], None]) -> None:
        """Run ``work``, which must be the same in every call; no reference to it is kept, to avoid a cycle."""
        if self._eager or not self._compiled:
            work()
            self._compiled = True
            return
        if self._graph is None:
            self._graph = _capture(work)
        self._graph.replay()


def _capture(work: Callable[[], None]) -> Any:
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            work()
        finally:
            graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)
    return graph


def n_partials(n: int, device: str) -> int:
    """Return the number of partial sums that :func:`hals_update` writes for a factor with n rows."""
    return int(_triton().n_programs(n)) if torch.device(device).type == "cuda" else 1


def allocate_partials(count: int, width: int, device: str) -> Tensor:
    """Allocate ``count`` partial sums of a factor's summary: its Gram matrix and one more row."""
    return torch.zeros(count, (width + 1) * width, dtype=torch.float64, device=device)


def hals_update(X: Tensor, P: Tensor, gram: Tensor, inner: int, partials: Tensor) -> None:
    """Run HALS sweeps on X, in place; see :func:`boostne.kernels.reference.factorization.hals_sweeps`.

    Parameters
    ----------
    X : Tensor
        (n, width).
    P : Tensor
        (parts, n, width): the target, as a sum over the parts.
    gram : Tensor of float64
        Gram matrix of the other factor; additional rows are ignored.
    inner : int
        Number of sweeps.
    partials : Tensor of float64
        Output: partial sums of ``X^T X``, followed by a row with ``<P_c, X_c>`` for each component c.
    """
    if X.is_cuda:
        _triton().hals_update(X, P, gram, inner, partials)
        return
    width = X.shape[1]
    P, small = P.sum(0), gram[:width].to(X.dtype)
    weights = torch.diagonal(gram[:width])
    dead = weights <= DEAD_COMPONENT * weights.max()
    for _ in range(inner):
        for c in range(width):
            new = (X[:, c] + (P[:, c] - X @ small[c]) / small[c, c]).clamp_(min=0)
            X[:, c] = 0 if dead[c] else new
    products = (X.double() * P).sum(0)
    partials[0] = torch.cat([gram_of(X), products[None]]).flatten()


def extrapolate(X: Tensor, previous: Tensor, step: Tensor, partials: Tensor) -> None:
    """``X, previous <- max(X + step (X - previous), 0), X``; writes partial sums of the new ``X^T X``."""
    if X.is_cuda:
        _triton().extrapolate(X, previous, step, partials)
        return
    new = (X + step.to(X.dtype) * (X - previous)).clamp_(min=0)
    previous.copy_(X)
    X.copy_(new)
    partials[0, : X.shape[1] ** 2] = gram_of(X).flatten()


def reduce_partials(partials: Tensor, out: Tensor) -> None:
    """Add the partial sums of a factor's summary, for as many rows as ``out`` has."""
    if out.is_cuda:
        _triton().reduce_partials(partials, out)
    else:
        out.copy_(partials[:, : out.numel()].sum(0).view_as(out))


def gram_of(X: Tensor) -> Tensor:
    """Return ``X^T X`` in double precision."""
    wide = X.double()
    return wide.T @ wide


def norm2(data: Tensor) -> Tensor:
    """Return the sum of squares in double precision; ``data`` has one or two dimensions."""
    size = max(1, NORM_CHUNK * len(data) // max(data.numel(), 1))
    parts = [part.double().square().sum() for part in torch.split(data, size)]
    return torch.stack(parts).sum() if parts else data.new_zeros((), dtype=torch.float64)


def csr_from_dense(dense: Tensor) -> CSR:
    """Convert a matrix with fewer than 2^31 nonzero entries; synchronizes with the host."""
    if not dense.is_cuda:
        rows, columns = dense.nonzero(as_tuple=True)
        return csr_from_entries(rows, columns, dense[rows, columns], len(dense))
    counts = torch.empty(len(dense), dtype=torch.int32, device=dense.device)
    _triton().csr_count(dense, counts)
    ends = counts.cumsum(0, dtype=torch.int32)
    size = int(ends[-1])
    indices = torch.empty(size, dtype=torch.int32, device=dense.device)
    matrix = CSR(ends - counts, ends, indices, dense.new_empty(size))
    _triton().csr_fill(dense, matrix)
    return matrix


def csr_from_entries(rows: Tensor, columns: Tensor, data: Tensor, n_rows: int) -> CSR:
    """Build a matrix from fewer than 2^31 entries; entries of the same row keep their order."""
    order = torch.argsort(rows, stable=True)
    counts = torch.bincount(rows, minlength=n_rows)
    ends = counts.cumsum(0, dtype=torch.int32)
    return CSR(ends - counts.to(torch.int32), ends, columns[order].to(torch.int32), data[order])


def csr_matmul(matrix: CSR, B: Tensor, out: Tensor, add: bool = False) -> None:
    """``out (+)= matrix B``; each row is summed in a fixed order."""
    if B.is_cuda:
        _triton().csr_matmul(matrix, B, out, add)
        return
    if not add:
        out.zero_()
    rows, entries = csr_entries(matrix)
    out.index_add_(0, rows, matrix.data[entries, None] * B[matrix.indices[entries]])


def csr_matmul_wide(matrix: CSR, B: Tensor, out: Tensor) -> None:
    """``out = matrix B`` for a B with many columns, a multiple of 32."""
    if B.is_cuda:
        _triton().csr_matmul_wide(matrix, B, out)
    else:
        csr_matmul(matrix, B, out)


def csr_deflate(matrix: CSR, U: Tensor, V: Tensor) -> Tensor:
    """``R <- max(R - U V^T, 0)`` on R's pattern, dropping zeros; returns the squared norm of each row."""
    norms = torch.zeros(len(matrix.starts), dtype=torch.float64, device=U.device)
    if U.is_cuda:
        _triton().csr_deflate(matrix, U, V, norms)
        return norms
    rows, entries = csr_entries(matrix)
    columns = matrix.indices[entries]
    left = matrix.data[entries] - (U[rows] * V[columns]).sum(1)
    keep = ~(left <= 0)  # keeps a NaN, so that it shows in the norm
    rows, columns, left = rows[keep], columns[keep], left[keep]
    matrix.ends = matrix.starts + torch.bincount(rows, minlength=len(norms)).to(torch.int32)
    _, entries = csr_entries(matrix)
    matrix.indices[entries], matrix.data[entries] = columns, left
    return norms.index_add_(0, rows, left.double().square())


def csr_entries(matrix: CSR) -> tuple[Tensor, Tensor]:
    """Return row and position of each entry; synchronizes with the host."""
    lengths = matrix.ends - matrix.starts
    rows = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)
    before = (lengths.cumsum(0) - lengths)[rows]
    return rows, torch.arange(len(rows), device=lengths.device) - before + matrix.starts[rows]


def truncated_log(B: Tensor, scale: Tensor, out: Tensor) -> None:
    """``out_ij = log max(scale_i B_ji, 1)``; surplus columns of B are ignored."""
    if B.is_cuda:
        _triton().truncated_log(B, scale, out)
        return
    torch.mul(B[:, : len(out)].T, scale[:, None], out=out)
    out.clamp_(min=1).log_()


def dense_deflate(R: Tensor, U: Tensor, V: Tensor) -> tuple[float, int]:
    """``R <- max(R - U V^T, 0)``; returns its squared norm and its number of positive entries."""
    if R.is_cuda and R.dtype == torch.float32:
        norm, count = _triton().dense_deflate(R, U, V)
        return float(norm), int(count)
    with float32_products():
        R.addmm_(U, V.T, alpha=-1)
    R.clamp_(min=0)
    return float(norm2(R)), int(torch.count_nonzero(R))


def dense_parts(n: int, device: str) -> int:
    """Return the number of parts into which :func:`dense_matmul` splits a product with n rows to occupy the GPU."""
    if torch.device(device).type != "cuda":
        return 1
    programs = -(-n // int(_triton().DENSE_ROWS))
    return min(max(DENSE_PROGRAMS // programs, 1), MAX_DENSE_PARTS)


def dense_matmul(R: Tensor, V: Tensor, out: Tensor, add: bool = False) -> None:
    """``out (+)= R V`` in full precision, as a sum over the parts of ``out``."""
    if R.is_cuda and R.dtype == torch.float32:
        _triton().dense_matmul(R, V, out, add)
        return
    with float32_products():
        out[0].addmm_(R, V, beta=int(add))
    if not add:
        out[1:] = 0
