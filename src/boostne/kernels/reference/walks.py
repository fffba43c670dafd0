"""Random walks in plain Python: the same numbers, and so the same walks, as ``native/walks.cpp``."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostne.kernels.reference.splitmix import GOLDEN, WORD, SplitMix, mix

TRIES = 32  # kTries of walks.cpp


class Random(SplitMix):
    """Random numbers of a walk, which depend on the seed and on the number of the walk."""

    def __init__(self, seed: int, walk: int) -> None:
        super().__init__(mix(mix(seed & WORD) + GOLDEN * walk & WORD))

    def below(self, n: int) -> int:
        """Return an integer below ``n``."""
        return self.next() * n >> 64

    def uniform(self) -> float:
        """Return a number of at least 0 and below 1."""
        return (self.next() >> 11) * 2.0**-53


@dataclass(frozen=True)
class Walks:
    """Walks on a graph, with node2vec's p and q; the arrays are those of :meth:`ReferenceKernels.random_walks`."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    cumulative: NDArray[np.float64] | None
    p: float
    q: float

    def walk(self, start: int, length: int, random: Random) -> list[int]:
        """Return the nodes of a walk; -1 stands for the steps after a node without a way out."""
        nodes = [start]
        while len(nodes) < length and len(self._row(nodes[-1])):
            if len(nodes) == 1 or self.p == self.q == 1:
                nodes.append(self._first_order(nodes[-1], random))
            else:
                nodes.append(self._second_order(nodes[-2], nodes[-1], random))
        return nodes + [-1] * (length - len(nodes))

    def bias(self, t: int, x: int) -> float:
        """Return what a step from ``t`` over a node between to ``x`` is multiplied by."""
        if x == t:
            return 1 / self.p
        return 1.0 if x in self._row(t) else 1 / self.q

    def _row(self, v: int) -> NDArray[np.int32]:
        return self.indices[self.indptr[v] : self.indptr[v + 1]]

    def _sums(self, v: int) -> NDArray[np.float64]:
        if self.cumulative is None:
            return np.arange(1.0, len(self._row(v)) + 1)
        return self.cumulative[self.indptr[v] : self.indptr[v + 1]]

    def _first_order(self, v: int, random: Random) -> int:
        row = self._row(v)
        if self.cumulative is None:
            return int(row[random.below(len(row))])
        sums = self._sums(v)
        place = np.searchsorted(sums, random.uniform() * sums[-1], side="right")
        return int(row[min(place, len(row) - 1)])

    def _second_order(self, t: int, v: int, random: Random) -> int:
        """Draw candidates from the first order and keep one in proportion to its bias.

        The candidates' bias is at most ``cap``; what the way back to ``t`` has above it is drawn apart.
        """
        cap = max(1.0, 1 / self.q)
        extra = max(1 / self.p - cap, 0.0)
        weights = np.diff(self._sums(v), prepend=0.0)
        apart = float(weights[self._row(v) == t].sum()) * extra
        everything = apart + float(self._sums(v)[-1]) * cap
        for _ in range(TRIES):
            if apart > 0 and random.uniform() * everything < apart:
                return t
            x = self._first_order(v, random)
            if random.uniform() * cap < self.bias(t, x):
                return x
        return self._written_out(t, v, weights, random)

    def _written_out(self, t: int, v: int, weights: NDArray[np.float64], random: Random) -> int:
        row = self._row(v)
        sums = np.cumsum(weights * [self.bias(t, x) for x in row])
        place = np.searchsorted(sums, random.uniform() * sums[-1], side="right")
        return int(row[min(place, len(row) - 1)])
