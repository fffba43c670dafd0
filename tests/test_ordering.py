"""The order in which large graphs are worked on: communities, and results that do not depend on it."""

import numpy as np
import pytest
from tests import graphs

from boostne import BoostNE, Graph, planted_partition
from boostne.factorization.ordering import Ordered, by_community
from boostne.kernels import get_kernels
from boostne.kernels.csr_graph import CSRGraph

SETTINGS = {"dimensions": 12, "levels": 3, "window": 3, "dtype": "float64", "max_iter": 6}
GRAPHS = {
    **graphs.DRAWABLE,
    "400 nodes": lambda: planted_partition(400, communities=8, seed=1).graph,
    "weighted": lambda: weighted(planted_partition(400, communities=8, seed=2).graph),
}


def weighted(graph):
    upper = graph.adjacency.tocoo()
    keep = upper.row < upper.col
    weights = np.random.default_rng(0).integers(1, 9, keep.sum()) / 4
    return Graph.from_indices(graph.nodes, upper.row[keep], upper.col[keep], weights)


def communities(graph, kernels, most=10**6, rounds=10, settled=0):
    A = graph.adjacency
    weights = A.data.astype(np.float32) if graph.weighted else None
    return get_kernels(kernels).communities(
        CSRGraph(A.indptr.astype(np.int64), A.indices.astype(np.int32), weights),
        max_size=most,
        max_rounds=rounds,
        tolerated_changes=settled,
    )


@pytest.fixture
def always(monkeypatch):
    """Even the smallest graphs are sorted."""
    monkeypatch.setattr("boostne.models.boostne.ORDERED_FROM", 0)


@pytest.fixture(scope="module")
def graph():
    return planted_partition(600, communities=6, seed=3).graph


class TestCommunities:
    @pytest.mark.parametrize("name", GRAPHS)
    @pytest.mark.parametrize("most", [1, 3, 10**6])
    def test_against_the_readable_twin(self, name, most):
        graph = GRAPHS[name]()
        for rounds in (1, 2, 10):
            ours, twin = (communities(graph, name, most, rounds) for name in ("baseline", "reference"))
            np.testing.assert_array_equal(ours, twin)
            assert np.unique(ours, return_counts=True)[1].max() <= most

    def test_weights_count(self):
        # A path whose middle edge is heavy: its ends go together, not the halves.
        graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [1, 9, 1])
        assert len(set(communities(graph, "baseline")[1:3])) == 1

    @pytest.mark.parametrize("kernels", ["baseline", "reference"])
    def test_it_ends_when_few_nodes_change(self, graph, kernels):
        once = communities(graph, kernels, rounds=1)
        np.testing.assert_array_equal(communities(graph, kernels, settled=graph.n_nodes), once)
        assert (communities(graph, kernels) != once).any()


class TestOrder:
    def test_is_the_same_graph(self, graph):
        ordered = by_community(weighted(graph), get_kernels())
        found, order = ordered.graph, ordered.rows
        np.testing.assert_array_equal(found.nodes, graph.nodes[order])
        np.testing.assert_array_equal(np.sort(order), np.arange(graph.n_nodes))
        expected = weighted(graph).adjacency.toarray()[np.ix_(order, order)]
        np.testing.assert_array_equal(found.adjacency.toarray(), expected)
        assert ordered.nbytes > found.adjacency.nnz * 8
        assert Ordered(graph).nbytes == 0

    def test_neighbors_are_nearer(self):
        graph = planted_partition(3000, communities=30, mixing=0.1, seed=0).graph
        ordered = by_community(graph, get_kernels()).graph

        def distance(graph):
            A = graph.adjacency.tocoo()
            return np.median(np.abs(A.row - A.col))

        assert distance(ordered) < 0.2 * distance(graph)


@pytest.mark.usefixtures("always")
class TestResults:
    @pytest.mark.parametrize(
        "form",
        [
            {"approximation": "exact"},
            {"approximation": "push", "max_per_row": 600, "epsilon": 1.234e-3},  # no ties
            {"connectivity": "adjacency"},
        ],
        ids=["exact", "push", "adjacency"],
    )
    def test_do_not_depend_on_it(self, graph, form, monkeypatch):
        model = BoostNE(**SETTINGS, **form).fit(graph)
        monkeypatch.undo()
        expected = BoostNE(**SETTINGS, **form).fit(graph)
        assert (model.embedding_.vectors != expected.embedding_.vectors).any()
        for name in ("context_", "residual_norms_", "dropped_mass_"):
            if getattr(expected, name) is not None:
                np.testing.assert_allclose(getattr(model, name), getattr(expected, name), atol=1e-9)
        np.testing.assert_allclose(model.embedding_.vectors, expected.embedding_.vectors, atol=1e-9)
        np.testing.assert_array_equal(model.embedding_.nodes, graph.nodes)
        np.testing.assert_array_equal(np.hstack(model.levels_), model.embedding_.vectors)

    def test_what_knows_the_nodes_by_number_is_left_alone(self, graph, monkeypatch):
        X = BoostNE(**SETTINGS).connectivity_matrix(graph)
        for connectivity in (X, lambda _: X):
            model = BoostNE(**SETTINGS, connectivity=connectivity).fit(graph)
            with monkeypatch.context() as patch:
                patch.setattr("boostne.models.boostne.ORDERED_FROM", 10**9)
                expected = BoostNE(**SETTINGS).fit(graph)
            np.testing.assert_array_equal(model.embedding_.vectors, expected.embedding_.vectors)

    def test_a_checkpoint_goes_on(self, graph, tmp_path):
        expected = BoostNE(**SETTINGS).fit(graph)
        for keep in (False, True):
            options = {**SETTINGS, "checkpoint": tmp_path / str(keep), "keep_matrix": keep}
            BoostNE(**options).fit(graph)
            (tmp_path / str(keep) / "level-03.npz").unlink()
            model = BoostNE(**options).fit(graph)
            np.testing.assert_array_equal(model.embedding_.vectors, expected.embedding_.vectors)

    def test_the_estimate_counts_the_graph_in_its_order(self, graph, monkeypatch):
        model = BoostNE(**SETTINGS, approximation="push", max_per_row=60)
        ordered = model.estimate(graph).peak_bytes
        monkeypatch.undo()
        assert ordered == model.estimate(graph).peak_bytes + by_community(graph, get_kernels()).nbytes

    def test_it_is_told(self, graph):
        seen = []
        BoostNE(**SETTINGS).fit(graph, progress=lambda at: seen.append(at.detail))
        assert seen[0] == "sorting nodes by community"
