"""Level weights: one factor per level, learned from labeled nodes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from boostne.embedding import Embedding, column_names
from boostne.errors import ParameterError
from boostne.evaluation.classification import as_embedding, check_C, join
from boostne.kernels import check_threads
from boostne.labels import as_labels
from boostne.level_weighting import HeldOutScores, learn_level_weights
from boostne.validation import check_integer, check_number, seed_from


class LevelWeights(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Multiplies each level of an embedding by a weight learned from labeled nodes.

    The weights tell at which granularity the labels are found: high weights of the first levels mean that coarse
    structure matters, those of the last levels fine structure. They minimize a cross-validated ranking loss of the
    one-vs-rest logistic regression with the given C, with uniform weights as the prior; see docs/method.md. Weights
    that are not better than uniform ones by more than chance explains are discarded: all are 1 then.

    The common scale of the weights is learned, too. It matters because C is fixed: twice the scale is four times C.

    Parameters
    ----------
    C : float, default 1.0
        Inverse regularization strength of the classifier that will be trained on the weighted vectors.
    folds : int, default 3
        Number of folds of the cross-validation.
    prior_scale : float, default 0.3
        Standard deviation of the logarithm of the weights in their prior distribution. Lower values result in
        weights closer to 1.
    levels : sequence of int, optional
        The width of each level, for vectors without this information, such as arrays. By default that of the
        embedding.
    max_nodes : int, default 3000
        If more nodes are labeled, this number of them is chosen at random, since learning takes time.
    random_state : int, Generator or None, default 0
        Seed of the folds and of this choice.
    threads : int, optional
        Number of threads; all cores by default. The weights do not depend on it.

    Attributes
    ----------
    weights_ : ndarray of shape (n_levels,)
        The factor of each level, coarse to fine.
    learned_weights_ : ndarray of shape (n_levels,)
        The learned weights, even if they were discarded.
    uniform_scores_, learned_scores_ : HeldOutScores
        Cross-validated scores of uniform weights and of the learned ones: ``losses``, ``micro``, ``macro``.
    levels_ : ndarray of shape (n_levels,)
        The width of each level.
    n_nodes_ : int
        Number of labeled nodes that the weights were learned from.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    It follows the conventions of scikit-learn, except that ``fit`` requires labels and that an array requires
    ``levels``, so that scikit-learn's ``check_estimator``, which knows neither, does not apply. ``set_output`` affects
    the result for arrays and data frames; :meth:`boostne.Embedding.to_frame` converts an embedding.

    Examples
    --------
    >>> from boostne import BoostNE, LevelWeights, load_dataset
    >>> data = load_dataset("karate")
    >>> embedding = BoostNE(8, levels=2, random_state=0).fit(data.graph).embedding_
    >>> weighting = LevelWeights().fit(embedding, data.labels)
    >>> weighting.weights_.shape
    (2,)
    >>> weighting.transform(embedding)
    Embedding(34 nodes, 8 dimensions, levels [4, 4], float32)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        folds: int = 3,
        prior_scale: float = 0.3,
        levels: Sequence[int] | None = None,
        max_nodes: int = 3000,
        random_state: Any = 0,
        threads: int | None = None,
    ) -> None:
        self.C = C
        self.folds = folds
        self.prior_scale = prior_scale
        self.levels = levels
        self.max_nodes = max_nodes
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : Embedding, (nodes, vectors), DataFrame indexed by node, or array of shape (n, d)
            Row i of a plain array is node i. Nodes without labels are ignored.
        y : Labels, or anything that :func:`boostne.as_labels` accepts
            Joined with the vectors on node ids.

        Returns
        -------
        self
        """
        C = check_C(self.C)
        prior_scale = check_number("prior_scale", self.prior_scale, 0, strict=True)
        folds = check_integer("folds", self.folds, 2)
        max_nodes = check_integer("max_nodes", self.max_nodes, 1)
        threads, seed = check_threads(self.threads), seed_from(self.random_state)
        embedding = as_embedding(X)
        if self.levels is not None:
            embedding = Embedding(embedding.nodes, embedding.vectors, self.levels)
        task = join(embedding, as_labels(y))
        with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
            found = learn_level_weights(
                task.vectors[task.present],
                task.indicator[task.present],
                embedding.levels,
                C=C,
                folds=folds,
                prior_scale=prior_scale,
                max_nodes=max_nodes,
                seed=seed,
                fold_map=pool.map,
            )
        self.weights_, self.learned_weights_ = found.weights, found.candidate
        self.uniform_scores_: HeldOutScores = found.uniform
        self.learned_scores_: HeldOutScores = found.learned
        self.levels_, self.n_nodes_, self.n_features_in_ = embedding.levels, found.n_nodes, embedding.dimensions
        return self

    def transform(self, X: Any) -> Any:
        """Multiply each level by its weight.

        Parameters
        ----------
        X : Embedding, (nodes, vectors), DataFrame indexed by node, or array of shape (n, d)

        Returns
        -------
        Embedding or ndarray of shape (n, d)
            An embedding for an embedding; otherwise the weighted vectors.
        """
        check_is_fitted(self)
        embedding = as_embedding(X)
        if embedding.dimensions != self.n_features_in_:
            raise ParameterError(
                f"the weights were learned for {self.n_features_in_} columns, got {embedding.dimensions}"
            )
        factors = np.repeat(self.weights_, self.levels_)
        weighted = np.multiply(embedding.vectors, factors, dtype=embedding.vectors.dtype)
        return Embedding(embedding.nodes, weighted, self.levels_) if isinstance(X, Embedding) else weighted

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns by level, ``u1_1 … u1_16, u2_1 …``."""
        check_is_fitted(self)
        return np.array(column_names(self.levels_), dtype=object)

    def report(self) -> str:
        """Return the weights and the cross-validated scores as text."""
        check_is_fitted(self)
        lines = ["level  width  weight"]
        lines += [
            f"{i:5d}  {width:5d}  {weight:6.3f}"
            for i, (width, weight) in enumerate(zip(self.levels_, self.weights_, strict=True), 1)
        ]
        lines += ["", f"cross-validated on {self.n_nodes_} nodes", "weights    loss  Micro-F1  Macro-F1"]
        lines += [
            f"{name}  {scores.losses.mean():6.4f}  {scores.micro:8.4f}  {scores.macro:8.4f}"
            for name, scores in (("uniform", self.uniform_scores_), ("learned", self.learned_scores_))
        ]
        if (self.weights_ == 1).all():
            lines.append(f"uniform weights kept: the learned ones, {_format(self.learned_weights_)}, are not better")
        return "\n".join(lines)


def _format(weights: NDArray[np.float64]) -> str:
    return " ".join(f"{weight:.2f}" for weight in weights)
