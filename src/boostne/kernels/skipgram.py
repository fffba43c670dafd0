"""What skip-gram's kernels work on: two matrices of vectors, the parts of the nodes, and tables to draw from."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.kernels.native.bindings import aligned_empty

PADDING = 16  # float32 numbers in a cache line: kTile of row_kernels.h
NODES_PER_PART = 256
MAX_PARTS = 32
SHARD_PAIRS = 256  # kShardPairs and kShards of skipgram.cpp
SHARDS = 64
MIN_GROUPS = 64
NOISE_POWER = 0.75
FULL = 2**32  # thresholds are compared with 32 random bits


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Draws item i as often as its weight says, with one random number: Walker's method.

    A place k is drawn uniformly; the item is k itself where 32 further bits are below ``threshold[k]``, and
    ``alias[k]`` otherwise.
    """

    threshold: NDArray[np.uint32]
    alias: NDArray[np.int32]

    @classmethod
    def of(cls, weights: NDArray[Any]) -> "AliasTable":
        """Make the table, without a loop.

        The items below the mean weight are served by those above it, both in their order. With D and E the
        running sums of what the ones lack and the others can spare, an item that lacks is served by the first
        whose E exceeds the D before it; one that has given more than it could spare is served by the next.
        """
        share = np.asarray(weights, np.float64) * (len(weights) / np.sum(weights, dtype=np.float64))
        rich = share >= min(1.0, share.max())  # one at least, when rounding leaves all below the mean
        givers, takers = np.flatnonzero(rich), np.flatnonzero(~rich)
        spare, lack = np.cumsum(share[givers] - 1), np.cumsum(1 - share[takers])
        alias = np.arange(len(share), dtype=np.int32)
        keep = np.ones(len(share))
        before = np.concatenate([[0.0], lack[:-1]])[: len(takers)]
        server = np.minimum(np.searchsorted(spare, before, side="right"), len(givers) - 1)
        keep[takers] = share[takers]
        alias[takers] = givers[server]
        over = np.searchsorted(lack, spare[:-1], side="left")
        drained = np.flatnonzero(over < len(takers))  # rounding apart, all but the last
        keep[givers[drained]] = 1 - (lack[over[drained]] - spare[drained])
        alias[givers[drained]] = givers[drained + 1]
        threshold = np.clip(keep * FULL, 0, FULL - 1).astype(np.uint32)
        threshold[alias == np.arange(len(share))] = FULL - 1
        return cls(threshold, alias)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges to draw pairs from; ``table`` is None where all weights are equal."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    table: AliasTable | None


@dataclass(frozen=True, eq=False)
class Noise:
    """Where negatives come from: the nodes in parts, and an alias table over each part.

    Attributes
    ----------
    part : int32 array
        Part of each node.
    cuts, node, threshold, alias : arrays
        From ``cuts[p]`` on, the nodes of part p with their thresholds and aliases, which are nodes too.
    """

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
    def of(cls, frequencies: NDArray[Any], n_parts: int) -> "Noise":
        """Deal the nodes to the parts, the frequent ones first; they are drawn by their frequencies' power 3/4."""
        weights = np.asarray(frequencies, np.float64) ** NOISE_POWER
        part = np.empty(len(weights), np.int32)
        part[np.argsort(-weights, kind="stable")] = np.arange(len(weights)) % n_parts
        node = np.argsort(part, kind="stable").astype(np.int32)
        cuts = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=n_parts))])
        threshold, alias = np.empty(len(weights), np.uint32), np.empty(len(weights), np.int32)
        for first, last in pairwise(cuts):
            members = node[first:last]
            # A part that no edge leads to is never asked, but must have a table.
            table = AliasTable.of(weights[members] if weights[members].any() else np.ones(len(members)))
            threshold[first:last], alias[first:last] = table.threshold, members[table.alias]
        return cls(part, cuts, node, threshold, alias)


@dataclass(frozen=True, eq=False)
class SkipGram:
    """A model under training.

    Attributes
    ----------
    vectors, contexts : float32 arrays of n rows
        U and V, padded with columns of zeros. They may be the same array.
    noise : Noise
        Where negatives come from.
    negative : int
        Negatives drawn for each pair.
    """

    vectors: NDArray[np.float32]
    contexts: NDArray[np.float32]
    noise: Noise
    negative: int

    @classmethod
    def start(
        cls, noise: Noise, dimensions: int, *, negative: int, shared: bool = False, seed: int
    ) -> "SkipGram":
        """Make a model as gensim starts it: random numbers between -1/d and 1/d as vectors, and contexts of zero.

        Parameters
        ----------
        noise : Noise
            Where negatives come from.
        dimensions : int
            d, the length of a vector.
        negative : int
            Negatives drawn for each pair.
        shared : bool
            Whether the contexts are the vectors themselves.
        seed : int
            Seed of the start.
        """
        n = len(noise.part)
        width = -(-dimensions // PADDING) * PADDING
        vectors = aligned_empty((n, width), np.float32)
        vectors[:] = 0
        start = np.random.default_rng(seed).random((n, dimensions), np.float32)
        vectors[:, :dimensions] = (2 * start - 1) / np.float32(dimensions)
        contexts = vectors
        if not shared:
            contexts = aligned_empty((n, width), np.float32)
            contexts[:] = 0
        return cls(vectors, contexts, noise, negative)


def number_of_parts(n: int, pairs: int) -> int:
    """Return into how many parts to cut n nodes for a training on some pairs: a power of two.

    Parts must not be small, for negatives come from one at a time, nor the pairs that are held and sorted by part
    (a group) a large share of all.
    """
    group = SHARDS * SHARD_PAIRS  # pairs of a group, for each part
    most = min(n // NODES_PER_PART, pairs // (MIN_GROUPS * group), MAX_PARTS)
    return 1 << (max(most, 1).bit_length() - 1)
