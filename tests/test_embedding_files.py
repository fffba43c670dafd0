"""Reading and writing embeddings in all formats; atomic writing."""

import csv
import json
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from boostne.cli.program import run
from boostne.embedding import Embedding
from boostne.errors import BoostneError, FileFormatError, ParameterError
from boostne.io.atomic import atomic_path, check_writable
from boostne.io.embeddings import read_embedding, write_embedding

SUFFIXES = [".npz", ".npy", ".parquet", ".csv", ".emb", ".txt"]
TYPED = [".npz", ".npy", ".parquet"]
KEEPS_LEVELS = [*TYPED, ".csv"]
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)

IDS = {
    "int": [5, -3, 2**62, 0],
    "str": ["New York", 'a "quoted" id', "50%", "comma, tab\t"],
    "zeros": ["007", "7", "08", "x"],
    "odd": ["line\nbreak", "return\r", "no-break\u00a0space \u2028", "%20 %25 %zz"],
    "unicode": ["Zürich", "東京", "\U0001f98a", "'"],
    "one integer-like": ["1", "2", "3", "four"],
    "formulas": ["=1+1", "'=1+1", "@SUM(A1)", "+-"],
    "apostrophes": ["''", "'", "'-5", "-5"],
}


def vectors(dtype=np.float32):
    return np.array([[0.1, -1e-30, 3], [1 / 3, 1e30, 0], [-0.0, 1, 2], [7, 16777216, 5e-45]], dtype=dtype)


def assert_same(got, expected, *, levels=True):
    assert got.nodes.tolist() == expected.nodes.tolist()
    assert [type(a) for a in got.nodes.tolist()] == [type(a) for a in expected.nodes.tolist()]
    assert got.vectors.dtype == expected.vectors.dtype
    np.testing.assert_array_equal(got.vectors, expected.vectors)
    assert got.levels.tolist() == (expected.levels.tolist() if levels else [expected.dimensions])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_round_trip_of_ids_vectors_and_levels(tmp_path, suffix, ids):
    embedding = Embedding(ids, vectors(), levels=[1, 2])
    write_embedding(embedding, tmp_path / f"e{suffix}")
    assert_same(read_embedding(tmp_path / f"e{suffix}"), embedding, levels=suffix in KEEPS_LEVELS)


@pytest.mark.parametrize("suffix", SUFFIXES)
@SAME_FOLDER
@given(data=st.data())
def test_round_trip_of_random_strings_and_numbers(tmp_path, suffix, data):
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
    ids = data.draw(st.lists(text, min_size=1, max_size=5, unique=True))
    finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
    matrix = data.draw(hnp.arrays(np.float32, (len(ids), 2), elements=finite))
    embedding = Embedding(ids, matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        write_embedding(embedding, tmp_path / f"e{suffix}")
    assert_same(read_embedding(tmp_path / f"e{suffix}", id_type="str"), embedding)


@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "\t", "\r", "\n", "'"])
def test_ids_in_csv_are_not_executed_by_spreadsheets(tmp_path, mark):
    write_embedding(Embedding([f"{mark}a", "b", f"c{mark}"], np.eye(3)), tmp_path / "e.csv")
    with (tmp_path / "e.csv").open(newline="") as file:
        assert [row[0] for row in csv.reader(file)] == ["node", f"'{mark}a", "b", f"c{mark}"]


MARKS = st.text(st.sampled_from("=+-@\t\r\n'\"a1,; "), max_size=5)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@SAME_FOLDER
@given(ids=st.lists(MARKS | TEXT, min_size=1, max_size=5, unique=True))
def test_escaped_ids_in_csv_are_restored(tmp_path, ids):
    embedding = Embedding(ids, np.ones((len(ids), 2), np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        write_embedding(embedding, tmp_path / "e.csv")
    assert_same(read_embedding(tmp_path / "e.csv", id_type="str"), embedding)
    with (tmp_path / "e.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert not any(row[0].startswith(tuple("=+-@\t\r\n")) for row in rows)
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:  # saved again with tabs
        csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL).writerows(rows)
    assert_same(read_embedding(tmp_path / "t.csv", id_type="str"), embedding)


def test_file_names_in_csv_are_not_executed_by_spreadsheets(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    embedding = Embedding(range(34), np.random.default_rng(0).random((34, 2)))
    for name in ("=a.npz", "b.npz"):
        write_embedding(embedding, name)
    assert run(["evaluate", "=a.npz", "b.npz", "karate", "--csv", "--train", "50", "--repeats", "2"]) == 0
    names = [line.split(",")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["embedding", "'=a.npz", "'=a.npz", "b.npz", "b.npz"]


def test_integers_in_csv_are_numbers(tmp_path):
    write_embedding(Embedding([-5, 3], np.eye(2)), tmp_path / "e.csv")
    assert (tmp_path / "e.csv").read_text().splitlines()[1] == "-5,1,0"
    assert read_embedding(tmp_path / "e.csv").nodes.tolist() == [-5, 3]


def test_apostrophes_in_csv_of_other_tools_are_kept(tmp_path):
    (tmp_path / "e.csv").write_text("token,x,y\n'',1,0\n',2,0\n'=a,1,1\n")
    assert read_embedding(tmp_path / "e.csv").nodes.tolist() == ["''", "'", "'=a"]


@pytest.mark.parametrize("suffix", TYPED)
def test_typed_formats_keep_every_type(tmp_path, suffix):
    mixed = Embedding([1, "1", (2, "b", (3,)), 2**70], vectors(np.float64), levels=[2, 1])
    write_embedding(mixed, tmp_path / f"e{suffix}")
    assert_same(read_embedding(tmp_path / f"e{suffix}"), mixed)
    digits = Embedding(["1", "2", "3", "4"], vectors())
    write_embedding(digits, tmp_path / f"e{suffix}")
    assert_same(read_embedding(tmp_path / f"e{suffix}"), digits)


@pytest.mark.parametrize("suffix", [".csv", ".emb"])
def test_text_formats_warn_if_strings_would_become_integers(tmp_path, suffix):
    embedding = Embedding(["1", "2", "3", "4"], vectors())
    with pytest.warns(UserWarning, match='id_type="str"'):
        write_embedding(embedding, tmp_path / f"e{suffix}")
    assert_same(read_embedding(tmp_path / f"e{suffix}", id_type="str"), embedding)
    assert read_embedding(tmp_path / f"e{suffix}").nodes.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("suffix", [".csv", ".emb"])
def test_text_formats_raise_for_mixed_ids_and_numbers_out_of_range(tmp_path, suffix):
    with pytest.raises(ParameterError, match=r"save as \.npz or \.parquet"):
        write_embedding(Embedding([1, "a"], np.eye(2)), tmp_path / f"e{suffix}")
    with pytest.raises(ParameterError, match="32-bit"):
        write_embedding(Embedding([1], [[1e300]]), tmp_path / f"e{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_ids_that_cannot_be_saved_raise(tmp_path):
    with pytest.raises(ParameterError, match="integers, strings and tuples"):
        write_embedding(Embedding([1, frozenset({2})], np.eye(2)), tmp_path / "e.npz")
    with pytest.raises(ParameterError, match="empty node id"):
        write_embedding(Embedding(["", "b"], np.eye(2)), tmp_path / "e.emb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("surrogate", ["\ud800", "a\udfffb", "\udc80 c"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_lone_surrogate_is_kept_or_named_in_an_error(tmp_path, suffix, surrogate):
    embedding = Embedding(["ok", surrogate], np.eye(2))
    if suffix in {".npz", ".npy"}:
        write_embedding(embedding, tmp_path / f"e{suffix}")
        assert_same(read_embedding(tmp_path / f"e{suffix}"), embedding)
        return
    with pytest.raises(ParameterError, match=r"lone surrogate.*save as \.npz or \.npy") as caught:
        write_embedding(embedding, tmp_path / f"e{suffix}")
    assert repr(surrogate) in str(caught.value)
    str(caught.value).encode()  # the message can be printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", TYPED)
def test_a_lone_surrogate_among_mixed_ids_is_kept(tmp_path, suffix):
    mixed = Embedding([1, "\ud800", ("\udfff", 2)], np.eye(3))
    write_embedding(mixed, tmp_path / f"e{suffix}")
    assert_same(read_embedding(tmp_path / f"e{suffix}"), mixed)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_many_rows_are_written_in_blocks(tmp_path, suffix):
    embedding = Embedding(np.arange(20_001), np.random.default_rng(0).normal(size=(20_001, 3)).astype(np.float32))
    write_embedding(embedding, tmp_path / f"e{suffix}")
    assert_same(read_embedding(tmp_path / f"e{suffix}"), embedding)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip_of_an_embedding_without_nodes(tmp_path, suffix):
    write_embedding(Embedding([], np.empty((0, 2), dtype=np.float32)), tmp_path / f"e{suffix}")
    assert read_embedding(tmp_path / f"e{suffix}").vectors.shape == (0, 2)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip_of_the_first_levels(tmp_path, suffix):
    part = Embedding(["a", "b", "c", "d"], vectors(), levels=[2, 1]).up_to(1)
    write_embedding(part, tmp_path / f"e{suffix}")
    assert_same(read_embedding(tmp_path / f"e{suffix}"), part)


def test_npz_has_the_documented_arrays_and_no_pickle(tmp_path):
    write_embedding(Embedding(["a", "b"], np.eye(2), levels=[1, 1]), tmp_path / "e.npz")
    with np.load(tmp_path / "e.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["levels", "nodes", "vectors"]
        assert arrays["nodes"].tolist() == ["a", "b"]
        assert arrays["levels"].tolist() == [1, 1]


def test_npy_has_its_ids_in_a_json_file(tmp_path):
    write_embedding(Embedding(["a", 2], np.eye(2)), tmp_path / "e.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "e.npy"), np.eye(2))
    assert json.loads((tmp_path / "e.nodes.json").read_text())["nodes"] == ["a", 2]


def test_parquet_and_csv_name_columns_by_level(tmp_path):
    embedding = Embedding(["a", "b"], np.eye(2), levels=[1, 1])
    write_embedding(embedding, tmp_path / "e.parquet")
    table = pq.read_table(tmp_path / "e.parquet")
    assert table.column_names == ["node", "u1_1", "u2_1"]
    assert json.loads(table.schema.metadata[b"boostne.levels"]) == [1, 1]
    write_embedding(embedding, tmp_path / "e.csv")
    assert (tmp_path / "e.csv").read_text().splitlines() == ['"node","u1_1","u2_1"', '"a",1,0', '"b",0,1']


def test_gensim_reads_word2vec_files(tmp_path):
    from gensim.models import KeyedVectors

    ids = ["New York", "50%", "Zürich", "tab\tand\u00a0nbsp", "plain"]
    embedding = Embedding(ids, np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))
    write_embedding(embedding, tmp_path / "e.emb")
    theirs = KeyedVectors.load_word2vec_format(tmp_path / "e.emb")
    assert theirs.index_to_key == ["New%20York", "50%25", "Zürich", "tab%09and%C2%A0nbsp", "plain"]
    np.testing.assert_array_equal(theirs.vectors, embedding.vectors)


def test_word2vec_files_of_gensim_are_read(tmp_path):
    from gensim import models

    theirs = models.KeyedVectors(3)
    theirs.add_vectors(["b", "a", "100%"], np.eye(3, dtype=np.float32) / 3)
    theirs.save_word2vec_format(tmp_path / "g.txt")
    ours = read_embedding(tmp_path / "g.txt")
    for node in ("a", "b", "100%"):
        np.testing.assert_array_equal(ours[node], theirs[node])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", "node,x,y\n7,1,2\n9,3,4.5\n"),
        ("e.csv", "x,node,y\n1,7,2\n3,9,4.5\n"),
        ("e.csv", "7,1,2\n9,3,4.5\n"),
        ("e.csv", ",0,1\n7,1,2\n9,3,4.5\n"),
        ("e.csv", "id,0,1\r\n7,1,2\r\n\r\n9,3,4.5\r\n"),
        ("e.csv", "\ufeffid;0;1\n7;1;2\n9;3;4.5\n"),
        ("e.csv", 'name\tx\ty\n"7"\t1\t2\n9\t3\t4.5'),
        ("e.emb", "2 2\n7 1 2\n9 3 4.5\n"),
        ("e.emb", "2 2\n7 1 2 \n9 3 4.5 \n"),
        ("e.txt", "7 1 2\n9 3 4.5\n"),
        ("e.txt", "2 2\r\n7\t1\t2\r\n9\t3\t4.5"),
    ],
)
def test_variants_of_csv_and_word2vec_are_read(tmp_path, name, text):
    (tmp_path / name).write_bytes(text.encode())
    got = read_embedding(tmp_path / name)
    assert got.nodes.tolist() == [7, 9]
    np.testing.assert_array_equal(got.vectors, [[1, 2], [3, 4.5]])
    assert got.levels.tolist() == [2]


def test_numbered_columns_are_a_header(tmp_path):
    (tmp_path / "e.csv").write_text("name,0,1,2\na,1,2,3\n")
    assert read_embedding(tmp_path / "e.csv").nodes.tolist() == ["a"]
    (tmp_path / "e.csv").write_text("one-hot,0,1\na,1,0\n")
    assert read_embedding(tmp_path / "e.csv").nodes.tolist() == ["one-hot", "a"]


def test_files_of_pandas_are_read(tmp_path):
    import pandas

    frame = pandas.DataFrame([[1.0, 2.0], [3.0, 4.5]], index=["a", "b"])
    frame.to_csv(tmp_path / "p.csv")
    frame.rename(columns=str).to_parquet(tmp_path / "p.parquet")
    for name in ("p.csv", "p.parquet"):
        np.testing.assert_array_equal(read_embedding(tmp_path / name)["b"], [3, 4.5])


def test_npy_ids_can_be_given(tmp_path):
    np.save(tmp_path / "v.npy", np.eye(2, dtype=np.float32))
    (tmp_path / "ids.txt").write_text("7\n9\n")
    with pytest.raises(FileFormatError, match=r"v\.nodes\.json, is missing; pass ids="):
        read_embedding(tmp_path / "v.npy")
    assert read_embedding(tmp_path / "v.npy", ids=["a", "b"]).nodes.tolist() == ["a", "b"]
    assert read_embedding(tmp_path / "v.npy", ids=tmp_path / "ids.txt").nodes.tolist() == [7, 9]
    assert read_embedding(tmp_path / "v.npy", ids=str(tmp_path / "ids.txt"), id_type="str").nodes.tolist() == ["7", "9"]
    with pytest.raises(FileFormatError, match=r"v\.npy: .*same length, got 3 and 2"):
        read_embedding(tmp_path / "v.npy", ids=range(3))
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        read_embedding(tmp_path / "v.npy", ids=tmp_path / "none.txt")


def test_npy_ids_of_other_vectors_raise(tmp_path):
    write_embedding(Embedding(["a", "b"], np.eye(2)), tmp_path / "e.npy")
    np.save(tmp_path / "e.npy", np.zeros((2, 2)))
    with pytest.raises(FileFormatError, match=r"its checksum does not match e\.npy"):
        read_embedding(tmp_path / "e.npy")
    (tmp_path / "e.nodes.json").write_text("[1, 2]")
    with pytest.raises(FileFormatError, match="nodes, levels and sha256"):
        read_embedding(tmp_path / "e.npy")


@pytest.mark.parametrize("name", ["e.xyz", "e", "e.npz.gz"])
def test_an_unknown_suffix_raises_with_all_formats(tmp_path, name):
    for call in (lambda p: write_embedding(Embedding([0], [[1]]), p), read_embedding):
        with pytest.raises(ParameterError, match=r"\.npz, \.npy, \.parquet, \.csv, \.emb, \.txt"):
            call(tmp_path / name)


def test_missing_files_and_wrong_options_raise(tmp_path):
    for suffix in SUFFIXES:
        with pytest.raises(FileNotFoundError, match=f"none{suffix}"):
            read_embedding(tmp_path / f"none{suffix}")
    write_embedding(Embedding([0], [[1]]), tmp_path / "e.npz")
    with pytest.raises(ParameterError, match=r"ids= applies only to \.npy files"):
        read_embedding(tmp_path / "e.npz", ids=[0])
    with pytest.raises(ParameterError, match="id_type must be"):
        read_embedding(tmp_path / "e.npz", id_type="float")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.npz", b"not a zip", "e.npz"),
        ("e.npz", b"", "e.npz"),
        ("e.npy", b"\x93NUMPY", "e.npy"),
        ("e.parquet", b"PAR1", "e.parquet"),
        ("e.csv", b"", "e.csv"),
        ("e.csv", b"node,x,y\na,1,2\nb,3\n", "e.csv, line 3: 1 number, but the first vector has 2"),
        ("e.csv", b"node,x,y\na,1,two\n", "two"),
        ("e.csv", b"node,x,y\na,1,\n", "e.csv"),
        ("e.csv", b"node,x,y\na,1,nan\n", "NaN or infinity in the vector of node 'a'"),
        ("e.csv", b"node,x,y\na,1,1\na,1,2\n", "'a' more than once"),
        ("e.csv", b"node,x\n\xff\xfe,1\n", "e.csv"),
        ("e.csv", b"node\na\n", "at least one column"),
        ("e.emb", b"", "e.emb"),
        ("e.emb", b"3 2\na 1 2\nb 3 4\n", "announces 3 vectors of 2 numbers, but the file contains 2 of 2"),
        ("e.emb", b"2 3\na 1 2\nb 3 4\n", "announces 2 vectors of 3 numbers, but the file contains 2 of 2"),
        ("e.emb", b"2 2\na 1 2\nNew York 3 4\n", "e.emb, line 3: 3 numbers, but the first vector has 2"),
        ("e.emb", b"1 2\na 1 inf\n", "NaN or infinity"),
    ],
)
def test_malformed_files_raise_with_their_name(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    ids = [0] if name.endswith("npy") else None
    with pytest.raises(FileFormatError) as caught:
        read_embedding(tmp_path / name, ids=ids)
    assert name in str(caught.value)
    assert message in str(caught.value)


def test_digits_of_other_scripts_are_no_header(tmp_path):
    (tmp_path / "e.emb").write_text("٣ 1.5\nx 2\n", encoding="utf-8")
    assert read_embedding(tmp_path / "e.emb").nodes.tolist() == ["٣", "x"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@SAME_FOLDER
@given(content=st.binary(max_size=200))
def test_random_bytes_give_an_embedding_or_a_boostne_error(tmp_path, suffix, content):
    (tmp_path / f"e{suffix}").write_bytes(content)
    with suppress(BoostneError):
        read_embedding(tmp_path / f"e{suffix}")


def test_npz_without_the_documented_arrays_raises(tmp_path):
    np.savez(tmp_path / "e.npz", embeddings=np.eye(2))
    with pytest.raises(FileFormatError, match="the array 'nodes' is missing; it contains embeddings"):
        read_embedding(tmp_path / "e.npz")
    np.savez(tmp_path / "e.npz", nodes=np.array([0, "a"], dtype=object), vectors=np.eye(2))
    with pytest.raises(FileFormatError, match="allow_pickle"):
        read_embedding(tmp_path / "e.npz")


def test_parquet_with_a_column_of_lists_raises(tmp_path):
    pq.write_table(pa.table({"node": [1, 2], "vector": [[1.0, 2.0], [3.0, 4.0]]}), tmp_path / "e.parquet")
    with pytest.raises(FileFormatError, match="column 'vector' must contain one number per row, got list"):
        read_embedding(tmp_path / "e.parquet")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_keeps_the_old_file_and_leaves_no_temporary_file(tmp_path, error):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(error), atomic_path(target) as temporary:  # noqa: PT012 (the file is written first)
        temporary.write_text("partial")
        raise error
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_names_the_file_and_keeps_the_old_one(tmp_path, suffix, no_space):
    path = tmp_path / f"e{suffix}"
    write_embedding(Embedding(range(20), np.zeros((20, 3))), path)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with no_space(), pytest.raises(OSError, match=f"File too large: .*/e{suffix}'"):
        write_embedding(Embedding(range(500), np.random.default_rng(0).random((500, 8))), path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_full_disk_names_the_file_of_ids_and_keeps_the_old_ones(tmp_path, no_space):
    write_embedding(Embedding(range(3), np.eye(3)), tmp_path / "e.npy")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with no_space(), pytest.raises(OSError, match=r"File too large: .*/e\.nodes\.json'"):
        write_embedding(Embedding([f"a long id {i}" for i in range(100)], np.zeros((100, 1))), tmp_path / "e.npy")
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "command", ["generate {} --nodes 500 --communities 5", "embed karate -o {} --dimensions 8 --levels 2"]
)
def test_the_program_names_the_file_if_the_disk_is_full(tmp_path, capsys, no_space, command):
    path = tmp_path / "out.csv"
    with no_space():
        assert run([part.format(path) for part in command.split()]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"boostne: error: {path}: File too large"
    assert list(tmp_path.iterdir()) == []


def test_errors_without_a_number_name_the_file(tmp_path):
    with pytest.raises(OSError, match=r"a strange device: .*/a\.txt'"), atomic_path(tmp_path / "a.txt"):
        raise OSError("a strange device")


def test_errors_of_other_files_are_not_changed(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.txt"), atomic_path(tmp_path / "a.txt"):
        (tmp_path / "none.txt").read_text()


def test_success_replaces_the_file_behind_a_link(tmp_path):
    target, link = tmp_path / "a.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_path(link) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(tmp_path.iterdir()) == [target, link]


def test_new_files_obey_the_umask(tmp_path):
    write_embedding(Embedding([0], [[1]]), tmp_path / "e.npz")
    (tmp_path / "plain").touch()
    assert (tmp_path / "e.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_killed_process_leaves_no_partial_file(tmp_path):
    code = (
        "import os, sys; from boostne.io.atomic import atomic_path\n"
        "with atomic_path(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('partial'); os._exit(9)"
    )
    target = tmp_path / "a.txt"
    assert subprocess.run([sys.executable, "-c", code, target], check=False).returncode == 9
    assert not target.exists()


def test_npy_ids_are_renamed_before_the_vectors(tmp_path, monkeypatch):
    renamed = []
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda old, new: (renamed.append(new.name), replace(old, new)))
    write_embedding(Embedding([0], [[1]]), tmp_path / "e.npy")
    assert renamed == ["e.nodes.json", "e.npy"]


def test_check_writable_raises_for_folders_and_missing_folders(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.npz").mkdir()
    check_writable(tmp_path / "new.npz")
    check_writable(tmp_path / "file")
    for path, message in [
        (tmp_path / "none" / "e.npz", "does not exist; create it first"),
        (tmp_path / "file" / "e.npz", "is not a folder"),
        (tmp_path / "folder.npz", "it is a folder"),
    ]:
        with pytest.raises(ParameterError, match=message):
            check_writable(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.npz"]


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs /proc, which is not writable")
def test_check_writable_raises_for_a_read_only_folder():
    with pytest.raises(ParameterError, match="is not writable"):
        check_writable("/proc/e.npz")


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_check_writable_raises_for_a_device():
    with pytest.raises(ParameterError, match="not a regular file"):
        check_writable("/dev/null")


# ---- target vectors


def with_targets(ids=("a", "b"), target_ids=(7, 8, 9)):
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    targets = Embedding(target_ids, values[: len(target_ids)] + 20, levels=[1, 2])
    return Embedding(ids, values[: len(ids)], levels=[1, 2], targets=targets)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_round_trip_of_targets(tmp_path, suffix, ids):
    embedding = with_targets(target_ids=ids)
    write_embedding(embedding, tmp_path / f"e{suffix}")
    found = read_embedding(tmp_path / f"e{suffix}")
    assert_same(found, embedding, levels=suffix in KEEPS_LEVELS)
    assert_same(found.targets, embedding.targets, levels=suffix in KEEPS_LEVELS)
    beside = tmp_path / f"e.targets{suffix}"
    assert beside.exists() == (suffix != ".npz")
    if suffix != ".npz":
        assert_same(read_embedding(beside), embedding.targets, levels=suffix in KEEPS_LEVELS)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_mixed_ids_of_targets(tmp_path, suffix):
    embedding = with_targets(target_ids=(1, "one"))
    if suffix not in TYPED:
        with pytest.raises(BoostneError):
            write_embedding(embedding, tmp_path / f"e{suffix}")
        assert not list(tmp_path.iterdir())
        return
    write_embedding(embedding, tmp_path / f"e{suffix}")
    assert_same(read_embedding(tmp_path / f"e{suffix}").targets, embedding.targets)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_targets_of_an_earlier_embedding_are_removed(tmp_path, suffix):
    embedding = with_targets()
    path = tmp_path / f"e{suffix}"
    write_embedding(embedding, path)
    write_embedding(Embedding(embedding.nodes, embedding.vectors), path)
    assert read_embedding(path).targets is None
    assert len(list(tmp_path.iterdir())) == (2 if suffix == ".npy" else 1)


def test_writing_npz_leaves_a_file_of_similar_name_alone(tmp_path):
    write_embedding(Embedding([1], [[1.0]]), tmp_path / "e.targets.npz")
    write_embedding(Embedding([1], [[1.0]]), tmp_path / "e.npz")
    assert (tmp_path / "e.targets.npz").exists()
    assert read_embedding(tmp_path / "e.npz").targets is None


def test_targets_that_do_not_belong_to_the_sources(tmp_path):
    write_embedding(Embedding([1], [[1.0]]), tmp_path / "e.csv")
    write_embedding(Embedding([1], [[1.0, 2.0]]), tmp_path / "e.targets.csv")
    with pytest.raises(FileFormatError, match=r"e.targets.csv: targets must have the levels.* \[1\], got \[2\]; if it"):
        read_embedding(tmp_path / "e.csv")
    (tmp_path / "e.targets.csv").write_text("node,u1_1\n1,x\n")
    with pytest.raises(FileFormatError, match=r"e.targets.csv"):
        read_embedding(tmp_path / "e.csv")


def test_given_ids_belong_to_a_file_without_targets(tmp_path):
    write_embedding(with_targets(), tmp_path / "e.npy")
    assert read_embedding(tmp_path / "e.npy", ids=[1, 2]).targets is None


def test_an_npz_file_with_half_of_the_arrays_of_targets(tmp_path):
    np.savez(tmp_path / "e.npz", nodes=[1], vectors=[[1.0]], targets_nodes=[1])
    with pytest.raises(FileFormatError, match=r"e.npz: the array 'targets_vectors' of the target vectors is missing"):
        read_embedding(tmp_path / "e.npz")
