"""Directed graphs: DeepWalk's matrix against its definition, and BoostNE with source and target vectors."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from tests import graphs, reference
from tests.parameters import boostne

from boostne import HOPE, BoostNE, DeepWalkMatrix, Graph, NetMF, evaluate, read_embedding
from boostne.errors import GraphError, ParameterError
from boostne.kernels import get_kernels
from boostne.labels import Labels
from boostne.matrices import MatrixForm
from boostne.matrices.deepwalk.directed import DirectedWalk
from boostne.matrices.deepwalk.exact import ExactSource
from boostne.matrices.deepwalk.push import BoundedExactSource, PushSource

pytestmark = pytest.mark.filterwarnings("ignore:.*nodes have no edges")
TOLERANCE = {"float32": 1e-5, "float64": 1e-11}
KERNELS = ("reference", "native")


def cycle_with_tail():
    """Return a weighted cycle 0, 1, 2 with a path 2, 3, 4 that ends; node 5 has only an outgoing edge, 6 none."""
    return Graph.from_edges([0, 1, 2, 2, 3, 5], [1, 2, 0, 3, 4, 0], [1, 2, 3, 4, 5, 6], nodes=range(7), directed=True)


def two_sinks():
    """Return a graph in which 0 and 1 point to the sink 3, 1 and 2 to the sink 4, and nothing leaves them."""
    return Graph.from_edges([0, 1, 1, 2], [3, 3, 4, 4], directed=True)


def with_loops():
    """Return a path with a self-loop at its end, which is therefore no sink."""
    return Graph.from_edges([0, 1, 2], [1, 2, 2], directed=True, self_loops="keep")


def random_directed(n=80, degree=4, *, weighted=True, seed=0):
    """Return a random graph with sinks, nodes without incoming edges and isolated nodes."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(5, n, n * degree), rng.integers(0, n - 5, n * degree)
    weights = rng.gamma(2.0, 3.0, n * degree) if weighted else None
    graph = Graph.from_edges(source, target, weights, nodes=range(n + 2), directed=True)
    A = graph.adjacency.tolil()
    A[10:14] = 0
    return Graph(A.tocsr(), graph.nodes, directed=True)


CASES = {make.__name__: make for make in (cycle_with_tail, two_sinks, with_loops, random_directed)}


def flow(n=600, communities=4, degree=10, mixing=0.1, seed=0):
    """Return a graph whose edges lead from each community to the next, and the communities."""
    rng = np.random.default_rng(seed)
    community = rng.integers(communities, size=n)
    by_community = [np.flatnonzero(community == c) for c in range(communities)]
    source = np.repeat(np.arange(n), degree)
    target = np.array([rng.choice(by_community[(c + 1) % communities]) for c in community[source]])
    mixed = rng.random(len(source)) < mixing
    target[mixed] = rng.integers(n, size=mixed.sum())
    return Graph.from_edges(source, target, nodes=range(n), directed=True), community


def build(make_source, graph, window=5, negative=1.0, dtype="float64", kernels="native", **options):
    source = make_source(graph, window=window, negative=negative, dtype=dtype, kernels=_kernels(kernels), **options)
    return source.build()


def _kernels(name):
    return get_kernels("reference") if name == "reference" else get_kernels(threads=2)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("negative", [1, 0.5, 3])
@pytest.mark.parametrize("window", [1, 2, 7])
@pytest.mark.parametrize("name", CASES)
class TestDefinition:
    def check(self, X, graph, window, negative, dtype):
        expected = reference.directed_connectivity(graphs.dense(graph), window, negative)
        assert X.dtype == dtype
        assert X.has_sorted_indices
        assert (X.data > 0).all()
        np.testing.assert_allclose(X.toarray(), expected, rtol=0, atol=TOLERANCE[dtype] * max(expected.max(), 1))

    def test_exact_form(self, name, window, negative, dtype, kernels):
        graph = CASES[name]()
        X, dropped = build(ExactSource, graph, window, negative, dtype, kernels)
        assert dropped is None
        self.check(X, graph, window, negative, dtype)

    def test_push_with_epsilon_0(self, name, window, negative, dtype, kernels):
        graph = CASES[name]()
        X, dropped = build(PushSource, graph, window, negative, dtype, kernels, epsilon=0.0, max_per_row=10**6)
        assert not dropped.any()
        self.check(X, graph, window, negative, dtype)

    def test_bounded_exact_form_with_a_bound_that_is_not_reached(self, name, window, negative, dtype, kernels):
        graph = CASES[name]()
        X, dropped = build(BoundedExactSource, graph, window, negative, dtype, kernels, max_per_row=10**6)
        assert not dropped.any()
        self.check(X, graph, window, negative, dtype)


class TestMatrix:
    def test_worked_example(self):
        # Walks of one step: 0 reaches 3, 1 reaches both sinks with ½ each, 2 reaches 4. The five rows, those of the
        # sinks being zero, have the mean 1.5 / 5 in the columns of both sinks.
        X, _ = build(ExactSource, two_sinks(), window=1)
        expected = np.zeros((5, 5))
        expected[0, 3] = expected[2, 4] = np.log(1 / 0.3)
        expected[1, 3:] = np.log(0.5 / 0.3)
        np.testing.assert_allclose(X.toarray(), expected, atol=1e-15)

    def test_a_walk_goes_back_from_a_sink(self):
        # In two steps 0 returns from the sink 3 to itself or to 1, and never gets to 2.
        X = build(ExactSource, two_sinks(), window=2)[0].toarray()
        assert X[0, 0] > 0
        assert X[0, 2] == 0
        assert not X[3:].any()  # no walk starts at a sink

    def test_visits_are_the_column_means(self):
        graph = random_directed()
        walk = DirectedWalk.of(graph, 4)
        S = reference.directed_walk(graphs.dense(graph))
        p = sum(np.linalg.matrix_power(S, r) for r in range(1, 5)) / 4
        p[np.diff(graph.adjacency.indptr) == 0] = 0
        np.testing.assert_allclose(walk.mean_visits, p.mean(axis=0), rtol=1e-12, atol=0)

    @pytest.mark.parametrize("seed", range(3))
    def test_permuted_nodes_permute_the_matrix(self, seed):
        graph = random_directed(seed=seed)
        order = np.random.default_rng(seed).permutation(graph.n_nodes)
        X, permuted = (build(ExactSource, one)[0].toarray() for one in (graph, graph.permuted(order)))
        np.testing.assert_allclose(permuted, X[np.ix_(order, order)], atol=1e-12)

    def test_is_that_of_an_undirected_graph_if_all_degrees_are_equal(self):
        # Walks then visit all nodes alike, so that it does not matter where they start.
        ring = Graph.from_edges(range(12), [*range(1, 12), 0])
        directed = build(ExactSource, ring.to_directed(), window=4, negative=0.5)[0]
        undirected = build(ExactSource, ring, window=4, negative=0.5)[0]
        np.testing.assert_allclose(directed.toarray(), undirected.toarray(), atol=1e-12)

    def test_is_not_symmetric(self):
        X = build(ExactSource, random_directed())[0]
        assert abs(X - X.T).max() > 1

    @pytest.mark.parametrize("factor", [1e-20, 3, 1e20])
    @pytest.mark.parametrize("form", [MatrixForm(), MatrixForm("push", 1e-4, 30)])
    def test_is_invariant_under_scaling_of_all_weights(self, factor, form):
        graph = random_directed()
        scaled = Graph(graph.adjacency.astype(np.float64) * factor, graph.nodes, directed=True)
        X, other = (DeepWalkMatrix(window=3).source(one, form, dtype="float32").build()[0] for one in (graph, scaled))
        np.testing.assert_allclose(other.toarray(), X.toarray(), atol=1e-4)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize(("epsilon", "max_per_row"), [(0, 12), (1.0123e-3, 10**6), (1.0123e-2, 10)])
    def test_native_and_reference_push_agree(self, weighted, epsilon, max_per_row):
        graph = random_directed(400, weighted=weighted)
        (slow, slow_dropped), (fast, fast_dropped) = (
            build(PushSource, graph, kernels=name, epsilon=epsilon, max_per_row=max_per_row) for name in KERNELS
        )
        np.testing.assert_array_equal(fast.indptr, slow.indptr)
        np.testing.assert_allclose(np.sort(fast.data), np.sort(slow.data), rtol=1e-9)
        np.testing.assert_allclose(fast_dropped.mean(), slow_dropped.mean(), rtol=1e-6)
        assert slow_dropped.max() > 0.01
        starts = np.diff(graph.adjacency.indptr) > 0
        assert not fast_dropped[~starts].any()
        assert not np.diff(fast.indptr)[~starts].any()

    def test_push_only_loses_mass(self):
        graph = random_directed(400)
        whole = np.exp(build(ExactSource, graph)[0].toarray())
        pushed = np.exp(build(PushSource, graph, epsilon=1e-3, max_per_row=10**6)[0].toarray())
        assert (whole - pushed).min() > -1e-9
        assert (whole - pushed).max() > 0

    def test_dropped_mass_of_bounded_rows(self):
        # b is so small that every entry is above 1: what a row keeps and what it dropped add up to all of its walks.
        graph, negative = random_directed(), 1e-9
        X, dropped = build(BoundedExactSource, graph, negative=negative, max_per_row=6)
        mean = DirectedWalk.of(graph, 5).mean_visits
        kept = (np.exp(X.toarray()) * (X.toarray() > 0) * negative * mean).sum(axis=1)
        starts = np.diff(graph.adjacency.indptr) > 0
        np.testing.assert_allclose(kept[starts], 1 - dropped[starts], atol=1e-9)
        assert dropped.max() > 0.1

    def test_window_and_form_are_chosen(self):
        graph, _ = flow()
        matrix = DeepWalkMatrix().for_graph(graph)
        assert matrix.window == DeepWalkMatrix().for_graph(graph.to_undirected()).window
        dense = Graph.from_edges(*np.random.default_rng(0).integers(300, size=(2, 20_000)), directed=True)
        assert boostne(8, levels=2, window=3, max_iter=2).fit(dense).approximation_ == "exact"
        assert boostne(8, levels=2, window=3, max_iter=2).fit(dense.to_undirected()).approximation_ == "spectral"

    def test_estimate(self):
        graph = random_directed(300)
        expected = build(ExactSource, graph, window=3)[0].nnz
        assert BoostNE(8, levels=2, window=3).estimate(graph).nnz == pytest.approx(expected, rel=0.1)

    def test_spectral_form_is_an_error(self):
        message = r"approximation='spectral' needs .* undirected.*use approximation='exact' or 'push', or pass as_graph"
        for model in (boostne(4, levels=2, approximation="spectral"), BoostNE.paper(dimensions=4, levels=2)):
            with pytest.raises(ParameterError, match=message):
                model.fit(two_sinks())

    @pytest.mark.parametrize("name", ["normalized", "node2vec", "line", "grarep"])
    def test_matrices_of_undirected_graphs_only(self, name):
        with pytest.raises(GraphError, match=r"Matrix is defined for undirected graphs.*'deepwalk'.*to_undirected\(\)"):
            boostne(4, levels=2, connectivity=name).fit(two_sinks())

    @pytest.mark.parametrize("name", ["adjacency", "common-neighbors", "adamic-adar", "katz", "pagerank"])
    def test_other_matrices_of_directed_graphs(self, name):
        graph = random_directed()
        model = boostne(16, levels=4, connectivity=name, **PLAIN).fit(graph)
        X = boostne(16, levels=4, connectivity=name).connectivity_matrix(graph).toarray()
        approximation = model.embedding_.vectors @ model.targets_.vectors.T
        assert np.linalg.norm(np.maximum(X - approximation, 0)) < 0.8 * np.linalg.norm(X)

    def test_a_matrix_of_ones_own(self):
        graph = random_directed()
        model = BoostNE(8, levels=2, connectivity=graph.adjacency, propagation=0).fit(graph)
        assert model.targets_.vectors.any()


PLAIN = {"propagation": 0, "vector_length": 0}
FORMS = {"exact": {}, "push": {"approximation": "push", "epsilon": 1e-4, "max_per_row": 40}}


@pytest.mark.parametrize("form", FORMS)
class TestModel:
    def model(self, form, dimensions=16, **changes):
        return boostne(dimensions, **{"levels": 2, "window": 3, **FORMS[form], **changes})

    def test_sources_and_targets(self, form):
        graph = random_directed()
        model = self.model(form, **PLAIN).fit(graph)
        assert model.targets_ is model.embedding_.targets
        assert model.sources_ is model.embedding_
        np.testing.assert_array_equal(model.targets_.nodes, graph.nodes)
        np.testing.assert_array_equal(model.targets_.vectors, model.context_)
        assert model.targets_.levels.tolist() == model.embedding_.levels.tolist() == [8, 8]
        X = self.model(form).connectivity_matrix(graph).toarray()
        residual = np.maximum(X - model.levels_[0] @ model.targets_.level(1).T, 0)
        assert np.linalg.norm(residual) == pytest.approx(model.residual_norms_[1], rel=1e-4)

    def test_nodes_with_edges_in_one_direction_only(self, form):
        graph = random_directed()
        model = self.model(form, **PLAIN).fit(graph)
        sinks = np.diff(graph.adjacency.indptr) == 0
        assert not model.embedding_.vectors[sinks].any()
        assert model.targets_.vectors[sinks].any()
        refined = self.model(form).fit(graph)
        for found in (model.embedding_, model.targets_, refined.embedding_, refined.targets_):
            assert np.isfinite(found.vectors).all()
            assert not found.vectors[graph.isolated].any()

    @pytest.mark.parametrize("make", [cycle_with_tail, two_sinks, with_loops])
    def test_tiny_graphs(self, form, make):
        model = self.model(form, 2, max_per_row=5) if form == "push" else self.model(form, 2)
        assert np.isfinite(model.fit(make()).targets_.vectors).all()

    def test_products_score_edges_and_their_direction(self, form):
        graph, _ = flow()
        for changes in ({}, PLAIN):
            model = self.model(form, **changes).fit(graph)
            scores = model.embedding_.vectors @ model.targets_.vectors.T
            edges = graph.adjacency.toarray() > 0
            one_way = edges & ~edges.T
            forward, backward = scores[one_way], scores.T[one_way]
            assert roc_auc_score(np.repeat([1, 0], len(forward)), np.concatenate([forward, backward])) > 0.8
            assert roc_auc_score(edges.ravel(), scores.ravel()) > 0.7  # at most 0.84: communities are random inside

    def test_communities_are_recovered_from_both(self, form):
        graph, community = flow(seed=1)
        labels = Labels.from_indices(graph.nodes, np.arange(4), np.arange(len(community)), community)
        model = self.model(form).fit(graph)
        for found in (model.embedding_, model.targets_):
            assert evaluate(found, labels, train=[50], repeats=2).mean("micro")[0] > 0.95

    def test_reversed_edges_exchange_sources_and_targets_in_the_graph(self, form):
        graph, _ = flow(200)
        model = self.model(form, **PLAIN).fit(graph)
        back = self.model(form, **PLAIN).fit(Graph(graph.adjacency.T, graph.nodes, directed=True))
        forward = (model.embedding_.vectors @ model.targets_.vectors.T)[graph.adjacency.nonzero()]
        backward = (back.targets_.vectors @ back.embedding_.vectors.T)[graph.adjacency.nonzero()]
        assert np.corrcoef(forward, backward)[0, 1] > 0.5

    def test_same_bits_for_any_number_of_threads(self, form):
        graph = random_directed(300)
        one, three = (self.model(form, threads=threads).fit(graph) for threads in (1, 3))
        np.testing.assert_array_equal(one.embedding_.vectors, three.embedding_.vectors)
        np.testing.assert_array_equal(one.targets_.vectors, three.targets_.vectors)

    def test_reordering_changes_rounding_only(self, form, monkeypatch):
        graph, _ = flow(300)
        expected = self.model(form, dtype="float64", max_iter=5).fit(graph)
        monkeypatch.setattr("boostne.factorization.ordering.REORDER_NODES", 0)
        model = self.model(form, dtype="float64", max_iter=5).fit(graph)
        np.testing.assert_allclose(model.residual_norms_, expected.residual_norms_, rtol=1e-3)
        if form == "exact":  # a pruned row may keep another of several equal entries
            np.testing.assert_allclose(model.embedding_.vectors, expected.embedding_.vectors, atol=1e-7)
            np.testing.assert_allclose(model.targets_.vectors, expected.targets_.vectors, atol=1e-7)

    def test_resumes_from_a_checkpoint_with_the_same_bits(self, form, tmp_path):
        graph = random_directed()
        whole = self.model(form, checkpoint=tmp_path).fit(graph)
        (tmp_path / "level-02.npz").unlink()
        resumed = self.model(form, checkpoint=tmp_path).fit(graph)
        np.testing.assert_array_equal(resumed.targets_.vectors, whole.targets_.vectors)

    def test_save_and_load(self, form, tmp_path):
        graph = random_directed()
        model = self.model(form).fit(graph)
        model.save(tmp_path / "model.npz", graph=graph)
        loaded = BoostNE.load(tmp_path / "model.npz")
        assert loaded.graph_.directed
        for found in (loaded.embedding_, read_embedding(tmp_path / "model.npz")):
            np.testing.assert_array_equal(found.vectors, model.embedding_.vectors)
            np.testing.assert_array_equal(found.targets.vectors, model.targets_.vectors)
        np.testing.assert_array_equal(loaded.centers_, model.centers_)
        assert loaded.target_scales_ == model.target_scales_

    def test_parts_are_an_error(self, form, tmp_path):
        with pytest.raises(GraphError, match=r"vectors of sources and of targets: use fit\(\), or call to_undirected"):
            self.model(form, engine="dask", **PLAIN).fit_to_parts(random_directed(), tmp_path / "parts")


class TestRefinement:
    """Against dense formulas."""

    def test_propagation(self):
        graph = random_directed()
        A = graphs.dense(graph)
        raw, refined = (
            boostne(8, levels=2, window=3, dtype="float64", vector_length=0, propagation=weight).fit(graph)
            for weight in (0, 0.7)
        )
        loop = 0.4 * A[A > 0].mean()
        left, right = (np.diag(1 / np.sqrt(A.sum(axis=axis) + loop)) for axis in (1, 0))
        N = left @ (A + loop * np.eye(len(A))) @ right
        U, V = raw.embedding_.vectors, raw.targets_.vectors
        for _ in range(6):
            U, V = 0.3 * U + 0.7 * N @ V, 0.3 * V + 0.7 * N.T @ U
        np.testing.assert_allclose(refined.embedding_.vectors, U, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(refined.targets_.vectors, V, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(refined.context_, raw.context_)

    def test_lengths_are_multiplied_by_a_constant(self):
        graph = random_directed()
        raw, scaled = (boostne(8, levels=2, window=3, propagation=0, vector_length=n).fit(graph) for n in (0, 3))
        for before, after in ((raw.embedding_, scaled.embedding_), (raw.targets_, scaled.targets_)):
            lengths = np.linalg.norm(after.vectors, axis=1)
            assert lengths[lengths > 0].mean() == pytest.approx(3, rel=1e-5)
            nonzero = before.vectors > 0
            ratio = after.vectors[nonzero] / before.vectors[nonzero]
            np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
        assert scaled.settings_["vector_length"] == 3

    def test_defaults(self):
        settings = boostne(8, levels=2, window=3).fit(random_directed()).settings_
        assert (settings["propagation"], settings["vector_length"]) == (0.8, 2.5)


class TestOtherMethods:
    def test_an_undirected_graph_has_no_targets(self):
        model = BoostNE(4, levels=2, window=2).fit(graphs.karate())
        assert model.targets_ is None
        assert model.sources_ is model.embedding_

    def test_hope_has_sources_and_targets(self):
        model = HOPE(8).fit(random_directed())
        np.testing.assert_array_equal(model.sources_.vectors, model.source_)
        np.testing.assert_array_equal(model.targets_.vectors, model.target_)
        assert model.embedding_.targets is None  # it has both halves

    def test_netmf_embeds_undirected_graphs(self):
        with pytest.raises(GraphError, match=r"NetMF embeds undirected graphs.*or use HOPE, LINE, BoostNE, DeepWalk"):
            NetMF(4).fit(two_sinks())

    def test_a_directed_graph_given_as_a_matrix(self):
        matrix = sparse.csr_array(graphs.dense(random_directed()))
        assert BoostNE(4, levels=2, window=2).fit(matrix).targets_ is not None
