"""Reading GraphML and GML files with networkx."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from boostne.errors import BoostneError
from boostne.graph import Graph
from boostne.interop import EdgeOptions, Weight, as_graph
from boostne.io.files import open_seekable
from boostne.io.reading_budget import ReadingBudget
from boostne.node_ids import as_ids, parse_ids


def read_graphml(path: Path, *, weight: Weight, budget: ReadingBudget, **options: Unpack[EdgeOptions]) -> Graph:
    """Read a GraphML file; ids become integers if all are canonical integers, as in other text formats."""
    with open_seekable(path, budget) as stream:
        content = _import_networkx().read_graphml(stream)
    return _with_ids(as_graph(content, weight=weight, **options), list(content))


def read_gml(path: Path, *, weight: Weight, budget: ReadingBudget, **options: Unpack[EdgeOptions]) -> Graph:
    """Read a GML file; the labels of the nodes are their ids if all nodes have one."""
    with open_seekable(path, budget) as stream:
        content = _import_networkx().read_gml(stream, label=None)
    labels = [label for _, label in content.nodes(data="label")]
    ids = list(content) if None in labels else labels
    return _with_ids(as_graph(content, weight=weight, **options), ids)


def _with_ids(graph: Graph, ids: list[Any]) -> Graph:
    text = all(isinstance(item, str) for item in ids)
    return replace(graph, nodes=parse_ids(ids) if text else as_ids(ids))


def _import_networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise BoostneError('GraphML and GML files require networkx: pip install "boostne[io]"') from None
    return networkx
