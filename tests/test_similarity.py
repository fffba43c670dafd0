"""Search for similar nodes: exact, for nodes, ids and vectors, on any number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from boostne import similarity
from boostne.embedding import Embedding
from boostne.errors import ParameterError, UnknownNodeError
from boostne.similarity import SimilaritySearch, cosines, unit_rows


def slow_neighbors(vectors, target, n):
    """All similarities one by one, in float64; ties in the order of the rows."""
    target = unit_rows(np.atleast_2d(target))[0]
    similarities = [float(cosines(vectors[i : i + 1], target)[0]) for i in range(len(vectors))]
    order = sorted(range(len(vectors)), key=lambda i: (-similarities[i], i))[:n]
    return order, [similarities[i] for i in order]


def random_vectors(n, d, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 7, 3000])
def test_search_equals_comparing_one_pair_at_a_time(dtype, n, monkeypatch):
    monkeypatch.setattr(similarity, "_BLOCK_ROWS", 512)
    monkeypatch.setattr(similarity, "_CHUNK_QUERIES", 3)
    vectors = random_vectors(2000, 24, dtype)
    vectors[100:110] = vectors[3]
    vectors[200:230] = 0
    queries = np.vstack([vectors[[3, 7, 200, 1999]], random_vectors(3, 24, dtype, seed=1)])
    found = SimilaritySearch(vectors).search(queries, n)
    for query, neighbors in zip(queries, found, strict=True):
        rows, similarities = slow_neighbors(vectors, query, n)
        assert neighbors.rows.tolist() == rows
        assert neighbors.similarities.tolist() == similarities


def test_vectors_that_differ_by_less_than_the_rounding_of_the_estimates_are_in_exact_order():
    # In float32, the estimates of all of them are equal or in random order.
    base = random_vectors(1, 64, "float64", seed=3)
    steps = np.random.default_rng(4).permutation(1500)[:, None] * 1e-9
    vectors = base + steps * random_vectors(1, 64, "float64", seed=5)
    embedding = Embedding(range(1500), vectors)
    found = [node for node, _ in embedding.most_similar(base[0], n=20)]
    assert found == slow_neighbors(vectors, base[0], 20)[0]


def test_disjoint_supports_give_ties_in_the_order_of_the_rows(monkeypatch):
    monkeypatch.setattr(similarity, "_MAX_CANDIDATES", 3000)
    clusters = np.random.default_rng(0).integers(400, size=2000)
    vectors = np.eye(400, dtype=np.float32)[clusters]
    found = Embedding(range(2000), vectors).most_similar(list(range(100)), n=12)
    for node, neighbors in enumerate(found):
        same = [i for i in np.flatnonzero(clusters == clusters[node]).tolist() if i != node]
        others = np.flatnonzero(clusters != clusters[node]).tolist()
        assert [other for other, _ in neighbors] == (same + others)[:12]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("level", [None, 2])
def test_results_do_not_depend_on_threads_or_blocks(threads, level, monkeypatch):
    vectors = random_vectors(5000, 30)
    expected = Embedding(range(5000), vectors, [10, 20]).most_similar(list(range(0, 5000, 50)), level=level, threads=1)
    monkeypatch.setattr(similarity, "_BLOCK_ROWS", 333 * threads)
    embedding = Embedding(range(5000), vectors, [10, 20])
    assert embedding.most_similar(list(range(0, 5000, 50)), level=level, threads=threads) == expected
    assert [embedding.most_similar(i, level=level, threads=threads) for i in range(0, 5000, 50)] == expected


@settings(max_examples=50, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        (40, 3),
        elements=st.one_of(
            st.sampled_from([0.0, 1.0, -1.0, 1e-38, 1e38, 3.0]),
            st.floats(allow_nan=False, allow_infinity=False, width=32),
        ),
    )
)
def test_any_finite_vectors_give_the_exact_neighbors(vectors):
    for neighbors, query in zip(SimilaritySearch(vectors).search(vectors[:2], 2), vectors, strict=False):
        assert (neighbors.rows.tolist(), neighbors.similarities.tolist()) == slow_neighbors(vectors, query, 2)


@pytest.mark.parametrize(("dtype", "scales"), [("float32", [1e-30, 1e-10, 1, 1e30]), ("float64", [1e-250, 1, 1e250])])
def test_scaling_rows_does_not_change_the_neighbors(dtype, scales):
    vectors = random_vectors(1000, 16, "float64")
    scaled = (vectors * np.resize(scales, 1000)[:, None]).astype(dtype)
    plain = Embedding(range(1000), vectors).most_similar([0, 1, 2])
    found = Embedding(range(1000), scaled).most_similar([0, 1, 2])
    assert [[node for node, _ in one] for one in found] == [[node for node, _ in one] for one in plain]


def test_similarity_of_a_pair_does_not_depend_on_its_position():
    for d in (1, 2, 7, 16, 100, 129):
        vectors = random_vectors(50, d)
        target = unit_rows(vectors[:1])[0]
        together = cosines(vectors, target)
        assert together.tolist() == [cosines(vectors[i : i + 1], target)[0] for i in range(50)]


@pytest.fixture
def embedding():
    return Embedding(["a", "b", "c", "d"], [[1, 0, 0], [2, 1, 0], [0, 1, 0], [0, 0, 0]], levels=[2, 1])


def names(found):
    return [node for node, _ in found]


def test_a_node_gives_one_list_and_several_give_a_list_of_lists(embedding):
    assert names(embedding.most_similar("a")) == ["b", "c", "d"]
    assert list(map(names, embedding.most_similar(["a", "c"], n=2))) == [["b", "c"], ["b", "a"]]
    assert embedding.most_similar(np.array(["a", "c"])) == embedding.most_similar(["a", "c"])
    assert embedding.most_similar(["a"]) == [embedding.most_similar("a")]
    assert embedding.most_similar([]) == []
    assert embedding.most_similar(np.zeros((0, 3))) == []


def test_a_vector_gives_one_list_and_a_matrix_a_list_of_lists(embedding):
    assert names(embedding.most_similar([1.0, 0.0, 0.0])) == ["a", "b", "c", "d"]
    assert names(embedding.most_similar(np.array([0, 5.0, 0]), n=2)) == ["c", "b"]
    assert list(map(names, embedding.most_similar([[0, 1, 0], [1, 0, 0]], n=1))) == [["c"], ["a"]]
    assert embedding.most_similar(embedding, n=1) == embedding.most_similar(embedding.vectors, n=1)
    assert embedding.most_similar(np.zeros(3), n=2) == [("a", 0.0), ("b", 0.0)]


def test_ids_can_be_integers_ranges_and_tuples():
    numbered = Embedding([10, 20, 30], np.eye(3))
    assert numbered.most_similar(np.array([10, 30]), n=1) == [[(20, 0.0)], [(10, 0.0)]]
    assert Embedding(range(3), np.eye(3)).most_similar(range(2), n=1) == [[(1, 0.0)], [(0, 0.0)]]
    pairs = Embedding([(0, 1), (1, 2)], np.eye(2))
    assert pairs.most_similar((0, 1)) == [((1, 2), 0.0)]
    assert pairs.most_similar([(0, 1), (1, 2)]) == [[((1, 2), 0.0)], [((0, 1), 0.0)]]


def test_a_level_is_searched_by_itself(embedding):
    vectors = random_vectors(100, 6)
    nodes = Embedding(range(100), vectors, [2, 4])
    assert nodes.most_similar(5, level=2) == Embedding(range(100), vectors[:, 2:]).most_similar(5)
    assert nodes.most_similar(vectors[5, :2], level=1)[0][0] == 5
    assert names(embedding.most_similar("a", level=2)) == ["b", "c", "d"]
    with pytest.raises(ParameterError, match="level must be between 1 and 2, got 3"):
        embedding.most_similar("a", level=3)
    with pytest.raises(ParameterError, match="level must be between 1 and 1, got 2"):
        Embedding([0, 1], np.eye(2)).most_similar(0, level=2)
    with pytest.raises(ParameterError, match="rows of length 2, got shape"):
        nodes.most_similar(vectors[:1], level=1)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ([1.0, 0.0], r"rows of length 3, got shape \(2,\)"),
        (np.ones((2, 4)), r"rows of length 3, got shape \(2, 4\)"),
        (np.ones((2, 2, 3)), "rows of length 3"),
        ([[1.0, 2.0, 3.0], [1.0]], "rows of length 3"),
        ([["x", "y", "z"]], "must be real numbers"),
        ([[0, 0, 0], [1, np.nan, 0]], "NaN or infinity in row 1"),
        (np.array([np.inf, 0, 0]), "NaN or infinity in row 0"),
        ({"a"}, "must be a node id, a list or array of ids, or vectors; got set"),
        (np.array([True, False, True, False]), r"pass embedding.nodes\[mask\]"),
    ],
)
def test_invalid_queries_raise(embedding, query, message):
    with pytest.raises(ParameterError, match=message):
        embedding.most_similar(query)


def test_unknown_nodes_and_invalid_numbers_raise(embedding):
    with pytest.raises(UnknownNodeError, match="node 'z' is not in the embedding"):
        embedding.most_similar(["a", "z"])
    with pytest.raises(UnknownNodeError, match="node 7 is not in the embedding"):
        embedding.most_similar([7])
    with pytest.raises(ParameterError, match=r"n must be an integer of at least 0; got 2\.5"):
        embedding.most_similar("a", n=2.5)
    with pytest.raises(ParameterError, match="threads must be an integer of at least 1; got 0"):
        embedding.most_similar("a", threads=0)


def test_embedding_without_nodes_has_no_neighbors():
    empty = Embedding([], np.zeros((0, 2)))
    assert empty.most_similar(np.ones((2, 2))) == [[], []]
