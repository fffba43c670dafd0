"""Parquet tables of integer ids, read in batches, and graphs built from them chunk by chunk."""

import tracemalloc
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from boostne import array_chunks
from boostne.adjacency_builder import permuted_csr, without_diagonal
from boostne.errors import BoostneError, FileFormatError, GraphError, InputWarning
from boostne.graph import Graph
from boostne.integer_ids import encode_integers
from boostne.io import edge_tables, read_graph

ID_TYPES = [np.int8, np.int32, np.int64, np.uint32, np.uint64]
WEIGHT_TYPES = [None, np.float64, np.float32, np.int64, np.uint8]


def set_chunk(monkeypatch, size):
    monkeypatch.setattr(array_chunks, "CHUNK", size)


def random_table(seed, ids, weights, n_edges=200, offset=0):
    """Return a table with duplicates and self-loops; sums of its weights are exact."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, 25, (2, n_edges)).astype(ids)
    columns = {"source": source, "target": target + ids(offset)}
    if weights is not None:
        columns["weight"] = (rng.integers(0, 9, n_edges) / (4 if np.dtype(weights).kind == "f" else 1)).astype(weights)
    return pa.table(columns)


def slow_graph(table, *, directed, duplicates, loops):
    """Return the ids and the dense matrix of a table of edges, edge by edge."""
    rows = table.to_pydict()
    ids = sorted({*rows["source"], *rows["target"]})
    found = defaultdict(list)
    for u, v, w in zip(rows["source"], rows["target"], rows.get("weight", [1.0] * len(table)), strict=True):
        found[(u, v) if directed else (min(u, v), max(u, v))].append(w)
    matrix = np.zeros((len(ids), len(ids)))
    for (u, v), listed in found.items():
        if u != v or loops == "keep":
            ends = ids.index(u), ids.index(v)
            matrix[ends] = max(listed) if duplicates == "once" else sum(listed)
            if not directed:
                matrix[ends[::-1]] = matrix[ends]
    return ids, matrix


class TestAgainstEdgeByEdge:
    @pytest.mark.parametrize("chunk", [3, 64, 1 << 18])
    @pytest.mark.parametrize("weights", WEIGHT_TYPES)
    @pytest.mark.parametrize("ids", ID_TYPES)
    def test_every_type(self, tmp_path, monkeypatch, ids, weights, chunk):
        set_chunk(monkeypatch, chunk)
        table = random_table(chunk, ids, weights)
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=70)
        for directed in (None, True):
            for duplicates in ("once", "sum"):
                graph = read_graph(tmp_path / "t.parquet", directed=directed, duplicates=duplicates, self_loops="keep")
                expected, matrix = slow_graph(table, directed=directed, duplicates=duplicates, loops="keep")
                assert graph.nodes.tolist() == expected
                assert graph.nodes.dtype == np.int64
                np.testing.assert_array_equal(graph.adjacency.toarray(), matrix)
                assert graph.adjacency.dtype == (np.float64 if weights is np.float64 else np.float32)
                assert graph.adjacency.indices.dtype == graph.adjacency.indptr.dtype == np.int32
                assert graph.adjacency.has_canonical_format
                assert graph.adjacency.data.all()

    def test_self_loops_are_dropped(self, tmp_path):
        for weights in (None, np.float32):
            table = random_table(1, np.int64, weights)
            pq.write_table(table, tmp_path / "t.parquet")
            with pytest.warns(InputWarning, match=r"dropped \d self-loops"):
                graph = read_graph(tmp_path / "t.parquet")
            ids, matrix = slow_graph(table, directed=False, duplicates="once", loops="drop")
            assert graph.nodes.tolist() == ids
            np.testing.assert_array_equal(graph.adjacency.toarray(), matrix)

    def test_parts_are_one_table(self, tmp_path):
        table = random_table(2, np.int64, np.float64)
        for name, part in {"a": table.slice(0, 0), "b": table.slice(0, 130), "c": table.slice(130)}.items():
            pq.write_table(part, tmp_path / f"{name}.parquet")
        graph = read_graph(tmp_path, self_loops="keep")
        ids, matrix = slow_graph(table, directed=False, duplicates="once", loops="keep")
        assert graph.nodes.tolist() == ids
        np.testing.assert_array_equal(graph.adjacency.toarray(), matrix)

    def test_sides(self, tmp_path):
        table = random_table(3, np.int64, None, offset=100)
        pq.write_table(table, tmp_path / "t.parquet")
        graph = read_graph(tmp_path / "t.parquet", bipartite=True)
        np.testing.assert_array_equal(graph.sides, graph.nodes < 100)
        pq.write_table(random_table(3, np.int64, None), tmp_path / "t.parquet")
        with pytest.raises(GraphError, match="the two columns share ids"):
            read_graph(tmp_path / "t.parquet", bipartite=True)

    @pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
    def test_ids_of_dictionaries_and_strings(self, tmp_path, kind):
        table = random_table(4, np.int64, None)
        columns = [column.cast(kind).dictionary_encode() for column in table.columns]
        pq.write_table(pa.table(columns, table.column_names), tmp_path / "t.parquet")
        pq.write_table(table, tmp_path / "same.parquet")
        graph, same = (read_graph(tmp_path / name, self_loops="keep") for name in ("t.parquet", "same.parquet"))
        # Numbers as strings are sorted as strings.
        order = same.index(graph.nodes.astype(np.int64))
        assert (graph.adjacency != same.adjacency[order][:, order]).nnz == 0


class TestOddTables:
    @staticmethod
    def read(tmp_path, **columns):
        pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=2)
        return read_graph(tmp_path / "t.parquet")

    def test_no_rows(self, tmp_path):
        none = pa.array([], pa.int64())
        assert self.read(tmp_path, u=none, v=none, weight=none).n_nodes == 0

    def test_ids_up_to_the_largest_number(self, tmp_path):
        big = 2**63 - 1
        assert self.read(tmp_path, u=[1, -big], v=[big, 5]).nodes.tolist() == [-big, 1, 5, big]
        unsigned = pa.array([2**64 - 1, 0, 2], pa.uint64())
        assert self.read(tmp_path, u=unsigned, v=pa.array([1, 2, 0])).nodes.tolist() == [0, 1, 2, 2**64 - 1]

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"u": [1, 2, 3, 4], "v": [2, None, 3, None]}, "the node id at position 1 is missing"),
            ({"u": [1, 2, 3, None], "v": [2, None, 3, 3]}, "the node id at position 3 is missing"),  # u comes first
            ({"u": [1, 2, 3], "v": [2, 3, 4], "weight": [1, 2, None]}, r"edge \(3, 4\) has a missing weight \(NaN\)"),
            ({"u": [1, 2, 3], "v": [2, 3, 4], "weight": [1, -2, 3]}, r"edge \(2, 3\) has a negative weight \(-2\)"),
            ({"u": [1, 2, 3], "v": [2, None, 4], "weight": [-1, 2, 3]}, "the node id at position 1 is missing"),
        ],
    )
    def test_missing_and_invalid_values(self, tmp_path, monkeypatch, columns, message):
        set_chunk(monkeypatch, 2)
        with pytest.raises(GraphError, match=rf"t\.parquet: the .*{message.removeprefix('the ')}"):
            self.read(tmp_path, **columns)

    def test_sums_beyond_the_range_of_floats(self, tmp_path, monkeypatch):
        set_chunk(monkeypatch, 2)
        pq.write_table(
            pa.table({"u": [9, 1, 2, 1], "v": [8, 2, 1, 3], "w": [1.0, 1e308, 1e308, 2.0]}), tmp_path / "t.pq"
        )
        with pytest.raises(GraphError, match=r"the edge \(1, 2\) has an infinite weight"):
            read_graph(tmp_path / "t.pq", duplicates="sum")

    def test_sums_of_integers_do_not_wrap_around(self, tmp_path):
        pq.write_table(pa.table({"u": [1, 2, 1], "v": [2, 1, 3], "w": [2**62, 2**62, 1]}), tmp_path / "t.parquet")
        graph = read_graph(tmp_path / "t.parquet", duplicates="sum")
        assert graph.adjacency.toarray().max() == 2.0**63

    def test_fewer_rows_than_announced(self, tmp_path, monkeypatch):
        original = edge_tables._read_schema
        monkeypatch.setattr(edge_tables, "_read_schema", lambda *files: (original(*files)[0], 5, 100))
        with pytest.raises(FileFormatError, match="5 rows are announced, but there are 2"):
            self.read(tmp_path, u=[1, 2], v=[2, 3])
        monkeypatch.setattr(edge_tables, "_read_schema", lambda *files: (original(*files)[0], 1, 100))
        with pytest.raises(BoostneError, match=r"t\.parquet"):
            self.read(tmp_path, u=[1, 2], v=[2, 3])


class TestMemory:
    @pytest.mark.parametrize(("weights", "most"), [(None, 40), (np.float64, 70)])
    def test_bytes_per_edge(self, tmp_path, monkeypatch, weights, most):
        # What NumPy allocates, without Arrow's buffers.
        set_chunk(monkeypatch, 1 << 12)
        rng = np.random.default_rng(0)
        columns = dict(zip(("u", "v"), rng.integers(0, 20_000, (2, 200_000)), strict=True))
        if weights is not None:
            columns["weight"] = rng.random(200_000)
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        read_graph(tmp_path / "t.parquet", self_loops="keep")
        tracemalloc.start()
        read_graph(tmp_path / "t.parquet", self_loops="keep")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak / 200_000 < most


class TestChunks:
    @given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 8))
    def test_rows_are_divided(self, counts, entries):
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int32)]).astype(np.int32)
        with pytest.MonkeyPatch.context() as monkeypatch:
            set_chunk(monkeypatch, entries)
            spans = list(array_chunks.row_slices(indptr))
        assert [row for span in spans for row in range(span.start, span.stop)] == list(range(len(counts)))
        for span in spans:
            assert indptr[span.stop] - indptr[span.start] <= entries or span.stop == span.start + 1

    @given(
        st.lists(st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), max_size=20),
        st.sampled_from([2, 1 << 18]),
    )
    def test_integers_are_encoded(self, numbers, chunk):
        with pytest.MonkeyPatch.context() as monkeypatch:
            set_chunk(monkeypatch, chunk)
            ids, codes = encode_integers([np.array(numbers[:7], dtype=np.int64), np.array(numbers[7:], dtype=np.int64)])
        assert ids.tolist() == sorted(set(numbers))
        assert ids[np.concatenate(codes)].tolist() == numbers

    @pytest.mark.parametrize("chunk", [2, 1 << 18])
    @pytest.mark.parametrize("equal_values", [True, False])
    @settings(deadline=None)
    @given(st.integers(0, 100))
    def test_matrices(self, equal_values, chunk, seed):
        rng = np.random.default_rng(seed)
        dense = (rng.random((9, 9)) < 0.3) * (1.0 if equal_values else rng.random((9, 9)))
        A, order = sparse.csr_array(dense), rng.permutation(9)
        with pytest.MonkeyPatch.context() as monkeypatch:
            set_chunk(monkeypatch, chunk)
            permuted = permuted_csr(A, order, equal_values=equal_values)
            empty = without_diagonal(A, equal_values=equal_values)
        np.testing.assert_array_equal(permuted.toarray(), dense[order][:, order])
        np.testing.assert_array_equal(empty.toarray(), dense * (1 - np.eye(9)))
        assert permuted.has_canonical_format
        assert empty.has_canonical_format

    def test_the_fingerprint_does_not_depend_on_chunks(self, monkeypatch):
        graph = Graph.from_edges([1, 2, 3], [2, 3, 4], [1.0, 2.0, 3.0])
        expected = graph.fingerprint()
        set_chunk(monkeypatch, 2)
        assert graph.fingerprint() == expected
