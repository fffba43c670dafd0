"""Weights far from 1: the same vectors where the unit of the weights does not matter, and otherwise a clear error."""

import numpy as np
import pytest
from scipy import sparse
from tests import graphs

import boostne
from boostne import HOPE, BoostNE, DeepWalkMatrix, Graph, GraphFactorization, KatzMatrix, NetMF
from boostne.errors import BoostneError, GraphError
from boostne.matrices import MATRICES

WEIGHTS = [5e-324, 1e-300, 1e-45, 1e-40, 1e30, 1e40, 1e300]
# Exact in float32 and float64, and powers of 2: they change no bit.
POWERS = [2.0**-140, 2.0**-1000, 2.0**100, 2.0**1000]

EQUIVARIANT_MATRICES = ["adjacency", "common-neighbors", "adamic-adar"]
INVARIANT_MATRICES = [name for name in MATRICES if name not in EQUIVARIANT_MATRICES]
INVARIANT = {
    **{name: lambda name=name: BoostNE(4, levels=2, connectivity=name) for name in INVARIANT_MATRICES},
    "spectral": lambda: BoostNE(4, levels=2, connectivity=DeepWalkMatrix(approximation="spectral", eigenpairs=9)),
    "push": lambda: BoostNE(4, levels=2, connectivity=DeepWalkMatrix(approximation="push", epsilon=1.0123e-3)),
    "NetMF": lambda: NetMF(4, factorization="svd"),
    "DeepWalk": lambda: boostne.DeepWalk(4, walks=1, length=10),
    "Node2Vec": lambda: boostne.Node2Vec(4, walks=1, length=10, p=0.5),
    "LINE": lambda: boostne.LINE(4),
    "GraRep": lambda: boostne.GraRep(4, steps=2),
    "SpectralClustering": lambda: boostne.SpectralClustering(4),
    "SocialDimension": lambda: boostne.SocialDimension(4),
    "HOPE katz": lambda: HOPE(4),
    "HOPE pagerank": lambda: HOPE(4, similarity="pagerank"),
}
EQUIVARIANT = {
    **{name: lambda name=name: BoostNE(4, levels=2, connectivity=name) for name in EQUIVARIANT_MATRICES},
    "GraphFactorization": lambda: GraphFactorization(4),
    "HOPE common-neighbors": lambda: HOPE(4, similarity="common-neighbors"),
    "HOPE adamic-adar": lambda: HOPE(4, similarity="adamic-adar"),
}


def karate(weight, *, equal=False):
    """Return the karate club with weights that are multiples of a constant, or all equal to it."""
    A = sparse.triu(graphs.karate().adjacency).tocoo()
    multiples = np.ones(A.nnz) if equal else 1.0 + np.arange(A.nnz) % 4
    return Graph.from_edges(A.row, A.col, weight * multiples, nodes=graphs.karate().nodes)


@pytest.mark.parametrize("name", INVARIANT)
class TestMethodsThatIgnoreTheUnitOfTheWeights:
    def test_extreme_weights(self, name):
        expected = INVARIANT[name]().fit_transform(karate(1.0, equal=True))
        for weight in WEIGHTS:
            found = INVARIANT[name]().fit_transform(karate(weight, equal=True))
            np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())

    def test_powers_of_two_change_no_bit(self, name):
        expected = INVARIANT[name]().fit_transform(karate(1.0))
        for weight in POWERS:
            np.testing.assert_array_equal(INVARIANT[name]().fit_transform(karate(weight)), expected)


def vectors_or_error(model, graph):
    try:
        return model.fit_transform(graph).astype(float)
    except BoostneError as error:
        return str(error)


@pytest.mark.parametrize("name", EQUIVARIANT)
def test_other_methods_scale_their_vectors_or_raise(name):
    expected = EQUIVARIANT[name]().fit_transform(karate(1.0)).astype(float)
    for weight in WEIGHTS:
        found = vectors_or_error(EQUIVARIANT[name](), karate(weight))
        if isinstance(found, str):
            assert "weights by" in found
        else:
            factor = weight if "common" in name else np.sqrt(weight)
            np.testing.assert_allclose(found / factor, expected, atol=1e-3 * np.abs(expected).max())


def test_subnormal_weights_in_single_precision():
    weights = np.array([1e-45, 3e-45, 4e-45, 6e-45], np.float32)
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], weights)
    assert graph.adjacency.dtype == np.float32
    unit = float(weights[0])
    expected = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], weights.astype(float) / unit)
    for make in (lambda: BoostNE(2, levels=1, window=3), lambda: GraphFactorization(2, dtype="float64")):
        found, reference = make().fit_transform(graph), make().fit_transform(expected)
        np.testing.assert_allclose(found / found.max(), reference / reference.max(), atol=1e-6)


def test_the_unit_of_the_weights_is_kept_in_the_results():
    model = GraphFactorization(4, dtype="float64").fit(karate(1e-300))
    expected = GraphFactorization(4, dtype="float64").fit(karate(1.0))
    np.testing.assert_allclose(model.eigenvalues_ / 1e-300, expected.eigenvalues_)
    np.testing.assert_allclose(model.embedding_.vectors / 1e-150, expected.embedding_.vectors)


def test_beta_refers_to_the_given_weights():
    for make in (
        lambda beta: HOPE(4, beta=beta),
        lambda beta: BoostNE(4, levels=2, connectivity=KatzMatrix(beta=beta)),
    ):
        expected = make(0.01).fit_transform(karate(1.0))
        np.testing.assert_array_equal(make(0.01 * 2.0**-100).fit_transform(karate(2.0**100)), expected)


class TestRescaled:
    def test_moderate_weights_are_not_touched(self):
        for graph in (karate(1e-9), karate(1e8), Graph(np.zeros((2, 2)))):
            assert graph.rescaled() == (graph, 1.0)

    def test_the_unit_is_a_power_of_four(self):
        for weight in WEIGHTS:
            graph, unit = karate(weight).rescaled()
            mantissa, exponent = np.frexp(unit)
            assert mantissa == 0.5
            assert exponent % 2 == 1
            assert 0.5 <= graph.adjacency.data.mean() <= 2
            np.testing.assert_array_equal(graph.adjacency.data * unit, karate(weight).adjacency.data)

    def test_weights_that_no_number_can_compare(self):
        with pytest.raises(GraphError, match=r"range from 1e-300 to 1e\+300, too far apart"):
            boostne.LINE(2).fit(Graph.from_edges([0, 1], [1, 2], [1e-300, 1e300]))


def test_a_degree_that_single_precision_cannot_invert():
    graph = Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], [1, 1, 1, 1e-60])
    with pytest.raises(GraphError, match=r"smallest weighted degree is 1e-60 .* use dtype='float64'"):
        BoostNE(2, levels=1).fit(graph)
    assert BoostNE(2, levels=1, dtype="float64").fit_transform(graph).any(axis=1).all()


class TestEmptyMatrices:
    @pytest.mark.parametrize("n", [1, 30, 2000])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_a_star_has_no_structure_in_an_even_window(self, n, dtype):
        # After an even number of steps every pair of nodes is as close as chance; entries are rounding errors.
        star = Graph.from_edges(np.zeros(n, int), np.arange(1, n + 1))
        with pytest.raises(GraphError, match=f"graph with {n:,} edges is zero: use another window, such as 1"):
            BoostNE(2, levels=1, window=10, dtype=dtype).fit(star)
        assert BoostNE(2, levels=1, window=1, dtype=dtype).fit_transform(star).any(axis=1).all()

    def test_with_singular_vectors(self):
        with pytest.raises(GraphError, match="graph with 1 edges is zero"):
            NetMF(2, factorization="svd", window=2).fit([(0, 1)])

    def test_a_given_matrix(self):
        with pytest.raises(GraphError, match="the matrix passed as connectivity needs positive entries"):
            BoostNE(2, levels=1, connectivity=np.zeros((3, 3))).fit([(0, 1), (1, 2)])

    def test_a_given_matrix_out_of_range(self):
        for value in (1e-30, 1e30):
            with pytest.raises(GraphError, match=r"norm of the connectivity .* float32 allows 1e-18 to 1e\+18"):
                BoostNE(2, levels=1, connectivity=np.full((3, 3), value)).fit([(0, 1), (1, 2)])
