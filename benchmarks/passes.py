"""Fused pass over blogcatalog's exact X: nanoseconds per nonzero, by width and instruction set."""

import numpy as np

from benchmarks.common import exact_matrix, save, show, timed
from boostne.errors import ParameterError
from boostne.factorization.boosting import INNER_SWEEPS, random_start
from boostne.factorization.context_factor import ContextFactor
from boostne.kernels import get_kernels
from boostne.kernels.column_blocked_csr import as_residual
from boostne.kernels.layout import aligned_empty, padded_factor
from boostne.kernels.tree_reduction import sequential_sum, tree_sum

WIDTHS = (8, 16, 32, 64, 128)
REPEATS = 15


def run() -> None:
    """Check and time every available instruction set."""
    X = exact_matrix("blogcatalog")
    rows = []
    for name in ("avx512", "avx2", "baseline"):
        try:
            kernels = get_kernels(name)
        except ParameterError:
            continue
        rows.append({"instruction_set": name, **{f"d_s={width}": measure(X, kernels, width) for width in WIDTHS}})
    show("Fused pass, blogcatalog's exact X: ns per nonzero (median)", rows)
    save("passes", rows, nnz=int(X.nnz), repeats=REPEATS)


def measure(X, kernels, width: int) -> float:
    """Return the nanoseconds per nonzero of one pass, after checking its result against SciPy's product."""
    R = as_residual(X, kernels)
    context = ContextFactor(kernels, padded_factor(random_start(0, X.shape[1], width, X.dtype)(0)), width)
    U = aligned_empty((X.shape[0], context.V.shape[1]), X.dtype)
    U[:] = 0

    def fused_pass():
        parts, grams = kernels.sweep(R, context.V, context.gram, U, inner=INNER_SWEEPS)
        return tree_sum(parts), sequential_sum(grams)

    C, _ = fused_pass()
    np.testing.assert_allclose(C, X.T @ U, rtol=2e-3, atol=1e-2 * float(np.abs(C).mean()))
    seconds, _ = timed(fused_pass, REPEATS)
    return seconds / X.nnz * 1e9
