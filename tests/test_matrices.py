"""The matrices of the paper's section III.A against their definitions."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from tests import graphs, reference

from boostne import AdjacencyMatrix, DeepWalkMatrix, Graph, LINEMatrix
from boostne.errors import ParameterError
from boostne.kernels import get_kernels
from boostne.matrices import AdamicAdarMatrix, CommonNeighborsMatrix
from boostne.matrices.adjacency import normalized_adjacency
from boostne.matrices.grarep import StepSource
from boostne.matrices.hope import katz, rooted_pagerank, similarity_matrix
from boostne.matrices.modularity import modularity
from boostne.progress import silent

drawable = pytest.mark.parametrize("name", graphs.DRAWABLE)


def one_way():
    """Return a directed cycle of three nodes, and a path from it to a node without outgoing edges."""
    return Graph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4], [1, 2, 3, 4, 5], directed=True)


def acyclic():
    return Graph.from_edges([0, 0, 1, 2], [1, 2, 3, 3], directed=True)


DIRECTED = {"one_way": one_way, "acyclic": acyclic}
ANY_GRAPH = {**graphs.DRAWABLE, **DIRECTED}
any_graph = pytest.mark.parametrize("name", ANY_GRAPH)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix @ np.eye(matrix.shape[0])


def check(matrix, expected, atol=1e-10):
    """Compare entries and, for an operator, its other products."""
    np.testing.assert_allclose(dense(matrix), expected, atol=atol)
    if isinstance(matrix, LinearOperator):
        x = np.random.default_rng(0).random(len(expected))
        np.testing.assert_allclose(matrix.matvec(x), expected @ x, atol=10 * atol)
        np.testing.assert_allclose(matrix.rmatvec(x), expected.T @ x, atol=10 * atol)
        np.testing.assert_allclose(matrix.rmatmat(np.eye(len(x))), expected.T, atol=atol)
    else:
        assert (matrix.data != 0).all()


class TestSparseMatrices:
    @any_graph
    def test_adjacency(self, name):
        graph = ANY_GRAPH[name]()
        check(AdjacencyMatrix().build(graph), graphs.dense(graph))

    @drawable
    def test_normalized(self, name):
        graph = graphs.DRAWABLE[name]()
        check(normalized_adjacency(graph), reference.normalized_adjacency(graphs.dense(graph)))

    @drawable
    def test_modularity(self, name):
        graph = graphs.DRAWABLE[name]()
        B = modularity(graph)
        assert isinstance(B, LinearOperator)
        check(B, reference.modularity(graphs.dense(graph)))
        np.testing.assert_allclose(B @ np.ones(graph.n_nodes), 0, atol=1e-12)

    @drawable
    @pytest.mark.parametrize("negative", [0.5, 1, 3])
    def test_line(self, name, negative):
        graph = graphs.DRAWABLE[name]()
        check(LINEMatrix(negative=negative).build(graph), reference.line(graphs.dense(graph), negative))

    @drawable
    def test_line_is_deepwalk_with_a_window_of_one(self, name):
        graph = graphs.DRAWABLE[name]()
        deepwalk = DeepWalkMatrix(window=1, negative=2).source(graph, dtype="float64", seed=0, threads=2)
        X = LINEMatrix(negative=2).build(graph)
        np.testing.assert_allclose(X.toarray(), deepwalk.build()[0].toarray(), atol=1e-12)


def grarep(graph, step, shift=None, dtype="float64", threads=2, progress=silent):
    source = StepSource(graph, step, shift=shift, dtype=dtype, kernels=get_kernels(threads=threads))
    return source.build(progress)[0]


class TestGraRep:
    @drawable
    @pytest.mark.parametrize("step", [1, 2, 3, 8])
    @pytest.mark.parametrize("shift", [None, 0.02, 0.5])
    def test_matches_the_definition(self, name, step, shift):
        graph = graphs.DRAWABLE[name]()
        b = 1 / graph.n_nodes if shift is None else shift
        # An entry equal to the shift is 0 or a rounding error.
        X = grarep(graph, step, shift=shift)
        np.testing.assert_allclose(X.toarray(), reference.grarep(graphs.dense(graph), step, b), atol=1e-9)
        assert (X.data > 0).all()

    def test_does_not_depend_on_chunks_and_threads(self, monkeypatch):
        graph = graphs.random_graph(300, 6)
        whole = grarep(graph, 3)
        monkeypatch.setattr("boostne.matrices.grarep.chunk_columns", lambda n, dtype, threads: 7)
        reports = []
        for threads in (1, 3):
            X = grarep(graph, 3, threads=threads, progress=reports.append)
            np.testing.assert_array_equal(X.toarray(), whole.toarray())
        assert reports[-1].done == 1
        assert len(reports) == 2 * 43

    def test_float32(self):
        X, Y = (grarep(graphs.karate(), 4, dtype=dtype) for dtype in (np.float32, np.float64))
        assert X.dtype == np.float32
        np.testing.assert_allclose(X.toarray(), Y.toarray(), atol=1e-5)


class TestHOPE:
    @any_graph
    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_katz(self, name, share):
        graph = ANY_GRAPH[name]()
        A = graphs.dense(graph)
        radius = np.abs(np.linalg.eigvals(A)).max() if name != "acyclic" else 1
        check(similarity_matrix(graph, "katz", beta=share / radius), reference.katz(A, share / radius))

    @any_graph
    def test_default_beta_of_katz(self, name):
        graph = ANY_GRAPH[name]()
        A = graphs.dense(graph)
        check(katz(graph), reference.katz(A, 1 / (2 * np.linalg.norm(A, 2))))

    def test_katz_of_a_large_graph(self):
        graph = graphs.random_graph(700, 6)
        A = graphs.dense(graph)
        x = np.random.default_rng(0).random(700)
        expected = reference.katz(A, 1 / (2 * np.linalg.norm(A, 2))) @ x
        np.testing.assert_allclose(katz(graph) @ x, expected, rtol=1e-5)

    @pytest.mark.parametrize("factor", [1.0, 1.01, 50])
    def test_too_large_a_beta_is_an_error(self, factor):
        radius = np.abs(np.linalg.eigvalsh(graphs.dense(graphs.karate()))).max()
        with pytest.raises(ParameterError, match=r"beta must be below 1 / ρ\(A\).*beta=None"):
            similarity_matrix(graphs.karate(), "katz", beta=factor / radius)

    @any_graph
    @pytest.mark.parametrize("alpha", [0.2, 0.5, 0.9])
    def test_rooted_pagerank(self, name, alpha):
        graph = ANY_GRAPH[name]()
        M = similarity_matrix(graph, "pagerank", alpha=alpha)
        check(M, reference.rooted_pagerank(graphs.dense(graph), alpha))
        if not len(graph.isolated) and name not in DIRECTED:
            np.testing.assert_allclose(M @ np.ones(graph.n_nodes), 1, atol=1e-10)

    @pytest.mark.parametrize("alpha", [0, 1, -1, np.nan, 0.99999])
    def test_alpha_out_of_range_is_an_error(self, alpha):
        with pytest.raises(ParameterError, match="alpha must"):
            rooted_pagerank(graphs.karate(), alpha)

    @any_graph
    def test_common_neighbors(self, name):
        graph = ANY_GRAPH[name]()
        check(CommonNeighborsMatrix().build(graph), reference.common_neighbors(graphs.dense(graph)))

    @any_graph
    def test_adamic_adar(self, name):
        graph = ANY_GRAPH[name]()
        check(similarity_matrix(graph, "adamic-adar"), reference.adamic_adar(graphs.dense(graph)))
        check(AdamicAdarMatrix().build(graph), reference.adamic_adar(graphs.dense(graph)))

    def test_an_unknown_similarity_is_an_error(self):
        with pytest.raises(ParameterError, match=r"similarity must be one of 'katz'.*got 'jaccard'"):
            similarity_matrix(graphs.karate(), "jaccard")
