"""Nested evaluation: the choices of a method are made on the training nodes of each split.

A method has several candidate embeddings, such as one for each window. For each split, the candidate and the inverse
regularization strength C are chosen by cross-validation within the training nodes. Then the classifier is trained on
all training nodes with this choice, and scored on the test nodes, whose labels affected no choice. Methods that are
evaluated like this, on the same splits, can be compared without an advantage for the one that was tuned by hand.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.evaluation.checksum import embedding_sha256, labels_sha256
from boostne.evaluation.classification import LabeledVectors, as_embedding, check_C, check_parameters, join, score_split
from boostne.evaluation.result import CLASSIFIERS, SCORE, Evaluation
from boostne.kernels import check_threads
from boostne.label_ranking import top_k
from boostne.labels import as_labels
from boostne.level_weighting import split as split_folds
from boostne.logistic_regression import fit_one_vs_rest
from boostne.progress import ProgressOption, reporting, tracked
from boostne.validation import check_integer

MIN_FOLDS = 2
# With few training nodes, cross-validation is repeated on other folds until this many predictions were made.
MIN_PREDICTIONS = 300
MAX_ROUNDS = 10


class Choice(NamedTuple):
    """What was chosen for a split.

    Attributes
    ----------
    candidate : str
        Name of the embedding.
    C : float
        Inverse regularization strength of the classifier.

    Examples
    --------
    >>> Choice("window 5", 4.0).candidate
    'window 5'
    """

    candidate: str
    C: float


@dataclass(frozen=True, eq=False, repr=False)
class NestedEvaluation(Evaluation):
    """The scores of a method whose choices were made on the training nodes of each split.

    Attributes
    ----------
    choices : tuple of Choice
        For each row of ``scores``.
    C : float
        NaN: it differs between splits.
    embedding_sha256 : str
        Checksum of those of all candidates with their names.

    See Also
    --------
    boostne.evaluation.Evaluation : The other attributes.

    Examples
    --------
    >>> vectors = [[0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [3, 0]]
    >>> labels = {i: "left" if i < 3 else "right" for i in range(6)}
    >>> result = evaluate_nested({"as they are": vectors}, labels, train=50, repeats=2, C=[1, 4])
    >>> [choice.candidate for choice in result.choices]
    ['as they are', 'as they are']
    """

    choices: tuple[Choice, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-serializable Python values."""
        content = super().to_dict()
        pairs = zip(content["splits"], self.choices, strict=True)
        return content | {
            "classifier": CLASSIFIERS[self.classifier].replace("{C:g}", "chosen for each split"),
            "splits": [row | choice._asdict() for row, choice in pairs],
        }


def evaluate_nested(
    candidates: Mapping[str, Any],
    labels: Any,
    *,
    train: float | Iterable[float] = (1, 2, 5, 10, 50, 90),
    repeats: int = 10,
    seed: int = 0,
    C: Iterable[float] = (0.25, 1, 4, 16, 64),
    folds: int = 3,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> NestedEvaluation:
    """Score a method by node classification, with its choices made on the training nodes of each split.

    The splits are those of :func:`boostne.evaluate` with the same seed. The candidate and the C with the highest
    cross-validated Micro-F1 are chosen together. The folds share the nodes of each label evenly, and are the same for
    all candidates. With fewer than 300 training nodes, cross-validation is repeated on other folds, at most ten times,
    because the result for a single division of few nodes is mostly chance. Ties go to the first candidate, then to the
    C closest to the middle of the grid, which is also the choice if there are fewer than two training nodes per fold.

    The rule is "top-k" and the classifier "fast".

    Parameters
    ----------
    candidates : mapping from name to embedding
        Embeddings of the same nodes, in any form that :func:`boostne.evaluate` accepts; the default first.
    labels : Labels, or anything that :func:`boostne.as_labels` accepts
    train : float or iterable of float
        Training ratios: percentages of the labeled nodes, each between 0 and 100.
    repeats : int, default 10
        Number of random splits per ratio.
    seed : int, default 0
        Seed of the random splits and of the folds.
    C : iterable of float
        Inverse regularization strengths to choose from.
    folds : int, default 3
        Number of folds of the cross-validation.
    threads : int, optional
        Number of threads; all cores by default. The scores do not depend on it.
    progress : callable or bool, default False
        Called repeatedly with a :class:`boostne.progress.Progress`; True shows a progress bar.

    Returns
    -------
    NestedEvaluation
        Accepted by :func:`boostne.compare`.

    Examples
    --------
    >>> labels = np.arange(60) % 2
    >>> rng = np.random.default_rng(0)
    >>> candidates = {str(noise): labels[:, None] + noise * rng.normal(size=(60, 2)) for noise in (9, 0.1)}
    >>> result = evaluate_nested(candidates, labels, train=50, repeats=2, C=[1])
    >>> result.choices
    (Choice(candidate='0.1', C=1.0), Choice(candidate='0.1', C=1.0))
    """
    from threadpoolctl import threadpool_limits

    grid = _check_grid(C)
    ratios = check_parameters(train, repeats, seed, grid[0], "top-k", "fast", threads)
    check_integer("folds", folds, MIN_FOLDS)
    truth = as_labels(labels)
    vectors = {name: as_embedding(candidate) for name, candidate in candidates.items()}
    tasks = [join(embedding, truth) for embedding in vectors.values()]
    _check_same_nodes(list(vectors), tasks)
    first, names = tasks[0], list(vectors)

    def score(key: tuple[float, int]) -> tuple[tuple[float, ...], Choice]:
        ratio, repeat = key
        training, test = first.split(ratio, seed, repeat)
        candidate, strength = _choose(tasks, training, grid, folds, [seed, repeat])
        scores = score_split(tasks[candidate], training, test, strength, "top-k", "fast")
        return (ratio, repeat, *scores), Choice(names[candidate], strength)

    splits = [(ratio, repeat) for ratio in ratios for repeat in range(repeats)]
    # As in evaluate().
    with reporting(progress) as report, threadpool_limits(1), ThreadPoolExecutor(check_threads(threads)) as pool:
        found = list(tracked(pool.map(score, reversed(splits)), len(splits), report, "scoring"))[::-1]
    checksums = "\n".join(f"{name} {embedding_sha256(embedding)}" for name, embedding in vectors.items())
    return NestedEvaluation(
        scores=np.array([scores for scores, _ in found], dtype=SCORE),
        train=ratios,
        repeats=int(repeats),
        seed=int(seed),
        C=math.nan,
        rule="top-k",
        n_labeled=len(first.present),
        n_without_vector=int(np.count_nonzero(~first.present)),
        n_classes=first.indicator.shape[1],
        embedding_sha256=hashlib.sha256(checksums.encode()).hexdigest(),
        labels_sha256=labels_sha256(truth),
        classifier="fast",
        choices=tuple(choice for _, choice in found),
    )


def _choose(
    tasks: Sequence[LabeledVectors], training: NDArray[np.intp], grid: tuple[float, ...], folds: int, seed: list[int]
) -> tuple[int, float]:
    """Return the index of the candidate and the C with the highest cross-validated Micro-F1."""
    middle = (len(grid) - 1) / 2
    preferred = sorted(range(len(grid)), key=lambda j: abs(j - middle))
    # Each node is assigned as many labels as it has, so that Micro-F1 is proportional to the correct ones.
    correct = np.zeros((len(tasks), len(grid)), dtype=np.int64)
    if len(training) >= 2 * folds and len(correct.flat) > 1:
        for held_out in _held_out(tasks[0].indicator[training], folds, seed):
            rest, test = training[~held_out], training[held_out]
            correct += np.array([_count_correct(task, rest, test, grid) for task in tasks])
    candidate, position = np.unravel_index(np.argmax(correct[:, preferred]), correct.shape)
    return int(candidate), grid[preferred[position]]


def _held_out(indicator: NDArray[np.bool_], folds: int, seed: list[int]) -> Iterator[NDArray[np.bool_]]:
    """Yield the held-out nodes of each fold, of several rounds if there are few nodes."""
    rounds = min(math.ceil(MIN_PREDICTIONS / len(indicator)), MAX_ROUNDS)
    for i in range(rounds):
        rng = np.random.default_rng([*seed, 1 + i])  # other numbers than those of the split
        for fold in split_folds(indicator, folds, rng):
            yield fold.held_out


def _count_correct(
    task: LabeledVectors, training: NDArray[np.intp], test: NDArray[np.intp], grid: tuple[float, ...]
) -> NDArray[np.int64]:
    """Return the number of correctly assigned labels of the test nodes for each C."""
    known, true = task.indicator[training], task.indicator[test]
    X, Y = task.vectors[training], task.vectors[test]
    positives = np.count_nonzero(known, axis=0)
    learned = (positives > 0) & (positives < len(known))
    log_odds = np.tile(np.where(positives > 0, math.inf, -math.inf), (len(test), 1))
    correct = np.zeros(len(grid), dtype=np.int64)
    solution = None
    for j, C in enumerate(grid):  # ascending: each solution is close to the next one
        solution = weights, intercepts = fit_one_vs_rest(X, known[:, learned], C, start=solution)
        log_odds[:, learned] = Y @ weights + intercepts
        correct[j] = np.count_nonzero(top_k(log_odds, true.sum(axis=1)) & true)
    return correct


def _check_grid(C: Iterable[float]) -> tuple[float, ...]:
    grid = tuple(sorted({check_C(value) for value in C}))
    if not grid:
        raise ParameterError("C must contain at least one value, got none")
    return grid


def _check_same_nodes(names: list[str], tasks: list[LabeledVectors]) -> None:
    if not tasks:
        raise ParameterError("candidates must contain at least one embedding, got none")
    for name, task in zip(names, tasks, strict=True):
        differing = np.count_nonzero(task.present != tasks[0].present)
        if differing:
            raise ParameterError(
                f"candidates must be embeddings of the same nodes, but {names[0]!r} and {name!r} differ in "
                f"{differing} of the labeled nodes: embed the same graph"
            )
