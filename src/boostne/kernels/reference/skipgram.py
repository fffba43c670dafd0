"""Skip-gram with negative sampling in NumPy, pair by pair, with the same random numbers as skipgram.cpp."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from boostne.kernels.reference.splitmix import SplitMix
from boostne.kernels.skipgram import SHARD_PAIRS, SHARDS, Edges, SkipGram

Pair = tuple[int, int]
LOWER_HALF = 2**32


def stream(seed: int, shard: int, block: int) -> SplitMix:
    """Return an independent random stream for a shard and block."""
    return SplitMix(SplitMix(SplitMix(seed + shard).next() + block).next())


def scaled_index(random: int, size: int) -> int:
    """Map the upper 32 bits of a random number to an index below ``size``."""
    return (random >> 32) * size >> 32


def walk_pairs(walks: NDArray[np.int32], window: int, random: SplitMix) -> Iterator[Pair]:
    """Yield the pairs (context, center) of each walk; the window is drawn separately for each center."""
    for walk in walks:
        nodes = [int(node) for node in walk if node >= 0]
        for i, center in enumerate(nodes):
            reach = 1 + scaled_index(random.next(), window)
            for j in range(max(i - reach, 0), min(i + reach + 1, len(nodes))):
                if j != i:
                    yield nodes[j], center


def edge_pairs(edges: Edges, samples: int, random: SplitMix) -> Iterator[Pair]:
    """Yield the end nodes of edges drawn by weight."""
    for _ in range(samples):
        bits = random.next()
        e = scaled_index(bits, len(edges.source))
        if edges.table is not None and bits % LOWER_HALF >= edges.table.threshold[e]:
            e = edges.table.alias[e]
        yield int(edges.source[e]), int(edges.target[e])


def train_walks(
    model: SkipGram, walks: NDArray[np.int32], *, window: int, rates: tuple[float, float], seed: int
) -> None:
    """Train a skip-gram model on walks; each shard consists of several walks."""
    size = max(SHARD_PAIRS * model.noise.n_parts // (walks.shape[1] * (window + 1)), 1)

    def pairs(shard: int, random: SplitMix) -> Iterator[Pair]:
        return walk_pairs(walks[shard * size : (shard + 1) * size], window, random)

    train(model, pairs, -(-len(walks) // size), rates, seed)


def train_edges(model: SkipGram, edges: Edges, samples: int, *, rates: tuple[float, float], seed: int) -> None:
    """Train a skip-gram model on edges; each shard consists of several samples."""
    size = SHARD_PAIRS * model.noise.n_parts

    def pairs(shard: int, random: SplitMix) -> Iterator[Pair]:
        return edge_pairs(edges, min(size, samples - shard * size), random)

    train(model, pairs, -(-samples // size), rates, seed)


def train(
    model: SkipGram,
    pairs: Callable[[int, SplitMix], Iterator[Pair]],
    n_shards: int,
    rates: tuple[float, float],
    seed: int,
) -> None:
    """Train group by group of shards, and block by block within a group: (part of the input, part of the output).

    Round r trains the blocks (i, i ^ r); if inputs and outputs are rows of the same matrix, (i ^ r, i) directly
    follows (i, i ^ r). The blocks of a round have no rows in common, so threads can train them in parallel.
    """
    P = model.noise.n_parts
    shared = model.vectors is model.contexts
    first_rate, last_rate = map(np.float32, rates)
    for first in range(0, n_shards, SHARDS):
        group = range(first, min(first + SHARDS, n_shards))
        drawn = {shard: list(pairs(shard, stream(seed, shard, P * P))) for shard in group}
        for r, i in product(range(P), range(P)):
            j = i ^ r
            blocks = [(i, j)] if not shared or i == j else [(i, j), (j, i)] if i < j else []
            for (a, b), shard in product(blocks, group):
                rate = first_rate + (last_rate - first_rate) * np.float32(shard / n_shards)
                block = [(u, v) for u, v in drawn[shard] if model.noise.part[u] == a and model.noise.part[v] == b]
                train_pairs(model, block, b, rate, stream(seed, shard, a * P + b))


def train_pairs(model: SkipGram, pairs: list[Pair], part: int, rate: np.float32, random: SplitMix) -> None:
    """Take one gradient step on ``-log σ(U_u · V_v) - Σ log σ(-U_u · V_negative)`` for each pair (u, v).

    All scores are computed before any vector is updated. A negative equal to v is ignored.
    """
    U, V, noise = model.vectors, model.contexts, model.noise
    first, size = noise.cuts[part], noise.cuts[part + 1] - noise.cuts[part]
    for u, v in pairs:
        targets = [v]
        for _ in range(model.negative):
            bits = random.next()
            k = first + scaled_index(bits, int(size))
            targets.append(int(noise.node[k] if bits % LOWER_HALF < noise.threshold[k] else noise.alias[k]))
        x = U[u].copy()
        steps = -rate / (1 + np.exp(-np.clip(V[targets] @ x, -80, 80)))
        steps[0] += rate
        steps[1:][np.array(targets[1:]) == v] = 0
        change = np.zeros_like(x)
        for step, target in zip(steps, targets, strict=True):
            change += step * V[target]
            V[target] += step * x
        U[u] += change
