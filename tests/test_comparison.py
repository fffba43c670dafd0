import json
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from boostne import as_labels, compare, evaluate
from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.evaluation.checksum import embedding_sha256, labels_sha256
from boostne.evaluation.comparison import holm, rank_biserial
from boostne.evaluation.result import SCORE, Evaluation


def scored(micro, macro=None, **changes):
    """Build an evaluation with the given scores at one ratio."""
    micro = np.asarray(micro, dtype=float)
    macro = micro if macro is None else np.asarray(macro, dtype=float)
    rows = [(50, i, *pair, 0) for i, pair in enumerate(zip(micro, macro, strict=True))]
    fields = {
        "scores": np.array(rows, dtype=SCORE),
        "repeats": len(micro),
        "seed": 0,
        "train": (50.0,),
        "C": 1.0,
        "rule": "top-k",
        "n_labeled": 100,
        "n_without_vector": 0,
        "n_classes": 3,
        "embedding_sha256": "e",
        "labels_sha256": "l",
    }
    return Evaluation(**(fields | changes))


def exact_p(differences):
    """Return the two-sided p of the signed-rank test by enumerating all signs."""
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    seen = abs(np.sum(np.sign(differences) * ranks))
    signs = np.array(list(product([-1, 1], repeat=len(ranks))))
    return np.mean(np.abs(signs @ ranks) >= seen)


# ---- the statistics


def test_holm_against_a_hand_computed_example():
    # Sorted: 0.005, 0.01, 0.03, 0.04, times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04; then the running maximum.
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1, 1])
    np.testing.assert_allclose(holm([0.2]), [0.2])
    assert holm([]).shape == (0,)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_plain_p_and_bonferroni(p):
    corrected, plain = holm(p), np.array(p)
    assert (corrected >= plain).all()
    assert (corrected <= np.minimum(1, len(p) * plain)).all()
    order = np.argsort(plain, kind="stable")
    assert (np.diff(corrected[order]) >= 0).all()
    assert corrected.max() <= 1


def test_rank_biserial_against_a_hand_computed_example():
    # |d| = 1, 2, 2, 4, 5 has the ranks 1, 2.5, 2.5, 4, 5; the negative ones are 2.5 and 4: (8.5 - 6.5) / 15.
    assert rank_biserial([1, 2, -2, -4, 5, 0]) == pytest.approx(2 / 15)
    assert rank_biserial([0.1, 0.2]) == 1.0
    assert rank_biserial([-0.1, -0.2]) == -1.0
    assert rank_biserial([0.0, 0.0]) == 0.0
    assert rank_biserial([1, -1]) == 0.0


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30))
def test_rank_biserial_is_antisymmetric(d):
    effect = rank_biserial(d)
    assert -1 <= effect <= 1
    assert rank_biserial(-np.array(d)) == pytest.approx(-effect)


# ---- the comparison


def test_compare_against_a_hand_computed_example():
    a = scored([0.51, 0.62, 0.73, 0.84, 0.35, 0.46, 0.57])
    d = np.array([0.01, 0.02, 0.03, 0.04, -0.05, 0.06, 0.0])
    b = scored(a.scores["micro"] - d)
    micro, macro = compare({"a": a, "b": b}).tests
    assert (micro.first, micro.second, micro.metric, macro.metric) == ("a", "b", "micro", "macro")
    assert (micro.wins, micro.ties, micro.losses) == (5, 1, 1)
    assert micro.difference == pytest.approx(0.11 / 7)
    assert micro.effect == pytest.approx((1 + 2 + 3 + 4 + 6 - 5) / 21)
    assert micro.p == pytest.approx(exact_p(d[:6]))
    assert micro.p_holm == pytest.approx(min(1, 2 * micro.p))


def test_p_equals_scipy_for_many_splits():
    rng = np.random.default_rng(0)
    first, second = rng.random(90), rng.random(90)
    test = compare({"x": scored(first), "y": scored(second)}).tests[0]
    assert test.p == pytest.approx(wilcoxon(first, second).pvalue, rel=1e-9)


def test_holm_corrects_for_all_pairs_and_metrics():
    rng = np.random.default_rng(1)
    results = {name: scored(rng.random(20), rng.random(20)) for name in "abc"}
    found = compare(results)
    assert [(t.first, t.second, t.metric) for t in found.tests] == [
        (*pair, metric) for pair in ("ab", "ac", "bc") for metric in ("micro", "macro")
    ]
    np.testing.assert_allclose([t.p_holm for t in found.tests], holm([t.p for t in found.tests]))
    swapped = compare({"b": results["b"], "a": results["a"]}).tests[0]
    assert (swapped.wins, swapped.losses) == (found.tests[0].losses, found.tests[0].wins)
    assert swapped.p == pytest.approx(found.tests[0].p)
    assert swapped.effect == pytest.approx(-found.tests[0].effect)


def test_each_metric_is_tested_on_its_own_scores():
    rng = np.random.default_rng(2)
    base = rng.random(20)
    found = compare({"a": scored(base, base), "b": scored(base - 0.1, base + 0.1)})
    assert [test.effect for test in found.tests] == [1.0, -1.0]


@pytest.mark.parametrize("n", [1, 5, 10, 90])
def test_identical_results_give_p_one_without_warnings(n):
    scores = np.random.default_rng(3).random(n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare({"a": scored(scores), "b": scored(scores)})
        found.table()
    for test in found.tests:
        assert (test.p, test.p_holm, test.effect, test.difference) == (1.0, 1.0, 0.0, 0.0)
        assert (test.wins, test.ties, test.losses) == (0, n, 0)


def test_rounding_errors_count_as_ties():
    scores = np.array([0.1 + 0.2, 0.7, 0.4])
    test = compare({"a": scored(scores), "b": scored([0.3, 0.7, 0.4])}).tests[0]
    assert scores[0] != 0.3
    assert (test.wins, test.ties, test.p) == (0, 3, 1.0)
    # 0.3 - 0.1 and 0.9 - 0.7 differ in their last bits but share a rank.
    test = compare({"a": scored([0.3, 0.7, 0.5]), "b": scored([0.1, 0.9, 0.4])}).tests[0]
    assert test.effect == pytest.approx((2.5 + 1 - 2.5) / 6)


def test_compare_results_of_evaluate():
    rng = np.random.default_rng(4)
    labels = np.arange(80) % 2
    vectors = {name: labels[:, None] + noise * rng.normal(size=(80, 2)) for name, noise in (("a", 0.4), ("b", 2))}
    results = {name: evaluate(x, labels, train=[30, 60], repeats=5) for name, x in vectors.items()}
    found = compare(results)
    test = found.tests[0]
    assert test.wins + test.ties + test.losses == 10
    assert test.effect > 0.9
    assert test.p < 0.01
    expected = results["a"].mean("micro").mean() - results["b"].mean("micro").mean()
    assert test.difference == pytest.approx(expected)
    assert (found.train, found.repeats, found.seed) == ((30.0, 60.0), 5, 0)


# ---- unpaired results


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, "the seed is 0 for 'a' and 1 for 'b'; evaluate both with the same"),
        ({"train": (40.0,)}, "train is 50 for 'a' and 40 for 'b'"),
        ({"rule": "threshold"}, "the rule is top-k for 'a' and threshold for 'b'"),
        ({"classifier": "fast"}, "the classifier is liblinear for 'a' and fast for 'b'"),
        ({"n_labeled": 99}, "the number of labeled nodes is 100 for 'a' and 99 for 'b'"),
        ({"n_without_vector": 2}, "the number of labeled nodes without a vector is 0 for 'a' and 2"),
        ({"labels_sha256": "m"}, "the checksum of nodes and labels is l for 'a' and m for 'b'"),
    ],
)
def test_unpaired_results_raise(changes, message):
    with pytest.raises(ParameterError, match=message):
        compare({"a": scored([0.5] * 6), "b": scored([0.6] * 6, **changes)})


def test_different_repeats_or_labels_raise():
    with pytest.raises(ParameterError, match="repeats is 6 for 'a' and 5 for 'c'"):
        compare({"a": scored([0.5] * 6), "b": scored([0.5] * 6), "c": scored([0.6] * 5)})
    x, labels = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    one, other = (evaluate(x, y, train=50, repeats=2) for y in (labels, labels[::-1]))
    with pytest.raises(ParameterError, match="checksum of nodes and labels"):
        compare({"a": one, "b": other})


def test_results_with_different_c_are_paired():
    assert compare({"a": scored([0.5] * 6), "b": replace(scored([0.6] * 6), C=2.0)}).tests[0].losses == 6


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ({}, {}, "at least two evaluations, got 0"),
        ({"a": scored([0.5])}, {}, "at least two evaluations, got 1"),
        ([scored([0.5])], {}, "must map names to Evaluation objects .*, got list"),
        ({"a": scored([0.5]), "b": 0.5}, {}, r"results\['b'\] must be an Evaluation from evaluate\(\), got float"),
        ({"a": scored([0.5]), "b": scored([0.5])}, {"alpha": 0}, "alpha must be strictly between 0 and 1, got 0"),
    ],
)
def test_invalid_input_raises(results, options, message):
    with pytest.raises(ParameterError, match=message):
        compare(results, **options)


# ---- the result


def test_result_as_table_and_json():
    rng = np.random.default_rng(5)
    base = rng.random(20)
    results = {"good one": scored(base + 0.1, base), "other": scored(base, base)}
    found = compare(results)
    protocol, _, head, micro, macro = str(found).splitlines()
    assert "20 splits (1 ratios × 20, seed 0), two-sided; Holm over 2 tests; * p < 0.05" in protocol
    assert head.split("  ")[0].startswith("first")
    assert micro.startswith("good one  other")
    assert "Micro-F1" in micro
    assert "20/0/0" in micro
    assert "+0.1000" in micro
    assert micro.count("*") == 2
    assert "0/20/0" in macro
    assert "*" not in macro
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["alpha"] == 0.05
    assert content["versions"].keys() == {"boostne", "numpy", "scikit-learn", "scipy"}
    assert [(t["significant"], t["significant_holm"]) for t in content["tests"]] == [(True, True), (False, False)]
    assert content["tests"][0]["first"] == "good one"


def test_holm_correction_can_remove_significance():
    # Six wins give p = 2/64 = 0.03125: below 0.05, but not after correcting for two tests.
    first, second = np.arange(6) / 100 + 0.5, np.zeros(6)
    (test, _) = compare({"a": scored(first, second), "b": scored(second, second)}).to_dict()["tests"]
    assert test["p"] == pytest.approx(2 / 64)
    assert (test["significant"], test["significant_holm"]) == (True, False)


# ---- the checksums


def test_checksums_distinguish_data_but_not_its_order():
    x = np.arange(6.0).reshape(3, 2)
    one = embedding_sha256(Embedding(["a", "b", "c"], x))
    assert len(one) == 64
    assert embedding_sha256(Embedding(["c", "a", "b"], x[[2, 0, 1]])) == one
    changed = x.copy()
    changed[1, 1] += 1
    others = [
        Embedding(["a", "b", "c"], changed),
        Embedding(["a", "b", "d"], x),
        Embedding(["b", "a", "c"], x),
        Embedding([0, 1, 2], x),
        Embedding(["a", "b", "c"], x.astype(np.float32)),
    ]
    assert len({one, *map(embedding_sha256, others)}) == 6
    labels = labels_sha256(as_labels({"a": "x", "b": ["y", "x"]}))
    assert labels_sha256(as_labels({"c": [], "b": ["x", "y"], "a": ["x"]})) == labels
    others = [{"a": "x", "b": "y"}, {"a": "y", "b": ["y", "x"]}, {"a": "x", "c": ["x", "y"]}, {"a": 0, "b": [0, 1]}]
    assert len({labels, *(labels_sha256(as_labels(other)) for other in others)}) == 5
