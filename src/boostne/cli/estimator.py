"""Estimators and matrices from the options that were given."""

import inspect
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
    from boostne.matrices import MATRICES

    return MATRICES[name]


def default_of(function: Any, parameter: str) -> Any:
    """Return the default of a function's parameter, or None if the function has no such parameter."""
    found = inspect.signature(function).parameters.get(parameter)
    return None if found is None else found.default


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
    settings = dict(parameters)
    if method in MATRIX_METHODS:
        settings |= _connectivity(method, settings)
    if settings.pop("keep_matrix", False):
        from boostne.factorization.checkpoint import Checkpoint

        settings["checkpoint"] = Checkpoint(settings["checkpoint"], keep_matrix=True)
    if address is not None:
        settings["engine"] = address
    return method_class(method)(**settings)


def _connectivity(method: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Take the name and the parameters of the matrix out of the settings, and return the matrix, if one was given."""
    given = "connectivity" in settings
    name = settings.pop("connectivity", default_of(method_class(method), "connectivity"))
    names = [parameter for parameter in inspect.signature(matrix_class(name)).parameters if parameter in settings]
    own = {parameter: settings.pop(parameter) for parameter in names}
    return {"connectivity": matrix_class(name)(**own)} if given or own else {}


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
