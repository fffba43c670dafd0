"""The estimators, and their names on the command line."""

from boostne.models.base import Capabilities, NodeEmbedder
from boostne.models.boostne import BoostNE

METHODS: dict[str, type[NodeEmbedder]] = {"boostne": BoostNE}

__all__ = ["METHODS", "BoostNE", "Capabilities", "NodeEmbedder"]
