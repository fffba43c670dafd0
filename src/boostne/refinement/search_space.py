"""The settings that are compared when an embedding is tuned."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices import DeepWalkMatrix, as_connectivity
from boostne.matrices.deepwalk.rule import LARGE
from boostne.matrices.deepwalk.spectral import nonisolated_components
from boostne.models import BoostNE
from boostne.models.boostne import NEIGHBOR_WEIGHTS, VECTOR_LENGTH
from boostne.propagation import check_weight
from boostne.validation import check_choice, check_integer, check_number

# Most promising first: a small budget leaves out windows and forms at the end.
SPACE: dict[str, tuple[Any, ...]] = {
    "window": (5, 1, 10, 2, 15),
    "approximation": ("exact", "spectral"),
    "negative": (1.0, 0.5, 2.0),
    "propagation": (0.0, 0.6, 0.8),
    "vector_length": (1.5, 2.5, 4.0, 8.0),
}
# The leading eigenpairs blur short walks.
SHORTEST_SPECTRAL_WINDOW = 5


@dataclass(frozen=True)
class Candidate:
    """The parameters of the connectivity matrix: what requires a factorization of its own."""

    window: int
    approximation: str
    negative: float


@dataclass(frozen=True)
class SearchSpace:
    """Candidates and the further parameters, which one factorization serves.

    Attributes
    ----------
    estimator : BoostNE
        All other parameters.
    matrix : DeepWalkMatrix
        The matrix of the estimator, with the parameters that are not searched.
    candidates : tuple of Candidate
        Windows and forms, with the estimator's number of negative samples. The first is that of the estimator itself,
        the default.
    negatives, propagations, vector_lengths : tuple
        Values to combine them with; the first is that of the estimator.
    """

    estimator: BoostNE
    matrix: DeepWalkMatrix
    candidates: tuple[Candidate, ...]
    negatives: tuple[float, ...]
    propagations: tuple[float, ...]
    vector_lengths: tuple[float, ...]

    def negatives_of(self, candidate: Candidate) -> tuple[float, ...]:
        """Return the values of negative to combine a candidate with, its own first."""
        return _distinct(candidate.negative, self.negatives)

    def settings(self, candidate: Candidate, propagation: float, vector_length: float) -> dict[str, Any]:
        """Return a setting as parameters of BoostNE."""
        matrix = self.matrix.get_params(deep=False) | vars(candidate)
        if candidate.approximation in ("exact", "spectral"):  # the others are for "push"
            matrix |= {"epsilon": None, "max_per_row": None}
        return {
            "connectivity": DeepWalkMatrix(**matrix),
            "window": None,
            "propagation": propagation,
            "vector_length": vector_length,
        }

    def model(self, settings: Mapping[str, Any], **parameters: Any) -> BoostNE:
        """Return an estimator with a setting."""
        return BoostNE(**{**self.estimator.get_params(deep=False), **settings, **parameters})


def search_space(estimator: BoostNE, graph: Graph, values: Mapping[str, Iterable[Any]] | None) -> SearchSpace:
    """Return the settings to compare on a graph.

    Parameters
    ----------
    estimator : BoostNE
    graph : Graph
        With edges.
    values : mapping from str to iterable, optional
        Values of some parameters, instead of those of ``SPACE``.
    """
    chosen = _check_values(values or {})
    matrix = as_connectivity(estimator.connectivity, estimator.window)
    if not isinstance(matrix, DeepWalkMatrix):
        raise ParameterError(
            "tune searches the parameters of connectivity='deepwalk'; the estimator has "
            f"connectivity={estimator.connectivity!r}: compare other matrices with GridSearchCV"
        )
    matrix.check()
    own = Candidate(matrix.window_for(graph), matrix.approximation, float(matrix.negative))
    same = Candidate(own.window, _form(matrix, graph), own.negative)
    others = [
        Candidate(window, form, own.negative)
        for window in chosen["window"]
        for form in _forms(graph, matrix, chosen["approximation"])
        if form != "spectral" or window >= SHORTEST_SPECTRAL_WINDOW
    ]
    propagation = NEIGHBOR_WEIGHTS[same.approximation] if estimator.propagation == "auto" else estimator.propagation
    length = VECTOR_LENGTH if estimator.vector_length == "auto" else estimator.vector_length
    return SearchSpace(
        estimator,
        matrix,
        (own, *(candidate for candidate in dict.fromkeys(others) if candidate not in (own, same))),
        _distinct(own.negative, chosen["negative"]),
        _distinct(propagation, chosen["propagation"]),
        _distinct(length, chosen["vector_length"]),
    )


def _distinct(first: Any, others: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys([first, *others]))


def _form(matrix: DeepWalkMatrix, graph: Graph) -> str:
    """Return the form that "auto" stands for if memory suffices."""
    if matrix.approximation != "auto":
        return str(matrix.approximation)
    if graph.n_nodes > LARGE:
        return "push"
    return "spectral" if matrix.prefers_spectral(graph) else "exact"


def _forms(graph: Graph, matrix: DeepWalkMatrix, forms: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the forms to compare: those given, else those that suit the size of the graph."""
    if forms is not None:
        return forms
    if graph.n_nodes > LARGE:
        return ("push",)
    if len(nonisolated_components(graph)) < matrix.eigenpairs < graph.n_nodes:
        return ("exact", "spectral")
    return ("exact",)


def _check_values(values: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
    """Return the values of each parameter; None for the forms of X unless they are given."""
    chosen: dict[str, Any] = {**SPACE, "approximation": None}
    for name, given in values.items():
        check_choice("space", name, SPACE)
        listed = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        if not listed:
            raise ParameterError(f"space[{name!r}] must have at least one value, got {given!r}")
        chosen[name] = tuple(_check_value(name, value) for value in listed)
    return chosen


def _check_value(name: str, value: Any) -> Any:
    label = f"space[{name!r}]"
    if name == "window":
        return check_integer(label, value, 1)
    if name == "approximation":
        check_choice(label, value, ("exact", "spectral", "push"))
        return value
    if name == "propagation":
        check_weight(label, value)
        return float(value)
    return check_number(label, value, 0, strict=name == "negative")
