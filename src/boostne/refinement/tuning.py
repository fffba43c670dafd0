"""tune: the parameters of BoostNE that suit a graph."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from boostne.embedding import Embedding
from boostne.errors import GraphError, ParameterError
from boostne.graph import Graph
from boostne.interop import as_graph
from boostne.models import BoostNE
from boostne.progress import ProgressOption, reporting
from boostne.refinement.label_criterion import LabelCriterion
from boostne.refinement.level_weights import LevelWeights
from boostne.refinement.link_criterion import LinkCriterion
from boostne.refinement.search_space import search_space
from boostne.refinement.successive_halving import FINAL_FIT, Scored, Search, plan_rungs
from boostne.refinement.tuning_criterion import Criterion
from boostne.refinement.tuning_result import Trial, TuningInterrupted, TuningResult
from boostne.validation import check_number, seed_from
from boostne.vector_lengths import rescale_in_place


def tune(
    graph: Any,
    labels: Any = None,
    *,
    estimator: BoostNE | None = None,
    budget: float = 11,
    space: Mapping[str, Iterable[Any]] | None = None,
    C: float = 1.0,
    folds: int = 3,
    random_state: Any = 0,
    threads: int | None = None,
    progress: ProgressOption = False,
) -> TuningResult:
    """Search for the parameters of BoostNE that suit a graph, and embed it with them.

    With labels, settings are compared by the cross-validated Micro-F1 of the labeled nodes, and level weights are
    learned for the best. Without, a tenth of the edges is hidden, and settings are compared by how well they tell the
    hidden edges from other pairs of nodes; see docs/tuning.md. The default setting takes part, and is kept unless
    another one is better by more than two standard errors.

    Parameters
    ----------
    graph : Graph, or anything that :func:`boostne.as_graph` accepts
        Undirected.
    labels : Labels, or anything that :func:`boostne.as_labels` accepts, optional
        Labels of some nodes.
    estimator : BoostNE, optional
        The parameters that are not searched, such as ``dimensions``; its own setting is the default. By default
        ``BoostNE()``.
    budget : float, default=11
        Number of full fits; those with fewer passes count as a quarter or half. One is for the winner. If it does not
        suffice for all settings, the least promising are left out. 11 suffices for the default space.
    space : mapping from str to sequence, optional
        Values to compare of "window", "approximation", "negative", "propagation" or "vector_length", instead of the
        default ones.
    C : float, default=1.0
        With labels: inverse regularization strength of the classifier.
    folds : int, default=3
        With labels: number of folds.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the folds or of the hidden edges.
    threads : int, optional
        Number of threads; by default that of the estimator. The result does not depend on it.
    progress : callable or bool, default False
        Called repeatedly with a :class:`boostne.progress.Progress`; True shows a progress bar.

    Returns
    -------
    TuningResult

    Raises
    ------
    TuningInterrupted
        A KeyboardInterrupt with the best so far as ``result``, if tuning is interrupted after the first trial.

    Examples
    --------
    >>> from boostne import BoostNE, load_dataset, tune
    >>> data = load_dataset("karate")
    >>> result = tune(data.graph, data.labels, estimator=BoostNE(8, levels=2), budget=3)
    >>> result.embedding
    Embedding(34 nodes, 8 dimensions, levels [4, 4], float32)
    >>> sorted(result.settings)
    ['connectivity', 'propagation', 'vector_length', 'window']
    """
    network = _check_graph(graph)
    base = _check_estimator(estimator, threads)
    settings = search_space(base, network, space)
    rungs = plan_rungs(len(settings.candidates), len(settings.negatives), check_number("budget", budget, 0))
    seed = seed_from(random_state)
    criterion: Criterion
    if labels is None:
        criterion = LinkCriterion(network, seed)
    else:
        criterion = LabelCriterion(network, labels, C, folds, seed, base.threads)
    with reporting(progress) as report:
        search = Search(settings, criterion, rungs, report)
        try:
            winner, default = search.run()
            model = settings.model(_settings(search, winner))
            search.fit(model, network, FINAL_FIT, "full fit of the best setting")
            weighting = None if labels is None else _level_weights(model, labels, C, folds, seed)
            return _result(search, winner, default, model, weighting, float(budget))
        except KeyboardInterrupt as interrupt:
            if search.best is None or search.best_vectors is None or search.default is None:
                raise
            found = _best_so_far(search, search.best, search.best_vectors, search.default.trial, float(budget))
            raise TuningInterrupted(found) from interrupt


def _check_graph(graph: Any) -> Graph:
    network = as_graph(graph)
    if network.sides is not None:
        raise GraphError("tuning scores vectors of all nodes: call with_sides(None) on the bipartite graph")
    if network.directed:
        raise GraphError(
            "tune embeds undirected graphs and this graph is directed; pass as_graph(graph).to_undirected()"
        )
    if network.adjacency.nnz == 0:
        raise GraphError(f"the graph has {network.n_nodes} nodes and no edges: there is nothing to tune")
    return network


def _check_estimator(estimator: Any, threads: int | None) -> BoostNE:
    """Return a copy of the estimator, by default with all defaults."""
    if estimator is not None and not isinstance(estimator, BoostNE):
        raise ParameterError(f"estimator must be a BoostNE, got {estimator!r}; other methods work with GridSearchCV")
    base: BoostNE = BoostNE() if estimator is None else clone(estimator, safe=False)
    return base if threads is None else base.set_params(threads=threads)


def _settings(search: Search, one: Scored) -> dict[str, Any]:
    return search.space.settings(one.candidate, one.trial.propagation, one.trial.vector_length)


def _level_weights(model: BoostNE, labels: Any, C: float, folds: int, seed: int) -> LevelWeights | None:
    """Return the learned weights, or None if uniform ones are as good."""
    if model.levels == 1:
        return None
    weighting = LevelWeights(C, folds=folds, random_state=seed, threads=model.threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels without a node were reported before
        weighting.fit(model.embedding_, labels)
    return None if (weighting.weights_ == 1).all() else weighting


def _result(
    search: Search, winner: Scored, default: Scored, model: BoostNE, weighting: LevelWeights | None, budget: float
) -> TuningResult:
    embedding, best, weights = model.embedding_, winner.trial, None
    if weighting is not None:
        weighted = weighting.transform(embedding)
        score = search.criterion.score(weighted.vectors, 0.0, 0).value
        search.trials.append(replace(best, score=score, level_weights=tuple(weighting.weights_.tolist())))
        if score >= best.score:  # they are learned for Macro-F1, too
            embedding, best, weights = weighted, search.trials[-1], weighting.weights_
    return TuningResult(
        embedding=embedding,
        model=model,
        settings=_settings(search, winner),
        level_weights=weights,
        best=best,
        default=default.trial,
        trials=tuple(search.trials),
        criterion=search.criterion.name,
        budget=budget,
        spent=search.spent,
    )


def _best_so_far(search: Search, best: Scored, vectors: NDArray[Any], default: Trial, budget: float) -> TuningResult:
    """Return the best trial of an interrupted search, with its vectors."""
    length = best.trial.vector_length
    if length:
        rescale_in_place(vectors, length)
    model = search.space.model(_settings(search, best))
    return TuningResult(
        embedding=Embedding(search.criterion.graph.nodes, vectors, [vectors.shape[1] // model.levels] * model.levels),
        model=model,
        settings=_settings(search, best),
        level_weights=None,
        best=best.trial,
        default=default,
        trials=tuple(search.trials),
        criterion=search.criterion.name,
        budget=budget,
        spent=search.spent,
        complete=False,
    )
