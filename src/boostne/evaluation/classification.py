"""Node classification, the standard downstream task for node embeddings.

The labeled nodes are split at random into training and test nodes. One logistic regression per label is
trained on the vectors of the training nodes. A test node with l labels is then assigned the l most probable
labels (rule "top-k", used by DeepWalk, NetMF and the BoostNE paper) or every label with a probability of at least
½ (rule "threshold"). Micro- and Macro-F1 compare the assigned labels with the true ones.
"""

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.errors import InputWarning, ParameterError
from boostne.evaluation.checksum import embedding_sha256, labels_sha256
from boostne.evaluation.result import CLASSIFIERS, RULES, SCORE, Classifier, Evaluation, Rule
from boostne.kernels import check_threads
from boostne.label_ranking import top_k
from boostne.labels import Labels, as_labels
from boostne.logistic_regression import fit_one_vs_rest
from boostne.node_ids import encode_ids, format_ids, lookup_ids
from boostne.progress import ProgressOption, reporting, tracked
from boostne.validation import check_choice, check_integer, check_number

MIN_CLASSES = 2
LARGEST_C = 1e50  # liblinear does not end if the objective overflows
_PAIR = 2


def evaluate(
    embedding: Any,
    labels: Any,
    *,
    train: float | Iterable[float] = (10, 20, 30, 40, 50, 60, 70, 80, 90),
    repeats: int = 10,
    seed: int = 0,
    C: float = 1.0,
    rule: Rule = "top-k",
    classifier: Classifier = "liblinear",
    level_weights: bool = False,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> Evaluation:
    """Score an embedding by node classification.

    Vectors and labels are joined on node ids. The splits depend only on the ids of the labeled nodes and on
    `seed`, so the scores of two embeddings are paired. Splits are nested: the training nodes at 20 % include
    those at 10 %.

    Parameters
    ----------
    embedding : Embedding, (nodes, vectors), DataFrame indexed by node, or array of shape (n, d)
        Row i of a plain array is node i.
    labels : Labels, or anything that :func:`boostne.as_labels` accepts
    train : float or iterable of float
        Training ratios: percentages of the labeled nodes, such as 50, from 1 to below 100, or fractions such as 0.5,
        between 0 and 1; not both.
    repeats : int, default 10
        Number of random splits per ratio.
    seed : int, default 0
        Seed of the random splits.
    C : float, default 1.0
        Inverse regularization strength of the classifier.
    rule : {"top-k", "threshold"}, default "top-k"
        "top-k" assigns each test node its true number of labels; "threshold" every label with a probability of
        at least ½.
    classifier : {"liblinear", "fast"}, default "liblinear"
        Solver of the logistic regressions. "liblinear" solves one label after another and is the one of most papers,
        including BoostNE's. "fast" solves the same problems for all labels at once, several times faster if there are
        many labels, and to a tighter tolerance; scores may differ in the fourth digit.
    level_weights : bool, default False
        Multiply each level of the embedding by a weight that is learned from the training nodes of the split; see
        :class:`boostne.LevelWeights`.
    threads : int, optional
        Number of threads; all cores by default. The scores do not depend on it.
    progress : callable or bool, default False
        Called repeatedly with a :class:`boostne.progress.Progress`; True shows a progress bar.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> vectors = [[0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [3, 0]]
    >>> result = evaluate(vectors, {i: "left" if i < 3 else "right" for i in range(6)}, train=50, repeats=2)
    >>> result.scores["micro"].shape
    (2,)
    """
    from threadpoolctl import threadpool_limits

    ratios = check_parameters(train, repeats, seed, C, rule, classifier, threads)
    vectors, truth = as_embedding(embedding), as_labels(labels)
    task = join(vectors, truth)
    splits = [(ratio, repeat, *task.split(ratio, seed, repeat)) for ratio in ratios for repeat in range(repeats)]

    def score(split: tuple[float, int, NDArray[np.intp], NDArray[np.intp]]) -> tuple[tuple[float, ...], Any]:
        ratio, repeat, training, test = split
        weights = _level_weights(task, training, vectors.levels, C, seed) if level_weights else None
        weighted = task if weights is None else task.weighted(np.repeat(weights, vectors.levels))
        return (ratio, repeat, *score_split(weighted, training, test, C, rule, classifier)), weights

    # Threads suffice because both solvers release the GIL. The largest splits go first to balance the load.
    with reporting(progress) as report, threadpool_limits(1), ThreadPoolExecutor(check_threads(threads)) as pool:
        found = list(tracked(pool.map(score, reversed(splits)), len(splits), report, "scoring"))[::-1]
    return Evaluation(
        scores=np.array([scores for scores, _ in found], dtype=SCORE),
        train=ratios,
        repeats=int(repeats),
        seed=int(seed),
        C=float(C),
        rule=rule,
        n_labeled=len(task.present),
        n_without_vector=int(np.count_nonzero(~task.present)),
        n_classes=task.indicator.shape[1],
        embedding_sha256=embedding_sha256(vectors),
        labels_sha256=labels_sha256(truth),
        classifier=classifier,
        level_weights=np.array([weights for _, weights in found]) if level_weights else None,
    )


@dataclass(frozen=True, eq=False)
class LabeledVectors:
    """The labeled nodes, sorted by id, with their vectors and a label indicator matrix."""

    vectors: NDArray[np.float64]
    indicator: NDArray[np.bool_]
    present: NDArray[np.bool_]  # False for nodes without a vector, which are dropped after splitting

    def weighted(self, factors: NDArray[np.float64]) -> "LabeledVectors":
        """Return the same nodes with each column of their vectors multiplied by a factor."""
        return replace(self, vectors=self.vectors * factors)

    def split(self, ratio: float, seed: int, repeat: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the training and the test nodes."""
        n = len(self.present)
        shuffled = np.random.default_rng([seed, repeat]).permutation(n)
        cut = int(n * ratio / 100)
        training, test = (part[self.present[part]] for part in (shuffled[:cut], shuffled[cut:]))
        if not len(training) or not len(test):
            side = "test" if len(training) else "training"
            raise ParameterError(f"train={ratio:g} (percent) of {n} labeled nodes leaves no {side} nodes")
        return training, test


def join(embedding: Embedding, labels: Labels) -> LabeledVectors:
    """Join vectors and labels on node ids; warn about labeled nodes without a vector."""
    labeled = np.flatnonzero(np.diff(labels.matrix.indptr))
    if not len(labeled):
        raise ParameterError(f"no node has a label: got {labels!r}")
    _, (rank,) = encode_ids(labels.nodes[labeled])
    order = labeled[np.argsort(rank)]
    ids, matrix = labels.nodes[order], labels.matrix[order]
    rows = lookup_ids(embedding.nodes, ids)
    present = rows >= 0
    if not present.any():
        raise ParameterError(_no_overlap(embedding, ids))
    indicator = matrix[:, np.unique(matrix.indices)].toarray()
    if indicator.shape[1] < MIN_CLASSES:
        raise ParameterError(f"labels must have at least two classes, got {format_ids(labels.classes)}")
    if not present.all():
        warn(
            f"{np.count_nonzero(~present)} of {len(ids)} labeled nodes have no vector and are ignored: "
            f"{format_ids(ids[~present])}",
            InputWarning,
            stacklevel=3,  # points at the caller of evaluate() or evaluate_clusters()
        )
    vectors = np.zeros((len(ids), embedding.dimensions))
    vectors[present] = embedding.vectors[rows[present]]
    return LabeledVectors(vectors, indicator, present)


def _no_overlap(embedding: Embedding, ids: NDArray[Any]) -> str:
    message = "no labeled node has a vector: "
    message += f"the embedding has nodes {format_ids(embedding.nodes)}, the labels {format_ids(ids)}"
    if {embedding.nodes.dtype.kind, ids.dtype.kind} == {"i", "U"}:
        message += "; one has integer ids and the other strings: convert one of them"
    return message


def _level_weights(
    task: LabeledVectors, training: NDArray[np.intp], levels: NDArray[np.int64], C: float, seed: int
) -> NDArray[np.float64]:
    from boostne.level_weighting import learn_level_weights

    return learn_level_weights(task.vectors[training], task.indicator[training], levels, C=C, seed=seed).weights


def score_split(
    task: LabeledVectors,
    training: NDArray[np.intp],
    test: NDArray[np.intp],
    C: float,
    rule: Rule,
    classifier: Classifier,
) -> tuple[float, float, int]:
    """Return Micro-F1, Macro-F1 and the number of classes without a training node, for one split."""
    from sklearn.metrics import f1_score

    known = task.indicator[training]
    log_odds = one_vs_rest(task.vectors[training], known, task.vectors[test], C, classifier)
    true = task.indicator[test]
    predicted = top_k(log_odds, true.sum(axis=1)) if rule == "top-k" else log_odds >= 0
    micro, macro = (f1_score(true, predicted, average=name, zero_division=0) for name in Evaluation.metrics)
    return float(micro), float(macro), int(np.count_nonzero(~known.any(axis=0)))


def one_vs_rest(
    training: NDArray[np.float64],
    indicator: NDArray[np.bool_],
    test: NDArray[np.float64],
    C: float,
    classifier: Classifier = "liblinear",
) -> NDArray[np.float64]:
    """Fit one classifier per column of `indicator` and return the log-odds of each label for the test nodes.

    The log-odds are the logits of ``OneVsRestClassifier(LogisticRegression(solver="liblinear")).predict_proba``,
    which does not normalize the rows of an indicator matrix: the ranking of the labels is the same, and a
    probability of ½ corresponds to 0. All labels are predicted by one matrix product.

    Returns
    -------
    ndarray of shape (n_test, n_classes)
        -inf for a class without training nodes, inf for a class of all training nodes.
    """
    n, classes = indicator.shape
    positives = np.count_nonzero(indicator, axis=0)
    learned = (positives > 0) & (positives < n)
    weights = np.zeros((classes, training.shape[1]))
    intercepts = np.where(positives > 0, math.inf, -math.inf)
    fit = _fit_liblinear if classifier == "liblinear" else fit_one_vs_rest
    columns, intercepts[learned] = fit(training, indicator[:, learned], C)
    weights[learned] = columns.T
    return np.asarray(test @ weights.T + intercepts)


def _fit_liblinear(
    vectors: NDArray[np.float64], indicator: NDArray[np.bool_], C: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights and intercepts of liblinear, with the shapes of :func:`fit_one_vs_rest`."""
    from sklearn.linear_model import LogisticRegression

    weights, intercepts = np.zeros((vectors.shape[1], indicator.shape[1])), np.zeros(indicator.shape[1])
    for j, positive in enumerate(indicator.T):
        model = LogisticRegression(solver="liblinear", C=C, random_state=0).fit(vectors, positive)
        weights[:, j], intercepts[j] = model.coef_[0], model.intercept_[0]
    return weights, intercepts


def as_embedding(embedding: Any) -> Embedding:
    """Convert any embedding that :func:`evaluate` accepts to an :class:`Embedding`."""
    if isinstance(embedding, Embedding):
        return embedding
    if hasattr(embedding, "index") and hasattr(embedding, "to_numpy"):  # a DataFrame indexed by node
        return Embedding(embedding.index, embedding.to_numpy())
    if isinstance(embedding, tuple) and len(embedding) == _PAIR:
        return Embedding(*embedding)
    return Embedding(range(len(embedding)), embedding)


def check_parameters(
    train: float | Iterable[float], repeats: int, seed: int, C: float, rule: str, classifier: str, threads: int | None
) -> tuple[float, ...]:
    """Validate the parameters and return the ratios as sorted, distinct percentages."""
    ratios = check_ratios(train)
    if rule not in RULES:
        raise ParameterError(f"rule must be 'top-k' or 'threshold', got {rule!r}")
    check_choice("classifier", classifier, CLASSIFIERS)
    check_integer("repeats", repeats, 1)
    check_integer("seed", seed, 0, maximum=None)
    check_C(C)
    check_threads(threads)
    return ratios


def check_ratios(train: float | Iterable[float]) -> tuple[float, ...]:
    """Return training ratios, percentages or fractions, as sorted, distinct percentages.

    Examples
    --------
    >>> check_ratios([0.9, 0.5]), check_ratios(10)
    ((50.0, 90.0), (10.0,))
    """
    ratios = sorted({float(ratio) for ratio in (train if isinstance(train, Iterable) else [train])})
    outside = [ratio for ratio in ratios if not 0 < ratio < 100]  # noqa: PLR2004 (percent)
    if outside or not ratios:
        got = f"{outside[0]:g}" if outside else "no ratios"
        raise ParameterError(
            f"train must be percentages strictly between 0 and 100, or fractions between 0 and 1; got {got}"
        )
    if ratios[0] < 1 <= ratios[-1]:
        raise ParameterError(
            f"train mixes fractions, such as {ratios[0]:g}, and percentages, such as {ratios[-1]:g}: write all of them "
            f"alike, as fractions below 1 or as percentages, such as {100 * ratios[0]:g} and {ratios[-1]:g}"
        )
    return tuple(round(100 * ratio, 9) for ratio in ratios) if ratios[-1] < 1 else tuple(ratios)


def check_C(C: float) -> float:  # noqa: N802
    """Return C as a float; raise unless it is a positive number that liblinear can handle."""
    value = check_number("C", C, 0, strict=True)
    if value > LARGEST_C:
        raise ParameterError(f"C must be at most {LARGEST_C:g}; got {C:g}")
    return value
