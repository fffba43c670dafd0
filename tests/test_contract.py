"""The contract of all methods: one suite that runs on every class of the registry."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests import graphs

import boostne
from boostne import LINE, BoostNE, Graph, GraphFactorization, read_embedding
from boostne.errors import GraphError, ParameterError
from boostne.models import METHODS

# Parameters for graphs of a few nodes, at four dimensions.
SMALL = {
    "boostne": {"levels": 2, "window": 3},
    "netmf": {"window": 3},
    "grarep": {"steps": 2},
    "line": {"epochs": 60},
    "deepwalk": {"walks": 10, "length": 20, "window": 3},
    "node2vec": {"walks": 10, "length": 20, "window": 3, "p": 0.5, "q": 2},
}
# Methods, and variants of methods that must fulfill the same contract.
FORMS = {
    **{name: (name, {}) for name in METHODS},
    "netmf-svd": ("netmf", {"factorization": "svd"}),
    "hope-pagerank": ("hope", {"similarity": "pagerank"}),
    "hope-common-neighbors": ("hope", {"similarity": "common-neighbors"}),
    "hope-adamic-adar": ("hope", {"similarity": "adamic-adar"}),
}
# Forms whose seed affects only the last digits, so that the order of the nodes does not matter.
DETERMINISTIC = {
    "netmf-svd", "grarep", "hope", "hope-pagerank", "hope-common-neighbors", "hope-adamic-adar",
    "spectral-clustering", "social-dimension", "graph-factorization",
}  # fmt: skip
BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def make(form, dimensions=4, **changes):
    name, parameters = FORMS[form]
    return METHODS[name](dimensions, **{**SMALL.get(name, {}), **parameters, **changes})


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


@pytest.fixture(scope="module")
def planted():
    return graphs.planted_partition([130, 120, 110, 140], 0.15, 0.01, seed=1)


@pytest.fixture(scope="module")
def large():
    """A graph large enough for the iterative solvers."""
    return graphs.planted_partition([240, 260, 230, 250], 0.06, 0.004, seed=2)[0].without_isolated()


class TestShape:
    def test_fit_transform_returns_one_row_per_node(self, form):
        model = make(form)
        vectors = model.fit_transform(graphs.karate())
        assert vectors.shape == (34, 4)
        assert vectors is model.embedding_.vectors
        assert model.n_features_in_ == 34
        assert model.embedding_.levels.sum() == 4
        assert vectors.any(axis=1).all()

    def test_embedding_keeps_string_ids(self, form):
        edges = [("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("cy", "dan"), ("dan", "eve")]
        embedding = make(form).fit(edges).embedding_
        assert embedding.nodes.tolist() == ["ann", "bob", "cy", "dan", "eve"]

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_vectors_have_the_requested_dtype(self, form, dtype):
        assert make(form, dtype=dtype).fit_transform(graphs.karate()).dtype == dtype

    def test_float32_and_float64_agree(self, form):
        if form not in DETERMINISTIC:
            pytest.skip("random initial values depend on the dtype")
        single, double = (make(form, dtype=dtype).fit_transform(graphs.karate()) for dtype in ("float32", "float64"))
        np.testing.assert_allclose(single, double, atol=1e-4)

    def test_embedding_survives_saving_and_reading(self, form, tmp_path):
        embedding = make(form).fit(graphs.karate()).embedding_
        embedding.save(tmp_path / "x.npz")
        loaded = read_embedding(tmp_path / "x.npz")
        np.testing.assert_array_equal(loaded.vectors, embedding.vectors)
        np.testing.assert_array_equal(loaded.levels, embedding.levels)
        np.testing.assert_array_equal(loaded.nodes, embedding.nodes)

    def test_more_dimensions_than_nodes_are_rejected(self, form):
        with pytest.raises(ParameterError, match=r"dimensions=400.*lower dimensions"):
            make(form, 400).fit(graphs.karate())

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"dimensions": 0}, "dimensions must be an integer of at least 1; got 0"),
            ({"dimensions": 4.0}, "dimensions must be an integer of at least 1; got 4.0"),
            ({"dtype": "int32"}, "dtype must be float32 or float64; got 'int32'"),
            ({"random_state": -1}, "random_state must be an integer of at least 0; got -1"),
        ],
    )
    def test_invalid_parameters_are_rejected_by_name(self, form, changes, message):
        with pytest.raises(ParameterError, match=message):
            make(form).set_params(**changes).fit(graphs.karate())

    def test_fit_modifies_neither_parameters_nor_graph(self, form):
        graph = graphs.karate()
        model = make(form)
        before, fingerprint = model.get_params(), graph.fingerprint()
        model.fit(graph)
        assert model.get_params() == before
        assert graph.fingerprint() == fingerprint
        assert clone(model).get_params() == before
        assert not hasattr(clone(model), "embedding_")

    def test_result_parameters_are_json_without_threads(self, form):
        parameters = make(form, dtype=np.float64, random_state=3).result_parameters()
        assert json.loads(json.dumps(parameters)) == parameters
        assert parameters["dimensions"] == 4
        assert parameters["dtype"] == "float64"
        assert parameters["random_state"] == 3
        assert "threads" not in parameters

    def test_progress_is_reported_as_a_fraction(self, form):
        reports = []
        make(form).fit(graphs.karate(), progress=reports.append)
        assert reports
        assert all(0 <= report.done <= 1 for report in reports)


class TestGraphs:
    def test_weights_change_the_vectors_or_are_rejected(self, form):
        model = make(form)
        if not model.capabilities.weights:
            with pytest.raises(GraphError, match="ignores edge weights"):
                model.fit(graphs.weighted())
            return
        unweighted, weighted = (
            model.fit_transform(make_graph()) for make_graph in (graphs.two_triangles, graphs.weighted)
        )
        assert np.abs(unweighted - weighted).max() > 0.01

    def test_direction_changes_the_vectors_or_is_rejected(self, form):
        directed = Graph.from_edges([0, 1, 2, 3, 3, 4], [1, 2, 3, 0, 4, 5], directed=True)
        model = make(form)
        if not model.capabilities.direction:
            with pytest.raises(GraphError, match=r"to_undirected\(\).*, or use HOPE, LINE, BoostNE, DeepWalk or"):
                model.fit(directed)
            return
        forward = model.fit_transform(directed)
        reverse = model.fit_transform(Graph(directed.adjacency.T, directed.nodes, directed=True))
        assert np.abs(forward - reverse).max() > 0.01
        assert np.isfinite(forward).all()

    def test_disconnected_graphs_have_finite_vectors(self, form):
        vectors = make(form).fit_transform(graphs.disconnected())
        assert vectors.shape == (9, 4)
        assert np.isfinite(vectors).all()
        assert vectors.any()

    def test_dimensions_may_equal_the_number_of_nodes(self, form):
        vectors = make(form, 8).fit_transform(graphs.path(8))
        assert np.isfinite(vectors).all()
        assert vectors.any(axis=1).all()

    def test_isolated_nodes_get_zero_vectors_and_a_warning(self, form):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            vectors = make(form, 8).fit_transform(graphs.with_isolated())
        assert [str(warning.message) for warning in caught] == ["3 of 9 nodes have no edges; their vectors are zero"]
        assert not vectors[[0, 4, 8]].any()
        assert vectors[[1, 2, 3, 5, 6, 7]].any(axis=1).all()
        assert np.isfinite(vectors).all()

    @pytest.mark.filterwarnings("ignore:.*nodes have no edges")
    def test_isolated_nodes_do_not_change_other_vectors(self, form):
        if form not in DETERMINISTIC:
            pytest.skip("random initial values depend on the number of nodes")
        graph = graphs.karate()
        wider = Graph(sparse.block_diag([graph.adjacency, sparse.csr_array((3, 3))], format="csr"))
        vectors = make(form).fit_transform(wider)
        np.testing.assert_allclose(vectors[:34], make(form).fit_transform(graph), atol=1e-5)

    def test_self_loops_give_finite_vectors(self, form):
        vectors = make(form).fit_transform(graphs.with_loops())
        assert np.isfinite(vectors).all()
        assert vectors.any()

    def test_graphs_without_edges_are_rejected(self, form):
        with pytest.raises(GraphError, match="no edges"):
            make(form).fit(sparse.csr_array((4, 4)))

    @pytest.mark.parametrize("factor", [1e-6, 1e6])
    def test_very_large_and_small_weights_give_finite_vectors(self, form, factor):
        assert np.isfinite(make(form).fit_transform(graphs.scaled(graphs.weighted(), factor))).all()

    def test_node_order_does_not_matter(self, form, large):
        order = np.random.default_rng(0).permutation(large.n_nodes)
        permuted = Graph(large.adjacency[order][:, order], large.nodes[order])
        one, two = (make(form, 8, dtype="float64").fit_transform(graph) for graph in (large, permuted))
        if form in DETERMINISTIC:
            # The first columns belong to well separated values; those of close values may be rotated.
            first = slice(0, 2)
            np.testing.assert_allclose(np.abs(two[:, first]), np.abs(one[order][:, first]), atol=1e-3)
        norms = [np.linalg.norm(vectors) for vectors in (one, two)]
        assert norms[0] == pytest.approx(norms[1], rel=0.05)


class TestSeeds:
    def test_the_same_seed_gives_the_same_bits(self, form, large):
        one, two = (make(form, 8).fit_transform(large) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_another_seed_changes_the_result_or_its_last_digits(self, form, large):
        one, two = (make(form, 8, random_state=seed).fit_transform(large) for seed in (0, 1))
        if form in DETERMINISTIC:
            np.testing.assert_allclose(np.abs(one[:, :2]), np.abs(two[:, :2]), atol=1e-3)
        else:
            assert (one != two).any()

    def test_the_number_of_threads_does_not_change_the_bits(self, form, large):
        if "threads" not in make(form).get_params():
            pytest.skip("has no parameter threads")
        one, two = (make(form, 8, threads=threads).fit_transform(large) for threads in (1, 3))
        np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize("kind", [None, np.random.default_rng(0), np.random.RandomState(0)])
    def test_random_state_accepts_none_and_generators(self, form, kind):
        assert np.isfinite(make(form, random_state=kind).fit_transform(graphs.karate())).all()


DIGESTS = """
import hashlib
from tests import graphs
from tests.test_contract import FORMS, make
graph = graphs.planted_partition([240, 260, 230, 250], 0.06, 0.004, seed=2)[0].without_isolated()
for form in FORMS:
    print(hashlib.sha256(make(form, 8).fit_transform(graph).tobytes()).hexdigest())
"""


def test_processes_and_blas_threads_do_not_change_the_bits():
    source, here = Path(boostne.__file__).parents[1], Path(__file__).parents[1]
    printed = []
    for threads in ("1", "2"):
        path = os.pathsep.join(map(str, (source, here)))
        env = {**os.environ, "PYTHONPATH": path, **dict.fromkeys(BLAS, threads)}
        done = subprocess.run([sys.executable, "-c", DIGESTS], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.split())
    assert len(printed[0]) == len(FORMS)
    assert printed[0] == printed[1]


class TestQuality:
    def accuracy(self, vectors, labels):
        order = np.random.default_rng(0).permutation(len(labels))
        train, test = order[: len(labels) // 10], order[len(labels) // 10 :]
        model = LogisticRegression(max_iter=1000).fit(vectors[train], labels[train])
        return model.score(vectors[test], labels[test])

    def test_a_tenth_of_the_labels_suffices_to_classify_communities(self, form, planted):
        graph, labels = planted
        assert self.accuracy(make(form, 16).fit_transform(graph), labels) >= 0.9

    def test_random_vectors_do_not_suffice(self, planted):
        graph, labels = planted
        vectors = np.random.default_rng(0).normal(size=(graph.n_nodes, 16))
        assert self.accuracy(vectors, labels) < 0.5


class TestResultParameters:
    def test_matrices_are_recorded_by_their_checksum(self):
        one, same, other = (
            BoostNE(connectivity=matrix).result_parameters()["connectivity"]
            for matrix in (np.eye(3), sparse.eye_array(3, format="csr"), 2 * np.eye(3))
        )
        assert one == same != other
        assert one.startswith("matrix ")

    def test_objects_are_recorded_with_their_parameters(self):
        nested = GraphFactorization(3, dtype="float64")
        assert BoostNE(connectivity=nested).result_parameters()["connectivity"] == {
            "name": "GraphFactorization", "dimensions": 3, "dtype": "float64", "random_state": 0
        }  # fmt: skip

    def test_generators_are_recorded_as_none(self):
        assert LINE(random_state=np.random.default_rng(0)).result_parameters()["random_state"] is None

    def test_functions_are_rejected(self):
        with pytest.raises(ParameterError, match="connectivity is a function, whose changes cannot be detected"):
            BoostNE(connectivity=lambda graph: graph.adjacency).result_parameters()


def test_every_method_is_exported_and_documented():
    for name, method in METHODS.items():
        assert getattr(boostne, method.__name__) is method
        assert name == name.lower()
        assert "Differences from the paper" in method.__doc__
        assert ">>> " in method.__doc__
        capabilities = method.capabilities
        assert capabilities.cost
        assert capabilities.paper
        assert "local" in capabilities.engines


@pytest.mark.filterwarnings("ignore:.*nodes have no edges:UserWarning")
@parametrize_with_checks([make(form) for form in FORMS if form != "boostne"])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
