"""Multi-level network embedding: vectors for the nodes of a graph, from coarse to fine.

Names are loaded when first used, so ``import boostne`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boostne.datasets import load_dataset as load_dataset
    from boostne.embedding import Embedding as Embedding
    from boostne.evaluation import compare as compare
    from boostne.evaluation import evaluate as evaluate
    from boostne.evaluation import evaluate_clusters as evaluate_clusters
    from boostne.evaluation import evaluate_links as evaluate_links
    from boostne.evaluation import split_links as split_links
    from boostne.factorization import Checkpoint as Checkpoint
    from boostne.generators import planted_bipartite as planted_bipartite
    from boostne.generators import planted_partition as planted_partition
    from boostne.graph import Graph as Graph
    from boostne.interop import as_graph as as_graph
    from boostne.io import read_embedding as read_embedding
    from boostne.io import read_graph as read_graph
    from boostne.io import read_labels as read_labels
    from boostne.labels import Labels as Labels
    from boostne.labels import as_labels as as_labels
    from boostne.matrices import AdamicAdarMatrix as AdamicAdarMatrix
    from boostne.matrices import AdjacencyMatrix as AdjacencyMatrix
    from boostne.matrices import CommonNeighborsMatrix as CommonNeighborsMatrix
    from boostne.matrices import DeepWalkMatrix as DeepWalkMatrix
    from boostne.matrices import GraRepMatrix as GraRepMatrix
    from boostne.matrices import KatzMatrix as KatzMatrix
    from boostne.matrices import LINEMatrix as LINEMatrix
    from boostne.matrices import Node2VecMatrix as Node2VecMatrix
    from boostne.matrices import NormalizedAdjacencyMatrix as NormalizedAdjacencyMatrix
    from boostne.matrices import PageRankMatrix as PageRankMatrix
    from boostne.models import HOPE as HOPE
    from boostne.models import LINE as LINE
    from boostne.models import BoostNE as BoostNE
    from boostne.models import DeepWalk as DeepWalk
    from boostne.models import GraphFactorization as GraphFactorization
    from boostne.models import GraRep as GraRep
    from boostne.models import NetMF as NetMF
    from boostne.models import Node2Vec as Node2Vec
    from boostne.models import SocialDimension as SocialDimension
    from boostne.models import SpectralClustering as SpectralClustering
    from boostne.models import UpdateReport as UpdateReport
    from boostne.propagation import propagate as propagate
    from boostne.refinement import LevelWeights as LevelWeights
    from boostne.refinement import TuningInterrupted as TuningInterrupted
    from boostne.refinement import TuningResult as TuningResult
    from boostne.refinement import tune as tune
    from boostne.similarity_index import SimilarityIndex as SimilarityIndex
    from boostne.visualization import write_atlas as write_atlas
    from boostne.visualization import write_projector as write_projector

    __version__: str

_HOME = {
    "AdamicAdarMatrix": "boostne.matrices",
    "AdjacencyMatrix": "boostne.matrices",
    "BoostNE": "boostne.models",
    "Checkpoint": "boostne.factorization",
    "CommonNeighborsMatrix": "boostne.matrices",
    "DeepWalk": "boostne.models",
    "DeepWalkMatrix": "boostne.matrices",
    "Embedding": "boostne.embedding",
    "GraRep": "boostne.models",
    "GraRepMatrix": "boostne.matrices",
    "Graph": "boostne.graph",
    "GraphFactorization": "boostne.models",
    "HOPE": "boostne.models",
    "KatzMatrix": "boostne.matrices",
    "LINE": "boostne.models",
    "LINEMatrix": "boostne.matrices",
    "Labels": "boostne.labels",
    "LevelWeights": "boostne.refinement",
    "NetMF": "boostne.models",
    "Node2Vec": "boostne.models",
    "Node2VecMatrix": "boostne.matrices",
    "NormalizedAdjacencyMatrix": "boostne.matrices",
    "PageRankMatrix": "boostne.matrices",
    "SimilarityIndex": "boostne.similarity_index",
    "SocialDimension": "boostne.models",
    "SpectralClustering": "boostne.models",
    "TuningInterrupted": "boostne.refinement",
    "TuningResult": "boostne.refinement",
    "UpdateReport": "boostne.models",
    "as_graph": "boostne.interop",
    "as_labels": "boostne.labels",
    "compare": "boostne.evaluation",
    "evaluate": "boostne.evaluation",
    "evaluate_clusters": "boostne.evaluation",
    "evaluate_links": "boostne.evaluation",
    "load_dataset": "boostne.datasets",
    "planted_bipartite": "boostne.generators",
    "planted_partition": "boostne.generators",
    "propagate": "boostne.propagation",
    "read_embedding": "boostne.io",
    "read_graph": "boostne.io",
    "read_labels": "boostne.io",
    "split_links": "boostne.evaluation",
    "tune": "boostne.refinement",
    "write_atlas": "boostne.visualization",
    "write_projector": "boostne.visualization",
}

__all__ = [  # noqa: PLE0604  the names are strings, the keys of _HOME
    "__version__",
    *_HOME,
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from boostne.version import installed_version

        return installed_version()
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'boostne' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
