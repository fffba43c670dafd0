"""Estimators and matrices from the options that were given."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from boostne.errors import GraphError

if TYPE_CHECKING:
    from boostne.graph import Graph

# Repeated here because parsing a command line does not import the library.
METHOD_NAMES = (
    "boostne",
    "netmf",
    "grarep",
    "hope",
    "spectral-clustering",
    "social-dimension",
    "graph-factorization",
    "line",
    "deepwalk",
    "node2vec",
)
MATRIX_NAMES = (
    "deepwalk",
    "node2vec",
    "line",
    "grarep",
    "adjacency",
    "normalized",
    "common-neighbors",
    "adamic-adar",
    "katz",
    "pagerank",
)
MATRIX_METHODS = ("boostne", "netmf")  # those that factorize a connectivity matrix


def method_class(name: str) -> Any:
    """Return the estimator class of a method."""
    from boostne.models import METHODS

    return METHODS[name]


def matrix_class(name: str) -> Any:
    """Return the class of a connectivity matrix."""
    del name
    return method_class("boostne")


def make_estimator(method: str, parameters: Mapping[str, Any], address: str | None = None) -> Any:
    """Return the estimator of a method.

    Parameters
    ----------
    method : str
    parameters : mapping from str to object
        Values of the options that were given, by parameter name: those of the estimator, and those of its matrix.
    address : str, optional
        Address of the Dask scheduler to use.
    """
    place = {} if address is None else {"engine": "dask", "client": address}
    return method_class(method)(**{**parameters, **place})


def check_direction(graph: "Graph", method: str) -> None:
    """Raise GraphError if the graph is directed and the method supports undirected graphs only."""
    from boostne.models import METHODS

    if graph.directed and not METHODS[method].capabilities.direction:
        others = [name for name, one in METHODS.items() if one.capabilities.direction]
        raise GraphError(
            f"the graph is directed, and --method {method} supports undirected graphs only; use --to-undirected to "
            f"ignore the direction, or --method {_or(others)}"
        )


def _or(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
