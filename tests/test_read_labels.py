"""Reading label files: valid ones in all formats, malformed ones, wrong options."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat

from boostne.errors import BoostneError, FileFormatError, ParameterError
from boostne.io import read_graph, read_labels


@pytest.fixture
def write(tmp_path):
    def write(content, name="labels.txt"):
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def as_dict(labels):
    return {node: labels[node] for node in labels.nodes.tolist()}


@pytest.mark.parametrize(
    "content",
    [
        "1 7\n2 8\n2 7\n",
        "1 7\n2 8 7\n",
        "# classes\n2\t8\n1\t7\n\n2\t7\n",
        "node,label\n1,7\n2,7\n2,8\n",
        "user;group\n1;7\n2;7\n2;8\n",
        "1, 7\r\n2, 7, 8\r\n",
    ],
)
def test_lines_with_one_or_several_labels(write, content):
    labels = read_labels(write(content))
    assert as_dict(labels) == {1: (7,), 2: (7, 8)}
    assert labels.nodes.dtype == np.int64
    assert labels.classes.tolist() == [7, 8]
    assert labels.multilabel


def test_string_ids_and_labels(write):
    labels = read_labels(write('name,team\n"Smith, J",red team\nO\'Hara,blue\n', "l.csv"), header=True)
    assert as_dict(labels) == {"O'Hara": ("blue",), "Smith, J": ("red team",)}
    assert as_dict(read_labels(write("id,class\nann,x\nbob,y\n"))) == {"ann": ("x",), "bob": ("y",)}
    assert read_labels(write("ann x\nbob y\n")).n_nodes == 2
    assert read_labels(write("007 1\n7 2\n")).nodes.tolist() == ["007", "7"]


def test_nodes_without_labels_are_kept(write):
    assert as_dict(read_labels(write("1 7\n2\n3 8 9\n"))) == {1: (7,), 2: (), 3: (8, 9)}
    assert as_dict(read_labels(write("1,a\n2,\n"))) == {1: ("a",), 2: ()}


@pytest.mark.parametrize(("name", "options"), [("l.cmty", {}), ("l.txt", {"format": "communities"}), ("l.cmty.gz", {})])
def test_communities_list_nodes_by_label(write, name, options):
    labels = read_labels(write("3\t1\n# the second\n1\t20\n", name), **options)
    assert as_dict(labels) == {1: (0, 1), 3: (0,), 20: (1,)}


def test_mat_variable_by_default_and_by_name(tmp_path):
    path = tmp_path / "l.mat"
    savemat(path, {"network": np.zeros((3, 3)), "group": sparse.csc_array([[1.0, 0], [1.0, 1.0], [0, 0]])})
    assert as_dict(read_labels(path)) == {0: (0,), 1: (0, 1), 2: ()}
    savemat(path, {"y": np.array([[3.0], [1.0]]), "z": np.ones((2, 2))})
    assert as_dict(read_labels(path, variable="y")) == {0: (3,), 1: (1,)}
    with pytest.raises(
        FileFormatError, match=r"l.mat: the variable is ambiguous; the file contains 'y' \(2 × 1\), 'z' \(2 × 2\)"
    ):
        read_labels(path)
    with pytest.raises(ParameterError, match="variable='group' is not in the file; it contains 'y'"):
        read_labels(path, variable="group")


@pytest.mark.parametrize(
    ("graph", "labels"), [("1 2\n2 3\n", "3 x\n1 y\n"), ("a b\nb 3\n", "3 x\na y\n"), ("01 2\n", "2 x\n01 y\n")]
)
def test_ids_have_the_types_of_those_of_the_graph(write, graph, labels):
    nodes = read_graph(write(graph, "g.txt")).nodes
    _, n_left_out = read_labels(write(labels, "l.txt")).align(nodes)
    assert n_left_out == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "labels.txt: the file is empty"),
        ("# none\n", "labels.txt: no data, only comments"),
        ("1\n2\n", "labels.txt: no labels: each line has one column; see delimiter=, or format='communities'"),
        (b"1 \x00", "labels.txt: a binary file"),
        (b"1 a\n2 caf\xe9\n", "labels.txt, line 2: not UTF-8"),
        ("1,a\n,b\n", "labels.txt, line 2: an empty node id"),
    ],
)
def test_malformed_content_raises(write, content, message):
    with pytest.raises(FileFormatError, match=message):
        read_labels(write(content))


def test_wrong_options_raise(write, tmp_path):
    with pytest.raises(ParameterError, match="format must be one of 'lines', 'communities', 'mat', got 'csv'"):
        read_labels(write("1 2\n"), format="csv")
    with pytest.raises(ParameterError, match="variable= does not apply to format 'lines'"):
        read_labels(write("1 2\n"), variable="group")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt"):
        read_labels(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("suffix", [".txt", ".cmty", ".mat"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.one_of(st.binary(max_size=200), st.text(alphabet='ab10 \t\n\r,;#".-ée', max_size=60)))
def test_random_bytes_give_labels_or_a_boostne_error(tmp_path, suffix, data):
    path = tmp_path / f"noise{suffix}"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    try:
        labels = read_labels(path)
    except BoostneError as error:
        message = str(error)
    else:
        message = path.name
        assert labels.matrix.shape == (len(labels.nodes), len(labels.classes))
    assert path.name in message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    mapping=st.dictionaries(
        st.integers(-5, 2**62), st.sets(st.sampled_from(["red", "b", "ü"]), min_size=1), min_size=1
    ),
    one_line=st.booleans(),
)
def test_round_trip_through_text(tmp_path, mapping, one_line):
    if one_line:
        lines = [" ".join([str(node), *labels]) for node, labels in mapping.items()]
    else:
        lines = [f"{node} {label}" for node, labels in mapping.items() for label in labels]
    path = tmp_path / "written.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert as_dict(read_labels(path, multilabel=True)) == {
        node: tuple(sorted(labels)) for node, labels in mapping.items()
    }


def test_folders_are_not_searched_for_parquet_files(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "x.parquet").touch()
    with pytest.raises((IsADirectoryError, PermissionError)):  # the latter on Windows
        read_labels(tmp_path)
