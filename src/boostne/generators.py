"""Random graphs with known communities."""

import numpy as np
from numpy.typing import NDArray

from boostne.datasets import Dataset
from boostne.edges import merge_edges
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.labels import Labels
from boostne.memory import check_memory

# Measured peaks of planted_partition.
BYTES_PER_NODE = 100
BYTES_PER_EDGE = 140
ACTIVITY_EXPONENT = 2.5  # of the degrees of the first side of a bipartite graph


def planted_partition(
    n_nodes: int,
    *,
    communities: int = 50,
    mean_degree: float = 10.0,
    mixing: float = 0.3,
    exponent: float = 2.5,
    seed: int = 0,
) -> Dataset:
    """Draw a graph with communities and hubs from a degree-corrected planted partition model.

    Each node has a community and a propensity ``θ`` from a power law. The source of an edge is drawn with probability
    proportional to θ; its target likewise, with probability ``mixing`` among all nodes and otherwise within the
    community of the source. One edge starts at each node, so that no node is isolated. Self-loops and duplicate edges
    are drawn again, so that the mean degree is exact.

    Parameters
    ----------
    n_nodes : int
        Number of nodes; their ids are 0, 1, …
    communities : int, default=50
        Number of communities, of nearly equal size; the label of a node is the number of its community.
    mean_degree : float, default=10.0
        Mean degree, ``2 n_edges / n_nodes``; at least 2.
    mixing : float, default=0.3
        Fraction of edges whose target is drawn among all nodes.
    exponent : float, default=2.5
        Exponent γ > 2 of the power law ``p(θ) ~ θ^-γ``; the larger, the more similar the degrees. θ is capped where
        the expected number of edges between two hubs would exceed 1.
    seed : int, default=0
        Seed of the random generator.

    Returns
    -------
    Dataset
        An undirected, unweighted graph and the community of each node as its label.

    References
    ----------
    B. Karrer, M. E. J. Newman: "Stochastic blockmodels and community structure in networks", Phys. Rev. E 83, 2011.

    Examples
    --------
    >>> data = planted_partition(1000, communities=4)
    >>> data.graph
    Graph(1000 nodes, 5000 edges, undirected, unweighted)
    >>> data.labels
    Labels(1000 nodes, 4 classes, 1000 labels)
    """
    n_edges = _check_and_count_edges(n_nodes, communities, mean_degree, mixing, exponent)
    rng = np.random.default_rng(seed)
    community = np.sort(rng.permutation(n_nodes) % communities)
    sampler = _EdgeSampler(community, _propensities(n_nodes, mean_degree, exponent, rng), mixing, rng)
    keys = np.zeros(0, np.int64)
    sources = np.arange(n_nodes)
    while len(keys) < n_edges:
        sources = np.concatenate([sources, sampler.sources(max(n_edges - len(keys) - len(sources), 0))])
        targets = sampler.targets(sources)
        drawn = np.minimum(sources, targets) * n_nodes + np.maximum(sources, targets)
        keys, _ = merge_edges(np.concatenate([keys, drawn]), None, add=False)
        sources = sources[:0]
    # Up to here nodes are numbered by community: shuffle the numbers.
    shuffled = rng.permutation(n_nodes)
    graph = Graph.from_indices(np.arange(n_nodes), shuffled[keys // n_nodes], shuffled[keys % n_nodes])
    labels = Labels.from_indices(np.arange(n_nodes), np.arange(communities), shuffled, community)
    return Dataset(graph, labels, "planted-partition")


def planted_bipartite(
    n_first: int,
    n_second: int,
    *,
    communities: int = 30,
    mean_degree: float = 15.0,
    mixing: float = 0.3,
    exponent: float = 2.2,
    seed: int = 0,
) -> Dataset:
    """Draw a bipartite graph with communities, such as users with tastes and items with different popularity.

    Each node has a community and a propensity from a power law. The end of an edge on the first side is drawn with
    probability proportional to the propensity; the end on the second side likewise, with probability ``mixing`` among
    all nodes of that side and otherwise within the same community. At least one edge is drawn for each node of the
    first side, so that none of these is isolated; nodes of the second side without an edge are left out. Duplicate
    edges are drawn again.

    Parameters
    ----------
    n_first, n_second : int
        Numbers of nodes of the two sides; the ids of the second side continue those of the first: 0, 1, …
    communities : int, default=30
        Number of communities, of nearly equal size on each side; the label of a node is the number of its community.
    mean_degree : float, default=15.0
        Mean degree of the first side; at least 1.
    mixing : float, default=0.3
        Fraction of edges whose end on the second side is drawn among all nodes.
    exponent : float, default=2.2
        Exponent γ > 2 of the power law of the second side, ``p(θ) ~ θ^-γ``; the smaller, the more popular are the most
        popular nodes. θ is capped where a node would be linked to a quarter of the first side. The exponent of the
        first side is 2.5.
    seed : int, default=0
        Seed of the random generator.

    Returns
    -------
    Dataset
        An unweighted graph with sides, and the community of each node as its label.

    Examples
    --------
    >>> planted_bipartite(600, 300, communities=4).graph
    Graph(600 + 300 nodes, 9000 edges, bipartite, unweighted)
    """
    n_edges = _check_and_count_links(n_first, n_second, communities, mean_degree, mixing, exponent)
    rng = np.random.default_rng(seed)
    community, community_of_second = (np.sort(rng.permutation(n) % communities) for n in (n_first, n_second))
    # So active that a quarter of the community's nodes of the second side would be neighbors.
    activity = _power_law(n_first, ACTIVITY_EXPONENT, n_second / communities / 4 / mean_degree, rng)
    popularity = _power_law(n_second, exponent, n_first * n_second / n_edges / 4, rng)
    first = _EdgeSampler(community, activity, mixing, rng)
    second = _EdgeSampler(community_of_second, popularity, mixing, rng)
    keys = np.zeros(0, np.int64)
    ends = np.arange(n_first)
    while len(keys) < n_edges:
        ends = np.concatenate([ends, first.sources(max(n_edges - len(keys) - len(ends), 0))])
        drawn = ends * n_second + second.members(community[ends])
        keys, _ = merge_edges(np.concatenate([keys, drawn]), None, add=False)
        ends = ends[:0]
    # Up to here nodes are numbered by community: shuffle the numbers.
    numbers, numbers_of_second = rng.permutation(n_first), n_first + rng.permutation(n_second)
    graph = Graph.from_edges(numbers[keys // n_second], numbers_of_second[keys % n_second], sides="columns")
    communities_of_nodes = np.empty(n_first + n_second, np.int64)
    communities_of_nodes[np.concatenate([numbers, numbers_of_second])] = [*community, *community_of_second]
    found = communities_of_nodes[graph.nodes]
    labels = Labels.from_indices(graph.nodes, np.arange(communities), np.arange(graph.n_nodes), found)
    return Dataset(graph, labels, "planted-bipartite")


class _EdgeSampler:
    """Draws the endpoints of edges between nodes that are numbered by community."""

    def __init__(
        self, community: NDArray[np.int64], propensity: NDArray[np.float64], mixing: float, rng: np.random.Generator
    ) -> None:
        self._community = community
        self._mixing = mixing
        self._rng = rng
        self._cumulative = np.concatenate([[0.0], np.cumsum(propensity)])
        starts = np.searchsorted(community, np.arange(community[-1] + 2))
        self._bounds = self._cumulative[starts]

    def sources(self, count: int) -> NDArray[np.int64]:
        """Draw nodes with probability proportional to their propensity."""
        return self._nodes_at(self._rng.random(count) * self._cumulative[-1])

    def targets(self, sources: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw for each source a different node: with probability ``mixing`` among all, else in its community."""
        targets = sources.copy()
        loops = np.arange(len(sources))  # positions at which source and target are equal
        while len(loops):
            targets[loops] = self.members(self._community[sources[loops]])
            loops = loops[targets[loops] == sources[loops]]
        return targets

    def members(self, communities: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw a node for each community: with probability ``mixing`` among all nodes, else in the community."""
        drawn = self._rng.random(len(communities))
        low, high = self._bounds[communities], self._bounds[communities + 1]
        mixed = self._rng.random(len(communities)) < self._mixing
        low[mixed], high[mixed] = 0.0, self._cumulative[-1]
        return self._nodes_at(low + drawn * (high - low))

    def _nodes_at(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        found = np.searchsorted(self._cumulative, points, side="right") - 1
        return np.minimum(found, len(self._community) - 1)


def _propensities(n_nodes: int, mean_degree: float, exponent: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw θ by inverse transform sampling, scaled to mean 1 and capped at √(n / mean degree)."""
    theta: NDArray[np.float64] = (1 - rng.random(n_nodes)) ** (-1 / (exponent - 1))
    # The expected number of edges between two nodes with this propensity is 1.
    largest = max(float(np.sqrt(n_nodes / mean_degree)), 1.0)
    return np.asarray(np.minimum(theta / theta.mean(), largest))


def _power_law(n: int, exponent: float, largest: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw propensities from a power law, capped at a multiple of their mean."""
    theta: NDArray[np.float64] = (1 - rng.random(n)) ** (-1 / (exponent - 1))
    return np.asarray(np.minimum(theta / theta.mean(), max(largest, 1.0)))


def _check_and_count_links(
    n_first: int, n_second: int, communities: int, mean_degree: float, mixing: float, exponent: float
) -> int:
    """Return the number of edges of a bipartite graph; raise if the parameters are infeasible."""
    smaller = min(n_first, n_second)
    problems = {
        f"communities must be between 1 and half of the smaller side, {smaller}; got {communities}": not (
            1 <= communities <= smaller // 2
        ),
        f"mixing must be between 0 and 1; got {mixing}": not 0 <= mixing <= 1,
        f"exponent must be above 2, so that the mean degree is finite; got {exponent}": not exponent > 2,  # noqa: PLR2004
        # At half of all pairs within a community, most edges drawn are duplicates.
        f"mean_degree must be at least 1 and below half of the second side's nodes in a community, "
        f"{n_second / max(communities, 1) / 2:g}; got {mean_degree}": not (
            1 <= mean_degree < n_second / max(communities, 1) / 2
        ),
    }
    _raise_first(problems)
    n_edges = round(n_first * mean_degree)
    _check_generator_memory(n_first + n_second, n_edges)
    return n_edges


def _raise_first(problems: dict[str, bool]) -> None:
    """Raise ParameterError for the first problem that is present."""
    for message, failed in problems.items():
        if failed:
            raise ParameterError(message)


def _check_generator_memory(n_nodes: int, n_edges: int) -> None:
    purpose = f"generating a graph with {n_nodes:,} nodes and {n_edges:,} edges"
    check_memory(BYTES_PER_NODE * n_nodes + BYTES_PER_EDGE * n_edges, purpose, "Generate fewer nodes or edges.")


def _check_and_count_edges(n_nodes: int, communities: int, mean_degree: float, mixing: float, exponent: float) -> int:
    """Return the number of edges; raise if the parameters are infeasible."""
    problems = {
        f"communities must be between 1 and half of n_nodes={n_nodes}; got {communities}": not (
            1 <= communities <= n_nodes // 2
        ),
        f"mixing must be between 0 and 1; got {mixing}": not 0 <= mixing <= 1,
        f"exponent must be above 2, so that the mean degree is finite; got {exponent}": not exponent > 2,  # noqa: PLR2004
        # At half of all pairs within a community, most edges drawn are duplicates.
        f"mean_degree must be at least 2 and below half the community size, {n_nodes / max(communities, 1) / 2:g}; "
        f"got {mean_degree}": not 2 <= mean_degree < n_nodes / max(communities, 1) / 2,  # noqa: PLR2004
    }
    _raise_first(problems)
    n_edges = round(n_nodes * mean_degree / 2)
    _check_generator_memory(n_nodes, n_edges)
    return n_edges
