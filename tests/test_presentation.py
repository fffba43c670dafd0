"""How objects present themselves: repr, HTML for notebooks, arrays, data frames and tensors."""

import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from boostne import (
    BoostNE,
    Embedding,
    Graph,
    as_labels,
    compare,
    evaluate,
    evaluate_clusters,
    evaluate_links,
    load_dataset,
    tune,
)
from boostne.errors import ParameterError, UnknownNodeError
from boostne.evaluation import evaluate_nested
from boostne.html import element, sparkline

TAGS = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "small"}
HOSTILE = "<script>alert('x')</script>&\""


@pytest.fixture(scope="module")
def objects():
    data = load_dataset("karate")
    rng = np.random.default_rng(0)
    one, two = ((data.graph.nodes, rng.random((34, 4))) for _ in range(2))
    results = {name: evaluate(vectors, data.labels, train=[20, 50, 80], repeats=3) for name, vectors in
               {HOSTILE: one, "two": two}.items()}  # fmt: skip
    model = BoostNE(4, levels=2)
    hostile = Graph.from_edges([HOSTILE, "a"], ["a", "b"])
    return {
        "Graph": hostile,
        "Labels": as_labels({HOSTILE: [HOSTILE, "y"], "b": "y"}),
        "Embedding": Embedding([HOSTILE, "b"], np.eye(2), [1, 1]),
        "Evaluation": results["two"],
        "ClusterEvaluation": evaluate_clusters(one, data.labels, repeats=2),
        "LinkEvaluation": evaluate_links(model, data.graph, repeats=2),
        "NestedEvaluation": evaluate_nested({HOSTILE: one}, data.labels, train=50, repeats=2),
        "Comparison": compare(results),
        "Estimate": model.estimate(data.graph),
        "TuningResult": tune(data.graph, estimator=model, budget=2),
    }


NAMES = ("Graph", "Labels", "Embedding", "Evaluation", "ClusterEvaluation", "LinkEvaluation", "NestedEvaluation",
         "Comparison", "Estimate", "TuningResult")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_repr_is_one_short_line(objects, name):
    text = repr(objects[name])
    assert text.startswith(f"{name}(")
    assert text.endswith(")")
    assert len(text) < 140
    assert "array" not in text
    assert "\n" not in text


@pytest.mark.parametrize("name", NAMES)
def test_html_is_well_formed_and_escaped(objects, name):
    html = objects[name]._repr_html_()
    assert len(html) < 10_000
    assert "<script" not in html
    tree = ET.fromstring(html)
    assert tree.find("strong").text == name
    assert tree.find("table") is not None
    assert {node.tag for node in tree.iter()} <= TAGS
    assert "NaN" not in html
    assert "nan" not in html


def test_reprs_name_the_main_figures(objects):
    assert repr(objects["Graph"]) == "Graph(3 nodes, 2 edges, undirected, unweighted)"
    assert repr(objects["Evaluation"]).endswith(" for 20 % … 80 %; 3 repeats)")
    assert repr(objects["LinkEvaluation"]).endswith(" for dot … hadamard; 2 repeats)")
    scores = objects["ClusterEvaluation"]
    assert repr(scores) == f"ClusterEvaluation(NMI {scores.mean('nmi'):.4f}, ARI {scores.mean('ari'):.4f}; 2 repeats)"
    assert repr(objects["Comparison"]).startswith("Comparison(2 embeddings, ")
    assert HOSTILE not in objects["Comparison"]._repr_html_()
    result = objects["TuningResult"]
    assert f"{result.best.score:.4f}" in repr(result)


@pytest.mark.parametrize(
    "thing",
    [
        Graph.from_edges([], []),
        Embedding([], np.zeros((0, 2))),
        as_labels({}),
        as_labels({0: []}),
        Embedding([0], [[0.0]]),
    ],
    ids=repr,
)
def test_empty_objects_have_html_too(thing):
    ET.fromstring(thing._repr_html_())


def test_sparkline_has_one_bar_per_value():
    bars = list(ET.fromstring(sparkline([1, 4, 2], "t")).iter("rect"))
    assert [float(bar.get("height")) for bar in bars] == [6, 24, 12]
    bars = list(ET.fromstring(sparkline([3, 6, 4.5], "t", from_zero=False)).iter("rect"))
    assert [float(bar.get("height")) for bar in bars] == [6, 24, 15]
    bars = list(ET.fromstring(sparkline([3, 3], "t", from_zero=False)).iter("rect"))
    assert [float(bar.get("height")) for bar in bars] == [24, 24]
    assert sparkline([], HOSTILE) == sparkline([1], HOSTILE) == ""
    assert HOSTILE not in sparkline([1, 2], HOSTILE)
    assert element("b", HOSTILE) == "<b>&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;&quot;</b>"


@pytest.fixture
def embedding():
    return Embedding(["a", "b", "c"], np.arange(6, dtype=np.float32).reshape(3, 2), levels=[1, 1])


def test_embedding_is_an_array_of_its_vectors(embedding):
    assert np.asarray(embedding).base is embedding.vectors or np.shares_memory(np.asarray(embedding), embedding.vectors)
    assert np.asarray(embedding, dtype=np.float64).dtype == np.float64
    copied = np.array(embedding)
    copied[0] = 7
    assert embedding.vectors[0, 0] == 0
    np.testing.assert_array_equal(embedding @ np.ones(2), [1, 5, 9])
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert np.shares_memory(np.asarray(embedding, copy=False), embedding.vectors)
        with pytest.raises(ValueError, match="needs a copy"):
            np.asarray(embedding, dtype=np.float64, copy=False)


def test_data_frames_of_an_embedding_have_its_numbers(embedding):
    import pandas as pd

    np.testing.assert_array_equal(pd.DataFrame(embedding).to_numpy(), embedding.vectors)


def test_several_nodes_and_slices(embedding):
    np.testing.assert_array_equal(embedding[["c", "a"]], [[4, 5], [0, 1]])
    np.testing.assert_array_equal(embedding[np.array(["b"])], [[2, 3]])
    assert embedding[[]].shape == (0, 2)
    part = embedding[1:]
    assert isinstance(part, Embedding)
    assert (part.nodes.tolist(), part.levels.tolist()) == (["b", "c"], [1, 1])
    np.testing.assert_array_equal(part.vectors, [[2, 3], [4, 5]])
    assert embedding[::-1].nodes.tolist() == ["c", "b", "a"]
    with pytest.raises(UnknownNodeError, match="node 'z'"):
        embedding[["a", "z"]]
    with pytest.raises(ParameterError, match=r"embedding.nodes\[mask\]"):
        embedding[embedding.nodes == "a"]


def test_to_torch_copies_without_a_warning(embedding):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensor = embedding.to_torch()
    tensor[0, 0] = 9
    assert embedding.vectors[0, 0] == 0
    assert tuple(tensor.shape) == (3, 2)


def test_to_torch_without_torch_raises(embedding, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(Exception, match="pip install torch"):
        embedding.to_torch()
