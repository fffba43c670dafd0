"""What every method promises: one suite, run on each class of the registry."""

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
from boostne import Graph, read_embedding
from boostne.errors import GraphError, ParameterError
from boostne.models import METHODS
from boostne.models.decomposed import DecompositionEmbedder

# Parameters with which a method runs on a graph that one can draw, at four dimensions.
SMALL = {
    "boostne": {"levels": 2, "window": 3},
    "netmf": {"window": 3},
    "grarep": {"steps": 2},
    "line": {"epochs": 60},
    "deepwalk": {"length": 20, "window": 3},
    "node2vec": {"length": 20, "window": 3, "p": 0.5, "q": 2},
}
# Other forms of a method, each held to the same promises.
FORMS = {
    **{name: (name, {}) for name in METHODS},
    "netmf-svd": ("netmf", {"factorization": "svd"}),
    "hope-pagerank": ("hope", {"similarity": "pagerank"}),
    "hope-common-neighbors": ("hope", {"similarity": "common-neighbors"}),
    "hope-adamic-adar": ("hope", {"similarity": "adamic-adar"}),
}
BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def make(form, dimensions=4, **changes):
    name, parameters = FORMS[form]
    return METHODS[name](dimensions, **{**SMALL.get(name, {}), **parameters, **changes})


def is_deterministic(form):
    """Whether the seed touches no more than the last digits, so that the order of the nodes does not matter."""
    return issubclass(METHODS[FORMS[form][0]], DecompositionEmbedder) or form == "netmf-svd"


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


@pytest.fixture(scope="module")
def planted():
    return graphs.planted_partition([130, 120, 110, 140], 0.15, 0.01, seed=1)


@pytest.fixture(scope="module")
def large():
    """Large enough for the iterative solvers."""
    return graphs.planted_partition([240, 260, 230, 250], 0.06, 0.004, seed=2)[0].without_isolated()


class TestShape:
    def test_a_row_for_each_node(self, form):
        model = make(form)
        vectors = model.fit_transform(graphs.karate())
        assert vectors.shape == (34, 4)
        assert vectors is model.embedding_.vectors
        assert model.n_features_in_ == 34
        assert model.embedding_.levels.sum() == 4
        assert vectors.any(axis=1).all()

    def test_string_ids_come_back(self, form):
        edges = [("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("cy", "dan"), ("dan", "eve")]
        embedding = make(form).fit(edges).embedding_
        assert embedding.nodes.tolist() == ["ann", "bob", "cy", "dan", "eve"]

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_precision(self, form, dtype):
        assert make(form, dtype=dtype).fit_transform(graphs.karate()).dtype == dtype

    def test_the_two_precisions_agree(self, form):
        if not is_deterministic(form):
            pytest.skip("the levels start from numbers drawn in the precision asked for")
        single, double = (
            make(form, dtype=dtype).fit_transform(graphs.karate()) for dtype in ("float32", "float64")
        )
        np.testing.assert_allclose(single, double, atol=1e-4)

    def test_save_and_load(self, form, tmp_path):
        embedding = make(form).fit(graphs.karate()).embedding_
        embedding.save(tmp_path / "x.npz")
        again = read_embedding(tmp_path / "x.npz")
        np.testing.assert_array_equal(again.vectors, embedding.vectors)
        np.testing.assert_array_equal(again.levels, embedding.levels)
        np.testing.assert_array_equal(again.nodes, embedding.nodes)

    def test_too_many_dimensions(self, form):
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
    def test_bad_parameters_are_named(self, form, changes, message):
        with pytest.raises(ParameterError, match=message):
            make(form).set_params(**changes).fit(graphs.karate())

    def test_fit_changes_neither_parameters_nor_graph(self, form):
        graph = graphs.karate()
        model = make(form)
        before, fingerprint = model.get_params(), graph.fingerprint()
        model.fit(graph)
        assert model.get_params() == before
        assert graph.fingerprint() == fingerprint
        assert clone(model).get_params() == before
        assert not hasattr(clone(model), "embedding_")

    def test_progress(self, form):
        reports = []
        make(form).fit(graphs.karate(), progress=reports.append)
        assert reports
        assert all(0 <= report.done <= 1 for report in reports)


class TestGraphs:
    def test_weights_count_or_are_refused(self, form):
        model = make(form)
        if not model.capabilities.weights:
            with pytest.raises(GraphError, match="ignores weights"):
                model.fit(graphs.weighted())
            return
        light, heavy = (
            model.fit_transform(make_graph()) for make_graph in (graphs.two_triangles, graphs.weighted)
        )
        assert np.abs(light - heavy).max() > 0.01

    def test_direction_counts_or_is_refused(self, form):
        directed = Graph.from_edges([0, 1, 2, 3, 3, 4], [1, 2, 3, 0, 4, 5], directed=True)
        model = make(form)
        if not model.capabilities.direction:
            with pytest.raises(GraphError, match=r"to_undirected\(\).*, or use HOPE"):
                model.fit(directed)
            return
        there = model.fit_transform(directed)
        back = model.fit_transform(Graph(directed.adjacency.T, directed.nodes, directed=True))
        assert np.abs(there - back).max() > 0.01
        assert np.isfinite(there).all()

    def test_in_pieces(self, form):
        vectors = make(form).fit_transform(graphs.disconnected())
        assert vectors.shape == (9, 4)
        assert np.isfinite(vectors).all()
        assert vectors.any()

    def test_as_many_dimensions_as_nodes(self, form):
        vectors = make(form, 8).fit_transform(graphs.path(8))
        assert np.isfinite(vectors).all()
        assert vectors.any(axis=1).all()

    def test_nodes_on_their_own(self, form):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            vectors = make(form, 8).fit_transform(graphs.with_isolated())
        assert [str(warning.message) for warning in caught] == [
            "3 of 9 nodes have no edges; their vectors are zero"
        ]
        assert not vectors[[0, 4, 8]].any()
        assert vectors[[1, 2, 3, 5, 6, 7]].any(axis=1).all()
        assert np.isfinite(vectors).all()

    @pytest.mark.filterwarnings("ignore:.*nodes have no edges")
    def test_nodes_on_their_own_do_not_move_the_others(self, form):
        if not is_deterministic(form):
            pytest.skip("the levels start from other numbers")
        graph = graphs.karate()
        wider = Graph(sparse.block_diag([graph.adjacency, sparse.csr_array((3, 3))], format="csr"))
        vectors = make(form).fit_transform(wider)
        np.testing.assert_allclose(vectors[:34], make(form).fit_transform(graph), atol=1e-5)

    def test_loops(self, form):
        vectors = make(form).fit_transform(graphs.with_loops())
        assert np.isfinite(vectors).all()
        assert vectors.any()

    def test_no_edges(self, form):
        with pytest.raises(GraphError, match="no edges"):
            make(form).fit(sparse.csr_array((4, 4)))

    @pytest.mark.parametrize("factor", [1e-6, 1e6])
    def test_large_and_small_weights(self, form, factor):
        assert np.isfinite(make(form).fit_transform(graphs.scaled(graphs.weighted(), factor))).all()

    def test_the_order_of_nodes(self, form, large):
        order = np.random.default_rng(0).permutation(large.n_nodes)
        other = Graph(large.adjacency[order][:, order], large.nodes[order])
        one, two = (make(form, 8, dtype="float64").fit_transform(graph) for graph in (large, other))
        if is_deterministic(form):
            # The first of them stand apart from the rest; a solver may turn those that lie close together.
            first = slice(0, 2)
            np.testing.assert_allclose(np.abs(two[:, first]), np.abs(one[order][:, first]), atol=1e-3)
        norms = [np.linalg.norm(vectors) for vectors in (one, two)]
        assert norms[0] == pytest.approx(norms[1], rel=0.05)


class TestSeeds:
    def test_again(self, form, large):
        one, two = (make(form, 8).fit_transform(large) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_another_seed(self, form, large):
        one, two = (make(form, 8, random_state=seed).fit_transform(large) for seed in (0, 1))
        if is_deterministic(form):
            np.testing.assert_allclose(np.abs(one[:, :2]), np.abs(two[:, :2]), atol=1e-3)
        else:
            assert (one != two).any()

    def test_threads(self, form, large):
        if "threads" not in make(form).get_params():
            pytest.skip("has no threads of its own")
        one, two = (make(form, 8, threads=threads).fit_transform(large) for threads in (1, 3))
        np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize("kind", [None, np.random.default_rng(0), np.random.RandomState(0)])
    def test_every_kind_of_seed(self, form, kind):
        assert np.isfinite(make(form, random_state=kind).fit_transform(graphs.karate())).all()


DIGESTS = """
import hashlib
from tests import graphs
from tests.test_contract import FORMS, make
graph = graphs.planted_partition([240, 260, 230, 250], 0.06, 0.004, seed=2)[0].without_isolated()
for form in FORMS:
    print(hashlib.sha256(make(form, 8).fit_transform(graph).tobytes()).hexdigest())
"""


def test_any_process_and_any_number_of_blas_threads():
    source, here = Path(boostne.__file__).parents[1], Path(__file__).parents[1]
    printed = []
    for threads in ("1", "2"):
        path = os.pathsep.join(map(str, (source, here)))
        env = {**os.environ, "PYTHONPATH": path, **dict.fromkeys(BLAS, threads)}
        done = subprocess.run(
            [sys.executable, "-c", DIGESTS], env=env, capture_output=True, text=True, check=False
        )
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

    def test_communities_are_found_from_a_tenth_of_the_labels(self, form, planted):
        graph, labels = planted
        assert self.accuracy(make(form, 16).fit_transform(graph), labels) >= 0.9

    def test_random_vectors_do_not_pass_that(self, planted):
        graph, labels = planted
        vectors = np.random.default_rng(0).normal(size=(graph.n_nodes, 16))
        assert self.accuracy(vectors, labels) < 0.5


def test_every_method_says_what_it_is():
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
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)
