"""New nodes: folded in by non-negative least squares against the context vectors of a fitted model."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from scipy.optimize import nnls
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests import graphs

from boostne import BoostNE, DeepWalkMatrix, Embedding, Graph, NetMF, propagate
from boostne.errors import GraphError, InputWarning, ParameterError
from boostne.factorization.folding import fold_in
from boostne.kernels import get_kernels
from boostne.models import folding
from boostne.models.fitted_graph import neighborhood_digests
from boostne.propagation import propagate_to_last

PLAIN = {"propagation": 0, "vector_length": 0}
FORMS = {
    "exact": DeepWalkMatrix(window=3, approximation="exact"),
    "spectral": DeepWalkMatrix(window=3, approximation="spectral", eigenpairs=40),
    "push": DeepWalkMatrix(window=3, approximation="push", epsilon=1e-4, max_per_row=30),
    "bounded": DeepWalkMatrix(window=3, approximation="push", epsilon=0.0, max_per_row=30),
}


@pytest.fixture(scope="module")
def grown():
    """A graph with communities, and the positions of its last nodes, which are new."""
    graph, _ = graphs.planted_partition([60, 50, 40], 0.3, 0.02, seed=3)
    return graph.without_isolated()


def without(graph, hidden):
    """Return the graph without some nodes."""
    keep = np.setdiff1d(np.arange(graph.n_nodes), hidden)
    return Graph(graph.adjacency[keep][:, keep], graph.nodes[keep])


def hidden_nodes(graph, count=15, seed=0):
    return np.sort(np.random.default_rng(seed).permutation(graph.n_nodes)[:count])


def fit_smaller(graph, hidden, **parameters):
    return BoostNE(**{"dimensions": 12, "levels": 3, **parameters}).fit(without(graph, hidden))


def folded_by_loops(model, graph, nodes):
    """Solve each row by SciPy's active-set method, in float64."""
    X = model.connectivity_.source(
        graph, folding.MatrixForm(model.approximation_, model.epsilon_, model.max_per_row_), dtype=model.dtype
    ).build()[0]
    known = np.array([graph.index([node])[0] for node in model.embedding_.nodes.tolist()])
    rows = []
    for node in graph.index(nodes):
        r = X[[node]].toarray()[0].astype(np.float64)[known]
        support, vector = r > 0, []
        for V in np.split(model.context_.astype(np.float64), model.levels, axis=1):
            u, _ = nnls(V, r, maxiter=1000)
            r = np.where(support, np.maximum(r - V @ u, 0), 0)
            vector.append(u)
        rows.append(np.concatenate(vector))
    return np.array(rows)


class TestFoldIn:
    @pytest.mark.parametrize("form", FORMS)
    def test_follows_the_definition(self, grown, form):
        hidden = hidden_nodes(grown)
        model = fit_smaller(grown, hidden, connectivity=FORMS[form], dtype="float64", **PLAIN)
        found = model.fold_in(grown)
        np.testing.assert_array_equal(found.nodes, grown.nodes[hidden])
        np.testing.assert_array_equal(found.levels, [4, 4, 4])
        np.testing.assert_allclose(found.vectors, folded_by_loops(model, grown, found.nodes), atol=2e-3)

    def test_weights_count(self):
        graph = graphs.random_graph(60, 8, seed=4)
        A = graph.adjacency.copy()
        A.data = A.data * (1 + np.arange(A.nnz) % 5)
        weighted = Graph(A.maximum(A.T), graph.nodes)
        hidden = hidden_nodes(weighted, 6)
        model = fit_smaller(weighted, hidden, dtype="float64", window=2, **PLAIN)
        expected = folded_by_loops(model, weighted, weighted.nodes[hidden])
        np.testing.assert_allclose(model.fold_in(weighted).vectors, expected, atol=2e-3)

    def test_known_nodes_are_recognized_in_any_order(self, grown):
        hidden = hidden_nodes(grown)
        model = fit_smaller(grown, hidden)
        expected = model.fold_in(grown)
        shuffled = grown.permuted(np.random.default_rng(1).permutation(grown.n_nodes))
        found = model.fold_in(shuffled)
        for node in expected:
            np.testing.assert_allclose(found[node], expected[node], atol=1e-4)

    def test_edges_between_new_nodes_count(self, grown):
        hidden = hidden_nodes(grown)
        model = fit_smaller(grown, hidden)
        A = grown.adjacency.tolil()
        for u, v in ((hidden[0], hidden[1]), (hidden[1], hidden[0])):
            A[u, v] = 1 - A[u, v]
        changed = Graph(sparse.csr_array(A), grown.nodes)
        differs = (model.fold_in(changed).vectors != model.fold_in(grown).vectors).any(axis=1)
        assert differs[:2].all()

    def test_few_rows_at_a_time(self, grown, monkeypatch):
        model = fit_smaller(grown, hidden_nodes(grown), connectivity=FORMS["push"])
        whole = model.fold_in(grown).vectors
        monkeypatch.setattr(folding, "MIN_CHUNK_ENTRIES", 1)
        monkeypatch.setattr("boostne.matrices.deepwalk.push.push_chunk_rows", lambda *_: 2)
        sizes = []
        found = model.fold_in(grown, progress=lambda progress: sizes.append(progress.done)).vectors
        assert len(sizes) > 1
        np.testing.assert_array_equal(found, whole)

    @pytest.mark.parametrize("form", FORMS)
    def test_bits_do_not_depend_on_threads(self, grown, form):
        hidden = hidden_nodes(grown)
        model = fit_smaller(grown, hidden, connectivity=FORMS[form], threads=1)
        one = model.fold_in(grown).vectors
        np.testing.assert_array_equal(model.set_params(threads=3).fold_in(grown).vectors, one)

    def test_communities_of_new_nodes_are_recovered(self):
        graph, labels = graphs.planted_partition([60, 60, 60], 0.3, 0.01, seed=5)
        hidden = hidden_nodes(graph, 30)
        model = fit_smaller(graph, hidden)
        known = np.setdiff1d(np.arange(graph.n_nodes), hidden)
        classifier = LogisticRegression().fit(model.embedding_.vectors, np.asarray(labels)[known])
        assert classifier.score(model.fold_in(graph).vectors, np.asarray(labels)[hidden]) >= 0.9

    def test_isolated_newcomers_get_zeros_and_one_warning(self, grown):
        model = BoostNE(12, levels=3).fit(grown)
        A = sparse.block_diag([grown.adjacency, sparse.csr_array((2, 2))], format="csr")
        larger = Graph(A, np.append(grown.nodes, [1000, 1001]))
        with pytest.warns(UserWarning, match="2 of the nodes to embed have no edges; their vectors are zero") as caught:
            found = model.fold_in(larger)
        assert len(caught) == 1
        assert found.nodes.tolist() == [1000, 1001]
        assert not found.vectors.any()

    def test_no_new_nodes(self, grown):
        found = BoostNE(12, levels=3).fit(grown).fold_in(grown)
        assert found.vectors.shape == (0, 12)

    def test_missing_known_nodes_are_counted(self, grown):
        model = fit_smaller(grown, [0, 1])
        with pytest.warns(
            InputWarning, match=r"4 nodes of the model are not in the graph: 4, 5, 6, … \(4 in all\); the"
        ):
            found = model.fold_in(without(grown, [4, 5, 6, 7]))
        assert found.nodes.tolist() == [0, 1]
        assert found.vectors.any(axis=1).all()

    def test_rows_of_another_matrix(self, grown):
        hidden = hidden_nodes(grown)
        model = fit_smaller(grown, hidden, connectivity="katz", dtype="float64", **PLAIN)
        expected = folded_by_loops(model, grown, grown.nodes[hidden])
        np.testing.assert_allclose(model.fold_in(grown).vectors, expected, atol=2e-3 * expected.max())

    def test_a_function_gives_the_rows(self, grown):
        hidden = hidden_nodes(grown)
        model = fit_smaller(grown, hidden, connectivity=lambda graph: graph.adjacency @ graph.adjacency)
        assert model.fold_in(grown).vectors.any(axis=1).all()


def test_kernel_against_loops():
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 40), density=0.3, random_state=rng, format="csr")
    context = rng.random((45, 6))
    nodes = rng.permutation(45)[:40]
    found = fold_in(X.copy(), context, nodes, 2, get_kernels())
    for i in range(30):
        r = X[[i]].toarray()[0]
        u, _ = nnls(context[nodes, :3], r)
        np.testing.assert_allclose(found[i, :3], u, atol=1e-8)
        r = np.where(r > 0, np.maximum(r - context[nodes, :3] @ u, 0), 0)
        np.testing.assert_allclose(found[i, 3:], nnls(context[nodes, 3:], r)[0], atol=1e-8)


class TestTransform:
    def test_of_the_same_graph_is_fit_transform(self, grown):
        model = BoostNE(12, levels=3)
        np.testing.assert_array_equal(model.fit_transform(grown), model.transform(grown))

    def test_known_nodes_keep_their_vectors(self, grown):
        hidden = hidden_nodes(grown)
        model = fit_smaller(grown, hidden)
        found = Embedding(grown.nodes, model.transform(grown))
        new = model.fold_in(grown)
        for node in grown.nodes.tolist():
            expected = new[node] if node in new else model.embedding_[node]
            np.testing.assert_array_equal(found[node], expected)

    def test_refresh_changes_the_nodes_whose_walks_reach_a_change(self):
        graph = graphs.path(40)
        model = BoostNE(4, levels=2, window=2).fit(without(graph, [0, 39]))
        changed = (model.transform(graph) != model.transform(graph, refresh=True)).any(axis=1)
        # Nodes 1 and 38 have a new edge, to 0 and 39; walks of two steps reach them from 2 and 3, and from 36 and 37.
        assert set(np.flatnonzero(changed).tolist()) <= {0, 1, 2, 3, 36, 37, 38, 39}
        assert changed[[1, 2, 37, 38]].all()

    def test_refreshed_vectors_are_close_to_those_of_the_fit(self, grown):
        model = BoostNE(12, levels=3, tol=1e-6, max_iter=500).fit(grown)
        reweighted = Graph(grown.adjacency, grown.nodes)
        digests = model.fitted_graph_.neighborhoods
        object.__setattr__(model.fitted_graph_, "neighborhoods", digests + np.uint64(1))  # all count as changed
        again = model.transform(reweighted, refresh=True)
        E = model.embedding_.vectors
        cosines = (E * again).sum(1) / np.linalg.norm(E, axis=1) / np.linalg.norm(again, axis=1)
        assert np.median(cosines) >= 0.985

    def test_the_model_does_not_change(self, grown):
        hidden = hidden_nodes(grown)
        model = fit_smaller(grown, hidden)
        vectors, context = model.embedding_.vectors.copy(), model.context_.copy()
        model.transform(grown, refresh=True)
        np.testing.assert_array_equal(model.embedding_.vectors, vectors)
        np.testing.assert_array_equal(model.context_, context)

    def test_names_of_the_columns(self, grown):
        model = BoostNE(6, levels=3).fit(grown)
        names = ["level1_0", "level1_1", "level2_0", "level2_1", "level3_0", "level3_1"]
        assert model.get_feature_names_out().tolist() == names

    def test_output_as_a_data_frame(self, grown):
        edges = pd.DataFrame({"source": ["a", "b", "c", "a"], "target": ["b", "c", "d", "d"]})
        model = BoostNE(4, levels=2).set_output(transform="pandas")
        fitted = model.fit_transform(edges)
        assert fitted.index.tolist() == ["a", "b", "c", "d"]
        pd.testing.assert_frame_equal(model.transform(edges), fitted)
        assert fitted.columns.tolist() == model.get_feature_names_out().tolist()
        pd.testing.assert_frame_equal(sklearn.base.clone(model).fit_transform(edges), fitted)
        model.set_output(transform="polars")
        assert model.transform(edges).columns == fitted.columns.tolist()
        assert isinstance(model.set_output(transform="default").transform(edges), np.ndarray)
        with sklearn.config_context(transform_output="pandas"):
            assert isinstance(BoostNE(4, levels=2).fit_transform(edges), pd.DataFrame)
        with pytest.raises(ParameterError, match="transform must be one of 'default', 'pandas', 'polars', got 'list'"):
            model.set_output(transform="list")

    def test_pipeline_over_node_ids(self):
        graph, labels = graphs.planted_partition([40, 40], 0.4, 0.02, seed=6)
        embedding = BoostNE(8, levels=2).fit(graph).embedding_
        lookup = FunctionTransformer(lambda ids: np.array([embedding[node] for node in ids]))
        pipeline = make_pipeline(lookup, LogisticRegression())
        pipeline.fit(graph.nodes[::2], np.asarray(labels)[::2])
        assert pipeline.score(graph.nodes[1::2], np.asarray(labels)[1::2]) >= 0.9


class TestErrors:
    def test_not_fitted(self, grown):
        with pytest.raises(NotFittedError):
            BoostNE().transform(grown)

    def test_no_known_node(self, grown):
        model = BoostNE(12, levels=3).fit(grown)
        strangers = [("a", "b"), ("b", "c"), ("c", "d")]
        with pytest.raises(GraphError, match=r"shares no node with the model: the graph has 'a', 'b', 'c', … \(4 in "):
            model.transform(strangers)

    def test_ids_of_another_type(self, grown):
        model = BoostNE(12, levels=3).fit(grown)
        texts = Graph(grown.adjacency, grown.nodes.astype(str))
        with pytest.raises(GraphError, match="the ids must be the same and of the same type"):
            model.transform(texts)

    def test_weights_and_direction_must_be_as_before(self, grown):
        model = BoostNE(12, levels=3).fit(grown)
        with pytest.raises(GraphError, match="the graph is weighted, and the model was fitted to a graph that is unw"):
            model.transform(Graph(grown.adjacency * 2, grown.nodes))

    def test_a_matrix_of_ones_own_has_no_further_rows(self, grown):
        hidden = hidden_nodes(grown)
        smaller = without(grown, hidden)
        model = BoostNE(12, levels=3, connectivity=smaller.adjacency @ smaller.adjacency).fit(smaller)
        with pytest.raises(ParameterError, match=r"set_params\(connectivity=function\)"):
            model.transform(grown)
        np.testing.assert_array_equal(model.transform(smaller), model.embedding_.vectors)
        model.set_params(connectivity=lambda graph: graph.adjacency @ graph.adjacency)
        assert model.fold_in(grown).vectors.any(axis=1).all()

    def test_netmf_has_no_transform(self):
        assert not hasattr(NetMF, "transform")


class TestNeighborhoods:
    @pytest.mark.parametrize("kind", ["integers", "strings", "tuples"])
    def test_the_order_of_the_nodes_does_not_matter(self, kind):
        graph = graphs.random_graph(50, 6)
        ids = {"integers": graph.nodes, "strings": graph.nodes.astype(str)}.get(kind)
        if ids is None:
            ids = np.empty(50, object)
            ids[:] = [("node", i) for i in range(50)]
        named = Graph(graph.adjacency, ids)
        order = np.random.default_rng(0).permutation(50)
        digests = neighborhood_digests(named)
        np.testing.assert_array_equal(neighborhood_digests(named.permuted(order)), digests[order])
        assert len(np.unique(digests)) > 45

    def test_changes_of_edges_and_weights_show(self):
        A = graphs.random_graph(50, 6).adjacency.toarray()
        before = neighborhood_digests(Graph(A))
        A[3, 7] = A[7, 3] = 1 - A[3, 7]
        A[10, A[10].nonzero()[0][0]] = A[A[10].nonzero()[0][0], 10] = 2.5
        touched = {3, 7, 10, int(A[10].nonzero()[0][0])}
        assert set(np.flatnonzero(neighborhood_digests(Graph(A)) != before).tolist()) == touched

    def test_blocks_of_edges(self, monkeypatch):
        graph = graphs.star(30)
        whole = neighborhood_digests(graph)
        monkeypatch.setattr("boostne.models.fitted_graph._BLOCK_ENTRIES", 5)
        np.testing.assert_array_equal(neighborhood_digests(graph), whole)

    def test_isolated_nodes(self):
        graph = Graph.from_edges([0], [1], nodes=[0, 1, 2, 3])
        assert (neighborhood_digests(graph)[2:] == 0).all()


@pytest.mark.parametrize("steps", [1, 2])
def test_propagation_to_the_last_nodes(steps):
    graph = graphs.random_graph(40, 5, seed=2)
    vectors = np.random.default_rng(0).random((40, 43))
    expected = vectors.copy()
    for _ in range(steps):  # the others stay as they are
        expected[30:] = propagate(graph, Embedding(graph.nodes, expected), neighbor_weight=0.7).vectors[30:]
    last = vectors[30:].copy()
    propagate_to_last(graph, last, lambda nodes: lambda columns: vectors[nodes, columns], 0.7, steps, 1)
    np.testing.assert_allclose(last, expected[30:], rtol=1e-12)
