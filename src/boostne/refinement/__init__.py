"""Refinement of embeddings after they are computed, and the choice of their parameters."""

from boostne.refinement.level_weights import LevelWeights
from boostne.refinement.tuning import tune
from boostne.refinement.tuning_result import Trial, TuningInterrupted, TuningResult

__all__ = ["LevelWeights", "Trial", "TuningInterrupted", "TuningResult", "tune"]
