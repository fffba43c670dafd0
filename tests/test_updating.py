"""Updates of a fitted model after its graph changed."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from tests import graphs

from boostne import BoostNE, DeepWalkMatrix, Graph, UpdateReport, propagate
from boostne.errors import GraphError, ParameterError
from boostne.models import folding, updating
from boostne.models.fitted_graph import FittedGraph, changed_shares

EXACT = DeepWalkMatrix(window=3, approximation="exact")
SPECTRAL = DeepWalkMatrix(window=3, approximation="spectral", eigenpairs=40)
PUSH = DeepWalkMatrix(window=3, approximation="push", epsilon=1e-5, max_per_row=60)
FORMS = {"exact": EXACT, "spectral": SPECTRAL, "push": PUSH}
PLAIN = {"propagation": 0, "vector_length": 0}


@pytest.fixture(scope="module")
def planted():
    """A graph with three communities, and the community of each node."""
    graph, labels = graphs.planted_partition([60, 50, 40], 0.3, 0.02, seed=3)
    return graph, np.asarray(labels)


def fitted(graph, form="push", **parameters):
    return BoostNE(**{"dimensions": 12, "levels": 3, "connectivity": FORMS[form], **parameters}).fit(graph)


def toggled(graph, *pairs):
    """Return the graph with some edges removed, if they are there, or else added."""
    A = graph.adjacency.tolil()
    for u, v in pairs:
        A[u, v] = A[v, u] = 1 - A[u, v]
    return Graph(sparse.csr_array(A), graph.nodes)


def part(graph, nodes):
    return Graph(graph.adjacency[nodes][:, nodes], graph.nodes[nodes])


def state(model):
    """Return the arrays of a fitted model."""
    return {
        "vectors": model.embedding_.vectors.copy(),
        "context": model.context_.copy(),
        "staleness": model.fitted_graph_.staleness.copy(),
        "neighborhoods": model.fitted_graph_.neighborhoods.copy(),
    }


def assert_same(ours, theirs):
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name])


def cosines(a, b):
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


class TestAllForms:
    @pytest.mark.parametrize("form", FORMS)
    def test_nodes_are_counted(self, planted, form):
        graph, _ = planted
        model = fitted(part(graph, np.arange(4, 150)), form)
        later = toggled(part(graph, np.arange(147)), (60, 70))
        report = model.update(later)
        assert (report.added, report.removed) == (4, 3)
        before, after = (set(map(tuple, graphs.edges(one))) for one in (part(graph, np.arange(4, 150)), later))
        changed = {node for edge in before ^ after for node in edge[:2]}
        assert report.changed == len(changed & set(range(4, 147)))
        np.testing.assert_array_equal(model.embedding_.nodes, later.nodes)
        assert model.context_.shape == model.embedding_.vectors.shape == (147, 12)
        assert model.n_features_in_ == 147
        assert model.embedding_.vectors[:4].any(axis=1).all()
        for level, columns in zip(model.levels_, np.split(model.embedding_.vectors, 3, axis=1), strict=True):
            np.testing.assert_array_equal(level, columns)

    @pytest.mark.parametrize("form", FORMS)
    def test_classifiers_trained_before_still_apply(self, planted, form):
        graph, labels = planted
        model = fitted(graph, form)
        classifier = LogisticRegression().fit(model.embedding_.vectors, labels)
        rng = np.random.default_rng(0)
        for _ in range(10):
            graph = toggled(graph, *rng.integers(graph.n_nodes, size=(8, 2)).tolist())
            graph = Graph(graph.adjacency - sparse.diags_array(graph.adjacency.diagonal()), graph.nodes)
            report = model.update(graph)
            assert report.cosines[0.5] >= 0.98
        refit = fitted(graph, form)
        again = LogisticRegression().fit(refit.embedding_.vectors, labels)
        expected = again.score(refit.embedding_.vectors, labels)
        assert classifier.score(model.embedding_.vectors, labels) >= expected - 0.02

    @pytest.mark.parametrize("form", FORMS)
    def test_an_unchanged_graph_changes_nothing(self, planted, form):
        graph, _ = planted
        model = fitted(graph, form)
        before = state(model)
        report = model.update(graph)
        assert (report.added, report.removed, report.changed, report.recomputed) == (0, 0, 0, 0)
        assert report.cosines == pytest.approx({0.05: 1, 0.25: 1, 0.5: 1})
        assert_same(before, state(model))
        order = np.random.default_rng(0).permutation(graph.n_nodes)
        model.update(graph.permuted(order))
        assert_same({name: array[order] for name, array in before.items()}, state(model))

    @pytest.mark.parametrize("form", FORMS)
    def test_bits_do_not_depend_on_threads(self, planted, form):
        graph, _ = planted
        later = toggled(graph, (0, 1), (3, 90), (5, 6))
        found = []
        for threads in (1, 3):
            model = fitted(part(graph, np.arange(145)), form, threads=threads)
            model.update(later)
            found.append(state(model))
        assert_same(*found)

    @pytest.mark.parametrize("form", FORMS)
    def test_an_interrupted_update_leaves_the_model_as_it_was(self, planted, form):
        graph, _ = planted
        model = fitted(graph, form)
        before, stages = state(model), []

        def interrupt(progress):
            stages.append(progress.stage)
            if progress.stage == "propagation":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            model.update(toggled(graph, (0, 1)), progress=interrupt)
        assert stages[0] == ("folding in" if form == "push" else "connectivity")
        assert_same(before, state(model))
        np.testing.assert_array_equal(model.transform(graph), model.embedding_.vectors)

    @pytest.mark.parametrize("form", FORMS)
    def test_a_saved_model_is_updated_alike(self, planted, form, tmp_path):
        graph, _ = planted
        model = fitted(graph, form)
        model.update(toggled(graph, (0, 1)))
        model.save(tmp_path / "model.npz")
        loaded = BoostNE.load(tmp_path / "model.npz")
        assert loaded.fitted_graph_.staleness.any() == (form == "push")
        later = toggled(graph, (0, 1), (2, 3))
        assert loaded.update(later) == model.update(later)
        assert_same(state(loaded), state(model))

    @pytest.mark.parametrize("form", FORMS)
    def test_weights(self, planted, form):
        graph, _ = planted
        A = graph.adjacency.copy()
        A.data = A.data * (1 + (np.arange(A.nnz) % 3))
        A = A.maximum(A.T)
        model = fitted(Graph(A, graph.nodes), form)
        u, v = (int(index[0]) for index in A.nonzero())
        A[u, v] = A[v, u] = 7
        report = model.update(Graph(A, graph.nodes))
        assert (report.added, report.removed, report.changed) == (0, 0, 2)

    def test_a_stored_graph_is_replaced(self, planted, tmp_path):
        graph, _ = planted
        fitted(graph).save(tmp_path / "model.npz", graph=graph)
        model = BoostNE.load(tmp_path / "model.npz")
        later = toggled(graph, (0, 1))
        model.update(later)
        assert model.graph_.fingerprint() == later.fingerprint()

    @pytest.mark.parametrize("form", FORMS)
    def test_nodes_that_lose_their_edges_get_zeros_and_one_warning(self, planted, form):
        graph, _ = planted
        model = fitted(graph, form)
        A = graph.adjacency.tolil()
        A[7] = 0
        A[:, 7] = 0
        with pytest.warns(UserWarning, match="1 of the nodes to embed has no edges; its vector is zero") as caught:
            model.update(Graph(sparse.csr_array(A), graph.nodes))
        assert len(caught) == 1
        assert not model.embedding_[7].any()


class TestAllRows:
    def test_the_form_of_the_fit_is_kept(self, planted):
        graph, _ = planted
        model = BoostNE(12, levels=3).fit(graph)  # the window and the form are chosen for the graph
        matrix, parameters = model.connectivity_, model.get_params()
        model.update(toggled(graph, (0, 1)))
        assert model.connectivity_ is matrix
        assert model.get_params() == parameters
        assert model.approximation_ == "exact"
        assert (model.n_iter_ == updating.PASSES).all()

    def test_levels_start_from_the_context_vectors(self, planted):
        graph, _ = planted
        model = fitted(graph, "exact", tol=1e-7, max_iter=1000, **PLAIN)
        report = model.update(toggled(graph, (0, 1)))
        assert report.recomputed == graph.n_nodes
        assert report.cosines[0.25] >= 0.99  # from a random start, components come in another order
        other = fitted(graph, "exact", random_state=1, **PLAIN)
        assert np.median(cosines(other.embedding_.vectors, model.embedding_.vectors)) < 0.9

    def test_a_function_gives_the_matrix(self, planted):
        graph, _ = planted
        model = BoostNE(12, levels=3, connectivity=lambda graph: graph.adjacency @ graph.adjacency).fit(graph)
        assert model.update(toggled(graph, (0, 1))).recomputed == graph.n_nodes

    def test_many_changes(self, planted):
        graph, _ = planted
        model = fitted(graph)
        report = model.update(toggled(graph, *((i, i + 1) for i in range(0, 149, 2))))
        assert report.recomputed == graph.n_nodes
        assert not model.fitted_graph_.staleness.any()

    def test_different_vectors_and_context_vectors(self, planted):
        graph, _ = planted
        model = fitted(graph)
        model.context_ = model.context_[:, ::-1].copy()  # as if the components of U and V came in another order
        assert model.update(toggled(graph, (0, 1))).recomputed == graph.n_nodes


class TestSomeRows:
    def test_changed_rows_follow_the_definition(self, planted):
        graph, _ = planted
        model = fitted(part(graph, np.arange(148)), dtype="float64", **PLAIN)
        before = np.zeros((150, 12))
        before[:148] = model.context_
        report = model.update(graph)
        touched = np.flatnonzero((graph.adjacency[:, [148, 149]].sum(axis=1) > 0) | (np.arange(150) >= 148))
        X = PUSH.source(graph, folding.MatrixForm("push", 1e-5, 60), dtype=np.float64).build()[0].toarray()
        known = touched[touched < 148]
        assert report.recomputed >= len(touched)
        for i in known:
            np.testing.assert_allclose(model.context_[i], solved(X[i], before), atol=2e-3)
        after = model.context_.copy()
        after[148:] = 0
        first = np.array([solved(X[i], before) for i in (148, 149)])
        after[148:] = first
        for i in (148, 149):  # solved once more, when other new nodes have context vectors
            np.testing.assert_allclose(model.context_[i], solved(X[i], after), atol=2e-3)

    def test_vectors_are_the_propagated_context_vectors(self, planted):
        graph, _ = planted
        model = fitted(graph, propagation=0.8, vector_length=0)
        report = model.update(toggled(graph, (0, 1)))
        assert report.recomputed < graph.n_nodes
        later = toggled(graph, (0, 1))
        raw = type(model.embedding_)(later.nodes, model.context_, model.embedding_.levels)
        expected = propagate(later, raw, neighbor_weight=0.8, steps=4)
        near = folding.within_steps(later, np.isin(np.arange(150), [0, 1]), 2)
        assert near.sum() > 20
        np.testing.assert_allclose(model.embedding_.vectors[near], expected.vectors[near], rtol=1e-5)

    def test_distant_nodes_keep_their_vectors(self):
        ring = graphs.path(300)
        model = BoostNE(8, levels=2, connectivity=PUSH).fit(toggled(ring, (0, 299)))
        before = model.embedding_.vectors.copy()
        report = model.update(toggled(ring, (0, 299), (100, 102)))
        assert report.changed == 2
        moved = set(np.flatnonzero((before != model.embedding_.vectors).any(axis=1)).tolist())
        assert {100, 102} <= moved <= set(range(90, 113))
        assert report.recomputed <= 9

    def test_dropped_mass_follows(self, planted):
        graph, _ = planted
        pruned = DeepWalkMatrix(window=3, approximation="push", epsilon=1e-3, max_per_row=20)
        model = BoostNE(12, levels=3, connectivity=pruned).fit(part(graph, np.arange(148)))
        model.update(graph)
        _, expected = pruned.source(graph, folding.MatrixForm("push", 1e-3, 20), dtype=np.float32).build()
        assert expected.any()
        recomputed = model.fitted_graph_.staleness == 0
        assert recomputed.sum() < 150
        np.testing.assert_allclose(model.dropped_mass_[recomputed], expected[recomputed], atol=1e-6)

    def test_staleness_adds_up_until_a_row_is_built_again(self, planted, monkeypatch):
        monkeypatch.setattr(updating, "MAX_STALENESS", 0.03)
        graph, _ = planted
        model = fitted(graph)
        neighbor = int(graph.adjacency[[0]].indices[0])
        pairs = [(0, other) for other in range(1, 150) if other != neighbor]
        built, last = [], 0.0
        for i in range(0, 40, 2):
            model.update(toggled(graph, *pairs[: i + 2]))
            staleness = float(model.fitted_graph_.staleness[neighbor])
            assert staleness < updating.MAX_STALENESS
            built.append(staleness < last)
            last = staleness
        assert not built[0]
        assert any(built)

    def test_shares_of_changed_edges(self):
        graph = graphs.random_graph(2000, 20, seed=1)
        rng = np.random.default_rng(0)
        later = toggled(graph, *((int(u), int(v)) for u, v in rng.integers(2000, size=(1500, 2)) if u != v))
        difference = abs(later.adjacency - graph.adjacency).sum(axis=1)
        expected = np.minimum(difference / np.diff(later.adjacency.indptr), 1)
        before, after = FittedGraph.of(graph), FittedGraph.of(later)
        found = changed_shares(later, after.sketches, before.sketches, np.arange(2000))
        np.testing.assert_array_equal(found[difference == 0], 0)
        one = difference == 1
        np.testing.assert_allclose(found[one], expected[one])
        assert found.mean() == pytest.approx(expected.mean(), rel=0.1)
        rows = np.arange(2000)
        rows[3] = -1
        assert changed_shares(later, after.sketches, before.sketches, rows)[3] == 1

    def test_shares_do_not_depend_on_the_unit_of_the_weights(self):
        graph = graphs.random_graph(50, 6)
        later = toggled(graph, (0, 1), (2, 3))
        for unit in (1e-300, 1.0, 1e300):
            scaled = [Graph(one.adjacency.astype(np.float64) * unit, one.nodes) for one in (graph, later)]
            before, after = map(FittedGraph.of, scaled)
            found = changed_shares(scaled[1], after.sketches, before.sketches, np.arange(50))
            assert set(np.flatnonzero(found).tolist()) == {0, 1, 2, 3}
            np.testing.assert_allclose(found[[0, 2]], 1 / np.diff(later.adjacency.indptr)[[0, 2]])

    def test_shares_of_walks(self):
        graph, window = graphs.karate(), 4
        changed = np.random.default_rng(0).random(34)
        S = graph.adjacency.toarray() / graph.degrees[:, None]
        expected = np.zeros(34)
        for length in range(1, window + 1):
            for step in range(length):
                expected += np.linalg.matrix_power(S, step) @ changed / window
        np.testing.assert_allclose(updating.walk_shares(graph, changed, window), expected)


def solved(row, context):
    """Solve a row of X by SciPy's active-set method, level by level."""
    residual, vector = row.copy(), []
    for V in np.split(context, 3, axis=1):
        u, _ = nnls(V, residual, maxiter=1000)
        residual = np.where(row > 0, np.maximum(residual - V @ u, 0), 0)
        vector.append(u)
    return np.concatenate(vector)


class TestErrors:
    def test_not_fitted(self, planted):
        with pytest.raises(NotFittedError):
            BoostNE().update(planted[0])

    def test_no_known_node(self, planted):
        with pytest.raises(GraphError, match="the graph shares no node with the model"):
            fitted(planted[0]).update([("a", "b"), ("b", "c")])

    def test_another_graph_with_the_same_ids(self, planted):
        graph, _ = planted
        model = fitted(graph)
        before = state(model)
        shuffled = graph.permuted(np.random.default_rng(0).permutation(graph.n_nodes))
        with pytest.raises(GraphError, match=r"about \d+% of the edges of the nodes in the model are new or gone: is"):
            model.update(Graph(shuffled.adjacency, graph.nodes))
        assert_same(before, state(model))

    def test_weights_must_be_as_before(self, planted):
        graph, _ = planted
        with pytest.raises(GraphError, match="the graph is weighted, and the model was fitted to a graph that is unw"):
            fitted(graph).update(Graph(graph.adjacency * 2, graph.nodes))

    def test_a_matrix_of_ones_own(self, planted):
        graph, _ = planted
        model = BoostNE(12, levels=3, connectivity=graph.adjacency @ graph.adjacency).fit(graph)
        before = state(model)
        assert model.update(graph).changed == 0
        with pytest.raises(ParameterError, match=r"set_params\(connectivity=function\)"):
            model.update(toggled(graph, (0, 1)))
        assert_same(before, state(model))


def test_report_as_text():
    report = UpdateReport(added=1200, removed=3, changed=40, recomputed=1250, cosines={0.05: 0.9, 0.5: 0.999})
    assert str(report) == (
        "1,200 nodes added, 3 removed, 40 changed; 1,250 rows computed; cosine to the previous vectors: 0.900 (5% "
        "quantile), 0.999 (50% quantile)"
    )
