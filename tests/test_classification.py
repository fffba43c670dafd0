import json
import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from boostne import BoostNE, load_dataset
from boostne.embedding import Embedding
from boostne.errors import BoostneError, ParameterError
from boostne.evaluation import evaluate
from boostne.evaluation.classification import one_vs_rest
from boostne.label_ranking import top_k
from boostne.labels import Labels, as_labels


def planted(n=120, classes=4, noise=0.3, several=False, seed=0):
    """Vectors along one direction per label, for nodes with one or several labels, plus noise."""
    rng = np.random.default_rng(seed)
    indicator = np.eye(classes, dtype=bool)[rng.integers(classes, size=n)]
    if several:
        indicator |= rng.random((n, classes)) < 0.3
    vectors = indicator @ np.eye(classes) + noise * rng.normal(size=(n, classes))
    return vectors, indicator


def as_mapping(indicator, names=None):
    names = range(len(indicator)) if names is None else names
    return {name: np.flatnonzero(row).tolist() for name, row in zip(names, indicator, strict=True)}


@pytest.mark.parametrize("several", [False, True])
def test_one_vs_rest_equals_scikit_learn(several):
    vectors, indicator = planted(several=several)
    ours = one_vs_rest(vectors[:80], indicator[:80], vectors[80:], 1.0)
    theirs = OneVsRestClassifier(LogisticRegression(solver="liblinear", C=1.0, random_state=0))
    theirs.fit(vectors[:80], indicator[:80].astype(int))
    np.testing.assert_allclose(expit(ours), theirs.predict_proba(vectors[80:]), rtol=1e-12)
    np.testing.assert_array_equal(ours >= 0, theirs.predict(vectors[80:]).astype(bool))


@pytest.mark.parametrize("rule", ["top-k", "threshold"])
@pytest.mark.parametrize("several", [False, True])
def test_scores_equal_a_loop_over_scikit_learn(rule, several):
    vectors, indicator = planted(noise=0.6, several=several)
    result = evaluate(vectors, as_mapping(indicator), train=[30, 60], repeats=2, seed=3, rule=rule)
    expected = []
    for ratio in (30, 60):
        for repeat in range(2):
            order = np.random.default_rng([3, repeat]).permutation(120)
            training, test = np.split(order, [120 * ratio // 100])
            model = OneVsRestClassifier(LogisticRegression(solver="liblinear", random_state=0))
            probability = model.fit(vectors[training], indicator[training].astype(int)).predict_proba(vectors[test])
            given = probability >= 0.5
            if rule == "top-k":
                given = np.zeros_like(given)
                for i, node in enumerate(test):
                    given[i, np.argsort(-probability[i])[: indicator[node].sum()]] = True
            scores = [f1_score(indicator[test], given, average=how, zero_division=0) for how in ("micro", "macro")]
            expected.append((ratio, repeat, *scores, 0))
    np.testing.assert_allclose(np.array(result.scores.tolist()), expected, rtol=1e-12)


def test_separable_classes_are_learned_and_noise_is_not():
    vectors, indicator = planted(noise=0.05)
    labels = as_mapping(indicator)
    assert evaluate(vectors, labels, train=50, repeats=2).mean("micro")[0] == 1.0
    noise = np.random.default_rng(1).normal(size=(120, 4))
    assert evaluate(noise, labels, train=50, repeats=3).mean("micro")[0] < 0.45


def test_micro_f1_is_accuracy_for_single_label_nodes():
    vectors, indicator = planted(noise=0.8)
    result = evaluate(vectors, as_mapping(indicator), train=50, repeats=1)
    order = np.random.default_rng([0, 0]).permutation(120)
    values = one_vs_rest(vectors[order[:60]], indicator[order[:60]], vectors[order[60:]], 1.0)
    accuracy = (values.argmax(axis=1) == indicator[order[60:]].argmax(axis=1)).mean()
    assert result.mean("micro")[0] == pytest.approx(accuracy)


def test_vectors_and_labels_are_joined_on_ids():
    vectors, indicator = planted(noise=0.5)
    names = [f"n{i:03d}" for i in range(120)]
    expected = evaluate((names, vectors), as_mapping(indicator, names), train=50, repeats=2).scores
    shuffle = np.random.default_rng(5).permutation(120)
    shuffled_names = [names[i] for i in shuffle]
    extra = Embedding([*shuffled_names, "unlabeled"], np.vstack([vectors[shuffle], np.ones(4)]))
    other = np.random.default_rng(6).permutation(120)
    labels = as_mapping(indicator[other], [names[i] for i in other])
    got = evaluate(extra, labels, train=50, repeats=2).scores
    np.testing.assert_array_equal(got, expected)


def test_splits_depend_only_on_seed_ratio_and_repeat():
    vectors, indicator = planted(noise=0.5)
    labels = as_mapping(indicator)
    both = evaluate(vectors, labels, train=[20, 50], repeats=2)
    one = evaluate(vectors, labels, train=50, repeats=2)
    np.testing.assert_array_equal(both.scores[2:], one.scores)
    np.testing.assert_array_equal(evaluate(vectors, labels, train=50, repeats=1).scores, one.scores[:1])
    assert (evaluate(vectors, labels, train=50, repeats=2, seed=1).scores != one.scores).any()


@pytest.mark.parametrize("classifier", ["liblinear", "fast"])
def test_scores_do_not_depend_on_threads(classifier):
    vectors, indicator = planted(noise=0.5)
    options = {"train": [20, 50], "repeats": 3, "classifier": classifier}
    runs = [evaluate(vectors, as_mapping(indicator), **options, threads=n) for n in (1, 3, None)]
    np.testing.assert_array_equal(runs[0].scores, runs[1].scores)
    np.testing.assert_array_equal(runs[0].scores, runs[2].scores)


def test_embedding_as_list_tuple_embedding_or_dataframe():
    import pandas

    vectors, indicator = planted(noise=0.5)
    labels = Labels(np.arange(120), np.arange(4), as_labels(as_mapping(indicator)).matrix)
    order = np.random.default_rng(2).permutation(120)
    expected = evaluate(vectors, labels, train=50, repeats=1).scores
    for embedding in (
        vectors.tolist(),
        (order, vectors[order]),
        Embedding(order, vectors[order]),
        pandas.DataFrame(vectors[order], index=order),
    ):
        np.testing.assert_array_equal(evaluate(embedding, labels, train=50, repeats=1).scores, expected)


@pytest.mark.parametrize("rule", ["top-k", "threshold"])
@pytest.mark.parametrize("several", [False, True])
def test_fast_classifier_gives_the_scores_of_liblinear(several, rule):
    vectors, indicator = planted(n=300, noise=0.6, several=several)
    options = {"train": [20, 80], "repeats": 3, "rule": rule}
    expected = evaluate(vectors, as_mapping(indicator), **options)
    found = evaluate(vectors, as_mapping(indicator), **options, classifier="fast")
    for metric in ("micro", "macro"):
        np.testing.assert_allclose(found.scores[metric], expected.scores[metric], atol=1e-3)
    assert (expected.classifier, found.classifier) == ("liblinear", "fast")
    assert "all labels at once" in found.to_dict()["classifier"]


def test_fast_classifier_gives_the_scores_of_liblinear_on_digits():
    digits = load_dataset("digits")
    vectors = BoostNE(dimensions=32, levels=2).fit(digits.graph).embedding_
    scores = [
        evaluate(vectors, digits.labels, train=[5, 50], repeats=2, classifier=name).scores
        for name in ("liblinear", "fast")
    ]
    for metric in ("micro", "macro"):
        np.testing.assert_allclose(scores[1][metric], scores[0][metric], atol=1e-3)


@pytest.mark.parametrize("classifier", ["liblinear", "fast"])
def test_classes_absent_from_training_are_counted_and_ranked_last(classifier):
    vectors, indicator = planted(n=40)
    rare = np.zeros((40, 1), dtype=bool)
    rare[7] = True
    result = evaluate(vectors, as_mapping(np.hstack([indicator, rare])), train=50, repeats=6, classifier=classifier)
    assert set(result.scores["absent"].tolist()) == {0, 1}
    values = one_vs_rest(vectors, np.hstack([indicator, rare & False]), vectors, 1.0, classifier)
    assert (values[:, 4] == -np.inf).all()
    assert not top_k(values, np.full(40, 4))[:, 4].any()


@pytest.mark.parametrize("classifier", ["liblinear", "fast"])
def test_class_of_every_training_node_is_always_predicted(classifier):
    vectors, indicator = planted(n=40)
    everyone = np.ones((40, 1), dtype=bool)
    values = one_vs_rest(vectors, np.hstack([indicator, everyone]), vectors, 1.0, classifier)
    assert (values[:, 4] == np.inf).all()
    labels = as_mapping(np.hstack([indicator, everyone]))
    assert evaluate(vectors, labels, train=50, repeats=1, classifier=classifier).mean("micro")[0] > 0.8


def test_labeled_nodes_without_vector_are_counted_with_one_warning():
    vectors, indicator = planted(noise=0.5)
    labels = as_mapping(indicator)
    with pytest.warns(
        UserWarning, match="10 of 120 labeled nodes have no vector and are ignored: 110, 111, 112"
    ) as seen:
        result = evaluate(vectors[:110], labels, train=[20, 50], repeats=2)
    assert len(seen) == 1
    assert (result.n_labeled, result.n_without_vector) == (120, 10)
    # The remaining nodes are split as if none were missing.
    order = np.random.default_rng([0, 0]).permutation(120)
    training, test = (part[part < 110] for part in np.split(order, [24]))
    values = one_vs_rest(vectors[training], indicator[training], vectors[test], 1.0)
    micro = f1_score(indicator[test], top_k(values, np.ones(len(test), dtype=int)), average="micro")
    assert result.scores["micro"][0] == pytest.approx(micro)


def test_unlabeled_nodes_are_ignored():
    vectors, indicator = planted(noise=0.5)
    blank = indicator.copy()
    blank[100:] = False
    full = Labels(np.arange(120), np.arange(4), as_labels(as_mapping(indicator)).matrix.multiply(blank).tocsr())
    result = evaluate(vectors, full, train=50, repeats=2)
    assert result.n_labeled == 100
    np.testing.assert_array_equal(
        result.scores, evaluate(vectors, as_mapping(indicator[:100]), train=50, repeats=2).scores
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": 0}, "train must be percentages strictly between 0 and 100, or fractions between 0 and 1; got 0"),
        ({"train": [50, 100]}, "train must be percentages .*; got 100"),
        ({"train": []}, "train must be percentages .*; got no ratios"),
        ({"train": float("nan")}, "train must be percentages .*; got nan"),
        ({"train": [0.5, 90]}, r"mixes fractions, such as 0\.5, and percentages, such as 90: .* such as 50 and 90"),
        ({"train": 0.005}, r"train=0\.5 \(percent\) of 120 labeled nodes leaves no training nodes"),
        ({"rule": "best"}, "rule must be 'top-k' or 'threshold', got 'best'"),
        ({"classifier": "svm"}, "classifier must be one of 'liblinear', 'fast', got 'svm'"),
        ({"repeats": 0}, "repeats must be an integer of at least 1; got 0"),
        ({"seed": -1}, "seed must be an integer of at least 0; got -1"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"C": 0}, "C must be a number above 0; got 0"),
        ({"threads": 0}, "threads must be an integer of at least 1; got 0"),
    ],
)
def test_invalid_parameters_raise(options, message):
    vectors, indicator = planted()
    with pytest.raises(ParameterError, match=message):
        evaluate(vectors, as_mapping(indicator), **options)


def test_invalid_data_raises():
    vectors, indicator = planted()
    with pytest.raises(ParameterError, match=r"no labeled node has a vector: .* 0, 1, 2, .* 'n0', 'n1', 'n10'"):
        evaluate(vectors, as_mapping(indicator, [f"n{i}" for i in range(120)]))
    with pytest.raises(ParameterError, match="one has integer ids and the other strings"):
        evaluate(vectors, as_mapping(indicator, map(str, range(120))))
    with pytest.raises(ParameterError, match="at least two classes, got 0"):
        evaluate(vectors, dict.fromkeys(range(120), 0))
    with pytest.raises(ParameterError, match="no node has a label"):
        evaluate(vectors, dict.fromkeys(range(120)))
    broken = vectors.copy()
    broken[5, 0] = np.nan
    with pytest.raises(BoostneError, match="node 5"):
        evaluate(broken, as_mapping(indicator))


def test_split_without_test_vectors_raises():
    vectors, indicator = planted()
    kept = np.random.default_rng([0, 0]).permutation(120)[:60]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(ParameterError, match="leaves no test nodes"):
            evaluate((kept, vectors[kept]), as_mapping(indicator), train=50, repeats=1)


def test_result_as_table_and_json():
    vectors, indicator = planted(noise=0.6)
    result = evaluate(vectors, as_mapping(indicator), train=[90, 10], repeats=3, seed=np.int64(7))
    assert result.train == (10, 90)
    micro = result.scores["micro"]
    np.testing.assert_allclose(result.mean("micro"), [micro[:3].mean(), micro[3:].mean()])
    np.testing.assert_allclose(result.std("macro")[1], result.scores["macro"][3:].std(ddof=1))
    assert str(result) == result.table()
    lines = result.table().splitlines()
    assert "120 labeled nodes, 4 classes; 3 random splits per ratio (seed 7)" in lines[0]
    assert lines[0].endswith("mean ± standard error of 3 repeats")
    assert lines[-2].split() == [
        "10",
        "%",
        *f"{result.mean('micro')[0]:.4f} ± {result.std('micro')[0] / 3**0.5:.4f}".split(),
        *f"{result.mean('macro')[0]:.4f} ± {result.std('macro')[0] / 3**0.5:.4f}".split(),
    ]
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert content["seed"] == 7
    assert content["rule"] == "top-k"
    assert "liblinear" in content["classifier"]
    assert content["labeled_nodes"] == 120
    assert content["labeled_nodes_without_vector"] == 0
    assert content["versions"].keys() == {"boostne", "numpy", "scikit-learn"}
    assert content["summary"][1]["train"] == 90
    assert content["summary"][1]["macro_mean"] == pytest.approx(result.mean("macro")[1])
    assert len(content["splits"]) == 6
    assert content["splits"][4]["repeat"] == 1
    with pytest.raises(ParameterError, match="metric must be"):
        result.mean("accuracy")


def test_single_repeat_has_zero_standard_deviation():
    vectors, indicator = planted()
    result = evaluate(vectors, as_mapping(indicator), train=50, repeats=1)
    assert result.std("micro").tolist() == [0.0]
    json.dumps(result.to_dict(), allow_nan=False)
