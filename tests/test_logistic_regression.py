import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from boostne import logistic_regression
from boostne.errors import ParameterError
from boostne.logistic_regression import fit_one_vs_rest


def generated(n=150, d=6, classes=5, scale=1.0, seed=0):
    """Random vectors, and labels that depend on them, the first ones more frequent."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    logits = vectors @ rng.normal(size=(d, classes)) - np.linspace(0, 6, classes)
    return scale * vectors, logits > rng.logistic(size=logits.shape)


def objective(vectors, positive, C, w, b):
    """Return ½ (‖w‖² + b²) + C Σ log(1 + exp(-y (x·w + b)))."""
    y = np.where(positive, 1, -1)
    return (w @ w + b * b) / 2 + C * np.logaddexp(0, -y * (vectors @ w + b)).sum()


def gradient(vectors, indicator, C, weights, intercepts):
    """Gradient by w and b, one column per label."""
    y = np.where(indicator, 1.0, -1.0)
    errors = -C * y * expit(-y * (vectors @ weights + intercepts))
    return np.vstack([weights + vectors.T @ errors, intercepts + errors.sum(axis=0)])


def newton(vectors, positive, C, iterations=100):
    """Newton's method with the dense Hessian, one label at a time; steps are halved until the objective decreases."""
    X = np.column_stack([vectors, np.ones(len(vectors))])
    y = np.where(positive, 1.0, -1.0)
    u = np.zeros(X.shape[1])

    def value(u):
        return u @ u / 2 + C * np.logaddexp(0, -y * (X @ u)).sum()

    for _ in range(iterations):
        p = expit(-y * (X @ u))
        slope = u - C * X.T @ (y * p)
        step = np.linalg.solve(np.eye(len(u)) + C * X.T @ ((p * (1 - p))[:, None] * X), -slope)
        u = next((u + t * step for t in 0.5 ** np.arange(30) if value(u + t * step) < value(u)), u)
    return u[:-1], u[-1]


def assert_same_predictions(vectors, indicator, C, rtol=1e-3):
    """The log-odds equal those of the exact minimum."""
    weights, intercepts = fit_one_vs_rest(vectors, indicator, C)
    for j, positive in enumerate(indicator.T):
        w, b = newton(vectors, positive, C)
        expected = vectors @ w + b
        scale = np.abs(expected).max()
        np.testing.assert_allclose(vectors @ weights[:, j] + intercepts[j], expected, rtol=rtol, atol=rtol * scale)


def test_gradient_vanishes_at_the_solution():
    vectors, indicator = generated()
    found = gradient(vectors, indicator, 1.0, *fit_one_vs_rest(vectors, indicator, 1.0))
    initial = gradient(vectors, indicator, 1.0, np.zeros((6, 5)), np.zeros(5))
    assert (np.linalg.norm(found, axis=0) <= 1e-3 * np.linalg.norm(initial, axis=0)).all()


def test_solution_equals_newton_with_dense_hessian():
    vectors, indicator = generated()
    weights, intercepts = fit_one_vs_rest(vectors, indicator, 1.0)
    for j, positive in enumerate(indicator.T):
        w, b = newton(vectors, positive, 1.0)
        np.testing.assert_allclose(weights[:, j], w, atol=1e-3)
        np.testing.assert_allclose(intercepts[j], b, atol=1e-3)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_objective_is_at_most_that_of_liblinear(scale, C):
    vectors, indicator = generated(scale=scale)
    weights, intercepts = fit_one_vs_rest(vectors, indicator, C)
    for j, positive in enumerate(indicator.T):
        model = LogisticRegression(solver="liblinear", C=C, tol=1e-10, max_iter=10_000).fit(vectors, positive)
        theirs = objective(vectors, positive, C, model.coef_[0], model.intercept_[0])
        ours = objective(vectors, positive, C, weights[:, j], intercepts[j])
        assert ours <= theirs + 1e-8 * C * len(vectors)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_predictions_for_any_scale_and_regularization(scale, C):
    assert_same_predictions(*generated(scale=scale), C)


def separable():
    vectors, _ = generated()
    return vectors, vectors[:, :3] > 0


def rows_of_different_norms():
    vectors, indicator = generated()
    return vectors * np.logspace(-3, 3, len(vectors))[:, None], indicator


def columns_of_different_norms():
    vectors, indicator = generated()
    return vectors * np.logspace(-3, 2, 6), indicator


def duplicate_rows():
    vectors, indicator = generated(n=40)
    return np.repeat(vectors, 4, axis=0), np.repeat(indicator, 4, axis=0)


def contradictory_rows():
    vectors, indicator = generated(n=40)
    return np.repeat(vectors, 2, axis=0), np.vstack([indicator, ~indicator])


def constant_and_equal_columns():
    vectors, indicator = generated()
    return np.column_stack([vectors, np.full(len(vectors), 7.0), np.zeros(len(vectors)), vectors[:, 0]]), indicator


def more_columns_than_rows():
    return generated(n=12, d=30, classes=3)


def zero_vectors():
    return np.zeros((20, 4)), np.arange(60).reshape(20, 3) % 4 == 0


def one_row():
    return np.ones((1, 2)), np.array([[True, False]])


@pytest.mark.parametrize(
    "degenerate",
    [
        separable,
        rows_of_different_norms,
        columns_of_different_norms,
        duplicate_rows,
        contradictory_rows,
        constant_and_equal_columns,
        more_columns_than_rows,
        zero_vectors,
        one_row,
    ],
)
def test_degenerate_data(degenerate):
    assert_same_predictions(*degenerate(), 1.0)


def test_labels_of_no_and_of_all_nodes_are_finite_and_leave_others_unchanged():
    vectors, indicator = generated()
    n = len(vectors)
    extended = np.column_stack([indicator, np.zeros(n, bool), np.ones(n, bool)])
    weights, intercepts = fit_one_vs_rest(vectors, extended, 1.0)
    assert (vectors @ weights[:, 5] + intercepts[5] < 0).all()
    assert (vectors @ weights[:, 6] + intercepts[6] > 0).all()
    np.testing.assert_allclose(weights[:, :5], fit_one_vs_rest(vectors, indicator, 1.0)[0], rtol=1e-10)


def test_no_labels_and_no_columns():
    weights, intercepts = fit_one_vs_rest(np.ones((4, 3)), np.zeros((4, 0), bool), 1.0)
    assert (weights.shape, intercepts.shape) == ((3, 0), (0,))
    weights, intercepts = fit_one_vs_rest(np.ones((4, 0)), np.array([[True], [True], [False], [True]]), 1e6)
    assert weights.shape == (0, 1)
    assert intercepts == pytest.approx(np.log(3), rel=1e-4)


def test_start_affects_only_digits_beyond_the_tolerance():
    vectors, indicator = generated()
    weights, intercepts = fit_one_vs_rest(vectors, indicator, 1.0)
    other = fit_one_vs_rest(vectors + 0.1, indicator, 1.0)
    kept = [array.copy() for array in other]
    warm = fit_one_vs_rest(vectors, indicator, 1.0, start=other)
    np.testing.assert_allclose(warm[0], weights, atol=1e-3)
    np.testing.assert_allclose(warm[1], intercepts, atol=1e-3)
    np.testing.assert_array_equal(other[0], kept[0])
    np.testing.assert_array_equal(other[1], kept[1])
    again = fit_one_vs_rest(vectors, indicator, 1.0, start=(weights, intercepts))
    np.testing.assert_allclose(again[0], weights, rtol=1e-12)


def test_batches_of_labels_and_columns_without_rotation_give_the_same_solution(monkeypatch):
    vectors, indicator = generated()
    expected = fit_one_vs_rest(vectors, indicator, 1.0)
    monkeypatch.setattr(logistic_regression, "LABELS_PER_BATCH", 2)
    np.testing.assert_allclose(fit_one_vs_rest(vectors, indicator, 1.0)[0], expected[0], rtol=1e-10)
    monkeypatch.setattr(logistic_regression, "MAX_ROTATED", 3)
    np.testing.assert_allclose(fit_one_vs_rest(vectors, indicator, 1.0)[0], expected[0], atol=1e-3)


@pytest.mark.parametrize("C", [1e-310, 1e-50, 1e50])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e100])
def test_extreme_values_give_finite_results_without_warnings(scale, C):
    vectors, indicator = generated()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights, intercepts = fit_one_vs_rest(vectors / np.abs(vectors).max() * scale, indicator, C)
    assert np.isfinite(weights).all()
    assert np.isfinite(intercepts).all()


def test_vectors_whose_squares_overflow_raise():
    vectors, indicator = generated(scale=1e200)
    with pytest.raises(ParameterError, match=r"vectors must have entries of at most 1e\+100; got .*: scale them down"):
        fit_one_vs_rest(vectors, indicator, 1.0)


def test_missing_convergence_warns(monkeypatch):
    vectors, indicator = generated()
    monkeypatch.setattr(logistic_regression, "MAX_ITERATIONS", 1)
    with pytest.warns(UserWarning, match="did not converge in 1 iterations for 5 of 5 labels"):
        weights, _ = fit_one_vs_rest(vectors, indicator, 1.0)
    assert np.isfinite(weights).all()
