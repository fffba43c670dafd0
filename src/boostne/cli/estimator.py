"""Estimators and matrices from the options that were given."""

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from boostne.errors import GraphError

if TYPE_CHECKING:
    from boostne.graph import Graph

MATRIX_METHODS = ("boostne", "netmf")  # those that factorize a connectivity matrix


def method_classes() -> dict[str, Any]:
    """Return the estimators by name; imported here, because parsing a command line should not import the library."""
    from boostne.models import METHODS

    return METHODS


def matrix_classes() -> dict[str, Any]:
    """Return the connectivity matrices by name."""
    from boostne.matrices import MATRICES

    return MATRICES


def default_of(function: Any, parameter: str) -> Any:
    """Return the default of a function's parameter, or None if the function has no such parameter."""
    found = inspect.signature(function).parameters.get(parameter)
    return None if found is None else found.default


def make_estimator(method: str, parameters: Mapping[str, Any], engine: Any = None) -> Any:
    """Return the estimator of a method.

    Parameters
    ----------
    method : str
    parameters : mapping from str to object
        Values of the options that were given, by parameter name: those of the estimator, and those of its matrix.
    engine : str or distributed.Client, optional
        Dask cluster to use.
    """
    settings = dict(parameters)
    estimator = method_classes()[method]
    if settings.pop("setting", None) == "paper":
        estimator = estimator.paper
    if method in MATRIX_METHODS:
        settings |= _connectivity(estimator().connectivity, settings)
    if settings.pop("keep_matrix", False):
        from boostne.factorization.checkpoint import Checkpoint

        settings["checkpoint"] = Checkpoint(settings["checkpoint"], keep_matrix=True)
    if engine is not None:
        settings["engine"] = engine
    return estimator(**settings)


def _connectivity(default: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Take the name and the parameters of the matrix out of the settings, and return the matrix, if one was given.

    A matrix that is not named is the default, a name or a matrix, with the parameters that were given.
    """
    from sklearn.base import clone

    given = "connectivity" in settings
    name = settings.pop("connectivity", default)
    matrix = matrix_classes()[name]() if isinstance(name, str) else clone(name)
    own = {parameter: settings.pop(parameter) for parameter in matrix.get_params(deep=False) if parameter in settings}
    return {"connectivity": matrix.set_params(**own)} if given or own else {}


def check_direction(graph: "Graph", method: str) -> None:
    """Raise GraphError if the graph is directed and the method supports undirected graphs only."""
    methods = method_classes()
    if graph.directed and not methods[method].capabilities.direction:
        others = [name for name, one in methods.items() if one.capabilities.direction]
        raise GraphError(
            f"the graph is directed, and --method {method} supports undirected graphs only; use --to-undirected to "
            f"ignore the direction, or --method {_or(others)}"
        )


def _or(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
