"""The embedding: access by id and level, similarity, validation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from boostne.embedding import Embedding, UnknownNodeError
from boostne.errors import BoostneError, ParameterError


@pytest.fixture
def embedding():
    return Embedding(["a", "b", "c"], np.arange(12, dtype=np.float32).reshape(3, 4), levels=[1, 3])


def test_access_by_node_id(embedding):
    assert len(embedding) == 3
    assert "b" in embedding
    assert "z" not in embedding
    assert list(embedding) == ["a", "b", "c"]
    np.testing.assert_array_equal(embedding["b"], [4, 5, 6, 7])
    assert repr(embedding) == "Embedding(3 nodes, 4 dimensions, levels [1, 3], float32)"


def test_levels_count_from_one(embedding):
    np.testing.assert_array_equal(embedding.level(1), [[0], [4], [8]])
    np.testing.assert_array_equal(embedding.level(2), [[1, 2, 3], [5, 6, 7], [9, 10, 11]])
    assert np.shares_memory(embedding.level(2), embedding.vectors)
    assert embedding.up_to(2).levels.tolist() == [1, 3]
    np.testing.assert_array_equal(embedding.up_to(1).vectors, embedding.level(1))
    assert embedding.up_to(1).nodes.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("level", [0, 3, -1])
def test_level_out_of_range_raises(embedding, level):
    with pytest.raises(ParameterError, match=f"level must be between 1 and 2, got {level}"):
        embedding.level(level)
    with pytest.raises(ParameterError, match="level must be between 1 and 2"):
        embedding.up_to(level)


def test_is_immutable(embedding):
    with pytest.raises(ValueError, match="read-only"):
        embedding.vectors[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        embedding["a"][0] = 1
    with pytest.raises(AttributeError):
        embedding.vectors = np.zeros((3, 4))


def test_vectors_are_a_view_of_the_array_of_the_caller():
    vectors = np.ones((2, 2), dtype=np.float32)
    embedding = Embedding([0, 1], vectors)
    vectors[0, 0] = 5
    assert embedding.vectors[0, 0] == 5


def test_unknown_node_raises_a_key_error_with_a_readable_message(embedding):
    with pytest.raises(KeyError):
        embedding["z"]
    with pytest.raises(UnknownNodeError) as caught:
        embedding.most_similar("z")
    assert isinstance(caught.value, BoostneError)
    assert str(caught.value) == "node 'z' is not in the embedding of 'a', 'b', 'c'"


@pytest.mark.parametrize(
    ("nodes", "vectors", "levels", "message"),
    [
        ([0, 1], np.ones((3, 2)), None, "same length, got 2 and 3"),
        ([0, 0], np.ones((2, 2)), None, "nodes must be unique, got 0 more than once"),
        (["a", "b"], [[1, 2], [np.nan, 0]], None, "NaN or infinity in the vector of node 'b'"),
        (["a", "b"], [[-np.inf, 2], [np.nan, 0]], None, "NaN or infinity in the vector of node 'a'"),
        ([0], np.ones(2), None, "2-D array of real numbers"),
        ([0], np.ones((1, 0)), None, "at least one column"),
        ([0], [["x"]], None, "2-D array of real numbers"),
        ([0], [[1j]], None, "2-D array of real numbers"),
        ([0], np.ones((1, 4)), [2, 3], "sum to the 4 columns"),
        ([0], np.ones((1, 4)), [4, 0], "positive integers"),
        ([0], np.ones((1, 4)), [2.0, 2.0], "positive integers"),
        (np.ones((2, 2), dtype=int), np.ones((2, 2)), None, "one-dimensional"),
        (np.array([0.0, 1.0]), np.ones((2, 2)), None, "floats"),
    ],
)
def test_invalid_input_raises(nodes, vectors, levels, message):
    with pytest.raises(BoostneError, match=message):
        Embedding(nodes, vectors, levels)


def test_infinite_value_in_a_late_row_raises():
    vectors = np.zeros((70_000, 1), dtype=np.float32)
    vectors[69_999] = np.inf
    with pytest.raises(ParameterError, match="node 69999"):
        Embedding(np.arange(70_000), vectors)


@pytest.mark.parametrize(("dtype", "kept"), [("f4", "f4"), ("f8", "f8"), ("f2", "f4"), ("i8", "f4"), ("?", "f4")])
def test_float_dtypes_are_kept_and_others_become_float32(dtype, kept):
    assert Embedding([0], np.ones((1, 2), dtype=dtype)).vectors.dtype == np.dtype(kept)


def test_ids_keep_their_types():
    assert Embedding([1, 2], np.ones((2, 1))).nodes.dtype == np.int64
    assert Embedding(["1", "2"], np.ones((2, 1))).nodes.dtype.kind == "U"
    mixed = Embedding([1, "1", (1, 1)], np.eye(3))
    np.testing.assert_array_equal(mixed["1"], [0, 1, 0])
    np.testing.assert_array_equal(mixed[(1, 1)], [0, 0, 1])
    assert [type(node) for node in mixed] == [int, str, tuple]


def test_most_similar_sorts_by_cosine_similarity():
    embedding = Embedding(["x", "near", "far", "opposite"], [[1, 0], [2, 1], [0, 1], [-3, 0]])
    names, similarities = zip(*embedding.most_similar("x"), strict=True)
    assert names == ("near", "far", "opposite")
    np.testing.assert_allclose(similarities, [2 / np.sqrt(5), 0, -1])
    assert all(type(value) is float for value in similarities)
    assert embedding.most_similar("x", n=1) == [("near", similarities[0])]
    assert embedding.most_similar("x", n=0) == []
    with pytest.raises(ParameterError, match="n must be an integer of at least 0"):
        embedding.most_similar("x", n=-1)


def test_zero_vectors_have_similarity_zero():
    embedding = Embedding([0, 1, 2], [[0, 0], [1, 0], [0, 0]])
    assert embedding.most_similar(0) == [(1, 0.0), (2, 0.0)]
    assert embedding.most_similar(1) == [(0, 0.0), (2, 0.0)]


def test_ties_keep_the_order_of_the_nodes():
    row = np.random.default_rng(0).random(37)
    embedding = Embedding(np.arange(1000)[::-1], np.tile(row, (1000, 1)))
    assert [node for node, _ in embedding.most_similar(500, n=999)] == [n for n in range(999, -1, -1) if n != 500]


@settings(deadline=None)  # the first call imports modules
@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        (5, 3),
        elements=st.floats(allow_nan=False, allow_infinity=False, width=32),
    )
)
def test_similarities_are_sorted_and_between_minus_one_and_one(vectors):
    values = [value for _, value in Embedding(range(5), vectors).most_similar(0)]
    assert all(-1 <= value <= 1 for value in values)
    assert values == sorted(values, reverse=True)


def test_similarity_of_huge_and_tiny_vectors_neither_overflows_nor_underflows():
    embedding = Embedding([0, 1, 2], [[1e200, 1e200], [1e-300, 1e-300], [1e-320, 0]])
    assert [round(value, 6) for _, value in embedding.most_similar(0)] == [1.0, round(0.5**0.5, 6)]


def test_to_frame_names_columns_by_level(embedding):
    frame = embedding.to_frame()
    assert list(frame.columns) == ["u1_1", "u2_1", "u2_2", "u2_3"]
    assert list(frame.index) == ["a", "b", "c"]
    assert frame.index.name == "node"
    np.testing.assert_array_equal(frame.loc["b"], [4, 5, 6, 7])
    tuples = Embedding([(1, 2), (3, 4)], np.eye(2)).to_frame()
    assert list(tuples.index) == [(1, 2), (3, 4)]


def test_to_frame_without_pandas_raises(embedding, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(BoostneError, match="pip install pandas"):
        embedding.to_frame()


def test_importing_the_module_loads_only_numpy():
    import subprocess
    import sys

    code = (
        "import sys; import boostne.embedding; "
        "heavy = {'scipy', 'sklearn', 'pyarrow', 'pandas', 'pooch'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_load_restores_what_save_wrote(embedding, tmp_path):
    embedding.save(tmp_path / "e.npz")
    again = Embedding.load(tmp_path / "e.npz")
    np.testing.assert_array_equal(again.vectors, embedding.vectors)
    assert again.levels.tolist() == [1, 3]


class TestTargets:
    def targets(self, nodes=("x", "y"), levels=(1, 2)):
        return Embedding(nodes, np.ones((len(nodes), sum(levels))), levels=levels)

    def test_may_have_other_nodes(self):
        found = Embedding([1, 2, 3], np.ones((3, 3)), levels=[1, 2], targets=self.targets())
        assert found.targets.nodes.tolist() == ["x", "y"]
        assert repr(found) == "Embedding(3 nodes, 3 dimensions, levels [1, 2], float64, 2 targets)"
        assert Embedding([1], [[1.0]]).targets is None

    def test_slices_keep_all_of_them(self):
        found = Embedding([1, 2, 3], np.ones((3, 3)), levels=[1, 2], targets=self.targets())[:1]
        assert found.targets.nodes.tolist() == ["x", "y"]

    def test_up_to_cuts_them_too(self):
        found = Embedding([1], np.ones((1, 3)), levels=[1, 2], targets=self.targets()).up_to(1)
        assert found.targets.vectors.shape == (2, 1)

    @pytest.mark.parametrize(
        ("targets", "message"),
        [
            (np.ones((2, 3)), "targets must be an Embedding, got ndarray"),
            (Embedding(["x"], np.ones((1, 3))), r"targets must have the levels of the sources, \[1, 2\], got \[3\]"),
            (
                Embedding(["x"], [[1.0]], targets=Embedding(["y"], [[1.0]])),
                "targets must be an Embedding without targets of its own",
            ),
        ],
    )
    def test_what_they_must_be(self, targets, message):
        with pytest.raises(ParameterError, match=message):
            Embedding([1], np.ones((1, 3)), levels=[1, 2], targets=targets)
