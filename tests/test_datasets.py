"""Built-in and published data sets."""

import shutil

import numpy as np
import pytest

from boostne import datasets
from boostne.datasets import list_datasets, load_dataset
from boostne.errors import BoostneError, FileFormatError, ParameterError

# The paper's Table II, and the number of connected components that is left.
TABLE = [
    ("cora", 2708, 5278, 7, 78),
    ("wiki", 2363, 11596, 17, 3),
    ("ppi", 3860, 37845, 50, 5),
    ("blogcatalog", 10312, 333983, 39, 1),
]


def assert_clean(dataset):
    graph = dataset.graph
    assert not graph.directed
    assert not graph.weighted
    assert graph.n_self_loops == 0
    assert len(graph.isolated) == 0
    assert dataset.labels.nodes.tolist() == graph.nodes.tolist()
    assert (dataset.labels.matrix.sum(axis=1) > 0).all()


@pytest.mark.parametrize(("name", "nodes", "edges", "classes", "components"), TABLE)
def test_paper_data_sets_match_table_two(paper_data, name, nodes, edges, classes, components):
    dataset = load_dataset(name)
    assert dataset.name == name
    assert dataset.features is None
    assert (dataset.graph.n_nodes, dataset.graph.n_edges) == (nodes, edges)
    assert dataset.labels.matrix.shape == (nodes, classes)
    assert dataset.graph.n_components == components
    assert_clean(dataset)


@pytest.mark.parametrize(("name", "labels_per_node"), [("cora", 1), ("wiki", 1)])
def test_cora_and_wiki_have_one_label_per_node(paper_data, name, labels_per_node):
    assert set(load_dataset(name).labels.matrix.sum(axis=1).tolist()) == {labels_per_node}


def test_digits_has_pixels_as_features_and_digits_as_labels():
    digits = load_dataset("digits")
    assert (digits.graph.n_nodes, digits.graph.n_edges) == (1797, 12339)
    assert digits.features.shape == (1797, 64)
    assert digits.features.min() == 0
    assert digits.features.max() == 1
    assert sorted(digits.labels.classes.tolist()) == list(range(10))
    assert digits.graph.degrees.min() >= 10  # the graph keeps the ten nearest neighbors of every node
    assert_clean(digits)


def test_digits_connects_each_image_to_its_nearest_neighbors():
    digits = load_dataset("digits")
    linked = digits.graph.adjacency[[0]].indices
    distances = np.linalg.norm(digits.features - digits.features[0], axis=1)
    assert set(np.argsort(distances)[1:11]) <= set(linked.tolist())


def test_karate_equals_the_graph_in_networkx():
    import networkx

    theirs = networkx.karate_club_graph()
    ours = load_dataset("karate")
    expected = networkx.to_scipy_sparse_array(theirs, weight=None).toarray()
    np.testing.assert_array_equal(ours.graph.adjacency.toarray(), expected)
    clubs = ours.labels.classes[ours.labels.matrix.toarray().argmax(axis=1)]
    assert clubs.tolist() == [club for _, club in theirs.nodes(data="club")]
    assert_clean(ours)


def test_an_unknown_name_raises_with_suggestions():
    with pytest.raises(ParameterError, match="unknown data set 'Blogcatalogue'; did you mean 'blogcatalog'"):
        load_dataset("Blogcatalogue")
    with pytest.raises(ParameterError, match="available: digits, karate, cora, wiki, ppi, blogcatalog"):
        load_dataset("zzz")


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    def retrieve(*args, **kwargs):
        raise ConnectionError("no route to host")

    monkeypatch.setattr("pooch.retrieve", retrieve)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache")
    monkeypatch.delenv("BOOSTNE_DATA", raising=False)


@pytest.mark.usefixtures("no_network")
def test_a_failed_download_raises_with_instructions():
    with pytest.raises(BoostneError) as caught:
        load_dataset("cora")
    message = str(caught.value)
    assert "https://raw.githubusercontent.com/thunlp/OpenNE/7b86f4ca25fca3f441f593335fa57dc7dffb3b29/" in message
    assert "data/cora/cora_edgelist.txt" in message
    assert "bdab43591bf44e2870280e36bd0f215f04cfcf019c08347d90da4a7a4f5c5775" in message
    assert "no route to host" in message
    assert "BOOSTNE_DATA" in message


@pytest.mark.usefixtures("no_network")
def test_list_datasets_tells_which_are_present(tmp_path, monkeypatch):
    rows = {row.name: row for row in list_datasets()}
    assert [row.present for row in rows.values()] == [True, True, False, False, False, False]
    assert rows["ppi"][1:4] == (3860, 37845, 50)
    assert "THUDM/ProNE" in rows["ppi"].source
    (tmp_path / "blogcatalog").mkdir()
    (tmp_path / "blogcatalog" / "blogcatalog.mat").touch()
    monkeypatch.setenv("BOOSTNE_DATA", str(tmp_path))
    assert [row.name for row in list_datasets() if row.present] == ["digits", "karate", "blogcatalog"]


def test_dataset_names_are_those_of_list_datasets():
    assert [row.name for row in list_datasets()] == list(datasets.DATASET_NAMES)


@pytest.mark.usefixtures("no_network")
def test_a_wrong_checksum_raises(tmp_path, monkeypatch):
    (tmp_path / "cora").mkdir()
    file = tmp_path / "cora" / "cora_edgelist.txt"
    file.write_text("0 1\n")
    monkeypatch.setenv("BOOSTNE_DATA", str(tmp_path))
    with pytest.raises(FileFormatError) as caught:
        load_dataset("cora")
    message = str(caught.value)
    assert str(file) in message
    assert "bdab43591bf44e2870280e36bd0f215f04cfcf019c08347d90da4a7a4f5c5775" in message
    assert "SHA-256 is " in message
    assert "replace it with https://" in message


def test_downloads_are_verified_and_cached(data_folder, tmp_path, monkeypatch):
    calls = []

    def retrieve(url, known_hash, fname, path):
        calls.append((url, known_hash))
        path.mkdir(parents=True, exist_ok=True)
        return shutil.copy(data_folder / "cora" / fname, path / fname)

    monkeypatch.setattr("pooch.retrieve", retrieve)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path)
    monkeypatch.delenv("BOOSTNE_DATA", raising=False)
    assert load_dataset("cora").graph.n_edges == 5278
    assert len(calls) == 2
    assert all(known_hash.startswith("sha256:") for _, known_hash in calls)
    assert load_dataset("cora").graph.n_edges == 5278
    assert len(calls) == 2


def test_unexpected_sizes_raise(monkeypatch):
    monkeypatch.setitem(datasets._DATASETS, "karate", datasets._Specification(34, 77, 2, ""))
    with pytest.raises(FileFormatError, match=r"'karate' must have .* \(34, 77, 2\), got \(34, 78, 2\)"):
        load_dataset("karate")
