"""Level weights: the loss and its derivatives, what is learned from planted data, and the estimator."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from boostne import LevelWeights, logistic_regression
from boostne.cli.program import program
from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.evaluation import evaluate
from boostne.evaluation.classification import one_vs_rest
from boostne.labels import as_labels
from boostne.level_weighting import (
    HeldOutScores,
    Task,
    held_out_log_odds,
    held_out_loss,
    is_better,
    learn_level_weights,
    score,
    split,
)

WIDTHS = np.array([12, 12, 12])


def planted(n=150, informative=1, classes=3, noise=0.6, several=False, seed=0):
    """Three levels of the same scale; one of them has a column per class, plus noise."""
    rng = np.random.default_rng(seed)
    indicator = np.eye(classes, dtype=bool)[rng.integers(classes, size=n)]
    if several:
        indicator |= rng.random((n, classes)) < 0.2
    vectors = noise * rng.normal(size=(n, WIDTHS.sum()))
    if informative is not None:
        first = WIDTHS[:informative].sum()
        vectors[:, first : first + classes] += indicator
    return vectors, indicator


def task_of(vectors, indicator, C=1.0):
    return Task(vectors, indicator, np.repeat(np.arange(len(WIDTHS)), WIDTHS), C)


def embedding_of(vectors):
    return Embedding([f"n{i}" for i in range(len(vectors))], vectors, WIDTHS)


def labels_of(indicator):
    return as_labels(([f"n{i}" for i in range(len(indicator))], indicator))


@pytest.mark.parametrize("several", [False, True])
def test_loss_equals_a_loop_over_folds_nodes_and_labels(several):
    vectors, indicator = planted(n=60, several=several)
    theta, temperature, C = np.array([0.3, -0.2, 0.1]), 0.4, 2.0
    folds = split(indicator, 3, np.random.default_rng(0))
    weighted = vectors * np.repeat(np.exp(theta), WIDTHS)
    counts = indicator.sum(axis=0)
    importance = 1 / np.sqrt(counts)
    importance /= (indicator * importance).sum() / indicator.sum()
    expected = 0.0
    for fold in folds:
        training = ~fold.held_out
        models = [
            LogisticRegression(solver="liblinear", C=C, tol=1e-10, max_iter=1000).fit(weighted[training], y[training])
            for y in indicator.T
        ]
        for i in np.flatnonzero(fold.held_out):
            odds = np.exp([np.exp(temperature) * model.decision_function(weighted[[i]])[0] for model in models])
            expected -= sum(importance[c] * np.log(odds[c] / odds.sum()) for c in np.flatnonzero(indicator[i]))
    found, _ = held_out_loss(task_of(vectors, indicator, C), folds, theta, temperature)
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("several", [False, True])
def test_derivatives_equal_finite_differences(several, monkeypatch):
    monkeypatch.setattr(logistic_regression, "TOLERANCE", 1e-9)
    vectors, indicator = planted(n=90, several=several)
    task, folds = task_of(vectors, indicator, C=3.0), split(indicator, 3, np.random.default_rng(0))
    at = np.array([0.3, -0.2, 0.1, 0.4])
    _, derivatives = held_out_loss(task, folds, at[:-1], at[-1])
    numeric = approx_fprime(at, lambda x: held_out_loss(task, folds, x[:-1], x[-1])[0], 1e-5)
    np.testing.assert_allclose(derivatives, numeric, rtol=1e-3, atol=1e-3)


def test_folds_are_disjoint_and_share_the_nodes_of_each_label():
    indicator = np.eye(4, dtype=bool)[np.repeat([0, 1, 2, 3], [40, 23, 5, 3])]
    folds = split(indicator, 3, np.random.default_rng(1))
    assert (np.sum([fold.held_out for fold in folds], axis=0) == 1).all()
    counts = np.array([indicator[fold.held_out].sum(axis=0) for fold in folds])
    assert (np.ptp(counts, axis=0) <= 1).all()


def test_scores_are_those_of_scikit_learn():
    vectors, indicator = planted(n=60)
    task = task_of(vectors, indicator)
    log_odds = held_out_log_odds(task, split(indicator, 3, np.random.default_rng(0)), np.zeros(3))
    found = score(task, log_odds)
    predicted = np.eye(3, dtype=bool)[log_odds.argmax(axis=1)]
    assert found.micro == f1_score(indicator, predicted, average="micro")
    assert found.macro == f1_score(indicator, predicted, average="macro")
    assert found.losses.sum() <= task.loss(log_odds)[0].sum() + 1e-6


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("informative", [0, 1, 2])
def test_weights_find_the_level_that_has_the_labels(informative, several):
    vectors, indicator = planted(n=400, informative=informative, several=several)
    weighting = LevelWeights(prior_scale=1.0).fit(embedding_of(vectors), labels_of(indicator))
    weights = weighting.weights_
    assert weights.argmax() == informative
    assert weights[informative] > 1.5 * np.delete(weights, informative).max()
    assert weighting.learned_scores_.macro >= weighting.uniform_scores_.macro
    assert weighting.learned_scores_.losses.sum() < weighting.uniform_scores_.losses.sum()
    np.testing.assert_array_equal(weights, weighting.learned_weights_)


@pytest.mark.parametrize("seed", range(3))
def test_uniform_weights_are_kept_if_labels_are_random(seed):
    vectors, indicator = planted(informative=None, seed=seed)
    weighting = LevelWeights().fit(embedding_of(vectors), labels_of(indicator))
    np.testing.assert_array_equal(weighting.weights_, np.ones(3))
    assert "uniform weights kept" in weighting.report()


def test_a_narrow_prior_keeps_weights_close_to_one():
    vectors, indicator = planted()
    wide, narrow = (
        learn_level_weights(vectors, indicator, WIDTHS, folds=3, prior_scale=scale).candidate for scale in (1, 0.01)
    )
    assert np.abs(np.log(narrow)).max() < 0.05 < np.abs(np.log(wide)).max()


def test_weights_do_not_depend_on_threads_or_on_the_order_of_nodes():
    vectors, indicator = planted(several=True)
    embedding, labels = embedding_of(vectors), labels_of(indicator)
    one = LevelWeights(threads=1).fit(embedding, labels)
    three = LevelWeights(threads=3).fit(embedding, labels)
    order = np.random.default_rng(5).permutation(len(vectors))
    shuffled = LevelWeights().fit(Embedding(embedding.nodes[order], vectors[order], WIDTHS), labels)
    for other in (three, shuffled):
        np.testing.assert_array_equal(one.learned_weights_, other.learned_weights_)
        np.testing.assert_array_equal(one.learned_scores_.losses, other.learned_scores_.losses)


def test_only_max_nodes_nodes_are_used():
    vectors, indicator = planted()
    weighting = LevelWeights(max_nodes=60).fit(embedding_of(vectors), labels_of(indicator))
    assert weighting.n_nodes_ == 60
    again = LevelWeights(max_nodes=60, random_state=1).fit(embedding_of(vectors), labels_of(indicator))
    assert (again.learned_weights_ != weighting.learned_weights_).any()


def test_transform_multiplies_each_level():
    vectors, indicator = planted()
    embedding = embedding_of(vectors.astype(np.float32))
    weighting = LevelWeights().fit(embedding, labels_of(indicator))
    result = weighting.transform(embedding)
    assert isinstance(result, Embedding)
    assert result.vectors.dtype == np.float32
    np.testing.assert_array_equal(result.nodes, embedding.nodes)
    np.testing.assert_array_equal(result.levels, WIDTHS)
    for i, weight in enumerate(weighting.weights_, 1):
        np.testing.assert_allclose(result.level(i), weight * embedding.level(i), rtol=1e-6)
    plain = weighting.transform(embedding.vectors)
    assert isinstance(plain, np.ndarray)
    np.testing.assert_array_equal(plain, result.vectors)


def test_it_follows_the_conventions_of_scikit_learn():
    vectors, indicator = planted()
    y = indicator.argmax(axis=1)
    transformer = LevelWeights(2.0, levels=WIDTHS.tolist())
    assert clone(transformer).get_params() == transformer.get_params()
    model = make_pipeline(transformer, LogisticRegression(C=2.0)).fit(vectors, y)
    assert model.score(vectors, y) > 0.7
    fitted = model[0]
    assert fitted.n_features_in_ == WIDTHS.sum()
    assert fitted.get_feature_names_out().tolist()[11:13] == ["u1_12", "u2_1"]
    np.testing.assert_array_equal(transformer.fit_transform(vectors, y), fitted.transform(vectors))
    assert repr(LevelWeights(folds=4)) == "LevelWeights(folds=4)"


def test_set_output_returns_a_data_frame_with_the_names_of_the_levels():
    pd = pytest.importorskip("pandas")
    vectors, indicator = planted()
    frame = pd.DataFrame(vectors, index=[f"n{i}" for i in range(len(vectors))])
    weighting = LevelWeights(levels=WIDTHS).set_output(transform="pandas").fit(frame, labels_of(indicator))
    result = weighting.transform(frame)
    assert result.index.tolist() == frame.index.tolist()
    assert result.columns.tolist() == weighting.get_feature_names_out().tolist()


def test_report_shows_weights_and_scores():
    vectors, indicator = planted()
    weighting = LevelWeights(prior_scale=1.0).fit(embedding_of(vectors), labels_of(indicator))
    lines = weighting.report().splitlines()
    assert len(lines) == 9
    assert [line.split()[-1] for line in lines[1:4]] == [f"{weight:.3f}" for weight in weighting.weights_]
    learned = weighting.learned_scores_
    assert lines[-1].split()[-2:] == [f"{learned.micro:.4f}", f"{learned.macro:.4f}"]


BAD_PARAMETERS = [
    ({"C": 0}, "C must be a number above 0; got 0"),
    ({"folds": 1}, "folds must be an integer of at least 2; got 1"),
    ({"prior_scale": -1}, "prior_scale must be a number above 0; got -1"),
    ({"max_nodes": 0}, "max_nodes must be an integer of at least 1; got 0"),
    ({"threads": 0}, "threads must be an integer of at least 1; got 0"),
    ({"levels": [4, 4]}, r"levels must be positive integers that sum to the 36 columns, got \[4, 4\]"),
    ({"folds": 51}, "folds=51 needs at least 153 labeled nodes, 3 per fold, got 150: choose fewer folds"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters_are_named(parameters, message):
    vectors, indicator = planted()
    with pytest.raises(ParameterError, match=message):
        LevelWeights(**parameters).fit(embedding_of(vectors), labels_of(indicator))


def test_vectors_without_levels_are_refused_with_the_formats_that_have_them():
    vectors, indicator = planted()
    for flat in (vectors, Embedding(range(len(vectors)), vectors)):
        with pytest.raises(
            ParameterError, match=r"at least two levels, got one: \.npz, .*\.parquet.* state their widths"
        ):
            LevelWeights().fit(flat, indicator)


def test_bad_vectors_and_labels_are_refused():
    vectors, indicator = planted()
    embedding, labels = embedding_of(vectors), labels_of(indicator)
    with pytest.raises(ParameterError, match="NaN or infinity in the vector of node 7"):
        LevelWeights(levels=WIDTHS).fit(np.where(np.arange(150)[:, None] == 7, np.nan, vectors), indicator)
    with pytest.raises(ParameterError, match=r"no labeled node has a vector: .*'n0', 'n1', 'n2'.*'x0', 'x1', 'x10'"):
        LevelWeights().fit(embedding, {f"x{i}": i % 2 for i in range(50)})
    with pytest.raises(ParameterError, match="at least two classes, got"):
        LevelWeights().fit(embedding, dict.fromkeys(embedding, "a"))
    with pytest.raises(ParameterError, match="at least two classes with at least two labeled nodes each, got 1"):
        LevelWeights().fit(embedding, {node: "a" if i else "b" for i, node in enumerate(embedding)})
    fitted = LevelWeights(folds=2).fit(embedding, labels)
    with pytest.raises(ParameterError, match="learned for 36 columns, got 8"):
        fitted.transform(vectors[:, :8])


def test_labels_of_a_single_node_are_ignored():
    vectors, indicator = planted()
    single = np.zeros((len(vectors), 1), dtype=bool)
    single[0] = True
    fewer = indicator.copy()
    fewer[0] = False
    transformer = LevelWeights(levels=WIDTHS)
    with_single = transformer.fit(vectors, np.hstack([fewer, single])).learned_weights_
    assert transformer.n_nodes_ == 149
    np.testing.assert_array_equal(transformer.fit(vectors[1:], indicator[1:]).learned_weights_, with_single)


def test_evaluate_learns_the_weights_from_the_training_nodes_alone():
    vectors, indicator = planted(noise=0.8)
    embedding, labels = embedding_of(vectors), labels_of(indicator)
    result = evaluate(embedding, labels, train=[40, 60], repeats=2, level_weights=True, seed=3)
    assert result.level_weights.shape == (4, 3)
    order = np.argsort(embedding.nodes)  # as the splits are defined
    for ratio, repeat, row in [(40, 1, 1), (60, 0, 2)]:
        shuffled = order[np.random.default_rng([3, repeat]).permutation(150)]
        training, test = np.split(shuffled, [150 * ratio // 100])
        with threadpool_limits(1):
            expected = learn_level_weights(vectors[training], indicator[training], WIDTHS, seed=3).weights
        np.testing.assert_array_equal(result.level_weights[row], expected)
        weighted = vectors * np.repeat(expected, WIDTHS)
        log_odds = one_vs_rest(weighted[training], indicator[training], weighted[test], 1.0)
        predicted = np.eye(3, dtype=bool)[log_odds.argmax(axis=1)]
        assert result.scores["micro"][row] == f1_score(indicator[test], predicted, average="micro")


def test_evaluate_reports_the_mean_weights_whatever_the_number_of_threads():
    vectors, indicator = planted(noise=0.8)
    options = {"train": [40, 80], "repeats": 2, "level_weights": True, "classifier": "fast"}
    one, four = (evaluate(embedding_of(vectors), labels_of(indicator), **options, threads=n) for n in (1, 4))
    np.testing.assert_array_equal(one.scores, four.scores)
    np.testing.assert_array_equal(one.level_weights, four.level_weights)
    mean = one.mean_level_weights()
    np.testing.assert_allclose(mean, [one.level_weights[:2].mean(axis=0), one.level_weights[2:].mean(axis=0)])
    content = json.loads(json.dumps(one.to_dict()))
    assert [row["level_weights"] for row in content["summary"]] == mean.tolist()
    assert [row["level_weights"] for row in content["splits"]] == one.level_weights.tolist()
    assert "one weight per level is learned" in content["protocol"]
    assert one.table().splitlines()[-1].split() == ["80", "%", *(f"{weight:.2f}" for weight in mean[1])]


def test_evaluate_without_learned_weights_does_not_mention_them():
    vectors, indicator = planted()
    result = evaluate(embedding_of(vectors), labels_of(indicator), train=50, repeats=1)
    assert "weight" not in json.dumps(result.to_dict()) + result.table()
    with pytest.raises(ParameterError, match="pass level_weights=True to evaluate"):
        result.mean_level_weights()
    with pytest.raises(ParameterError, match="at least two levels, got one"):
        evaluate(vectors, indicator, train=50, level_weights=True)


def test_command_line_learns_level_weights(tmp_path):
    vectors, indicator = planted(noise=0.8)
    embedding = embedding_of(vectors)
    embedding.save(tmp_path / "a.npz")
    labels = tmp_path / "labels.txt"
    pairs = zip(embedding.nodes, indicator.argmax(axis=1), strict=True)
    labels.write_text("".join(f"{node} {label}\n" for node, label in pairs))
    options = ["--train", "50", "--repeats", "2", "--level-weights"]
    run = CliRunner().invoke(program, ["evaluate", str(tmp_path / "a.npz"), str(labels), *options, "--json"])
    assert run.exit_code == 0, run.output
    expected = evaluate(embedding, labels_of(indicator), train=50, repeats=2, level_weights=True)
    assert json.loads(run.stdout)["summary"][0]["level_weights"] == expected.mean_level_weights()[0].tolist()


@pytest.mark.parametrize(
    ("gain", "micro", "macro", "better"),
    [
        (0.5, 0.01, 0.01, True),
        (0.5, -0.001, 0.01, True),
        (0.5, -0.003, 0.01, False),  # Micro-F1 at the cost of Macro-F1
        (0.5, -0.001, 0.0005, False),
        (0.02, 0.01, 0.01, False),  # 2 in all, which three weights explain
        (0.06, 0.01, 0.01, False),  # 6 in all, which is 3 more, but less than two standard errors
    ],
)
def test_weights_are_accepted_if_loss_and_scores_improve(gain, micro, macro, better):
    losses = np.zeros(100)
    noise = np.where(np.arange(100) % 2, 0.2, -0.2)
    uniform = HeldOutScores(losses, 0.5, 0.4)
    assert is_better(uniform, HeldOutScores(losses - gain + noise, 0.5 + micro, 0.4 + macro), k=3) == better
