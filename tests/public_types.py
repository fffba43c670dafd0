"""Types that users of mypy see: checked by ``make types``, not executed."""

from typing import Any, assert_type

from numpy.typing import NDArray

import boostne
from boostne import HOPE, BoostNE, Embedding, Graph, Labels
from boostne.budget import Estimate
from boostne.datasets import Dataset
from boostne.embedding import FloatArray
from boostne.evaluation import ClusterEvaluation, Comparison, Evaluation, LinkEvaluation


def check_reading(path: str) -> None:
    """Check what readers and data sets return."""
    assert_type(boostne.__version__, str)
    assert_type(boostne.read_graph(path, header=True, self_loops="keep"), Graph)
    assert_type(boostne.read_labels(path, node="id", label=2), Labels)
    assert_type(boostne.read_embedding(path, id_type="str"), Embedding)
    assert_type(boostne.load_dataset("karate"), Dataset)
    assert_type(boostne.load_dataset("karate").graph, Graph)
    assert_type(boostne.as_graph([(1, 2)]), Graph)
    assert_type(boostne.as_labels({1: "a"}), Labels)


def check_models(graph: Graph, path: str) -> None:
    """Check what estimators return."""
    model = BoostNE(64, levels=4).fit(graph)
    assert_type(model, BoostNE)
    assert_type(model.embedding_, Embedding)
    assert_type(model.transform(graph), NDArray[Any])
    assert_type(model.fit_transform(graph), NDArray[Any])
    assert_type(model.fold_in(graph), Embedding)
    assert_type(model.update(graph), boostne.UpdateReport)
    assert_type(model.estimate(graph), Estimate)
    assert_type(BoostNE.load(path), BoostNE)
    assert_type(HOPE(8).fit(graph).embedding_, Embedding)


def check_vectors(embedding: Embedding, labels: Labels, graph: Graph) -> None:
    """Check what embeddings and evaluations return."""
    assert_type(embedding["ann"], FloatArray)
    assert_type(embedding[[1, 2]], FloatArray)
    assert_type(embedding[:5], Embedding)
    assert_type(embedding.most_similar("ann"), list[tuple[Any, float]])
    assert_type(boostne.propagate(graph, embedding), Embedding)
    assert_type(boostne.evaluate(embedding, labels, train=[0.1, 0.5]), Evaluation)
    assert_type(boostne.evaluate_links(BoostNE(), graph), LinkEvaluation)
    assert_type(boostne.evaluate_clusters(embedding, labels), ClusterEvaluation)
    assert_type(boostne.compare({}), Comparison)
    assert_type(boostne.tune(graph, labels), boostne.TuningResult)
