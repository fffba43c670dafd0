"""How good an embedding is: node classification."""

from boostne.evaluation.classification import evaluate
from boostne.evaluation.result import Evaluation

__all__ = ["Evaluation", "evaluate"]
