"""The approximate index: neighbors, files, and errors."""

import json
import sys

import numpy as np
import pytest

from boostne.embedding import Embedding
from boostne.errors import BoostneError, FileFormatError, ParameterError, UnknownNodeError
from boostne.similarity_index import SimilarityIndex


def clustered(n=3000, d=16, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(30, d))
    return (centers[np.arange(n) % 30] + 0.3 * rng.normal(size=(n, d))).astype(np.float32)


@pytest.fixture(scope="module")
def embedding():
    return Embedding([f"n{i}" for i in range(3000)], clustered(), levels=[4, 12])


@pytest.fixture(scope="module")
def index(embedding):
    return embedding.index()


def recall(found, exact):
    pairs = zip(found, exact, strict=True)
    return np.mean([len({node for node, _ in a} & {node for node, _ in b}) / len(b) for a, b in pairs])


def test_index_finds_nearly_all_of_the_most_similar_nodes(embedding, index):
    queries = embedding.nodes[:200]
    found, exact = index.most_similar(queries), embedding.most_similar(queries)
    assert recall(found, exact) > 0.98
    assert all(len(one) == 10 for one in found)
    assert not any(query in dict(one) for query, one in zip(queries.tolist(), found, strict=True))
    assert all([value for _, value in one] == sorted((value for _, value in one), reverse=True) for one in found)
    similarity = dict(exact[0])
    assert all(similarity[node] == pytest.approx(value, abs=1e-6) for node, value in found[0] if node in similarity)


def test_index_answers_the_same_kinds_of_queries(embedding, index):
    assert index.most_similar("n5") == index.most_similar(["n5"])[0]
    assert index.most_similar(embedding["n5"], n=1)[0][0] == "n5"
    assert [one[0][0] for one in index.most_similar(embedding.vectors[:3], n=1)] == ["n0", "n1", "n2"]
    assert index.most_similar([]) == []
    assert index.most_similar("n5", n=0) == []
    assert index.most_similar(np.zeros(16), n=2) == [("n0", 0.0), ("n1", 0.0)]
    with pytest.raises(UnknownNodeError, match="node 'z' is not in the embedding"):
        index.most_similar("z")
    with pytest.raises(ParameterError, match="rows of length 16"):
        index.most_similar(np.ones((1, 3)))


def test_index_is_the_same_for_every_build_and_any_number_of_searching_threads(embedding, index):
    queries = embedding.nodes[:100]
    again = embedding.index()
    assert again.most_similar(queries, threads=2) == index.most_similar(queries, threads=1)
    assert len(embedding.index(threads=2)) == 3000


def test_index_of_a_level_has_its_columns(embedding):
    index = embedding.index(level=2)
    assert repr(index) == "SimilarityIndex(3000 nodes, 12 dimensions, level 2)"
    queries = embedding.nodes[:50]
    assert recall(index.most_similar(queries), embedding.most_similar(queries, level=2)) > 0.98
    with pytest.raises(ParameterError, match="level must be between 1 and 2, got 3"):
        embedding.index(level=3)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_small_embeddings(n):
    small = Embedding(range(n), np.eye(2)[:n])
    index = small.index()
    assert len(index) == n
    assert index.most_similar(np.ones((2, 2)), n=5) == small.most_similar(np.ones((2, 2)), n=5)


def test_zero_vectors_have_similarity_zero():
    index = Embedding([0, 1, 2], [[0, 0], [1, 0], [1, 1]]).index()
    assert dict(index.most_similar(1))[0] == 0
    assert index.most_similar(0) == [(1, 0.0), (2, 0.0)]


@pytest.mark.parametrize("nodes", [range(5), list("abcde"), [(0, 1), "x", 7, "7", (2, "y")]])
def test_load_restores_what_save_wrote(tmp_path, nodes):
    embedding = Embedding(nodes, clustered(5), levels=[4, 12])
    index = embedding.index(level=2)
    index.save(tmp_path / "i.usearch")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["i.nodes.json", "i.usearch"]
    again = SimilarityIndex.load(tmp_path / "i.usearch", embedding)
    assert again.nodes.tolist() == list(nodes)
    assert (again.level, again.vectors_sha256) == (2, index.vectors_sha256)
    assert again.most_similar(list(nodes)) == index.most_similar(list(nodes))


def test_index_of_other_vectors_is_refused(embedding, index, tmp_path):
    path = tmp_path / "i.usearch"
    index.save(path)
    changed = Embedding(embedding.nodes, embedding.vectors * 2)
    renamed = Embedding(embedding.nodes[::-1], embedding.vectors)
    for other in (changed, renamed, embedding[:10], Embedding([0], [[1.0]])):
        with pytest.raises(FileFormatError, match="built from other vectors than those given"):
            SimilarityIndex.load(path, other)


def test_damaged_files_are_refused(index, tmp_path):
    path, facts = tmp_path / "i.usearch", tmp_path / "i.nodes.json"
    index.save(path)
    content, ids = path.read_bytes(), facts.read_text()
    path.write_bytes(content[:1000])
    with pytest.raises(FileFormatError, match=r"i\.usearch: the checksum differs"):
        SimilarityIndex.load(path)
    path.write_bytes(content)
    for damaged in ("{", "[]", json.dumps({**json.loads(ids), "version": 99}), ids.replace('"level"', '"height"')):
        facts.write_text(damaged)
        with pytest.raises(FileFormatError, match=r"i\.nodes\.json: "):
            SimilarityIndex.load(path)
    facts.write_text(json.dumps({**json.loads(ids), "nodes": [1, 2]}))
    with pytest.raises(FileFormatError, match=r"i\.usearch: has 3,000 vectors, but i\.nodes\.json has 2 ids"):
        SimilarityIndex.load(path)
    facts.unlink()
    with pytest.raises(FileFormatError, match=r"i\.nodes\.json, is missing"):
        SimilarityIndex.load(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        SimilarityIndex.load(path)
    with pytest.raises(ParameterError, match=r"suffix of an index must be \.usearch, got '\.npz'"):
        index.save(tmp_path / "i.npz")


def test_without_usearch_the_error_names_the_extra(embedding, monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch", None)
    with pytest.raises(BoostneError, match=r'pip install "boostne\[index\]"'):
        embedding.index()
