import json
import warnings

import numpy as np
import pytest
from sklearn import preprocessing
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from tests.graphs import planted_partition
from threadpoolctl import threadpool_info, threadpool_limits

from boostne import BoostNE, evaluate_clusters
from boostne.embedding import Embedding
from boostne.errors import BoostneError, ParameterError


def planted(n=150, classes=3, noise=0.3, seed=0):
    """Vectors along one direction per class plus noise, and the classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    return np.eye(classes)[labels] + noise * rng.normal(size=(n, classes)), labels


def test_separable_classes_score_one_and_noise_about_zero():
    vectors, labels = planted(noise=0.05)
    clear = evaluate_clusters(vectors, labels, repeats=3)
    assert clear.mean("nmi") == clear.mean("ari") == 1.0
    assert clear.std("nmi") == clear.std("ari") == 0.0
    unknown = evaluate_clusters(np.random.default_rng(1).normal(size=(150, 3)), labels, repeats=3)
    assert unknown.mean("nmi") < 0.1
    assert abs(unknown.mean("ari")) < 0.05


@pytest.mark.parametrize("normalize", [True, False])
def test_scores_equal_a_loop_over_scikit_learn(normalize):
    vectors, labels = planted(noise=0.5)
    vectors *= np.random.default_rng(2).uniform(0.1, 10, size=(150, 1))
    result = evaluate_clusters(vectors, labels, repeats=3, seed=4, normalize=normalize, starts=2)
    x = preprocessing.normalize(vectors) if normalize else vectors
    for repeat in range(3):
        seed = np.random.SeedSequence([4, repeat]).generate_state(1)[0]
        found = KMeans(3, n_init=2, random_state=int(seed)).fit_predict(x)
        row = result.scores[repeat]
        assert row["repeat"] == repeat
        assert row["nmi"] == pytest.approx(normalized_mutual_info_score(labels, found))
        assert row["ari"] == pytest.approx(adjusted_rand_score(labels, found))


def test_nmi_and_ari_against_a_hand_computed_example():
    # k-means puts 0 with 1 and 2 with 3; the labels put 3 alone. Of 6 pairs, 1 is together in both, 2 are
    # together in the clusters and 3 in the labels: ARI = (1 - 2·3/6) / ((2 + 3) / 2 - 2·3/6) = 0.
    result = evaluate_clusters([[0.0], [1.0], [10.0], [11.0]], ["a", "a", "a", "b"], normalize=False)
    assert result.mean("ari") == pytest.approx(0.0)
    # I = H(Y) - H(Y|C) = (2 - 3/4 log2 3) - 1/2, with H(C) = 1.
    entropy = 2 - 0.75 * np.log2(3)
    assert result.mean("nmi") == pytest.approx(2 * (entropy - 0.5) / (1 + entropy))


def test_normalize_ignores_vector_norms():
    rng = np.random.default_rng(3)
    labels = np.arange(100) % 2
    vectors = np.eye(2)[labels] * rng.choice([1.0, 100.0], size=(100, 1))
    assert evaluate_clusters(vectors, labels, repeats=2).mean("ari") == 1.0
    assert evaluate_clusters(vectors, labels, repeats=2, normalize=False).mean("ari") < 0.6


def test_boostne_vectors_recover_planted_communities():
    graph, labels = planted_partition([40, 40, 40], 0.4, 0.02)
    vectors = BoostNE(16, levels=2, window=3).fit(graph).embedding_
    assert evaluate_clusters(vectors, labels, repeats=3).mean("ari") > 0.8


def test_vectors_and_labels_are_joined_on_ids():
    vectors, labels = planted(noise=0.5)
    expected = evaluate_clusters(vectors, labels, repeats=2)
    order = np.random.default_rng(5).permutation(150)
    got = evaluate_clusters(Embedding(order, vectors[order]), dict(enumerate(labels.tolist())), repeats=2)
    np.testing.assert_array_equal(got.scores, expected.scores)
    assert got.embedding_sha256 == expected.embedding_sha256
    assert got.labels_sha256 == expected.labels_sha256


def test_scores_do_not_depend_on_threads():
    vectors, labels = planted(n=3000, classes=8, noise=0.6)
    runs = [evaluate_clusters(vectors, labels, repeats=4, starts=1, threads=n) for n in (1, 3, None)]
    np.testing.assert_array_equal(runs[0].scores, runs[1].scores)
    np.testing.assert_array_equal(runs[0].scores, runs[2].scores)
    assert len(set(runs[0].scores["nmi"].tolist())) > 1  # the runs differ in their initialization


def test_k_means_runs_on_one_thread(monkeypatch):
    # Sums split over threads differ in the last bits, which can change the clusters.
    seen = []

    class Watched(KMeans):
        def fit_predict(self, X):
            seen.extend(lib["num_threads"] for lib in threadpool_info())
            return super().fit_predict(X)

    monkeypatch.setattr("sklearn.cluster.KMeans", Watched)
    with threadpool_limits(2):
        evaluate_clusters(*planted(), repeats=3)
    assert set(seen) == {1}


def test_nodes_with_several_labels_are_ignored_and_counted():
    vectors, labels = planted(noise=0.4)
    mapping = {i: [label] for i, label in enumerate(labels.tolist())}
    for i in range(0, 30, 3):
        mapping[i] = [0, 1]
    with pytest.warns(UserWarning, match="10 nodes have several labels and are ignored") as seen:
        result = evaluate_clusters(vectors, mapping, repeats=2)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert (result.n_nodes, result.n_multilabel, result.n_classes) == (140, 10, 3)
    single = {i: several for i, several in mapping.items() if len(several) == 1}
    np.testing.assert_array_equal(result.scores, evaluate_clusters(vectors, single, repeats=2).scores)
    assert "140 nodes with one label (10 with several are ignored)" in result.table()


def test_classes_of_ignored_nodes_do_not_count():
    vectors, labels = planted(noise=0.05)
    mapping = dict(enumerate(labels.tolist())) | {0: ["rare", "rarer"]}
    with pytest.warns(UserWarning, match="1 nodes have several"):
        result = evaluate_clusters(vectors, mapping, repeats=1)
    assert result.n_classes == 3
    assert result.mean("ari") == 1.0


def test_nodes_without_vector_are_counted():
    vectors, labels = planted(noise=0.05)
    with pytest.warns(UserWarning, match="50 of 150 labeled nodes have no vector"):
        result = evaluate_clusters(vectors[:100], labels, repeats=1)
    assert (result.n_nodes, result.n_without_vector) == (100, 50)
    assert result.mean("ari") == 1.0


def test_zero_vectors_are_accepted():
    vectors, labels = planted(noise=0.05)
    vectors[labels == 0] = 0
    assert evaluate_clusters(vectors, labels, repeats=1).mean("ari") == 1.0


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (dict.fromkeys(range(6), (0, 1)), {}, r"exactly one label \(6 labeled nodes have several\).*evaluate\(\)"),
        ({0: [0, 1], 1: 0, 2: 0}, {}, "at least two classes among the 2 nodes .*, got 1"),
        (dict.fromkeys(range(6), 0), {}, "at least two classes"),
        (["a", "b"], {"repeats": 0}, "repeats must be an integer of at least 1; got 0"),
        (["a", "b"], {"seed": 0.5}, "seed must be an integer"),
        (["a", "b"], {"starts": 0}, "starts must be an integer of at least 1; got 0"),
        (["a", "b"], {"threads": 0}, "threads must be an integer of at least 1; got 0"),
        ({"x": 0, "y": 1}, {}, "no labeled node has a vector"),
    ],
)
def test_invalid_input_raises(labels, options, message):
    with pytest.raises(ParameterError, match=message):
        evaluate_clusters(np.eye(6), labels, **options)


def test_nan_in_embedding_raises():
    with pytest.raises(BoostneError, match="node 1"):
        evaluate_clusters([[0.0], [np.nan]], [0, 1])


def test_result_as_table_and_json():
    vectors, labels = planted(noise=0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = evaluate_clusters(vectors, labels, repeats=4, seed=np.int64(6), starts=1)
    nmi = result.scores["nmi"]
    assert result.mean("nmi") == pytest.approx(nmi.mean())
    assert result.std("nmi") == pytest.approx(nmi.std(ddof=1))
    lines = str(result).splitlines()
    assert "150 nodes with one label; k-means, k = 3 classes, unit-norm vectors; 4 runs (seed 6)" in lines[0]
    assert lines[-2] == f"NMI   {result.mean('nmi'):.4f} ± {result.std('nmi') / 2:.4f}"
    assert lines[-1].startswith("ARI")
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (content["seed"], content["repeats"], content["starts"], content["nodes"]) == (6, 4, 1, 150)
    assert content["normalize"] is True
    assert content["summary"]["nmi_mean"] == pytest.approx(nmi.mean())
    assert len(content["runs"]) == 4
    assert content["versions"].keys() == {"boostne", "numpy", "scikit-learn"}
    assert result.to_csv().splitlines()[0] == "repeat,nmi,ari"
    with pytest.raises(ParameterError, match="metric must be 'nmi' or 'ari', got 'micro'"):
        result.mean("micro")


def test_to_csv_writes_the_scores(tmp_path):
    vectors, labels = planted(noise=0.7)
    result = evaluate_clusters(vectors, labels, repeats=2, starts=1)
    text = result.to_csv(tmp_path / "scores.csv")
    assert (tmp_path / "scores.csv").read_bytes() == text.encode()
    rows = [line.split(",") for line in text.splitlines()[1:]]
    assert [(int(repeat), float(nmi), float(ari)) for repeat, nmi, ari in rows] == result.scores.tolist()
    with pytest.raises(ParameterError, match="does not exist; create it first"):
        result.to_csv(tmp_path / "none" / "scores.csv")
