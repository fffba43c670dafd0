"""Conversion to Labels, and alignment with other nodes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from boostne.errors import GraphError
from boostne.labels import Labels, as_labels


def as_dict(labels):
    return {node: labels[node] for node in labels.nodes.tolist()}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({"b": "red", "a": "blue"}, {"b": ("red",), "a": ("blue",)}),
        ({1: ["x", "y"], 2: {"y"}, 3: (), 4: None}, {1: ("x", "y"), 2: ("y",), 3: (), 4: ()}),
        ({"b": np.array([3, 1])}, {"b": (1, 3)}),
        ((["b", "a"], [5, 7]), {"b": (5,), "a": (7,)}),
        ((["b", "a"], np.array(["x", "y"])), {"b": ("x",), "a": ("y",)}),
        ((np.array([9, 8]), np.array([[0, 1], [1, 1]])), {9: (1,), 8: (0, 1)}),
        ([2, 0, 2], {0: (2,), 1: (0,), 2: (2,)}),
        (["x", None, float("nan")], {0: ("x",), 1: (), 2: ()}),
        (np.array([2, 0]), {0: (2,), 1: (0,)}),
        ([["x"], [], ["x", "y"]], {0: ("x",), 1: (), 2: ("x", "y")}),
        (np.array([[1, 0], [0, 0]]), {0: (0,), 1: ()}),
        (sparse.csc_matrix(np.array([[True, False], [True, True]])), {0: (0,), 1: (0, 1)}),
        (pd.Series(["x", None], index=["n1", "n2"]), {"n1": ("x",), "n2": ()}),
        (["x", 3], {0: ("x",), 1: (3,)}),
    ],
)
def test_as_labels_accepts_every_documented_form(obj, expected):
    assert as_dict(as_labels(obj)) == expected


def test_nodes_keep_their_order_and_classes_are_sorted():
    labels = as_labels({"b": 10, "c": 9, "a": 10})
    assert labels.nodes.tolist() == ["b", "c", "a"]
    assert labels.classes.tolist() == [9, 10]
    np.testing.assert_array_equal(labels.matrix.toarray(), [[False, True], [True, False], [False, True]])
    assert (labels.n_nodes, labels.n_labels, labels.multilabel) == (3, 3, False)


def test_repeated_labels_of_a_node_count_once():
    labels = as_labels({1: ["x", "x"]})
    assert (labels.n_labels, labels.multilabel) == (1, False)
    assert labels.matrix.dtype == bool


def test_as_labels_returns_labels_unchanged():
    labels = as_labels([1, 2])
    assert as_labels(labels) is labels


def test_labels_are_copied_and_read_only():
    source = np.array([[1, 0], [0, 1]])
    labels = as_labels(source)
    source[:] = 1
    assert labels[0] == (0,)
    with pytest.raises(ValueError, match="read-only"):
        labels.matrix.data[0] = False
    with pytest.raises(AttributeError):
        labels.nodes = []


def test_unknown_node_raises():
    with pytest.raises(KeyError, match="'z'"):
        as_labels({"a": 1})["z"]


@pytest.mark.parametrize(
    ("nodes", "classes", "matrix", "message"),
    [
        ([1, 2], ["x"], np.ones((2, 2)), r"shape \(2, 2\), but there are 2 nodes and 1 classes"),
        ([1, 1], ["x"], np.ones((2, 1)), "the node 1 occurs more than once"),
        ([1], ["x", "x"], np.ones((1, 2)), "the class 'x' occurs more than once"),
        ([1], ["x", "y"], np.array([[0, np.nan]]), "contains NaN in row 0, column 1"),
        ([1], ["x"], np.array([["yes"]]), "must contain real numbers"),
    ],
)
def test_invalid_indicator_matrices_raise(nodes, classes, matrix, message):
    with pytest.raises(GraphError, match=message):
        Labels(nodes, classes, matrix)


def test_unsupported_input_raises():
    with pytest.raises(GraphError, match="same length, got 2 and 3"):
        as_labels(([1, 2], ["x", "y", "z"]))
    for thing in (3, "labels.txt", pd.DataFrame({"node": [1], "label": [2]})):
        with pytest.raises(TypeError, match=r"cannot convert \w+ to labels; accepted: Labels; a dict"):
            as_labels(thing)


def test_align_reorders_rows_and_counts_labeled_nodes_left_out():
    labels = as_labels({"a": "x", "b": ["x", "y"], "c": "y", "d": None})
    indicator, n_left_out = labels.align(["d", "b", "new", "a"])
    expected = [[False, False], [True, True], [False, False], [True, False]]
    np.testing.assert_array_equal(indicator.toarray(), expected)
    assert indicator.dtype == bool
    assert n_left_out == 1  # c; d has no labels
    indicator, n_left_out = labels.align([1, 2])
    assert (indicator.nnz, n_left_out) == (0, 3)


@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 20), st.sets(st.sampled_from("xyz"))), st.lists(st.integers(0, 30), unique=True))
def test_align_agrees_with_looking_up_each_node(mapping, nodes):
    labels = as_labels(mapping)
    indicator, n_left_out = labels.align(nodes)
    dense = indicator.toarray()
    for row, node in enumerate(nodes):
        assert set(labels.classes[dense[row]].tolist()) == mapping.get(node, set())
    assert n_left_out == sum(bool(labels_of_node) for node, labels_of_node in mapping.items() if node not in nodes)
