"""Data structures of skip-gram training: the model, the partition of the nodes, and sampling tables."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.kernels.layout import aligned_empty, round_up, tile_width

NODES_PER_PART = 256
MAX_PARTS = 32
SHARD_PAIRS = 256  # pairs per shard and part: kShardPairs in skipgram.cpp
SHARDS = 64  # shards per group: kShards in skipgram.cpp
MIN_GROUPS = 64
NOISE_POWER = 0.75
THRESHOLD_RANGE = 2**32  # thresholds are compared with 32 random bits


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Walker's alias method: draws an item in proportion to its weight, from one random number.

    A slot k is drawn uniformly. The item is k if 32 further random bits are below ``threshold[k]``, and ``alias[k]``
    otherwise.
    """

    threshold: NDArray[np.uint32]
    alias: NDArray[np.int32]

    @classmethod
    def of(cls, weights: NDArray[Any]) -> "AliasTable":
        """Build the table without a Python loop.

        Items below the mean weight (takers) are filled up by items above it (givers), both in order. Let D and E be
        the cumulative deficits and surpluses. A taker is served by the first giver whose E exceeds the D before the
        taker; a giver that has given away more than its surplus is in turn served by the next giver.
        """
        relative = np.asarray(weights, np.float64) * (len(weights) / np.sum(weights, dtype=np.float64))
        rich = relative >= min(1.0, relative.max())  # at least one, even if rounding leaves all below the mean
        givers, takers = np.flatnonzero(rich), np.flatnonzero(~rich)
        surplus, deficit = np.cumsum(relative[givers] - 1), np.cumsum(1 - relative[takers])
        alias = np.arange(len(relative), dtype=np.int32)
        keep = np.ones(len(relative))
        before = np.concatenate([[0.0], deficit[:-1]])[: len(takers)]
        server = np.minimum(np.searchsorted(surplus, before, side="right"), len(givers) - 1)
        keep[takers] = relative[takers]
        alias[takers] = givers[server]
        exhausting = np.searchsorted(deficit, surplus[:-1], side="left")
        drained = np.flatnonzero(exhausting < len(takers))  # up to rounding, all but the last
        keep[givers[drained]] = 1 - (deficit[exhausting[drained]] - surplus[drained])
        alias[givers[drained]] = givers[drained + 1]
        threshold = np.clip(keep * THRESHOLD_RANGE, 0, THRESHOLD_RANGE - 1).astype(np.uint32)
        threshold[alias == np.arange(len(relative))] = THRESHOLD_RANGE - 1
        return cls(threshold, alias)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges to sample pairs from; ``table`` is None if all weights are equal."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    table: AliasTable | None


@dataclass(frozen=True, eq=False)
class Noise:
    """Distribution of negative samples: a random partition of the nodes, with an alias table for each part.

    Since the negative samples of a pair come from the part of its output, a node is compared only with the parts that
    its neighbors are in. A fixed partition would therefore bias the vectors, most of all those of nodes with few
    neighbors; over many random partitions, nodes are drawn as often as without parts.

    Attributes
    ----------
    frequencies : array
        Frequency of each node; nodes are drawn by its power of 3/4.
    part : int32 array
        Part of each node.
    cuts, node, threshold, alias : arrays
        The range ``cuts[p]`` to ``cuts[p + 1]`` of the others holds the nodes of part p, their thresholds and their
        aliases, which are also nodes.
    """

    frequencies: NDArray[Any]
    part: NDArray[np.int32]
    cuts: NDArray[np.int64]
    node: NDArray[np.int32]
    threshold: NDArray[np.uint32]
    alias: NDArray[np.int32]

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.cuts) - 1

    @classmethod
    def of(cls, frequencies: NDArray[Any], n_parts: int, *, seed: int) -> "Noise":
        """Partition the nodes at random; of ``n_parts`` nodes of consecutive frequency, each goes to another part."""
        weights = np.asarray(frequencies, np.float64) ** NOISE_POWER
        part = np.empty(len(weights), np.int32)
        shuffled = np.tile(np.arange(n_parts, dtype=np.int32), (-(-len(weights) // n_parts), 1))
        np.random.default_rng(seed).permuted(shuffled, axis=1, out=shuffled)
        part[np.argsort(-weights, kind="stable")] = shuffled.ravel()[: len(weights)]
        node = np.argsort(part.astype(np.int8), kind="stable").astype(np.int32)  # radix sort
        cuts = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=n_parts))])
        threshold, alias = np.empty(len(weights), np.uint32), np.empty(len(weights), np.int32)
        for first, last in pairwise(cuts):
            members = node[first:last]
            # A part without incoming edges is never sampled but needs a table.
            table = AliasTable.of(weights[members] if weights[members].any() else np.ones(len(members)))
            threshold[first:last], alias[first:last] = table.threshold, members[table.alias]
        return cls(frequencies, part, cuts, node, threshold, alias)


@dataclass(frozen=True, eq=False)
class SkipGram:
    """A skip-gram model.

    Attributes
    ----------
    vectors, contexts : float32 arrays of n rows
        U and V, padded with zero columns. They may be the same array.
    noise : Noise
        Distribution of negative samples.
    negative : int
        Number of negative samples per pair.
    """

    vectors: NDArray[np.float32]
    contexts: NDArray[np.float32]
    noise: Noise
    negative: int

    @classmethod
    def start(cls, noise: Noise, dimensions: int, *, negative: int, shared: bool = False, seed: int) -> "SkipGram":
        """Initialize a model like gensim: vectors uniform in [-1/d, 1/d), contexts zero.

        Parameters
        ----------
        noise : Noise
            Distribution of negative samples.
        dimensions : int
            d, the length of a vector.
        negative : int
            Number of negative samples per pair.
        shared : bool
            Whether vectors and contexts are the same matrix.
        seed : int
            Seed of the initial vectors.
        """
        n = len(noise.part)
        width = round_up(dimensions, tile_width(np.float32))
        vectors = aligned_empty((n, width), np.float32)
        vectors[:] = 0
        start = np.random.default_rng(seed).random((n, dimensions), np.float32)
        vectors[:, :dimensions] = (2 * start - 1) / np.float32(dimensions)
        contexts = vectors
        if not shared:
            contexts = aligned_empty((n, width), np.float32)
            contexts[:] = 0
        return cls(vectors, contexts, noise, negative)

    def repartitioned(self, seed: int) -> "SkipGram":
        """Return a model that shares the vectors of this one, with another random partition of the nodes."""
        noise = Noise.of(self.noise.frequencies, self.noise.n_parts, seed=seed)
        return replace(self, noise=noise)


def number_of_parts(n: int, pairs: int) -> int:
    """Return the number of parts, a power of two, for training on ``pairs`` pairs of n nodes.

    Parts must not be small, because the negative samples of a pair come from a single part. Groups, whose pairs are
    held in memory and sorted by part, must be a small fraction of all pairs.
    """
    group = SHARDS * SHARD_PAIRS  # pairs per group and part
    limit = min(n // NODES_PER_PART, pairs // (MIN_GROUPS * group), MAX_PARTS)
    return 1 << (max(limit, 1).bit_length() - 1)
