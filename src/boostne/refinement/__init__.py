"""Refinement of embeddings after they are computed."""

from boostne.refinement.level_weights import LevelWeights

__all__ = ["LevelWeights"]
