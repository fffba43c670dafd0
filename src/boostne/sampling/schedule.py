"""The order of a training by samples: pieces between which it reports, with falling learning rates."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

PIECES = 50
LAST_SHARE = 0.004  # of the first rate; word2vec falls from 0.025 to 0.0001


@dataclass(frozen=True)
class Step:
    """A piece of the training.

    Attributes
    ----------
    first, count : int
        Its first sample, and their number.
    done : float
        Share of all samples before it.
    rates : tuple of float
        Learning rates at its beginning and its end.
    seed : int
        Seed of what is drawn in it.
    """

    first: int
    count: int
    done: float
    rates: tuple[float, float]
    seed: int


def step(first: int, count: int, total: int, rate: float, seed: int) -> Step:
    """Return one piece of ``total`` samples; the rate falls linearly, from ``rate`` to nearly nothing."""
    done = (first / total, (first + count) / total)
    begin, end = (rate * (1 - (1 - LAST_SHARE) * share) for share in done)
    own_seed = np.random.SeedSequence([seed, first]).generate_state(1, np.uint64)
    return Step(first, count, done[0], (begin, end), int(own_seed[0]))


def schedule(total: int, rate: float, seed: int) -> Iterator[Step]:
    """Cut ``total`` samples into pieces of about the same size.

    >>> [(step.first, step.count) for step in schedule(3, 0.1, seed=0)]
    [(0, 1), (1, 1), (2, 1)]
    """
    pieces = min(total, PIECES)
    cuts = [total * piece // pieces for piece in range(pieces + 1)]
    for piece in range(pieces):
        yield step(cuts[piece], cuts[piece + 1] - cuts[piece], total, rate, seed)
