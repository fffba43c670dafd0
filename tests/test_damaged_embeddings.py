"""Damaged and malicious embedding files: one error that names the file, before memory is allocated."""

import hashlib
import io
import json
import random
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from boostne.cli.program import run
from boostne.embedding import Embedding
from boostne.errors import BoostneError, FileFormatError, ParameterError
from boostne.io.embeddings import read_embedding, write_embedding

VALID = {"nodes": np.arange(2), "vectors": np.eye(2)}
DEEP = "[" * 5000 + "]" * 5000


def check_error(path, message, **options):
    """Check that reading a file raises one line that names it."""
    with pytest.raises(FileFormatError, match=message) as caught:
        read_embedding(path, **options)
    text = str(caught.value)
    assert str(path.with_suffix("")) in text
    assert "\n" not in text
    assert len(text) < 1000


def change_zip_entries(path, offset, change):
    """Change a byte in the header of each entry, in the file and in its directory."""
    content = bytearray(path.read_bytes())
    for signature, shift in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
        position = content.find(signature)
        while position >= 0:
            content[position + offset + shift] = change(content[position + offset + shift])
            position = content.find(signature, position + 1)
    path.write_bytes(content)


class TestNpz:
    @pytest.mark.parametrize(
        ("offset", "change", "message"),
        [
            (6, lambda flags: flags | 1, "is encrypted; write the file again"),
            (8, lambda method: method + 99, "is compressed by method 99"),
        ],
    )
    def test_entries_that_numpy_does_not_write(self, tmp_path, offset, change, message):
        np.savez(tmp_path / "e.npz", **VALID)
        change_zip_entries(tmp_path / "e.npz", offset, change)
        check_error(tmp_path / "e.npz", message)

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"nodes": np.array([DEEP, "1"]), "nodes_encoding": np.array("json")}, "recursion"),
            ({"nodes_encoding": np.array("json")}, "'nodes' must contain integers or strings, got int64"),
            ({"nodes": np.array([b"a", b"b"])}, "'nodes' must contain integers or strings"),
            ({"nodes": np.zeros(2, [("a", "i4")])}, "'nodes' must contain integers or strings"),
            ({"nodes": np.array([1.0, 2.0])}, "'nodes' must contain integers or strings"),
            ({"nodes": np.array([97, 0x200000], np.uint32).view("<U1")}, "0x200000 is not a Unicode character"),
            ({"nodes": np.array([97, 0x200000], ">u4").view(">U1")}, "0x200000 is not a Unicode character"),
            ({"nodes": np.array(3)}, "one-dimensional"),
            ({"nodes": np.array([1, 1])}, "got 1 more than once"),
            ({"nodes": np.arange(3)}, "same length, got 3 and 2"),
            ({"vectors": np.float32(1)}, "2-D array of real numbers"),
            ({"vectors": np.eye(2) * 1j}, "got shape .* of type complex128"),
            ({"vectors": np.array([["a"], ["b"]])}, "of type <U1"),
            ({"vectors": np.array([[1], [None]])}, "allow_pickle"),
            ({"vectors": np.array([[1, 2], [3, np.inf]])}, "NaN or infinity in the vector of node 1"),
            ({"levels": np.array("x")}, "levels must be positive integers"),
            ({"levels": np.array([[1], [1]])}, r"levels must be positive integers .* got \[\[1\], \[1\]\]"),
            ({"levels": np.array([2**63, 2**63, 2], np.uint64)}, "levels must be positive integers"),
            ({"levels": np.ones(10_000, np.int64)}, r"sum to the 2 columns, got \[1, 1, "),
        ],
    )
    def test_wrong_arrays(self, tmp_path, arrays, message):
        np.savez(tmp_path / "e.npz", **{**VALID, **arrays})
        check_error(tmp_path / "e.npz", message)

    def test_an_entry_that_announces_more_than_the_file_can_contain(self, tmp_path):
        np.savez(tmp_path / "e.npz", **VALID)
        content = bytearray((tmp_path / "e.npz").read_bytes())
        size = content.index(b"PK\1\2") + 24
        content[size : size + 4] = struct.pack("<I", 4_000_000_000)
        (tmp_path / "e.npz").write_bytes(content)
        check_error(tmp_path / "e.npz", "announces 4,000,000,000 bytes, more than the file can contain")

    def test_names_with_line_breaks(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "e.npz", "w") as file:
            file.writestr("no\nnodes.npy", b"")
        check_error(tmp_path / "e.npz", "the array 'nodes' is missing; it contains no nodes")

    def test_compressed_files_are_read(self, tmp_path):
        np.savez_compressed(tmp_path / "e.npz", **VALID)
        np.testing.assert_array_equal(read_embedding(tmp_path / "e.npz").vectors, np.eye(2))

    def test_other_compression_is_refused(self, tmp_path):
        array = io.BytesIO()
        np.save(array, np.eye(2))
        with zipfile.ZipFile(tmp_path / "e.npz", "w", zipfile.ZIP_LZMA) as file:
            file.writestr("nodes.npy", array.getvalue())
        check_error(tmp_path / "e.npz", "is compressed by method 14, which NumPy does not write")

    @pytest.mark.parametrize("kind", ["<U2", ">U2"])
    def test_strings_in_any_byte_order_are_read(self, tmp_path, kind):
        np.savez(tmp_path / "e.npz", nodes=np.array(["\U0010ffff", "é"], kind), vectors=np.eye(2))
        assert read_embedding(tmp_path / "e.npz").nodes.tolist() == ["\U0010ffff", "é"]

    def test_a_fortran_array_is_read(self, tmp_path):
        vectors = np.arange(6.0).reshape(2, 3)
        np.savez(tmp_path / "e.npz", nodes=np.arange(2), vectors=np.asfortranarray(vectors))
        np.testing.assert_array_equal(read_embedding(tmp_path / "e.npz").vectors, vectors)


class TestNpy:
    def write(self, path, header, content=b"", version=1):
        length = struct.pack("<H" if version == 1 else "<I", len(header))
        path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + content)

    @pytest.mark.parametrize(
        ("kind", "shape", "message"),
        [
            ("<f4", "(1000000000, 1000000000)", "announces shape .* of float32, but 16 bytes follow"),
            ("<f4", "(1, 1)", "but 16 bytes follow"),
            ("<f4", "(-1, -4)", "announces shape"),
            ("<U0", "(1000000000000,)", "they have no size"),
            ("|O", "(2, 1)", "allow_pickle"),
            ("<f4", "(2, 2", "invalid header"),
            ("<q9", "(2, 2)", "invalid header"),
            ("<f4", "-" * 9000 + "1", "invalid header"),
            ("<f4", "(" * 5000, "invalid header"),
            ("<f4", " " * 70_000, "invalid header"),
        ],
    )
    @pytest.mark.parametrize("version", [1, 2, 3])
    def test_headers(self, tmp_path, kind, shape, message, version):
        header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}\n"
        if version == 1:
            header = header[:60_000]
        self.write(tmp_path / "e.npy", header, bytes(16), version)
        check_error(tmp_path / "e.npy", "invalid header" if version == 3 else message, ids=[0, 1])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ({"nodes": "ab"}, "nodes must be an array, got str"),
            ({"nodes": {"a": 1, "b": 2}}, "nodes must be an array, got dict"),
            ({"nodes": 5}, "nodes must be an array, got int"),
            ({"nodes": [1, None]}, "position 1 is missing"),
            ({"nodes": [1, {}]}, "hashable"),
            ({"nodes": [1, 1]}, "more than once"),
            ({"levels": "2"}, "levels must be an array, got str"),
            ({"levels": None}, "levels must be an array, got NoneType"),
            ({"levels": [[1], [1, 2]]}, "levels must be positive integers"),
            ({"levels": [1.0, 1.0]}, "levels must be positive integers"),
            ({"levels": [10**400]}, "levels must be positive integers"),
        ],
    )
    def test_wrong_types_of_ids_and_levels(self, tmp_path, content, message):
        np.save(tmp_path / "e.npy", np.eye(2))
        checksum = hashlib.sha256((tmp_path / "e.npy").read_bytes()).hexdigest()
        ids = {"nodes": [1, 2], "levels": [2], "sha256": checksum, **content}
        (tmp_path / "e.nodes.json").write_text(json.dumps(ids))
        check_error(tmp_path / "e.npy", message)

    @pytest.mark.parametrize("content", [b"\xff\xfe", b"", b'{"nodes": ', b'{"nodes": ' + DEEP.encode() + b"}"])
    def test_ids_that_are_not_json(self, tmp_path, content):
        np.save(tmp_path / "e.npy", np.eye(2))
        (tmp_path / "e.nodes.json").write_bytes(content)
        check_error(tmp_path / "e.npy", r"e\.nodes\.json: cannot be read as JSON: .*pass ids=")

    def test_ids_that_are_not_text(self, tmp_path):
        np.save(tmp_path / "e.npy", np.eye(2))
        (tmp_path / "ids.txt").write_bytes(b"\xff\n\xfe\n")
        with pytest.raises(FileFormatError, match=r"ids\.txt: cannot be read as a text file of ids"):
            read_embedding(tmp_path / "e.npy", ids=tmp_path / "ids.txt")


class TestParquet:
    @pytest.mark.parametrize(
        ("columns", "metadata", "message"),
        [
            ({}, {"boostne.nodes_encoding": "json"}, "the column 'node' must contain ids as JSON, got int64"),
            ({"node": ["1", "{"]}, {"boostne.nodes_encoding": "json"}, "cannot be read as an embedding"),
            ({}, {"boostne.levels": "[[["}, "cannot be read as an embedding"),
            ({}, {"boostne.levels": DEEP}, "recursion"),
            ({}, {"boostne.levels": '"ab"'}, "levels must be positive integers"),
            ({}, {"boostne.levels": "0"}, "levels must be positive integers"),
            ({"node": [1, None]}, {}, "position 1 is missing"),
            ({"node": [[1], [2]]}, {}, "hashable"),
            ({"node": [b"a", b"\xff"]}, {}, "cannot be read as an embedding"),
            ({"x": ["1", "2"]}, {}, "the column 'x' must contain one number per row, got string"),
            ({"x": pa.array([1, 2], pa.timestamp("s"))}, {}, "the column 'x' must contain one number"),
            ({"x": [1.0, None]}, {}, "NaN or infinity in the vector of node 2"),
        ],
    )
    def test_wrong_columns_and_metadata(self, tmp_path, columns, metadata, message):
        table = pa.table({"node": [1, 2], "x": [1.0, 2.0], **columns})
        pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "e.parquet")
        check_error(tmp_path / "e.parquet", message)

    def test_no_columns(self, tmp_path):
        pq.write_table(pa.table({}), tmp_path / "e.parquet")
        check_error(tmp_path / "e.parquet", "a table without columns")

    def test_ids_stored_as_bytes_are_strings(self, tmp_path):
        pq.write_table(pa.table({"node": ["é".encode(), b"b"], "x": [1.0, 2.0]}), tmp_path / "e.parquet")
        assert read_embedding(tmp_path / "e.parquet").nodes.tolist() == ["é", "b"]

    def test_the_folders_of_a_path_are_no_columns(self, tmp_path):
        (tmp_path / "year=2020").mkdir()
        write_embedding(Embedding([1], [[2.0, 3.0]]), tmp_path / "year=2020" / "e.parquet")
        assert read_embedding(tmp_path / "year=2020" / "e.parquet").dimensions == 2

    def test_a_flipped_bit_in_the_numbers_is_found(self, tmp_path):
        vectors = np.random.default_rng(0).random((100, 1))
        path = tmp_path / "e.parquet"
        write_embedding(Embedding(range(100), vectors), path)
        content = bytearray(path.read_bytes())
        content[content.index(vectors[:4].tobytes()) + 3] ^= 1
        path.write_bytes(content)
        check_error(path, "cannot be read as a Parquet file: .*CRC")

    def test_a_part_is_named(self, tmp_path):
        (tmp_path / "part-00000.parquet").write_bytes(b"PAR1")
        with pytest.raises(FileFormatError, match=r"part-00000\.parquet: cannot be read as a Parquet file"):
            read_embedding(tmp_path)

    def test_rows_that_do_not_fit_into_memory(self, tmp_path, monkeypatch):
        write_embedding(Embedding(range(100), np.zeros((100, 9))), tmp_path / "e.parquet")
        monkeypatch.setattr("boostne.memory.available_memory", lambda: 5000)
        with pytest.raises(MemoryError, match=r"reading .*e\.parquet would need about 8\.0 kB"):
            read_embedding(tmp_path / "e.parquet")


class TestText:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("e.txt", b"0 1\n1 2\n2 0\n", "no vectors: the first line announces 0 of them.*edge list"),
            ("e.txt", b"0 1\n\n1 2\n", "no vectors: the first line announces 0 of them"),
            ("e.txt", b"0 0\n", "at least one column"),
            ("e.txt", b"0 " + b"9" * 30 + b"\n", "cannot be read as an embedding"),
            ("e.txt", b"9" * 5000 + b" 3\na 1\n", "cannot be read as an embedding"),
            ("e.txt", b"\xef\xbb\xbf 1.5 2\n", "node id of vector 1 is empty"),
            ("e.txt", b"2 2\na 1 2 \nb 3 4 5\n", "vector 2 has more than the 2 numbers of .*: b'5' follows"),
            ("e.txt", b"2 1\na 1 \nb 3 \xd3", r"vector 2 has more than .*: b'\\xd3' follows"),
            ("e.emb", b"2 1\na \0\0\x80\x3f\nb \0\0\0\x40\n", "cannot be read as an embedding in .emb format"),
            ("e.csv", b"node," + b"x" * 200_000 + b"\na,1\n", "field larger than field limit"),
            ("e.csv", b"PK\3\4\xff", "cannot be read as an embedding in .csv format"),
        ],
    )
    def test_malformed_text(self, tmp_path, name, content, message):
        (tmp_path / name).write_bytes(content)
        check_error(tmp_path / name, message)

    def test_a_byte_order_mark_is_not_part_of_the_first_line(self, tmp_path):
        (tmp_path / "e.txt").write_bytes("\ufeff2 1\na 1\nb 2\n".encode())
        assert read_embedding(tmp_path / "e.txt").nodes.tolist() == ["a", "b"]
        (tmp_path / "e.txt").write_bytes("\ufeffa 1.5\nb 2\n".encode())
        assert read_embedding(tmp_path / "e.txt").nodes.tolist() == ["a", "b"]


@pytest.mark.parametrize("content", ["0 1\n", "0 1\n1 2\n"])
def test_evaluate_says_that_a_file_has_no_vectors(tmp_path, capsys, content):
    (tmp_path / "edges.txt").write_text(content)
    assert run(["evaluate", str(tmp_path / "edges.txt"), "karate"]) == 1
    *notes, error = capsys.readouterr().err.splitlines()
    assert all(note.startswith("boostne: read: ") for note in notes)
    assert "edges.txt: no vectors" in error


def test_evaluate_prints_one_line_for_a_damaged_file(tmp_path, capsys):
    np.savez(tmp_path / "e.npz", **VALID)
    change_zip_entries(tmp_path / "e.npz", 8, lambda method: method + 99)
    assert run(["evaluate", str(tmp_path / "e.npz"), "karate"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_wrong_levels_raise():
    for levels in ([[1], [1, 1]], [2**62] * 4 + [2], [0, 2], [3, -1], "2", [1.0, 1.0]):
        with pytest.raises(ParameterError, match="levels must be positive integers"):
            Embedding([0, 1], np.eye(2), levels)


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".parquet", ".csv", ".emb"])
def test_changed_bytes_give_an_embedding_or_a_boostne_error(tmp_path, suffix):
    path = tmp_path / f"e{suffix}"
    write_embedding(Embedding(["New York", "b", "50%"], np.random.default_rng(0).random((3, 4)), [1, 3]), path)
    original, rng = path.read_bytes(), random.Random(0)
    for _ in range(150):
        content = bytearray(original)
        start = rng.randrange(len(content))
        match rng.randrange(4):
            case 0 | 1:
                content[start] ^= 1 << rng.randrange(8)
            case 2:
                del content[start:]
            case _:
                content[start : start + 8] = content[rng.randrange(len(content)) :][: rng.randrange(1, 40)]
        path.write_bytes(content)
        with suppress(BoostneError):
            read_embedding(path)


def test_announced_shapes_are_compared_with_the_size_of_the_file(tmp_path):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (500000000, 1), }\n"
    array = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode()
    (tmp_path / "e.npy").write_bytes(array)
    with zipfile.ZipFile(tmp_path / "e.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("nodes.npy", array)
    check_error(tmp_path / "e.npy", "but 0 bytes follow", ids=[0])
    check_error(tmp_path / "e.npz", "but 0 bytes follow")
