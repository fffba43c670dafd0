"""The sides of a bipartite graph: given as ids, as a mask or by columns, kept by every operation, checked."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from boostne import Graph, as_graph, planted_bipartite, read_graph
from boostne.errors import GraphError, ParameterError
from boostne.io.writing import write_edges

USERS, ITEMS = ["eve", "ann", "bob"], ["tea", "rice", "milk"]
PAIRS = [("eve", "tea"), ("ann", "tea"), ("ann", "milk"), ("bob", "rice")]
OF_USERS = {"ann", "bob", "eve"}


def first_side(graph):
    return set(graph.nodes[graph.sides].tolist())


@pytest.fixture
def graph():
    return as_graph(PAIRS, sides="columns")


class TestGiven:
    def test_columns(self, graph):
        assert first_side(graph) == OF_USERS
        assert repr(graph) == "Graph(3 + 3 nodes, 4 edges, bipartite, unweighted)"

    @pytest.mark.parametrize("sides", [["ann", "bob", "eve"], np.array(["ann", "bob", "eve"]), ("bob", "eve", "ann")])
    def test_ids(self, sides):
        assert first_side(as_graph(PAIRS, sides=sides)) == OF_USERS

    def test_the_first_side_is_the_one_that_is_given(self):
        assert first_side(as_graph(PAIRS, sides=["milk", "rice", "tea"])) == {"milk", "rice", "tea"}

    def test_a_mask_is_copied(self):
        mask = np.array([True, False, False])
        graph = Graph(sparse.csr_array([[0, 1, 2], [1, 0, 0], [2, 0, 0]]), sides=mask)
        mask[:] = False
        assert graph.sides.tolist() == [True, False, False]
        assert not graph.sides.flags.writeable

    def test_integer_ids_that_look_like_a_mask_are_ids(self):
        assert Graph.from_edges([0, 0], [1, 2], sides=[0]).sides.tolist() == [True, False, False]

    def test_columns_of_a_table(self):
        table = pd.DataFrame(PAIRS, columns=["user", "item"])
        assert first_side(as_graph(table, sides="columns")) == OF_USERS

    def test_other_objects_need_ids(self):
        edges = nx.Graph(PAIRS)
        assert first_side(as_graph(edges, sides=USERS)) == OF_USERS
        with pytest.raises(GraphError, match="'columns' is for lists and tables"):
            as_graph(edges, sides="columns")

    def test_a_graph_can_get_and_lose_its_sides(self, graph):
        plain = as_graph(PAIRS)
        assert graph.with_sides(None).fingerprint() == plain.fingerprint()
        assert plain.with_sides(USERS).fingerprint() == graph.fingerprint()
        assert as_graph(plain, sides=USERS).fingerprint() == graph.fingerprint()

    def test_an_edge_of_weight_zero_puts_its_ends_on_their_sides(self):
        graph = Graph.from_edges(["a", "b"], ["x", "y"], [1, 0], sides="columns")
        assert first_side(graph) == {"a", "b"}
        assert graph.n_edges == 1


class TestKept:
    def test_by_operations(self, graph):
        order = np.array([5, 0, 3, 1, 4, 2])
        with_isolated = Graph.from_edges(["a"], ["x"], nodes=["x", "y", "a"], sides=["a"])
        for result in (
            graph.permuted(order),
            graph.without_isolated(),
            graph.without_self_loops(),
            graph.to_undirected(),
            replace(graph, nodes=graph.nodes),
        ):
            assert first_side(result) == OF_USERS
        assert first_side(with_isolated.without_isolated()) == {"a"}
        tiny = Graph.from_edges(["a", "b"], ["x", "x"], [1e-30, 3e-30], sides="columns")
        rescaled, unit = tiny.rescaled()
        assert unit != 1
        assert first_side(rescaled) == {"a", "b"}

    def test_fingerprints(self, graph):
        swapped = as_graph(PAIRS, sides=ITEMS)
        assert len({graph.fingerprint(), swapped.fingerprint(), as_graph(PAIRS).fingerprint()}) == 3

    def test_a_graph_without_sides_has_the_fingerprint_it_always_had(self):
        expected = "33f89d279dc95461775a331e4c88057e859813a274c2a3c6a9ec396e8e2aedac"
        assert as_graph(PAIRS).fingerprint() == expected

    def test_in_files(self, graph, tmp_path):
        write_edges(graph, tmp_path / "edges.csv")
        assert read_graph(tmp_path / "edges.csv", bipartite=True).fingerprint() == graph.fingerprint()
        assert read_graph(tmp_path / "edges.csv").sides is None

    @pytest.mark.parametrize("name", ["edges.tsv", "edges.parquet"])
    def test_read(self, name, tmp_path):
        table = pd.DataFrame(PAIRS, columns=["user", "item"])
        if name.endswith("tsv"):
            table.to_csv(tmp_path / name, sep="\t", index=False)
        else:
            table.to_parquet(tmp_path / name)
        graph = read_graph(tmp_path / name, bipartite=True)
        assert first_side(graph) == OF_USERS
        assert graph.n_edges == 4


class TestErrors:
    def test_ids_in_both_columns_are_named(self):
        pairs = [(1, 2), (2, 3), (3, 4), (4, 1), (9, 8)]
        with pytest.raises(GraphError, match=r"share ids: 1, 2, 3, … \(4 in all\)"):
            as_graph(pairs, sides="columns")

    def test_ids_in_both_columns_of_a_file(self, tmp_path):
        (tmp_path / "edges.txt").write_text("1 2\n2 3\n")
        with pytest.raises(GraphError, match=r"edges.txt: the two columns share ids: 2\."):
            read_graph(tmp_path / "edges.txt", bipartite=True)

    @pytest.mark.parametrize("format_name", ["adjlist", "mtx", "graphml"])
    def test_formats_without_columns(self, format_name, tmp_path):
        with pytest.raises(ParameterError, match=f"bipartite= does not apply to format '{format_name}'"):
            read_graph(tmp_path / "edges", format=format_name, bipartite=True)

    def test_an_edge_within_a_side_is_named(self):
        with pytest.raises(GraphError, match=r"edge \('ann', 'tea'\) is between two nodes of the first side"):
            as_graph(PAIRS, sides=["ann", "tea"])
        with pytest.raises(GraphError, match=r"between two nodes of the second side"):
            as_graph(PAIRS, sides=["bob"])

    def test_a_self_loop_is_within_a_side(self):
        with pytest.raises(GraphError, match="first side"):
            Graph.from_edges(["a", "a"], ["a", "b"], self_loops="keep", sides=["a"])

    @pytest.mark.parametrize(("sides", "name"), [([], "first"), (USERS + ITEMS, "second")])
    def test_empty_sides(self, sides, name):
        with pytest.raises(GraphError, match=f"the {name} side has no nodes"):
            as_graph(PAIRS, sides=sides)

    def test_no_edges(self):
        with pytest.raises(GraphError, match="the first side has no nodes"):
            Graph.from_edges([], [], sides="columns")

    def test_unknown_ids(self):
        with pytest.raises(GraphError, match="not among the graph's nodes: 'kim'"):
            as_graph(PAIRS, sides=["kim"])

    def test_masks_of_another_length(self):
        with pytest.raises(GraphError, match=r"must have 6 entries, one per node; got \(2,\)"):
            as_graph(PAIRS, sides=np.array([True, False]))

    def test_isolated_nodes_have_no_column(self):
        with pytest.raises(GraphError, match="side of nodes without edges is unknown: 'kim'"):
            Graph.from_edges(["ann"], ["tea"], nodes=["ann", "kim", "tea"], sides="columns")

    def test_directed_graphs(self, graph):
        with pytest.raises(GraphError, match="a graph with sides is undirected"):
            Graph.from_edges(["ann"], ["tea"], directed=True, sides="columns")
        with pytest.raises(GraphError, match=r"with_sides\(None\)"):
            graph.to_directed()


class TestGenerator:
    def test_sizes_degrees_and_communities(self):
        data = planted_bipartite(400, 300, communities=5, mean_degree=12, seed=3)
        graph = data.graph
        assert np.count_nonzero(graph.sides) == 400
        assert graph.n_edges == 4800
        assert graph.degrees[graph.sides].min() >= 1
        community = data.labels.matrix.argmax(axis=1)
        A = graph.adjacency.tocoo()
        # 70 % of the edges within a community, and a fifth of the others by chance.
        assert 0.65 < np.mean(community[A.row] == community[A.col]) < 0.85
        popularity = np.sort(graph.degrees[~graph.sides])
        assert popularity[-1] > 6 * np.median(popularity)

    def test_the_seed_determines_the_graph(self):
        one, same, other = (planted_bipartite(60, 50, communities=2, mean_degree=4, seed=s).graph for s in (1, 1, 2))
        assert one.fingerprint() == same.fingerprint() != other.fingerprint()

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"communities": 26}, "communities must be between 1 and half of the smaller side, 50"),
            ({"mean_degree": 13}, "mean_degree must be at least 1 and below half"),
            ({"mixing": 1.5}, "mixing"),
            ({"exponent": 2.0}, "exponent"),
        ],
    )
    def test_infeasible_parameters(self, changes, message):
        with pytest.raises(ParameterError, match=message):
            planted_bipartite(60, 50, **{"communities": 2, "mean_degree": 4, **changes})
