"""One weight per level, learned from the labels of some nodes by cross-validation.

The vector of a node is ``z_i = (w_1 x_i1, …, w_k x_ik)``: each level l is multiplied by ``w_l = exp(θ_l) > 0``. The
classifier is a one-vs-rest logistic regression with a fixed C, so that a weight acts as the inverse regularization
strength of its level, and the common scale of the weights as that of all levels.

The nodes are divided into folds. The log-odds ``F_ic`` of label c for node i come from the classifiers that are trained
on the other folds. With the labels ``y_i`` of node i, the parameters θ and t minimize

    ``L(θ, t) = - Σ_i Σ_{c ∈ y_i} a_c log softmax_c(e^t F_i) + ‖θ‖² / (2 σ²)``.

The sum is a smooth stand-in for the errors in the ranking of the labels. The temperature t makes it independent of the
scale of the log-odds, which does not affect the ranking: otherwise θ would calibrate probabilities. Labels with few
nodes count more, by ``a_c ∝ 1 / √(number of nodes with label c)``: between Micro-F1, to which all nodes contribute
equally, and Macro-F1, to which all labels do. The last term is the prior: weights of 1.

L is minimized by L-BFGS. A classifier is the minimum of a smooth, strictly convex function of its coefficients u, so
that its derivative by θ is given by the implicit function theorem. With the Hessian
``H_c = I + C Z^T diag(p (1 - p)) Z`` over the training nodes of a fold and ``G_c = Σ_i z_i ∂L/∂F_ic`` over its held-out
nodes,

    ``∂L/∂θ_l = 2 Σ_folds Σ_c Σ_{j in level l} u_jc q_jc + θ_l / σ²``   where   ``H_c q_c = G_c``.

At last, the weights are compared with uniform ones on other folds. See :func:`is_better`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logsumexp
from sklearn.metrics import f1_score

from boostne.errors import ParameterError
from boostne.label_ranking import top_k
from boostne.logistic_regression import fit_one_vs_rest

MIN_CLASSES = 2
MIN_PER_FOLD = 3  # labeled nodes
LARGEST_LOG_WEIGHT = 3.0
MAX_ITERATIONS = 30
CONFIDENCE = 2.0  # standard errors
F1_TOLERANCE = 0.002
TOLERANCE = 1e-5  # of the objective, relative

_ONE_LEVEL = (
    "level weights need vectors with at least two levels, got one: .npz, .npy, .parquet and .csv files written by "
    "'boostne embed' have levels, .emb and .txt files do not; for other vectors, state their widths, as in "
    "Embedding(nodes, vectors, levels=[16, 16])"
)

Float = NDArray[np.float64]
Map = Callable[[Callable[["Fold"], Any], Iterable["Fold"]], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Scores of nodes whose labels were predicted by the classifiers of the other folds.

    Attributes
    ----------
    losses : ndarray
        The loss above, without the prior, of each node.
    micro, macro : float
        F1, each node being assigned as many labels as it has.
    """

    losses: Float
    micro: float
    macro: float


@dataclass(frozen=True, eq=False)
class LevelWeighting:
    """Weights of the levels, and the cross-validated scores that led to them.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        The learned weights if they are better than uniform ones, else ones.
    candidate : ndarray of shape (k,)
        The learned weights.
    uniform, learned : HeldOutScores
        Scores of weights of 1 and of the learned weights.
    n_nodes : int
        Number of nodes that they were learned from.
    """

    weights: Float
    candidate: Float
    uniform: HeldOutScores
    learned: HeldOutScores
    n_nodes: int


def learn_level_weights(
    vectors: Float,
    indicator: NDArray[np.bool_],
    levels: NDArray[np.int64],
    *,
    C: float = 1.0,
    folds: int = 3,
    prior_scale: float = 0.3,
    max_nodes: int = 3000,
    seed: int = 0,
    fold_map: Map = map,
) -> LevelWeighting:
    """Learn one weight per level.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    indicator : ndarray of bool of shape (n, c)
        Which node has which label.
    levels : ndarray of shape (k,)
        The width of each level.
    C : float
        Inverse regularization strength of the classifier.
    folds : int
        Number of folds.
    prior_scale : float
        Standard deviation σ of the logarithm of the weights.
    max_nodes : int
        At most this many nodes, chosen at random, are used.
    seed : int
        Seed of this choice and of the folds.
    fold_map : callable, default map
        Applies a function to each fold; the result does not depend on it.

    Returns
    -------
    LevelWeighting
    """
    if len(levels) == 1:
        raise ParameterError(_ONE_LEVEL)
    rng = np.random.default_rng(seed)
    if len(vectors) > max_nodes:
        chosen = np.sort(rng.choice(len(vectors), max_nodes, replace=False))
        vectors, indicator = vectors[chosen], indicator[chosen]
    known, indicator = usable_labels(indicator, folds, "level weights need", "label more nodes")
    vectors = vectors[known]
    task = Task(vectors, indicator, np.repeat(np.arange(len(levels)), levels), C)
    theta = _minimize(task, split(indicator, folds, rng), prior_scale, fold_map)
    others = split(indicator, folds, rng)
    uniform, learned = (
        score(task, held_out_log_odds(task, others, x, fold_map)) for x in (np.zeros_like(theta), theta)
    )
    return LevelWeighting(
        weights=np.exp(theta) if is_better(uniform, learned, len(theta)) else np.ones_like(theta),
        candidate=np.exp(theta),
        uniform=uniform,
        learned=learned,
        n_nodes=len(vectors),
    )


def usable_labels(
    indicator: NDArray[np.bool_], folds: int, needs: str, remedy: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Select the labels that at least two nodes have, and the nodes that have one of them.

    Parameters
    ----------
    indicator : ndarray of bool of shape (n, c)
        Which node has which label.
    folds : int
        Number of folds into which the nodes will be divided.
    needs, remedy : str
        Beginning and end of the errors for too few labels or nodes.

    Returns
    -------
    known : ndarray of bool of shape (n,)
        The selected nodes.
    indicator : ndarray of bool
        Their selected labels.
    """
    repeated = np.count_nonzero(indicator, axis=0) >= MIN_CLASSES
    if np.count_nonzero(repeated) < MIN_CLASSES:
        raise ParameterError(
            f"{needs} at least two classes with at least two labeled nodes each, got {np.count_nonzero(repeated)}: "
            f"{remedy}"
        )
    known = np.asarray(indicator[:, repeated].any(axis=1))
    n_known = np.count_nonzero(known)
    if n_known < MIN_PER_FOLD * folds:
        raise ParameterError(
            f"folds={folds} needs at least {MIN_PER_FOLD * folds} labeled nodes, {MIN_PER_FOLD} per fold, got "
            f"{n_known}: choose fewer folds, or {remedy}"
        )
    return known, indicator[np.ix_(known, repeated)]


@dataclass(frozen=True, eq=False)
class Task:
    """Vectors and labels of nodes, the level of each column, counted from 0, and the parameter C of the classifier."""

    vectors: Float
    indicator: NDArray[np.bool_]
    level_of: NDArray[np.intp]
    C: float

    def weighted(self, theta: Float) -> Float:
        """Return the vectors with each level multiplied by its weight."""
        return np.asarray(self.vectors * np.exp(theta)[self.level_of])

    def loss(self, log_odds: Float, nodes: Any = slice(None)) -> tuple[Float, Float]:
        """Return the loss of each of the given nodes and its derivatives by the log-odds, (m,) and (m, c)."""
        counts = np.count_nonzero(self.indicator, axis=0)
        importance = counts.sum() / np.sqrt(counts).sum() / np.sqrt(counts)  # mean over the labels of all nodes: 1
        true = self.indicator[nodes] * importance
        total = true.sum(axis=1)
        normalizer = logsumexp(log_odds, axis=1)
        slopes = total[:, None] * np.exp(log_odds - normalizer[:, None]) - true
        return total * normalizer - np.einsum("ic,ic->i", true, log_odds), slopes


@dataclass(eq=False)
class Fold:
    """Nodes that are predicted by classifiers trained on the others."""

    held_out: NDArray[np.bool_]
    solution: tuple[Float, Float] | None = None  # of the last weights; where the classifiers for the next ones start


def split(indicator: NDArray[np.bool_], folds: int, rng: np.random.Generator) -> list[Fold]:
    """Divide the nodes at random into folds of equal size that share the nodes of each label evenly.

    Nodes with several labels count for the one that the fewest nodes have.
    """
    n = len(indicator)
    counts = np.count_nonzero(indicator, axis=0)
    rarest = np.argmin(np.where(indicator, counts, n + 1), axis=1)
    fold_of = np.empty(n, dtype=np.intp)
    fold_of[np.lexsort((rng.random(n), rarest))] = np.arange(n) % folds
    return [Fold(fold_of == i) for i in range(folds)]


def held_out_log_odds(task: Task, folds: list[Fold], theta: Float, fold_map: Map = map) -> Float:
    """Return the log-odds of each label for each node, from the classifiers of the other folds."""
    Z = task.weighted(theta)
    values = np.empty(task.indicator.shape)
    for fold, predicted in zip(folds, fold_map(lambda fold: _predict(task, fold, Z), folds), strict=True):
        values[fold.held_out] = predicted
    return values


def held_out_loss(
    task: Task, folds: list[Fold], theta: Float, temperature: float, fold_map: Map = map
) -> tuple[float, Float]:
    """Return the loss of all nodes and its derivatives by θ and, as the last element, by the temperature."""
    Z = task.weighted(theta)

    def differentiate(fold: Fold) -> tuple[float, Float]:
        log_odds = _predict(task, fold, Z)
        loss, slopes = task.loss(np.exp(temperature) * log_odds, fold.held_out)
        slopes *= np.exp(temperature)
        by_level = np.bincount(task.level_of, _derivatives_by_column(task, fold, Z, slopes))
        return float(loss.sum()), np.append(by_level, np.sum(slopes * log_odds))

    losses, derivatives = zip(*fold_map(differentiate, folds), strict=True)
    return sum(losses), np.sum(derivatives, axis=0)


def _predict(task: Task, fold: Fold, Z: Float) -> Float:
    training = ~fold.held_out
    fold.solution = fit_one_vs_rest(Z[training], task.indicator[training], task.C, start=fold.solution)
    coefficients, intercepts = fold.solution
    return np.asarray(Z[fold.held_out] @ coefficients + intercepts)


def _derivatives_by_column(task: Task, fold: Fold, Z: Float, slopes: Float) -> Float:
    """Return ``2 Σ_c u_jc q_jc`` for each column j, where ``H_c q_c = Σ_i z_i ∂L/∂F_ic``."""
    with_constant = np.column_stack([Z, np.ones(len(Z))])
    training, G = with_constant[~fold.held_out], with_constant[fold.held_out].T @ slopes
    U = np.vstack(fold.solution or ())
    p = expit(training @ U)
    total = np.zeros(len(U))
    for u, curvature, g in zip(U.T, task.C * (p * (1 - p)).T, G.T, strict=True):
        root = training * np.sqrt(curvature)[:, None]
        H = root.T @ root
        H.flat[:: len(H) + 1] += 1
        total += 2 * u * cho_solve(cho_factor(H), g)
    return total[:-1]


def _minimize(task: Task, folds: list[Fold], prior_scale: float, fold_map: Map) -> Float:
    """Return the logarithms of the weights that minimize the loss and the prior."""

    def objective(parameters: Float) -> tuple[float, Float]:
        theta = parameters[:-1]
        loss, derivatives = held_out_loss(task, folds, theta, parameters[-1], fold_map)
        derivatives[:-1] += theta / prior_scale**2
        return float(loss + theta @ theta / (2 * prior_scale**2)), derivatives

    k = int(task.level_of[-1]) + 1
    bounds = [(-LARGEST_LOG_WEIGHT, LARGEST_LOG_WEIGHT)] * (k + 1)
    options = {"maxiter": MAX_ITERATIONS, "ftol": TOLERANCE}
    found = minimize(objective, np.zeros(k + 1), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x[:-1])


def score(task: Task, log_odds: Float) -> HeldOutScores:
    """Return the scores of held-out nodes, at the best temperature."""

    def loss(temperature: float) -> Float:
        return task.loss(np.exp(temperature) * log_odds)[0]

    limits = (-LARGEST_LOG_WEIGHT, LARGEST_LOG_WEIGHT)
    best = minimize_scalar(lambda temperature: loss(temperature).sum(), bounds=limits, method="bounded").x
    predicted = top_k(log_odds, task.indicator.sum(axis=1))
    micro, macro = (
        float(f1_score(task.indicator, predicted, average=name, zero_division=0)) for name in ("micro", "macro")
    )
    return HeldOutScores(loss(best), micro, macro)


def is_better(uniform: HeldOutScores, learned: HeldOutScores, k: int) -> bool:
    """Whether the loss decreases by more than chance explains, and F1 does not decrease.

    The weights were learned from the same nodes on other folds, which decreases the loss by up to about 1 per weight
    (as in Akaike's criterion). The rest must exceed twice its standard error. The mean of Micro- and Macro-F1 must not
    decrease, nor one of them at the cost of the other.
    """
    gains = uniform.losses - learned.losses
    chance = k + CONFIDENCE * np.sqrt(len(gains)) * gains.std()
    micro, macro = learned.micro - uniform.micro, learned.macro - uniform.macro
    return bool(gains.sum() > chance and micro + macro >= 0 and min(micro, macro) >= -F1_TOLERANCE)
