"""Evaluation of embeddings: node classification, link prediction, clustering, and paired comparison."""

from boostne.evaluation.classification import evaluate
from boostne.evaluation.clusters import ClusterEvaluation, evaluate_clusters
from boostne.evaluation.comparison import Comparison, PairTest, compare
from boostne.evaluation.conclusion import Conclusion, conclude
from boostne.evaluation.link_split import LinkSplit, split_links
from boostne.evaluation.links import LinkEvaluation, evaluate_links
from boostne.evaluation.nested import Choice, NestedEvaluation, evaluate_nested
from boostne.evaluation.result import Evaluation

__all__ = [
    "Choice",
    "ClusterEvaluation",
    "Comparison",
    "Conclusion",
    "Evaluation",
    "LinkEvaluation",
    "LinkSplit",
    "NestedEvaluation",
    "PairTest",
    "compare",
    "conclude",
    "evaluate",
    "evaluate_clusters",
    "evaluate_links",
    "evaluate_nested",
    "split_links",
]
