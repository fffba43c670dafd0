"""Nested evaluation: choices are made on training nodes only."""

import json

import numpy as np
import pytest

from boostne import Embedding, as_labels, compare, evaluate
from boostne.errors import ParameterError
from boostne.evaluation import evaluate_nested
from boostne.evaluation.classification import join, one_vs_rest
from boostne.evaluation.nested import _count_correct
from boostne.label_ranking import top_k

N = 120
GRID = (0.25, 4, 64)


@pytest.fixture(scope="module")
def labels():
    """Return labels of four classes; a fifth of the nodes have two."""
    rng = np.random.default_rng(1)
    return {
        node: sorted({int(first), int(second)} if rng.random() < 0.2 else {int(first)})
        for node, (first, second) in enumerate(rng.integers(4, size=(N, 2)))
    }


@pytest.fixture(scope="module")
def candidates(labels):
    """Return embeddings of different quality: label indicators with noise."""
    rng = np.random.default_rng(2)
    indicator = as_labels(labels).matrix.toarray().astype(float)
    noise = {"poor": 2.0, "good": 0.6, "as good": 0.6}
    return {name: indicator + scale * rng.normal(size=(N, 4)) for name, scale in noise.items()}


def test_one_candidate_and_one_strength_equal_evaluate(labels, candidates):
    vectors = candidates["good"]
    nested = evaluate_nested({"only": vectors}, labels, train=(10, 50, 90), repeats=3, seed=4, C=[2])
    plain = evaluate(vectors, labels, train=(10, 50, 90), repeats=3, seed=4, C=2, classifier="fast")
    assert nested.scores.tobytes() == plain.scores.tobytes()
    assert set(nested.choices) == {("only", 2.0)}
    assert compare({"nested": nested, "plain": plain}).tests[0].ties == 9


def test_score_is_that_of_the_chosen_candidate(labels, candidates):
    nested = evaluate_nested(candidates, labels, train=(20, 70), repeats=4, C=GRID)
    assert len({choice.candidate for choice in nested.choices}) > 1
    for row, (candidate, C) in zip(nested.scores, nested.choices, strict=True):
        plain = evaluate(candidates[candidate], labels, train=row["ratio"], repeats=4, C=C, classifier="fast")
        assert plain.scores[row["repeat"]] == row


def test_labels_of_test_nodes_do_not_affect_choices(labels, candidates):
    task = join(Embedding(range(N), candidates["good"]), as_labels(labels))
    choices = set()
    for ratio in (20, 60):
        for repeat in range(2):
            _, test = task.split(ratio, 0, repeat)
            shuffled = dict(labels)
            shuffled.update(zip(test.tolist(), (labels[i] for i in np.roll(test, 7).tolist()), strict=True))
            before, after = (
                evaluate_nested(candidates, which, train=ratio, repeats=2, C=GRID) for which in (labels, shuffled)
            )
            assert before.choices[repeat] == after.choices[repeat]
            assert before.scores["micro"][repeat] != after.scores["micro"][repeat]
            choices.add(before.choices[repeat])
    assert len(choices) > 1


def test_labels_of_training_nodes_affect_choices(candidates, labels):
    """Where the labels are those of one candidate, it is chosen."""
    for name, vectors in candidates.items():
        largest = dict(enumerate(np.argmax(vectors, axis=1).tolist()))
        found = evaluate_nested(candidates, largest, train=60, repeats=3, C=GRID)
        assert {choice.candidate for choice in found.choices} == {name}


@pytest.mark.parametrize("threads", [2, 3])
def test_result_is_independent_of_threads(labels, candidates, threads):
    one, several = (
        evaluate_nested(candidates, labels, train=(10, 60), repeats=2, C=GRID, threads=n) for n in (1, threads)
    )
    assert one.scores.tobytes() == several.scores.tobytes()
    assert one.choices == several.choices


def test_order_of_nodes_and_of_strengths_is_irrelevant(labels, candidates):
    order = np.random.default_rng(5).permutation(N)
    permuted = {name: Embedding(order, vectors[order]) for name, vectors in candidates.items()}
    one = evaluate_nested(candidates, labels, train=30, repeats=2, C=GRID)
    other = evaluate_nested(permuted, labels, train=30, repeats=2, C=[*GRID[::-1], 4])
    assert one.scores.tobytes() == other.scores.tobytes()
    assert one.choices == other.choices
    assert one.embedding_sha256 == other.embedding_sha256


def test_warm_starts_count_the_same_labels_as_separate_fits(labels, candidates):
    task = join(Embedding(range(N), candidates["good"]), as_labels(labels))
    training, test = task.split(50, 0, 0)
    true = task.indicator[test]
    expected = [
        np.count_nonzero(
            top_k(
                one_vs_rest(task.vectors[training], task.indicator[training], task.vectors[test], C), true.sum(axis=1)
            )
            & true
        )
        for C in GRID
    ]
    assert _count_correct(task, training, test, GRID).tolist() == expected


@pytest.mark.parametrize("n_training", [1, 2, 5, 6, 8, 27])
def test_few_training_nodes(labels, candidates, n_training):
    """Classes are absent from folds or from all training nodes, or all training nodes have the same label."""
    ratio = 100 * (n_training + 0.5) / N
    found = evaluate_nested(candidates, labels, train=ratio, repeats=3, C=GRID)
    assert np.isfinite(found.scores["micro"]).all()
    if n_training < 6:  # two per fold
        assert set(found.choices) == {("poor", 4.0)}


def test_ties_go_to_the_first_candidate_and_the_middle_of_the_grid(labels, candidates):
    vectors = candidates["as good"]
    found = evaluate_nested({"first": vectors, "same": vectors}, labels, train=50, repeats=3, C=GRID)
    assert {choice.candidate for choice in found.choices} == {"first"}
    separable = {"only": np.eye(4)[np.arange(N) % 4]}
    assert evaluate_nested(separable, np.arange(N) % 4, train=50, repeats=1, C=GRID).choices == (("only", 4.0),)


def test_choices_are_serializable(labels, candidates):
    found = evaluate_nested(candidates, labels, train=50, repeats=2, C=GRID)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["splits"][0]["candidate"] == found.choices[0].candidate
    assert content["splits"][1]["C"] == found.choices[1].C
    assert content["classifier"].endswith("C = chosen for each split")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"candidates": {}}, "candidates must contain at least one embedding"),
        ({"C": []}, "C must contain at least one value"),
        ({"C": [1, -1]}, "C must be"),
        ({"folds": 1}, "folds must be"),
        ({"train": 100}, "train must be percentages"),
    ],
)
def test_invalid_parameters_raise(labels, candidates, change, words):
    arguments = {"candidates": candidates, "labels": labels} | change
    with pytest.raises(ParameterError, match=words):
        evaluate_nested(**arguments)


@pytest.mark.filterwarnings("ignore:.*have no vector")
def test_candidates_of_different_nodes_raise(labels, candidates):
    vectors = candidates["as good"]
    with pytest.raises(ParameterError, match=r"'all' and 'few' differ in 20 of the labeled nodes"):
        evaluate_nested({"all": vectors, "few": vectors[:100]}, labels)
