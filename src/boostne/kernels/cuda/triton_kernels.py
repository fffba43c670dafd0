"""Triton kernels of :mod:`boostne.kernels.cuda.operations`.

They use no atomic additions, so results are deterministic.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# ruff: noqa: D103

from typing import Any

import torch
import triton
import triton.language as tl

from boostne.kernels.contract import DEAD_COMPONENT

FACTOR_ROWS = 16  # rows of a factor in the registers of one program
REDUCE_ROWS = 64  # partial sums read at a time
GATHER_VALUES, GATHER_WARPS = 1024, 4  # values of a factor gathered at a time
WIDE_COLUMNS, WIDE_ENTRIES = 128, 2  # columns of B and entries of a row per warp
DEFLATE_TILE = 64  # rows and columns of a dense block per program
LOG_TILE = 32  # rows and columns of a transposed tile
SCAN_COLUMNS = 512  # entries of a dense row scanned at a time
DENSE_ROWS, DENSE_DEPTH, DENSE_WARPS, DENSE_STAGES = 128, 32, 4, 3


@triton.jit
def _store_gram(x, out, columns, W: tl.constexpr):
    wide = x.to(tl.float64)
    for c in range(W):
        one = tl.sum(tl.where((columns == c)[None, :], wide, 0.0), axis=1)
        tl.store(out + c * W + columns, tl.sum(wide * one[:, None], axis=0))


@triton.jit
def _hals_update(X, P, gram, partials, n, parts, inner, dead, size, W: tl.constexpr, ROWS: tl.constexpr):
    # ROWS rows of X stay in registers for all sweeps.
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, W)
    at = rows[:, None] * W + columns[None, :]
    inside = rows[:, None] < n
    x = tl.load(X + at, mask=inside, other=0.0)
    p = tl.load(P + at, mask=inside, other=0.0)
    part = at
    for _ in range(1, parts):
        part += n * W
        p += tl.load(P + part, mask=inside, other=0.0)
    threshold = tl.max(tl.load(gram + columns * (W + 1)), axis=0) * dead
    for _ in range(inner):
        for c in range(W):
            here = (columns == c)[None, :]
            g = tl.load(gram + c * W + columns).to(x.dtype)[None, :]
            weight = tl.load(gram + c * (W + 1))
            is_dead = weight <= threshold  # false for NaN, which must propagate
            scale = tl.where(is_dead, 0.0, 1.0 / weight.to(x.dtype))
            new = tl.sum(tl.where(here, p * scale + x, 0.0) - x * scale * g, axis=1)
            new = tl.where(new < 0, 0.0, new)  # propagates NaN
            new = tl.where(is_dead, 0.0, new)
            x = tl.where(here, new[:, None], x)
    tl.store(X + at, x, mask=inside)
    out = partials + tl.program_id(0).to(tl.int64) * size
    _store_gram(x, out, columns, W)
    tl.store(out + W * W + columns, tl.sum(x.to(tl.float64) * p.to(tl.float64), axis=0))


@triton.jit
def _extrapolate(X, previous, step, partials, n, size, W: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, W)
    at = rows[:, None] * W + columns[None, :]
    inside = rows[:, None] < n
    x = tl.load(X + at, mask=inside, other=0.0)
    new = x + tl.load(step).to(x.dtype) * (x - tl.load(previous + at, mask=inside, other=0.0))
    new = tl.where(new < 0, 0.0, new)
    tl.store(previous + at, x, mask=inside)
    tl.store(X + at, new, mask=inside)
    _store_gram(new, partials + tl.program_id(0).to(tl.int64) * size, columns, W)


@triton.jit
def _reduce_partials(partials, out, n, size, W: tl.constexpr, ROWS: tl.constexpr):
    columns = tl.program_id(0) * W + tl.arange(0, W)
    total = tl.zeros([ROWS, W], dtype=tl.float64)
    for first in range(0, n, ROWS):
        rows = first + tl.arange(0, ROWS)
        total += tl.load(
            partials + rows[:, None].to(tl.int64) * size + columns[None, :], mask=rows[:, None] < n, other=0.0
        )
    tl.store(out + columns, tl.sum(total, axis=0))


@triton.jit
def _csr_matmul(starts, ends, indices, data, B, out, width, ADD: tl.constexpr, W: tl.constexpr, ENTRIES: tl.constexpr):
    # One row of the sparse matrix times W columns of B.
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * W + tl.arange(0, W)
    inside = columns < width
    begin, end = tl.load(starts + row), tl.load(ends + row)
    total = tl.zeros([ENTRIES, W], dtype=out.dtype.element_ty)
    for first in range(begin, end, ENTRIES):
        entry = first + tl.arange(0, ENTRIES)
        there = entry < end
        j = tl.load(indices + entry, mask=there, other=0).to(tl.int64)
        a = tl.load(data + entry, mask=there, other=0.0)
        total += a[:, None] * tl.load(
            B + j[:, None] * width + columns[None, :], mask=there[:, None] & inside[None, :], other=0.0
        )
    result = tl.sum(total, axis=0)
    if ADD:
        result += tl.load(out + row * width + columns, mask=inside, other=0.0)
    tl.store(out + row * width + columns, result, mask=inside)


@triton.jit
def _csr_deflate(starts, ends, indices, data, U, V, norms, W: tl.constexpr, ENTRIES: tl.constexpr):
    # Compacts a row towards its start. A tile is read completely before it is written, because the destination of an
    # entry depends on the entries before it.
    row = tl.program_id(0)
    columns = tl.arange(0, W)
    u = tl.load(U + row.to(tl.int64) * W + columns)
    begin, end = tl.load(starts + row), tl.load(ends + row)
    kept = begin
    norm = tl.zeros([ENTRIES], dtype=tl.float64)
    for first in range(begin, end, ENTRIES):
        entry = first + tl.arange(0, ENTRIES)
        there = entry < end
        j = tl.load(indices + entry, mask=there, other=0)
        v = tl.load(V + j[:, None].to(tl.int64) * W + columns[None, :], mask=there[:, None], other=0.0)
        left = tl.load(data + entry, mask=there, other=0.0) - tl.sum(u[None, :] * v, axis=1)
        keep = there & ~(left <= 0)  # keeps a NaN, so that it shows in the norm
        to = kept + tl.cumsum(keep.to(tl.int32), axis=0) - 1
        tl.store(indices + to, j, mask=keep)
        tl.store(data + to, left, mask=keep)
        kept += tl.sum(keep.to(tl.int32), axis=0)
        wide = tl.where(keep, left, 0.0).to(tl.float64)
        norm += wide * wide
    tl.store(ends + row, kept)
    tl.store(norms + row, tl.sum(norm, axis=0))


@triton.jit
def _csr_scan(dense, stride, starts, counts, indices, data, n_columns, FILL: tl.constexpr, TILE: tl.constexpr):
    # Counts the nonzero entries of a row or, if FILL, stores them at the start of the row.
    row = tl.program_id(0).to(tl.int64)
    kept = 0
    if FILL:
        kept = tl.load(starts + row)
    for first in range(0, n_columns, TILE):
        column = first + tl.arange(0, TILE)
        x = tl.load(dense + row * stride + column, mask=column < n_columns, other=0.0)
        keep = x != 0
        if FILL:
            to = kept + tl.cumsum(keep.to(tl.int32), axis=0) - 1
            tl.store(indices + to, column, mask=keep)
            tl.store(data + to, x, mask=keep)
        kept += tl.sum(keep.to(tl.int32), axis=0)
    if not FILL:
        tl.store(counts + row, kept)


@triton.jit
def _truncated_log(B, B_stride, scale, out, out_stride, n, m, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = (columns[:, None] < m) & (rows[None, :] < n)
    b = tl.load(B + columns[:, None].to(tl.int64) * B_stride + rows[None, :], mask=inside, other=0.0)
    b *= tl.load(scale + rows, mask=rows < n, other=0.0)[None, :]
    x = tl.log(tl.maximum(b, 1.0, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + rows[:, None].to(tl.int64) * out_stride + columns[None, :], tl.trans(x), mask=tl.trans(inside))


@triton.jit
def _dense_deflate(R, stride, U, V, norms, counts, n, m, W: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    c = tl.arange(0, W)
    u = tl.load(U + rows[:, None].to(tl.int64) * W + c[None, :], mask=rows[:, None] < n, other=0.0)
    v = tl.load(V + columns[None, :].to(tl.int64) * W + c[:, None], mask=columns[None, :] < m, other=0.0)
    at = R + rows[:, None].to(tl.int64) * stride + columns[None, :]
    inside = (rows[:, None] < n) & (columns[None, :] < m)
    left = tl.load(at, mask=inside, other=0.0) - tl.dot(u, v, input_precision="tf32x3")
    left = tl.where(left < 0, 0.0, left)
    tl.store(at, left, mask=inside)
    wide = left.to(tl.float64)
    program = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    tl.store(norms + program, tl.sum(tl.sum(wide * wide, axis=1), axis=0))
    tl.store(counts + program, tl.sum(tl.sum((left != 0).to(tl.int32), axis=1), axis=0))


@triton.jit
def _dense_matmul(
    R, row_stride, column_stride, V, out, n, m, ADD: tl.constexpr, SPLIT: tl.constexpr, W: tl.constexpr,
    ROWS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    part = tl.program_id(1)
    columns = tl.arange(0, W)
    span = tl.cdiv(tl.cdiv(m, DEPTH), SPLIT) * DEPTH
    total = tl.zeros([ROWS, W], dtype=tl.float32)
    for first in range(part * span, tl.minimum((part + 1) * span, m), DEPTH):
        k = first + tl.arange(0, DEPTH)
        a = tl.load(
            R + rows[:, None].to(tl.int64) * row_stride + k[None, :].to(tl.int64) * column_stride,
            mask=(rows[:, None] < n) & (k[None, :] < m),
            other=0.0,
        )
        v = tl.load(V + k[:, None] * W + columns[None, :], mask=k[:, None] < m, other=0.0)
        # Three TF32 products on the tensor cores: as accurate as float32.
        total = tl.dot(a, v, total, input_precision="tf32x3")
    at = out + part.to(tl.int64) * n * W + rows[:, None] * W + columns[None, :]
    if ADD:
        total += tl.load(at, mask=rows[:, None] < n, other=0.0)
    tl.store(at, total, mask=rows[:, None] < n)


def n_programs(n: int) -> int:
    return -(-n // FACTOR_ROWS)


def hals_update(X: Any, P: Any, gram: Any, inner: int, partials: Any) -> None:
    n, width = X.shape
    size = partials.stride(0)
    _hals_update[(n_programs(n),)](
        X, P, gram, partials, n, len(P), inner, DEAD_COMPONENT, size, W=width, ROWS=FACTOR_ROWS,
        num_warps=max(1, width // 32),
    )  # fmt: skip


def extrapolate(X: Any, previous: Any, step: Any, partials: Any) -> None:
    n, width = X.shape
    _extrapolate[(n_programs(n),)](
        X, previous, step, partials, n, partials.stride(0), W=width, ROWS=FACTOR_ROWS, num_warps=max(1, width // 32)
    )  # fmt: skip


def reduce_partials(partials: Any, out: Any) -> None:
    rows, width = out.shape
    _reduce_partials[(rows,)](partials, out, len(partials), partials.stride(0), W=width, ROWS=REDUCE_ROWS, num_warps=4)


def csr_matmul(matrix: Any, B: Any, out: Any, add: bool) -> None:
    width = B.shape[1]
    _csr_matmul[(len(matrix.starts), 1)](
        matrix.starts, matrix.ends, matrix.indices, matrix.data, B, out, width,
        ADD=add, W=width, ENTRIES=max(GATHER_VALUES // width, 1), num_warps=GATHER_WARPS,
    )  # fmt: skip


def csr_matmul_wide(matrix: Any, B: Any, out: Any) -> None:
    width = B.shape[1]
    _csr_matmul[(len(matrix.starts), triton.cdiv(width, WIDE_COLUMNS))](
        matrix.starts, matrix.ends, matrix.indices, matrix.data, B, out, width,
        ADD=False, W=WIDE_COLUMNS, ENTRIES=WIDE_ENTRIES, num_warps=1,
    )  # fmt: skip


def truncated_log(B: Any, scale: Any, out: Any) -> None:
    n, m = out.shape
    _truncated_log[(triton.cdiv(n, LOG_TILE), triton.cdiv(m, LOG_TILE))](
        B, B.stride(0), scale, out, out.stride(0), n, m, TILE=LOG_TILE, num_warps=4
    )


def csr_deflate(matrix: Any, U: Any, V: Any, norms: Any) -> None:
    width = U.shape[1]
    _csr_deflate[(len(matrix.starts),)](
        matrix.starts, matrix.ends, matrix.indices, matrix.data, U, V, norms,
        W=width, ENTRIES=max(GATHER_VALUES // width, 1), num_warps=1,
    )  # fmt: skip


def csr_count(dense: Any, counts: Any) -> None:
    _scan(dense, counts, counts, counts, dense, fill=False)


def csr_fill(dense: Any, matrix: Any) -> None:
    _scan(dense, matrix.starts, matrix.starts, matrix.indices, matrix.data, fill=True)


def _scan(dense: Any, starts: Any, counts: Any, indices: Any, data: Any, fill: bool) -> None:
    n, m = dense.shape
    _csr_scan[(n,)](dense, dense.stride(0), starts, counts, indices, data, m, FILL=fill, TILE=SCAN_COLUMNS, num_warps=4)


def dense_matmul(R: Any, V: Any, out: Any, add: bool) -> None:
    n, m = R.shape
    parts, _, width = out.shape
    _dense_matmul[(triton.cdiv(n, DENSE_ROWS), parts)](
        R, R.stride(0), R.stride(1), V, out, n, m, ADD=add, SPLIT=parts, W=width, ROWS=DENSE_ROWS,
        DEPTH=DENSE_DEPTH, num_warps=DENSE_WARPS, num_stages=DENSE_STAGES,
    )  # fmt: skip


def dense_deflate(R: Any, U: Any, V: Any) -> tuple[Any, Any]:
    n, m = R.shape
    grid = (triton.cdiv(n, DEFLATE_TILE), triton.cdiv(m, DEFLATE_TILE))
    norms, counts = R.new_empty(grid, dtype=torch.float64), R.new_empty(grid, dtype=torch.int32)
    _dense_deflate[grid](
        R, R.stride(0), U, V, norms, counts, n, m, W=U.shape[1], ROWS=DEFLATE_TILE, COLUMNS=DEFLATE_TILE, num_warps=4
    )  # fmt: skip
    return norms.sum(), counts.sum()
