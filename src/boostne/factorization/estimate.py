"""Estimate the time and memory of a fit from a sample of X and a few measured passes."""

import time

from scipy import sparse

from boostne.budget import Estimate, Workload
from boostne.factorization.boosting import INNER_SWEEPS, random_start
from boostne.factorization.local import LocalEngine
from boostne.kernels import Kernels, get_kernels
from boostne.kernels.column_blocked_csr import COLUMN_BLOCKED_FROM
from boostne.matrices import CSRSource, MatrixForm
from boostne.matrices.base import RowSample

TIMED_PASSES = 4
TIMED_ENTRIES = 4_000_000  # fewer finish before all threads have started


def estimate(sample: RowSample, work: Workload, form: MatrixForm) -> Estimate:
    """Estimate a fit from some rows of X and passes over them."""
    kernels = get_kernels(threads=work.threads)
    nnz = sample.n_entries
    fixed = _time_pass(sample.rows[:1], work, kernels)
    rows = _repeated(_folded(sample.rows), min(TIMED_ENTRIES, nnz))
    variable = _time_pass(rows, work, kernels) - _time_pass(rows[:1], work, kernels)
    return Estimate(
        nnz=nnz,
        connectivity_bytes=nnz * work.entry_bytes,
        peak_bytes=work.peak_bytes(nnz, sample.build_bytes),
        connectivity_seconds=sample.seconds,
        levels_seconds=work.levels_seconds(fixed, max(variable, 0.0) / rows.shape[0], sample.growth),
        form=str(form),
    )


def _folded(rows: sparse.csr_array) -> sparse.csr_array:
    """Return rows with so few columns that a pass over them does not use column blocks.

    In column blocks a pass runs from the cache however many columns there are, but only over many rows.
    """
    n_columns = min(rows.shape[1], COLUMN_BLOCKED_FROM - 1)
    return sparse.csr_array((rows.data, rows.indices % n_columns, rows.indptr), shape=(rows.shape[0], n_columns))


def _repeated(rows: sparse.csr_array, n_entries: int) -> sparse.csr_array:
    """Repeat rows until they have ``n_entries`` entries."""
    return sparse.vstack([rows] * max(1, -(-n_entries // max(rows.nnz, 1))), format="csr")


def _time_pass(rows: sparse.csr_array, work: Workload, kernels: Kernels) -> float:
    engine = LocalEngine(kernels)
    engine.load(CSRSource(rows.copy()))
    engine.start_level(random_start(0, rows.shape[1], work.components, work.dtype)(0))
    seconds = []
    for _ in range(TIMED_PASSES):
        begin = time.perf_counter()
        engine.step(INNER_SWEEPS)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)  # the first pass warms the caches, others may be disturbed
