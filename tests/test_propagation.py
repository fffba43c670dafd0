import numpy as np
import pytest
from tests import graphs

from boostne import BoostNE, DeepWalkMatrix, Embedding, Graph, propagate, read_embedding
from boostne.cli.program import run
from boostne.errors import GraphError, ParameterError


def dense(graph, vectors, weight, steps=1):
    """Propagate by the equation, with dense matrices."""
    A = graph.adjacency.toarray().astype(np.float64)
    loop = A[A > 0].mean() if A.any() else 1.0
    with_loops = A + loop * np.eye(len(A))
    root = np.diag(with_loops.sum(axis=1) ** -0.5)
    S = root @ with_loops @ root
    for _ in range(steps):
        vectors = (1 - weight) * vectors + weight * S @ vectors
    return vectors


def embedding_of(graph, dimensions=20, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return Embedding(graph.nodes, rng.random((graph.n_nodes, dimensions)).astype(dtype), [dimensions - 4, 4])


@pytest.mark.parametrize("kernels", ["reference", "default"])
@pytest.mark.parametrize("make", [graphs.karate, graphs.star, graphs.with_isolated, graphs.with_loops, graphs.weighted])
@pytest.mark.parametrize(("weight", "steps"), [(0.6, 1), (1.0, 3), (0.25, 2)])
def test_matches_the_equation(make, weight, steps, kernels, monkeypatch):
    if kernels == "reference":
        monkeypatch.setenv("BOOSTNE_KERNELS", "reference")
    graph = make()
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 2e-6)):
        embedding = embedding_of(graph, dtype=dtype)
        found = propagate(graph, embedding, neighbor_weight=weight, steps=steps)
        np.testing.assert_allclose(found.vectors, dense(graph, embedding.vectors, weight, steps), rtol=rtol)
        assert found.vectors.dtype == dtype
        assert found.levels.tolist() == [16, 4]


def test_a_weight_of_zero_changes_nothing():
    graph = graphs.karate()
    embedding = embedding_of(graph, dtype=np.float32)
    assert (propagate(graph, embedding, neighbor_weight=0).vectors == embedding.vectors).all()


def test_nodes_without_edges_keep_their_vectors():
    graph = graphs.with_isolated()
    embedding = embedding_of(graph)
    found = propagate(graph, embedding)
    np.testing.assert_array_equal(found.vectors[graph.isolated], embedding.vectors[graph.isolated])


def test_rows_are_matched_by_id():
    graph = graphs.karate()
    embedding = embedding_of(graph)
    order = np.random.default_rng(1).permutation(graph.n_nodes)
    shuffled = Embedding(embedding.nodes[order], embedding.vectors[order], embedding.levels)
    found = propagate(graph, shuffled)
    assert (found.nodes == shuffled.nodes).all()
    assert (found.vectors == propagate(graph, embedding).vectors[order]).all()


@pytest.mark.parametrize("factor", [2.0**-100, 4.0, 2.0**100])
def test_the_unit_of_the_weights_does_not_matter(factor):
    graph = graphs.weighted()
    embedding = embedding_of(graph)
    scaled = Graph(graph.adjacency.astype(np.float64) * factor, graph.nodes)
    np.testing.assert_allclose(propagate(scaled, embedding).vectors, propagate(graph, embedding).vectors, rtol=1e-12)


def test_the_number_of_threads_does_not_change_the_bits():
    graph = graphs.random_graph(3000, 30)
    embedding = embedding_of(graph, 40, np.float32)
    one, many = (propagate(graph, embedding, threads=threads).vectors for threads in (1, 7))
    assert (one == many).all()


class TestErrors:
    def test_other_nodes(self):
        embedding = embedding_of(graphs.karate())
        graph = Graph.from_edges(["a", "b", "c", "d"], ["b", "c", "d", "e"])
        with pytest.raises(ParameterError, match=r"only in the graph: 'a', 'b', 'c', … \(5 in all\); only in the emb"):
            propagate(graph, embedding)

    def test_missing_and_additional_nodes(self):
        graph = Graph.from_edges([1, 2], [2, 3])
        with pytest.raises(ParameterError, match=r"same nodes; only in the graph: 3$"):
            propagate(graph, Embedding([1, 2], np.ones((2, 1))))
        with pytest.raises(ParameterError, match=r"same nodes; only in the embedding: 4$"):
            propagate(graph, Embedding([1, 2, 4, 3], np.ones((4, 1))))

    def test_directed_graphs(self):
        graph = Graph.from_edges([1, 2], [2, 3], directed=True)
        with pytest.raises(GraphError, match=r"directed: pass as_graph\(graph\).to_undirected\(\)"):
            propagate(graph, embedding_of(graph))

    @pytest.mark.parametrize("weight", [-0.1, 1.01, np.nan, "much"])
    def test_weights_out_of_range(self, weight):
        graph = graphs.karate()
        with pytest.raises(ParameterError, match="neighbor_weight must be"):
            propagate(graph, embedding_of(graph), neighbor_weight=weight)
        with pytest.raises(ParameterError, match="propagation must be"):
            BoostNE(4, levels=2, propagation=weight).fit(graph)

    @pytest.mark.parametrize("vectors", [np.zeros((34, 2)), (range(34), np.zeros((34, 2))), None])
    def test_vectors_without_ids(self, vectors):
        with pytest.raises(ParameterError, match=r"must be an Embedding, got \w+: pass Embedding\(nodes, vectors\)"):
            propagate(graphs.karate(), vectors)

    def test_steps(self):
        with pytest.raises(ParameterError, match="steps"):
            propagate(graphs.karate(), embedding_of(graphs.karate()), steps=0)


class TestBoostNE:
    def test_equals_propagating_the_embedding(self):
        graph = graphs.karate()
        plain = BoostNE(8, levels=2, propagation=0, vector_length=0).fit(graph)
        model = BoostNE(8, levels=2, propagation=0.4, vector_length=0).fit(graph)
        assert (model.embedding_.vectors == propagate(graph, plain.embedding_, neighbor_weight=0.4).vectors).all()
        assert (model.context_ == plain.context_).all()
        assert (model.levels_[1] == model.embedding_.level(2)).all()

    def test_four_steps_after_pruning(self):
        graph, matrix = graphs.karate(), DeepWalkMatrix(approximation="push", max_per_row=5)
        plain = BoostNE(8, levels=2, connectivity=matrix, propagation=0, vector_length=0).fit(graph)
        model = BoostNE(8, levels=2, connectivity=matrix, vector_length=0).fit(graph)
        assert (
            model.embedding_.vectors == propagate(graph, plain.embedding_, neighbor_weight=0.9, steps=4).vectors
        ).all()

    def test_is_not_done_by_workers_that_write_parts(self, tmp_path):
        with pytest.raises(ParameterError, match=r"without propagation or .*propagation=0\.6"):
            BoostNE(8, levels=2, propagation=0.6, engine="dask").fit_to_parts(graphs.karate(), tmp_path / "parts")


def test_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ["--dimensions", "8", "--levels", "2", "--vector-length", "0"]
    assert run(["embed", "karate", "-o", "plain.npz", *options, "--propagate", "0"]) == 0
    assert run(["embed", "karate", "-o", "once.npz", *options, "--propagate", "0.4"]) == 0
    assert run(["propagate", "karate", "plain.npz", "-o", "after.npz", "--neighbor-weight", "0.4"]) == 0
    assert "34 × 8, 2 levels" in capsys.readouterr().out
    assert (read_embedding("once.npz").vectors == read_embedding("after.npz").vectors).all()
    assert run(["propagate", "karate", "plain.npz", "-o", "twice.npz", "--steps", "2", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits", "plain.npz", "-o", "x.npz"], "only in the graph"),
        (["karate", "plain.npz", "-o", "plain.npz"], "would overwrite plain.npz"),
        (["karate", "plain.npz", "-o", "x.zip"], "the suffix must be"),
        (["karate", "plain.npz", "-o", "x.npz", "--neighbor-weight", "2"], "from 0 to 1"),
        (["karate", "none.npz", "-o", "x.npz"], "none.npz"),
    ],
)
def test_errors_on_the_command_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    embedding_of(graphs.karate()).save("plain.npz")
    assert run(["propagate", *arguments, "-q"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["plain.npz"]
