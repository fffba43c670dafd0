"""The estimators, and their names on the command line."""

from boostne.models.base import Capabilities, NodeEmbedder
from boostne.models.boostne import BoostNE
from boostne.models.deepwalk import DeepWalk
from boostne.models.graph_factorization import GraphFactorization
from boostne.models.grarep import GraRep
from boostne.models.hope import HOPE
from boostne.models.line import LINE
from boostne.models.netmf import NetMF
from boostne.models.node2vec import Node2Vec
from boostne.models.social_dimension import SocialDimension
from boostne.models.spectral_clustering import SpectralClustering
from boostne.models.updating import UpdateReport

METHODS: dict[str, type[NodeEmbedder]] = {
    "boostne": BoostNE,
    "netmf": NetMF,
    "grarep": GraRep,
    "hope": HOPE,
    "spectral-clustering": SpectralClustering,
    "social-dimension": SocialDimension,
    "graph-factorization": GraphFactorization,
    "line": LINE,
    "deepwalk": DeepWalk,
    "node2vec": Node2Vec,
}

__all__ = [
    "HOPE",
    "LINE",
    "METHODS",
    "BoostNE",
    "Capabilities",
    "DeepWalk",
    "GraRep",
    "GraphFactorization",
    "NetMF",
    "Node2Vec",
    "NodeEmbedder",
    "SocialDimension",
    "SpectralClustering",
    "UpdateReport",
]
