"""Ambiguous and broken input files: each is refused or noted in one line that says how to decide."""

# ruff: noqa: E501 (one case per line)

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from boostne import BoostNE, as_graph
from boostne.errors import BoostneError, InputWarning
from boostne.io import read_embedding, read_graph, read_labels

EDGES = b"1 2\n2 3\n"


def zipped(*names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, EDGES)
    return buffer.getvalue()


def array(values):
    buffer = io.BytesIO()
    np.save(buffer, np.array(values))
    return buffer.getvalue()


def arrays(**values):
    buffer = io.BytesIO()
    np.savez(buffer, **values)
    return buffer.getvalue()


# Name of the file, its content, options, and the message of the error.
REFUSED_GRAPHS = {
    "unknown words above text ids": ("g.csv", "producer,part\nann,b\nann,c\n", {}, "may be a header or an edge, since neither id occurs again: header=True reads it as column names, header=False as an edge"),
    "two text edges without a common id": ("g.txt", "a b\nc d\n", {}, "g.txt, line 1: 'a | b' may be a header or an edge"),
    "names of columns that are also nodes": ("g.csv", "user,friend\n" + "a,b\n" * 120 + "user,c\n", {}, "has names of columns, but 'user' is also a node: header=True"),
    "several further columns": ("g.csv", "source,target,since,kind\n1,2,3,x\n", {}, "the weight column is ambiguous; .*pass weight='since', or weight=False"),
    "four columns without names": ("g.csv", "1,2,3,4\n2,3,4,5\n", {}, "the weight column is ambiguous"),
    "text in the weight column": ("g.csv", "1,2,x\n", {}, "line 1: the weight 'x' is not a number: .*weight=False"),
    "decimal commas": ("g.csv", "1;2;0,5\n", {}, "line 1: the weight '0,5' is not a number"),
    "a line with a column too many": ("g.txt", "1 2\n1 2 3\n", {}, "line 2: 3 columns, but the lines above have 2 .*format='adjlist'"),
    "another delimiter": ("g.txt", "1|2\n2|3\n", {}, "one column .*: the delimiter is a space; set another one with delimiter="),
    "an empty id": ("g.csv", "1,2\n,3\n", {}, "line 2: an empty node id"),
    "no lines": ("g.csv", "", {}, "the file is empty"),
    "a header alone": ("g.csv", "source,target\n", {}, "a header without edges"),
    "only comments": ("g.csv", "#1,2\n", {}, "no data, only comments"),
    "Latin-1": ("g.csv", b"caf\xe9,bar\n", {}, "line 1: not UTF-8 text .*: save the file as UTF-8"),
    "UTF-16 without a mark": ("g.txt", "1 2\n3 4\n".encode("utf-16-le"), {}, "UTF-16 text without a byte order mark: save the file as UTF-8"),
    "UTF-32": ("g.txt", "1 2\n".encode("utf-32"), {}, "UTF-32 text: save the file as UTF-8"),
    "gzip without its suffix": ("g.txt", gzip.compress(EDGES), {}, "a gzip file instead of text: add .gz to its name"),
    "bzip2 without its suffix": ("g.txt", bz2.compress(EDGES), {}, "a bzip2 file instead of text: add .bz2"),
    "xz without its suffix": ("g.txt", lzma.compress(EDGES), {}, "an xz file instead of text: add .xz"),
    "an archive without its suffix": ("g.txt", zipped("a.txt"), {}, "a zip archive or an Excel workbook instead of text: unpack it"),
    "an archive of two files": ("g.zip", zipped("a.txt", "b.txt"), {}, "an archive of 2 files \\('a.txt', 'b.txt'\\), .*: unpack it"),
    "a truncated xz file": ("g.txt.xz", lzma.compress(EDGES)[:-20], {}, "cannot be read as edgelist: .*truncated.*; the file is damaged"),
    "a truncated Zstandard file": ("g.txt.zst", pa.Codec("zstd").compress(EDGES * 50, asbytes=True)[:-3], {}, "the file is damaged"),
    "a file that is no archive": ("g.zip", EDGES, {}, "cannot be read as a compressed file: File is not a zip file"),
    "a MATLAB file in an archive": ("g.mat.bz2", bz2.compress(b"x" * 200), {}, "MATLAB files are read from disk, .*: decompress it first"),
    "JSON in a text file": ("g.txt", '{"nodes": [], "links": []}', {}, "JSON instead of lines: .*name it .json or pass format='json'"),
    "JSON that is no graph": ("g.json", '{"a": 1}', {}, "JSON without a list of links; expected"),
    "JSON with a float id": ("g.json", "[[1.5, 2]]", {}, "the id of a node must be an integer or a string, got 1.5"),
    "a web page": ("g.csv", "<!DOCTYPE html>\n<html></html>\n", {}, "a web page instead of data: download the file itself"),
    "a pickle": ("g.txt", b"\x80\x04\x95\x10\0", {}, "a pickle instead of text, which could run any code"),
    "a Parquet file named .csv": ("g.csv", b"PAR1\x15\x04\x15\x00", {}, "a Parquet file instead of text: name it .parquet"),
    "vectors instead of edges": ("g.csv", "node,u1_1,u1_2\n1,0.5,0\n", {}, "the columns are those of vectors \\('node', 'u1_1', 'u1_2'\\): give a file of edges"),
    "vectors without names": ("g.csv", "1,0.5,0,2\n2,0,1.5,0\n", {}, "line 1: a node and its vector \\('1 | 0.5 | 0 | 2'\\): give a file of edges"),
    "word2vec instead of edges": ("g.txt", "2 3\n1 0.5 0 1\n2 0 1 0\n", {}, "line 2: 4 columns, .*: a node and its vector instead of an edge"),
    "an embedding in an archive of arrays": ("g.npz", arrays(nodes=[1], vectors=[[0.5]]), {}, "an embedding instead of a graph: give the file of edges"),
    "labels instead of edges": ("g.csv", "id,name,label\n1,ann,red\n", {}, "the columns are those of labels \\('id', 'name', 'label'\\): give a file of edges, or choose its columns with source= and target="),
    "an Excel workbook": ("g.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", {}, "an Excel workbook instead of text: save the sheet as CSV"),
}  # fmt: skip
REFUSED_LABELS = {
    "labels with spaces": ("l.txt", "1 machine learning\n2 databases\n", {}, "line 1: 'machine learning' may be 2 labels or one with spaces: multilabel=True reads 2 labels, multilabel=False reads one"),
    "a table without a header": ("l.csv", "1,ann,red\n2,bob,red\n", {}, "3 columns without a value in common: label=2 reads the labels from the last column .*multilabel=True"),
    "a table without usual names": ("l.csv", "id,town,team\n1,x,red\n2,y,red\n", {}, "the column of labels is ambiguous; the columns are 'id', 'town', 'team': pass label='team'"),
    "a column that is not there": ("l.csv", "id,label\n1,x\n", {"label": "team"}, "label='team' is not a column; the columns are 'id', 'label'"),
    "vectors instead of labels": ("l.txt", "1 0.5 0.25\n2 0.1 0.7\n", {}, "line 1: 2 numbers: a vector instead of labels"),
    "word2vec instead of labels": ("l.txt", "2 3\n1 0.5 0 1\n2 0 1 0\n", {}, "line 2: 3 numbers: a vector instead of labels; give a file of labels"),
    "a table of vectors": ("l.csv", "node,u1_1,u1_2\n1,0.5,0\n", {}, "the columns are those of vectors .*: give a file of labels"),
    "an embedding": ("l.npz", arrays(nodes=[1], vectors=[[0.5]]), {}, "labels are read from text and .mat files, and .npz is a suffix of vectors and tables"),
    "one column": ("l.txt", "1\n2\n", {}, "no labels: each line has one column; see delimiter=, or format='communities'"),
    "a short row of a table": ("l.csv", "id,name,label\n1,a,x\n2,b\n", {}, "line 3: 2 columns, but the first line has 3"),
    "one label per line, but two columns": ("l.csv", "1,a,b\n", {"multilabel": False}, "line 1: 3 columns, but multilabel=False: choose one with label="),
}  # fmt: skip
REFUSED_EMBEDDINGS = {
    "ids that are not integers": ("v.csv", "node,a,b\n1,0,0\nx,1,1\n", {"id_type": "int"}, "v.csv, line 3: the node id 'x' is not an integer; see id_type="),
    "edges instead of vectors": ("v.csv", "1,2\n2,3\n", {}, "one whole number per node, as in a list of edges or labels: give a file of vectors"),
    "edges as word2vec": ("v.txt", "1 2\n2 3\n", {}, "announces 1 vectors of 2 numbers, but the file contains 1 of 1; if these are edges or labels"),
    "labels instead of vectors": ("v.csv", "id,name,label\n1,ann,red\n", {}, "v.csv, line 2: 'ann' is not a number: .*give a file of vectors, not of edges or labels"),
    "labels with spaces instead of vectors": ("v.txt", "1 databases\n2 machine learning\n", {}, "v.txt, line 1: 'databases' is not a number"),
    "a short vector": ("v.csv", "node,a,b\n1,0,0\n2,1\n", {}, "v.csv, line 3: 1 number, but the first vector has 2"),
    "an unknown suffix": ("v.vec", "1 0.5\n", {}, "v.vec: the suffix must be one of .npz, .npy, .parquet, .csv, .emb, .txt, got '.vec'"),
    "vectors without ids": ("v.npy", array([[0.5]]), {}, "v.npy: the file with its ids, v.nodes.json, is missing; pass ids="),
    "word2vec ids that are not integers": ("v.emb", "2 1\n1 0\ny 1\n", {"id_type": "int"}, "v.emb, line 3: the node id 'y' is not an integer"),
}  # fmt: skip
# As above, with the nodes, or the labels of each node, and words of the line that says how the file was read.
NOTED_GRAPHS = {
    "a header above text ids": ("g.csv", "user,friend\nann,bob\ncarl,dora\n", {}, ["ann", "bob", "carl", "dora"], "separated by commas, header in line 1; source 'user', target 'friend', no weights; 4 nodes, 2 edges"),
    "labels": ("g.csv", "1,red\n2,blue\n3,red\n", {}, ["1", "2", "3", "blue", "red"], "numbers in one column and text in the other are read as nodes"),
    "self-loops": ("g.txt", "1 1\n1 2\n2 2\n", {}, [1, 2], "dropped 2 self-loops; self_loops='keep' keeps them"),
    "commented edges": ("g.csv", "1,2\n#2,3\n", {}, [1, 2], "1 comment looks like an edge, such as '#2,3'; comments='' reads all lines"),
    "repeated edges": ("g.txt", "1 2 5\n2 1 7\n", {}, [1, 2], "1 repeated edge, kept once, with the largest weight"),
    "float ids": ("g.csv", "0.0,1.0\n1.0,2.0\n", {}, [0, 1, 2], "ids such as '1.0' are integers"),
    "UTF-16": ("g.txt", "1 2\n".encode("utf-16"), {}, [1, 2], "1 edge"),
    "bzip2": ("g.txt.bz2", bz2.compress(EDGES), {}, [1, 2, 3], "2 edges"),
    "two xz streams": ("g.txt.xz", lzma.compress(b"1 2\n") + lzma.compress(b"2 3\n"), {}, [1, 2, 3], "2 edges"),
    "Zstandard": ("g.txt.zst", pa.Codec("zstd").compress(EDGES, asbytes=True), {}, [1, 2, 3], "2 edges"),
    "an archive of one file": ("g.zip", zipped("inner.txt", "__MACOSX/inner.txt"), {}, [1, 2, 3], "2 edges"),
    "node-link JSON": ("g.json", json.dumps({"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}), {}, ["a", "b"], "JSON, node-link, edges in 'links', undirected"),
    "a list of edges as JSON": ("g.json", "[[1, 2, 0.5], [2, 3, 1]]", {}, [1, 2, 3], "JSON, a list of edges"),
}  # fmt: skip
NOTED_LABELS = {
    "a table": ("l.csv", "id,name,label\n1,ann,red\n2,bob,blue\n", {}, {1: ("red",), 2: ("blue",)}, "node 'id', label 'label' of 3 columns; 2 nodes, 2 labels, one per node"),
    "chosen columns": ("l.csv", "id,town,team\n1,x,red\n", {"node": "id", "label": "team"}, {1: ("red",)}, "label 'team' of 3 columns"),
    "one label with spaces": ("l.txt", "1 machine learning\n2 x\n", {"multilabel": False}, {1: ("machine learning",), 2: ("x",)}, "the rest of each line is one label"),
    "two labels": ("l.txt", "1 machine learning\n", {"multilabel": True}, {1: ("learning", "machine")}, "a node and its labels per line; 1 node, 2 labels, up to 2 per node"),
    "numbers": ("l.txt", "1 7 8\n2 8\n", {}, {1: (7, 8), 2: (8,)}, "up to 2 per node"),
    "edges": ("l.txt", "".join(f"{i} {i + 1}\n" for i in range(40)), {}, {i: (i + 1,) for i in range(40)}, "most labels are also nodes, as in a list of edges"),
    "a first line like no other": ("l.csv", "ann,chef\nbob,red\neve,red\n", {}, {"ann": ("chef",), "bob": ("red",), "eve": ("red",)}, "line 1 \\('ann | chef'\\) is read as a node and its label, which no other node has; header=True"),
}  # fmt: skip
NOTED_EMBEDDINGS = {
    "a table": ("v.csv", "node;a;b\n1;0.5;2\nx;1;1\n", {}, ["1", "x"], "separated by semicolons, header in line 1; node 'node'; 2 nodes with 2 numbers each; ids are strings"),
    "a table without a header": ("v.csv", "7.0,0.5\n8.0,1\n", {}, [7, 8], "separated by commas, no header; node in column 0; 2 nodes with 1 number each; ids are integers"),
    "word2vec": ("v.emb", "1 2\n5 0.5 1\n", {"id_type": "str"}, ["5"], "word2vec text, the sizes in line 1; 1 node with 2 numbers each; ids are strings"),
    "word2vec without sizes": ("v.txt", "5 0.5 1\n", {}, [5], "word2vec text, no line of sizes"),
    "arrays": ("v.npz", arrays(nodes=[3, 4], vectors=[[1, 2], [3, 4]], levels=[1, 1]), {}, [3, 4], "2 nodes with 2 numbers each in 2 levels"),
    "ids beside": ("v.npy", array([[0.5]]), {"ids": ["a"]}, ["a"], "1 node with 1 number each; ids are strings"),
}  # fmt: skip
REFUSED = {
    "graph": (read_graph, REFUSED_GRAPHS),
    "labels": (read_labels, REFUSED_LABELS),
    "embedding": (read_embedding, REFUSED_EMBEDDINGS),
}
NOTED = {
    "graph": (read_graph, NOTED_GRAPHS),
    "labels": (read_labels, NOTED_LABELS),
    "embedding": (read_embedding, NOTED_EMBEDDINGS),
}
DOUBTFUL = {"self-loops", "labels", "edges", "commented edges", "a first line like no other"}


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, (_, table) in REFUSED.items() for case in table])
def test_files_that_can_be_read_in_several_ways_or_not_at_all_are_refused(tmp_path, kind, case):
    read, table = REFUSED[kind]
    name, content, options, message = table[case]
    with pytest.raises(BoostneError, match=message) as caught:
        read(write(tmp_path, name, content), **options)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, (_, table) in NOTED.items() for case in table])
def test_readers_say_in_one_line_what_they_assumed(tmp_path, caplog, recwarn, kind, case):
    caplog.set_level("INFO", "boostne")
    read, table = NOTED[kind]
    name, content, options, expected, words = table[case]
    path = write(tmp_path, name, content)
    found = read(path, **options)
    nodes = found.nodes.tolist()
    assert ({node: found[node] for node in nodes} if kind == "labels" else nodes) == expected
    lines = [record.getMessage() for record in caplog.records]
    warned = [str(one.message) for one in recwarn if one.category is InputWarning]
    (line,) = warned if case in DOUBTFUL else lines
    assert len(lines + warned) == 1
    assert line.startswith(f"{path}: ")
    assert words.replace("\\", "") in line


@pytest.mark.parametrize(
    "read",
    [
        read_graph,
        lambda _: as_graph([(1, 1), (1, 2)]),
        lambda _: as_graph(np.eye(3)),
        lambda _: BoostNE(2, levels=1, threads=1).fit([(1, 1), (1, 2), (2, 3)]),
    ],
)
def test_a_warning_points_to_the_line_of_the_caller(tmp_path, read):
    with pytest.warns(InputWarning, match="dropped . self-loop") as caught:
        read(write(tmp_path, "g.txt", "1 1\n1 2\n"))
    assert {one.filename for one in caught if one.category is InputWarning} == {__file__}


def test_there_are_at_least_forty_refused_files():
    assert sum(len(table) for _, table in REFUSED.values()) >= 40
