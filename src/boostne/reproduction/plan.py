"""The experiments of a reproduction: methods, parameters and scoring protocol."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from boostne.errors import ParameterError
from boostne.models import METHODS as REGISTRY
from boostne.models import BoostNE, NodeEmbedder
from boostne.reproduction.paper import METHODS as PAPER_METHODS

DIMENSIONS, LEVELS = 128, 8
PAPER_MODEL = BoostNE.paper()
PAPER, RECOMMENDED = "paper", "recommended"


@dataclass(frozen=True)
class Protocol:
    """The scoring protocol.

    Attributes
    ----------
    train : tuple of int
        Training ratios of the tables, in percent of the labeled nodes.
    repeats : int
        Number of random splits per ratio.
    levels : tuple of int
        Numbers of levels k of the curves.
    curve_train : tuple of int
        Training ratios of the curves (F1 against k), in percent.
    map_nodes : int
        Maximum number of nodes on a map.
    seed : int
        Seed of the splits, the methods and the maps.
    tuned_methods : tuple of str
        Methods of the tuned comparison: class names of the estimators.
    tuned_train : tuple of int
        Training ratios of the tuned comparison, in percent.
    tuned_repeats : int
        Number of random splits per ratio of the tuned comparison.
    tuned_strengths : tuple of float
        Regularization strengths to choose from; vectors have a root-mean-square length of 1.
    """

    train: tuple[int, ...] = (10, 20, 30, 40, 50, 60, 70, 80, 90)
    repeats: int = 10
    levels: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    curve_train: tuple[int, ...] = (30, 50, 70)
    map_nodes: int = 2000
    seed: int = 0
    tuned_methods: tuple[str, ...] = (
        "SpectralClustering", "SocialDimension", "GraphFactorization", "HOPE", "GraRep", "DeepWalk", "Node2Vec", "LINE",
        "NetMF", "BoostNE",
    )  # fmt: skip
    tuned_train: tuple[int, ...] = (1, 2, 5, 10, 50, 90)
    tuned_repeats: int = 10
    tuned_strengths: tuple[float, ...] = (1, 4, 16, 64, 256)

    @classmethod
    def quick(cls, seed: int = 0) -> "Protocol":
        """Return a reduced protocol: 3 splits, 3 ratios, 3 numbers of levels; tuned, 2 splits, 2 ratios, 3 methods."""
        return cls(
            train=(10, 50, 90),
            repeats=3,
            levels=(1, 8, 64),
            curve_train=(50,),
            map_nodes=500,
            seed=seed,
            tuned_methods=("SpectralClustering", "NetMF", "BoostNE"),
            tuned_train=(5, 50),
            tuned_repeats=2,
            tuned_strengths=(4, 64),
        )


@dataclass(frozen=True, eq=False)
class Configuration:
    """A method and its parameters: everything but the graph that its vectors depend on.

    Attributes
    ----------
    method : str
        Class name of the estimator.
    parameters : mapping
        Parameters of the estimator that differ from the defaults.
    """

    method: str
    parameters: Mapping[str, Any]

    def build(self, **options: Any) -> NodeEmbedder:
        """Return the estimator; `options` that it does not have are ignored."""
        cls = find_method(self.method)
        accepted = inspect.signature(cls).parameters
        return cls(**{name: value for name, value in options.items() if name in accepted} | dict(self.parameters))

    def key(self) -> dict[str, Any]:
        """Return everything that the vectors depend on besides the graph."""
        return {"method": self.method, "parameters": self.build().result_parameters()}


@dataclass
class Experiment:
    """A configuration and the results to compute from its vectors.

    Attributes
    ----------
    configuration : Configuration
    settings : list of str
        Settings under which it appears in the tables: "", "paper" or "recommended"; empty for a point of the curves.
    levels : int or None
        Number of levels of its point on the curves, if any.
    train : set of int
        Training ratios at which it is scored.
    mapped : bool
        Whether a map is computed.
    """

    configuration: Configuration
    settings: list[str] = field(default_factory=list)
    levels: int | None = None
    train: set[int] = field(default_factory=set)
    mapped: bool = False

    @property
    def method(self) -> str:
        """Class name of the estimator."""
        return self.configuration.method

    @property
    def name(self) -> str:
        """Display name."""
        details = [f"{setting} setting" for setting in self.settings if setting]
        if self.levels is not None and not self.settings:
            details.append(f"k = {self.levels}")
        return f"{self.method} ({', '.join(details)})" if details else self.method


def make_plan(methods: Iterable[str], protocol: Protocol) -> list[Experiment]:
    """Return the experiments for one data set, each configuration once."""
    plan: list[Experiment] = []
    for method in methods:
        for setting, configuration in _configurations(method, protocol.seed).items():
            experiment = _find_or_add(plan, configuration)
            experiment.settings.append(setting)
            experiment.train.update(protocol.train)
            experiment.mapped |= setting == RECOMMENDED
            if method == "NetMF":
                experiment.train.update(protocol.curve_train)
    if "BoostNE" in methods:
        for levels in protocol.levels:
            experiment = _find_or_add(plan, _paper_setting(protocol.seed, levels))
            experiment.levels = levels
            experiment.train.update(protocol.curve_train)
    return plan


def _paper_setting(seed: int, levels: int) -> Configuration:
    setting = {name: getattr(PAPER_MODEL, name) for name in ("connectivity", "propagation", "vector_length")}
    return Configuration("BoostNE", {"dimensions": DIMENSIONS, "levels": levels, "random_state": seed, **setting})


def _configurations(method: str, seed: int) -> dict[str, Configuration]:
    """Return the configurations of a method that appear in the tables, by setting."""
    parameters: dict[str, Any] = {"dimensions": DIMENSIONS, "random_state": seed}
    if method == "BoostNE":
        recommended = Configuration(method, parameters | {"levels": LEVELS})
        return {PAPER: _paper_setting(seed, LEVELS), RECOMMENDED: recommended}
    if method == "NetMF":
        parameters |= {"factorization": "nmf", "connectivity": PAPER_MODEL.connectivity}
    return {"": Configuration(method, parameters)}


def _find_or_add(plan: list[Experiment], configuration: Configuration) -> Experiment:
    for experiment in plan:
        if experiment.configuration.key() == configuration.key():
            return experiment
    plan.append(Experiment(configuration))
    return plan[-1]


def find_method(name: str) -> type[NodeEmbedder]:
    """Return the estimator class of this name."""
    return next(cls for cls in REGISTRY.values() if cls.__name__ == name)


def choose_methods(names: Iterable[str], known: Iterable[str] = PAPER_METHODS.values()) -> tuple[str, ...]:
    """Return the class names of the named methods in the order of `known`, the paper's; all if no name is given.

    Examples
    --------
    >>> choose_methods(["boostne", "NetMF"])
    ('NetMF', 'BoostNE')
    """
    known = list(known)
    chosen = set()
    for name in names:
        wanted = name.replace("-", "").replace(" ", "").lower()
        found = next((cls for cls in known if cls.lower() == wanted), None)
        if found is None:
            raise ParameterError(f"methods must be among {', '.join(known)}, got {name!r}")
        chosen.add(found)
    return tuple(cls for cls in known if cls in chosen or not chosen)
