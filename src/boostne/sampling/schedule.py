"""Chunks of a training run, with a linearly decaying learning rate."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

N_CHUNKS = 100  # between chunks, progress is reported and nodes are assigned to other parts
FINAL_RATE = 0.004  # as a fraction of the initial learning rate; word2vec decays from 0.025 to 0.0001


@dataclass(frozen=True)
class TrainingChunk:
    """Consecutive samples of a training run.

    Attributes
    ----------
    first, n_samples : int
        Index of the first sample, and number of samples.
    done : float
        Fraction of all samples that precede the chunk.
    learning_rates : tuple of float
        Learning rates at the start and at the end of the chunk.
    seed : int
        Seed of the random numbers drawn in the chunk.
    """

    first: int
    n_samples: int
    done: float
    learning_rates: tuple[float, float]
    seed: int

    @classmethod
    def of(cls, first: int, n_samples: int, total: int, learning_rate: float, seed: int) -> Self:
        """Return the chunk of ``n_samples`` out of ``total`` that starts at ``first``."""
        done = (first / total, (first + n_samples) / total)
        start, end = (learning_rate * (1 - (1 - FINAL_RATE) * fraction) for fraction in done)
        chunk_seed = np.random.SeedSequence([seed, first]).generate_state(1, np.uint64)
        return cls(first, n_samples, done[0], (start, end), int(chunk_seed[0]))


def training_chunks(total: int, learning_rate: float, seed: int) -> Iterator[TrainingChunk]:
    """Split ``total`` samples into chunks of nearly equal size.

    >>> [(chunk.first, chunk.n_samples) for chunk in training_chunks(3, 0.1, seed=0)]
    [(0, 1), (1, 1), (2, 1)]
    """
    n_chunks = min(total, N_CHUNKS)
    bounds = [total * i // n_chunks for i in range(n_chunks + 1)]
    for first, end in pairwise(bounds):
        yield TrainingChunk.of(first, end - first, total, learning_rate, seed)
