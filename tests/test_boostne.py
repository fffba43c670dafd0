"""BoostNE: parameters, fitted attributes, accepted graphs, memory checks and quality."""

import subprocess
import sys
import tracemalloc
import warnings
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests import graphs, reference
from tests.parameters import boostne as boostne_from

import boostne.factorization.estimate as estimation
import boostne.memory
from boostne import BoostNE, Checkpoint, Graph, NetMF, load_dataset
from boostne.errors import BoostneError, GraphError, MemoryLimitError, ParameterError
from boostne.factorization import LevelSettings, LocalEngine, boost, random_start
from boostne.kernels import instruction_set
from boostne.kernels.layout import CHUNK_BYTES
from boostne.matrices import CSRSource, MatrixSource

# The factors themselves, neither propagated nor rescaled.
SMALL = {"dimensions": 6, "levels": 3, "window": 3, "propagation": 0, "vector_length": 0}


@cache
def digits():
    return load_dataset("digits").graph


def small(**changes):
    return boostne_from(**{**SMALL, **changes})


class TestParameters:
    def test_setting_of_the_paper(self):
        model = BoostNE.paper()
        assert {"dimensions": 128, "levels": 8, "propagation": 0, "vector_length": 0}.items() <= vars(model).items()
        matrix = {"window": 10, "negative": 1.0, "approximation": "spectral", "eigenpairs": 256}
        assert matrix.items() <= model.connectivity.get_params().items()
        assert BoostNE.paper(levels=4, propagation=0.5).get_params()["propagation"] == 0.5
        model.set_params(connectivity__eigenpairs=20)
        assert BoostNE.paper().connectivity.eigenpairs == 256

    def test_at_most_14_constructor_parameters(self):
        assert len(BoostNE().get_params()) <= 14
        assert len(NetMF().get_params()) <= 14

    def test_get_params_set_params_and_clone(self):
        model = BoostNE(12, levels=3, random_state=5)
        assert model.get_params()["dimensions"] == 12
        assert model.set_params(window=4) is model
        copy = clone(model)
        assert copy is not model
        assert copy.get_params() == model.get_params()
        assert copy.window == 4
        assert "levels=3" in repr(model)
        with pytest.raises(ValueError, match="Invalid parameter 'walks'"):
            model.set_params(walks=1)

    def test_only_dimensions_is_positional(self):
        with pytest.raises(TypeError):
            BoostNE(128, 8)

    def test_fit_changes_neither_parameters_nor_graph(self):
        graph = graphs.karate()
        model = small(dtype=np.float64, threads=1)
        before, fingerprint = model.get_params(), graph.fingerprint()
        model.fit(graph)
        assert model.get_params() == before
        assert model.dtype is np.float64
        assert graph.fingerprint() == fingerprint

    def test_a_clone_of_a_fitted_model_is_not_fitted(self):
        model = small().fit(graphs.karate())
        assert not hasattr(clone(model), "embedding_")

    @pytest.mark.parametrize("checkpoint", ["folder", Path("folder"), Checkpoint("folder", keep_matrix=True)])
    def test_a_clone_has_an_equal_checkpoint(self, checkpoint):
        assert clone(BoostNE(checkpoint=checkpoint)).checkpoint == checkpoint

    def test_a_checkpoint_does_not_store_the_matrix_by_default(self):
        assert not Checkpoint("folder").keep_matrix
        assert Checkpoint("folder") != Checkpoint("folder", keep_matrix=True)

    def test_a_checkpoint_is_immutable_and_creates_no_folder(self, tmp_path):
        checkpoint = Checkpoint(tmp_path / "run")
        BoostNE(checkpoint=checkpoint)
        with pytest.raises(AttributeError):
            checkpoint.keep_matrix = True
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"dimensions": 0}, "dimensions must be an integer of at least 1; got 0"),
            ({"dimensions": -6}, "dimensions must be an integer of at least 1; got -6"),
            ({"dimensions": 6.0}, "dimensions must be an integer of at least 1; got 6.0"),
            ({"dimensions": True}, "dimensions must be an integer of at least 1; got True"),
            ({"levels": 0}, "levels must be an integer of at least 1; got 0"),
            ({"levels": -1}, "levels must be an integer of at least 1; got -1"),
            ({"levels": 4}, "dimensions must be a multiple of levels.*got dimensions=6 and levels=4"),
            ({"levels": 12}, "dimensions must be a multiple of levels.*got dimensions=6 and levels=12"),
            (
                {"dimensions": 105, "levels": 3},
                "width of a level is 35.*dimensions=105 over levels=3.*only 34 nodes; lower dimensions or raise levels",
            ),
            ({"window": 0}, "window must be an integer of at least 1; got 0"),
            ({"window": 2.5}, "window must be an integer of at least 1; got 2.5"),
            ({"negative": 0}, "negative must be a number above 0; got 0"),
            ({"negative": -1}, "negative must be a number above 0; got -1"),
            ({"negative": np.nan}, "negative must be a number above 0; got nan"),
            ({"negative": np.inf}, "negative must be a number above 0; got inf"),
            ({"negative": "5"}, "negative must be a number above 0; got '5'"),
            ({"approximation": "netmf"}, "approximation must be one of 'auto', 'exact', .*got 'netmf'"),
            ({"approximation": None}, "approximation must be one of 'auto', 'exact', .*got None"),
            ({"approximation": "push", "epsilon": -1}, "epsilon must be a number at least 0; got -1"),
            ({"approximation": "push", "max_per_row": 0}, "max_per_row must be an integer of at least 1; got 0"),
            ({"approximation": "exact", "epsilon": 1e-5}, "epsilon is for approximation='push'; got .*'exact'"),
            ({"approximation": "spectral", "max_per_row": 9}, "max_per_row is for approximation='push'"),
            ({"memory_limit": "much"}, "memory_limit must be a size such as '2GB'.*got 'much'"),
            ({"memory_limit": 0}, "memory_limit must be a size.*got 0"),
            ({"eigenpairs": 0}, "eigenpairs must be an integer of at least 1; got 0"),
            ({"dtype": int}, "dtype must be float32 or float64; got <class 'int'>"),
            ({"dtype": "float16"}, "dtype must be float32 or float64; got 'float16'"),
            ({"dtype": "nonsense"}, "dtype must be float32 or float64; got 'nonsense'"),
            ({"threads": 0}, "threads must be an integer of at least 1; got 0"),
            ({"threads": -1}, "threads must be an integer of at least 1; got -1"),
            ({"engine": "abacus"}, "engine must be 'local', 'cuda', 'auto', 'dask'.*got 'abacus'"),
            ({"tol": -1e-4}, "tol must be a number at least 0; got -0.0001"),
            ({"tol": np.nan}, "tol must be a number at least 0; got nan"),
            ({"max_iter": 0}, "max_iter must be an integer of at least 1; got 0"),
            ({"random_state": -1}, "random_state must be an integer of at least 0; got -1"),
            ({"propagation": 1.5}, "propagation must be a number from 0 to 1, got 1.5"),
            ({"propagation": None}, "propagation must be a number at least 0; got None"),
            ({"vector_length": -1}, "vector_length must be a number at least 0; got -1"),
            ({"vector_length": "long"}, "vector_length must be a number at least 0; got 'long'"),
        ],
    )
    def test_an_invalid_parameter_is_named(self, changes, message):
        with pytest.raises(ParameterError, match=message):
            small(**changes).fit(graphs.karate())

    @pytest.mark.parametrize(
        "changes",
        [
            {"dimensions": 0},
            {"levels": 4},
            {"tol": -1.0},
            {"max_iter": 0},
            {"dtype": "float16"},
            {"threads": 0},
            {"engine": "abacus"},
            {"memory_limit": "much"},
            {"random_state": -1},
            {"window": 3},
        ],
    )
    def test_an_invalid_parameter_raises_before_the_matrix_is_built(self, changes):
        def never(graph):
            raise AssertionError("X was built")

        model = BoostNE(**{"dimensions": 6, "levels": 3, "connectivity": never, **changes})
        with pytest.raises(ParameterError, match=next(iter(changes))):
            model.fit(graphs.karate())
        with pytest.raises(ParameterError, match=next(iter(changes))):
            model.connectivity_matrix(graphs.karate())

    def test_an_invalid_parameter_creates_no_checkpoint_folder(self, tmp_path):
        with pytest.raises(ParameterError, match="levels"):
            small(levels=4, checkpoint=tmp_path / "run").fit(graphs.karate())
        assert not list(tmp_path.iterdir())

    def test_eigenpairs_out_of_range_for_the_graph(self):
        with pytest.raises(ParameterError, match="below the number of nodes, 34; got 256"):
            small(approximation="spectral").fit(graphs.karate())
        with pytest.raises(ParameterError, match="connected components, 3; got 2"):
            small(approximation="spectral", eigenpairs=2).fit(graphs.disconnected())

    def test_errors_are_both_boostne_errors_and_value_errors(self):
        with pytest.raises(BoostneError):
            small(levels=0).fit(graphs.karate())
        with pytest.raises(ValueError, match="levels"):
            small(levels=0).fit(graphs.karate())


class TestAttributes:
    @pytest.mark.parametrize("changes", [{}, {"approximation": "spectral", "eigenpairs": 12}, {"levels": 1}])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_attributes_are_consistent(self, changes, dtype):
        graph = graphs.karate()
        model = small(dtype=dtype, **changes)
        vectors = model.fit_transform(graph)
        k, width = model.levels, 6 // model.levels
        assert vectors is model.embedding_.vectors
        assert vectors.shape == model.context_.shape == (34, 6)
        assert vectors.dtype == model.context_.dtype == dtype
        assert model.embedding_.levels.tolist() == [width] * k
        assert model.n_features_in_ == 34
        np.testing.assert_array_equal(np.hstack(model.levels_), vectors)
        assert all(np.shares_memory(level, vectors) for level in model.levels_)

        R = model.connectivity_matrix(graph).toarray().astype(np.float64)
        assert len(model.residual_norms_) == len(model.nnz_) == k + 1
        assert len(model.n_iter_) == len(model.objective_) == len(model.levels_) == k
        assert model.nnz_[0] == np.count_nonzero(R)
        for i in range(k):
            assert model.residual_norms_[i] == pytest.approx(np.linalg.norm(R), rel=1e-4)
            U, V = model.levels_[i], model.context_[:, i * width : (i + 1) * width]
            expected = reference.objective(R, U, V) / np.sum(R**2)
            assert model.objective_[i][-1] == pytest.approx(expected, rel=1e-3)
            assert 1 <= len(model.objective_[i]) <= model.n_iter_[i] <= model.max_iter
            R = reference.residual(R, U, V)
        assert model.residual_norms_[k] == pytest.approx(np.linalg.norm(R), rel=1e-4)
        assert model.nnz_[k] == pytest.approx(np.count_nonzero(R > 1e-6), abs=5)
        assert (np.diff(model.residual_norms_) < 0).all()
        assert (np.diff(model.nnz_) <= 0).all()
        assert (vectors >= 0).all()
        assert (model.context_ >= 0).all()

    def test_fit_boosts_the_connectivity_matrix(self):
        graph = graphs.karate()
        model = small(tol=1e-3, max_iter=9, random_state=4).fit(graph)
        engine = LocalEngine()
        engine.load(CSRSource(model.connectivity_matrix(graph)))
        settings = LevelSettings(components=2, tol=1e-3, max_iter=9)
        levels = list(boost(engine, settings, 3, random_start(4, 34, 2, "float32")))
        np.testing.assert_array_equal(model.embedding_.vectors, np.hstack([level.U for level in levels]))
        np.testing.assert_array_equal(model.context_, np.hstack([level.V for level in levels]))
        assert model.n_iter_.tolist() == [level.n_iter for level in levels]

    def test_connectivity_matrix_follows_the_definition(self):
        graph = graphs.weighted()
        X = small(negative=2, window=4, dtype="float64").connectivity_matrix(graph).toarray()
        np.testing.assert_allclose(X, reference.exact_connectivity(graphs.dense(graph), 4, 2), atol=1e-12)
        X = (
            small(approximation="spectral", eigenpairs=4, window=4, dtype="float64")
            .connectivity_matrix(graph)
            .toarray()
        )
        np.testing.assert_allclose(X, reference.spectral_connectivity(graphs.dense(graph), 4, 1, 4), atol=1e-6)

    def test_fitting_again_overwrites_all_attributes(self):
        model = small().fit(graphs.planted_partition([20, 20], 0.5, 0.05)[0])
        model.fit(graphs.karate())
        fresh = small().fit(graphs.karate())
        np.testing.assert_array_equal(model.embedding_.vectors, fresh.embedding_.vectors)
        assert model.residual_norms_.tolist() == fresh.residual_norms_.tolist()
        assert len(model.levels_) == 3

    def test_max_iter_and_tol_bound_the_passes(self):
        model = small(max_iter=3, tol=0).fit(graphs.karate())
        assert model.n_iter_.tolist() == [3, 3, 3]
        assert (small(tol=1e-7).fit(graphs.karate()).n_iter_ > 3).all()

    def test_string_ids_are_preserved(self):
        edges = [("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("cy", "dan"), ("dan", "eve")]
        embedding = BoostNE(4, levels=2, window=2).fit(edges).embedding_
        assert embedding.nodes.tolist() == ["ann", "bob", "cy", "dan", "eve"]
        np.testing.assert_array_equal(embedding["dan"], embedding.vectors[3])

    def test_progress_is_monotone_within_each_stage(self):
        reports = []
        small().fit(graphs.karate(), progress=reports.append)
        stages = [report.stage for report in reports]
        assert set(stages) == {"connectivity", "levels"}
        assert stages == sorted(stages)
        for stage in set(stages):
            done = [report.done for report in reports if report.stage == stage]
            assert done == sorted(done)
            assert 0 <= done[0] <= done[-1] <= 1
        assert "level 3/3" in reports[-1].detail

    def test_time_of_the_levels_is_extrapolated_from_timed_passes(self, monkeypatch):
        # As if a pass took one second plus one per thousand entries, whatever the columns.
        timed = []
        monkeypatch.setattr(estimation, "COLUMN_BLOCKED_FROM", 25)
        monkeypatch.setattr(
            estimation, "_time_pass", lambda rows, *_: timed.append(rows) or 1 + (rows.nnz - rows[:1].nnz) / 1000
        )
        found = small(approximation="exact").estimate(graphs.karate())
        assert found.levels_seconds == pytest.approx(3 * 14 * (1 + 0.5 * found.nnz / 1000), rel=0.1)
        assert [rows.shape[1] for rows in timed] == [34, 24, 24]
        assert timed[1].nnz >= found.nnz


class TestGraphs:
    def test_every_kind_of_input_gives_the_same_vectors(self):
        graph = graphs.karate()
        A = graph.adjacency
        pairs = [(int(u), int(v)) for u, v in zip(*sparse.triu(A).nonzero(), strict=True)]
        network = nx.Graph()
        network.add_nodes_from(range(34))
        network.add_edges_from(pairs)
        expected = small().fit_transform(graph)
        inputs = [A, sparse.csc_matrix(A), A.toarray(), A.toarray().astype(int), pairs, network]
        for given in inputs:
            np.testing.assert_array_equal(small().fit_transform(given), expected)
        assert expected.any()

    def test_a_graph_without_edges_is_an_error(self):
        with pytest.raises(GraphError, match="the graph has 4 nodes and no edges: there is nothing to embed"):
            small().fit(sparse.csr_array((4, 4)))

    def test_isolated_nodes_have_zero_vectors_and_a_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = small().fit(graphs.with_isolated())
        assert [str(warning.message) for warning in caught] == ["3 of 9 nodes have no edges; their vectors are zero"]
        vectors = model.embedding_.vectors
        assert not vectors[[0, 4, 8]].any()
        assert vectors[[1, 2, 3, 5, 6, 7]].any(axis=1).all()

    def test_no_warning_without_isolated_nodes(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            small().fit(graphs.karate())

    @pytest.mark.parametrize("changes", [{}, {"approximation": "spectral", "eigenpairs": 5}])
    def test_every_component_is_embedded(self, changes):
        model = small(dimensions=9, **changes).fit(graphs.disconnected())
        assert model.embedding_.vectors.any(axis=1).all()

    def test_weights_affect_the_vectors(self):
        light, heavy = small().fit_transform(graphs.two_triangles()), small().fit_transform(graphs.weighted())
        assert np.abs(light - heavy).max() > 0.1

    def test_an_empty_connectivity_matrix_is_an_error(self):
        # b is so large that no entry of X is positive.
        with pytest.raises(GraphError, match=r"graph with 78 edges is zero: .* lower negative"):
            small(negative=1e6).fit(graphs.karate())


@pytest.fixture
def free_memory(monkeypatch):
    """Return a function that sets the apparent amount of available memory."""

    def pretend(size):
        monkeypatch.setattr(boostne.memory, "available_memory", lambda: size)

    return pretend


class TestMemory:
    @pytest.mark.parametrize("changes", [{"approximation": "exact"}, {"approximation": "spectral", "eigenpairs": 50}])
    def test_too_little_memory_raises_before_the_matrix_is_built(self, changes, free_memory, monkeypatch):
        def never(*arguments, **options):
            raise AssertionError("X was built")

        free_memory(250_000)
        monkeypatch.setattr(MatrixSource, "build", never)
        message = (
            r"X with .*[\d,]+ entries would need about [\d.]+ [kM]B of memory; 200 kB \(80% of the available "
            r"memory\) may be used\. Or use approximation='auto'.*lower window"
        )
        with pytest.raises(MemoryLimitError, match=message) as caught:
            small(**changes).fit(digits())
        assert isinstance(caught.value, MemoryError)

    def test_a_sparse_matrix_fits_where_a_dense_one_would_not(self, free_memory):
        graph = graphs.random_graph(6000, 8).without_isolated()
        exact = small(approximation="exact")
        needed = exact.estimate(graph).peak_bytes
        assert needed < graph.n_nodes**2 * 8 / 4
        free_memory(int(1.1 * needed / 0.8))
        assert exact.fit_transform(graph).any()
        free_memory(int(0.9 * needed / 0.8))
        with pytest.raises(MemoryLimitError):
            exact.fit(graph)

    def test_unknown_available_memory_is_no_limit(self, free_memory):
        free_memory(None)
        assert small().fit_transform(graphs.karate()).any()


class TestEstimate:
    @pytest.mark.parametrize("window", [2, 5])
    @pytest.mark.parametrize("make", [digits, lambda: graphs.random_graph(3000, 6)])
    def test_entries_of_the_matrix(self, make, window):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = small(window=window)
            estimate, X = model.estimate(make()), model.connectivity_matrix(make())
        assert estimate.nnz == pytest.approx(X.nnz, rel=0.25)
        assert estimate.connectivity_bytes == estimate.nnz * 8

    def test_peak_memory(self, monkeypatch):
        # A few columns of X are held twice while it is built. tracemalloc also counts capacity that is never written.
        monkeypatch.setattr("boostne.matrices.csr_builder.INITIAL_CAPACITY", 1 << 16)
        if instruction_set() == "reference":
            pytest.skip("the NumPy kernels need more; the estimate is for the compiled ones")
        graph = graphs.random_graph(3000, 10).without_isolated()
        model = BoostNE(32, levels=4, window=4, max_iter=3)
        estimate = model.estimate(graph)
        tracemalloc.start()
        model.fit(graph)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert estimate.connectivity_bytes < estimate.peak_bytes
        assert 0.8 * estimate.peak_bytes < peak < 1.5 * estimate.peak_bytes + CHUNK_BYTES

    def test_times(self):
        estimate = small().estimate(digits())
        assert 0 < estimate.connectivity_seconds < 60
        assert 0 < estimate.levels_seconds < 60

    def test_more_levels_take_longer(self, monkeypatch):
        # Measured times of passes depend on the load.
        monkeypatch.setattr(
            "boostne.factorization.estimate._time_pass",
            lambda rows, work, _: 1e-3 + 1e-6 * rows.shape[0] * work.components,
        )
        few, many = (BoostNE(2 * n, levels=n, window=3).estimate(digits()).levels_seconds for n in (4, 60))
        assert many == pytest.approx(15 * few)

    def test_parameters_are_checked(self):
        with pytest.raises(ParameterError, match="window"):
            small(window=0).estimate(graphs.karate())

    def test_the_graph_is_checked(self):
        with pytest.raises(GraphError, match="directed"):
            small(connectivity="line").estimate(Graph.from_edges([0, 1, 2], [1, 2, 0], directed=True))


class TestQuality:
    sizes = (120, 120, 120)

    def accuracy(self, vectors, labels):
        order = np.random.default_rng(0).permutation(len(labels))
        train, test = order[: len(labels) // 10], order[len(labels) // 10 :]
        model = LogisticRegression(max_iter=1000).fit(vectors[train], labels[train])
        return model.score(vectors[test], labels[test])

    @pytest.mark.parametrize("changes", [{}, {"approximation": "spectral", "eigenpairs": 30}])
    def test_communities_are_found_from_a_tenth_of_the_labels(self, changes):
        graph, labels = graphs.planted_partition(self.sizes, 0.12, 0.01)
        vectors = boostne_from(16, levels=4, window=5, **changes).fit_transform(graph)
        assert self.accuracy(vectors, labels) >= 0.95

    def test_random_vectors_do_not_pass_this_test(self):
        vectors = np.random.default_rng(0).random((sum(self.sizes), 16))
        assert self.accuracy(vectors, np.repeat([0, 1, 2], self.sizes)) < 0.6

    def test_each_level_reduces_the_residual(self):
        graph, _ = graphs.planted_partition(self.sizes, 0.12, 0.01)
        model = BoostNE(16, levels=4, window=3, propagation=0, vector_length=0).fit(graph)
        X = model.connectivity_matrix(graph).toarray()
        U, V = model.embedding_.vectors, model.context_
        # Entries that a level overshoots are clipped to 0 and stay there: R_{i+1} = max(X - U_1 V_1 - … - U_i V_i, 0).
        left = [np.linalg.norm(np.maximum(X - U[:, : 4 * i] @ V[:, : 4 * i].T, 0)) for i in range(5)]
        np.testing.assert_allclose(left, model.residual_norms_, rtol=1e-4)
        assert left[4] < 0.8 * left[1]

    def test_more_levels_explain_more_than_more_passes(self):
        tight = BoostNE(4, levels=1, window=3, tol=1e-7).fit(graphs.karate())
        levels = BoostNE(8, levels=2, window=3).fit(graphs.karate())
        assert levels.residual_norms_[-1] < tight.residual_norms_[-1]


SUBSETS = "rows of an adjacency matrix are no graph of their own; nodes are recognized by their ids"
EXPECTED_FAILURES = {
    "check_fit_idempotent": SUBSETS,
    "check_methods_sample_order_invariance": SUBSETS,
    "check_methods_subset_invariance": SUBSETS,
    "check_n_features_in_after_fitting": "the number of features is that of the nodes, and the graph may grow",
    "check_transformer_data_not_an_array": "as_graph rejects objects that are merely convertible to an array",
    "check_transformer_n_iter": "n_iter_ has one number per level",
}


@pytest.mark.filterwarnings("ignore:.*no edges:UserWarning")
@parametrize_with_checks(
    [BoostNE(dimensions=4, levels=2, window=2)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def test_a_local_fit_does_not_import_the_dask_or_cuda_engine():
    code = """
import sys
from boostne import BoostNE
BoostNE(4, levels=2, window=2).fit([(0, 1), (1, 2), (2, 0), (2, 3)])
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "boostne.factorization.local" in loaded
    for name in ("boostne.factorization.dask", "boostne.factorization.cuda", "dask", "distributed", "torch"):
        assert name not in loaded
