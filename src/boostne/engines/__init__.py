"""Where the residual lives: one engine for each kind of machine."""

from boostne.engines.base import Context, Engine, Pass
from boostne.engines.local import LocalEngine

__all__ = ["Context", "Engine", "LocalEngine", "Pass"]
