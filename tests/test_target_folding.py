"""New nodes and updates of directed and bipartite graphs, whose models have vectors of sources and of targets."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from tests import graphs

from boostne import BoostNE, DeepWalkMatrix, Graph, as_graph, planted_bipartite, read_embedding
from boostne.cli.program import run
from boostne.errors import GraphError, ParameterError
from boostne.matrices import MatrixForm

PLAIN = {"propagation": 0, "vector_length": 0}
SMALL = {"dimensions": 8, "levels": 2}
FORMS = {
    "default": "deepwalk",
    "exact": DeepWalkMatrix(window=3, approximation="exact"),
    "push": DeepWalkMatrix(window=3, approximation="push", epsilon=1e-4, max_per_row=30),
    "bounded": DeepWalkMatrix(window=3, approximation="push", epsilon=0.0, max_per_row=30),
}
EDGES = [("ann", "tea"), ("ann", "milk"), ("ann", "cake"), ("bob", "tea"), ("bob", "milk"), ("eve", "rice")]
EDGES += [("eve", "beans"), ("kim", "rice")]


def bipartite():
    """Return a graph whose sides alternate in the order of the nodes."""
    graph = planted_bipartite(70, 50, communities=3, mean_degree=8, mixing=0.1, seed=2).graph
    return graph.permuted(np.random.default_rng(0).permutation(graph.n_nodes))


def directed():
    """Return a graph whose edges lead from each of three communities to the next; some nodes have no outgoing edge."""
    rng = np.random.default_rng(1)
    source, offset = rng.integers(108, size=900), rng.integers(40, size=900)
    target = (source % 3 + 1) % 3 + 3 * offset
    return Graph.from_edges(source, target, nodes=range(120), directed=True)


KINDS = {"directed": directed, "bipartite": bipartite}


@pytest.fixture(scope="module", params=KINDS)
def whole(request):
    return KINDS[request.param]()


def part(graph, nodes):
    sides = None if graph.sides is None else graph.sides[nodes]
    return Graph(graph.adjacency[nodes][:, nodes], graph.nodes[nodes], directed=graph.directed, sides=sides)


def hidden_nodes(graph, count=15):
    return np.sort(np.random.default_rng(3).permutation(graph.n_nodes)[:count])


def fit_smaller(graph, hidden, **parameters):
    return BoostNE(**SMALL | parameters).fit(part(graph, np.setdiff1d(np.arange(graph.n_nodes), hidden)))


def connectivity(model, graph):
    """Return X of a graph in the form of a model: the rows of sources, the columns of targets."""
    form = MatrixForm(model.approximation_, model.epsilon_, model.max_per_row_)
    if graph.sides is None:
        return model.connectivity_.source(graph, form, dtype=model.dtype).build()[0].toarray()
    order = np.argsort(~graph.sides, kind="stable")
    return model.connectivity_.source(graph.permuted(order), form, dtype=model.dtype).build()[0].toarray()


def solved(x, factor, levels):
    """Solve a row by SciPy's active-set method, level by level."""
    r, found = x.astype(np.float64), []
    for V in np.split(factor.astype(np.float64), levels, axis=1):
        u, _ = nnls(V, r, maxiter=1000)
        r = np.where(x > 0, np.maximum(r - V @ u, 0), 0)
        found.append(u)
    return np.concatenate(found)


def vectors(embedding):
    return np.concatenate([embedding.vectors, embedding.targets.vectors])


def cosines(a, b):
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return (a * b).sum(1)[norms > 0] / norms[norms > 0]


class TestFoldIn:
    @pytest.mark.parametrize("form", ["default", "exact", "bounded"])
    def test_follows_the_definition(self, whole, form):
        hidden = hidden_nodes(whole)
        model = fit_smaller(whole, hidden, connectivity=FORMS[form], dtype="float64", **PLAIN)
        found, X = model.fold_in(whole), connectivity(model, whole)
        sides = np.ones(whole.n_nodes, bool) if whole.sides is None else whole.sides
        rows = whole.nodes[sides].tolist()
        columns = rows if whole.sides is None else whole.nodes[~sides].tolist()
        known_rows, known_columns = (
            [order.index(node) for node in side.nodes.tolist()]
            for order, side in ((rows, model.embedding_), (columns, model.targets_))
        )
        assert sorted({*found.nodes, *found.targets.nodes}) == sorted(whole.nodes[hidden])
        for node in found:
            expected = solved(X[rows.index(node), known_columns], model.context_, 2)
            np.testing.assert_allclose(found[node], expected, atol=2e-3)
        if whole.sides is not None and form == "bounded":
            return  # rows of the second side are pruned by themselves
        for node in found.targets:
            expected = solved(X[known_rows, columns.index(node)], model.centers_, 2)
            np.testing.assert_allclose(found.targets[node], expected, atol=2e-3)

    @pytest.mark.parametrize("form", ["default", "push"])
    def test_known_nodes_folded_in_again_get_their_vectors_back(self, whole, form):
        model = BoostNE(**SMALL, connectivity=FORMS[form], tol=1e-6, max_iter=500).fit(whole)
        before = model.fitted_graph_.neighborhoods.copy()
        model.fitted_graph_.neighborhoods[:] += np.uint64(1)  # all count as changed
        found = model.embed(whole, refresh=True)
        model.fitted_graph_.neighborhoods[:] = before
        assert (vectors(found) != vectors(model.embedding_)).any()
        assert np.median(cosines(vectors(found), vectors(model.embedding_))) >= 0.985
        np.testing.assert_allclose(vectors(found).sum(), vectors(model.embedding_).sum(), rtol=0.02)

    def test_new_nodes_are_close_to_those_of_a_fit_from_the_same_basis(self, whole):
        model = fit_smaller(whole, hidden_nodes(whole))
        found = model.fold_in(whole)
        assert found.vectors.any()
        model.update(whole)
        for new, updated in ((found, model.embedding_), (found.targets, model.targets_)):
            assert np.median(cosines(new.vectors, updated[new.nodes])) >= 0.9

    def test_bits_do_not_depend_on_threads_or_the_file(self, whole, tmp_path):
        model = fit_smaller(whole, hidden_nodes(whole), threads=1)
        one = vectors(model.fold_in(whole))
        model.save(tmp_path / "model.npz")
        loaded = BoostNE.load(tmp_path / "model.npz").set_params(threads=3)
        np.testing.assert_array_equal(vectors(loaded.fold_in(whole)), one)

    def test_isolated_newcomers_get_zeros(self, whole):
        model = BoostNE(**SMALL).fit(whole)
        A = sparse.block_diag([whole.adjacency, sparse.csr_array((2, 2))], format="csr")
        sides = None if whole.sides is None else np.append(whole.sides, [True, False])
        larger = Graph(A, np.append(whole.nodes, [1000, 1001]), directed=whole.directed, sides=sides)
        with pytest.warns(UserWarning, match="2 of the nodes to embed have no edges; their vectors are zero"):
            found = model.fold_in(larger)
        assert {*found, *found.targets} == {1000, 1001}
        assert not vectors(found).any()


class TestTransform:
    def test_known_nodes_keep_their_vectors(self, whole):
        hidden = hidden_nodes(whole)
        model = fit_smaller(whole, hidden)
        known = part(whole, np.setdiff1d(np.arange(whole.n_nodes), hidden))
        np.testing.assert_array_equal(model.transform(known), model.embedding_.vectors)
        found, new = model.embed(whole), model.fold_in(whole)
        assert not len(model.fold_in(known))
        np.testing.assert_array_equal(model.transform(whole), found.vectors)
        for side, added, before in ((found, new, model.embedding_), (found.targets, new.targets, model.targets_)):
            for node in side:
                np.testing.assert_array_equal(side[node], (added if node in added else before)[node])


class TestUpdate:
    @pytest.mark.parametrize("form", ["default", "push"])
    def test_follows_the_graph(self, whole, form):
        model = fit_smaller(whole, hidden_nodes(whole), connectivity=FORMS[form])
        before = model.embed(whole)
        report = model.update(whole)
        assert (report.added, report.removed, report.recomputed) == (15, 0, whole.n_nodes)
        np.testing.assert_array_equal(model.embedding_.nodes, before.nodes)
        np.testing.assert_array_equal(model.targets_.nodes, before.targets.nodes)
        assert np.median(cosines(vectors(model.embedding_), vectors(before))) >= 0.9
        assert model.centers_.shape == model.embedding_.vectors.shape
        np.testing.assert_array_equal(model.transform(whole), model.embedding_.vectors)

    def test_an_unchanged_graph_changes_nothing_but_the_order(self, whole, tmp_path):
        model = BoostNE(**SMALL).fit(whole)
        order = np.random.default_rng(0).permutation(whole.n_nodes)
        moved, expected = whole.permuted(order), model.embed(whole.permuted(order))
        report = model.update(moved)
        assert (report.added, report.removed, report.changed, report.recomputed) == (0, 0, 0, 0)
        np.testing.assert_array_equal(vectors(model.embedding_), vectors(expected))
        model.save(tmp_path / "model.npz", graph=moved)
        np.testing.assert_array_equal(vectors(BoostNE.load(tmp_path / "model.npz").embed(moved)), vectors(expected))

    def test_both_ends_of_a_new_edge_count_as_changed(self):
        graph = directed()
        free = np.flatnonzero(graph.adjacency[[0]].toarray()[0] == 0)[1]
        A = graph.adjacency.tolil()
        A[0, free] = 1
        report = BoostNE(**SMALL).fit(graph).update(Graph(sparse.csr_array(A), graph.nodes, directed=True))
        assert report.changed == 2


@pytest.fixture(scope="module")
def model():
    return BoostNE(2, levels=1).fit(as_graph(EDGES, sides="columns"))


class TestRecommend:
    def test_new_users_and_items(self, model):
        today = as_graph([*EDGES, ("zoe", "beans"), ("eve", "nuts")], sides="columns")
        assert model.recommend("zoe", 1, graph=today)[0][0] == "rice"
        assert [user for user, _ in model.recommend("nuts", graph=today)] == ["kim", "zoe"]
        with pytest.raises(GraphError, match="the model has no nodes 'zoe'"):
            model.recommend("zoe")

    def test_edges_of_today_are_left_out(self, model):
        today = as_graph([*EDGES, ("kim", "beans")], sides="columns")
        assert "beans" in dict(model.recommend("kim"))
        assert "beans" not in dict(model.recommend("kim", graph=today))

    def test_directed_graphs(self):
        graph = directed()
        model = BoostNE(**SMALL).fit(graph)
        with pytest.raises(ParameterError, match="pass graph= or exclude_known=False"):
            model.recommend(0)
        found = dict(model.recommend(0, 60, graph=graph))
        assert found
        assert not found.keys() & {0, *graph.adjacency[[0]].indices.tolist()}


class TestErrors:
    def test_sides_of_known_nodes_must_stay(self, model):
        swapped = as_graph([(item, user) for user, item in EDGES], sides="columns")
        with pytest.raises(GraphError, match=r"on the side that they have in the model, and 'ann', .*exchange the col"):
            model.transform(swapped)

    def test_kinds_must_agree(self, model):
        graph, plain = as_graph(EDGES, sides="columns"), graphs.karate()
        with pytest.raises(GraphError, match=r"graph is not bipartite, and .* is bipartite: .*bipartite=True"):
            model.transform(graph.with_sides(None))
        with pytest.raises(GraphError, match="the graph is bipartite, and the model was fitted to a graph that is not"):
            BoostNE(2, levels=1).fit(graph.with_sides(None)).update(graph)
        with pytest.raises(GraphError, match="the graph is undirected, and the model was fitted to a graph that is di"):
            BoostNE(4, levels=2).fit(plain.to_directed()).transform(plain)


class TestCommandLine:
    @pytest.mark.parametrize("kind", ["--bipartite", "--directed"])
    def test_files_are_read_as_for_the_model(self, tmp_path, monkeypatch, capsys, kind):
        monkeypatch.chdir(tmp_path)
        today = [*EDGES, ("zoe", "beans"), ("eve", "nuts")]
        for name, edges in (("edges.csv", EDGES), ("today.csv", today)):
            (tmp_path / name).write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in edges))
        options = ["--dimensions", "2", "--levels", "1", "-q"]
        assert run(["embed", "edges.csv", "-o", "v.npz", kind, "--model", "model.npz", *options]) == 0
        capsys.readouterr()
        assert run(["recommend", "model.npz", "zoe", "--graph", "today.csv", "-n", "1"]) == 0
        assert capsys.readouterr().out.split()[3:5] == ["zoe", "rice"]
        assert run(["transform", "model.npz", "today.csv", "-o", "new.csv", "--new-only"]) == 0
        found = read_embedding("new.csv")
        assert "zoe" in found
        assert "nuts" in found.targets
        assert run(["update", "model.npz", "today.csv", "-o", "v.npz"]) == 0
        assert "2 added" in capsys.readouterr().out
        assert "nuts" in read_embedding("v.npz").targets
        assert "zoe" in BoostNE.load("model.npz").embedding_
        assert run(["recommend", "model.npz", "zoi", "--graph", "today.csv"]) == 1
        assert "did you mean 'zoe'" in capsys.readouterr().err
