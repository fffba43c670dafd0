"""The order of a training by samples: pieces between which it reports, with falling learning rates."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

PIECES = 50
LAST_SHARE = 0.004  # of the first rate; word2vec falls from 0.025 to 0.0001


@dataclass(frozen=True)
class Step:
    """A piece of the training: its first sample, their number, the share done before, and what kernels take."""

    first: int
    count: int
    done: float
    rates: tuple[float, float]
    seed: int


def schedule(total: int, rate: float, seed: int) -> Iterator[Step]:
    """Cut ``total`` samples into pieces; the rate falls linearly from ``rate``, and every piece has a seed.

    >>> [(step.first, step.count) for step in schedule(3, 0.1, seed=0)]
    [(0, 1), (1, 1), (2, 1)]
    """
    pieces = min(total, PIECES)
    cuts = [total * piece // pieces for piece in range(pieces + 1)]
    rates = [rate * (1 - (1 - LAST_SHARE) * cut / total) for cut in cuts]
    seeds = np.random.SeedSequence([seed, 1]).generate_state(pieces, np.uint64).tolist()
    for p in range(pieces):
        first, end = cuts[p], cuts[p + 1]
        yield Step(first, end - first, first / total, (rates[p], rates[p + 1]), seeds[p])
