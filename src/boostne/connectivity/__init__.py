"""From a graph to its node connectivity matrix; one file for each matrix of the paper's section III.A."""

from boostne.connectivity.deepwalk import WalkColumns, exact_deepwalk
from boostne.connectivity.spectral import spectral_deepwalk

__all__ = ["WalkColumns", "exact_deepwalk", "spectral_deepwalk"]
