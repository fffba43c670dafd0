"""Conversion of graphs of other libraries, tested with these libraries."""

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse
from tests.graphs import edges
from torch_geometric.data import Data, HeteroData

from boostne.errors import GraphError, InputWarning, ParameterError
from boostne.graph import Graph
from boostne.interop import as_graph, choose_columns

TRIANGLE = np.array([[0, 2, 1], [2, 0, 0], [1, 0, 0]])
TABLE = {"source": ["a", "c", "a"], "target": ["b", "a", "b"], "weight": [2.0, 1.0, 3.0]}


def test_a_graph_is_returned_unchanged():
    graph = Graph(TRIANGLE)
    assert as_graph(graph) is graph
    assert as_graph(graph, directed=False) is graph
    assert as_graph(graph, directed=True).directed
    with pytest.raises(GraphError, match=r"to_undirected\(\)"):
        as_graph(as_graph(graph, directed=True), directed=False)
    with pytest.raises(ParameterError, match="nodes= cannot be used with a Graph"):
        as_graph(graph, nodes=[1, 2, 3])


class TestMatrices:
    @pytest.mark.parametrize(
        "matrix",
        [
            TRIANGLE,
            np.asfortranarray(TRIANGLE),
            sparse.csr_array(TRIANGLE),
            sparse.csc_matrix(TRIANGLE),
            sparse.coo_array(TRIANGLE),
            sparse.lil_array(TRIANGLE),
            sparse.dok_array(TRIANGLE),
        ],
        ids=lambda matrix: type(matrix).__name__,
    )
    def test_a_symmetric_matrix_is_undirected(self, matrix):
        graph = as_graph(matrix)
        assert not graph.directed
        assert edges(graph) == {(0, 1): 2, (0, 2): 1}

    def test_nodes_are_the_ids_of_the_rows(self):
        assert edges(as_graph(TRIANGLE, nodes=["x", "y", "z"])) == {("x", "y"): 2, ("x", "z"): 1}

    def test_an_asymmetric_matrix_is_directed(self):
        matrix = sparse.csr_array(np.array([[0, 1], [0, 0]]))
        assert edges(as_graph(matrix)) == {(0, 1): 1}
        assert as_graph(matrix).directed
        with pytest.raises(GraphError, match=r"to_undirected\(\)"):
            as_graph(matrix, directed=False)

    def test_self_loops_are_dropped_with_a_warning(self):
        matrix = np.array([[5, 1], [1, 0]])
        with pytest.warns(InputWarning, match="dropped 1 self-loop;"):
            assert edges(as_graph(matrix)) == {(0, 1): 1}
        assert edges(as_graph(matrix, self_loops="keep")) == {(0, 0): 5, (0, 1): 1}

    def test_an_array_of_edges_raises(self):
        with pytest.raises(GraphError, match=r"got shape \(3, 2\); for a table of edges use Graph.from_edges"):
            as_graph(np.array([[0, 1], [1, 2], [2, 3]]))


class TestPairs:
    def test_pairs_are_unweighted_and_triples_weighted(self):
        assert edges(as_graph([("a", "b"), ("b", "c")])) == {("a", "b"): 1, ("b", "c"): 1}
        assert edges(as_graph([[1, 2, 0.5], [2, 1, 2]])) == {(1, 2): 2}
        assert edges(as_graph([[1, 2, 0.5], [2, 1, 2]], duplicates="sum")) == {(1, 2): 2.5}
        assert edges(as_graph([(1, 2, 0.5)], weight=False)) == {(1, 2): 1}
        assert edges(as_graph({(2, 1)}, directed=True)) == {(2, 1): 1}
        assert as_graph([(1, 2)], nodes=[3, 2, 1]).nodes.tolist() == [3, 2, 1]

    @pytest.mark.parametrize(
        ("pairs", "message"),
        [
            ([], "the list of edges is empty"),
            (["ab", "cd"], "tuples, all of the same length; got 'ab'"),
            ([(1, 2), (1, 2, 3)], r"got lengths \[2, 3\]"),
            ([(1,)], r"got lengths \[1\]"),
            ([(1, 2, "x")], "weights must be numbers"),
            ([(1, None)], "id at position 0 is missing"),
        ],
    )
    def test_invalid_pairs_raise(self, pairs, message):
        with pytest.raises(GraphError, match=message):
            as_graph(pairs)


class TestNetworkx:
    def test_node_order_weights_and_isolated_nodes_are_kept(self):
        source = nx.Graph()
        source.add_nodes_from(["z", "lonely", "a"])
        source.add_edge("z", "a", weight=2)
        source.add_edge("z", "b")
        graph = as_graph(source)
        assert graph.nodes.tolist() == ["z", "lonely", "a", "b"]
        assert edges(graph) == {("z", "a"): 2, ("z", "b"): 1}
        assert graph.isolated.tolist() == [1]

    def test_weights_are_optional(self):
        assert repr(as_graph(nx.karate_club_graph(), weight=False)) == (
            "Graph(34 nodes, 78 edges, undirected, unweighted)"
        )
        assert as_graph(nx.karate_club_graph()).weighted
        assert as_graph(nx.path_graph(3)).adjacency.dtype == np.float32

    def test_direction_is_kept(self):
        graph = as_graph(nx.DiGraph([(1, 2)]))
        assert graph.directed
        assert edges(graph) == {(1, 2): 1}
        with pytest.raises(GraphError, match=r"to_undirected\(\)"):
            as_graph(nx.DiGraph([(1, 2)]), directed=False)
        assert edges(as_graph(nx.Graph([(1, 2)]), directed=True)) == {(1, 2): 1, (2, 1): 1}

    def test_parallel_edges_are_merged(self):
        source = nx.MultiGraph()
        source.add_edge(0, 1, weight=2.0)
        source.add_edge(1, 0, weight=3.0)
        assert edges(as_graph(source)) == {(0, 1): 3}
        assert edges(as_graph(source, duplicates="sum")) == {(0, 1): 5}
        assert edges(as_graph(nx.MultiDiGraph(source), duplicates="sum")) == {(0, 1): 5, (1, 0): 5}

    def test_weights_from_another_attribute(self):
        source = nx.Graph()
        source.add_edge("a", "b", trips=7)
        assert edges(as_graph(source, weight="trips")) == {("a", "b"): 7}
        with pytest.raises(ParameterError, match="weight='cost' is not an attribute of any edge"):
            as_graph(source, weight="cost")

    def test_ids_can_be_tuples(self):
        graph = as_graph(nx.grid_2d_graph(2, 2))
        assert graph.nodes.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1)]
        assert graph.n_edges == 4

    def test_agrees_with_networkx(self):
        source = nx.gnp_random_graph(30, 0.2, seed=1, directed=True)
        expected = nx.to_numpy_array(source)
        np.testing.assert_array_equal(as_graph(source).adjacency.toarray(), expected)

    def test_a_negative_weight_raises(self):
        source = nx.Graph()
        source.add_edge("a", "b", weight=-1)
        with pytest.raises(GraphError, match=r"edge \('a', 'b'\) has a negative weight \(-1\)"):
            as_graph(source)


class TestIgraph:
    def test_vertices_without_names_are_numbered(self):
        graph = as_graph(igraph.Graph(n=4, edges=[(0, 1), (1, 2)]))
        assert edges(graph) == {(0, 1): 1, (1, 2): 1}
        assert graph.isolated.tolist() == [3]

    def test_names_weights_and_direction_are_kept(self):
        source = igraph.Graph(n=3, edges=[(0, 1), (2, 1)], directed=True)
        source.vs["name"] = ["x", "y", "z"]
        source.es["weight"] = [0.5, 2.0]
        graph = as_graph(source)
        assert graph.directed
        assert edges(graph) == {("x", "y"): 0.5, ("z", "y"): 2.0}
        assert edges(as_graph(source, weight=False)) == {("x", "y"): 1, ("z", "y"): 1}
        with pytest.raises(ParameterError, match="'cost' is not an edge attribute; the attributes are 'weight'"):
            as_graph(source, weight="cost")

    def test_a_graph_without_edges(self):
        assert as_graph(igraph.Graph(n=2)).n_edges == 0


class TestPyg:
    INDEX = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])

    def test_undirected_if_the_edge_index_is_symmetric(self):
        graph = as_graph(Data(edge_index=self.INDEX, num_nodes=4))
        assert not graph.directed
        assert edges(graph) == {(0, 1): 1, (1, 2): 1}
        assert graph.isolated.tolist() == [3]

    def test_directed_otherwise(self):
        graph = as_graph(Data(edge_index=self.INDEX[:, :1], num_nodes=2))
        assert edges(graph) == {(0, 1): 1}
        assert graph.directed
        with pytest.raises(GraphError, match=r"to_undirected\(\)"):
            as_graph(Data(edge_index=self.INDEX[:, :1], num_nodes=2), directed=False)

    def test_weights_from_edge_weight_edge_attr_or_a_named_attribute(self):
        weight = torch.tensor([1.0, 1.0, 2.0, 2.0], requires_grad=True)
        expected = {(0, 1): 1, (1, 2): 2}
        assert edges(as_graph(Data(edge_index=self.INDEX, num_nodes=3, edge_weight=weight))) == expected
        assert edges(as_graph(Data(edge_index=self.INDEX, num_nodes=3, edge_attr=weight))) == expected
        assert edges(as_graph(Data(edge_index=self.INDEX, num_nodes=3, edge_attr=weight[:, None]))) == expected
        named = Data(edge_index=self.INDEX, num_nodes=3, length=weight)
        assert edges(as_graph(named, weight="length")) == expected
        assert not as_graph(named).weighted
        with pytest.raises(ParameterError, match="weight='cost' is not an attribute of the Data"):
            as_graph(named, weight="cost")

    def test_edge_features_are_not_weights(self):
        data = Data(edge_index=self.INDEX, num_nodes=3, edge_attr=torch.rand(4, 5))
        assert not as_graph(data).weighted

    def test_nodes_are_the_ids_of_the_rows(self):
        graph = as_graph(Data(edge_index=self.INDEX, num_nodes=3), nodes=["a", "b", "c"])
        assert edges(graph) == {("a", "b"): 1, ("b", "c"): 1}

    def test_heterogeneous_data_raises(self):
        with pytest.raises(TypeError, match="cannot convert HeteroData to a graph"):
            as_graph(HeteroData())


class TestTables:
    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
    def test_weights_duplicates_direction_and_nodes(self, make):
        assert edges(as_graph(make(TABLE))) == {("a", "b"): 3, ("a", "c"): 1}
        assert edges(as_graph(make(TABLE), duplicates="sum")) == {("a", "b"): 5, ("a", "c"): 1}
        assert edges(as_graph(make(TABLE), weight=False)) == {("a", "b"): 1, ("a", "c"): 1}
        directed = as_graph(make(TABLE), directed=True)
        assert edges(directed) == {("a", "b"): 3, ("c", "a"): 1}
        assert as_graph(make(TABLE), nodes=["c", "b", "a", "d"]).isolated.tolist() == [3]

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
    def test_columns_can_be_named(self, make):
        table = make({"when": [1, 2], "payer": [10, 20], "payee": [20, 30], "amount": [5, 7]})
        graph = as_graph(table, source="payer", target="payee", weight="amount")
        assert edges(graph) == {(10, 20): 5, (20, 30): 7}
        assert graph.nodes.dtype == np.int64

    @pytest.mark.parametrize(
        "frame",
        [
            pd.DataFrame({"u": pd.Categorical(["a", "b"]), "v": ["b", "c"]}),
            pl.DataFrame({"u": ["a", "b"], "v": ["b", "c"]}, schema={"u": pl.Categorical, "v": pl.String}),
            pd.DataFrame({"u": ["a", "b"], "v": ["b", "c"]}, dtype=object),
            pd.DataFrame({"u": ["a", "b"], "v": ["b", "c"]}, dtype="string[pyarrow]"),
        ],
        ids=["pandas-categorical", "polars-categorical", "objects", "arrow-strings"],
    )
    def test_every_string_type_is_accepted(self, frame):
        assert edges(as_graph(frame)) == {("a", "b"): 1, ("b", "c"): 1}

    def test_ids_of_mixed_types(self):
        frame = pd.DataFrame({"user": [1, 2], "item": ["x", "y"]})
        assert as_graph(frame).nodes.tolist() == [1, 2, "x", "y"]
        frame = pd.DataFrame({"u": [1, "b"], "v": ["b", (0, 1)]}, dtype=object)
        assert set(as_graph(frame).nodes) == {1, "b", (0, 1)}
        assert set(as_graph(pd.DataFrame({"u": [1, 2], "v": [1j, 2]})).nodes) == {1, 2, 1j}
        assert as_graph([((), 1), (np.float32(2.5), 1)]).nodes.tolist() == [2.5, 1, ()]

    @pytest.mark.parametrize(
        ("frame", "options", "error", "message"),
        [
            (pd.DataFrame({"a": [1]}), {}, GraphError, "needs two columns, got 'a'"),
            (
                pd.DataFrame(TABLE),
                {"source": "x", "target": "target"},
                ParameterError,
                "'x' is not a column; the columns are 'source', 'target'",
            ),
            (pd.DataFrame(TABLE), {"weight": "w"}, ParameterError, "weight='w' is not a column"),
            (pd.DataFrame(TABLE), {"source": "source"}, ParameterError, "both source and target"),
            (pd.DataFrame(TABLE), {"source": "source", "target": "source"}, ParameterError, "the same column"),
            (
                pd.DataFrame(TABLE),
                {"weight": "target"},
                ParameterError,
                "weight='target' is the column of the endpoints",
            ),
            (pd.DataFrame({"weight": [1], "to": [2], "x": [3]}), {}, ParameterError, "weight='x', or weight=False"),
            (pd.DataFrame({"a": [1], "b": [2], "trips": [3]}), {}, ParameterError, "weight='trips', or weight=False"),
            (pd.DataFrame({"u": [1.0, np.nan], "v": [1, 2]}), {}, GraphError, "id at position 1 is missing|floats"),
            (pd.DataFrame({"u": [1.5, 2.0], "v": [1, 2]}), {}, GraphError, "node ids are floats"),
            (pl.DataFrame({"u": ["a", None], "v": ["b", "c"]}), {}, GraphError, "id at position 1 is missing"),
            (
                pl.DataFrame({"u": [1], "v": [2], "weight": [None]}, schema_overrides={"weight": pl.Float64}),
                {},
                GraphError,
                "missing",
            ),
        ],
    )
    def test_invalid_tables_raise(self, frame, options, error, message):
        with pytest.raises(error, match=message):
            as_graph(frame, **options)

    def test_usual_column_names_are_recognized(self):
        assert choose_columns(["weight", "TO", "From"]) == ("From", "TO", "weight")
        assert choose_columns(["x", "y"]) == ("x", "y", None)
        assert choose_columns(["FromNodeId", "ToNodeId"]) == ("FromNodeId", "ToNodeId", None)
        assert choose_columns(["x", "y", "z"], weight=False) == ("x", "y", None)


@pytest.mark.parametrize("thing", [None, 3, "edges.txt", {"a": ["b"]}, pl.LazyFrame(TABLE)])
def test_other_objects_raise(thing):
    with pytest.raises(TypeError, match=r"cannot convert \w+ to a graph; accepted: a Graph; .*networkx.*polars"):
        as_graph(thing)
