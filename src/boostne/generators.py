"""Random graphs whose answer is known, of any size."""

import numpy as np
from numpy.typing import NDArray

from boostne.datasets import Dataset
from boostne.edges import merge_edges
from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.labels import Labels


def planted_partition(
    n_nodes: int,
    *,
    communities: int = 50,
    mean_degree: float = 10.0,
    mixing: float = 0.3,
    exponent: float = 2.5,
    seed: int = 0,
) -> Dataset:
    """Draw a graph with communities and hubs: the degree-corrected planted partition.

    Every node has a propensity ``θ``, drawn from a power law, and a community. An edge starts at a node drawn in
    proportion to θ and ends, with probability ``mixing``, at any node, otherwise at one of the same community, again
    in proportion to θ. One edge starts at each node, so that none is isolated; loops and repeated edges are drawn
    anew, so that the mean degree is met exactly.

    Parameters
    ----------
    n_nodes : int
        Nodes, with the ids 0, 1, …
    communities : int, default=50
        Communities, of nearly equal size; the label of a node is the number of its community.
    mean_degree : float, default=10.0
        Twice the edges over the nodes; at least 2.
    mixing : float, default=0.3
        Share of the edges that ignore the communities.
    exponent : float, default=2.5
        γ of the law ``p(θ) ~ θ^-γ``, above 2; a large one makes all degrees alike. θ is cut off where two hubs
        would be joined more than once.
    seed : int, default=0
        The same seed gives the same graph.

    Returns
    -------
    Dataset
        The graph, undirected and unweighted, and the labels of its nodes.

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
    n_edges = _checked_edges(n_nodes, communities, mean_degree, mixing, exponent)
    rng = np.random.default_rng(seed)
    community = np.sort(rng.permutation(n_nodes) % communities)
    ends = _Ends(community, _propensities(n_nodes, mean_degree, exponent, rng), mixing, rng)
    keys = np.zeros(0, np.int64)
    sources = np.arange(n_nodes)
    while len(keys) < n_edges:
        sources = np.concatenate([sources, ends.anywhere(max(n_edges - len(keys) - len(sources), 0))])
        targets = ends.partners(sources)
        drawn = np.minimum(sources, targets) * n_nodes + np.maximum(sources, targets)
        keys, _ = merge_edges(np.concatenate([keys, drawn]), None, add=False)
        sources = sources[:0]
    # Nodes are numbered by community until here; shuffled, their numbers tell nothing.
    place = rng.permutation(n_nodes)
    graph = Graph.from_indices(np.arange(n_nodes), place[keys // n_nodes], place[keys % n_nodes])
    labels = Labels.from_indices(np.arange(n_nodes), np.arange(communities), place, community)
    return Dataset(graph, labels, "planted-partition")


class _Ends:
    """Draws the ends of edges; nodes are numbered so that a community is a range of them."""

    def __init__(
        self,
        community: NDArray[np.int64],
        propensity: NDArray[np.float64],
        mixing: float,
        rng: np.random.Generator,
    ) -> None:
        self._community = community
        self._mixing = mixing
        self._rng = rng
        self._total = np.concatenate([[0.0], np.cumsum(propensity)])
        starts = np.searchsorted(community, np.arange(community[-1] + 2))
        self._bounds = self._total[starts]

    def anywhere(self, count: int) -> NDArray[np.int64]:
        """Nodes in proportion to their propensity."""
        return self._locate(self._rng.random(count) * self._total[-1])

    def partners(self, sources: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each source another node: of its community, or, with probability ``mixing``, any."""
        targets = sources.copy()
        own = np.arange(len(sources))  # those that still are their own partner
        while len(own):
            drawn = self._rng.random(len(own))
            of = self._community[sources[own]]
            low, high = self._bounds[of], self._bounds[of + 1]
            mixed = self._rng.random(len(own)) < self._mixing
            low[mixed], high[mixed] = 0.0, self._total[-1]
            targets[own] = self._locate(low + drawn * (high - low))
            own = own[targets[own] == sources[own]]
        return targets

    def _locate(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        found = np.searchsorted(self._total, points, side="right") - 1
        return np.minimum(found, len(self._community) - 1)


def _propensities(
    n_nodes: int, mean_degree: float, exponent: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw θ by inverting its distribution function, scaled to a mean of 1 and cut off at √(n / mean degree)."""
    theta: NDArray[np.float64] = (1 - rng.random(n_nodes)) ** (-1 / (exponent - 1))
    # Two nodes with this degree expect one edge between them.
    largest = max(float(np.sqrt(n_nodes / mean_degree)), 1.0)
    return np.asarray(np.minimum(theta / theta.mean(), largest))


def _checked_edges(n_nodes: int, communities: int, mean_degree: float, mixing: float, exponent: float) -> int:
    """Return the number of edges, or raise for parameters that no graph can meet."""
    problems = {
        f"communities must be between 1 and half of n_nodes={n_nodes}; got {communities}": not (
            1 <= communities <= n_nodes // 2
        ),
        f"mixing must be between 0 and 1; got {mixing}": not 0 <= mixing <= 1,
        f"exponent must be above 2, where the mean degree is finite; got {exponent}": not exponent > 2,  # noqa: PLR2004
        # Half of all pairs within a community: beyond that hardly anything but repeated edges is drawn.
        f"mean_degree must be at least 2 and below half a community, {n_nodes / max(communities, 1) / 2:g}; "
        f"got {mean_degree}": not 2 <= mean_degree < n_nodes / max(communities, 1) / 2,  # noqa: PLR2004
    }
    for message, wrong in problems.items():
        if wrong:
            raise ParameterError(message)
    return round(n_nodes * mean_degree / 2)
