"""The order in which sums over shards are added: a binary tree over the shards' numbers.

Shards 0 and 1 are added, 2 and 3, then both sums, and so on. A node of the tree depends on its own shards alone,
so that it is the same number, bit for bit, wherever it was summed: by one thread, by several, or by workers that
each hold some of the shards.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Part:
    """Sum over the shards ``index * 2**level`` to ``(index + 1) * 2**level - 1``: one node of the tree."""

    level: int
    index: int
    sum: NDArray[Any]


def tree_nodes(first: int, count: int) -> list[tuple[int, int]]:
    """Level and index of the largest nodes that a run of shards fills, in the order of the shards.

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


def most_nodes(first: int, count: int) -> int:
    """Nodes that are waiting to be added at any time while a run of shards is summed in order."""
    return max(len(tree_nodes(first, done)) for done in range(count + 1))


def join(left: list[Part], right: list[Part]) -> list[Part]:
    """Add what can be added of two neighboring runs of shards; neither is changed."""
    parts: list[Part] = []
    for part in [*left, *right]:
        node = part
        while node.index % 2 and parts and (parts[-1].level, parts[-1].index) == (node.level, node.index - 1):
            node = Part(node.level + 1, node.index // 2, parts.pop().sum + node.sum)
        parts.append(node)
    return parts


def total(parts: list[Part]) -> NDArray[Any]:
    """Return the sum over all shards of the matrix; where their number is no power of two, from the right."""
    *others, last = parts
    result = last.sum
    for part in reversed(others):
        result = part.sum + result
    return result


def total_in_order(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of one small array for each shard, added in their order."""
    result: NDArray[np.float64] = np.zeros(terms.shape[1:])
    for term in terms:
        result += term
    return result
