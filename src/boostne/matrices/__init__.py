"""From a graph to its node connectivity matrix; one file for each family of the paper's section III.A."""

from boostne.matrices.adjacency import adjacency, normalized_adjacency
from boostne.matrices.deepwalk.exact import WalkColumns, exact_deepwalk
from boostne.matrices.deepwalk.push import BoundedColumns, PushRows, push_deepwalk
from boostne.matrices.deepwalk.spectral import component_eigenpairs, spectral_deepwalk, spectral_rows
from boostne.matrices.grarep import StepRows, grarep
from boostne.matrices.hope import adamic_adar, common_neighbors, hope, katz, rooted_pagerank
from boostne.matrices.line import line
from boostne.matrices.modularity import modularity
from boostne.matrices.node2vec import node2vec

__all__ = [
    "BoundedColumns",
    "PushRows",
    "StepRows",
    "WalkColumns",
    "adamic_adar",
    "adjacency",
    "common_neighbors",
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
