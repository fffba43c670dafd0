"""Graphs as plain dictionaries: what a file contains, computed without the library."""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_CANONICAL_INTEGER = re.compile(r"-?[1-9][0-9]*|0")
_WHOLE_FLOAT = re.compile(r"(-?[1-9][0-9]{0,14}|0)(\.0+)?")


class ExpectedGraph(NamedTuple):
    """Node ids in order, and the weight of each edge by the positions of its ends."""

    nodes: list[Any]
    edges: dict[tuple[int, int], float]
    directed: bool


def expected_graph(
    edges: Sequence[tuple[Any, Any, float]],
    nodes: Sequence[Any] | None = None,
    *,
    directed: bool = False,
    duplicates: str = "once",
    self_loops: str = "drop",
) -> ExpectedGraph:
    """Return the graph with the given edges, as documented for ``read_graph``; ids are sorted unless given."""
    ids = sorted({end for edge in edges for end in edge[:2]}) if nodes is None else list(nodes)
    position = {node: i for i, node in enumerate(ids)}
    weights: dict[tuple[int, int], list[float]] = {}
    for source, target, weight in edges:
        i, j = position[source], position[target]
        if i != j or self_loops == "keep":
            weights.setdefault((i, j) if directed else (min(i, j), max(i, j)), []).append(weight)
    merge = math.fsum if duplicates == "sum" else max
    merged = {ends: merge(values) for ends, values in weights.items()}
    return ExpectedGraph(ids, {ends: weight for ends, weight in merged.items() if weight > 0}, directed)


def merging_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return those options of ``read_graph`` that determine the graph of given edges."""
    given = {name: options[name] for name in ("duplicates", "self_loops") if name in options}
    return given | {"directed": bool(options.get("directed"))}


def mirrored(graph: ExpectedGraph) -> dict[tuple[int, int], float]:
    """Return the entries of the adjacency matrix."""
    if graph.directed:
        return graph.edges
    return graph.edges | {(j, i): weight for (i, j), weight in graph.edges.items()}


def parse_ids(texts: Sequence[str]) -> dict[str, Any]:
    """Return the id of each text: integers if all are canonical integers of 64 bits or whole floats, else the texts."""
    if all(_CANONICAL_INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**63 for text in texts):
        return {text: int(text) for text in texts}
    if all(_WHOLE_FLOAT.fullmatch(text) for text in texts):
        numbers = {text: int(text.partition(".")[0]) for text in texts}
        if len(set(numbers.values())) == len(numbers):
            return numbers
    return {text: text for text in texts}
