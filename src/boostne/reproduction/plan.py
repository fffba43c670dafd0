"""What is computed: which methods, with which parameters, scored how."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from boostne.datasets import Dataset
from boostne.errors import ParameterError
from boostne.models import METHODS as REGISTRY
from boostne.models import NodeEmbedder
from boostne.models.resuming import INDIFFERENT
from boostne.reproduction.paper import METHODS as PAPER_METHODS
from boostne.reproduction.recommended import recommended

DIMENSIONS, LEVELS = 128, 8
# Where the paper's setting says it: section V.A, and NetMF's code for h.
PAPER_X = {"window": 10, "negative": 1.0, "approximation": "spectral", "eigenpairs": 256}
PAPER, RECOMMENDED = "paper", "recommended"


@dataclass(frozen=True)
class Protocol:
    """How much is computed.

    Attributes
    ----------
    train : tuple of int
        Per cent of the labeled nodes to train on, for the tables.
    repeats : int
        Random splits a ratio.
    levels : tuple of int
        The k of the curves.
    curve_train : tuple of int
        Per cent to train on, for F1 against k.
    map_nodes : int
        Nodes on a map at most.
    seed : int
        Of the splits, the methods and the maps.
    """

    train: tuple[int, ...] = (10, 20, 30, 40, 50, 60, 70, 80, 90)
    repeats: int = 10
    levels: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    curve_train: tuple[int, ...] = (30, 50, 70)
    map_nodes: int = 2000
    seed: int = 0

    @classmethod
    def quick(cls, seed: int = 0) -> "Protocol":
        """Return the protocol of a first look: 3 splits, 3 ratios, 3 numbers of levels."""
        return cls(
            train=(10, 50, 90), repeats=3, levels=(1, 8, 64), curve_train=(50,), map_nodes=500, seed=seed
        )


@dataclass(frozen=True)
class Recipe:
    """A method with its parameters; everything that its vectors depend on, apart from the graph.

    Attributes
    ----------
    method : str
        Name of the class.
    parameters : mapping
        Given to the class; the others keep their defaults.
    scale : float
        Factor for all vectors before they are scored; a regularized classifier feels it.
    """

    method: str
    parameters: Mapping[str, Any]
    scale: float = 1.0

    def build(self, **more: Any) -> NodeEmbedder:
        """Return the estimator; of the further parameters, those that it has."""
        cls = find_method(self.method)
        accepted = inspect.signature(cls).parameters
        return cls(
            **{name: value for name, value in more.items() if name in accepted} | dict(self.parameters)
        )

    def key(self) -> dict[str, Any]:
        """Return what identifies the recipe: all parameters, except those on which nothing depends."""
        parameters = {
            name: value for name, value in self.build().get_params().items() if name not in INDIFFERENT
        }
        return {"method": self.method, "parameters": parameters, "scale": self.scale}


@dataclass
class Work:
    """A recipe and what is wanted of its vectors.

    Attributes
    ----------
    recipe : Recipe
    rows : list of str
        Settings under which it stands in the tables: "", "paper" or "recommended"; none for a curve's point.
    levels : int or None
        Its place on the curves, for BoostNE.
    train : set of int
        Ratios at which it is scored.
    mapped : bool
        Whether a map is drawn of it.
    """

    recipe: Recipe
    rows: list[str] = field(default_factory=list)
    levels: int | None = None
    train: set[int] = field(default_factory=set)
    mapped: bool = False

    @property
    def name(self) -> str:
        """Return how people call it."""
        details = [f"{row} setting" for row in self.rows if row]
        if self.levels is not None and not self.rows:
            details.append(f"k = {self.levels}")
        return f"{self.recipe.method} ({', '.join(details)})" if details else self.recipe.method


def make_plan(data: Dataset, methods: Iterable[str], protocol: Protocol) -> list[Work]:
    """Return what is to be computed for a data set, each recipe once."""
    plan: list[Work] = []
    for method in methods:
        for setting, recipe in _recipes(method, data, protocol.seed).items():
            work = _of(plan, recipe)
            work.rows.append(setting)
            work.train.update(protocol.train)
            work.mapped |= setting == RECOMMENDED
            if method == "NetMF":
                work.train.update(protocol.curve_train)
    if "BoostNE" in methods:
        for levels in protocol.levels:
            work = _of(plan, boosted(protocol.seed, levels=levels, **PAPER_X))
            work.levels = levels
            work.train.update(protocol.curve_train)
    return plan


def boosted(seed: int, **parameters: Any) -> Recipe:
    """Return BoostNE with the paper's dimensions."""
    return Recipe("BoostNE", {"dimensions": DIMENSIONS, "random_state": seed, **parameters})


def _recipes(method: str, data: Dataset, seed: int) -> dict[str, Recipe]:
    """Return the recipes of a row of the tables, by their setting."""
    common: dict[str, Any] = {"dimensions": DIMENSIONS, "random_state": seed}
    if method == "BoostNE":
        rule = recommended(data.graph)
        better = boosted(seed, levels=LEVELS, **rule.parameters)
        return {
            PAPER: boosted(seed, levels=LEVELS, **PAPER_X),
            RECOMMENDED: Recipe(better.method, better.parameters, rule.scale),
        }
    if method == "NetMF":
        common |= {"factorization": "nmf", **PAPER_X}
    return {"": Recipe(method, common)}


def _of(plan: list[Work], recipe: Recipe) -> Work:
    """Return the work of a recipe, added to the plan if it was not there."""
    for work in plan:
        if work.recipe == recipe:
            return work
    plan.append(Work(recipe))
    return plan[-1]


def find_method(name: str) -> type[NodeEmbedder]:
    """Return the estimator with a class name."""
    return next(cls for cls in REGISTRY.values() if cls.__name__ == name)


def choose_methods(names: Iterable[str]) -> tuple[str, ...]:
    """Return the class names that names stand for, in the paper's order; all of them for no name.

    Examples
    --------
    >>> choose_methods(["boostne", "NetMF"])
    ('NetMF', 'BoostNE')
    """
    known = list(PAPER_METHODS.values())
    chosen = set()
    for name in names:
        wanted = name.replace("-", "").replace(" ", "").lower()
        found = next((cls for cls in known if cls.lower() == wanted), None)
        if found is None:
            raise ParameterError(f"methods: {name!r} is not one of the paper's; known: {', '.join(known)}")
        chosen.add(found)
    return tuple(cls for cls in known if cls in chosen or not chosen)
