"""Fused pass over blogcatalog's exact X: nanoseconds per nonzero, by width and instruction set."""

import numpy as np

from benchmarks.common import exact_matrix, save, show, timed
from boostne.errors import ParameterError
from boostne.factorization import LocalEngine
from boostne.factorization.boosting import random_start
from boostne.kernels import get_kernels
from boostne.models.boostne import INNER_SWEEPS

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
        rows.append(
            {"instruction_set": name, **{f"d_s={width}": measure(X, kernels, width) for width in WIDTHS}}
        )
    show("Fused pass, blogcatalog's exact X: ns per nonzero (median)", rows)
    save("passes", rows, nnz=int(X.nnz), repeats=REPEATS)


def measure(X, kernels, width: int) -> float:
    """Return the nanoseconds per nonzero of one pass, after checking its result against SciPy's product."""
    engine = LocalEngine(kernels)
    engine.load(X)
    context = engine.begin(random_start(0, engine, width)(0))
    swept = engine.sweep(context, INNER_SWEEPS)
    U, _ = engine.collect(context)
    np.testing.assert_allclose(
        swept.C[:, :width], X.T @ U, rtol=2e-3, atol=1e-2 * float(np.abs(swept.C).mean())
    )
    seconds, _ = timed(lambda: engine.sweep(context, INNER_SWEEPS), REPEATS)
    return seconds / X.nnz * 1e9
