"""Logistic regression of all labels at once, one against the rest.

For each label, with ``y_i = 1`` for the nodes that have it and ``y_i = -1`` for the others, the minimum of liblinear's
objective, which regularizes the intercept like the weights, is

    ``min ½ (‖w‖² + b²) + C Σ_i log(1 + exp(-y_i (x_i·w + b)))``.

The solver is Newton's method with conjugate gradients, for many labels in step, so that products with the vectors are
matrix products. Each label has its own step sizes and is dropped as soon as it has converged.

The vectors, with a constant column for the intercept, are first rotated to their principal axes Z, which changes
neither the penalty nor the predictions. The Hessian of a label is ``H = I + C Z^T D Z`` with
``D = diag(p_i (1 - p_i))``. As ``Z^T Z`` is diagonal, H is nearly diagonal unless D varies strongly, and its diagonal
is a good preconditioner: a single eigendecomposition serves all labels.

References
----------
C.-J. Lin, R. C. Weng, S. S. Keerthi: "Trust region Newton method for large-scale logistic regression", Journal of
Machine Learning Research 9, 2008.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ConvergenceWarning, ParameterError, warn_caller

TOLERANCE = 1e-4  # of the log-odds, roughly; see _tolerances
MAX_ITERATIONS = 200  # of Newton's method
MAX_HALVINGS = 50  # of a step
SUFFICIENT_DECREASE = 1e-4  # of the objective, relative to the slope (Armijo's rule)
ROUNDING = 1e-13  # of the objective, relative
LARGEST_RESIDUAL = 0.3  # of the Newton equations, relative
SMALLEST_RESIDUAL = 0.3  # of the Newton equations, relative to the tolerance
LABELS_PER_BATCH = 64  # bounds the memory: each batch holds some arrays of nodes × labels
LARGEST_ENTRY = 1e100  # of the vectors; squares of larger ones, times C, may overflow
MAX_ROTATED = 1024  # columns; an eigendecomposition of more takes longer than it saves

Float = NDArray[np.float64]


def fit_one_vs_rest(
    vectors: Float, indicator: NDArray[np.bool_], C: float, *, start: tuple[Float, Float] | None = None
) -> tuple[Float, Float]:
    """Fit one logistic regression per column of ``indicator``.

    The last bits of the result depend on the number of BLAS threads; limit it to one for reproducible results.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
        Training vectors.
    indicator : ndarray of bool of shape (n, c)
        Which node has which label. The solution for a label of all nodes or of none is finite, too.
    C : float
        Inverse regularization strength.
    start : (weights, intercepts), optional
        Initial solution, such as the result for similar vectors. It affects only the digits beyond the tolerance.

    Returns
    -------
    weights : ndarray of shape (d, c)
    intercepts : ndarray of shape (c,)

    Examples
    --------
    >>> vectors = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> indicator = np.array([[0, 1], [0, 1], [1, 0], [1, 0]], dtype=bool)
    >>> weights, intercepts = fit_one_vs_rest(vectors, indicator, 1.0)
    >>> (vectors @ weights + intercepts > 0).astype(int).T
    array([[0, 0, 1, 1],
           [1, 1, 0, 0]])
    """
    largest = np.abs(vectors).max(initial=0)
    if largest > LARGEST_ENTRY:
        raise ParameterError(
            f"vectors must have entries of at most {LARGEST_ENTRY:g}; got {largest:g}: scale them down"
        )
    X = np.column_stack([vectors, np.ones(len(vectors))])
    axes = _principal_axes(X)
    Z = X @ axes
    positives = np.count_nonzero(indicator, axis=0)
    U = _initial(positives, len(X), X.shape[1], C) if start is None else np.vstack(start).T
    U = U @ axes
    squares = Z**2
    for first in range(0, len(U), LABELS_PER_BATCH):
        batch = slice(first, first + LABELS_PER_BATCH)
        signs = np.where(indicator.T[batch], 1.0, -1.0)
        tolerances = _tolerances(Z, squares, signs, C)
        U[batch] = _minimize(Z, squares, signs, C, U[batch], tolerances)
    W = U @ axes.T
    return W[:, :-1].T, W[:, -1]


def _principal_axes(X: Float) -> Float:
    """Return the eigenvectors of ``X^T X`` as columns, or the identity if that is large."""
    d = X.shape[1]
    return np.linalg.eigh(X.T @ X)[1] if d <= MAX_ROTATED else np.eye(d)


def _initial(positives: NDArray[np.integer], n: int, columns: int, C: float) -> Float:
    """Return zero weights, and as intercepts the log-odds of the labels, shrunk if C is small."""
    U = np.zeros((len(positives), columns))
    U[:, -1] = np.log((1 + C * positives) / (1 + C * (n - positives)))
    return U


def _tolerances(Z: Float, squares: Float, signs: Float, C: float) -> Float:
    """Return the squared Newton decrement ``g^T H^-1 g`` of each label at which its solution is accepted.

    H is replaced by its diagonal. Near the minimum, the decrement bounds the errors δ_i of the log-odds of the
    training nodes: ``C Σ p_i (1 - p_i) δ_i² ≤ g^T H^-1 g``. At zero weights it is at most ``C n``. The tolerance is
    ``TOLERANCE²`` times the latter, times the fraction of nodes in the smaller class, which is the scale of
    ``Σ p_i (1 - p_i) / n``. Unlike a bound on the gradient, it does not depend on the scale of the vectors.
    """
    n = len(Z)
    gradient = -C / 2 * (signs @ Z)
    at_zero = np.sum(gradient**2 / (1 + C / 4 * squares.sum(axis=0)), axis=1)
    positives = np.count_nonzero(signs > 0, axis=1)
    smaller = np.maximum(np.minimum(positives, n - positives), 1)
    return np.asarray(TOLERANCE**2 * at_zero * smaller / n)


@dataclass
class _Batch:
    """The labels that have not converged, one per row."""

    labels: NDArray[np.intp]
    signs: Float  # y, (c, n)
    tolerances: Float  # (c,)
    U: Float  # current solution, (c, d)
    margins: Float  # y_i z_i·u, (c, n)
    objective: Float  # (c,)

    def take(self, rows: NDArray[np.bool_]) -> "_Batch":
        return _Batch(*(values[rows] for values in vars(self).values()))


def _minimize(Z: Float, squares: Float, signs: Float, C: float, U: Float, tolerances: Float) -> Float:
    """Minimize the objective of each row of ``signs`` (y), starting from the rows of U."""
    solution = np.empty_like(U)
    margins = signs * (U @ Z.T)
    batch = _Batch(np.arange(len(U)), signs, tolerances, U, margins, _objective(U, margins, C))
    for _ in range(MAX_ITERATIONS):
        errors, curvature = _derivatives(batch.margins)
        gradient = batch.U - C * ((batch.signs * errors) @ Z)
        diagonal = 1 + C * (curvature @ squares)
        decrement = _row_products(gradient, gradient / diagonal)
        solution[batch.labels] = batch.U
        remaining = decrement > batch.tolerances
        if not remaining.any():
            return solution
        batch = batch.take(remaining)
        gradient = gradient[remaining]
        residuals = _residuals(decrement[remaining], batch.tolerances)
        step = _conjugate_gradients(Z, C * curvature[remaining], -gradient, diagonal[remaining], residuals)
        _line_search(batch, step, batch.signs * (step @ Z.T), _row_products(gradient, step), C)
    solution[batch.labels] = batch.U
    warn_caller(
        f"logistic regression did not converge in {MAX_ITERATIONS} iterations for {len(batch.labels)} of {len(U)} "
        "labels: scale the vectors down or choose a smaller C",
        ConvergenceWarning,
    )
    return solution


def _derivatives(margins: Float) -> tuple[Float, Float]:
    """Return ``σ(-m)`` and ``σ(m) σ(-m)``, without overflow."""
    tail = np.exp(-np.abs(margins))
    total = 1 + tail
    return np.where(margins > 0, tail, 1.0) / total, tail / total**2


def _objective(U: Float, margins: Float, C: float) -> Float:
    losses = np.log1p(np.exp(-np.abs(margins))) - np.minimum(margins, 0)
    return np.asarray(_row_products(U, U) / 2 + C * losses.sum(axis=1))


def _residuals(decrement: Float, tolerances: Float) -> Float:
    """Return the squared residual of the Newton equations to reach, smaller as the solution gets closer.

    Steps far from the minimum need not be exact; close to it, the residual limits the convergence. Both are measured in
    the norm of the diagonal.
    """
    relative = np.sqrt(decrement * TOLERANCE**2 / tolerances)
    return np.maximum(decrement * np.minimum(LARGEST_RESIDUAL**2, relative), SMALLEST_RESIDUAL**2 * tolerances)


def _conjugate_gradients(Z: Float, curvature: Float, B: Float, diagonal: Float, residuals: Float) -> Float:
    """Solve ``(I + Z^T diag(curvature) Z) s = b`` for each row b of B, preconditioned by the diagonal."""
    solution = np.zeros_like(B)
    rows = np.arange(len(B))
    R, P = B, B / diagonal
    squared = _row_products(R, P)
    for _ in range(2 * B.shape[1]):  # exact after half of these, but for rounding
        HP = P + ((P @ Z.T) * curvature) @ Z
        length = (squared / _row_products(P, HP))[:, None]
        solution[rows] += length * P
        R = R - length * HP
        preconditioned = R / diagonal
        previous, squared = squared, _row_products(R, preconditioned)
        P = preconditioned + (squared / previous)[:, None] * P
        remaining = squared > residuals
        if not remaining.any():
            break
        if not remaining.all():
            rows = rows[remaining]
            R, P, squared, residuals, curvature, diagonal = (
                values[remaining] for values in (R, P, squared, residuals, curvature, diagonal)
            )
    return solution


def _line_search(batch: _Batch, step: Float, change: Float, slopes: Float, C: float) -> None:
    """Move each solution along its step, which is halved until the objective decreases sufficiently.

    ``change`` is the change of the margins, and ``slopes`` the derivative of the objective along the step.
    """
    rows = np.arange(len(step))
    for halvings in range(MAX_HALVINGS):
        length = 0.5**halvings
        U = batch.U[rows] + length * step[rows]
        margins = batch.margins[rows] + length * change[rows]
        objective, before = _objective(U, margins, C), batch.objective[rows]
        # Close to the minimum, the decrease is smaller than the rounding error of the objective.
        accepted = objective <= before + SUFFICIENT_DECREASE * length * slopes[rows] + ROUNDING * before
        moved = rows[accepted]
        batch.U[moved], batch.margins[moved], batch.objective[moved] = (
            values[accepted] for values in (U, margins, objective)
        )
        rows = rows[~accepted]
        if not len(rows):
            break


def _row_products(A: Float, B: Float) -> Float:
    """Return the scalar product of each row of A with that of B."""
    return np.asarray(np.einsum("ij,ij->i", A, B))
