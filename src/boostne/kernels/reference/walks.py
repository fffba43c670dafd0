"""Random walks in plain Python; ``native/walks.cpp`` draws the same random numbers and generates the same walks."""

from dataclasses import dataclass

import numpy as np

from boostne.kernels.contract import DoubleArray, IndexArray
from boostne.kernels.csr_graph import WalkGraph
from boostne.kernels.reference.splitmix import GOLDEN, WORD, SplitMix, mix

MAX_REJECTIONS = 32  # kMaxRejections in walks.cpp


class WalkRandom(SplitMix):
    """Random numbers of one walk, determined by the seed and the number of the walk."""

    def __init__(self, seed: int, walk: int) -> None:
        super().__init__(mix(mix(seed & WORD) + GOLDEN * walk & WORD))

    def below(self, n: int) -> int:
        """Return an integer from 0 to ``n - 1``."""
        return self.next() * n >> 64

    def uniform(self) -> float:
        """Return a float in [0, 1)."""
        return (self.next() >> 11) * 2.0**-53


@dataclass(frozen=True)
class Walker:
    """Generates walks on a graph with node2vec's parameters p and q."""

    graph: WalkGraph
    p: float
    q: float

    def walk(self, start: int, length: int, random: WalkRandom) -> list[int]:
        """Return the nodes of a walk, padded with -1."""
        nodes = [start]
        while len(nodes) < length and len(self._row(nodes[-1])):
            if len(nodes) == 1 or self.p == self.q == 1:
                nodes.append(self._first_order(nodes[-1], random))
            else:
                nodes.append(self._second_order(nodes[-2], nodes[-1], random))
        return nodes + [-1] * (length - len(nodes))

    def bias(self, t: int, x: int) -> float:
        """Return the factor of the weight of a step to ``x`` if the walk was at ``t`` one step earlier."""
        if x == t:
            return 1 / self.p
        return 1.0 if x in self._row(t) else 1 / self.q

    def _row(self, v: int) -> IndexArray:
        return self.graph.indices[self.graph.indptr[v] : self.graph.indptr[v + 1]]

    def _sums(self, v: int) -> DoubleArray:
        if self.graph.cumulative is None:
            return np.arange(1.0, len(self._row(v)) + 1)
        return self.graph.cumulative[self.graph.indptr[v] : self.graph.indptr[v + 1]]

    def _first_order(self, v: int, random: WalkRandom) -> int:
        row = self._row(v)
        if self.graph.cumulative is None:
            return int(row[random.below(len(row))])
        return _draw(row, self._sums(v), random)

    def _second_order(self, t: int, v: int, random: WalkRandom) -> int:
        """Rejection sampling: candidates from the first-order walk are accepted in proportion to their bias.

        The bias of a candidate is at most ``cap``. If the return to ``t`` has a larger bias, the excess is sampled
        separately.
        """
        cap = max(1.0, 1 / self.q)
        excess = max(1 / self.p - cap, 0.0)
        weights = np.diff(self._sums(v), prepend=0.0)
        return_mass = float(weights[self._row(v) == t].sum()) * excess
        total = return_mass + float(self._sums(v)[-1]) * cap
        for _ in range(MAX_REJECTIONS):
            if return_mass > 0 and random.uniform() * total < return_mass:
                return t
            x = self._first_order(v, random)
            if random.uniform() * cap < self.bias(t, x):
                return x
        row = self._row(v)
        return _draw(row, np.cumsum(weights * [self.bias(t, x) for x in row]), random)


def _draw(row: IndexArray, sums: DoubleArray, random: WalkRandom) -> int:
    """Draw an entry of ``row``, given the cumulative sums of its weights."""
    i = np.searchsorted(sums, random.uniform() * sums[-1], side="right")
    return int(row[min(i, len(row) - 1)])


def random_walks(
    graph: WalkGraph, starts: IndexArray, length: int, *, p: float, q: float, seed: int, first: int
) -> IndexArray:
    """Generate random walks."""
    walker = Walker(graph, p, q)
    walks = np.empty((len(starts), length), np.int32)
    for i, start in enumerate(starts):
        walks[i] = walker.walk(int(start), length, WalkRandom(seed, first + i))
    return walks
