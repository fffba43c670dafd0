"""Tuning: the search space, successive halving, both criteria, the result, interruption and the command."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score

from boostne import (
    BoostNE,
    DeepWalkMatrix,
    Graph,
    LevelWeights,
    TuningInterrupted,
    load_dataset,
    planted_partition,
    tune,
)
from boostne.cli.program import run
from boostne.errors import GraphError, MemoryLimitError, ParameterError
from boostne.evaluation import evaluate
from boostne.evaluation.classification import one_vs_rest
from boostne.io import read_embedding
from boostne.label_ranking import top_k
from boostne.refinement import label_criterion, link_criterion
from boostne.refinement.label_criterion import LabelCriterion
from boostne.refinement.link_criterion import LinkCriterion, unconnected
from boostne.refinement.search_space import SPACE, Candidate, search_space
from boostne.refinement.successive_halving import plan_rungs, total_cost
from boostne.refinement.tuning_criterion import Score, is_better
from boostne.vector_lengths import rescale_in_place
from boostne.visualization import write_tuning_report

SMALL = BoostNE(8, levels=2)
FEW = {"window": [1, 3], "negative": [1], "propagation": [0, 0.6], "vector_length": [2.5]}


@pytest.fixture(scope="module")
def data():
    return planted_partition(200, communities=4, mean_degree=8, seed=1)


def without_seconds(result):
    return [replace(trial, seconds=0.0) for trial in result.trials]


# ---- the search space


def test_the_setting_of_the_estimator_is_the_first_candidate(data):
    space = search_space(BoostNE(window=7, propagation=0.3, vector_length=0), data.graph, None)
    assert space.candidates[0] == Candidate(7, "auto", 1.0)
    assert space.propagations == (0.3, *SPACE["propagation"])
    assert space.vector_lengths == (0, *SPACE["vector_length"])
    assert len(set(space.candidates)) == len(space.candidates)


def test_what_auto_stands_for_is_not_a_second_candidate(data):
    space = search_space(BoostNE(window=5), data.graph, None)
    assert space.candidates[0] == Candidate(5, "auto", 1.0)
    assert Candidate(5, "exact", 1.0) not in space.candidates
    assert Candidate(1, "exact", 1.0) in space.candidates
    assert space.negatives == (1.0, 0.5, 2.0)


def test_negative_of_the_estimator_is_kept_for_all_windows(data):
    space = search_space(BoostNE(connectivity=DeepWalkMatrix(negative=3)), data.graph, None)
    assert {candidate.negative for candidate in space.candidates} == {3.0}
    assert space.negatives == (3.0, 1.0, 0.5, 2.0)


def test_spectral_needs_more_nodes_than_eigenpairs_and_longer_walks(data):
    small = search_space(BoostNE(), data.graph, None)
    assert {candidate.approximation for candidate in small.candidates} == {"auto", "exact"}
    large = search_space(BoostNE(), planted_partition(300, communities=5).graph, None)
    assert {one.window for one in large.candidates if one.approximation == "spectral"} == {5, 10, 15}


def test_only_push_is_compared_on_large_graphs(monkeypatch, data):
    monkeypatch.setattr("boostne.refinement.search_space.LARGE", 100)
    space = search_space(BoostNE(connectivity=DeepWalkMatrix(max_per_row=50)), data.graph, None)
    assert {candidate.approximation for candidate in space.candidates} == {"auto", "push"}
    assert space.settings(Candidate(2, "push", 1.0), 0.0, 0.0)["connectivity"].max_per_row == 50
    assert space.settings(Candidate(2, "exact", 1.0), 0.0, 0.0)["connectivity"].max_per_row is None


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"windows": [1]}, "space must be one of 'window'.*got 'windows'"),
        ({"window": []}, r"space\['window'\] must have at least one value"),
        ({"window": [0]}, r"space\['window'\] must be an integer of at least 1; got 0"),
        ({"approximation": "fast"}, r"space\['approximation'\] must be one of 'exact'.*got 'fast'"),
        ({"propagation": [2]}, r"space\['propagation'\] must be a number from 0 to 1, got 2"),
        ({"negative": 0}, r"space\['negative'\] must be a number above 0; got 0"),
    ],
)
def test_invalid_spaces(data, space, message):
    with pytest.raises(ParameterError, match=message):
        tune(data.graph, data.labels, space=space)


def test_other_estimators_and_matrices_are_rejected(data):
    with pytest.raises(ParameterError, match="estimator must be a BoostNE, got 'netmf'"):
        tune(data.graph, estimator="netmf")
    with pytest.raises(ParameterError, match="connectivity='katz': compare other matrices with GridSearchCV"):
        tune(data.graph, estimator=BoostNE(connectivity="katz"))


# ---- the budget


@pytest.mark.parametrize("negatives", [1, 2, 3])
def test_rungs_stay_within_the_budget_and_use_it(negatives):
    for n in range(1, 20):
        for budget in np.arange(2, 16, 0.25):
            rungs = plan_rungs(n, negatives, budget)
            assert total_cost(rungs) <= budget
            assert rungs[-1].passes == 2
            assert [rung.passes for rung in rungs] == sorted({rung.passes for rung in rungs})
            assert all(later.kept < earlier.size for earlier, later in pairwise(rungs))
            if total_cost(plan_rungs(n, negatives, 100)) <= budget:
                assert max(rung.negatives for rung in rungs) == negatives
                assert rungs[0].kept == n


def test_the_default_budget_suffices_for_the_default_space():
    space = search_space(BoostNE(window=7), planted_partition(300, communities=5).graph, None)
    rungs = plan_rungs(len(space.candidates), len(space.negatives), 11)
    assert [(rung.kept, rung.negatives) for rung in rungs] == [(9, 1), (3, 3), (3, 1)]


@pytest.mark.parametrize("budget", [1, 1.9, 0])
def test_a_budget_too_small_for_one_fit(data, budget):
    with pytest.raises(ParameterError, match=f"budget={budget} is less than 2 full fits"):
        tune(data.graph, data.labels, budget=budget)


@pytest.mark.parametrize("budget", [-1, np.nan, "10"])
def test_a_budget_that_is_no_number(data, budget):
    with pytest.raises(ParameterError, match="budget must be a number"):
        tune(data.graph, budget=budget)


@pytest.mark.parametrize("budget", [2, 3, 5, 11])
def test_fits_are_counted(monkeypatch, data, budget):
    passes = []
    fit = BoostNE.fit
    monkeypatch.setattr(
        BoostNE, "fit", lambda self, *args, **kwargs: passes.append(self.max_iter) or fit(self, *args, **kwargs)
    )
    result = tune(data.graph, data.labels, estimator=SMALL, budget=budget)
    assert result.spent == sum({3: 0.25, 6: 0.5}.get(count, 1.0) for count in passes) <= budget
    assert result.budget == budget
    trials = [trial for trial in result.trials if trial.level_weights is None]
    assert len({(trial.rung, trial.window, trial.approximation, trial.negative) for trial in trials}) == len(passes) - 1


def test_max_iter_of_the_estimator_is_the_most(data):
    result = tune(data.graph, data.labels, estimator=BoostNE(8, levels=2, max_iter=4), space=FEW, budget=6)
    assert {trial.max_iter for trial in result.trials} <= {3, 4}
    assert result.model.max_iter == 4


# ---- the result


@pytest.fixture(scope="module", params=["labels", "links"])
def labels(request, data):
    return data.labels if request.param == "labels" else None


@pytest.fixture(scope="module")
def result(data, labels):
    return tune(data.graph, labels, estimator=SMALL, space=FEW)


def test_the_model_is_a_full_fit_of_the_winner(data, result):
    parameters = {**SMALL.get_params(deep=False), **result.settings}
    expected = BoostNE(**parameters).fit(data.graph).embedding_
    assert np.array_equal(result.model.embedding_.vectors, expected.vectors)
    factors = 1.0 if result.level_weights is None else np.repeat(result.level_weights, 4)
    assert np.allclose(result.embedding.vectors, expected.vectors * factors, rtol=1e-6)
    assert result.embedding.levels.tolist() == [4, 4]
    assert result.complete


def test_the_winner_and_the_default_are_trials_of_the_last_rung(result):
    last = max(trial.rung for trial in result.trials)
    assert result.best in result.trials
    assert result.default in result.trials
    assert result.best.rung == result.default.rung == last
    assert result.best.score >= result.default.score
    matrix = result.settings["connectivity"]
    assert (matrix.window, matrix.approximation) == (result.best.window, result.best.approximation)
    assert result.settings["propagation"] == result.best.propagation


def test_runs_and_threads_give_the_same_result(data, labels, result):
    for threads in (1, 3):
        again = tune(data.graph, labels, estimator=SMALL, space=FEW, threads=threads)
        assert without_seconds(again) == without_seconds(result)
        assert np.array_equal(again.embedding.vectors, result.embedding.vectors)


def test_json_and_table(result):
    found = json.loads(result.to_json())
    assert found["settings"]["connectivity"]["name"] == "DeepWalkMatrix"
    assert len(found["trials"]) == len(result.trials)
    assert found["best"]["score"] == result.best.score
    assert found["spent"] <= found["budget"]
    assert len(result.table(3).splitlines()) == 4
    assert len(result.table(None).splitlines()) == len(result.trials) + 1


def test_progress_is_monotone_and_names_the_setting(data):
    seen = []
    tune(data.graph, data.labels, estimator=SMALL, space=FEW, progress=seen.append)
    done = [progress.done for progress in seen if progress.stage == "tuning"]
    assert done == sorted(done)
    assert done[-1] <= 1
    assert any("rung 1/" in progress.detail and "window 3, exact" in progress.detail for progress in seen)


def test_a_setting_that_fails_is_recorded(monkeypatch, data):
    fit = BoostNE.fit

    def fail(self, *args, **kwargs):
        if self.connectivity.window == 3:
            raise MemoryLimitError("too large")
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(BoostNE, "fit", fail)
    result = tune(data.graph, data.labels, estimator=SMALL, space=FEW)
    failed = [trial for trial in result.trials if trial.error]
    assert [(trial.window, trial.error) for trial in failed] == [(3, "too large")]
    assert json.loads(result.to_json())["trials"][result.trials.index(failed[0])]["score"] is None
    assert "failed" in result.table(None)
    with pytest.raises(MemoryLimitError):
        tune(data.graph, data.labels, estimator=BoostNE(8, levels=2, window=3), space=FEW)


def test_isolated_nodes_are_reported_once(data):
    nodes = [*data.graph.nodes.tolist(), 999]
    edges = data.graph.adjacency.tocoo()
    graph = Graph.from_indices(np.array(nodes), edges.row, edges.col)
    with pytest.warns(UserWarning, match="1 of 201 nodes have no edges") as seen:
        result = tune(graph, data.labels, estimator=SMALL, space=FEW, budget=3)
    assert len(seen) == 1
    assert not result.embedding[999].any()


# ---- labels


def test_label_criterion_is_a_cross_validated_micro_f1(data):
    criterion = LabelCriterion(data.graph, data.labels, 2.0, 4, 0, 2)
    vectors = SMALL.fit(data.graph).embedding_.vectors
    found = criterion.score(vectors, 3.0, 0)
    indicator = data.labels.align(data.graph.nodes)[0].toarray()
    scaled = vectors.copy()
    rescale_in_place(scaled, 3.0)
    sample = criterion._samples[0]
    assert sorted(sample.rows) == list(range(200))
    predicted = np.zeros_like(indicator)
    for held_out in sample.folds:
        test, training = sample.rows[held_out], sample.rows[~held_out]
        log_odds = one_vs_rest(scaled[training].astype(float), indicator[training], scaled[test].astype(float), 2.0)
        predicted[test] = top_k(log_odds, indicator[test].sum(axis=1))
    assert found.value == pytest.approx(f1_score(indicator, predicted, average="micro"), abs=0.011)


def test_folds_share_each_class_evenly_and_rungs_have_fewer_nodes(monkeypatch, data):
    monkeypatch.setattr(label_criterion, "MAX_NODES", (1000, 90, 60))
    samples = LabelCriterion(data.graph, data.labels, 1.0, 3, 0, 1)._samples
    assert [len(sample.rows) for sample in samples] == [200, 90, 60]
    assert set(samples[2].rows) < set(samples[1].rows)
    for sample in samples:
        assert np.array_equal(sum(fold.astype(int) for fold in sample.folds), np.ones(len(sample.rows)))
        counts = np.array([sample.indicator[fold].sum(axis=0) for fold in sample.folds])
        assert np.ptp(counts, axis=0).max() <= 1


@pytest.mark.parametrize("better", [True, False])
def test_learned_level_weights_are_used_unless_the_score_falls(monkeypatch, data, better):
    def learn(self, X, y):
        self.weights_, self.levels_, self.n_features_in_ = np.array([2.0, 0.5]), X.levels, X.dimensions
        return self

    def score(self, vectors, length, rung):  # the lengths of weighted vectors are left as they are
        return Score(np.full(10, 0.06 if (length == 0) == better else 0.05))

    monkeypatch.setattr(LevelWeights, "fit", learn)
    monkeypatch.setattr(LabelCriterion, "score", score)
    result = tune(data.graph, data.labels, estimator=SMALL, space=FEW, budget=3)
    assert result.trials[-1].level_weights == (2.0, 0.5)
    factors = np.float32([2] * 4 + [0.5] * 4) if better else 1
    assert np.array_equal(result.embedding.vectors, result.model.embedding_.vectors * factors)
    assert (result.best == result.trials[-1]) == better
    assert json.loads(result.to_json())["level_weights"] == ([2.0, 0.5] if better else None)


def test_one_level_has_no_weights(data):
    result = tune(data.graph, data.labels, estimator=BoostNE(8, levels=1), space=FEW, budget=3)
    assert result.level_weights is None


def test_labels_without_a_node_are_reported_once(data):
    labels = {node: data.labels[node][0] for node in data.labels.nodes.tolist()} | {-1: "absent"}
    with pytest.warns(UserWarning, match="1 of 201 labeled nodes have no vector") as seen:
        tune(data.graph, labels, estimator=SMALL, space=FEW, budget=3)
    assert len(seen) == 1


def test_multilabel_graphs_with_rare_labels(data):
    several = {node: {*data.labels[node], "odd" if node % 2 else "even"} for node in data.graph.nodes.tolist()}
    several[0] |= {"unique"}
    result = tune(data.graph, several, estimator=SMALL, space=FEW, budget=3)
    assert 0.5 < result.best.score < 1


def test_labels_find_what_no_default_can():
    # Labels of the nodes are the two sides of a bipartite graph of communities: only T = 1 separates them.
    rng = np.random.default_rng(0)
    left, right = rng.integers(100, size=900), 100 + rng.integers(100, size=900)
    result = tune(Graph.from_edges(left, right), {i: int(i >= 100) for i in set(left) | set(right)},
                  estimator=BoostNE(8, levels=2, window=10), space={"window": [1], "negative": [1]})  # fmt: skip
    assert result.best.score > result.default.score + 0.1
    assert result.best.window == 1


def test_a_difference_within_chance_is_not_better():
    default = Score(np.array([1.0, 0, 1, 0]) / 4)
    assert not is_better(default, default)
    assert not is_better(Score(np.array([1.0, 1, 0, 0]) / 4), default)
    assert not is_better(Score(np.ones(4) / 4), default)
    assert is_better(Score(np.ones(40) / 40), Score(np.tile([1.0, 0, 1, 0], 10) / 40))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({0: "a", 1: "a", 2: "a"}, "labels must have at least two classes, got 'a'"),
        ({0: "a", 1: "a", 2: "b"}, "at least two classes with at least two labeled nodes each, got 1"),
        ({0: "a", 1: "a", 2: "b", 3: "b"}, "folds=3 needs at least 9 labeled nodes, 3 per fold, got 4: choose fewer"),
        ({"x": "a", "y": "b"}, "no labeled node has a vector.*one has integer ids and the other strings"),
        ({}, "no node has a label"),
    ],
)
def test_unusable_labels(data, labels, message):
    with pytest.raises(ParameterError, match=message):
        tune(data.graph, labels)


@pytest.mark.parametrize(("name", "value"), [("C", 0), ("folds", 1), ("threads", 0), ("random_state", -1)])
def test_invalid_parameters(data, name, value):
    with pytest.raises(ParameterError, match=f"{name} must be"):
        tune(data.graph, data.labels, **{name: value})


# ---- hidden edges


def test_link_criterion_compares_cosines_at_one_node(data):
    criterion = LinkCriterion(data.graph, 0)
    vectors = SMALL.fit(criterion.graph).embedding_.vectors
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    won = [
        [(unit[u] @ unit[v] > unit[u] @ unit[w]) for u, v, w in zip(*nodes, strict=True)]
        for nodes in criterion._comparisons
    ]
    found = criterion.score(vectors, 0.0, 0)
    assert found.value == pytest.approx(np.mean(won))
    assert np.allclose(found.parts * len(found.parts), np.mean(won, axis=0))
    assert found.value > 0.6


def network_of_words(n=1500, classes=25, tokens=60_000, seed=2):
    """Return the pairs of successive words in a text in which each class of words follows certain others."""
    rng = np.random.default_rng(seed)
    follows = rng.dirichlet(np.full(classes, 0.25), size=classes).cumsum(axis=1)
    frequency = 1 / (1 + rng.permutation(n))
    class_at = np.zeros(tokens, dtype=np.int64)
    for i, x in enumerate(rng.random(tokens - 1), 1):
        class_at[i] = min(np.searchsorted(follows[class_at[i - 1]], x), classes - 1)
    text = np.zeros(tokens, dtype=np.int64)
    for c in range(classes):
        words, places = np.arange(c, n, classes), np.flatnonzero(class_at == c)
        text[places] = rng.choice(words, len(places), p=frequency[words] / frequency[words].sum())
    return Graph.from_edges(text[:-1], text[1:], duplicates="sum"), {
        int(word): int(word % classes) for word in set(text)
    }


def test_hidden_edges_find_that_words_need_short_walks():
    graph, classes = network_of_words()
    estimator = BoostNE(64, levels=8, window=5)
    space = {"window": 1, "approximation": "exact", "negative": 1, "propagation": 0.6}
    result = tune(graph, estimator=estimator, space=space)
    assert result.best.window == 1
    default = estimator.fit(graph).embedding_
    tuned, untuned = (
        evaluate(vectors, classes, train=50, repeats=1, classifier="fast").mean("micro")[0]
        for vectors in (result.embedding, default)
    )
    assert tuned > untuned + 0.2


def test_vectors_without_information_score_one_half(data):
    criterion = LinkCriterion(data.graph, 0)
    assert criterion.score(np.ones((200, 3)), 0.0, 0).value == pytest.approx(0.5)
    assert criterion.score(np.zeros((200, 3)), 0.0, 0).value == pytest.approx(0.5)


def test_lower_rungs_compare_fewer_edges(monkeypatch, data):
    monkeypatch.setattr(link_criterion, "MAX_EDGES", (60, 30, 20))
    criterion = LinkCriterion(data.graph, 0)
    vectors = SMALL.fit(criterion.graph).embedding_.vectors
    whole, *fewer = (criterion.score(vectors, 0.0, rung).parts * n for rung, n in enumerate((60, 30, 20)))
    assert len(whole) == 60
    for part in fewer:
        assert np.allclose(part, whole[: len(part)])


def test_hidden_edges_are_not_in_the_training_graph(data):
    criterion = LinkCriterion(data.graph, 0)
    whole, training = (graph.adjacency.toarray() > 0 for graph in (data.graph, criterion.graph))
    assert len(criterion._comparisons) == 2
    for nodes, neighbors, others in criterion._comparisons:
        assert len(nodes) == round(0.1 * data.graph.n_edges)
        assert whole[nodes, neighbors].all()
        assert not training[nodes, neighbors].any()
        assert not whole[nodes, others].any()
        assert (nodes != others).all()
    assert criterion.graph.n_components == data.graph.n_components


def test_nodes_that_are_not_connected_have_matching_degrees():
    graph = planted_partition(2000, communities=5, mean_degree=12).graph
    matrix = graph.adjacency.tocoo()
    pairs = np.column_stack([matrix.row, matrix.col])[::7].astype(np.int64)
    drawn = unconnected(graph, pairs, np.random.default_rng(0))
    degrees = np.diff(graph.adjacency.indptr)
    assert (drawn >= 0).all()
    assert np.corrcoef(degrees[drawn], degrees[pairs[:, 1]])[0, 1] > 0.9
    assert degrees[drawn].mean() == pytest.approx(degrees[pairs[:, 1]].mean(), rel=0.1)


def test_a_node_connected_with_all_others_counts_one_half():
    wheel = [(0, i) for i in range(1, 40)] + [(i, i % 39 + 1) for i in range(1, 40)]
    graph = Graph.from_edges(*zip(*wheel, strict=True))
    drawn = unconnected(graph, np.array([[0, 1], [1, 2]]), np.random.default_rng(0))
    assert drawn[0] == -1
    assert drawn[1] > 3
    criterion = LinkCriterion(graph, 0)
    nodes, _, others = (np.concatenate(ends) for ends in zip(*criterion._comparisons, strict=True))
    assert ((nodes == 0) == (others < 0)).all()
    score = criterion.score(np.random.default_rng(0).random((40, 3)), 0.0, 0)
    assert np.isin(score.parts * len(score.parts), [0, 0.25, 0.5, 0.75, 1]).all()


@pytest.mark.parametrize(
    "edges",
    [[(i, i + 1) for i in range(300)], [(i, j) for i in range(20) for j in range(i)], [(0, 1), (1, 2), (2, 0)]],
    ids=["tree", "complete", "tiny"],
)
def test_graphs_without_edges_to_hide(edges):
    with pytest.raises(GraphError, match=r"hides 10% of the edges, at least 5, .* or pass labels"):
        tune(Graph.from_edges(*zip(*edges, strict=True)))


def test_empty_and_directed_graphs():
    with pytest.raises(GraphError, match="the graph has 3 nodes and no edges: there is nothing to tune"):
        tune(np.zeros((3, 3)))
    with pytest.raises(GraphError, match="directed; pass as_graph"):
        tune(Graph.from_edges([0, 1], [1, 2], directed=True))


# ---- interruption


def interrupt_at(monkeypatch, call):
    """Send SIGINT while the given call of the scorer runs."""
    calls = iter(range(1, 1000))
    score = LabelCriterion.score

    def interrupted(self, *args):
        if next(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return score(self, *args)

    monkeypatch.setattr(LabelCriterion, "score", interrupted)


def test_an_interrupt_keeps_the_best_so_far(monkeypatch, data):
    complete = tune(data.graph, data.labels, estimator=SMALL, space=FEW)
    interrupt_at(monkeypatch, 4)
    with pytest.raises(TuningInterrupted, match="after 3 trials") as caught:
        tune(data.graph, data.labels, estimator=SMALL, space=FEW)
    result = caught.value.result
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not result.complete
    assert without_seconds(result) == without_seconds(complete)[:3]
    assert result.best.score == max(trial.score for trial in result.trials)
    assert result.default == result.trials[0]
    parameters = {**SMALL.get_params(deep=False), **result.settings, "max_iter": result.best.max_iter}
    assert np.array_equal(result.embedding.vectors, BoostNE(**parameters).fit(data.graph).embedding_.vectors)
    assert result.model.fit(data.graph).embedding_.dimensions == 8
    assert json.loads(result.to_json())["complete"] is False


def test_an_interrupt_before_the_first_trial(monkeypatch, data):
    interrupt_at(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt) as caught:
        tune(data.graph, data.labels, estimator=SMALL, space=FEW)
    assert not isinstance(caught.value, TuningInterrupted)


INTERRUPTED = """
import os, signal
from boostne.cli import main
from boostne.refinement.{module} import {name}

score, calls = {name}.score, []

def interrupted(self, *args):
    calls.append(1)
    if len(calls) == 4:
        os.kill(os.getpid(), signal.{signal})
    return score(self, *args)

{name}.score = interrupted
main("tune {files} -o out.npz --trials trials.json --dimensions 8 --levels 2".split())
"""


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize(
    ("files", "criterion", "number", "code", "word"),
    [
        ("karate karate", LabelCriterion, "SIGINT", 130, "interrupted"),
        ("karate", LinkCriterion, "SIGTERM", 143, "terminated"),
    ],
    ids=["labels", "links"],
)
def test_an_interrupted_command_writes_the_best_so_far(tmp_path, files, criterion, number, code, word):
    module = criterion.__module__.rsplit(".", 1)[1]
    script = INTERRUPTED.format(module=module, name=criterion.__name__, signal=number, files=files)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == f"boostne: {word}; the best of 3 trials was written to out.npz\n"
    assert len(read_embedding(tmp_path / "out.npz")) == 34
    assert len(json.loads((tmp_path / "trials.json").read_text())["trials"]) == 3


# ---- the documentation


def test_example_of_grid_search():
    page = Path(__file__).parents[1] / "docs" / "tuning.md"
    (example,) = re.findall(r"```python\n(from functools.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(compile(example, str(page), "exec"), names)
    assert set(names["search"].best_params_) == {"functiontransformer__kw_args", "logisticregression__C"}
    assert names["embed"].cache_info().misses == 4
    assert len(names["search"].predict(names["nodes"][:3])) == 3


# ---- the command


def test_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = "--dimensions 8 --levels 2 --budget 3 --seed 1 --folds 4 -C 2 --dtype float64"
    assert run(["tune", "karate", "karate", "-o", "a.npz", "--trials", "a.json", *options.split()]) == 0
    karate = load_dataset("karate")
    estimator = BoostNE(8, levels=2, random_state=1, dtype="float64")
    expected = tune(karate.graph, karate.labels, estimator=estimator, budget=3, random_state=1, folds=4, C=2)
    assert np.array_equal(read_embedding("a.npz").vectors, expected.embedding.vectors)
    found = json.loads((tmp_path / "a.json").read_text())
    assert len(found["trials"]) == len(expected.trials)
    assert found["settings"] == expected.to_dict()["settings"]
    out = capsys.readouterr().out
    for word in ("rung", f"best     {expected.describe()}", "Micro-F1; default setting", "written  a.npz, a.json\n"):
        assert word in out
    assert run(["tune", "karate", "-o", "b.csv", *options.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["criterion"] == "hidden edges ranked first"


def test_report(tmp_path, monkeypatch, result):
    monkeypatch.chdir(tmp_path)
    write_tuning_report(tmp_path / "page.html", "<graph>", result)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Tuning of &lt;graph&gt;" in page
    assert page.count("<tr>") == 2 + len(result.rows(20)) + len(result.trials)
    assert f"{result.best.score:.4f}" in page
    assert f"Setting: window {result.best.window}, exact, negative {result.best.negative:g}" in page
    assert 'class="headline"' in page
    assert 'id="explorer"' in page
    options = "-o a.npz --report a.html --budget 2 --dimensions 8 --levels 2 --quiet"
    assert run(["tune", "karate", "karate", *options.split()]) == 0
    assert "Tuning of karate" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_options_of_both_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    karate = load_dataset("karate")
    edges = karate.graph.adjacency.tocoo()
    (tmp_path / "edges.txt").write_text("".join(f"{u};{v}\n" for u, v in zip(edges.row, edges.col, strict=True)))
    labels = (f"{node},{karate.labels[node][0]}\n" for node in karate.labels.nodes.tolist())
    (tmp_path / "labels.txt").write_text("?node,label\n" + "".join(labels))
    arguments = "tune edges.txt labels.txt -o a.npz --dimensions 8 --levels 2 --budget 2 --delimiter ;"
    more = "--label-delimiter , --label-comments ? --no-label-header --quiet"
    assert run([*arguments.split(), *more.split()]) == 0
    assert capsys.readouterr() == ("", "")
    assert run(["tune", "karate", "karate", "-o", "a.npz", "--label-delimiter", ","]) == 2
    assert "--label-delimiter applies to files, but 'karate' is a data set" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("tune karate -o a.npz --budget 1", 1, "--budget 1 is less than 2 full fits"),
        ("tune karate karate -o a.npz --folds 1", 1, "folds must be an integer of at least 2"),
        ("tune karate karate -o a.npz --trials a.npz", 1, "a.npz would overwrite a.npz"),
        ("tune karate missing -o a.npz", 1, "there is no file or data set 'missing'"),
        ("tune karate -o a.xyz", 1, "a.xyz"),
        ("tune karate", 2, "--output"),
    ],
)
def test_invalid_commands(tmp_path, monkeypatch, capsys, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    assert run(arguments.split()) == code
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
