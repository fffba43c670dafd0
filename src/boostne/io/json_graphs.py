"""Graphs in JSON files: node-link data as written by networkx and d3, or a list of edges."""

import json
from pathlib import Path
from typing import Any, Unpack

from boostne.errors import FileFormatError
from boostne.graph import Graph
from boostne.interop import EdgeOptions, Weight
from boostne.io.files import read_into_memory
from boostne.io.reading_budget import ReadingBudget
from boostne.io.reading_notes import ReadingNotes
from boostne.validation import check_choice

_EDGE_LISTS = ("links", "edges")
_EXPECTED = 'expected {"nodes": [{"id": …}, …], "links": [{"source": …, "target": …}, …]} or [[u, v], …]'
_PAIR, _TRIPLE = 2, 3


def read_json(
    path: Path, *, weight: Weight, budget: ReadingBudget, notes: ReadingNotes, **options: Unpack[EdgeOptions]
) -> Graph:
    """Read node-link data, or a list of pairs, of triples with a weight, or of objects with source and target."""
    raw = read_into_memory(path, budget).getvalue()
    budget.check_json(len(raw))
    try:
        content = json.loads(raw)
    except RecursionError:
        raise FileFormatError(f"{path}: JSON that is nested too deeply is not a graph; {_EXPECTED}") from None
    del raw
    if isinstance(content, dict):
        return _from_node_link(path, content, weight, notes, options)
    if not isinstance(content, list):
        raise FileFormatError(f"{path}: JSON, but not a graph; {_EXPECTED}")
    notes.assume("JSON, a list of edges")
    return _build(path, None, content, weight, options, directed=bool(options["directed"]))


def _from_node_link(
    path: Path, content: dict[str, Any], weight: Weight, notes: ReadingNotes, options: EdgeOptions
) -> Graph:
    name = next((name for name in _EDGE_LISTS if isinstance(content.get(name), list)), None)
    if name is None:
        raise FileFormatError(f"{path}: JSON without a list of links; {_EXPECTED}")
    listed = content.get("nodes")
    if listed is not None and not isinstance(listed, list):
        raise FileFormatError(f"{path}: the nodes must be a list; {_EXPECTED}")
    nodes = None if listed is None else [_id(path, node) for node in listed]
    declared = bool(content.get("directed", False))
    directed = declared if options["directed"] is None else options["directed"]
    if declared and not directed:
        raise FileFormatError(f"{path}: the file declares a directed graph, but directed=False")
    notes.assume(f"JSON, node-link, edges in {name!r}, {'directed' if directed else 'undirected'}")
    return _build(path, nodes, content[name], weight, options, directed=directed)


def _id(path: Path, node: Any) -> Any:
    found = node.get("id", node.get("name")) if isinstance(node, dict) else node
    if not isinstance(found, int | str) or isinstance(found, bool):
        raise FileFormatError(f"{path}: the id of a node must be an integer or a string, got {_show(node)}")
    return found


def _build(
    path: Path, nodes: list[Any] | None, edges: list[Any], weight: Weight, options: EdgeOptions, *, directed: bool
) -> Graph:
    if not edges and not nodes:
        raise FileFormatError(f"{path}: JSON without edges; {_EXPECTED}")
    check_choice("duplicates", options["duplicates"], ("once", "sum"))
    rows = [_edge(path, edge, weight) for edge in edges]
    values = [value for _, _, value in rows]
    weighted = any(value is not None for value in values)
    if weight and not weighted:
        raise FileFormatError(f"{path}: no edge has the weight {weight!r}: see weight=")
    return Graph.from_edges(
        [source for source, _, _ in rows],
        [target for _, target, _ in rows],
        [1 if value is None else value for value in values] if weighted else None,
        nodes=nodes,
        directed=directed,
        duplicates=options["duplicates"],
        self_loops=options["self_loops"],
    )


def _edge(path: Path, edge: Any, weight: Weight) -> tuple[Any, Any, Any]:
    if isinstance(edge, dict) and "source" in edge and "target" in edge:
        value = None if weight is False else edge.get(weight or "weight")
        return _id(path, edge["source"]), _id(path, edge["target"]), value
    if isinstance(edge, list) and len(edge) in (_PAIR, _TRIPLE):
        return _id(path, edge[0]), _id(path, edge[1]), edge[2] if len(edge) == _TRIPLE and weight is not False else None
    raise FileFormatError(f"{path}: an edge is {_show(edge)}; {_EXPECTED}")


def _show(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004
