"""Eight levels of sixteen dimensions, compared with scikit-learn's NMF on the same X with the same deflation.

scikit-learn gets X in CSR format, on which it is faster than on the same matrix as a dense array.
"""

import warnings

import numpy as np
from scipy import sparse

from benchmarks.common import exact_matrix, save, show, timed
from boostne import BoostNE
from boostne.factorization import LevelSettings, LocalEngine, boost, random_start
from boostne.matrices import CSRSource

DATASETS = ("cora", "ppi", "blogcatalog")
LEVELS, WIDTH = 8, 16
TIGHT_TOL = 5e-5  # converges about as far as scikit-learn with tol=1e-4


def run() -> None:
    """Compare time and residuals on each data set."""
    rows = []
    for name in DATASETS:
        X = exact_matrix(name)
        norm = float(np.linalg.norm(X.data))
        their_seconds, theirs = timed(lambda X=X: scikit_learn(X))
        for tol in (BoostNE().tol, TIGHT_TOL):
            our_seconds, (levels, entries) = timed(lambda X=X, tol=tol: ours(X, tol), 3)
            rows.append(
                {
                    "dataset": name,
                    "tol": tol,
                    "ours_s": our_seconds,
                    "sklearn_s": their_seconds,
                    "ratio": their_seconds / our_seconds,
                    "our_residual": levels[-1].residual_norm / norm,
                    "sklearn_residual": theirs / norm,
                    "passes": sum(level.n_iter for level in levels),
                    "ns/nnz/pass": our_seconds / entries * 1e9,
                }
            )
        show("so far", rows[-2:])
    show("Levels (8 x 16) against scikit-learn NMF(solver='cd', tol=1e-4, max_iter=200)", rows)
    save("levels", rows)


def ours(X: sparse.csr_array, tol: float) -> tuple[list, int]:
    """Boost on the local engine; returns the levels and the entries read over all passes."""
    engine = LocalEngine()
    engine.load(CSRSource(X.copy()))
    nnz = [engine.nnz]
    settings = LevelSettings(WIDTH, tol, BoostNE().max_iter)
    levels = list(boost(engine, settings, LEVELS, random_start(0, X.shape[1], WIDTH, X.dtype)))
    nnz += [level.nnz for level in levels[:-1]]
    return levels, sum(level.n_iter * entries for level, entries in zip(levels, nnz, strict=True))


def scikit_learn(X: sparse.csr_array) -> float:
    """Boost with scikit-learn's solver; returns the norm of the last residual."""
    from sklearn.decomposition import NMF

    R = X
    for _ in range(LEVELS):
        model = NMF(WIDTH, solver="cd", tol=1e-4, max_iter=200, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # reaching max_iter is expected
            W = model.fit_transform(R)
        R = deflated(R, W, model.components_)
    return float(np.linalg.norm(R.data))


def deflated(R: sparse.csr_array, W: np.ndarray, H: np.ndarray) -> sparse.csr_array:
    """Return ``max(R - W H, 0)``."""
    rows = np.repeat(np.arange(R.shape[0]), np.diff(R.indptr))
    product = np.empty_like(R.data)
    for at in range(0, R.nnz, 1 << 20):  # in chunks: W[rows] for all entries would not fit
        part = slice(at, at + (1 << 20))
        product[part] = np.einsum("ij,ij->i", W[rows[part]], H.T[R.indices[part]])
    left = R.copy()
    left.data = np.maximum(R.data - product, 0)
    left.eliminate_zeros()
    return left
