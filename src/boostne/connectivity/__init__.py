"""From a graph to its node connectivity matrix; one file for each family of the paper's section III.A."""

from boostne.connectivity.adjacency import adjacency, normalized_adjacency
from boostne.connectivity.deepwalk import WalkColumns, exact_deepwalk
from boostne.connectivity.grarep import StepRows, grarep
from boostne.connectivity.hope import adamic_adar, common_neighbours, hope, katz, rooted_pagerank
from boostne.connectivity.line import line
from boostne.connectivity.modularity import modularity
from boostne.connectivity.node2vec import node2vec
from boostne.connectivity.push import BoundedColumns, PushRows, push_deepwalk
from boostne.connectivity.spectral import component_eigenpairs, spectral_deepwalk, spectral_rows

__all__ = [
    "BoundedColumns",
    "PushRows",
    "StepRows",
    "WalkColumns",
    "adamic_adar",
    "adjacency",
    "common_neighbours",
    "component_eigenpairs",
    "exact_deepwalk",
    "grarep",
    "hope",
    "katz",
    "line",
    "modularity",
    "node2vec",
    "normalized_adjacency",
    "push_deepwalk",
    "rooted_pagerank",
    "spectral_deepwalk",
    "spectral_rows",
]
