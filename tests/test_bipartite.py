"""BoostNE on bipartite graphs: X between the sides, the same result on every engine, recommendations, files."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import sqrtm
from tests import reference
from tests.cluster import client_of, process_cluster
from tests.parameters import boostne

from boostne import BoostNE, DeepWalkMatrix, Embedding, Graph, NetMF, as_graph, planted_bipartite, read_embedding, tune
from boostne.budget import Workload
from boostne.cli.program import run
from boostne.errors import FileFormatError, GraphError, ParameterError
from boostne.factorization.ordering import reorder
from boostne.kernels import get_kernels
from boostne.kernels.push_graph import PushGraph
from boostne.kernels.sharded_csr import MIN_SHARD_ENTRIES
from boostne.matrices import MATRICES, MatrixForm
from boostne.models.recommendation import recommend_nodes

SETTINGS = {"dimensions": 12, "levels": 3, "max_iter": 12}
BASKETS = {"ann": ["tea", "milk", "cake"], "bob": ["tea", "milk"], "eve": ["rice", "beans"], "kim": ["rice"]}
PAIRS = [(user, item) for user, items in BASKETS.items() for item in items]


@pytest.fixture(scope="module")
def graph():
    """Return a graph whose sides alternate in the order of the nodes."""
    whole = planted_bipartite(90, 60, communities=3, mean_degree=6, seed=2).graph
    return whole.permuted(np.random.default_rng(0).permutation(whole.n_nodes))


@pytest.fixture(scope="module")
def model(graph):
    return BoostNE(**SETTINGS).fit(graph)


def between(matrix, graph):
    return np.asarray(matrix)[graph.sides][:, ~graph.sides]


def odd_walks(graph, window, negative=1.0):
    """Return ``log max(vol / 2b · mean of S^r over odd r up to T · D^-1, 1)`` between the sides."""
    A = graph.adjacency.toarray().astype(np.float64)
    S, inverse = reference.transition(A), reference.inverse(A.sum(axis=1))
    powers = [np.linalg.matrix_power(S, r) for r in range(1, window + 1, 2)]
    return between(np.log(np.maximum(A.sum() / 2 / negative * np.mean(powers, axis=0) * inverse, 1)), graph)


class TestMatrix:
    @pytest.mark.parametrize("window", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("approximation", ["exact", "push"])
    def test_is_the_mean_over_odd_walks_between_the_sides(self, graph, window, approximation):
        matrix = DeepWalkMatrix(window=window, negative=0.7, approximation=approximation)
        X = boostne(connectivity=matrix, dtype="float64", **SETTINGS).connectivity_matrix(graph)
        np.testing.assert_allclose(X.toarray(), odd_walks(graph, window, 0.7), atol=1e-10)

    def test_push_keeps_the_strongest_entries_of_the_other_side(self, graph):
        matrix = DeepWalkMatrix(window=3, approximation="push", max_per_row=5, epsilon=1e-9)
        X = boostne(connectivity=matrix, dtype="float64", **SETTINGS).connectivity_matrix(graph)
        expected = odd_walks(graph, 3)
        for row, dense in zip(X.toarray(), expected, strict=True):
            np.testing.assert_allclose(np.sort(row)[-5:], np.sort(dense)[-5:], atol=1e-6)
            assert np.count_nonzero(row) == min(5, np.count_nonzero(dense))

    @pytest.mark.parametrize("name", sorted(MATRICES))
    def test_every_matrix_is_restricted_to_rows_and_columns(self, graph, name):
        settings = {**SETTINGS, "connectivity": name, "dtype": "float64"}
        if name == "deepwalk":
            return  # has a mean of its own
        found = boostne(**settings).connectivity_matrix(graph)
        whole = boostne(**settings).connectivity_matrix(graph.with_sides(None))
        np.testing.assert_allclose(found.toarray(), between(whole.toarray(), graph), rtol=1e-12)

    def test_a_function_gets_the_first_side_first(self, graph):
        seen = []

        def adjacency(ordered):
            seen.append(ordered.sides)
            return ordered.adjacency

        X = BoostNE(**SETTINGS, connectivity=adjacency).connectivity_matrix(graph)
        np.testing.assert_array_equal(X.toarray(), between(graph.adjacency.toarray(), graph))
        assert seen[0][:90].all()

    def test_a_matrix_of_ones_own_is_refused(self, graph):
        with pytest.raises(ParameterError, match="cannot be a matrix if the graph has sides"):
            BoostNE(**SETTINGS, connectivity=graph.adjacency).fit(graph)

    @pytest.mark.parametrize("engine", ["local", "cuda"])
    def test_spectral_is_refused(self, graph, engine):
        with pytest.raises(ParameterError, match="'spectral' is for graphs without sides"):
            BoostNE.paper(**SETTINGS, engine=engine).fit(graph)

    def test_native_push_skips_columns_as_the_reference_does(self, graph):
        A = graph.adjacency
        inverse = reference.inverse(graph.degrees)
        arrays = PushGraph(A.indptr.astype(np.int64), A.indices.astype(np.int32), None, inverse)
        settings = {"factor": 40.0, "epsilon": 1e-3, "window": 4, "cap": 6, "rows": range(20), "first_column": 70}
        found, expected = (get_kernels(name).push_rows(arrays, **settings) for name in ("baseline", "reference"))
        assert found[1].min() >= 70
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)

    def test_window_of_one_by_default(self, graph, model):
        assert model.settings_["window"] == 1
        assert model.nnz_[0] <= graph.n_edges


class TestFit:
    def test_vectors_of_both_sides(self, graph, model):
        assert model.embedding_.nodes.tolist() == graph.nodes[graph.sides].tolist()
        assert model.targets_.nodes.tolist() == graph.nodes[~graph.sides].tolist()
        assert model.embedding_.vectors.shape == (90, 12)
        assert model.targets_.vectors.shape == (60, 12)
        assert model.targets_.levels.tolist() == [4, 4, 4]
        np.testing.assert_array_equal(model.known_.toarray(), between(graph.adjacency.toarray() > 0, graph))

    def test_factors_reconstruct_x(self, graph):
        model = BoostNE(30, levels=1, window=3, propagation=0, max_iter=300, tol=1e-9).fit(graph)
        X = odd_walks(graph, 3)
        residual = np.linalg.norm(X - model.embedding_.vectors @ model.targets_.vectors.T)
        assert residual == pytest.approx(np.sqrt(model.objective_[0][-1]) * np.linalg.norm(X), rel=1e-3)
        assert residual < 0.6 * np.linalg.norm(X)

    def test_propagation_averages_with_the_other_side(self, graph):
        raw, model = (BoostNE(**SETTINGS, propagation=w).fit(graph) for w in (0, 0.6))
        stacked = np.empty((graph.n_nodes, 12))
        stacked[graph.sides], stacked[~graph.sides] = raw.embedding_.vectors, raw.targets_.vectors
        loops = graph.adjacency.toarray() + np.eye(graph.n_nodes)
        root = 1 / np.sqrt(loops.sum(axis=1))
        expected = 0.4 * stacked + 0.6 * (root[:, None] * loops * root) @ stacked
        np.testing.assert_allclose(model.embedding_.vectors, expected[graph.sides], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(model.targets_.vectors, expected[~graph.sides], rtol=1e-5, atol=1e-7)

    def test_a_length_applies_to_both_sides(self, graph):
        model = BoostNE(**SETTINGS, vector_length=2.0).fit(graph)
        for embedding in (model.embedding_, model.targets_):
            lengths = np.linalg.norm(embedding.vectors, axis=1)
            assert lengths[lengths > 0].mean() == pytest.approx(2.0, rel=1e-4)

    def test_the_order_of_nodes_does_not_matter(self, graph, model):
        ordered = graph.permuted(np.argsort(graph.nodes))
        again = BoostNE(**SETTINGS, tol=0).fit(ordered).residual_norms_
        np.testing.assert_allclose(again[-1], BoostNE(**SETTINGS, tol=0).fit(graph).residual_norms_[-1], rtol=0.05)

    def test_reordering_by_community_does_not_change_the_result(self, graph, monkeypatch):
        settings = {**SETTINGS, "dtype": "float64"}
        expected = BoostNE(**settings).fit(graph)
        monkeypatch.setattr("boostne.factorization.ordering.REORDER_NODES", 0)
        reordered = reorder(graph, reorderable=True, threads=1)
        assert reordered.graph.sides[:90].all()
        assert reordered.graph.nodes[:90].tolist() != graph.nodes[graph.sides].tolist()
        assert len(reordered.column_communities) == 60
        found = BoostNE(**settings).fit(graph)
        np.testing.assert_allclose(found.embedding_.vectors, expected.embedding_.vectors, atol=1e-8)
        np.testing.assert_allclose(found.targets_.vectors, expected.targets_.vectors, atol=1e-8)

    def test_dropped_mass_belongs_to_the_first_side(self, graph):
        matrix = DeepWalkMatrix(window=3, approximation="push", max_per_row=5)
        model = BoostNE(**SETTINGS, connectivity=matrix).fit(graph)
        assert model.dropped_mass_.shape == (90,)

    def test_other_methods_embed_all_nodes_as_before(self, graph):
        found, expected = (NetMF(8).fit(g).embedding_ for g in (graph, graph.with_sides(None)))
        np.testing.assert_array_equal(found.vectors, expected.vectors)
        assert found.nodes.tolist() == graph.nodes.tolist()

    def test_a_second_fit_without_sides_forgets_the_first(self, graph):
        model = BoostNE(**SETTINGS).fit(graph)
        model.fit(graph.with_sides(None))
        assert model.targets_ is None
        assert not hasattr(model, "known_")
        assert len(model.embedding_) == graph.n_nodes
        with pytest.raises(GraphError, match="has no vectors to recommend from"):
            model.recommend(0)

    def test_a_level_wider_than_the_smaller_side(self):
        with pytest.raises(ParameterError, match="the smaller side has only 2 nodes"):
            BoostNE(4, levels=1).fit(as_graph(PAIRS[:5], sides="columns"))

    def test_parts_and_tuning_are_refused(self, graph, tmp_path):
        with pytest.raises(GraphError, match=r"with_sides\(None\)"):
            BoostNE(**SETTINGS, engine="dask").fit_to_parts(graph, tmp_path)
        with pytest.raises(GraphError, match=r"with_sides\(None\)"):
            tune(graph)

    def test_estimates_are_about_the_rectangle(self, graph):
        found = BoostNE(**SETTINGS).estimate(graph)
        assert found.nnz == pytest.approx(BoostNE(**SETTINGS).fit(graph).nnz_[0], rel=0.05)
        full = BoostNE(**SETTINGS, window=3).estimate(graph)
        assert full.nnz == pytest.approx(BoostNE(**SETTINGS, window=3).fit(graph).nnz_[0], rel=0.2)

    def test_memory_of_factors_counts_each_side_once(self):
        common = {"levels": 8, "components": 16, "max_iter": 100, "dtype": np.dtype("float32"), "threads": 2}
        square = Workload(n_nodes=1000, **common)
        sides = [Workload(n_nodes=2000, n_rows=n, **common).levels_bytes for n in (1000, 1900, 100)]
        assert sides[0] == square.levels_bytes
        assert sides[1] < sides[0] < sides[2]  # columns take more: accumulators and partial sums


class TestEngines:
    def test_dask_gives_the_same_bits(self, tmp_path):
        large = planted_bipartite(1800, 900, communities=5, mean_degree=20).graph  # X has a shard for each worker
        large = large.permuted(np.random.default_rng(0).permutation(large.n_nodes))
        with process_cluster(tmp_path, 2) as cluster, client_of(cluster) as client:
            for changes in ({}, {"window": 3}, {"window": 3, "approximation": "push", "max_per_row": 90}):
                expected, found = (
                    boostne(**SETTINGS, **changes, engine=where).fit(large) for where in ("local", client)
                )
                assert found.engine_ == "dask"
                assert not changes or found.nnz_[0] > 2 * MIN_SHARD_ENTRIES
                np.testing.assert_array_equal(found.embedding_.vectors, expected.embedding_.vectors)
                np.testing.assert_array_equal(found.targets_.vectors, expected.targets_.vectors)

    @pytest.mark.usefixtures("one_torch_thread")
    @pytest.mark.parametrize("changes", [{}, {"window": 3}, {"window": 3, "approximation": "push", "max_per_row": 9}])
    def test_cuda_agrees_up_to_rounding(self, graph, changes, monkeypatch):
        torch = pytest.importorskip("torch")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        monkeypatch.setattr("boostne.factorization.cuda.engine.gpu_device", lambda: device)
        settings = {**SETTINGS, **changes, "dtype": "float64"}
        expected, found = (boostne(**settings, engine=name).fit(graph) for name in ("local", "cuda"))
        assert found.engine_ == "cuda"
        np.testing.assert_allclose(found.residual_norms_, expected.residual_norms_, rtol=1e-8)
        np.testing.assert_allclose(found.embedding_.vectors, expected.embedding_.vectors, atol=1e-6)
        np.testing.assert_allclose(found.targets_.vectors, expected.targets_.vectors, atol=1e-6)

    @pytest.mark.parametrize("keep_matrix", [False, True])
    def test_resumes_with_the_same_bits(self, graph, model, keep_matrix, tmp_path):
        settings = {**SETTINGS, "checkpoint": tmp_path, "keep_matrix": keep_matrix}
        boostne(**settings).fit(graph)
        (tmp_path / "level-03.npz").unlink()
        resumed = boostne(**settings).fit(graph)
        np.testing.assert_array_equal(resumed.embedding_.vectors, model.embedding_.vectors)
        np.testing.assert_array_equal(resumed.targets_.vectors, model.targets_.vectors)
        with pytest.raises(Exception, match="belongs to another run"):
            boostne(**settings).fit(graph.with_sides(None))

    def test_threads_do_not_matter(self, graph, model):
        found = BoostNE(**SETTINGS, threads=1).fit(graph)
        np.testing.assert_array_equal(found.targets_.vectors, model.targets_.vectors)


def best_by_definition(scores, candidates, known, n):
    """Sort all candidates by their scores."""
    allowed = [k for k in range(len(scores)) if scores[k] > 0 and k not in known]
    return [candidates[k] for k in sorted(allowed, key=lambda k: (-scores[k], k))[:n]]


def score_map_by_definition(model, graph):
    """Fit M by least squares of all entries at once, where the ridge is further equations."""
    U, V = (side.vectors.astype(np.float64) for side in (model.embedding_, model.targets_))
    A = between(graph.adjacency.toarray() > 0, graph).astype(np.float64)
    for side in (0, 1):
        X, rows = ((U, A), (V, A.T))[side]
        ridge = np.sqrt(0.005) * np.linalg.norm(X) * np.eye(X.shape[1])
        zeros = np.zeros((X.shape[1], rows.shape[1]))
        A = np.linalg.lstsq(np.vstack([X, ridge]), np.vstack([rows, zeros]))[0]
        A = A if side == 0 else A.T
    return A


class TestRecommend:
    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("exclude_known", [True, False])
    @pytest.mark.parametrize("n", [1, 7, 1000])
    def test_equals_sorting_all_scores(self, graph, model, first, exclude_known, n, monkeypatch):
        monkeypatch.setattr("boostne.models.recommendation.CANDIDATES", 13)
        queries, others = (model.embedding_, model.targets_) if first else (model.targets_, model.embedding_)
        known = between(graph.adjacency.toarray() > 0, graph)
        known = known if first else known.T
        M = score_map_by_definition(model, graph)
        M = M if first else M.T
        V = others.vectors.astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,jk,ik->i", V, sqrtm(M.T @ M).real, V))
        scores = queries.vectors @ M @ V.T / lengths**0.6
        found = model.recommend(queries.nodes, n, exclude_known=exclude_known)
        assert len(found) == len(queries)
        error = 1e-5 * scores.max()  # of scores in single precision, whose terms may cancel out
        for i, best in enumerate(found):
            known_here = set(np.flatnonzero(known[i])) if exclude_known else set()
            positions = {node: k for k, node in enumerate(others.nodes.tolist())}
            at = [positions[node] for node, _ in best]
            new = np.setdiff1d(np.arange(len(others)), list(known_here))
            fewest, most = (min(n, np.count_nonzero(scores[i][new] > least)) for least in (error, -error))
            assert fewest <= len(at) <= most
            assert not known_here & set(at)
            values = [score for _, score in best]
            assert values == sorted(values, reverse=True)
            np.testing.assert_allclose(values, scores[i][at], rtol=0, atol=error)
            expected = best_by_definition(scores[i], range(len(others)), known_here, len(at))
            np.testing.assert_allclose(scores[i][at][: len(expected)], scores[i][expected], rtol=0, atol=2 * error)

    def test_one_node_has_the_same_bits_as_many(self, model):
        nodes = model.embedding_.nodes
        assert [model.recommend(node, 5) for node in nodes.tolist()] == model.recommend(nodes, 5)

    def test_finds_hidden_edges_of_communities(self):
        data = planted_bipartite(300, 200, communities=4, mean_degree=12, mixing=0.1, seed=1)
        model = BoostNE(16, levels=4).fit(data.graph)
        community = dict(zip(data.graph.nodes.tolist(), data.labels.matrix.argmax(axis=1), strict=True))
        users = model.embedding_.nodes
        right = [community[user] == community[item] for user, best in zip(users, model.recommend(users), strict=True)
                 for item, _ in best]  # fmt: skip
        assert np.mean(right) > 0.9

    def test_tells_more_communities_apart_than_there_are_dimensions(self):
        """Plain products of non-negative vectors cannot."""
        data = planted_bipartite(600, 400, communities=20, mean_degree=8, mixing=0.1, seed=2)
        model = BoostNE(8, levels=2).fit(data.graph)
        U, V = model.embedding_.vectors, model.targets_.vectors
        community = data.labels.matrix.argmax(axis=1)
        of_users, of_items = community[data.graph.sides], community[~data.graph.sides]
        items = {node: k for k, node in enumerate(model.targets_.nodes.tolist())}
        best = np.array([[items[node] for node, _ in row] for row in
                         model.recommend(model.embedding_.nodes, 5, exclude_known=False)])  # fmt: skip
        by_products = np.argsort(-(U @ V.T), axis=1)[:, :5]
        right, plain = (np.mean(of_items[found] == of_users[:, None]) for found in (best, by_products))
        assert right > plain + 0.05

    def test_ids_of_different_types(self):
        graph = as_graph([(1, "tea"), (2, "tea"), (2, "rice"), (3, "rice")], sides="columns")
        model = BoostNE(2, levels=1).fit(graph)
        assert [item for item, _ in model.recommend(1)] in (["rice"], [])
        assert {node for node, _ in model.recommend("tea")} <= {3}

    def test_isolated_nodes_get_nothing(self):
        nodes = ["zoe", *BASKETS, *sorted({item for _, item in PAIRS})]
        graph = Graph.from_edges(*zip(*PAIRS, strict=True), nodes=nodes, sides=["zoe", *BASKETS])
        with pytest.warns(UserWarning, match="1 of 10 nodes have no edges"):
            model = BoostNE(2, levels=1).fit(graph)
        assert model.recommend("zoe") == []
        assert model.recommend([]) == []

    @pytest.mark.parametrize(
        ("nodes", "n", "error", "message"),
        [
            ("zoe", 3, GraphError, "the model has no nodes 'zoe'; it has nodes such as 'ann' and 'beans'"),
            (["ann", "zoe"], 3, GraphError, "the model has no nodes 'zoe'"),
            (["ann", "tea"], 3, GraphError, "all nodes must be on the same side; 'tea'"),
            ("ann", 0, ParameterError, "n must be an integer"),
            ("ann", 2.5, ParameterError, "n must be an integer"),
        ],
    )
    def test_bad_input(self, nodes, n, error, message):
        model = BoostNE(2, levels=1).fit(as_graph(PAIRS, sides="columns"))
        with pytest.raises(error, match=message):
            model.recommend(nodes, n)

    def test_models_of_directed_graphs_do_not_know_their_edges(self, graph):
        model = BoostNE(**SETTINGS).fit(graph.with_sides(None).to_directed())
        with pytest.raises(ParameterError, match="exclude_known=False"):
            model.recommend(graph.nodes[0])
        scores = model.embedding_.vectors[0].astype(np.float64) @ model.targets_.vectors.T
        found = model.recommend(graph.nodes[0], n=3, exclude_known=False)
        assert [node for node, _ in found] == model.targets_.nodes[np.argsort(-scores)[:3]].tolist()

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_small_products_of_directed_graphs_are_scores(self, dtype):
        vectors = np.zeros((2, 128), dtype)
        vectors[0, 0] = vectors[1, 1] = 1
        vectors[0, 1] = 2e-5
        nodes = Embedding(["u", "v"], vectors)
        ((node, score),) = recommend_nodes(nodes, nodes[1:], "u", 5, None, None)
        assert node == "v"
        assert score == pytest.approx(2e-5)


class TestFiles:
    def test_round_trip(self, graph, model, tmp_path):
        model.save(tmp_path / "model.npz", graph=graph)
        loaded = BoostNE.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(loaded.targets_.vectors, model.targets_.vectors)
        assert loaded.n_features_in_ == graph.n_nodes
        assert loaded.graph_.fingerprint() == graph.fingerprint()
        nodes = model.embedding_.nodes
        assert loaded.recommend(nodes) == model.recommend(nodes)
        np.testing.assert_array_equal(loaded.score_map_, model.score_map_)
        loaded.save(tmp_path / "again.npz", graph=graph)
        assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
        assert len(read_embedding(tmp_path / "model.npz")) == 90

    def test_ids_of_different_types(self, tmp_path):
        graph = as_graph([(1, "tea"), (2, "tea"), (2, "rice"), (3, "rice")], sides="columns")
        model = BoostNE(2, levels=1).fit(graph)
        model.save(tmp_path / "model.npz", graph=graph)
        loaded = BoostNE.load(tmp_path / "model.npz")
        assert loaded.graph_.fingerprint() == graph.fingerprint()
        assert loaded.recommend(1) == model.recommend(1)

    def test_target_vectors_without_sides_or_direction(self, model, tmp_path, monkeypatch):
        monkeypatch.setattr("boostne.models.model_files._digest", lambda *_: "same")
        model.save(tmp_path / "model.npz")
        arrays = dict(np.load(tmp_path / "model.npz"))
        del arrays["sides"]
        np.savez(tmp_path / "bad.npz", **arrays)
        with pytest.raises(FileFormatError, match=r"bad.npz: not a valid model \("):
            BoostNE.load(tmp_path / "bad.npz")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("sides", np.ones(150, bool)),
            ("sides", np.zeros(3)),
            ("centers", np.zeros((90, 3), np.float32)),
            ("centers", np.full((90, 12), np.nan, np.float32)),
            ("known_indices", np.array([999], np.int32)),
            ("context", np.zeros((90, 12), np.float32)),
            ("score_map", np.zeros((3, 3))),
            ("score_map", np.full((12, 12), np.nan)),
            ("targets_nodes", np.arange(4)),
        ],
    )
    def test_arrays_that_do_not_belong_together(self, model, name, value, tmp_path, monkeypatch):
        monkeypatch.setattr("boostne.models.model_files._digest", lambda *_: "same")
        model.save(tmp_path / "model.npz")
        arrays = dict(np.load(tmp_path / "model.npz"))
        np.savez(tmp_path / "bad.npz", **{**arrays, name: value})
        with pytest.raises(FileFormatError, match=r"bad.npz: not a valid model"):
            BoostNE.load(tmp_path / "bad.npz")


class TestCommandLine:
    @pytest.fixture
    def fitted(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "edges.csv").write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in PAIRS))
        options = ["--dimensions", "2", "--levels", "1", "-q"]
        assert run(["embed", "edges.csv", "-o", "users.npz", "--bipartite", "--model", "model.npz", *options]) == 0
        assert read_embedding("users.npz").nodes.tolist() == ["ann", "bob", "eve", "kim"]
        capsys.readouterr()
        return BoostNE.load("model.npz")

    def test_recommend_prints_and_writes(self, fitted, capsys):
        expected = [(node, *row) for node in ("kim", "cake") for row in fitted.recommend(node)]
        assert len(expected) == 2
        assert run(["recommend", "model.npz", "kim", "cake"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == ["node", "recommended", "score"]
        assert [line.split() for line in lines[1:]] == [[a, b, f"{score:.4g}"] for a, b, score in expected]
        assert run(["recommend", "model.npz", "kim", "cake", "-o", "best.csv"]) == 0
        assert len(Path("best.csv").read_text().splitlines()) == len(expected) + 1
        capsys.readouterr()
        assert run(["recommend", "model.npz", "eve", "-n", "1", "--include-known", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert (row["recommended"], row["score"]) == fitted.recommend("eve", 1, exclude_known=False)[0]

    def test_ids_that_a_spreadsheet_would_execute_are_escaped(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        graph = as_graph([("=ann", "@tea"), ("=ann", "+milk"), ("bob", "@tea"), ("eve", "rice")], sides="columns")
        BoostNE(2, levels=1).fit(graph).save("model.npz")
        assert run(["recommend", "model.npz", "=ann", "@tea", "-o", "best.csv", "--include-known"]) == 0
        cells = Path("best.csv").read_text().replace('"', "").replace("\n", ",").split(",")
        assert {"'@tea", "'+milk", "'=ann"} <= set(cells)

    def test_integer_ids(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        lines = "1 101\n1 102\n1 103\n2 101\n2 102\n3 104\n3 105\n4 104\n"
        (tmp_path / "edges.txt").write_text(lines)
        options = ["-o", "users.npz", "--bipartite", "--model", "model.npz", "--dimensions", "2", "--levels", "1"]
        assert run(["embed", "edges.txt", *options]) == 0
        assert "4 + 5 nodes, 8 edges" in capsys.readouterr().out
        assert run(["recommend", "model.npz", "2", "105"]) == 0
        words = capsys.readouterr().out.split()
        assert (words[3:5], words[6:8]) == (["2", "103"], ["105", "4"])

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["recommend", "model.npz", "zoe"], 1, "node 'zoe' is not in the embedding"),
            (["recommend", "users.npz", "ann"], 1, "an embedding, not a model"),
            (["recommend", "missing.npz", "ann"], 1, "missing.npz"),
            (["recommend", "model.npz"], 2, "NODE"),
            (["recommend", "model.npz", "ann", "-n", "0"], 1, "-n must be an integer"),
            (["recommend", "model.npz", "ann", "--json", "-o", "a.csv"], 2, "give one of them"),
            (["recommend", "model.npz", "ann", "-o", "model.npz"], 1, "would overwrite"),
            (["embed", "karate", "-o", "k.npz", "--bipartite"], 2, "applies to files"),
            (["embed", "edges.csv", "-o", "k.npz", "--bipartite", "--method", "netmf"], 2, "--method boostne"),
            (["embed", "edges.csv", "-o", "k.npz", "--bipartite", "--directed"], 2, "exclude each other"),
            (["embed", "edges.csv", "-o", "k/", "--bipartite", "--workers", "1"], 2, "folder of parts"),
        ],
    )
    @pytest.mark.usefixtures("fitted")
    def test_errors(self, arguments, code, message, capsys):
        assert run(arguments) == code
        assert message in capsys.readouterr().err

    @pytest.mark.usefixtures("fitted")
    def test_nothing_to_recommend_is_a_note(self, capsys):
        assert run(["recommend", "model.npz", "eve"]) == 0
        found = capsys.readouterr()
        assert found.out == ""
        assert "nothing to recommend for 'eve'" in found.err

    @pytest.mark.usefixtures("fitted")
    def test_estimate(self, capsys):
        assert run(["estimate", "edges.csv", "--bipartite", "--dimensions", "2", "--levels", "1"]) == 0
        assert "of all pairs" in capsys.readouterr().out


def test_sparse_rows_are_sorted_blocks(graph):
    """Rows of a range, as engines request them, are those of the whole."""
    ordered = graph.permuted(np.argsort(~graph.sides, kind="stable"))
    source = DeepWalkMatrix(window=3).source(ordered, MatrixForm("exact"), dtype="float64")
    X, _ = source.build()
    blocks = source.rows(range(11, 40))
    columns, values = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("columns", "values"))
    counts = np.concatenate([block.counts for block in blocks])
    part = sparse.csr_array((values, columns, np.concatenate([[0], np.cumsum(counts)])), shape=(29, X.shape[1]))
    np.testing.assert_array_equal(part.toarray(), X[11:40].toarray())
