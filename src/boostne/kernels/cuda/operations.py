"""The arithmetic of the GPU engine on PyTorch's tensors.

What PyTorch has no fast call for is a Triton kernel where the tensors lie on a GPU; elsewhere it is the plain
code here, which says what the kernel computes and runs the engine's tests on machines without a GPU. Nothing
here makes the host wait, unless it says so.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from boostne.kernels.reference.kernels import DEAD

Tensor = torch.Tensor

CHUNK = 1 << 25  # numbers that are looked at together, so that what is made of them stays small
DENSE_PROGRAMS = 1024  # for which a dense product is cut into parts
MOST_PARTS = 8


@dataclass
class CSR:
    """A sparse matrix: ``data[starts[i]:ends[i]]`` is row i, in the columns ``indices``.

    Rows may shrink, and leave room behind them: so the arrays stay where they are.
    """

    starts: Tensor
    ends: Tensor
    indices: Tensor
    data: Tensor

    @property
    def nnz(self) -> int:
        """Number of entries; the host waits for it."""
        return int((self.ends - self.starts).sum())


def _triton() -> Any:
    from boostne.kernels.cuda import triton_kernels

    return triton_kernels


@contextmanager
def float32_products() -> Iterator[None]:
    """Compute products of float32 matrices in float32, whatever the program around us chose."""
    matmul = torch.backends.cuda.matmul
    # since torch 2.9; it does not like to be mixed with the older one
    new = hasattr(matmul, "fp32_precision")
    name, exact = ("fp32_precision", "ieee") if new else ("allow_tf32", False)
    before = getattr(matmul, name)
    setattr(matmul, name, exact)
    try:
        yield
    finally:
        setattr(matmul, name, before)


class Recorded:
    """Work on tensors that stay where they are, launched as one on a GPU.

    The first call compiles the kernels, the second records them, the others play them back: launching them one by
    one takes longer than they run.
    """

    def __init__(self, device: str) -> None:
        self._eager = torch.device(device).type != "cuda"
        self._compiled = False
        self._graph: Any = None

    def __call__(self, work: Callable[[], None]) -> None:
        """Do the work, always the same. It is not kept: whoever does it owns this, and both should go at once."""
        if self._eager or not self._compiled:
            work()
            self._compiled = True
            return
        if self._graph is None:
            self._graph = _record(work)
        self._graph.replay()


def _record(work: Callable[[], None]) -> Any:
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


def programs(n: int, device: str) -> int:
    """Return how many parts :func:`fit` leaves of the summary of a factor with n rows."""
    return int(_triton().programs(n)) if torch.device(device).type == "cuda" else 1


def partial_sums(parts: int, width: int, device: str) -> Tensor:
    """Room for the parts of a factor's summary."""
    return torch.zeros(parts, (width + 1) * width, dtype=torch.float64, device=device)


def fit(X: Tensor, P: Tensor, gram: Tensor, inner: int, partial: Tensor) -> None:
    """HALS sweeps of X, in place; see :func:`boostne.kernels.reference.kernels.hals_sweeps`.

    Parameters
    ----------
    X : Tensor
        (n, width).
    P : Tensor
        (parts, n, width): the sum over the parts is what X is fitted to.
    gram : Tensor of float64
        Of the other factor; it may have more rows than width.
    inner : int
        Sweeps.
    partial : Tensor of float64
        Takes the parts of ``X^T X`` and, below it, of ``<P_c, X_c>`` for each component c.
    """
    if X.is_cuda:
        _triton().fit(X, P, gram, inner, partial)
        return
    width = X.shape[1]
    P, small = P.sum(0), gram[:width].to(X.dtype)
    weights = torch.diagonal(gram[:width])
    gone = weights <= DEAD * weights.max()
    for _ in range(inner):
        for c in range(width):
            new = (X[:, c] + (P[:, c] - X @ small[c]) / small[c, c]).clamp_(min=0)
            X[:, c] = 0 if gone[c] else new
    products = (X.double() * P).sum(0)
    partial[0] = torch.cat([gram_of(X), products[None]]).flatten()


def step_on(X: Tensor, before: Tensor, step: Tensor, partial: Tensor) -> None:
    """``X, before <- max(X + step (X - before), 0), X``; ``partial`` takes the parts of the new ``X^T X``."""
    if X.is_cuda:
        _triton().step_on(X, before, step, partial)
        return
    new = (X + step.to(X.dtype) * (X - before)).clamp_(min=0)
    before.copy_(X)
    X.copy_(new)
    partial[0, : X.shape[1] ** 2] = gram_of(X).flatten()


def total(partial: Tensor, out: Tensor) -> None:
    """Add the parts of a factor's summary, as many rows of it as ``out`` has."""
    if out.is_cuda:
        _triton().total(partial, out)
    else:
        out.copy_(partial[:, : out.numel()].sum(0).view_as(out))


def gram_of(X: Tensor) -> Tensor:
    """``X^T X`` in double precision."""
    wide = X.double()
    return wide.T @ wide


def norm2(data: Tensor) -> Tensor:
    """Sum of squares in double precision; ``data`` has one or two dimensions."""
    size = max(1, CHUNK * len(data) // max(data.numel(), 1))
    parts = [part.double().square().sum() for part in torch.split(data, size)]
    return torch.stack(parts).sum() if parts else data.new_zeros((), dtype=torch.float64)


def csr_from_dense(dense: Tensor) -> CSR:
    """Positive entries of a matrix with fewer than 2^31 of them; the host waits for their number."""
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
    """Sort fewer than 2^31 entries by their rows; within a row they keep their order."""
    order = torch.argsort(rows, stable=True)
    counts = torch.bincount(rows, minlength=n_rows)
    ends = counts.cumsum(0, dtype=torch.int32)
    return CSR(ends - counts.to(torch.int32), ends, columns[order].to(torch.int32), data[order])


def csr_matmul(matrix: CSR, B: Tensor, out: Tensor, add: bool = False) -> None:
    """``out (+)= matrix B``; each row is summed in an order of its own."""
    if B.is_cuda:
        _triton().csr_matmul(matrix, B, out, add)
        return
    if not add:
        out.zero_()
    rows, entries = csr_entries(matrix)
    out.index_add_(0, rows, matrix.data[entries, None] * B[matrix.indices[entries]])


def csr_step(matrix: CSR, B: Tensor, out: Tensor) -> None:
    """``out = matrix B`` for a B with many columns, a multiple of 32."""
    if B.is_cuda:
        _triton().csr_step(matrix, B, out)
    else:
        csr_matmul(matrix, B, out)


def csr_deflate(matrix: CSR, U: Tensor, V: Tensor) -> Tensor:
    """``R <- max(R - U V^T, 0)`` on R's pattern, without what became 0; returns the squared norms of the rows."""
    norms = torch.zeros(len(matrix.starts), dtype=torch.float64, device=U.device)
    if U.is_cuda:
        _triton().csr_deflate(matrix, U, V, norms)
        return norms
    rows, entries = csr_entries(matrix)
    columns = matrix.indices[entries]
    left = matrix.data[entries] - (U[rows] * V[columns]).sum(1)
    keep = ~(left <= 0)  # so that a NaN is kept, and seen in the norm
    rows, columns, left = rows[keep], columns[keep], left[keep]
    matrix.ends = matrix.starts + torch.bincount(rows, minlength=len(norms)).to(torch.int32)
    _, entries = csr_entries(matrix)
    matrix.indices[entries], matrix.data[entries] = columns, left
    return norms.index_add_(0, rows, left.double().square())


def csr_entries(matrix: CSR) -> tuple[Tensor, Tensor]:
    """Row and position of each entry; the host waits for their number."""
    lengths = matrix.ends - matrix.starts
    rows = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)
    before = (lengths.cumsum(0) - lengths)[rows]
    return rows, torch.arange(len(rows), device=lengths.device) - before + matrix.starts[rows]


def walk_logarithms(B: Tensor, scale: Tensor, out: Tensor) -> None:
    """``out = log max(scale_i B_ji, 1)``: rows of ``out`` from columns of B, of which there may be more."""
    if B.is_cuda:
        _triton().finish(B, scale, out)
        return
    torch.mul(B[:, : len(out)].T, scale[:, None], out=out)
    out.clamp_(min=1).log_()


def dense_deflate(R: Tensor, U: Tensor, V: Tensor) -> tuple[float, int]:
    """``R <- max(R - U V^T, 0)``; returns its squared norm and its positive entries."""
    if R.is_cuda and R.dtype == torch.float32:
        norm, count = _triton().dense_deflate(R, U, V)
        return float(norm), int(count)
    with float32_products():
        R.addmm_(U, V.T, alpha=-1)
    R.clamp_(min=0)
    return float(norm2(R)), int(torch.count_nonzero(R))


def dense_parts(n: int, device: str) -> int:
    """Parts in which :func:`dense_matmul` leaves a product with n rows, so that it fills the card."""
    if torch.device(device).type != "cuda":
        return 1
    programs = -(-n // int(_triton().DENSE_ROWS))
    return min(max(DENSE_PROGRAMS // programs, 1), MOST_PARTS)


def dense_matmul(R: Tensor, V: Tensor, out: Tensor, add: bool = False) -> None:
    """``out (+)= R V``, as a sum over the parts of ``out``, as exact as float32 (or float64) is."""
    if R.is_cuda and R.dtype == torch.float32:
        _triton().dense_matmul(R, V, out, add)
        return
    with float32_products():
        out[0].addmm_(R, V, beta=int(add))
    if not add:
        out[1:] = 0
