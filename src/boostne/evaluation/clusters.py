"""Clustering: k-means clusters of the vectors are compared with the labels."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from boostne.errors import InputWarning, ParameterError
from boostne.evaluation.checksum import embedding_sha256, labels_sha256
from boostne.evaluation.classification import MIN_CLASSES, as_embedding, join
from boostne.evaluation.result import Scores, versions
from boostne.kernels import check_threads
from boostne.labels import as_labels
from boostne.progress import ProgressOption, reporting, tracked
from boostne.validation import check_integer

CLUSTER_SCORE = np.dtype([("repeat", "i8"), ("nmi", "f8"), ("ari", "f8")])


def evaluate_clusters(
    embedding: Any,
    labels: Any,
    *,
    repeats: int = 10,
    seed: int = 0,
    normalize: bool = True,
    starts: int = 10,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> "ClusterEvaluation":
    """Score an embedding by clustering.

    The vectors are clustered by k-means, with k the number of classes. The clusters C are compared with the
    classes Y by normalized mutual information, ``NMI = 2 I(C, Y) / (H(C) + H(Y))``, and by the adjusted Rand
    index, the fraction of node pairs on which C and Y agree, rescaled so that random clusters score 0 and
    identical ones 1. NMI is not adjusted for chance: random clusters score above 0, the more so the more classes.

    Vectors and labels are joined on node ids. Clusters do not overlap, so nodes with several labels are ignored.

    Parameters
    ----------
    embedding : Embedding, (nodes, vectors), DataFrame indexed by node, or array of shape (n, d)
        Row i of a plain array is node i.
    labels : Labels, or anything that :func:`boostne.as_labels` accepts
    repeats : int, default 10
        Number of k-means runs.
    seed : int, default 0
        Seed of the runs.
    normalize : bool, default True
        Scale the vectors to unit norm, so that only directions matter and not degrees. Zero vectors stay zero.
    starts : int, default 10
        Number of k-means++ initializations per run; the one with the lowest inertia is kept.
    threads : int, optional
        Number of threads; all cores by default. The scores do not depend on it.
    progress : callable or bool, default False
        Called repeatedly with a :class:`boostne.progress.Progress`; True shows a progress bar.

    Returns
    -------
    ClusterEvaluation

    Examples
    --------
    >>> vectors = [[0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [3, 0]]
    >>> result = evaluate_clusters(vectors, {i: "left" if i < 3 else "right" for i in range(6)}, repeats=2)
    >>> result.mean("nmi"), result.mean("ari")
    (np.float64(1.0), np.float64(1.0))
    """
    from sklearn import preprocessing
    from threadpoolctl import threadpool_limits

    check_integer("repeats", repeats, 1)
    check_integer("seed", seed, 0, maximum=None)
    check_integer("starts", starts, 1)
    n_threads = check_threads(threads)
    given, known = as_embedding(embedding), as_labels(labels)
    task = join(given, known)
    several = task.indicator.sum(axis=1) > 1
    used = task.present & ~several
    truth, k = _classes(task.indicator[used], int(np.count_nonzero(several)))
    vectors = preprocessing.normalize(task.vectors[used]) if normalize else task.vectors[used]

    def score(repeat: int) -> tuple[float, ...]:
        return repeat, *_score(vectors, truth, k, starts, _seed(seed, repeat))

    with reporting(progress) as report, threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        rows = list(tracked(pool.map(score, range(repeats)), repeats, report, "clustering"))
    return ClusterEvaluation(
        scores=np.array(rows, dtype=CLUSTER_SCORE),
        repeats=int(repeats),
        seed=int(seed),
        normalize=bool(normalize),
        starts=int(starts),
        n_nodes=len(truth),
        n_multilabel=int(np.count_nonzero(several)),
        n_without_vector=int(np.count_nonzero(~task.present)),
        n_classes=k,
        embedding_sha256=embedding_sha256(given),
        labels_sha256=labels_sha256(known),
    )


@dataclass(frozen=True, eq=False, repr=False)
class ClusterEvaluation(Scores):
    """The clustering scores of an embedding and the protocol that produced them.

    Attributes
    ----------
    scores : structured array
        One row per run of k-means: ``repeat``, ``nmi``, ``ari``.
    repeats, seed, normalize, starts
        As given to :func:`boostne.evaluate_clusters`.
    n_nodes : int
        Number of clustered nodes: those with a vector and exactly one label.
    n_multilabel, n_without_vector : int
        Number of ignored nodes: with several labels, and with a label but no vector.
    n_classes : int
        Number of classes among the clustered nodes, which is also the number of clusters.
    embedding_sha256, labels_sha256 : str
        Checksums of the vectors and of the labels by node id, independent of their order.

    Examples
    --------
    >>> vectors = [[0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [3, 0]]
    >>> labels = {i: "left" if i < 3 else "right" for i in range(6)}
    >>> result = evaluate_clusters(vectors, labels, repeats=2)
    >>> result.n_classes, float(result.mean("nmi"))
    (2, 1.0)
    """

    task: ClassVar[str] = "Clustering"
    metrics: ClassVar[dict[str, str]] = {"nmi": "NMI", "ari": "ARI"}

    normalize: bool
    starts: int
    n_nodes: int
    n_multilabel: int
    n_without_vector: int
    n_classes: int
    embedding_sha256: str
    labels_sha256: str

    def table(self) -> str:
        """Return the means and standard errors as a text table preceded by the protocol."""
        lines = [f"{name}   {self._cells(metric)[0]}" for metric, name in self.metrics.items()]
        return "\n".join([f"{self._protocol()}; {self._legend()}", "", *lines])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-serializable Python values."""
        return {
            "protocol": self._protocol(),
            "seed": self.seed,
            "repeats": self.repeats,
            "starts": self.starts,
            "normalize": self.normalize,
            "nodes": self.n_nodes,
            "nodes_with_several_labels": self.n_multilabel,
            "labeled_nodes_without_vector": self.n_without_vector,
            "classes": self.n_classes,
            "embedding_sha256": self.embedding_sha256,
            "labels_sha256": self.labels_sha256,
            "versions": versions(),
            "summary": {name: float(value) for name, value in self._summary().items()},
            "runs": self._rows(),
        }

    def _protocol(self) -> str:
        nodes = f"{self.n_nodes:,} nodes with one label"
        if self.n_multilabel:
            nodes += f" ({self.n_multilabel} with several are ignored)"
        vectors = "unit-norm vectors" if self.normalize else "vectors as given"
        runs = f"{self.repeats} runs (seed {self.seed}), best of {self.starts} starts each"
        return f"{nodes}; k-means, k = {self.n_classes} classes, {vectors}; {runs}"


def _classes(indicator: NDArray[np.bool_], n_several: int) -> tuple[NDArray[np.intp], int]:
    """Return the class of each node and the number of classes."""
    if not len(indicator):
        raise ParameterError(
            f"no node has a vector and exactly one label ({n_several} labeled nodes have several); clusters do "
            "not overlap: use evaluate() for nodes with several labels"
        )
    distinct, truth = np.unique(indicator.argmax(axis=1), return_inverse=True)
    if len(distinct) < MIN_CLASSES:
        raise ParameterError(
            f"labels must have at least two classes among the {len(indicator)} nodes with a vector and exactly one "
            f"label, got {len(distinct)}"
        )
    if n_several:
        warn(
            f"{n_several} nodes have several labels and are ignored: clusters do not overlap",
            InputWarning,
            stacklevel=3,
        )
    return truth, len(distinct)


def _score(
    vectors: NDArray[np.float64], truth: NDArray[np.intp], k: int, starts: int, seed: int
) -> tuple[float, float]:
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
    from threadpoolctl import threadpool_limits

    # The OpenMP limit is per calling thread; sums over several threads would differ in the last bits.
    with threadpool_limits(1, user_api="openmp"):
        found = KMeans(k, n_init=starts, random_state=seed).fit_predict(vectors)
    return float(normalized_mutual_info_score(truth, found)), float(adjusted_rand_score(truth, found))


def _seed(seed: int, repeat: int) -> int:
    return int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])
