"""Damaged and hostile files of graphs and labels: one line that names the file, and never a crash."""

import base64
import gzip
import io
import multiprocessing.spawn
import struct
import subprocess
import sys
import zipfile
import zlib
from datetime import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.io import savemat
from tests.graphs import edges

from boostne.errors import BoostneError, FileFormatError, GraphError, InputWarning, MemoryLimitError
from boostne.io import mat_files, read_graph, read_labels
from boostne.memory import resident_memory

MATRIX = sparse.csc_array(np.array([[0, 2.0, 1.0], [2.0, 0, 0], [1.0, 0, 0]]))
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">{}</graph></graphml>'


def refused(path, message=None, read=read_graph, error=FileFormatError, **options):
    """Assert that a file is refused with one line that names it."""
    with pytest.raises(error, match=message) as caught:
        read(path, **options)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


class TestNpz:
    @pytest.fixture
    def save(self, tmp_path):
        def save(name="csr", **arrays):
            path = tmp_path / "matrix.npz"
            valid = {"indices": np.array([1, 0]), "indptr": np.array([0, 1, 2]), "data": np.ones(2)}
            np.savez(path, **{"format": np.array(name.encode()), "shape": np.array([2, 2]), **valid, **arrays})
            return path

        return save

    def test_a_matrix_of_each_format_is_read(self, tmp_path):
        for name in ("csr", "csc", "coo", "dia", "bsr"):
            for suffix in (".npz", ".npz.gz"):
                buffer = io.BytesIO()
                sparse.save_npz(buffer, MATRIX.asformat(name))
                content = buffer.getvalue()
                path = tmp_path / f"{name}{suffix}"
                path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
                assert edges(read_graph(path)) == {(0, 1): 2, (0, 2): 1}

    def test_row_pointers_that_leave_the_arrays_are_refused(self, save):
        refused(
            save(indptr=np.array([0, 1_000_000, 0])),
            "matrix is malformed: indptr must not decrease",
            error=BoostneError,
        )

    @pytest.mark.parametrize("name", ["csr", "csc", "bsr"])
    @pytest.mark.parametrize(
        "arrays",
        [
            {"indptr": np.array([0, -5, 2])},
            {"indptr": np.array([0, 2, 1])},
            {"indptr": np.array([1, 1, 2])},
            {"indptr": np.array([0, 1, 2, 2])},
            {"indptr": np.array([0.0, 1.0, 2.0])},
            {"indptr": np.array(2)},
            {"indices": np.array([1, 9])},
            {"indices": np.array([1, -1])},
            {"indices": np.array([1, 2**40])},
            {"indices": np.array([1, 2**63], dtype=np.uint64)},
            {"indices": np.array([1.0, 0.0])},
            {"indices": np.array([[1, 0]])},
            {"data": np.ones(3)},
            {"data": np.array(["a", "b"])},
            {"data": np.ones((2, 0, 0))},
            {"shape": np.array([2, 2, 2])},
            {"shape": np.array([-2, 2])},
            {"shape": np.array([2.5, 2.5])},
            {"shape": np.array([2**62, 2**62])},
        ],
        ids=str,
    )
    def test_arrays_that_describe_no_matrix_are_refused(self, save, name, arrays):
        if name == "bsr":
            arrays = {"data": np.ones((2, 1, 1))} | arrays
        refused(save(name, **arrays), error=BoostneError)

    @pytest.mark.parametrize("name", ["coo", "dia", "lil", "", "\u00e9"])
    def test_other_formats_need_their_own_arrays(self, save, name):
        refused(save(name), "is missing|must be one of csr")

    def test_coordinates_and_diagonals_are_checked(self, save):
        refused(save("coo", row=np.array([0, 7]), col=np.array([0, 1])), error=BoostneError)
        refused(save("coo", row=np.array([0]), col=np.array([0, 1])))
        refused(save("dia", offsets=np.array([0.5])), "'offsets' must be a vector of integers")
        refused(save("dia", offsets=np.array([2**32 + 1])), "'offsets' contains 4294967297, which is out of range")
        assert edges(read_graph(save("coo", row=np.array([0, 1]), col=np.array([1, 0])))) == {(0, 1): 1}

    def test_a_shape_without_arrays_is_refused_before_memory_is_taken(self, save):
        path = save("coo", row=np.array([0, 1]), col=np.array([1, 0]), shape=np.array([10**15, 10**15]))
        refused(path, "matrix of 1,000,000,000,000,000 rows", error=MemoryLimitError)

    @pytest.mark.parametrize("claimed", [(10**15,), (-1,), (3,), (1 << 60, 1 << 60)])
    def test_a_header_that_disagrees_with_its_file_is_refused(self, save, claimed):
        buffer = io.BytesIO()
        np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": claimed})
        path = save()
        _replace_member(path, "data.npy", buffer.getvalue() + b"\0" * 16)
        refused(path, "array 'data': the header announces shape")

    @pytest.mark.parametrize("header", [b"{" * 5000, b"(" * 9000, b"{'descr': '<f8'", b"", b"\xff" * 100])
    def test_a_header_that_is_no_dictionary_is_refused(self, save, header):
        path = save()
        magic = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
        _replace_member(path, "indptr.npy", magic + header)
        refused(path, "array 'indptr': invalid header")

    def test_encrypted_and_unknown_compression_are_refused(self, save):
        for offset, value, message in ((6, 1, "is encrypted"), (8, 97, "compressed by method 97")):
            path = save()
            raw = bytearray(path.read_bytes())
            for signature, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
                start = raw.find(signature)
                while start >= 0:
                    raw[start + offset + shift] = value
                    start = raw.find(signature, start + 4)
            path.write_bytes(raw)
            refused(path, message)

    def test_a_bomb_is_refused_before_it_is_unpacked(self, tmp_path):
        path = tmp_path / "bomb.npz"
        header = io.BytesIO()
        n = 1 << 28
        np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (n,)})
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, file.open("format.npy", "w") as member:
            member.write(header.getvalue())
            for _ in range(n >> 20):
                member.write(bytes(1 << 20))
        refused(path, "reading the file would need about 268 MB", error=MemoryLimitError, memory_limit="200MB")


class TestMat:
    @pytest.fixture
    def content(self):
        buffer = io.BytesIO()
        savemat(buffer, {"A": MATRIX, "group": np.array([[1.0], [2.0], [2.0]])})
        return buffer.getvalue()

    # SciPy 1.17 crashes on these.
    @pytest.mark.parametrize(("offset", "bit"), [(176, 4), (177, 7), (180, 0), (200, 4), (202, 2), (224, 0), (225, 7)])
    def test_a_crash_of_the_parser_is_an_error(self, write, content, offset, bit):
        damaged = bytearray(content)
        damaged[offset] ^= 1 << bit
        path = write("g.mat", damaged)
        refused(path, "cannot be read as mat")

    @pytest.mark.parametrize("name", ["g.mat", "g.mat.gz"])
    def test_a_negative_size_does_not_lead_back_forever(self, write, name):
        # Version 4: its three columns of -8 bytes end where the variable begins.
        data = struct.pack("<5i", 0, 1, -3, 0, 4) + b"abc\0" + bytes(64)
        refused(write(name, gzip.compress(data) if name.endswith(".gz") else data), "a variable has a negative size")

    def test_a_crash_names_the_cause(self, write, content, monkeypatch):
        monkeypatch.setattr(mat_files, "_PARSER", write("parser.py", "import os; os.abort()"))
        refused(write("g.mat", content), r"the file is damaged \(SciPy's parser crashed with code -?\d+")

    def test_damage_of_another_variable_has_no_effect(self, write, content):
        damaged = bytearray(content)
        damaged[177] ^= 1 << 7
        assert read_labels(write("g.mat", damaged)).n_nodes == 3

    @pytest.mark.parametrize("content", [b"", b"x", b"MATLAB 5.0 MAT-file", b"\0" * 200, b"\xff" * 200])
    def test_other_content_is_an_error(self, write, content):
        refused(write("g.mat", content), "cannot be read as mat")
        refused(write("l.mat", content), "cannot be read as mat", read_labels)

    def test_variables_that_are_no_numbers_are_errors(self, tmp_path):
        path = tmp_path / "v.mat"
        savemat(path, {"A": np.array([1, "x"], dtype=object), "s": "text", "t": {"a": 1}})
        for name in ("A", "s", "t"):
            refused(path, variable=name, error=BoostneError)
        assert read_labels(path, variable="s")[0] == ("text",)
        refused(path, variable="t", error=BoostneError, read=read_labels)

    def test_labels_out_of_the_range_of_integers_stay_floats(self, tmp_path):
        savemat(tmp_path / "l.mat", {"group": np.array([[1.0], [np.inf], [1e300]])})
        assert read_labels(tmp_path / "l.mat").classes.tolist() == [1.0, 1e300, np.inf]

    def test_gzip_and_other_names_are_read(self, write, content):
        assert edges(read_graph(write("ü #%.mat.gz", gzip.compress(content)))) == {(0, 1): 2, (0, 2): 1}

    def test_works_in_a_program_without_main_guard(self, write, content, tmp_path):
        path = write("g.mat", content)
        (tmp_path / "scipy.py").write_text("raise SystemExit('not this one')")  # in the working directory
        code = f"from boostne.io import read_graph; print(read_graph({str(path)!r}).n_edges)"
        result = subprocess.run(
            [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert result.stdout == "2\n"

    def test_a_parser_that_does_not_start_is_an_error(self, write, content, monkeypatch, tmp_path):
        (tmp_path / "no-parser.py").write_text("raise SystemExit('no such module')")
        monkeypatch.setattr("boostne.io.mat_files._PARSER", tmp_path / "no-parser.py")
        refused(write("g.mat", content), r"crashed with code 1: no such module")

    def test_without_an_executable_is_an_error(self, write, content, monkeypatch):
        monkeypatch.setattr(multiprocessing.spawn, "_python_exe", None)
        with pytest.raises(BoostneError, match=r"no Python executable.*multiprocessing\.set_executable"):
            read_graph(write("g.mat", content))
        monkeypatch.undo()
        monkeypatch.setattr(sys, "frozen", True, raising=False)
        with pytest.raises(BoostneError, match="no Python executable"):
            read_graph(write("g.mat", content))


class TestMatrixMarket:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                "coordinate pattern general\n3 3 1000000000000\n1 1\n",
                "claims 1,000,000,000,000 entries, but has 71 bytes",
            ),
            ("array real general\n30000 30000\n1\n", "claims 900,000,000 entries"),
            ("array real symmetric\n90000 90000\n1\n", "claims 4,049,955,000 entries"),
            ("coordinate pattern general\n99999999999999999999 99999999999999999999 1\n1 1\n", "out of range"),
            ("coordinate pattern general\n-5 -5 1\n1 1\n", "can't be negative"),
            ("coordinate pattern general\n5 5 -1\n1 1\n", "can't be negative"),
            ("coordinate integer general\n2 2 1\n1 2 99999999999999999999\n", "out of range"),
            ("array pattern general\n2 2\n", "cannot be read as mtx"),
            ("coordinate real general\n2 2 1\n1 2 nan\n", "missing weight"),
            ("coordinate real general\n2 2 1\n1 2 1e999\n", "infinite weight"),
            ("coordinate real skew-symmetric\n2 2 1\n2 1 3\n", "negative weight"),
            ("coordinate complex hermitian\n2 2 1\n2 1 3 1\n", "real numbers, got dtype complex128"),
        ],
    )
    def test_claims_and_values_are_checked(self, write, content, message):
        refused(write("g.mtx", f"%%MatrixMarket matrix {content}"), message, error=BoostneError)

    def test_claimed_nodes_are_refused_before_memory_is_taken(self, write):
        path = write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n20000000 20000000 1\n1 2\n")
        limit = resident_memory() + 100_000_000
        refused(path, "matrix of 20,000,000 rows and 1 entries", error=MemoryLimitError, memory_limit=limit)
        path = write("g.mtx", f"%%MatrixMarket matrix coordinate pattern general\n{10**18} {10**18} 1\n1 2\n")
        refused(path, "80% of the available memory", error=MemoryLimitError)

    def test_no_entries_and_dense_matrices_are_read(self, write):
        assert read_graph(write("g.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 0\n")).n_edges == 0
        dense = "%%MatrixMarket matrix array integer symmetric\n2 2\n0\n3\n0\n"
        assert edges(read_graph(write("g.mtx", dense))) == {(0, 1): 3}


class TestGzip:
    CONTENT = gzip.compress(b"1 2\n2 3\n", mtime=0)

    @pytest.mark.parametrize("damage", ["truncated", "checksum", "garbage", "magic", "empty", "length"])
    @pytest.mark.parametrize("suffix", ["txt", "mtx", "npz", "mat", "parquet", "graphml", "gml", "adjlist"])
    def test_damage_is_an_error(self, write, suffix, damage):
        content = {
            "truncated": self.CONTENT[:-9],
            "checksum": self.CONTENT[:-8] + b"\0\0\0\0" + self.CONTENT[-4:],
            "garbage": self.CONTENT + b"garbage",
            "magic": b"BZh9" + self.CONTENT[4:],
            "empty": b"",
            "length": self.CONTENT[:-1] + b"\xff",
        }[damage]
        refused(write(f"g.{suffix}.gz", content))

    def test_several_members_and_padding_are_read(self, write):
        path = write("g.txt.gz", self.CONTENT + gzip.compress(b"3 4\n") + b"\0" * 100)
        assert set(edges(read_graph(path))) == {(1, 2), (2, 3), (3, 4)}


class TestXml:
    NODES = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'

    @pytest.mark.parametrize(
        "declarations",
        [
            '<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">',
            '<!ENTITY a SYSTEM "file:///etc/passwd">',
            '<!ENTITY % a SYSTEM "http://example.org/a.dtd"> %a;',
        ],
    )
    def test_entities_are_refused(self, write, declarations):
        content = f"<!DOCTYPE graphml [{declarations}]>{GRAPHML.format(self.NODES)}"
        refused(write("g.graphml", content), "declares the XML entity 'a'")

    def test_a_document_type_without_entities_is_read(self, write):
        kind = '<!DOCTYPE graphml SYSTEM "http://graphml.graphdrawing.org/dtds/1.0rc/graphml.dtd">'
        for encoding in ("utf-8", "utf-16"):
            content = f'<?xml version="1.0" encoding="{encoding}"?>{kind}{GRAPHML.format(self.NODES)}'
            assert read_graph(write("g.graphml", content.encode(encoding))).n_edges == 1

    @pytest.mark.parametrize(
        "content",
        [
            b"<graphml>" + b"<a>" * 100_000,
            b"<graphml>" + b"<a>" * 1000 + b"</a>" * 1000 + b"</graphml>",
            b"<graphml>\0</graphml>",
            b"<graphml>&#xD800;</graphml>",
            b'<?xml version="1.0" encoding="no-such"?><graphml/>',
            b'<?xml version="1.0" encoding="utf-16"?><graphml/>',
            b"\xff\xfe<\0g\0",
            b"\xe9",
        ],
        ids=lambda content: content[:30],
    )
    def test_malformed_xml_is_an_error(self, write, content):
        refused(write("g.graphml", content))

    @pytest.mark.parametrize(
        "content",
        [
            b"graph [" + b"a [" * 50_000,
            b'graph [ node [ id 1 label "&#55296;" ] node [ id 2 label "b" ] edge [ source 1 target 2 ] ]',
            b'graph [ node [ id 1 label "\xff" ] ]',
            "graph [ node [ id 1 ] ]".encode("utf-16"),
            b"graph [ node [ id \0 ] ]",
        ],
        ids=lambda content: content[:40],
    )
    def test_malformed_gml_is_an_error(self, write, content):
        refused(write("g.gml", content))


class TestParquet:
    @pytest.mark.parametrize(
        "ids",
        [
            pa.array([Decimal(1), Decimal(2)]),
            pa.array([datetime(2020, 1, 1), datetime(2020, 1, 2)]),
            pa.array([[1], [2]]),
            pa.array([{"a": 1}, {"a": 2}]),
            pa.array([b"a", b"b"]),
            pa.array([True, False]),
            pa.array([datetime(2020, 1, 1).date()] * 2),
        ],
        ids=lambda ids: str(ids.type),
    )
    def test_ids_of_other_types_are_errors(self, tmp_path, ids):
        path = tmp_path / "t.parquet"
        pq.write_table(pa.table({"u": ids, "v": [1, 2]}), path)
        refused(path, r"the column 'u' has type .*, but node ids must be integers or strings", error=GraphError)

    def test_weights_of_other_types_are_errors(self, tmp_path):
        path = tmp_path / "t.parquet"
        for values in ([datetime(2020, 1, 1)] * 2, [[1], [2]]):
            pq.write_table(pa.table({"u": [1, 2], "v": [2, 3], "weight": values}), path)
            refused(path, "the column 'weight' has type .*, but weights must be numbers", error=GraphError)

    def test_equal_names_are_errors(self, tmp_path):
        path = tmp_path / "t.parquet"
        pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["u", "v", "u"]), path)
        refused(path, "several columns are called 'u'", error=GraphError, weight=False)

    def test_dictionaries_and_large_strings_are_read(self, tmp_path):
        path = tmp_path / "t.parquet"
        names = pa.array(["a", "b", "a"])
        pq.write_table(
            pa.table({"u": names.dictionary_encode(), "v": pa.array(["b", "c", "b"], pa.large_string())}), path
        )
        assert edges(read_graph(path)) == {("a", "b"): 1, ("b", "c"): 1}
        numbers = pa.array([1, 2], pa.uint8()).dictionary_encode()
        pq.write_table(pa.table({"u": numbers, "v": [7, 8]}), path)
        assert read_graph(path).nodes.tolist() == [1, 2, 7, 8]

    def test_text_that_is_stored_once_is_refused_before_it_is_repeated(self, tmp_path):
        path = tmp_path / "t.parquet"
        names = pa.DictionaryArray.from_arrays(np.zeros(300_000, dtype=np.int32), ["x" * 5000])
        pq.write_table(pa.table({"u": names, "v": np.arange(300_000).astype(str)}), path)
        assert path.stat().st_size < 10_000_000
        refused(path, "300,000 rows would need", error=MemoryLimitError, memory_limit="2GB")

    # PyArrow 26 aborts if it is asked for the sizes of these columns.
    @pytest.mark.parametrize(("offset", "byte"), [(-428, 0x46), (-540, 0x24)])
    def test_inconsistent_statistics_are_an_error(self, write, offset, byte):
        buffer = io.BytesIO()
        pq.write_table(pa.table({"u": [1, 2], "v": [2, 3]}), buffer)
        content = bytearray(buffer.getvalue())
        content[offset] = byte
        path = write("t.parquet", content)
        try:
            assert edges(read_graph(path)) == {(1, 2): 1, (2, 3): 1}
        except FileFormatError as error:
            assert "t.parquet: cannot be read as parquet" in str(error)  # noqa: PT017

    @pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"PAR1" + b"\xff" * 20 + b"PAR1", b"1,2\n"])
    def test_other_content_is_an_error(self, write, content):
        refused(write("t.parquet", content), "cannot be read as parquet")

    @pytest.mark.parametrize(
        ("second", "message"),
        [
            ({"u": ["2"], "v": [3]}, r"part-0.pq and part-1.pq have the column 'u' of type int64 and .* type string;"),
            ({"v": [2], "u": [3]}, "the column 'u' of type int64 and the column 'v' of type int64;"),
            ({"u": [2], "v": [3], "weight": [1.5]}, "different schemas: .* have 2 and 3 columns; write all parts with"),
            ({"u": [None], "v": [2]}, "type null"),
        ],
    )
    def test_parts_with_different_schemas_are_errors(self, tmp_path, second, message):
        for number, columns in enumerate([{"u": [1], "v": [2]}, second]):
            pq.write_table(pa.table(columns), tmp_path / f"part-{number}.pq")
        refused(tmp_path, message)

    def test_damaged_parts_are_named(self, tmp_path):
        part = tmp_path / "part-1.parquet"
        for number in range(2):
            pq.write_table(pa.table({"u": [1], "v": [2]}), tmp_path / f"part-{number}.parquet")
        part.write_bytes(part.read_bytes()[:-9])
        refused(tmp_path, r"part-1.parquet: cannot be read as parquet: .*; the file is damaged")
        content = bytearray((tmp_path / "part-0.parquet").read_bytes())
        content[4:24] = bytes(20)  # of the first page
        part.write_bytes(content)
        refused(tmp_path, r"part-1.parquet: cannot be read as parquet")

    def test_folders_without_parquet_files_are_errors(self, tmp_path):
        (tmp_path / "edges.csv").touch()
        refused(tmp_path, r"the folder has no Parquet files, whose names end in .parquet or .pq; give a file")


class TestText:
    def test_commented_edges_are_counted(self, write):
        path = write("g.csv", "# a comment\n#source,target\n1,2\n#1,3\n%4,5\n# 6,7\n#only\n2,3\n")
        with pytest.warns(InputWarning, match="2 comments look like an edge, such as '#1,3'; comments='' reads all"):
            assert read_graph(path).n_edges == 2
        with pytest.warns(InputWarning, match="1 comment looks like an edge, such as '%5 7'"):
            read_graph(write("g.txt", "# FromNodeId ToNodeId\n1 2\n%5 7\n"))

    @pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 1000])
    @pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
    def test_lines_across_blocks(self, write, monkeypatch, size, ends):
        monkeypatch.setattr("boostne.io.edgelist._BLOCK", size)
        lines = ["# header", "", "a b 1", "  ", "b  c 2.5", "%x", "7 a 3", "c d 4"]
        path = write("g.txt", ends.join(lines))
        assert edges(read_graph(path)) == {("7", "a"): 3, ("a", "b"): 1, ("b", "c"): 2.5, ("c", "d"): 4}
        for line, problem in (("d e", "2 columns"), ("d e x", "not a number"), ("d e -1", "negative weight")):
            refused(write("g.txt", ends.join([*lines, line])), f"line 9: .*{problem}")
        refused(write("g.txt", ends.join([*lines, "d e 1", "\0"])), "zero byte at offset")
        refused(write("g.txt", ends.join([*lines, ""]).encode() + b"\xff e 1"), "line 9: not UTF-8")

    @pytest.mark.parametrize("size", [1, 1000])
    @pytest.mark.parametrize("start", ["", "\n", "# comment\n", "source,target\n", "b,y\n"])
    def test_byte_order_marks_within_the_file_belong_to_ids(self, write, monkeypatch, start, size):
        monkeypatch.setattr("boostne.io.edgelist._BLOCK", size)
        read = read_graph(write("g.csv", f"\ufeff{start}\ufeffa,b\n\ufeffb,c\nb,c\n"))
        assert {"\ufeffa", "\ufeffb", "b", "c"} <= set(read.nodes.tolist())

    @pytest.mark.parametrize("group", [0, 20, 1000])
    @pytest.mark.parametrize("size", [1, 6, 1000])
    def test_types_of_ids_across_blocks(self, write, monkeypatch, size, group):
        monkeypatch.setattr("boostne.io.edgelist._BLOCK", size)
        monkeypatch.setattr("boostne.io.text_ids._GROUP_BYTES", group)
        assert read_graph(write("g.csv", "1, 2\n10,3 \n -4,5\n")).nodes.tolist() == [-4, 1, 2, 3, 5, 10]
        assert read_graph(write("g.csv", f"1,2\n{2**40},3\n")).nodes.tolist() == [1, 2, 3, 2**40]
        assert read_graph(write("g.csv", "1,2\n2,3\n007,1\n")).nodes.tolist() == ["007", "1", "2", "3"]
        assert read_graph(write("g.csv", "1,2\n2, x\n3,1\n")).nodes.tolist() == ["1", "2", "3", "x"]
        refused(write("g.csv", "1,2\n2,3\n ,1\n"), "line 3: an empty node id")

    def test_blocks_of_labels_and_adjacency_lists(self, write, monkeypatch):
        for module in ("edgelist", "labels"):
            monkeypatch.setattr(f"boostne.io.{module}.PYTHON_BLOCK", 3)
        assert edges(read_graph(write("g.adjlist", "1 2 3\n2 3\n4\n"))) == {(1, 2): 1, (1, 3): 1, (2, 3): 1}
        refused(write("g.adjlist", "1,2\n2,,3\n"), "line 2: an empty node id")
        labels = read_labels(write("l.txt", "node,label\n1,7\n2,8\n2,7\n"))
        assert labels[2] == (7, 8)
        refused(write("l.txt", "1,a\n2,b\n,c\n"), "line 3: an empty node id", read_labels)
        assert read_labels(write("l.cmty", "3 1\n# x\n1 20\n"))[1] == (0, 1)

    def test_a_pipe_is_read_once(self, tmp_path):
        code = "import sys; from boostne.io import read_graph;print(read_graph('/dev/stdin').n_edges, file=sys.stdout)"
        if not sys.platform.startswith("linux"):
            pytest.skip("needs /dev/stdin")
        result = subprocess.run(
            [sys.executable, "-c", code], input="1 2\n2 3\n", capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert result.stdout == "2\n"


def _replace_member(path, name, content):
    with zipfile.ZipFile(path) as file:
        members = {entry: file.read(entry) for entry in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for entry, raw in (members | {name: content}).items():
            file.writestr(entry, raw)


# A Parquet file with a damaged histogram in the metadata of its second column: compressed, in base 85.
DAMAGED_METADATA = (
    "c-n<i&1%~~5FRUvFvgdZ>>`1nzF4FOr}=9rK?Fv&6NiM>60{+u7g-i^j1#-E5|P~d7CrP4`T%{7K145lh0g9uwbP_@k!E*hzwetL"
    "q&^1Q%wX$m{Ug&D$X93Z%-)9${S6-MnbNMU0f1J~$qJVkobktu)xmVo+A`Hva8}7m|H(9F73BJMxHxgx_;ddC{qtcVREC&toxK9n"
    "m`9`dDr5$*dQ&5JdXq+R6V7ZxsZbWCNt~6TT9Zh5e3^_g;F@Jyt^+o!TTKJ3lFoFl@gW~NRrk>VESrj^(!u3b%di~KNOf64rIQk4"
    "K6WPV6BAhysXY*>6(XuYDe|R4kMpDA{%=T&=z|O|N`3xQ<C;^Yjc(042Ep6&12sPL>&i>9?$JX;AJsZV%+X8m2r<ESB4Zu_y5ex$"
    "CwwlU9bqzIy1B6L<WcU4;P-@%)b$Ew>~^F`8w+T;E<}pm59gEXu&2r({)vctNdZaPb5W|eI`Ra@ll&9JrP5L1d%-BW8cv2Pm8z$J"
    "cK=Q-J06qrYe|=&(~j_cAx8XT#7HztzQ14wzU(*ncR%-o-S>AFI|7yz5Wm>-qV!z&J#k-_U-nbZ8_dQmOh4VkSu2{&T49<_^TutQ"
    "&M&9ejh+3?t<7!Ar7v7P@O%ZJPk;4q*s;hg"
)


def test_damaged_metadata_of_a_parquet_column(write):
    """Arrow ends the process when it is asked for the metadata of that column."""
    refused(write("graph.parquet", zlib.decompress(base64.b85decode(DAMAGED_METADATA))), "histogram size mismatch")
