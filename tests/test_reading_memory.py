"""Limits on the memory of reading files; ``python -m benchmarks reading_memory`` measures whether they are kept."""

import bz2
import ctypes
import gc
import gzip
import io
import lzma
import re
import tracemalloc
import zipfile
from contextlib import suppress

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.io import mmwrite, savemat

from boostne.cli.program import run
from boostne.errors import MemoryLimitError, ParameterError
from boostne.io import read_graph, read_labels
from boostne.io.reading_budget import ReadingBudget
from boostne.io.text_ids import TextIdColumns
from boostne.memory import resident_memory

N_EDGES = 200_000


@pytest.fixture(autouse=True)
def _no_free_memory_held():
    """Return freed memory to the system: if that happened during a test, more would fit into its limit."""
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
    pa.default_memory_pool().release_unused()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    u, v = np.random.default_rng(0).integers(0, N_EDGES // 4, (2, N_EDGES))
    lines = "".join(f"{i} {j}\n" for i, j in zip(u, v, strict=True))
    matrix = sparse.coo_array((np.ones(N_EDGES), (u, v)), shape=(N_EDGES // 4, N_EDGES // 4)).tocsc()
    for name in ("g.txt", "labels.txt", "labels.cmty", "g.adjlist"):
        (folder / name).write_text(lines)
    (folder / "names.csv").write_text(re.sub(r"(\d+) (\d+)\n", r"user\1,user\2\n", lines))
    (folder / "g.txt.gz").write_bytes(gzip.compress(lines.encode(), compresslevel=1))
    mmwrite(folder / "g.mtx", matrix)
    savemat(folder / "g.mat", {"A": matrix})
    sparse.save_npz(folder / "g.npz", matrix)
    pq.write_table(pa.table({"u": u, "v": v}), folder / "g.parquet")
    nx.write_graphml_xml(nx.path_graph(10_000), folder / "g.graphml")
    nx.write_gml(nx.path_graph(10_000), folder / "g.gml")
    return folder


GRAPHS = ["g.txt", "names.csv", "g.txt.gz", "g.adjlist", "g.mtx", "g.npz", "g.mat", "g.parquet", "g.graphml", "g.gml"]


@pytest.mark.parametrize(
    ("name", "read", "kind"),
    [("labels.txt", read_labels, "labels"), ("labels.cmty", read_labels, "labels"), ("g.adjlist", read_graph, "edges")],
)
def test_files_are_refused_before_a_block_is_split_into_fields(folder, name, read, kind):
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError, match=f"more than 0 {kind}"):
            read(folder / name, memory_limit=resident_memory() + 40_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_integer_ids_are_refused_before_they_are_encoded(folder):
    few, many = np.arange(100_000) % 7, np.arange(100_000)
    budget = ReadingBudget(folder / "g.txt", resident_memory() + 3_000_000)
    budget.check_integers([few, few])
    with pytest.raises(MemoryLimitError, match=r"g\.txt: reading 200,000 node ids"):
        budget.check_integers([many << 40, many])
    columns = TextIdColumns(1)
    columns.add((many << 40).astype(str).tolist())
    with pytest.raises(MemoryLimitError, match=r"100,000 node ids"):
        columns.encode(ReadingBudget(folder / "g.txt", resident_memory() + 2_000_000))


@pytest.mark.parametrize("check", ["check_edges", "check_lines", "check_block", "check_lists"])
def test_matrices_with_64_bit_indices_take_more_memory(check, monkeypatch):
    needed = []
    monkeypatch.setattr(ReadingBudget, "check", lambda _, size, __: needed.append(size))
    monkeypatch.setattr(ReadingBudget, "check_so_far", lambda _, size, __: needed.append(size))
    rest = {
        "check_edges": {"n_nodes": 0, "weighted": False},
        "check_lines": {"n_bytes": 0},
        "check_block": {"block": b"", "weighted": False},
        "check_lists": {"block": b"", "weighted": False},
    }
    for n_edges in (2**30 - 1, 2**30):
        getattr(ReadingBudget("g.txt"), check)(n_edges, **rest[check])
    assert needed[1] - needed[0] > 16 * 2**30


@pytest.mark.parametrize("name", [*GRAPHS, "labels.txt", "labels.cmty"])
def test_a_limit_refuses_large_files(folder, name):
    path = folder / name
    read = read_labels if name.startswith("labels") else read_graph
    with pytest.raises(MemoryLimitError, match=rf"{re.escape(str(path))}: reading .*memory.*Raise the limit"):
        read(path, memory_limit=resident_memory() + 2_000_000)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_limit_does_not_change_the_graph(folder, name):
    expected = read_graph(folder / name).fingerprint()
    assert read_graph(folder / name, memory_limit="100GB").fingerprint() == expected


def test_the_message_names_a_sufficient_limit(folder):
    before = resident_memory()
    with pytest.raises(MemoryLimitError) as caught:
        read_graph(folder / "g.txt", memory_limit=before + 10_000_000)
    message = str(caught.value)
    assert f"reading {N_EDGES:,} lines would need about" in message
    sufficient = re.search(r"The smallest sufficient memory_limit is '(\d+)MB'", message)[1]
    assert int(sufficient) * 1_000_000 > before + 30_000_000
    assert read_graph(folder / "g.txt", memory_limit=f"{sufficient}MB").n_nodes > 0


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("member.txt", content)
    return buffer.getvalue()


COMPRESSIONS = {
    ".bz2": lambda content: bz2.compress(content[:40_000]) * (len(content) // 40_000),  # long repetitions take long
    ".xz": lambda content: lzma.compress(content, preset=0),
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
    ".zip": zipped,
}


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_every_compression_keeps_the_limit(tmp_path, suffix):
    path = tmp_path / f"bomb.txt{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](b"1 2\n" * 1_000_000))
    assert path.stat().st_size < 100_000
    for format_name in ("edgelist", "adjlist", "json", "npz"):
        with pytest.raises(MemoryLimitError, match=r"reading .*more memory than the"):
            read_graph(path, format=format_name, memory_limit=resident_memory() + 4_000_000)


def test_the_dictionary_of_an_xz_file_counts(tmp_path):
    path = tmp_path / "g.txt.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 25}]
    path.write_bytes(lzma.compress(b"1 2\n", filters=filters))
    with pytest.raises(MemoryLimitError, match="reading the dictionary of the file would need more memory"):
        read_graph(path, memory_limit=resident_memory() + 10_000_000)
    assert read_graph(path).n_edges == 1


@pytest.mark.parametrize("content", [b"1 2\n", b"x", b"# a comment\n", b"1 2 "])
def test_compressed_files_are_decompressed_only_as_far_as_the_limit_allows(tmp_path, content):
    path = tmp_path / "bomb.txt.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(100):
            stream.write(content * (1_000_000 // len(content)))
    limit = resident_memory() + 40_000_000
    for format_name in ("edgelist", "adjlist", "mtx", "npz", "gml"):
        if content.startswith(b"#") and format_name in ("edgelist", "adjlist"):
            continue  # comments are dropped piece by piece
        with pytest.raises(MemoryLimitError, match=r"bomb.txt.gz"):
            read_graph(path, format=format_name, memory_limit=limit)


def test_invalid_limits_raise(folder):
    with pytest.raises(ParameterError, match="memory_limit must be a size such as '2GB'"):
        read_graph(folder / "g.txt", memory_limit="much")


def test_the_command_line_limits_reading(folder, tmp_path, capsys):
    limit = str(resident_memory() + 5_000_000)
    code = run(["embed", str(folder / "g.txt"), "-o", str(tmp_path / "x.npz"), "--memory", limit])
    error = capsys.readouterr().err
    assert code == 3
    assert error.count("\n") == 1
    assert "g.txt: reading" in error
