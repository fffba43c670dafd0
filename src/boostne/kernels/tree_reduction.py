"""Summation of shard results as a binary tree over the shard numbers.

Shards 0 and 1 are added, shards 2 and 3, then both sums, and so on. A node of the tree depends on its own shards only.
Its sum is therefore the same, bit for bit, whether one thread, several threads or several workers computed it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PartialSum:
    """One node of the tree: the sum over shards ``index * 2**level`` to ``(index + 1) * 2**level - 1``."""

    level: int
    index: int
    sum: NDArray[Any]


def tree_nodes(first: int, count: int) -> list[tuple[int, int]]:
    """Return level and index of the largest complete nodes over a range of shards, in shard order.

    >>> tree_nodes(0, 16), tree_nodes(3, 5)
    ([(4, 0)], [(0, 3), (2, 1)])
    """
    nodes: list[tuple[int, int]] = []
    for shard in range(first, first + count):
        level, index = 0, shard
        while index % 2 and nodes and nodes[-1] == (level, index - 1):
            nodes.pop()
            level, index = level + 1, index // 2
        nodes.append((level, index))
    return nodes


def max_pending_nodes(first: int, count: int) -> int:
    """Return the maximum number of incomplete nodes held while a range of shards is summed in order."""
    return max(len(tree_nodes(first, done)) for done in range(count + 1))


def merge_partials(left: list[PartialSum], right: list[PartialSum]) -> list[PartialSum]:
    """Merge the partial sums of two adjacent ranges of shards; the inputs are not modified."""
    merged: list[PartialSum] = []
    for partial in [*left, *right]:
        node = partial
        while node.index % 2 and merged and (merged[-1].level, merged[-1].index) == (node.level, node.index - 1):
            node = PartialSum(node.level + 1, node.index // 2, merged.pop().sum + node.sum)
        merged.append(node)
    return merged


def tree_sum(partials: list[PartialSum]) -> NDArray[Any]:
    """Return the sum over all shards; incomplete subtrees are added from right to left."""
    *others, last = partials
    result = last.sum
    for partial in reversed(others):
        result = partial.sum + result
    return result


def sequential_sum(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over the first axis (one small array per shard), added in order."""
    result: NDArray[np.float64] = np.zeros(terms.shape[1:])
    for term in terms:
        result += term
    return result
