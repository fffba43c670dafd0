"""The planted partition generator: edge counts, mixing, degree distribution, reproducibility."""

import time

import numpy as np
import pytest
from scipy import sparse

from boostne import planted_partition, read_graph, read_labels
from boostne.cli.program import run
from boostne.errors import ParameterError


def fraction_within(data):
    A = data.graph.adjacency.tocoo()
    community = data.labels.matrix.indices
    return np.mean(community[A.row] == community[A.col])


@pytest.mark.parametrize("mean_degree", [2, 7.5, 40])
def test_mean_degree_is_exact_and_no_node_is_isolated(mean_degree):
    graph = planted_partition(3000, communities=5, mean_degree=mean_degree).graph
    assert graph.n_edges == 1500 * mean_degree
    assert graph.degrees.min() >= 1
    assert graph.n_self_loops == 0
    assert not graph.weighted
    assert not graph.directed


@pytest.mark.parametrize("mixing", [0.0, 0.2, 0.5, 1.0])
def test_fraction_of_edges_within_communities(mixing):
    data = planted_partition(20_000, communities=20, mixing=mixing)
    # One in twenty mixed edges stays within its community; duplicates, which are drawn again, are more frequent
    # within communities.
    assert fraction_within(data) == pytest.approx(1 - mixing + mixing / 20, abs=0.015)


def test_communities_have_equal_sizes_and_shuffled_nodes():
    data = planted_partition(10_001, communities=10)
    sizes = data.labels.matrix.sum(axis=0)
    assert sizes.sum() == 10_001
    assert sizes.max() - sizes.min() <= 1
    assert not data.labels.multilabel
    # Node numbers and communities are uncorrelated.
    assert abs(np.corrcoef(np.arange(10_001), data.labels.matrix.indices)[0, 1]) < 0.05


@pytest.mark.parametrize("exponent", [2.3, 3.0])
def test_degrees_follow_the_power_law(exponent):
    degrees = planted_partition(200_000, mean_degree=20, exponent=exponent, mixing=0.5).graph.degrees
    # Hill's estimator of the exponent on the tail below the cap, corrected for the truncation.
    low, high = 60, 600
    tail = degrees[(degrees >= low) & (degrees < high)]
    found = [gamma for gamma in np.arange(1.5, 5, 0.01) if np.log(tail / low).mean() >= _mean_log(gamma, high / low)]
    assert found[0] == pytest.approx(exponent, abs=0.15)


def _mean_log(gamma, ratio):
    """Mean of ``log x`` for ``p(x) ~ x^-gamma`` between 1 and ``ratio``."""
    a = gamma - 1
    cut = ratio**-a
    return 1 / a - np.log(ratio) * cut / (1 - cut)


def test_a_large_exponent_gives_similar_degrees():
    degrees = planted_partition(5000, exponent=50).graph.degrees
    assert degrees.max() < 30
    assert planted_partition(5000, exponent=2.2).graph.degrees.max() > 100


def test_equal_seeds_give_equal_graphs():
    first, again, other = (planted_partition(500, communities=4, seed=seed) for seed in (1, 1, 2))
    assert first.graph.fingerprint() == again.graph.fingerprint()
    assert (first.labels.matrix != again.labels.matrix).nnz == 0
    assert first.graph.fingerprint() != other.graph.fingerprint()


def test_without_mixing_communities_are_disconnected():
    data = planted_partition(2000, communities=4, mixing=0)
    _, component = sparse.csgraph.connected_components(data.graph.adjacency)
    community = data.labels.matrix.indices
    assert all(len(set(community[component == c])) == 1 for c in np.unique(component))


def test_a_large_graph_takes_seconds():
    begin = time.process_time()
    graph = planted_partition(200_000).graph
    assert graph.n_edges == 1_000_000
    assert time.process_time() - begin < 10  # a Python loop over the edges would take longer


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"communities": 0}, "communities must be between 1 and half of n_nodes=100; got 0"),
        ({"communities": 51}, "communities must be .*got 51"),
        ({"mixing": 1.1}, "mixing must be between 0 and 1; got 1.1"),
        ({"mixing": np.nan}, "mixing must be between 0 and 1; got nan"),
        ({"exponent": 2}, "exponent must be above 2.*got 2"),
        ({"mean_degree": 1}, "mean_degree must be at least 2 and below half the community size, 25; got 1"),
        ({"mean_degree": 25}, "mean_degree must be .*got 25"),
    ],
)
def test_infeasible_parameters_raise(changes, message):
    with pytest.raises(ParameterError, match=message):
        planted_partition(100, **{"communities": 2, **changes})


def test_generate_command_writes_the_graph_and_its_labels(tmp_path, capsys):
    edges, labels = str(tmp_path / "edges.csv"), str(tmp_path / "labels.csv")
    options = ["--nodes", "500", "--communities", "3", "--mean-degree", "6", "--seed", "7"]
    assert run(["generate", edges, "--labels", labels, *options]) == 0
    assert "500 nodes, 1,500 edges" in capsys.readouterr().out
    data = planted_partition(500, communities=3, mean_degree=6, seed=7)
    assert read_graph(edges).fingerprint() == data.graph.fingerprint()
    truth, n_left_out = read_labels(labels).align(data.graph.nodes)
    assert n_left_out == 0
    assert (truth != data.labels.matrix).nnz == 0
    assert run(["generate", edges, "--mixing", "2"]) == 1
    assert "mixing must be between 0 and 1" in capsys.readouterr().err
    assert run(["generate", str(tmp_path / "nowhere" / "x.csv")]) == 1


def test_write_edges_includes_weights(tmp_path):
    from tests import graphs

    from boostne.io.writing import write_edges

    write_edges(graphs.weighted(), tmp_path / "edges.csv")
    assert read_graph(tmp_path / "edges.csv").fingerprint() == graphs.weighted().fingerprint()
