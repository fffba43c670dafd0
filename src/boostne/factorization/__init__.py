"""From a connectivity matrix to levels: the boosting loop, and the engines that store the residual."""

from boostne.factorization.boosting import Level, LevelSettings, boost, community_start, random_start
from boostne.factorization.checkpoint import Checkpoint
from boostne.factorization.engine import Engine, LevelLost, PassResult
from boostne.factorization.local import LocalEngine

__all__ = [
    "Checkpoint",
    "Engine",
    "Level",
    "LevelLost",
    "LevelSettings",
    "LocalEngine",
    "PassResult",
    "boost",
    "community_start",
    "random_start",
]
