import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from tests.graphs import (
    disconnected,
    karate,
    path,
    planted_partition,
    random_graph,
    star,
    two_triangles,
    with_isolated,
    with_loops,
)
from threadpoolctl import threadpool_limits

from boostne import HOPE, BoostNE, Graph, evaluate_links, split_links
from boostne.embedding import Embedding
from boostne.errors import BoostneError, GraphError, ParameterError
from boostne.evaluation import link_scoring
from boostne.evaluation.link_split import draw_non_edges, split

ALL = ("dot", "cosine", "hadamard", "average", "l1", "l2")


def two_cliques(size=12):
    """Two cliques without edges between them."""
    return planted_partition([size, size], 1, 0)[0]


def complete(n):
    return Graph(np.ones((n, n)) - np.eye(n))


def sides(graph):
    """Return the clique of each node as a one-hot vector."""
    return np.repeat(np.eye(2), graph.n_nodes // 2, axis=0)


def noise(graph):
    return np.random.default_rng(7).normal(size=(graph.n_nodes, 8))


def pair_set(pairs):
    return set(map(tuple, pairs.tolist()))


def edge_set(graph):
    rows, columns = graph.adjacency.nonzero()
    return {(u, v) for u, v in zip(rows.tolist(), columns.tolist(), strict=True) if u < v}


# ---- the split


def check_split(graph, split, count):
    training, edges, non_edges = split
    whole = edge_set(graph)
    assert edges.shape == non_edges.shape == (count, 2)
    assert len(pair_set(edges)) == len(pair_set(non_edges)) == count
    # The training graph lacks the held-out edges and nothing else.
    assert pair_set(edges) <= whole
    assert edge_set(training) == whole - pair_set(edges)
    # The non-edges are neither edges of the whole graph nor self-loops.
    assert pair_set(non_edges).isdisjoint(whole)
    assert (non_edges[:, 0] < non_edges[:, 1]).all()
    assert non_edges.min() >= 0
    assert non_edges.max() < graph.n_nodes
    np.testing.assert_array_equal(training.nodes, graph.nodes)
    assert training.n_components == graph.n_components


@settings(max_examples=60, deadline=None)
@given(n=st.integers(4, 25), density=st.floats(0.15, 0.7), test=st.floats(0.02, 0.5), seed=st.integers(0, 2**40))
def test_split_keeps_components_and_leaks_no_edge(n, density, test, seed):
    upper = np.triu(np.random.default_rng(seed % 1000).random((n, n)) < density, k=1)
    graph = Graph((upper | upper.T).astype(float))
    count = round(test * graph.n_edges)
    spare = graph.n_edges - n + graph.n_components
    free = n * (n - 1) // 2 - graph.n_edges
    if 0 < count <= min(spare, free):
        check_split(graph, split_links(graph, test=test, seed=seed), count)
    else:
        with pytest.raises(GraphError):
            split_links(graph, test=test, seed=seed)


def test_largest_possible_fraction_leaves_a_tree():
    graph = karate()
    split = split_links(graph, test=(78 - 33) / 78)
    check_split(graph, split, 45)
    assert split.training.n_edges == 33


def test_split_of_disconnected_graph_and_isolated_nodes():
    check_split(disconnected(), split_links(disconnected(), test=1 / 7), 1)
    check_split(with_isolated(), split_links(with_isolated(), test=2 / 7), 2)


def test_split_keeps_ids_weights_and_self_loops():
    weights = np.arange(1, 79) / 8
    edges = np.array(sorted(edge_set(karate())))
    names = np.array([f"n{i:02d}" for i in range(34)])
    source, target = (np.append(names[edges[:, k]], "n05") for k in (0, 1))
    graph = Graph.from_edges(source, target, np.append(weights, 3.5), nodes=names, self_loops="keep")
    training, held_out, _ = split_links(graph, seed=3)
    assert len(held_out) == round(0.2 * 78)  # self-loops are never held out
    assert training.nodes.tolist() == names.tolist()
    A, B = graph.adjacency.toarray(), training.adjacency.toarray()
    A[held_out[:, 0], held_out[:, 1]] = A[held_out[:, 1], held_out[:, 0]] = 0
    np.testing.assert_array_equal(A, B)
    assert B[5, 5] == 3.5


def test_split_is_determined_by_the_seed():
    graph = karate()
    one, same, other = (split_links(graph, seed=seed) for seed in (4, 4, 5))
    assert one.training.fingerprint() == same.training.fingerprint() != other.training.fingerprint()
    np.testing.assert_array_equal(one.edges, same.edges)
    np.testing.assert_array_equal(one.non_edges, same.non_edges)
    assert pair_set(one.non_edges) != pair_set(other.non_edges)


def test_all_edges_but_bridges_can_be_held_out():
    seen = set().union(*(pair_set(split_links(two_triangles(), test=1 / 7, seed=s).edges) for s in range(80)))
    assert seen == edge_set(two_triangles()) - {(2, 3)}


def test_non_edges_are_drawn_uniformly():
    graph = two_triangles()
    free = [(u, v) for v in range(6) for u in range(v) if (u, v) not in edge_set(graph)]
    edges = np.array(sorted(edge_set(graph)))
    rng = np.random.default_rng(0)
    drawn = [tuple(draw_non_edges(6, edges, 1, rng)[0].tolist()) for _ in range(4000)]
    counts = np.array([drawn.count(pair) for pair in free])
    assert counts.sum() == 4000
    np.testing.assert_allclose(counts, 500, atol=5 * np.sqrt(500))


def test_all_non_edges_of_an_almost_complete_graph_are_found():
    graph = complete(40)
    A = graph.adjacency.toarray()
    gone = [(0, 1), (3, 39), (38, 39)]
    for u, v in gone:
        A[u, v] = A[v, u] = 0
    drawn = draw_non_edges(40, np.array(sorted(edge_set(Graph(A)))), 3, np.random.default_rng(0))
    assert pair_set(drawn) == set(gone)


class FixedRanks:
    """A random generator that returns predefined ranks."""

    def __init__(self, ranks):
        self.ranks = ranks

    def choice(self, free, count, replace):
        assert (self.ranks < free).all()
        return self.ranks


def test_pair_numbers_beyond_float_precision_are_decoded_exactly():
    # The numbers of these pairs exceed float precision; the first and last of a row are the hard cases.
    n = 2**31 - 1
    v = n - 1 - np.arange(20_000)
    for u in (0 * v, v - 1, v // 2):
        drawn = draw_non_edges(n, np.zeros((0, 2), np.int64), len(v), FixedRanks(v * (v - 1) // 2 + u))
        np.testing.assert_array_equal(drawn, np.column_stack([u, v]))


def test_taken_pairs_are_skipped_at_both_ends():
    n = 100_000
    taken = np.array([[0, n - 1], [n - 2, n - 1], [n - 3, n - 2], [0, 1]])
    free = n * (n - 1) // 2 - 4
    drawn = draw_non_edges(n, taken, 3, FixedRanks(np.array([0, free - 2, free - 1])))
    assert drawn.tolist() == [[0, 2], [n - 4, n - 1], [n - 3, n - 1]]


def test_split_of_a_large_graph_stays_sparse():
    graph = random_graph(100_000, 6)
    training, edges, non_edges = split_links(graph, test=0.1)
    assert len(edges) == len(non_edges) == round(0.1 * graph.n_edges)
    assert training.n_edges == graph.n_edges - len(edges)
    assert training.n_components == graph.n_components
    assert (np.asarray(graph.adjacency[edges[:, 0], edges[:, 1]]) > 0).all()
    assert not (np.asarray(graph.adjacency[non_edges[:, 0], non_edges[:, 1]]) > 0).any()
    assert not (np.asarray(training.adjacency[edges[:, 0], edges[:, 1]]) > 0).any()


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (path(), {}, "test=0.2 of 4 edges requires 1, but only 0 can be held out .*: it is a forest"),
        (star(), {"test": 0.5}, "only 0 can be held out"),
        (two_triangles(), {"test": 0.5}, r"requires 4, but only 2 can be held .* test can be at most 0\.285714"),
        (two_triangles(), {"test": 0.01}, r"test=0\.01 of 7 edges is less than one edge"),
        (with_loops(), {}, "of 3 edges requires 1, but only 0"),
        (complete(6), {}, "requires 3 non-edges, but only 0 pairs of the 6 nodes are not connected"),
        (two_triangles(), {"test": 20}, r"test must be a fraction .*, got 20; for 20 % pass 0\.2"),
        (two_triangles(), {"test": 0}, "test must be a fraction .*, got 0$"),
        (two_triangles(), {"test": float("nan")}, "test must be a fraction .*, got nan"),
        (two_triangles(), {"seed": -1}, "seed must be an integer of at least 0; got -1"),
        (
            Graph.from_edges([0, 1, 2], [1, 2, 0], directed=True),
            {"test": 0.5},
            "requires 2, but only 1 can be held out",
        ),
    ],
)
def test_impossible_splits_raise(graph, options, message):
    with pytest.raises(BoostneError, match=message):
        split_links(graph, **options)
    with pytest.raises(BoostneError, match=message):
        evaluate_links(noise, graph, **options)


def test_largest_fraction_named_in_the_error_is_accepted():
    assert len(split_links(two_triangles(), test=0.285714).edges) == 2


# ---- the scores


def test_informative_vectors_score_one_and_noise_about_half():
    graph = two_cliques()
    known = evaluate_links(sides, graph, repeats=2, operator=("dot", "cosine", "hadamard", "l1", "l2"))
    for metric in ("auc", "ap"):
        np.testing.assert_array_equal(known.mean(metric), 1.0)
    unknown = evaluate_links(noise, random_graph(300, 12), repeats=3, operator=ALL)
    np.testing.assert_allclose(unknown.mean("auc"), 0.5, atol=0.05)
    np.testing.assert_allclose(unknown.mean("ap"), 0.5, atol=0.05)


def test_average_operator_cannot_tell_whether_vectors_are_similar():
    # The average only says how many endpoints are in each clique.
    result = evaluate_links(lambda graph: sides(graph)[:, :1], two_cliques(), repeats=2, operator="average")
    assert result.mean("auc")[0] < 0.8


def test_boostne_predicts_held_out_edges():
    graph, _ = planted_partition([40, 40, 40], 0.4, 0.02)
    result = evaluate_links(BoostNE(16, levels=2, window=3), graph, repeats=2, operator=("cosine", "hadamard"))
    assert result.mean("auc").min() > 0.8
    assert result.mean("ap").min() > 0.75


def test_method_never_sees_held_out_edges():
    graph = karate()
    seen = []

    def remember(training):
        seen.append(training)
        return noise(training)

    evaluate_links(remember, graph, repeats=3, seed=5, operator="dot")
    assert len({training.fingerprint() for training in seen}) == 3
    first = split_links(graph, seed=5)
    assert seen[0].fingerprint() == first.training.fingerprint()
    assert all(training.n_edges == 62 for training in seen)


@pytest.mark.parametrize("operator", ALL)
def test_scores_equal_a_loop_over_scikit_learn(operator):
    graph = karate()
    x = noise(graph)
    result = evaluate_links(lambda _: x, graph, repeats=1, seed=2, operator=operator)
    rng = np.random.default_rng([2, 0])
    training, edges, non_edges = split(graph, 16, rng)
    features = {
        "dot": lambda u, v: x[u] @ x[v],
        "cosine": lambda u, v: x[u] @ x[v] / np.sqrt(x[u] @ x[u] * (x[v] @ x[v])),
        "hadamard": lambda u, v: x[u] * x[v],
        "average": lambda u, v: (x[u] + x[v]) / 2,
        "l1": lambda u, v: abs(x[u] - x[v]),
        "l2": lambda u, v: (x[u] - x[v]) ** 2,
    }[operator]
    values = np.array([features(u, v) for u, v in [*edges.tolist(), *non_edges.tolist()]])
    if operator not in {"dot", "cosine"}:
        taken = edge_set(graph) | pair_set(non_edges)
        known = sorted(edge_set(training))
        others = draw_non_edges(34, np.array(sorted(taken)), len(known), rng)
        assert pair_set(others).isdisjoint(taken)
        learned = np.array([features(u, v) for u, v in [*known, *others.tolist()]])
        scaler = StandardScaler().fit(learned)
        model = LogisticRegression(solver="liblinear", random_state=0)
        model.fit(scaler.transform(learned), np.repeat([1, 0], len(known)))
        values = model.decision_function(scaler.transform(values))
    truth = np.repeat([1, 0], 16)
    assert result.scores["auc"][0] == pytest.approx(roc_auc_score(truth, values), abs=1e-12)
    assert result.scores["ap"][0] == pytest.approx(average_precision_score(truth, values), abs=1e-12)


def test_scores_do_not_depend_on_the_scale_of_the_vectors():
    graph = karate()
    small, large = (
        evaluate_links(lambda g, s=scale: s * noise(g), graph, repeats=2, operator=ALL) for scale in (2.0**-20, 2.0**20)
    )
    np.testing.assert_allclose(small.scores["auc"], large.scores["auc"], atol=1e-9)


def test_operators_share_vectors_and_are_independent():
    graph, calls = karate(), []

    def count(training):
        calls.append(training)
        return noise(training)

    together = evaluate_links(count, graph, repeats=2, operator=("l1", "dot", "hadamard"))
    assert len(calls) == 2
    assert together.operators == ("l1", "dot", "hadamard")
    assert together.scores["operator"].tolist() == ["l1"] * 2 + ["dot"] * 2 + ["hadamard"] * 2
    assert together.scores["repeat"].tolist() == [0, 1] * 3
    for i, operator in enumerate(together.operators):
        alone = evaluate_links(noise, graph, repeats=2, operator=operator)
        np.testing.assert_array_equal(alone.scores, together.scores[2 * i : 2 * i + 2])


def test_scores_do_not_depend_on_the_number_of_threads():
    graph = random_graph(2000, 10)
    runs = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            runs.append(evaluate_links(noise, graph, repeats=1, operator=ALL))
    np.testing.assert_array_equal(runs[0].scores, runs[1].scores)


def test_training_edges_are_sampled_above_the_limit(monkeypatch):
    graph = two_cliques(20)
    whole = evaluate_links(noise, graph, repeats=1, operator="hadamard")
    monkeypatch.setattr(link_scoring, "MAX_TRAINING_EDGES", 30)
    assert evaluate_links(sides, graph, repeats=1, operator="hadamard").mean("auc")[0] == 1.0
    assert evaluate_links(noise, graph, repeats=1, operator="hadamard").mean("auc") != whole.mean("auc")


def test_scores_do_not_depend_on_the_block_size(monkeypatch):
    graph = karate()
    whole = evaluate_links(noise, graph, repeats=1, operator=ALL)
    monkeypatch.setattr(link_scoring, "_BLOCK_SIZE", 5)
    blocks = evaluate_links(noise, graph, repeats=1, operator=ALL)
    np.testing.assert_allclose(blocks.scores["auc"], whole.scores["auc"], atol=1e-12)


# ---- the methods


def test_estimators_are_cloned():
    model = BoostNE(4, levels=1, window=1)
    result = evaluate_links(model, karate(), repeats=1)
    assert not hasattr(model, "embedding_")
    assert result.method.startswith("BoostNE(dimensions=4, levels=1")


def test_any_estimator_with_embedding_is_accepted():
    class Shuffled(BaseEstimator):
        def fit(self, graph):
            order = np.random.default_rng(0).permutation(graph.n_nodes)
            self.embedding_ = Embedding(graph.nodes[order], noise(graph)[order])
            return self

    expected = evaluate_links(noise, karate(), repeats=1).scores
    np.testing.assert_array_equal(evaluate_links(Shuffled(), karate(), repeats=1).scores, expected)


def test_estimator_without_embedding_raises():
    class Mute(BaseEstimator):
        def fit(self, graph):
            return self

    with pytest.raises(ParameterError, match=r"embedding_ after fit, and Mute does not; pass a function"):
        evaluate_links(Mute(), karate())


def test_method_that_drops_nodes_raises():
    def first_thirty(graph):
        return Embedding(graph.nodes[:30], noise(graph)[:30])

    with pytest.raises(ParameterError, match="no vector for 4 of 34 nodes: 30, 31, 32"):
        evaluate_links(first_thirty, karate())
    with pytest.raises(ParameterError, match="same length, got 34 and 33"):
        evaluate_links(lambda graph: noise(graph)[1:], karate())


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (BoostNE, {}, "got the class BoostNE: pass an instance, BoostNE\\(\\)"),
        ("boostne", {}, "method must be an estimator with fit, .*, got 'boostne'"),
        (noise, {"operator": "sum"}, "operator must be one of 'dot', .*, got 'sum'"),
        (noise, {"operator": []}, "operator must be one of .*, got none"),
        (noise, {"repeats": 0}, "repeats must be an integer of at least 1; got 0"),
    ],
)
def test_invalid_parameters_raise(method, options, message):
    with pytest.raises(ParameterError, match=message):
        evaluate_links(method, karate(), **options)


def test_learned_operator_on_a_graph_with_too_few_non_edges_raises():
    graph, _ = planted_partition([20], 0.7, 0)
    with pytest.raises(GraphError, match=r"operator='l1' is trained on \d+ non-edges .* operator='dot'"):
        evaluate_links(noise, graph, operator=("dot", "l1"))
    assert evaluate_links(noise, graph, operator="dot", repeats=1).repeats == 1


# ---- the result


def test_result_as_table_and_json():
    graph = karate()
    result = evaluate_links(noise, graph, repeats=3, seed=np.int64(7), operator=("dot", "l2"))
    auc = result.scores["auc"]
    np.testing.assert_allclose(result.mean("auc"), [auc[:3].mean(), auc[3:].mean()])
    np.testing.assert_allclose(result.std("ap")[1], result.scores["ap"][3:].std(ddof=1))
    lines = str(result).splitlines()
    assert "34 nodes, 78 edges; 16 edges (20 %) held out before the graph was embedded" in lines[0]
    assert "3 random splits (seed 7)" in lines[0]
    assert lines[-1].split() == [
        "l2",
        *f"{result.mean('auc')[1]:.4f} ± {result.std('auc')[1] / 3**0.5:.4f}".split(),
        *f"{result.mean('ap')[1]:.4f} ± {result.std('ap')[1] / 3**0.5:.4f}".split(),
    ]
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (content["seed"], content["repeats"], content["test"], content["test_edges"]) == (7, 3, 0.2, 16)
    assert content["method"] == "noise"
    assert content["graph_sha256"] == graph.fingerprint()
    assert content["versions"].keys() == {"boostne", "numpy", "scikit-learn"}
    assert content["summary"][1]["operator"] == "l2"
    assert content["summary"][1]["auc_mean"] == pytest.approx(result.mean("auc")[1])
    assert len(content["splits"]) == 6
    assert content["splits"][4]["repeat"] == 1
    header, first, *_ = result.to_csv().splitlines()
    assert header == "operator,repeat,auc,ap"
    assert first.split(",")[:2] == ["dot", "0"]
    assert float(first.split(",")[2]) == auc[0]
    with pytest.raises(ParameterError, match="metric must be 'auc' or 'ap', got 'f1'"):
        result.mean("f1")


# ---- directed graphs


def directed_graph(seed=0, n=60):
    """A graph in which half of the pairs with an edge have both, with weights and a self-loop."""
    rng = np.random.default_rng(seed)
    u, v = rng.integers(n, size=(2, 6 * n))
    both = rng.random(len(u)) < 0.5
    ends = np.r_[u, v[both], 3], np.r_[v, u[both], 3]
    return Graph.from_edges(
        *ends, 1 + rng.random(len(ends[0])), nodes=range(n), directed=True, self_loops="keep", duplicates="once"
    )


def directed_edge_set(graph):
    return {(u, v) for u, v in zip(*(end.tolist() for end in graph.adjacency.nonzero()), strict=True) if u != v}


@pytest.mark.parametrize("seed", range(3))
def test_a_directed_split_holds_out_both_directions(seed):
    graph = directed_graph(seed)
    whole = directed_edge_set(graph)
    training, edges, non_edges = split_links(graph, test=0.2, seed=seed)
    kept, held_out = directed_edge_set(training), pair_set(edges)
    assert training.directed
    assert held_out <= whole
    assert len(held_out) == len(edges) == len(non_edges) == round(0.2 * len(edge_set(graph.to_undirected())))
    assert whole - kept == {pair for u, v in held_out for pair in ((u, v), (v, u)) if pair in whole}
    assert kept < whole
    for u, v in pair_set(non_edges):
        assert u != v
        assert (u, v) not in whole
        assert (v, u) not in whole
    assert training.n_components == graph.n_components
    np.testing.assert_array_equal(training.adjacency.diagonal(), graph.adjacency.diagonal())
    rows, columns = training.adjacency.nonzero()
    np.testing.assert_array_equal(training.adjacency.data, graph.adjacency[rows, columns])


def test_directions_of_a_directed_split_are_random():
    _, edges, non_edges = split_links(directed_graph(n=300), test=0.2)
    for pairs in (edges, non_edges):
        assert 0.3 < (pairs[:, 0] < pairs[:, 1]).mean() < 0.7


def from_left_to_right(n=40):
    """Every node of the left half points to five of the right half."""
    rng = np.random.default_rng(0)
    target = np.concatenate([rng.choice(np.arange(n // 2, n), 5, replace=False) for _ in range(n // 2)])
    return Graph.from_edges(np.repeat(np.arange(n // 2), 5), target, nodes=range(n), directed=True)


def one_hot(graph):
    """Sources are the left half, targets the right half: the score of an edge in this direction is 1, others are 0."""
    left = (np.arange(graph.n_nodes) < graph.n_nodes // 2)[:, None].astype(float)
    return Embedding(graph.nodes, left, targets=Embedding(graph.nodes[::-1], 1 - left[::-1]))


def test_directed_links_are_scored_by_source_and_target_vectors():
    graph = from_left_to_right()
    result = evaluate_links(one_hot, graph, repeats=2, operator=("dot", "cosine", "hadamard"))
    np.testing.assert_array_equal(result.mean("direction"), 1.0)
    _, edges, non_edges = split_links(graph)
    values = [float(u < 20 <= v) for u, v in np.concatenate([edges, non_edges])]
    truth = np.repeat([1, 0], [len(edges), len(non_edges)])
    assert result.scores["auc"][0] == pytest.approx(roc_auc_score(truth, values))


def test_without_targets_the_direction_is_unknown():
    result = evaluate_links(noise, directed_graph(), repeats=2, operator=("dot", "hadamard"))
    np.testing.assert_allclose(result.scores["direction"], 0.5, atol=0.01)  # products are rounded in another order


def test_direction_counts_edges_without_reverse_only():
    mutual = evaluate_links(noise, random_graph(60, 8).to_directed(), repeats=1, operator="dot")
    assert np.isnan(mutual.scores["direction"]).all()


@pytest.mark.filterwarnings("ignore:.*nodes have no edges")
@pytest.mark.parametrize(
    ("method", "least"), [(BoostNE(16, levels=2, window=3), 0.9), (HOPE(16), 0.65)], ids=["BoostNE", "HOPE"]
)
def test_methods_with_source_and_target_vectors(method, least):
    graph = from_left_to_right(200)
    result = evaluate_links(method, graph, repeats=2, operator="dot")
    assert result.mean("direction")[0] > least
    text, content = result.table(), result.to_dict()
    assert "connected pairs" in text
    assert "direction" in text
    assert content["summary"][0]["direction_mean"] == result.mean("direction")[0]
    assert result.to_csv().splitlines()[0] == "operator,repeat,auc,ap,direction"


def test_undirected_results_have_no_direction():
    result = evaluate_links(noise, karate(), repeats=1)
    assert "direction" not in result.table()
    with pytest.raises(ParameterError, match="metric must be 'auc' or 'ap', got 'direction'"):
        result.mean("direction")


def test_targets_must_have_all_nodes():
    def partial(graph):
        vectors = np.ones((graph.n_nodes, 2))
        return Embedding(graph.nodes, vectors, targets=Embedding(graph.nodes[1:], vectors[1:]))

    with pytest.raises(ParameterError, match="no vector for 1 of 40 nodes"):
        evaluate_links(partial, from_left_to_right(), repeats=1)
