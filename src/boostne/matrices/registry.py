"""The connectivity matrices by name."""

from typing import Any

from boostne.errors import ParameterError
from boostne.matrices.adjacency import AdjacencyMatrix, NormalizedAdjacencyMatrix
from boostne.matrices.base import ConnectivityMatrix
from boostne.matrices.deepwalk.matrix import DeepWalkMatrix
from boostne.matrices.explicit import ExplicitMatrix
from boostne.matrices.grarep import GraRepMatrix
from boostne.matrices.hope import AdamicAdarMatrix, CommonNeighborsMatrix, KatzMatrix, PageRankMatrix
from boostne.matrices.line import LINEMatrix
from boostne.matrices.node2vec import Node2VecMatrix

MATRICES: dict[str, type[ConnectivityMatrix]] = {
    "deepwalk": DeepWalkMatrix,
    "node2vec": Node2VecMatrix,
    "line": LINEMatrix,
    "grarep": GraRepMatrix,
    "adjacency": AdjacencyMatrix,
    "normalized": NormalizedAdjacencyMatrix,
    "common-neighbors": CommonNeighborsMatrix,
    "adamic-adar": AdamicAdarMatrix,
    "katz": KatzMatrix,
    "pagerank": PageRankMatrix,
}
# Matrices with negative entries, and the methods that factorize them.
SIGNED = {"modularity": "SocialDimension"}


def as_connectivity(connectivity: Any, window: int | None = None) -> ConnectivityMatrix:
    """Return the connectivity matrix that an estimator's parameters describe.

    Parameters
    ----------
    connectivity : str, ConnectivityMatrix, matrix or callable
        A key of :data:`MATRICES`, one of its classes with parameters, or what :class:`ExplicitMatrix` takes.
    window : int, optional
        The matrix's own ``window``; for names only.

    Raises
    ------
    ParameterError
        If the name is unknown or the matrix has no window to set.
    """
    if isinstance(connectivity, str):
        matrix_class = _matrix_class(connectivity)
        if window is None:
            return matrix_class()
        if "window" in matrix_class().get_params():
            return matrix_class(window=window)
        raise ParameterError(f"connectivity={connectivity!r} has no window; got window={window!r}")
    if window is not None:
        raise ParameterError(
            f"window={window!r} is for a connectivity given by name; set the window of the matrix itself, as in "
            f"connectivity=DeepWalkMatrix(window={window!r})"
        )
    if isinstance(connectivity, type):
        name = connectivity.__name__
        raise ParameterError(f"connectivity must be an object, not its class: use {name}() instead of {name}")
    return connectivity if isinstance(connectivity, ConnectivityMatrix) else ExplicitMatrix(connectivity)


def _matrix_class(name: str) -> type[ConnectivityMatrix]:
    if name in MATRICES:
        return MATRICES[name]
    if name in SIGNED:
        raise ParameterError(
            f"connectivity={name!r} has negative entries, which a non-negative factorization cannot approximate; "
            f"use the method {SIGNED[name]}, which factorizes that matrix"
        )
    names = ", ".join(map(repr, MATRICES))
    raise ParameterError(f"connectivity must be one of {names}, a matrix or a function of a graph; got {name!r}")
