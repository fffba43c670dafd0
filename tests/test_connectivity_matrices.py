"""Connectivity matrices as parameters of estimators: names, objects with parameters, and the user's own matrices."""

import json
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests import graphs, reference

import boostne
import boostne.memory
from boostne import BoostNE, DeepWalkMatrix, Graph, KatzMatrix, NetMF, Node2VecMatrix, PageRankMatrix, read_embedding
from boostne.cli.program import run
from boostne.errors import MemoryLimitError, ParameterError
from boostne.matrices import MATRICES, ExplicitMatrix, as_connectivity

SMALL = {"dimensions": 6, "levels": 3, "dtype": "float64"}
WITHOUT_WINDOW = [name for name, matrix in MATRICES.items() if "window" not in matrix().get_params()]


def small(connectivity, **changes):
    return BoostNE(**{**SMALL, "connectivity": connectivity, **changes})


# With a window of 3 and 2 negative samples.
REFERENCE = {
    "deepwalk": lambda A: reference.exact_connectivity(A, 3, 2),
    "node2vec": lambda A: reference.node2vec(A, 1, 1, 3, 2),
    "line": lambda A: reference.line(A, 2),
    "grarep": lambda A: reference.grarep(A, 3, 2 / len(A)),
    "adjacency": lambda A: A,
    "normalized": reference.normalized_adjacency,
    "common-neighbors": reference.common_neighbors,
    "adamic-adar": reference.adamic_adar,
    "katz": lambda A: reference.katz(A, 1 / (2 * np.linalg.norm(A, 2))),
    "pagerank": lambda A: reference.rooted_pagerank(A, 0.5),
}


def with_small_parameters(name):
    """Return a named matrix with a window of 3 and 2 negative samples, as far as it has these parameters."""
    matrix = MATRICES[name]()
    parameters = {"window": 3, "negative": 2}
    return matrix.set_params(**{key: parameters[key] for key in parameters if key in matrix.get_params()})


class TestNames:
    def test_all_matrices_are_tested(self):
        assert list(REFERENCE) == list(MATRICES)

    @pytest.mark.parametrize("name", MATRICES)
    def test_is_exported_from_the_package(self, name):
        assert getattr(boostne, MATRICES[name].__name__) is MATRICES[name]

    @pytest.mark.parametrize("name", MATRICES)
    @pytest.mark.parametrize("make", [graphs.karate, graphs.weighted, graphs.disconnected])
    def test_matches_the_definition(self, name, make):
        X = small(with_small_parameters(name)).connectivity_matrix(make())
        np.testing.assert_allclose(X.toarray(), REFERENCE[name](graphs.dense(make())), atol=1e-9)

    @pytest.mark.parametrize("name", MATRICES)
    def test_stands_for_the_class_with_default_parameters(self, name):
        graph = graphs.karate()
        X, Y = (small(given).connectivity_matrix(graph) for given in (name, MATRICES[name]()))
        assert X.nnz > 0
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(X, part), getattr(Y, part))

    @pytest.mark.parametrize("name", MATRICES)
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_is_what_fit_factorizes(self, name, dtype):
        graph = graphs.karate()
        fingerprint = graph.fingerprint()
        model = small(with_small_parameters(name), dtype=dtype, propagation=0, vector_length=0).fit(graph)
        X = model.connectivity_matrix(graph).toarray()
        assert X.dtype == model.embedding_.vectors.dtype == dtype
        assert model.residual_norms_[0] == pytest.approx(np.linalg.norm(X), rel=1e-5)
        R = X
        for i, U in enumerate(model.levels_):
            R = reference.residual(R, U, model.context_[:, 2 * i : 2 * i + 2])
        assert model.residual_norms_[-1] == pytest.approx(np.linalg.norm(R), rel=1e-4)
        assert graph.fingerprint() == fingerprint

    @pytest.mark.parametrize("name", [name for name in MATRICES if name not in ("deepwalk", "grarep")])
    def test_estimate_counts_the_entries_of_matrices_built_as_a_whole(self, name):
        graph = graphs.random_graph(300, 8)
        model = small(with_small_parameters(name))
        assert model.estimate(graph).nnz == model.connectivity_matrix(graph).nnz

    @pytest.mark.parametrize("name", ["deepwalk", "grarep"])
    def test_estimate_extrapolates_from_sampled_rows(self, name):
        graph = graphs.random_graph(300, 8)
        model = small(with_small_parameters(name))
        assert model.estimate(graph).nnz == pytest.approx(model.connectivity_matrix(graph).nnz, rel=0.1)

    def test_deepwalk_is_the_default(self):
        one, two = BoostNE(6, levels=3), BoostNE(6, levels=3, connectivity="deepwalk")
        np.testing.assert_array_equal(one.fit_transform(graphs.karate()), two.fit_transform(graphs.karate()))

    def test_an_unknown_name_is_an_error(self):
        message = "connectivity must be one of 'deepwalk', 'node2vec', .* a matrix or a function.*got 'random'"
        with pytest.raises(ParameterError, match=message):
            small("random").fit(graphs.karate())

    def test_modularity_is_an_error_that_names_the_method_for_it(self):
        with pytest.raises(ParameterError, match=r"'modularity' has negative entries.*SocialDimension"):
            small("modularity").fit(graphs.karate())

    def test_too_many_entries_are_an_error(self, monkeypatch):
        monkeypatch.setattr(boostne.memory, "available_memory", lambda: 10_000)
        with pytest.raises(MemoryLimitError, match=r"1,156 entries.*adamic-adar.*HOPE"):
            small("katz").fit(graphs.karate())

    @pytest.mark.parametrize("name", MATRICES)
    def test_memory_limit_is_checked(self, name):
        with pytest.raises(MemoryLimitError, match=r"embedding 34 nodes.*smallest sufficient memory_limit"):
            small(name, memory_limit=1).fit(graphs.karate())

    def test_from_the_command_line(self, tmp_path):
        path = str(tmp_path / "x.npz")
        arguments = ["--connectivity", "adjacency", "--dimensions", "6", "--levels", "3", "--quiet"]
        assert run(["embed", "karate", "-o", path, *arguments]) == 0
        expected = BoostNE(6, levels=3, connectivity="adjacency").fit_transform(graphs.karate())
        np.testing.assert_array_equal(read_embedding(path).vectors, expected)


class TestWindow:
    @pytest.mark.parametrize("name", sorted(set(MATRICES) - set(WITHOUT_WINDOW)))
    def test_sets_the_window_of_a_named_matrix(self, name):
        graph = graphs.karate()
        X = small(name, window=3).connectivity_matrix(graph)
        Y = small(MATRICES[name](window=3)).connectivity_matrix(graph)
        assert (X != Y).nnz == 0
        assert (small(name).connectivity_matrix(graph) != X).nnz > 0

    @pytest.mark.parametrize("name", WITHOUT_WINDOW)
    def test_is_an_error_for_a_matrix_without_one(self, name):
        with pytest.raises(ParameterError, match=f"connectivity='{name}' has no window; got window=3"):
            small(name, window=3).fit(graphs.karate())

    @pytest.mark.parametrize("model", [BoostNE, NetMF])
    @pytest.mark.parametrize("matrix", [DeepWalkMatrix(window=5), DeepWalkMatrix(), KatzMatrix(), np.eye(34)])
    def test_is_an_error_beside_a_matrix_object(self, model, matrix):
        message = r"window=3 is for a connectivity given by name; .*connectivity=DeepWalkMatrix\(window=3\)"
        with pytest.raises(ParameterError, match=message):
            model(8, connectivity=matrix, window=3).fit(graphs.karate())

    def test_is_checked(self):
        with pytest.raises(ParameterError, match="window must be an integer of at least 1; got 0"):
            small("grarep", window=0).fit(graphs.karate())


class TestParameters:
    @pytest.mark.parametrize("name", MATRICES)
    def test_get_params_set_params_and_clone(self, name):
        matrix = MATRICES[name]()
        parameters = matrix.get_params()
        assert clone(matrix).get_params() == parameters
        assert clone(matrix) is not matrix
        assert matrix.set_params(**parameters) is matrix
        with pytest.raises(ValueError, match="Invalid parameter 'walks'"):
            matrix.set_params(walks=1)

    @pytest.mark.parametrize("name", MATRICES)
    def test_parameters_are_keyword_only(self, name):
        with pytest.raises(TypeError):
            MATRICES[name](3)

    @pytest.mark.parametrize("estimator", [BoostNE, NetMF])
    def test_nested_names(self, estimator):
        model = estimator(8, connectivity=DeepWalkMatrix(negative=2.0))
        assert model.get_params()["connectivity__negative"] == 2.0
        assert model.get_params()["connectivity__window"] is None
        assert "connectivity__negative" not in model.get_params(deep=False)
        assert model.set_params(connectivity__window=5) is model
        assert model.connectivity.window == 5
        with pytest.raises(ValueError, match="Invalid parameter 'p'"):
            model.set_params(connectivity__p=0.5)

    def test_nested_names_take_effect(self):
        graph = graphs.karate()
        model = small(DeepWalkMatrix()).set_params(connectivity__window=3, connectivity__negative=2)
        np.testing.assert_array_equal(
            model.fit_transform(graph), small(DeepWalkMatrix(window=3, negative=2)).fit_transform(graph)
        )

    def test_the_whole_matrix_and_its_parameters_can_be_set_together(self):
        model = small("deepwalk").set_params(connectivity=Node2VecMatrix(), connectivity__p=0.5)
        assert model.connectivity.get_params() == Node2VecMatrix(p=0.5).get_params()

    @pytest.mark.parametrize("estimator", [BoostNE, NetMF])
    def test_a_clone_has_its_own_matrix_object(self, estimator):
        model = estimator(8, connectivity=DeepWalkMatrix(window=5))
        copy = clone(model)
        assert copy.connectivity is not model.connectivity
        assert copy.connectivity.get_params() == model.connectivity.get_params()
        copy.set_params(connectivity__window=2)
        assert model.connectivity.window == 5

    def test_fit_does_not_modify_the_matrix_object(self):
        matrix = DeepWalkMatrix(approximation="push", window=3)
        before = dict(vars(matrix))
        small(matrix).fit(graphs.karate())
        assert vars(matrix) == before

    def test_repr_shows_the_parameters_that_were_changed(self):
        model = BoostNE(8, levels=2, connectivity=DeepWalkMatrix(window=5))
        assert "connectivity=DeepWalkMatrix(window=5)" in repr(model)

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            (DeepWalkMatrix(negative=0), "negative must be a number above 0; got 0"),
            (DeepWalkMatrix(approximation="fast"), "approximation must be one of 'auto', 'exact', .*got 'fast'"),
            (Node2VecMatrix(p=0), "p must be a number above 0; got 0"),
            (Node2VecMatrix(window=0), "window must be an integer of at least 1; got 0"),
            (boostne.LINEMatrix(negative=-1), "negative must be a number above 0; got -1"),
            (boostne.GraRepMatrix(window=1.5), "window must be an integer of at least 1; got 1.5"),
            (boostne.GraRepMatrix(negative=0), "negative must be a number above 0; got 0"),
            (KatzMatrix(beta=0), "beta must be a number above 0; got 0"),
            (KatzMatrix(beta=1.0), r"beta must be below 1 / ρ\(A\)"),
            (PageRankMatrix(alpha=0), "alpha must be a number above 0; got 0"),
            (PageRankMatrix(alpha=1), "alpha must be above 0 and below 1; got 1"),
        ],
    )
    @pytest.mark.parametrize("estimator", [BoostNE, NetMF])
    def test_an_invalid_parameter_is_named(self, matrix, message, estimator):
        with pytest.raises(ParameterError, match=message):
            estimator(8, connectivity=matrix).fit(graphs.karate())

    @pytest.mark.parametrize(
        ("matrix", "expected"),
        [
            (KatzMatrix(beta=0.05), lambda A: reference.katz(A, 0.05)),
            (PageRankMatrix(alpha=0.8), lambda A: reference.rooted_pagerank(A, 0.8)),
            (Node2VecMatrix(p=0.5, q=2, window=2), lambda A: reference.node2vec(A, 0.5, 2, 2, 1)),
        ],
    )
    def test_further_parameters_match_the_definition(self, matrix, expected):
        graph = graphs.two_triangles()
        X = small(matrix).connectivity_matrix(graph)
        np.testing.assert_allclose(X.toarray(), expected(graphs.dense(graph)), atol=1e-8)

    @pytest.mark.parametrize("name", MATRICES)
    def test_boostne_and_netmf_share_matrix_objects(self, name):
        graph, matrix = graphs.karate(), MATRICES[name]()
        one = BoostNE(4, levels=1, connectivity=matrix, propagation=0, vector_length=0).fit(graph)
        other = NetMF(4, connectivity=matrix).fit(graph)
        np.testing.assert_array_equal(one.embedding_.vectors, other.embedding_.vectors)
        assert one.connectivity is other.connectivity

    def test_a_flat_parameter_of_a_matrix_is_not_one_of_the_estimator(self):
        for name in ("negative", "approximation", "eigenpairs", "epsilon", "max_per_row", "p", "q", "client"):
            with pytest.raises(TypeError):
                BoostNE(**{name: 1})


class TestResultParameters:
    """What identifies a result in checkpoints and caches."""

    @pytest.mark.parametrize("name", MATRICES)
    def test_are_the_same_for_a_name_and_for_its_class(self, name):
        assert small(name).result_parameters() == small(MATRICES[name]()).result_parameters()

    def test_are_the_same_for_a_window_given_either_way(self):
        one, two = small("deepwalk", window=np.int64(5)), small(DeepWalkMatrix(window=5))
        assert one.result_parameters() == two.result_parameters()
        assert one.result_parameters() != small("deepwalk").result_parameters()

    def test_can_be_stored_as_json(self):
        for model in (small("deepwalk", window=np.int64(5)), small(DeepWalkMatrix(window=np.int64(5)))):
            assert json.loads(json.dumps(model.result_parameters())) == model.result_parameters()

    def test_depend_on_the_entries_of_a_matrix(self):
        one, two = small(np.eye(4)).result_parameters(), small(2 * np.eye(4)).result_parameters()
        assert one != two


class TestExplicitMatrices:
    @pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_matrix, np.asarray])
    def test_arrays_and_callables_give_the_same_result(self, kind):
        graph = graphs.karate()
        X = kind(graphs.dense(graph) * 3)
        before = X.copy()
        model = small(X).fit(graph)
        np.testing.assert_array_equal(model.embedding_.vectors, small(lambda g: 3 * g.adjacency).fit_transform(graph))
        assert abs(X - before).max() == 0
        assert clone(model).fit_transform(graph).any()

    def test_is_what_other_objects_become(self):
        X = np.eye(34)
        assert isinstance(as_connectivity(X), ExplicitMatrix)
        assert as_connectivity(X).matrix is X
        np.testing.assert_array_equal(
            small(X).fit_transform(graphs.karate()), small(ExplicitMatrix(X)).fit_transform(graphs.karate())
        )

    def test_the_result_of_a_callable_is_not_modified(self):
        kept = sparse.csr_array(graphs.dense(graphs.karate()))
        kept.data[0] = 0  # an explicit zero
        before = kept.copy()
        one, two = (small(lambda graph: kept).fit_transform(graphs.karate()) for _ in range(2))
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(kept.indices, before.indices)
        np.testing.assert_array_equal(kept.data, before.data)

    def test_duplicate_entries_are_added(self):
        X = sparse.coo_array(([1.0, -1.0, 2.0], ([0, 0, 1], [1, 1, 2])), shape=(34, 34))
        found = small(X).connectivity_matrix(graphs.karate())
        assert found.nnz == 1
        assert X.nnz == 3

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            (np.eye(3), "must be 34 × 34, as the graph has 34 nodes; got (3, 3)"),
            (-np.eye(34), "finite and non-negative, since the product of non-negative factors"),
            (np.diag(np.full(34, np.nan)), "entry (0, 0) is nan"),
            (np.diag(np.full(34, np.inf)), "entry (0, 0) is inf"),
            (lambda graph: "text", "must be a matrix of numbers or a function that returns one; got str"),
            (lambda graph: None, "must be a matrix of numbers or a function that returns one; got NoneType"),
            (5, "must be a matrix of numbers or a function that returns one; got int"),
        ],
    )
    def test_an_unusable_matrix_is_an_error(self, matrix, message):
        with pytest.raises(ParameterError, match=re.escape(message)):
            small(matrix).fit(graphs.karate())

    def test_an_invalid_entry_is_named_by_its_nodes(self):
        graph = Graph.from_edges(["a", "b", "c"], ["b", "c", "d"])
        X = sparse.csr_array(([1.0, -0.5], ([0, 2], [1, 3])), shape=(4, 4))
        with pytest.raises(ParameterError, match=r"entry \('c', 'd'\) is -0.5"):
            small(X, dimensions=3).fit(graph)
