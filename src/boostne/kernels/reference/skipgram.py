"""Skip-gram with negative sampling in NumPy, one pair after the other, with the random numbers of skipgram.cpp."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from boostne.kernels.reference.splitmix import SplitMix
from boostne.kernels.skipgram import SHARD_PAIRS, SHARDS, Edges, SkipGram

Pair = tuple[int, int]
HALF = 2**32


def stream(seed: int, shard: int, block: int) -> SplitMix:
    """Random numbers of their own for every shard and block."""
    return SplitMix(SplitMix(SplitMix(seed + shard).next() + block).next())


def place_of(random: int, size: int) -> int:
    """Return a number below ``size``, from the high half of a random number."""
    return (random >> 32) * size >> 32


def walk_pairs(walks: NDArray[np.int32], window: int, random: SplitMix) -> Iterator[Pair]:
    """Give the pairs of nodes that are near each other on a walk; for every center the window is drawn anew."""
    for walk in walks:
        nodes = [int(node) for node in walk if node >= 0]
        for i, center in enumerate(nodes):
            reach = 1 + place_of(random.next(), window)
            for j in range(max(i - reach, 0), min(i + reach + 1, len(nodes))):
                if j != i:
                    yield nodes[j], center


def edge_pairs(edges: Edges, samples: int, random: SplitMix) -> Iterator[Pair]:
    """Give the ends of edges drawn by their weights."""
    for _ in range(samples):
        bits = random.next()
        e = place_of(bits, len(edges.source))
        if edges.table is not None and bits % HALF >= edges.table.threshold[e]:
            e = edges.table.alias[e]
        yield int(edges.source[e]), int(edges.target[e])


def train_walks(
    model: SkipGram, walks: NDArray[np.int32], *, window: int, rates: tuple[float, float], seed: int
) -> None:
    """Train on the pairs of walks, some walks a shard."""
    size = max(SHARD_PAIRS * model.noise.n_parts // (walks.shape[1] * (window + 1)), 1)

    def pairs(shard: int, random: SplitMix) -> Iterator[Pair]:
        return walk_pairs(walks[shard * size : (shard + 1) * size], window, random)

    train(model, pairs, -(-len(walks) // size), rates, seed)


def train_edges(
    model: SkipGram, edges: Edges, samples: int, *, rates: tuple[float, float], seed: int
) -> None:
    """Train on drawn edges, some of them a shard."""
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
    """Take the shards in groups, and the pairs of a group block by block: (part of the input, part of the output).

    In round r come the blocks (i, i ^ r); where inputs and outputs are rows of the same matrix, (i ^ r, i) comes
    right after (i, i ^ r). No two of a round's blocks have a row in common, so that threads may share them out.
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
                block = [
                    (u, v) for u, v in drawn[shard] if model.noise.part[u] == a and model.noise.part[v] == b
                ]
                train_pairs(model, block, b, rate, stream(seed, shard, a * P + b))


def train_pairs(model: SkipGram, pairs: list[Pair], part: int, rate: np.float32, random: SplitMix) -> None:
    """One step of gradient descent for each pair (u, v) on ``-log σ(U_u · V_v) - Σ log σ(-U_u · V_negative)``.

    All scores are taken before anything moves. A negative that is v itself does not count.
    """
    U, V, noise = model.vectors, model.contexts, model.noise
    first, size = noise.cuts[part], noise.cuts[part + 1] - noise.cuts[part]
    for u, v in pairs:
        targets = [v]
        for _ in range(model.negative):
            bits = random.next()
            k = first + place_of(bits, int(size))
            targets.append(int(noise.node[k] if bits % HALF < noise.threshold[k] else noise.alias[k]))
        x = U[u].copy()
        steps = -rate / (1 + np.exp(-np.clip(V[targets] @ x, -80, 80)))
        steps[0] += rate
        steps[1:][np.array(targets[1:]) == v] = 0
        change = np.zeros_like(x)
        for step, target in zip(steps, targets, strict=True):
            change += step * V[target]
            V[target] += step * x
        U[u] += change
