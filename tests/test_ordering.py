"""Reordering by community: the communities, and results that do not depend on the order."""

import numpy as np
import pytest
from tests import graphs
from tests.parameters import boostne

from boostne import BoostNE, Graph, planted_partition
from boostne.factorization.ordering import ReorderedGraph, by_community
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


def communities(graph, kernels, max_size=10**6, max_rounds=10, tolerated_changes=0):
    A = graph.adjacency
    weights = A.data.astype(np.float32) if graph.weighted else None
    return get_kernels(kernels).communities(
        CSRGraph(A.indptr.astype(np.int64), A.indices.astype(np.int32), weights),
        max_size=max_size,
        max_rounds=max_rounds,
        tolerated_changes=tolerated_changes,
    )


@pytest.fixture
def reorder_all(monkeypatch):
    """Reorder even the smallest graphs."""
    monkeypatch.setattr("boostne.factorization.ordering.REORDER_NODES", 0)


@pytest.fixture(scope="module")
def graph():
    return planted_partition(600, communities=6, seed=3).graph


class TestCommunities:
    @pytest.mark.parametrize("name", GRAPHS)
    @pytest.mark.parametrize("max_size", [1, 3, 10**6])
    def test_native_equals_reference(self, name, max_size):
        graph = GRAPHS[name]()
        for rounds in (1, 2, 10):
            found, expected = (communities(graph, name, max_size, rounds) for name in ("baseline", "reference"))
            np.testing.assert_array_equal(found, expected)
            assert np.unique(found, return_counts=True)[1].max() <= max_size

    def test_uses_edge_weights(self):
        # The heavy edge in the middle of a path joins its ends; without weights the halves would be the communities.
        graph = Graph.from_edges([0, 1, 2], [1, 2, 3], [1, 9, 1])
        assert len(set(communities(graph, "baseline")[1:3])) == 1

    @pytest.mark.parametrize("kernels", ["baseline", "reference"])
    def test_stops_when_few_nodes_change(self, graph, kernels):
        once = communities(graph, kernels, max_rounds=1)
        np.testing.assert_array_equal(communities(graph, kernels, tolerated_changes=graph.n_nodes), once)
        assert (communities(graph, kernels) != once).any()


class TestByCommunity:
    def test_permutes_nodes_and_edges(self, graph):
        reordered = by_community(weighted(graph), get_kernels())
        found, order = reordered.graph, reordered.order
        np.testing.assert_array_equal(found.nodes, graph.nodes[order])
        np.testing.assert_array_equal(np.sort(order), np.arange(graph.n_nodes))
        expected = weighted(graph).adjacency.toarray()[np.ix_(order, order)]
        np.testing.assert_array_equal(found.adjacency.toarray(), expected)
        np.testing.assert_array_equal(found.nodes[reordered.inverse], graph.nodes)
        assert reordered.nbytes > found.adjacency.nnz * 8
        assert ReorderedGraph(graph).nbytes == 0

    @pytest.mark.parametrize("factor", [2.0**-200, 2.0**200])
    def test_weights_may_exceed_the_range_of_float32(self, factor):
        graph = GRAPHS["weighted"]()
        found, expected = (by_community(g, get_kernels()).order for g in (graphs.scaled(graph, factor), graph))
        np.testing.assert_array_equal(found, expected)

    def test_moves_neighbors_closer(self):
        graph = planted_partition(3000, communities=30, mixing=0.1, seed=0).graph
        reordered = by_community(graph, get_kernels()).graph

        def distance(graph):
            A = graph.adjacency.tocoo()
            return np.median(np.abs(A.row - A.col))

        assert distance(reordered) < 0.2 * distance(graph)


@pytest.mark.usefixtures("reorder_all")
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
    def test_do_not_depend_on_the_order(self, graph, form, monkeypatch):
        model = boostne(**SETTINGS, **form).fit(graph)
        monkeypatch.undo()
        expected = boostne(**SETTINGS, **form).fit(graph)
        assert (model.embedding_.vectors != expected.embedding_.vectors).any()
        for name in ("context_", "residual_norms_", "dropped_mass_"):
            if getattr(expected, name) is not None:
                np.testing.assert_allclose(getattr(model, name), getattr(expected, name), atol=1e-9)
        np.testing.assert_allclose(model.embedding_.vectors, expected.embedding_.vectors, atol=1e-9)
        np.testing.assert_array_equal(model.embedding_.nodes, graph.nodes)
        np.testing.assert_array_equal(np.hstack(model.levels_), model.embedding_.vectors)

    @pytest.mark.parametrize("communities", [6, 30])
    def test_levels_start_from_communities_if_there_are_enough(self, communities, monkeypatch):
        graph = planted_partition(900, communities=communities, mixing=0.1, seed=3).graph
        settings = {**SETTINGS, "approximation": "push", "max_per_row": 900, "epsilon": 1.234e-3, "max_iter": 100}
        model = boostne(**settings).fit(graph)
        monkeypatch.undo()
        randomly = boostne(**settings).fit(graph)  # not reordered
        assert np.allclose(model.residual_norms_, randomly.residual_norms_, rtol=1e-6) == (communities == 6)
        assert model.residual_norms_[-1] < 1.05 * randomly.residual_norms_[-1]

    def test_explicit_matrices_are_not_reordered(self, graph, monkeypatch):
        X = BoostNE(**SETTINGS).connectivity_matrix(graph)
        for connectivity in (X, lambda _: X):
            model = boostne(**SETTINGS, connectivity=connectivity).fit(graph)
            with monkeypatch.context() as patch:
                patch.setattr("boostne.factorization.ordering.REORDER_NODES", 10**9)
                expected = BoostNE(**SETTINGS).fit(graph)
            np.testing.assert_array_equal(model.embedding_.vectors, expected.embedding_.vectors)

    def test_resumes_from_a_checkpoint(self, graph, tmp_path):
        expected = BoostNE(**SETTINGS).fit(graph)
        for keep in (False, True):
            options = {**SETTINGS, "checkpoint": tmp_path / str(keep), "keep_matrix": keep}
            boostne(**options).fit(graph)
            (tmp_path / str(keep) / "level-03.npz").unlink()
            model = boostne(**options).fit(graph)
            np.testing.assert_array_equal(model.embedding_.vectors, expected.embedding_.vectors)

    def test_estimate_includes_the_reordered_graph(self, graph, monkeypatch):
        model = boostne(**SETTINGS, approximation="push", max_per_row=60)
        peak_bytes = model.estimate(graph).peak_bytes
        monkeypatch.undo()
        extra = by_community(graph, get_kernels()).nbytes
        assert peak_bytes == model.estimate(graph).peak_bytes + extra

    def test_is_reported_as_progress(self, graph):
        seen = []
        BoostNE(**SETTINGS).fit(graph, progress=lambda progress: seen.append(progress.detail))
        assert seen[0] == "sorting nodes by community"
