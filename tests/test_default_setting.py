"""The default setting: what it chooses for a graph, how it is reported, and how it compares with other settings."""

import re

import numpy as np
import pytest
from benchmarks.graph_kinds import KINDS, generate
from scipy import sparse
from tests import graphs

import boostne.memory
from boostne import BoostNE, DeepWalkMatrix, Graph, NetMF, evaluate, planted_partition
from boostne.budget import Workload
from boostne.cli.program import run
from boostne.matrices.deepwalk.rule import choose_window, mean_degree, second_eigenvalue
from boostne.memory import MemoryBudget

SMALL = {"dimensions": 32, "levels": 4}


def plan(matrix, graph, budget=None):
    work = Workload(graph.n_nodes, 8, 16, 100, np.dtype("float32"), 2)
    return matrix.plan(graph, work, budget or MemoryBudget(None, 0, None)).name


def permuted(graph, seed=0):
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    return Graph(graph.adjacency[order][:, order], nodes=graph.nodes[order])


@pytest.fixture(scope="module")
def dense():
    """Mean degree 34, 0.68 % of all pairs, and communities that walks stay in."""
    return planted_partition(5000, communities=10, mean_degree=34, mixing=0.2, seed=1).graph


class TestWindow:
    def test_sparse_graphs_have_long_walks(self):
        assert choose_window(graphs.karate()) == 15
        assert choose_window(planted_partition(2000, communities=10, mean_degree=4).graph) == 15

    def test_walks_stay_in_communities(self, dense):
        assert choose_window(dense) == 5

    def test_only_edges_if_walks_forget_where_they_started(self):
        mixed = planted_partition(5000, communities=10, mean_degree=34, mixing=0.8, seed=1).graph
        assert second_eigenvalue(mixed) < 0.4
        assert choose_window(mixed) == 1

    def test_only_edges_if_two_steps_reach_everything(self):
        assert choose_window(planted_partition(1000, communities=4, mean_degree=30, mixing=0.2).graph) == 1

    def test_large_graphs(self):
        assert choose_window(planted_partition(20_001, communities=4, mean_degree=10, mixing=0.9).graph) == 5

    def test_isolated_nodes_do_not_count(self, dense):
        padded = sparse.block_diag([dense.adjacency, sparse.csr_array((9000, 9000))])
        assert mean_degree(Graph(padded)) == mean_degree(dense)

    def test_the_order_of_the_nodes_and_the_unit_of_the_weights_do_not_matter(self, dense):
        assert second_eigenvalue(permuted(dense)) == pytest.approx(second_eigenvalue(dense), rel=0.02)
        for unit in (1e-300, 1e300):
            assert choose_window(Graph(dense.adjacency.astype(np.float64) * unit)) == 5

    def test_second_eigenvalue_of_the_largest_component(self, dense):
        exact = np.linalg.eigvalsh(_normalized(graphs.karate()))[-2]
        assert second_eigenvalue(graphs.karate()) == pytest.approx(exact, rel=0.02)
        A = sparse.block_diag([dense.adjacency, graphs.karate().adjacency])
        assert second_eigenvalue(Graph(A)) == pytest.approx(second_eigenvalue(dense), rel=0.02)

    def test_is_chosen_once_and_for_any_model(self, dense):
        matrix = DeepWalkMatrix(negative=2)
        assert matrix.for_graph(dense).get_params() == {**matrix.get_params(), "window": 5}
        assert matrix.window is None
        X = [model.connectivity_matrix(graphs.karate()) for model in (NetMF(4), NetMF(4, window=15))]
        assert abs(X[0] - X[1]).max() == 0


def _normalized(graph):
    A = graph.adjacency.toarray().astype(float)
    root = 1 / np.sqrt(A.sum(axis=1))
    return root[:, None] * A * root


class TestForm:
    def test_spectral_for_dense_graphs(self, dense):
        assert plan(DeepWalkMatrix(), dense) == "spectral"
        assert DeepWalkMatrix().device_form(dense).name == "spectral"

    def test_exact_if_the_window_is_1(self, dense):
        assert plan(DeepWalkMatrix(window=1), dense) == "exact"

    def test_exact_for_sparse_graphs(self):
        assert plan(DeepWalkMatrix(), graphs.karate()) == "exact"

    def test_exact_if_there_are_too_few_nodes_or_eigenpairs(self, dense):
        assert plan(DeepWalkMatrix(eigenpairs=5000), dense) == "exact"
        assert plan(DeepWalkMatrix(eigenpairs=1), dense) == "exact"

    def test_push_if_memory_is_short(self, dense, monkeypatch):
        monkeypatch.setattr(boostne.memory, "available_memory", lambda: 100_000_000)
        assert plan(DeepWalkMatrix(), dense, MemoryBudget.within(None)) == "push"

    def test_push_for_large_graphs(self):
        large = planted_partition(20_001, communities=4, mean_degree=4).graph
        assert plan(DeepWalkMatrix(), large) == "push"
        assert plan(DeepWalkMatrix(approximation="exact"), large) == "exact"


class TestReport:
    def test_settings(self, dense):
        model = BoostNE(**SMALL, connectivity=DeepWalkMatrix(eigenpairs=16), max_iter=2).fit(dense)
        expected = {
            "connectivity": "DeepWalkMatrix", "window": 5, "approximation": "spectral", "propagation": 0.6,
            "vector_length": 2.5,
        }  # fmt: skip
        assert model.settings_ == expected

    def test_every_part_can_be_set(self):
        model = BoostNE(**SMALL, window=3, propagation=0, vector_length=0).fit(graphs.karate())
        assert (model.settings_["window"], model.settings_["propagation"], model.settings_["vector_length"]) == (
            3,
            0,
            0,
        )

    def test_of_other_matrices(self):
        model = BoostNE(**SMALL, connectivity="adjacency").fit(graphs.karate())
        assert "window" not in model.settings_
        assert model.settings_["connectivity"] == "AdjacencyMatrix"

    def test_on_the_command_line(self, tmp_path, capsys):
        output = ["-o", str(tmp_path / "x.npz"), "--dimensions", "8", "--levels", "2"]
        assert run(["embed", "karate", *output]) == 0
        assert re.fullmatch(
            "boostne: setting: connectivity deepwalk, window 15, approximation exact, propagation 0.6, "
            r"vector length 2.5; relative residual 0\.\d{3}, 508 entries\n",
            capsys.readouterr().err,
        )
        assert run(["embed", "karate", *output, "--setting", "paper", "--window", "3", "--eigenpairs", "20"]) == 0
        assert "window 3, approximation spectral, propagation 0.0, vector length 0.0" in capsys.readouterr().err
        assert run(["embed", "karate", *output, "--quiet"]) == 0
        assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("ignore:.*training nodes")
@pytest.mark.parametrize("kind", KINDS)
def test_no_window_is_much_better_on_generated_graphs(kind):
    data = generate(kind, 1500, seed=3)

    def score(**setting):
        vectors = BoostNE(**SMALL, **setting).fit(data.graph).embedding_
        return evaluate(vectors, data.labels, train=20, repeats=3, classifier="fast").mean("micro")

    assert score() >= max(score(window=window) for window in (1, 5, 15)) - 0.03
