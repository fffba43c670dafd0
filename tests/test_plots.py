"""Plots and exports of embeddings, models and results."""

import logging
import sys

import numpy as np
import pytest

from boostne import (
    BoostNE,
    Embedding,
    as_labels,
    compare,
    evaluate,
    evaluate_clusters,
    evaluate_links,
    load_dataset,
    tune,
    write_atlas,
    write_projector,
)
from boostne.errors import BoostneError, ParameterError
from boostne.visualization import plots
from boostne.visualization.plots import natural_key, plot_levels

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def embedding():
    rng = np.random.default_rng(0)
    return Embedding(range(40), rng.normal(size=(40, 6)), levels=[2, 4])


@pytest.fixture(scope="module")
def karate():
    data = load_dataset("karate")
    return data, BoostNE(4, levels=2).fit(data.graph)


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def n_points(axes):
    return [len(collection.get_offsets()) for collection in axes.collections]


def subtitle(axes):
    return axes.texts[-1].get_text()


def test_map_without_labels_has_one_point_per_node_and_no_legend(embedding, axes):
    assert embedding.plot(ax=axes) is axes
    assert n_points(axes) == [40]
    assert axes.get_legend() is None
    assert subtitle(axes) == "40 nodes, all levels, positions by t-SNE"


def test_map_without_axes_is_a_new_figure(embedding):
    from matplotlib import pyplot

    axes = embedding.plot()
    assert pyplot.fignum_exists(axes.figure.number)
    pyplot.close(axes.figure)


def test_classes_are_in_natural_order_and_drawn_by_their_nodes(embedding, axes):
    labels = {i: f"c{10 if i < 5 else 9 if i < 15 else 1}" for i in range(30)}
    embedding.plot(labels, ax=axes)
    assert legend(axes) == ["c1", "c9", "c10", "other or none"]
    assert n_points(axes) == [10, 15, 10, 5]


def test_map_of_a_level_has_its_positions(embedding, axes):
    embedding.plot(level=1, ax=axes)  # two columns are drawn as they are
    np.testing.assert_allclose(axes.collections[0].get_offsets(), embedding.level(1))
    assert "level 1" in subtitle(axes)
    with pytest.raises(ParameterError, match="level must be between 1 and 2, got 3"):
        embedding.plot(level=3, ax=axes)
    with pytest.raises(ParameterError, match="level must be between 1 and 1, got 2"):
        Embedding(range(3), np.eye(3)).plot(level=2, ax=axes)


def test_a_node_with_several_labels_has_the_most_frequent_one(embedding, axes):
    embedding.plot({0: ["rare", "common"], 1: "common", 2: "rare", 3: ["common"]}, ax=axes)
    assert legend(axes)[:2] == ["common", "rare"]
    assert n_points(axes)[1:] == [3, 1]


def test_labels_of_unknown_nodes_are_counted_in_a_note(embedding, axes, caplog):
    with caplog.at_level(logging.INFO, "boostne"):
        embedding.plot({0: "a", 1: "b", 77: "a", 78: "b"}, ax=axes)
    assert caplog.messages == ["2 labeled nodes are not in the embedding and are ignored"]
    with pytest.raises(ParameterError, match="none of the labeled nodes is in the embedding"):
        embedding.plot({"0": "a"}, ax=axes)


def test_rare_classes_are_gray_and_names_are_harmless(embedding, axes):
    names = ["_hidden", "$math^$", "x" * 60, "two\nlines", *(f"c{i}" for i in range(20))]
    embedding.plot({i: names[i] if i < len(names) else names[i % 4] for i in range(40)}, ax=axes)
    shown = legend(axes)
    assert len(shown) == 13
    assert shown[-1] == "other or none"
    assert "two lines" in shown
    assert f"{'x' * 23}…" in shown
    assert r"\$math^\$" in shown
    axes.figure.canvas.draw()


def test_large_embeddings_are_sampled(axes, caplog, monkeypatch):
    monkeypatch.setattr(plots, "MAX_NODES", 50)
    with caplog.at_level(logging.INFO, "boostne"):
        Embedding(range(200), np.random.default_rng(0).random((200, 2))).plot(ax=axes)
    assert caplog.messages == ["the map shows a random sample of 50 of the 200 nodes"]
    assert n_points(axes) == [50]
    assert subtitle(axes) == "50 of 200 nodes, positions by t-SNE"


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_tiny_embeddings_can_be_drawn(axes, n):
    Embedding(range(n), np.eye(4)[:n]).plot({0: "a"} if n else None, ax=axes)
    axes.figure.canvas.draw()


def test_points_get_smaller_with_their_number():
    areas = [plots._point_area(n) for n in (1, 100, 2000, 5000)]
    assert areas == sorted(areas, reverse=True)
    assert areas[0] <= 60
    assert areas[-1] >= 4


def test_natural_order():
    names = ["10", "9", "a", "a10", "a9", "", "B"]
    assert sorted(names, key=natural_key) == ["", "9", "10", "B", "a", "a9", "a10"]


def test_levels_show_the_share_of_the_residual(karate, axes):
    _, model = karate
    assert model.plot_levels(ax=axes) is axes
    heights = [bar.get_height() for bar in axes.patches]
    np.testing.assert_allclose(heights, model.residual_norms_ / model.residual_norms_[0])
    assert subtitle(axes) == f"2 levels leave {heights[-1]:.0%} of the norm of X unexplained"
    assert "Each level factorizes" in axes.get_xlabel()
    plot_levels(np.zeros(3), ax=axes)


def test_levels_of_an_unfitted_model_raise():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        BoostNE().plot_levels()


def test_results_can_be_drawn(karate):
    from matplotlib.figure import Figure

    data, model = karate
    other = (data.graph.nodes, np.random.default_rng(0).random((34, 4)))
    results = {
        name: evaluate(vectors, data.labels, train=[20, 50], repeats=2)
        for name, vectors in {"_a": model.embedding_, "$b": other}.items()
    }
    drawn = {
        "Node classification": results["_a"],
        "Clustering": evaluate_clusters(other, data.labels, repeats=2),
        "Link prediction": evaluate_links(BoostNE(4, levels=2), data.graph, repeats=2),
        "Difference of each pair": compare(results),
        "Scores of the trials": tune(data.graph, data.labels, estimator=BoostNE(4, levels=2), budget=2),
    }
    for title, result in drawn.items():
        axes = Figure().subplots()
        assert result.plot(ax=axes) is axes
        assert axes.get_title(loc="left") == title
        axes.figure.canvas.draw()
    scores = results["_a"].plot(ax=Figure().subplots())
    np.testing.assert_allclose(scores.containers[0].lines[0].get_ydata(), results["_a"].mean("micro"))
    assert [tick.get_text() for tick in scores.get_xticklabels()] == ["20 %", "50 %"]


def test_without_matplotlib_the_error_names_the_extra(embedding, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BoostneError, match=r'pip install "boostne\[viz\]"'):
        embedding.plot()


def test_projector_files_have_one_line_per_node(embedding, tmp_path):
    write_projector(embedding, tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert sorted(path.name for path in folder.iterdir()) == ["metadata.tsv", "projector_config.pbtxt", "vectors.tsv"]
    np.testing.assert_allclose(np.loadtxt(folder / "vectors.tsv"), embedding.vectors, rtol=1e-5)
    assert (folder / "metadata.tsv").read_text().splitlines() == [str(i) for i in range(40)]
    assert 'metadata_path: "metadata.tsv"' in (folder / "projector_config.pbtxt").read_text()


def test_projector_metadata_has_labels_without_tabs(tmp_path, caplog):
    embedding = Embedding(["a\tb", "c\nd", "é"], np.eye(3))
    labels = as_labels({"a\tb": ["x\ty", "z"], "é": "z", "other": "z"})
    with caplog.at_level(logging.INFO, "boostne"):
        write_projector(embedding, tmp_path, labels)
    assert (tmp_path / "metadata.tsv").read_text(encoding="utf-8").split("\n") == [
        "id\tlabel", "a b\tx y, z", "c d\t", "é\tz", ""
    ]  # fmt: skip
    assert caplog.messages == ["1 labeled nodes are not in the embedding and are ignored"]


def test_atlas_table_has_ids_positions_labels_and_vectors(embedding, tmp_path):
    from pyarrow import parquet

    path, positions = tmp_path / "atlas.parquet", np.arange(80).reshape(40, 2)
    write_atlas(embedding, path, {0: ["a", "b"], 39: "b"}, positions=positions)
    table = parquet.read_table(path)
    assert table.column_names == ["id", "x", "y", "label", "vector"]
    assert table["id"].to_pylist() == list(range(40))
    assert table["x"].to_pylist() == positions[:, 0].tolist()
    assert table["label"].to_pylist() == ["a, b", *[""] * 38, "b"]
    np.testing.assert_array_equal(table["vector"].to_pylist(), embedding.vectors)


def test_atlas_positions_are_computed_and_large_embeddings_are_sampled(tmp_path, monkeypatch):
    from pyarrow import parquet

    monkeypatch.setattr(plots, "MAX_NODES", 50)
    embedding = Embedding([(i, "x") for i in range(60)], np.random.default_rng(0).random((60, 5)))
    write_atlas(embedding, tmp_path / "atlas.parquet")
    table = parquet.read_table(tmp_path / "atlas.parquet")
    assert table.column_names == ["id", "x", "y", "vector"]
    assert table.num_rows == 50
    assert np.isfinite(table["x"].to_numpy()).all()
    assert table["id"][0].as_py() == "(0, 'x')"


@pytest.mark.parametrize(
    ("name", "positions", "message"),
    [
        ("a.csv", None, r"suffix must be \.parquet, got '\.csv'"),
        ("a.parquet", np.zeros((39, 2)), r"positions must be 40 finite rows of x and y, got shape \(39, 2\)"),
        ("a.parquet", np.full((40, 2), np.nan), "positions must be 40 finite rows"),
    ],
)
def test_invalid_atlas_exports_raise(embedding, tmp_path, name, positions, message):
    with pytest.raises(ParameterError, match=message):
        write_atlas(embedding, tmp_path / name, positions=positions)
    assert list(tmp_path.iterdir()) == []
