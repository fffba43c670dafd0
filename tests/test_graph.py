"""Graph: construction, validation, properties; node ids."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from boostne.edges import as_weights
from boostne.errors import GraphError, InputWarning, ParameterError
from boostne.graph import Graph
from boostne.node_ids import as_ids, encode_ids, encode_text_ids, lookup_ids, parse_ids

NAMES = st.text(alphabet="abcé ", min_size=1, max_size=3)
IDS = st.one_of(st.integers(-(2**62), 2**62), st.integers(0, 12))
EDGES = st.one_of(
    st.lists(st.tuples(IDS, IDS), min_size=1, max_size=30),
    st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=30),
    st.lists(st.tuples(st.one_of(NAMES, st.integers(0, 5)), NAMES), min_size=1, max_size=30),
)


def dense(graph):
    return graph.adjacency.toarray()


class TestConstructor:
    def test_duplicates_are_added_and_zeros_removed(self):
        rows, columns, values = [1, 0, 2, 0, 1], [0, 1, 2, 1, 0], [1.0, 1.0, 0.0, 1.5, 1.5]
        graph = Graph(sparse.coo_array((values, (rows, columns)), shape=(3, 3)))
        assert graph.adjacency.has_canonical_format
        assert graph.adjacency.nnz == 2
        assert graph.adjacency.indices.dtype == np.int32
        np.testing.assert_array_equal(dense(graph), [[0, 2.5, 0], [2.5, 0, 0], [0, 0, 0]])

    @pytest.mark.parametrize(
        ("dtype", "value", "expected"),
        [
            (np.float32, 0.1, np.float32),
            (np.float64, 0.1, np.float64),
            (np.float16, 0.5, np.float32),
            (bool, True, np.float32),
            (np.int8, 3, np.float32),
            (np.int64, 2**24, np.float32),
            (np.int64, 2**24 + 1, np.float64),
            (">f8", 0.1, np.float64),
        ],
    )
    def test_weights_are_stored_exactly(self, dtype, value, expected):
        graph = Graph(np.array([[0, value], [value, 0]], dtype=dtype))
        assert graph.adjacency.dtype == expected
        assert graph.adjacency[0, 1] == np.array(value, dtype=dtype)

    def test_input_is_copied_and_arrays_are_read_only(self):
        matrix = sparse.csr_array(np.array([[0, 2.0], [2.0, 0]]))
        graph = Graph(matrix)
        matrix.data[:] = 9
        assert dense(graph)[0, 1] == 2
        with pytest.raises(ValueError, match="read-only"):
            graph.adjacency.data[0] = 5
        with pytest.raises(ValueError, match="read-only"):
            graph.nodes[0] = 5
        with pytest.raises(AttributeError):
            graph.directed = True

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            (np.zeros((2, 3)), r"must be square, got shape \(2, 3\); .*from_edges"),
            (np.zeros(4), "must be square"),
            (np.array([[0, 1j], [1j, 0]]), "real numbers, got dtype complex128"),
            (np.array([["a", "b"], ["c", "d"]]), "real numbers"),
            (np.array([[0, np.nan], [np.nan, 0]]), r"edge \('x', 'y'\) has a missing weight \(NaN\)"),
            (np.array([[0, np.inf], [np.inf, 0]]), r"edge \('x', 'y'\) has an infinite weight \(inf\)"),
            (np.array([[0, -2], [-2, 0]]), r"edge \('x', 'y'\) has a negative weight \(-2.0\)"),
            (np.array([[0, 1], [3, 0]]), r"\('x', 'y'\) has weight 1.0, its reverse 3.0; pass directed=True"),
            (np.array([[0, 1], [0, 0]]), r"directed=True, and call to_undirected\(\)"),
        ],
    )
    def test_invalid_matrices_raise(self, matrix, message):
        with pytest.raises(GraphError, match=message):
            Graph(matrix, ["x", "y"])

    @pytest.mark.parametrize(
        ("nodes", "message"),
        [
            ([1, 2, 3], "2 rows but 3 node ids"),
            ([7, 7], "node id 7 occurs more than once"),
            (["a", "a"], "node id 'a' occurs more than once"),
            ([(1, 2), (1, 2)], r"node id \(1, 2\) occurs more than once"),
            ([1, None], "id at position 1 is missing"),
            ([[1], [2]], "hashable"),
            (np.array([0.0, 1.0]), r"floats \(float64\).*astype\('int64'\)"),
            (np.zeros((2, 2), dtype=int), "one-dimensional"),
        ],
    )
    def test_invalid_ids_raise(self, nodes, message):
        with pytest.raises(GraphError, match=message):
            Graph(np.zeros((2, 2)), nodes)

    def test_a_sparse_matrix_with_indices_out_of_range_raises(self):
        matrix = sparse.csr_array(np.array([[0, 1.0], [1.0, 0]]))
        matrix.indices[0] = 1_000_000
        with pytest.raises(GraphError, match="malformed"):
            Graph(matrix)


class TestFromEdges:
    def test_both_orders_of_the_endpoints_are_one_edge(self):
        graph = Graph.from_edges([1, 2, 2], [2, 1, 3])
        assert repr(graph) == "Graph(3 nodes, 2 edges, undirected, unweighted)"

    def test_duplicates_keep_the_largest_weight_or_the_sum(self):
        ends = (["a", "b", "a"], ["b", "a", "c"])
        weights = [1.0, 4.0, 2.0]
        np.testing.assert_array_equal(dense(Graph.from_edges(*ends, weights)), [[0, 4, 2], [4, 0, 0], [2, 0, 0]])
        np.testing.assert_array_equal(
            dense(Graph.from_edges(*ends, weights, duplicates="sum")), [[0, 5, 2], [5, 0, 0], [2, 0, 0]]
        )
        np.testing.assert_array_equal(
            dense(Graph.from_edges(*ends, weights, directed=True)), [[0, 1, 2], [4, 0, 0], [0, 0, 0]]
        )

    def test_self_loops_are_dropped_with_a_warning_and_their_nodes_stay(self):
        with pytest.warns(InputWarning, match="dropped 2 self-loops"):
            graph = Graph.from_edges([1, 5, 1], [2, 5, 1])
        np.testing.assert_array_equal(graph.nodes, [1, 2, 5])
        np.testing.assert_array_equal(graph.isolated, [2])
        kept = Graph.from_edges([1, 5, 1], [2, 5, 1], self_loops="keep")
        assert (kept.n_edges, kept.n_self_loops, kept.volume) == (3, 2, 4.0)
        assert len(kept.isolated) == 0

    def test_given_nodes_define_the_order_and_can_be_isolated(self):
        graph = Graph.from_edges(["b"], ["a"], nodes=["c", "b", "a"])
        assert graph.nodes.tolist() == ["c", "b", "a"]
        np.testing.assert_array_equal(dense(graph), [[0, 0, 0], [0, 0, 1], [0, 1, 0]])
        with pytest.raises(GraphError, match="not among the graph's nodes: 'z'; its 2 ids are strings such as 'a'"):
            Graph.from_edges(["z"], ["a"], nodes=["a", "b"])

    def test_large_integer_ids_are_exact(self):
        big = 2**53
        graph = Graph.from_edges([big, big + 1], [big + 1, big + 2])
        assert graph.nodes.tolist() == [big, big + 1, big + 2]
        assert Graph.from_edges([2**70], [1]).nodes.tolist() == [1, 2**70]
        assert Graph.from_edges(np.array([2**63], dtype=np.uint64), [1]).nodes.tolist() == [1, 2**63]

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            ([1.0, -1.0], r"edge \(1, 2\) has a negative weight \(-1.0\)"),
            ([1.0, np.nan], r"edge \(1, 2\) has a missing weight"),
            ([1.0, np.inf], r"edge \(1, 2\) has an infinite weight"),
            ([1.0], r"same length, got \[2, 2, 1\]"),
            (["much", "little"], "weights must be numbers"),
            (np.ones((2, 2)), "weights must be one-dimensional"),
        ],
    )
    def test_invalid_weights_raise(self, weight, message):
        # The invalid weight must be found although a duplicate of its edge has a valid one.
        with pytest.raises(GraphError, match=message):
            Graph.from_edges([2, 1], [1, 2], weight)

    @pytest.mark.parametrize("position", [-1, 2])
    def test_positions_out_of_range_raise(self, position):
        with pytest.raises(GraphError, match=f"target must contain positions in the 2 nodes, got {position}"):
            Graph.from_indices(["a", "b"], np.array([0, 1]), np.array([1, position]))

    def test_positions_beyond_64_bits_raise(self):
        with pytest.raises(GraphError, match="source must contain positions of nodes, got 9223372036854775815"):
            Graph.from_indices(["a", "b"], np.array([2**63 + 7], dtype=np.uint64), np.array([1]))

    @pytest.mark.parametrize("ends", [np.array([[0, 1]]), np.array(0)])
    def test_positions_of_another_shape_raise(self, ends):
        with pytest.raises(GraphError, match=r"source must be one-dimensional, got an array of shape \("):
            Graph.from_indices(["a", "b"], ends, np.array([1]))

    def test_integer_weights_are_not_copied(self):
        weights = np.array([1, 2])
        assert np.shares_memory(as_weights(weights), weights)

    def test_a_sum_of_weights_that_overflows_raises(self):
        weights = np.full(2, np.finfo(np.float32).max)
        with pytest.raises(GraphError, match=r"edge \(1, 2\) has an infinite weight"):
            Graph.from_edges([2, 1], [1, 2], weights, duplicates="sum")

    def test_duplicate_ids_raise(self):
        with pytest.raises(GraphError, match="node id 'a' occurs more than once"):
            Graph.from_indices(["a", "b", "a"], np.array([0]), np.array([1]))

    def test_given_ids_are_copied(self):
        ids = np.arange(3)
        graph = Graph.from_indices(ids, np.array([0]), np.array([1]))
        ids[0] = 7
        assert graph.nodes.tolist() == [0, 1, 2]

    def test_unknown_options_raise(self):
        with pytest.raises(ParameterError, match="duplicates must be one of 'once', 'sum', got 'mean'"):
            Graph.from_edges([1], [2], duplicates="mean")
        with pytest.raises(ParameterError, match="self_loops must be one of"):
            Graph.from_edges([1], [2], self_loops=True)

    def test_an_edge_of_weight_zero_is_dropped_and_its_nodes_stay(self):
        graph = Graph.from_edges([1, 2], [2, 3], [0, 1])
        assert (graph.n_edges, graph.n_nodes) == (1, 3)

    @settings(deadline=None)
    @given(edges=EDGES, random=st.randoms(use_true_random=False), data=st.data())
    def test_result_does_not_depend_on_the_order_of_edges_and_endpoints(self, edges, random, data):
        weights = data.draw(st.lists(st.floats(0, 100, width=32), min_size=len(edges), max_size=len(edges)))
        duplicates = data.draw(st.sampled_from(["once", "sum"]))
        rows = [(u, v, w) for (u, v), w in zip(edges, weights, strict=True)]
        shuffled = [row if random.random() < 0.5 else (row[1], row[0], row[2]) for row in rows]
        random.shuffle(shuffled)
        first = Graph.from_edges(*zip(*rows, strict=True), duplicates=duplicates)
        second = Graph.from_edges(*zip(*shuffled, strict=True), duplicates=duplicates)
        assert first.fingerprint() == second.fingerprint()

    @settings(deadline=None)
    @given(edges=EDGES, times=st.integers(2, 4))
    def test_repeating_all_edges_changes_only_sums(self, edges, times):
        u, v = zip(*edges, strict=True)
        once = Graph.from_edges(u, v)
        assert Graph.from_edges(u * times, v * times).fingerprint() == once.fingerprint()
        summed = Graph.from_edges(u * times, v * times, duplicates="sum")
        single = Graph.from_edges(u, v, duplicates="sum")
        np.testing.assert_array_equal(dense(summed), times * dense(single))

    @settings(deadline=None)
    @given(edges=EDGES, directed=st.booleans())
    def test_adjacency_has_exactly_the_given_edges(self, edges, directed):
        graph = Graph.from_edges(*zip(*edges, strict=True), directed=directed, self_loops="keep")
        nodes = graph.nodes.tolist()
        expected = {(u, v) for u, v in edges} | (set() if directed else {(v, u) for u, v in edges})
        rows, columns = graph.adjacency.nonzero()
        assert {(nodes[i], nodes[j]) for i, j in zip(rows, columns, strict=True)} == expected
        assert set(nodes) == {end for edge in edges for end in edge}


class TestProperties:
    @pytest.fixture
    def graph(self):
        return Graph.from_edges([0, 1, 3], [1, 2, 3], [1, 2.5, 1], nodes=range(6), self_loops="keep")

    def test_counts_degrees_and_isolated_nodes(self, graph):
        assert (graph.n_nodes, graph.n_edges, graph.n_self_loops, graph.n_components) == (6, 3, 1, 4)
        assert graph.weighted
        np.testing.assert_array_equal(graph.degrees, [1, 3.5, 2.5, 1, 0, 0])
        assert graph.degrees.dtype == np.float64
        assert graph.volume == 8.0
        np.testing.assert_array_equal(graph.isolated, [4, 5])

    def test_counts_of_a_directed_graph(self):
        graph = Graph.from_edges([0, 2], [1, 1], nodes=range(4), directed=True)
        assert (graph.n_edges, graph.n_components) == (2, 2)
        np.testing.assert_array_equal(graph.isolated, [3])

    def test_without_isolated_and_without_self_loops(self, graph):
        assert graph.without_isolated().nodes.tolist() == [0, 1, 2, 3]
        assert graph.without_self_loops().n_self_loops == 0
        assert graph.without_self_loops().n_nodes == 6
        assert graph.without_self_loops().without_isolated().nodes.tolist() == [0, 1, 2]
        clean = graph.without_self_loops().without_isolated()
        assert clean.without_isolated() is clean
        assert clean.without_self_loops() is clean

    def test_graphs_without_nodes_or_edges(self):
        empty = Graph(np.zeros((0, 0)))
        assert (empty.n_nodes, empty.n_edges, empty.volume, empty.weighted) == (0, 0, 0.0, False)
        assert Graph(np.zeros((3, 3))).without_isolated().n_nodes == 0

    def test_direction_is_inferred_from_symmetry(self):
        assert Graph(np.array([[0, 1], [2, 0]]), directed=None).directed
        assert not Graph(np.array([[0, 2], [2, 0]]), directed=None).directed

    def test_differences_in_the_last_bits_are_averaged_out(self):
        low, high = 0.1, np.nextafter(0.1, 1) + 1e-9
        graph = Graph(np.array([[0, low], [high, 0]]))
        assert graph.adjacency[0, 1] == graph.adjacency[1, 0] == (low + high) / 2

    def test_to_directed_has_both_directions_of_each_edge(self):
        graph = Graph.from_edges([0, 1], [1, 2])
        directed = graph.to_directed()
        assert (directed.directed, directed.n_edges) == (True, 4)
        assert directed.to_directed() is directed

    def test_to_undirected_raises_if_a_sum_overflows(self):
        large = np.finfo(np.float32).max
        graph = Graph(np.array([[0, large], [large, 0]], dtype=np.float32), directed=True)
        with pytest.raises(GraphError, match=r"edge \(0, 1\) has an infinite weight"):
            graph.to_undirected("sum")

    def test_to_undirected_keeps_the_larger_weight_or_the_sum(self):
        graph = Graph.from_edges([0, 1, 2, 2], [1, 0, 0, 2], [1, 3, 2, 7], directed=True, self_loops="keep")
        np.testing.assert_array_equal(dense(graph.to_undirected()), [[0, 3, 2], [3, 0, 0], [2, 0, 7]])
        np.testing.assert_array_equal(dense(graph.to_undirected("sum")), [[0, 4, 2], [4, 0, 0], [2, 0, 7]])
        undirected = graph.to_undirected()
        assert undirected.to_undirected() is undirected
        with pytest.raises(ParameterError, match="reduce must be one of 'max', 'sum', got 'mean'"):
            graph.to_undirected("mean")

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("directed", [False, True])
    def test_permuted_equals_reindexing_the_adjacency(self, directed, weighted):
        rng = np.random.default_rng(0)
        ends = rng.integers(40, size=(2, 200))
        weights = rng.random(200) if weighted else None
        graph = Graph.from_indices(np.arange(40) * 10, *ends, weights, directed=directed)
        order = rng.permutation(40)
        permuted = graph.permuted(order)
        expected = Graph(graph.adjacency[order][:, order], graph.nodes[order], directed)
        assert permuted.fingerprint() == expected.fingerprint()
        assert permuted.directed == directed
        assert permuted.adjacency.has_canonical_format
        for name in ("data", "indices", "indptr"):
            array = getattr(permuted.adjacency, name)
            assert array.dtype == getattr(expected.adjacency, name).dtype
            assert not array.flags.writeable

    def test_index_returns_rows_and_raises_for_unknown_ids(self):
        graph = Graph.from_edges(["x", "y"], ["y", "z"])
        np.testing.assert_array_equal(graph.index(["z", "x", "z"]), [2, 0, 2])
        with pytest.raises(GraphError, match=r"nodes: 'p', 'q', 'r', … \(4 in all\); its 3 ids are strings"):
            graph.index(["p", "q", "r", "s", "x"])
        with pytest.raises(GraphError, match="nodes: 1; its 3 ids are strings such as 'x'"):
            graph.index([1])
        mixed = Graph.from_edges([1, (0, 2)], ["a", "a"])
        assert mixed.nodes[mixed.index([(0, 2), "a"])].tolist() == [(0, 2), "a"]

    def test_fingerprint_depends_on_ids_edges_weights_and_direction(self):
        base = Graph.from_edges([1], [2])
        others = [
            Graph.from_edges([1], [3]),
            Graph.from_edges(["1"], ["2"]),
            Graph.from_edges([1], [2], [2.0]),
            Graph.from_edges([1], [2], nodes=[1, 2, 3]),
            Graph(base.adjacency, base.nodes, directed=True),
        ]
        assert len({graph.fingerprint() for graph in [base, *others]}) == 6

    def test_fingerprint_is_equal_in_another_process(self):
        edges = "['é', ('t', 1)], ['b', 3]"
        code = f"from boostne.graph import Graph; print(Graph.from_edges({edges}).fingerprint())"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert other.stdout.strip() == Graph.from_edges(["é", ("t", 1)], ["b", 3]).fingerprint()

    def test_importing_the_graph_does_not_load_heavy_modules(self):
        code = (
            "import sys, boostne.graph, boostne.interop, boostne.labels, boostne.io.graphs; "
            "print({'pyarrow', 'narwhals', 'networkx', 'pandas', 'scipy.io'} & set(sys.modules))"
        )
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert other.stdout.strip() == "set()"


class TestNodeIds:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            ([1, np.int32(2)], "i"),
            (np.array([1], dtype=np.uint8), "i"),
            (np.array([1, 2], dtype=object), "i"),
            (["a", "b"], "U"),
            (np.array(["a"], dtype=object), "U"),
            ([True, False], "O"),
            ([1, "a"], "O"),
            ([(1, 2), (3, 4)], "O"),
            (["a\0", "a"], "O"),
        ],
    )
    def test_dtype_is_integer_string_or_object(self, values, kind):
        ids = as_ids(values)
        assert ids.dtype.kind == kind
        assert ids.tolist() == list(values)

    def test_long_strings_are_stored_as_objects(self, monkeypatch):
        monkeypatch.setattr("boostne.node_ids._MAX_FIXED_WIDTH_BYTES", 100)
        assert as_ids(["a", "b" * 30]).dtype == object
        assert Graph.from_edges(["a"], ["b" * 30]).nodes.tolist() == ["a", "b" * 30]

    def test_ids_can_contain_lone_surrogates(self):
        graph = Graph.from_edges(["\ud800", "a"], ["a", "b"])
        assert graph.nodes.tolist() == ["a", "b", "\ud800"]

    @pytest.mark.parametrize(
        "texts", [["1", "007"], ["+1"], ["-0"], ["1.0", "1"], ["1.5"], [str(2**63)], ["1_000"], ["١"]]
    )
    def test_only_canonical_integers_become_integers(self, texts):
        assert parse_ids(texts).tolist() == texts

    def test_surrounding_white_space_is_ignored(self):
        ids, (left, right) = encode_text_ids([" a", "b "], ["a", "b"])
        assert ids.tolist() == ["a", "b"]
        np.testing.assert_array_equal(left, right)

    @settings(deadline=None)
    @given(st.lists(IDS, min_size=1), st.lists(IDS, min_size=1))
    def test_lookup_inverts_encoding(self, left, right):
        ids, codes = encode_ids(left, right)
        assert ids.tolist() == sorted({*left, *right})
        assert [ids[code].tolist() for code in codes] == [left, right]
        np.testing.assert_array_equal(lookup_ids(ids, as_ids(left)), codes[0])
        assert lookup_ids(ids, as_ids(["a"])).tolist() == [-1]

    def test_lookup_of_integers(self):
        largest = np.iinfo(np.int64).max
        assert lookup_ids(np.array([7, 3, 5]), np.array([5, 2, 4, 8, -largest, 7])).tolist() == [2, -1, -1, -1, -1, 0]
        assert lookup_ids(np.array([largest, largest - 2]), np.array([largest - 1, largest, 0])).tolist() == [-1, 0, -1]
        assert lookup_ids(np.zeros(0, np.int64), np.array([1])).tolist() == [-1]
