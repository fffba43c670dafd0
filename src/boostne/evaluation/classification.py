"""Node classification, the way the literature scores embeddings.

The labeled nodes are split at random into training and test nodes. On the training nodes one logistic
regression per label (liblinear) learns that label from the vectors. A test node with l labels is then given
the l most probable ones (rule "top-k"; DeepWalk, NetMF and the BoostNE paper score so), or all labels of
probability at least ½ (rule "threshold"). Micro- and Macro-F1 compare the given labels with the true ones.
"""

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.evaluation.checksum import embedding_sha256, labels_sha256
from boostne.evaluation.result import RULES, SCORE, Evaluation, Rule, check_repeats
from boostne.labels import Labels, as_labels
from boostne.node_ids import encode_ids, format_ids, lookup_ids

_MIN_CLASSES = 2
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
    n_jobs: int | None = None,
) -> Evaluation:
    """Score an embedding by node classification.

    Vectors and labels are joined on node ids. The splits depend only on the ids of the labeled nodes and on
    `seed`, so the scores of two embeddings are paired. The training nodes for 10 % are among those for 20 %.

    Parameters
    ----------
    embedding : Embedding, (nodes, vectors), DataFrame indexed by node, or array of shape (n, d)
        The rows of a bare array are the nodes 0 … n-1.
    labels : Labels, or anything that :func:`boostne.as_labels` takes
    train : float or iterable of float
        Per cent of the labeled nodes to train on, each between 0 and 100.
    repeats : int, default 10
        Random splits per ratio.
    seed : int, default 0
        Seed of the random splits.
    C : float, default 1.0
        Inverse strength of the classifier's regularization.
    rule : {"top-k", "threshold"}, default "top-k"
        See the text above. "top-k" uses the true number of labels of each test node.
    n_jobs : int, optional
        Threads; by default every core. The scores do not depend on it.

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

    ratios = _check_parameters(train, repeats, seed, C, rule, n_jobs)
    vectors, truth = as_embedding(embedding), as_labels(labels)
    task = join(vectors, truth)
    splits = [
        (ratio, repeat, *task.split(ratio, seed, repeat)) for ratio in ratios for repeat in range(repeats)
    ]

    def score(split: tuple[float, int, NDArray[np.intp], NDArray[np.intp]]) -> tuple[float, ...]:
        ratio, repeat, training, test = split
        return ratio, repeat, *_score(task, training, test, C, rule)

    # Threads, because liblinear works without the interpreter lock; the largest splits first, so that the
    # threads end at about the same time.
    with threadpool_limits(1), ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        rows = list(pool.map(score, reversed(splits)))
    return Evaluation(
        scores=np.array(rows[::-1], dtype=SCORE),
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
    )


@dataclass(frozen=True, eq=False)
class Task:
    """The labeled nodes in the order of their ids: what is to be learned from what."""

    vectors: NDArray[np.float64]
    indicator: NDArray[np.bool_]
    present: NDArray[np.bool_]  # False for the nodes without a vector, which are left out after the split

    def split(self, ratio: float, seed: int, repeat: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the training and the test nodes."""
        n = len(self.present)
        shuffled = np.random.default_rng([seed, repeat]).permutation(n)
        cut = int(n * ratio / 100)
        training, test = (part[self.present[part]] for part in (shuffled[:cut], shuffled[cut:]))
        if not len(training) or not len(test):
            side = "test" if len(training) else "training"
            raise ParameterError(f"train = {ratio:g} (per cent) of {n} labeled nodes leaves no {side} node")
        return training, test


def join(embedding: Embedding, labels: Labels) -> Task:
    """Find the vector of every labeled node; warn of those that have none, on behalf of the caller's caller."""
    labeled = np.flatnonzero(np.diff(labels.matrix.indptr))
    if not len(labeled):
        raise ParameterError(f"no node carries a label: got {labels!r}")
    _, (rank,) = encode_ids(labels.nodes[labeled])
    order = labeled[np.argsort(rank)]
    ids, matrix = labels.nodes[order], labels.matrix[order]
    rows = lookup_ids(embedding.nodes, ids)
    present = rows >= 0
    if not present.any():
        raise ParameterError(_no_overlap(embedding, ids))
    indicator = matrix[:, np.unique(matrix.indices)].toarray()
    if indicator.shape[1] < _MIN_CLASSES:
        raise ParameterError(f"labels must have at least two classes, got {format_ids(labels.classes)}")
    if not present.all():
        warn(
            f"{np.count_nonzero(~present)} of {len(ids)} labeled nodes have no vector and are left out: "
            f"{format_ids(ids[~present])}",
            stacklevel=3,
        )
    vectors = np.zeros((len(ids), embedding.dimensions))
    vectors[present] = embedding.vectors[rows[present]]
    return Task(vectors, indicator, present)


def _no_overlap(embedding: Embedding, ids: NDArray[Any]) -> str:
    message = "no labeled node has a vector: "
    message += f"the embedding holds {format_ids(embedding.nodes)}, the labels {format_ids(ids)}"
    if {embedding.nodes.dtype.kind, ids.dtype.kind} == {"i", "U"}:
        message += "; one of them has integers, the other strings: convert one side"
    return message


def _score(
    task: Task, training: NDArray[np.intp], test: NDArray[np.intp], C: float, rule: Rule
) -> tuple[float, float, int]:
    """Return Micro-F1, Macro-F1 and the number of classes absent from training, for one split."""
    from sklearn.metrics import f1_score

    learned = task.indicator[training]
    values = one_vs_rest(task.vectors[training], learned, task.vectors[test], C)
    true = task.indicator[test]
    given = top_k(values, true.sum(axis=1)) if rule == "top-k" else values >= 0
    micro, macro = (f1_score(true, given, average=average, zero_division=0) for average in Evaluation.metrics)
    return float(micro), float(macro), int(np.count_nonzero(~learned.any(axis=0)))


def one_vs_rest(
    training: NDArray[np.float64], indicator: NDArray[np.bool_], test: NDArray[np.float64], C: float
) -> NDArray[np.float64]:
    """Learn each column of `indicator` by itself and return the log-odds of each label for the test nodes.

    These are the logits of ``OneVsRestClassifier(LogisticRegression(solver="liblinear")).predict_proba``,
    which does not normalize for an indicator matrix. So the order of the labels is the same, and ½ is 0 here.
    All labels are predicted in one matrix product.

    Returns
    -------
    ndarray of shape (test nodes, classes)
        -inf for a class without a training node, inf for one that every training node has.
    """
    from sklearn.linear_model import LogisticRegression

    n, classes = indicator.shape
    weights = np.zeros((classes, training.shape[1]))
    intercepts = np.zeros(classes)
    for j, positive in enumerate(indicator.T):
        count = np.count_nonzero(positive)
        if 0 < count < n:
            model = LogisticRegression(solver="liblinear", C=C, random_state=0).fit(training, positive)
            weights[j], intercepts[j] = model.coef_[0], model.intercept_[0]
        else:
            intercepts[j] = math.inf if count else -math.inf
    return np.asarray(test @ weights.T + intercepts)


def top_k(values: NDArray[np.float64], k: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Mark the ``k[i]`` largest values of each row i; of equal ones, the first.

    Examples
    --------
    >>> top_k(np.array([[0.1, 0.7, 0.2], [0.5, 0.5, 0.9]]), np.array([1, 2])).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """
    order = np.argsort(-values, axis=1, kind="stable")
    marked = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(marked, order, np.arange(values.shape[1]) < k[:, None], axis=1)
    return marked


def as_embedding(embedding: Any) -> Embedding:
    """Make an :class:`Embedding` from the forms that :func:`evaluate` takes."""
    if isinstance(embedding, Embedding):
        return embedding
    if hasattr(embedding, "index") and hasattr(embedding, "to_numpy"):  # a DataFrame: its index holds the ids
        return Embedding(embedding.index, embedding.to_numpy())
    if isinstance(embedding, tuple) and len(embedding) == _PAIR:
        return Embedding(*embedding)
    return Embedding(range(len(embedding)), embedding)


def _check_parameters(
    train: float | Iterable[float], repeats: int, seed: int, C: float, rule: str, n_jobs: int | None
) -> tuple[float, ...]:
    """Return the ratios in ascending order, each once."""
    ratios = tuple(sorted({float(ratio) for ratio in (train if isinstance(train, Iterable) else [train])}))
    outside = [ratio for ratio in ratios if not 0 < ratio < 100]  # noqa: PLR2004 (per cent)
    if outside or not ratios:
        got = f"{outside[0]:g}" if outside else "nothing"
        raise ParameterError(f"train must be per cent between 0 and 100 (both excluded), got {got}")
    if rule not in RULES:
        raise ParameterError(f"rule must be 'top-k' or 'threshold', got {rule!r}")
    check_repeats(repeats, seed)
    if not 0 < C < math.inf:
        raise ParameterError(f"C must be a positive number, got {C!r}")
    n_threads(n_jobs)
    return ratios


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` stands for."""
    from joblib import effective_n_jobs

    if n_jobs == 0:
        raise ParameterError("n_jobs must be a number of threads, or -1 or None for all cores, got 0")
    return int(effective_n_jobs(-1 if n_jobs is None else n_jobs))
