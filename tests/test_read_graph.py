"""Reading graph files: valid ones in all formats, malformed ones, wrong options."""

import gzip
import io
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import mmwrite, savemat
from tests.graphs import edges

from boostne.errors import BoostneError, FileFormatError, GraphError, ParameterError
from boostne.graph import Graph
from boostne.io import edge_tables, edgelist, label_lines, read_graph, read_labels

MATRIX = sparse.csr_array(np.array([[0, 2.0, 1.0], [2.0, 0, 0], [1.0, 0, 0]]))
SUFFIXES = [".txt", ".csv", ".adjlist", ".mtx", ".mat", ".npz", ".parquet", ".graphml", ".gml", ".txt.gz"]


@pytest.fixture
def write(tmp_path):
    def write(content, name="graph.txt"):
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


class TestEdgeLists:
    @pytest.mark.parametrize(
        "content",
        [
            "1 2\n2 10\n",
            "1 2\n2 10",
            "1\t2\n2\t10\n",
            "1,2\n2,10\n",
            "1;2\n2;10\n",
            "1, 2\n2 , 10\n",
            "  1   2 \n2 \t 10\t\n",
            "1 2\r\n2 10\r\n",
            "1 2\r2 10\r",
            "\ufeff1 2\n2 10\n",
            "# a comment\n% another\n\n1 2\n\n  # one more\n   \n2 10\n\n",
            "source target\n1 2\n2 10\n",
            "FromNodeId\tToNodeId\n1\t2\n2\t10\n",
            "user,friend\n1,2\n2,10\n",
            '"1","2"\n"2","10"\n',
            "# only header is commented\nu v\n1 2\n2 10\n",
            "2 10\n1 2\n2 1\n",
        ],
    )
    def test_delimiters_headers_comments_and_line_ends(self, write, content):
        graph = read_graph(write(content))
        assert edges(graph) == {(1, 2): 1, (2, 10): 1}
        assert graph.nodes.dtype == np.int64

    @pytest.mark.parametrize(
        "content",
        [
            "ann bob 0.5\nbob eve 2\n",
            "ann,bob,0.5\nbob,eve,2.0\n",
            "source,target,weight\nann,bob,.5\nbob,eve,2e0\n",
            "weight;from;to\n0.5;ann;bob\n2;bob;eve\n",
            "src\tdst\tw\nann\tbob\t0.5\nbob\teve\t2\n",
        ],
    )
    def test_string_ids_and_weights(self, write, content):
        assert edges(read_graph(write(content))) == {("ann", "bob"): 0.5, ("bob", "eve"): 2}

    def test_ids_keep_their_exact_text(self, write):
        assert read_graph(write("007 7\n")).nodes.tolist() == ["007", "7"]
        assert read_graph(write("1 b\n2 b\n")).nodes.tolist() == ["1", "2", "b"]
        assert read_graph(write("New York\tLos Ángeles\n")).nodes.tolist() == ["Los Ángeles", "New York"]
        assert read_graph(write('"Smith, J","O""Hara, K"\n', "a.csv")).nodes.tolist() == ['O"Hara, K', "Smith, J"]
        assert read_graph(write("nan NA\nnull None\n"), header=False).nodes.tolist() == ["NA", "None", "nan", "null"]
        big = 2**53 + 1
        assert read_graph(write(f"{big} {big + 1}\n-1 {big}\n")).nodes.tolist() == [-1, big, big + 1]
        assert read_graph(write(f"{2**64} 1\n")).nodes.tolist() == ["1", str(2**64)]

    def test_a_first_line_of_ids_is_not_a_header(self, write):
        assert edges(read_graph(write("ann bob\nbob eve\n"))) == {("ann", "bob"): 1, ("bob", "eve"): 1}
        assert read_graph(write("source target\ntarget edge\n")).n_edges == 2
        assert read_graph(write("u v\nx v\n")).n_edges == 2

    def test_header_can_be_set(self, write):
        assert read_graph(write("ann bob\nbob eve\n"), header=True).nodes.tolist() == ["bob", "eve"]
        assert read_graph(write("user friend\n1 2\n"), header=False).n_edges == 2

    def test_columns_by_name_and_by_position(self, write):
        path = write("when,payer,payee,amount\n1,ann,bob,5\n2,bob,eve,7\n", "payments.csv")
        expected = {("ann", "bob"): 5, ("bob", "eve"): 7}
        assert edges(read_graph(path, source="payer", target="payee", weight="amount")) == expected
        assert edges(read_graph(path, source=1, target=2, weight=3)) == expected
        konect = write("% sym\n1 2 1 1000\n2 3 4 1001 \n", "out.konect")
        assert edges(read_graph(konect, weight=2)) == {(1, 2): 1, (2, 3): 4}
        assert edges(read_graph(konect, weight="2")) == {(1, 2): 1, (2, 3): 4}
        assert not read_graph(konect, weight=False).weighted

    def test_a_column_without_a_name(self, write):
        path = write("from,to,\nann,bob,5\nbob,eve,7\n", "unnamed.csv")
        expected = {("ann", "bob"): 5, ("bob", "eve"): 7}
        assert edges(read_graph(path, header=True, weight=2)) == expected
        wrong = write("from;to;\f\nann;bob;eve\n", "words.csv")
        with pytest.raises(FileFormatError, match="the weight 'eve' is not a number"):
            read_graph(wrong, header=True, delimiter=";", weight=2)

    def test_direction_duplicates_and_self_loops(self, write):
        path = write("1 2 1\n2 1 5\n3 3 1\n")
        assert edges(read_graph(path)) == {(1, 2): 5}
        assert edges(read_graph(path, duplicates="sum", self_loops="keep")) == {(1, 2): 6, (3, 3): 1}
        directed = read_graph(path, directed=True)
        assert edges(directed) == {(1, 2): 1, (2, 1): 5}
        assert directed.isolated.tolist() == [2]

    def test_comment_characters_can_be_set(self, write):
        path = write("#tag1 #tag2\n")
        with pytest.raises(FileFormatError, match=r"no data, only comments; .*comments="):
            read_graph(path)
        assert read_graph(path, comments="").nodes.tolist() == ["#tag1", "#tag2"]
        assert read_graph(write("// x\n1 2\n"), comments="/").n_edges == 1

    def test_delimiter_can_be_set(self, write):
        assert read_graph(write("a|b\nb|c\n"), delimiter="|").nodes.tolist() == ["a", "b", "c"]
        assert read_graph(write("a\tb\nb  c\n"), delimiter=" ").nodes.tolist() == ["a", "b", "c"]
        with pytest.raises(ParameterError, match="delimiter must be one character such as"):
            read_graph(write("a||b\n"), delimiter="||")

    def test_gzip_is_decompressed(self, write):
        assert edges(read_graph(write("a,b\nb,c\n", "g.csv.gz"))) == {("a", "b"): 1, ("b", "c"): 1}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "graph.txt: the file is empty"),
            (" \n\n", "graph.txt: the file is empty"),
            ("# nothing\n% here\n", "graph.txt: no data, only comments"),
            ("source,target\n", "a header without edges|one column"),
            ("source target weight\n# none yet\n", "a header without edges"),
            (b"\x00\x01\x02", "binary file .zero byte at offset 0. instead of text; .*format="),
            ("1 2\n3 4\n".encode("utf-16-le"), "UTF-16 text without a byte order mark"),
            ("1 2\n".encode("utf-32"), "UTF-32 text: save the file as UTF-8"),
            (b"caf\xe9 bar\n", "line 1: not UTF-8 text"),
            (b"a b\nc d\ncaf\xe9 bar\n", "line 3: not UTF-8 text .*save the file as UTF-8"),
            ("1\n2\n", "line 1: one column .'1'., but an edge needs two: the delimiter is a space; .*delimiter="),
            ("# c\n1 2\n\n3\n4 5\n", "line 4: one column .'3'., but an edge needs two"),
            ("1,2\n3 4\n", "line 1: one column|line 2: one column"),
            ("1 2\n1 3 4\n", r"line 2: 3 columns, but the lines above have 2 \('1 \| 3 \| 4'\).*adjlist"),
            ("1 2 0.5\n1 3\n", "line 2: 2 columns, but the lines above have 3"),
            ("1 2 0.5\n# c\n1 3 much\n", "line 3: the weight 'much' is not a number.*weight=False"),
            ("1,2,\n", "line 1: the weight '' is not a number"),
            ("1 2 {'weight': 3}\n", "the weight column is ambiguous"),
            ("1 2 {}\n", "line 1: the weight '{}' is not a number"),
            ("1 2 1\n\n1 3 -0.5\n", r"line 3: a negative weight \(-0.5\): weights measure similarity"),
            ("a b w\n1 2 1\n1 3 nan\n", r"line 3: a missing weight \(NaN\)"),
            ("1 2 1\n1 3 inf\n", r"line 2: an infinite weight \(inf\)"),
            ("1,2\n3,\n", "line 2: an empty node id .'3 | '."),
            (",\n", "line 1: an empty node id"),
            ("a,b,trips\nx,y,3\n", "the weight column is ambiguous.*weight='trips', or weight=False"),
            ("1 2 3 4\n", "the weight column is ambiguous.*weight='2', or weight=False"),
        ],
    )
    def test_malformed_content_raises(self, write, content, message):
        with pytest.raises(BoostneError, match=message) as caught:
            read_graph(write(content))
        assert "graph.txt" in str(caught.value)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"source": "x", "target": "target"},
                "source='x' is not a column; the columns are 'source', 'target', 'cost'",
            ),
            ({"weight": "w"}, "weight='w' is not a column"),
            ({"weight": 7}, "there is no column 7: the file has 3 columns, starting at 0"),
            ({"source": "source", "target": "target", "header": False}, "header=False: use its position"),
            ({"variable": "A"}, "variable= does not apply to format 'edgelist'"),
            ({"format": "tsv"}, "format must be one of 'edgelist', 'csv'"),
        ],
    )
    def test_wrong_options_raise(self, write, options, message):
        with pytest.raises(ParameterError, match=message):
            read_graph(write("source,target,cost\n1,2,3\n"), **options)

    def test_missing_files_and_folders_raise_os_errors(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"nowhere.txt"):
            read_graph(tmp_path / "nowhere.txt")
        with pytest.raises(OSError, match=str(tmp_path)):
            read_graph(tmp_path, format="edgelist")

    @pytest.mark.parametrize("content", [b"not gzip", gzip.compress(b"1 2\n" * 1000)[:-20]], ids=["text", "truncated"])
    def test_damaged_gzip_raises(self, tmp_path, content):
        path = tmp_path / "g.txt.gz"
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"g.txt.gz: cannot be read as edgelist"):
            read_graph(path)

    def test_the_error_names_the_malformed_line_of_a_long_file(self, write):
        lines = [f"{i} {i + 1} 1.5" for i in range(100_000)]
        lines[77_777] = "77777 77778 x"
        with pytest.raises(FileFormatError, match="line 77778: the weight 'x' is not a number"):
            read_graph(write("\n".join(lines)))


class TestAdjacencyLists:
    def test_each_line_is_a_node_and_its_neighbors(self, write):
        path = write("# nx\n1 2 3\n2 3\n4\n", "g.adjlist")
        graph = read_graph(path)
        assert edges(graph) == {(1, 2): 1, (1, 3): 1, (2, 3): 1}
        assert graph.isolated.tolist() == [3]
        assert edges(read_graph(write("b,a\n"), format="adjlist", directed=True)) == {("b", "a"): 1}
        assert read_graph(write("lonely\n"), format="adjlist").n_edges == 0

    def test_an_empty_id_raises(self, write):
        with pytest.raises(FileFormatError, match="line 2: an empty node id between two delimiters"):
            read_graph(write("a,b\nb,,c\n"), format="adjlist")

    def test_reads_files_written_by_networkx(self, tmp_path):
        source = nx.karate_club_graph()
        nx.write_adjlist(source, tmp_path / "k.adjlist")
        np.testing.assert_array_equal(
            read_graph(tmp_path / "k.adjlist").adjacency.toarray(), nx.to_numpy_array(source, weight=None)
        )


class TestMatrices:
    @pytest.fixture(params=["g.mtx", "g.mat", "g.npz", "g.mtx.gz"])
    def path(self, request, write):
        buffer = io.BytesIO()
        if "mtx" in request.param:
            mmwrite(buffer, MATRIX)
        elif "mat" in request.param:
            savemat(buffer, {"network": MATRIX, "group": np.ones((3, 1))})
        else:
            sparse.save_npz(buffer, MATRIX)
        return write(buffer.getvalue(), request.param)

    def test_a_symmetric_matrix_is_undirected(self, path):
        graph = read_graph(path)
        assert not graph.directed
        assert edges(graph) == {(0, 1): 2, (0, 2): 1}

    def test_an_asymmetric_matrix_is_directed(self, write, tmp_path):
        sparse.save_npz(tmp_path / "d.npz", sparse.csr_array([[0, 1], [0, 0]]))
        assert edges(read_graph(tmp_path / "d.npz")) == {(0, 1): 1}
        with pytest.raises(GraphError, match=r"d.npz: .*to_undirected\(\)"):
            read_graph(tmp_path / "d.npz", directed=False)

    def test_matlab_variable_by_default_and_by_name(self, tmp_path):
        path = tmp_path / "v.mat"
        savemat(path, {"links": MATRIX, "group": np.ones((3, 2))})
        assert read_graph(path).n_edges == 2
        savemat(path, {"one": MATRIX, "two": 2 * MATRIX, "group": np.ones((3, 2))})
        with pytest.raises(
            FileFormatError, match=r"'one' \(3 × 3\), 'two' \(3 × 3\), 'group' \(3 × 2\): choose one with"
        ):
            read_graph(path)
        assert edges(read_graph(path, variable="two")) == {(0, 1): 4, (0, 2): 2}
        with pytest.raises(ParameterError, match=r"v.mat: variable='three' is not in the file; it contains 'one'"):
            read_graph(path, variable="three")
        with pytest.raises(GraphError, match=r"v.mat: an adjacency matrix must be square, got shape \(3, 2\)"):
            read_graph(path, variable="group")

    def test_matlab_73_files_raise(self, write):
        header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\0" * 500
        with pytest.raises(FileFormatError, match=r"MATLAB 7.3 files .HDF5..*'-v7'"):
            read_graph(write(header, "new.mat"))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 1\n", "must be square, got 2 × 3"),
            ("%%MatrixMarket matrix array real general\n0 2\n", "must be square, got 0 × 2"),
            ("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n", "cannot be read as mtx: Truncated"),
            ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 9\n", "cannot be read as mtx: .*Line 3"),
            ("1 2\n", "cannot be read as mtx: .*see format="),
        ],
    )
    def test_malformed_matrix_market_raises(self, write, content, message):
        with pytest.raises(FileFormatError, match=message):
            read_graph(write(content, "g.mtx"))

    def test_matrix_market_with_trailing_space(self, write):
        content = "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 3.5 "
        assert edges(read_graph(write(content, "g.mtx"))) == {(0, 1): 3.5}

    def test_npz_without_a_matrix_raises(self, tmp_path):
        np.savez(tmp_path / "e.npz", nodes=np.arange(3), rows=np.ones((3, 2)))
        with pytest.raises(FileFormatError, match=r"not a matrix written by scipy.*it contains 'nodes', 'rows'"):
            read_graph(tmp_path / "e.npz")
        np.save(tmp_path / "plain.npy", np.ones(3))
        with pytest.raises(FileFormatError, match="it contains a plain array"):
            read_graph(tmp_path / "plain.npy", format="npz")

    def test_npz_with_pickled_objects_raises(self, tmp_path):
        np.savez(tmp_path / "p.npz", format=np.array([{"a": 1}], dtype=object))
        with pytest.raises(FileFormatError, match=r"p.npz, array 'format': values of type object are not read"):
            read_graph(tmp_path / "p.npz")

    def test_npz_with_indices_out_of_range_raises(self, tmp_path):
        np.savez(
            tmp_path / "evil.npz",
            format=np.array(b"csc"),
            shape=np.array([2, 2]),
            data=np.ones(1),
            indices=np.array([10**6]),
            indptr=np.array([0, 1, 1]),
        )
        with pytest.raises(BoostneError, match=r"evil.npz"):
            read_graph(tmp_path / "evil.npz")


class TestTables:
    def test_parquet_columns_by_default_and_by_name(self, tmp_path):
        table = pa.table({"src": ["a", "b"], "dst": ["b", "c"], "weight": [1.5, 2.0], "note": ["x", "y"]})
        pq.write_table(table, tmp_path / "t.parquet")
        assert edges(read_graph(tmp_path / "t.parquet")) == {("a", "b"): 1.5, ("b", "c"): 2}
        assert edges(read_graph(tmp_path / "t.parquet", source="src", target="note", weight=False)) == {
            ("a", "x"): 1,
            ("b", "y"): 1,
        }
        with pytest.raises(
            ParameterError, match=r"t.parquet: source='x' is not a column; the columns are 'src', 'dst'"
        ):
            read_graph(tmp_path / "t.parquet", source="x", target="dst")

    def test_folders_of_parquet_files_are_one_table(self, tmp_path, caplog):
        folder = tmp_path / "edges.parquet"
        folder.mkdir()
        for name, ends in {"b.parquet": (["a", "b"], ["b", "c"]), "a.pq": (["c"], ["d"])}.items():
            pq.write_table(pa.table({"src": ends[0], "dst": ends[1], "weight": [2.0] * len(ends[0])}), folder / name)
        for name in ("_metadata.parquet", ".hidden.parquet", "_SUCCESS"):  # as Spark and Dask write
            (folder / name).touch()
        with caplog.at_level("INFO", "boostne.io"):
            graph = read_graph(folder)
        assert edges(graph) == {("a", "b"): 2, ("b", "c"): 2, ("c", "d"): 2}
        assert "a Parquet table, source 'src', target 'dst', weight 'weight'; 4 nodes, 3 edges" in caplog.text

    def test_parquet_files_in_folders_below_are_refused(self, tmp_path):
        table = pa.table({"src": ["a"], "dst": ["b"]})
        folder = tmp_path / "edges"
        for name in ("year=2025", "_delta_log", ".cache", "old/_temporary"):
            (folder / name).mkdir(parents=True)
            pq.write_table(table, folder / name / "part-0.parquet")
        (folder / "old" / "empty.parquet").mkdir()
        (folder / "old" / ".part-1.parquet").touch()
        pq.write_table(table, folder / "part-0.parquet")
        with pytest.raises(
            FileFormatError, match=r"edges: year=2025.part-0.parquet is in a subfolder, and partitioned tables are not"
        ):
            read_graph(folder)
        (folder / "year=2025" / "part-0.parquet").unlink()
        assert read_graph(folder).n_edges == 1

    def test_parquet_keeps_large_integers(self, tmp_path):
        big = 2**53 + 1
        pd.DataFrame({"u": [big], "v": [big + 1]}).to_parquet(tmp_path / "t.pq")
        assert read_graph(tmp_path / "t.pq").nodes.tolist() == [big, big + 1]

    def test_missing_and_float_ids_raise(self, tmp_path):
        pq.write_table(pa.table({"u": [1, None], "v": [2, 3]}), tmp_path / "t.parquet")
        with pytest.raises(GraphError, match=r"t.parquet: the node id at position 1 is missing"):
            read_graph(tmp_path / "t.parquet")
        pq.write_table(pa.table({"u": [1.5], "v": [2.0]}), tmp_path / "t.parquet")
        with pytest.raises(GraphError, match=r"t.parquet: node ids are floats"):
            read_graph(tmp_path / "t.parquet")


class TestGraphml:
    def test_graphml_keeps_direction_weights_and_isolated_nodes(self, tmp_path):
        source = nx.DiGraph()
        source.add_edge("a", "b", weight=2.5)
        source.add_node("c")
        nx.write_graphml(source, tmp_path / "g.graphml")
        graph = read_graph(tmp_path / "g.graphml")
        assert graph.directed
        assert graph.nodes.tolist() == ["a", "b", "c"]
        assert edges(graph) == {("a", "b"): 2.5}
        with pytest.raises(GraphError, match=r"g.graphml: directed=False.*to_undirected\(\)"):
            read_graph(tmp_path / "g.graphml", directed=False)

    def test_integer_ids_become_integers(self, tmp_path):
        nx.write_graphml(nx.path_graph([30, 4, 100]), tmp_path / "g.graphml")
        graph = read_graph(tmp_path / "g.graphml")
        assert graph.nodes.dtype == np.int64
        assert graph.nodes.tolist() == [30, 4, 100]

    def test_gml_ids_are_labels_or_numbers(self, tmp_path):
        source = nx.Graph()
        source.add_edge("Valjean", "Javert", weight=17)
        nx.write_gml(source, tmp_path / "g.gml")
        assert edges(read_graph(tmp_path / "g.gml")) == {("Valjean", "Javert"): 17}
        plain = "graph [ node [ id 5 ] node [ id 3 ] edge [ source 5 target 3 ] ]"
        (tmp_path / "h.gml").write_text(plain)
        assert edges(read_graph(tmp_path / "h.gml")) == {(5, 3): 1}

    def test_without_networkx_raises(self, write, monkeypatch):
        monkeypatch.setitem(sys.modules, "networkx", None)
        with pytest.raises(BoostneError, match=r'pip install "boostne\[io\]"'):
            read_graph(write("<graphml/>", "g.graphml"))


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.one_of(st.binary(max_size=200), st.text(alphabet='ab10 \t\n\r,;#".-ée', max_size=60)))
def test_random_bytes_give_a_graph_or_a_boostne_error(tmp_path, suffix, data):
    path = tmp_path / f"noise{suffix}"
    content = data.encode() if isinstance(data, str) else data
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    try:
        message = read_graph(path).fingerprint() and path.name
    except BoostneError as error:
        message = str(error)
    assert path.name in message


DAMAGE = {"position": st.floats(0, 1, exclude_max=True), "byte": st.integers(0, 255), "cut": st.booleans()}


@pytest.mark.parametrize("suffix", [".mtx", ".npz", ".parquet", ".graphml", ".gml"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(**DAMAGE)
def test_damaged_files_give_a_graph_or_a_boostne_error(tmp_path, suffix, position, byte, cut):
    read_damaged(tmp_path / f"damaged{suffix}", position, byte, cut)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(**DAMAGE)
def test_damaged_matlab_files_give_a_graph_or_a_boostne_error(tmp_path, position, byte, cut):
    read_damaged(tmp_path / "damaged.mat", position, byte, cut)  # starts a process for each


def read_damaged(path, position, byte, cut):
    content = bytearray(_valid_file(path.suffix))
    offset = int(position * len(content))
    if cut:
        del content[offset:]
    else:
        content[offset] = byte
    path.write_bytes(content)
    try:
        graph = read_graph(path)
    except BoostneError as error:
        assert path.name in str(error)  # noqa: PT017
    else:
        assert isinstance(graph, Graph)


def _valid_file(suffix):
    buffer = io.BytesIO()
    if suffix == ".mtx":
        mmwrite(buffer, MATRIX)
    elif suffix == ".mat":
        savemat(buffer, {"A": MATRIX})
    elif suffix == ".npz":
        sparse.save_npz(buffer, MATRIX)
    elif suffix == ".parquet":
        pq.write_table(pa.table({"u": [1, 2], "v": [2, 3]}), buffer)
    elif suffix == ".graphml":
        nx.write_graphml(nx.path_graph(3), buffer)
    else:
        nx.write_gml(nx.path_graph(3), buffer)
    return buffer.getvalue()


NAMES = st.text(alphabet="abcxyz01é", min_size=1, max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(st.tuples(NAMES, NAMES, st.floats(0, 1e6, allow_subnormal=False)), min_size=1, max_size=20),
    delimiter=st.sampled_from([" ", "\t", ",", ";", "   "]),
    random=st.randoms(use_true_random=False),
)
def test_round_trip_through_text(tmp_path, rows, delimiter, random):
    lines = [delimiter.join((u, v, repr(w))) for u, v, w in rows]
    random.shuffle(lines)
    path = tmp_path / "written.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    ids = {end for u, v, _ in rows for end in (u, v)}
    plain = all(name.isascii() and name.isdecimal() and str(int(name)) == name for name in ids)
    kind = int if plain else str
    u, v, w = zip(*rows, strict=True)
    expected = Graph.from_edges([kind(x) for x in u], [kind(x) for x in v], np.array(w))
    assert read_graph(path, header=False).fingerprint() == expected.fingerprint()


class TestFilesThatChange:
    """What was read is incomplete or a mixture, even if it is valid."""

    @pytest.fixture
    def edges(self, tmp_path):
        path = tmp_path / "edges.txt"
        path.write_text("1 2\n2 3\n")
        return path

    @staticmethod
    def during(monkeypatch, module, function, change):
        """Change a file when a function of a reader is called, which has opened it."""
        original = getattr(module, function)
        monkeypatch.setattr(module, function, lambda *given, **named: (change(), original(*given, **named))[1])

    def test_lines_are_appended(self, edges, monkeypatch):
        self.during(monkeypatch, edgelist, "_parse_block", lambda: edges.open("a").write("3 4\n"))
        with pytest.raises(FileFormatError, match=r"edges.txt: changed while it was read; read it again when it is"):
            read_graph(edges)
        monkeypatch.undo()
        assert read_graph(edges).n_edges == 3

    def test_the_error_of_the_parser_is_not_the_reason(self, edges, monkeypatch):
        def fail():
            edges.unlink()
            raise ValueError("end of file")

        self.during(monkeypatch, edgelist, "_parse_block", fail)
        with pytest.raises(FileFormatError, match=r"edges.txt: changed while it was read"):
            read_graph(edges)

    @pytest.mark.parametrize("name", ["part-1.parquet", "part-9.parquet"])
    @pytest.mark.parametrize(("reader", "kind"), [("read_integer_edges", pa.int64()), ("_row_groups", pa.string())])
    def test_a_part_of_a_table(self, tmp_path, monkeypatch, name, reader, kind):
        more = pa.table({"u": [1, 2, 3], "v": [2, 3, 4]}).cast(pa.schema({"u": kind, "v": kind}))
        for part in range(3):
            pq.write_table(more.slice(0, 2), tmp_path / f"part-{part}.parquet")
        self.during(monkeypatch, edge_tables, reader, lambda: pq.write_table(more, tmp_path / name))
        with pytest.raises(FileFormatError, match=f"{name}: changed while it was read"):
            read_graph(tmp_path)

    @pytest.mark.parametrize("name", ["log", "_metadata.parquet", ".boostne-0123.parquet"])
    def test_other_files_in_the_folder_may_change(self, tmp_path, monkeypatch, name):
        pq.write_table(pa.table({"u": [1, 2], "v": [2, 3]}), tmp_path / "part-0.parquet")
        self.during(monkeypatch, edge_tables, "read_integer_edges", lambda: (tmp_path / name).write_text("reading"))
        assert read_graph(tmp_path).n_edges == 2

    def test_labels(self, tmp_path, monkeypatch):
        path = tmp_path / "labels.txt"
        path.write_text("1 a\n2 b\n")
        self.during(monkeypatch, label_lines, "_parse", lambda: path.write_text("1 a\n"))
        with pytest.raises(FileFormatError, match=r"labels.txt: changed while it was read"):
            read_labels(path)
