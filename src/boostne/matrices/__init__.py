"""Connectivity matrices: from a graph to rows of X. One file per family of the paper's section III.A."""

from boostne.matrices.adjacency import AdjacencyMatrix, NormalizedAdjacencyMatrix
from boostne.matrices.base import ConnectivityMatrix, MatrixForm
from boostne.matrices.deepwalk.matrix import DeepWalkMatrix
from boostne.matrices.explicit import ExplicitMatrix
from boostne.matrices.grarep import GraRepMatrix
from boostne.matrices.hope import AdamicAdarMatrix, CommonNeighborsMatrix, KatzMatrix, PageRankMatrix
from boostne.matrices.line import LINEMatrix
from boostne.matrices.node2vec import Node2VecMatrix
from boostne.matrices.registry import MATRICES, as_connectivity
from boostne.matrices.source import CSRSource, MatrixSource

__all__ = [
    "MATRICES",
    "AdamicAdarMatrix",
    "AdjacencyMatrix",
    "CSRSource",
    "CommonNeighborsMatrix",
    "ConnectivityMatrix",
    "DeepWalkMatrix",
    "ExplicitMatrix",
    "GraRepMatrix",
    "KatzMatrix",
    "LINEMatrix",
    "MatrixForm",
    "MatrixSource",
    "Node2VecMatrix",
    "NormalizedAdjacencyMatrix",
    "PageRankMatrix",
    "as_connectivity",
]
