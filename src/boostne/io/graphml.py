"""Reading GraphML and GML files with networkx."""

from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Unpack
from xml.parsers import expat

from boostne.errors import BoostneError, FileFormatError
from boostne.graph import Graph
from boostne.interop import EdgeOptions, Weight, as_graph
from boostne.io.files import open_seekable
from boostne.io.reading_budget import ReadingBudget
from boostne.io.reading_notes import ReadingNotes
from boostne.node_ids import as_ids, parse_ids

_CHUNK = 1 << 20


def read_graphml(
    path: Path, *, weight: Weight, budget: ReadingBudget, notes: ReadingNotes, **options: Unpack[EdgeOptions]
) -> Graph:
    """Read a GraphML file; ids become integers if all are canonical integers, as in other text formats."""
    networkx = _import_networkx()
    with open_seekable(path, budget) as stream:
        _check_xml(path, stream, budget)
        content = networkx.read_graphml(stream)
    notes.assume(f"GraphML, {'directed' if content.is_directed() else 'undirected'}")
    return _with_ids(as_graph(content, weight=weight, **options), list(content))


def read_gml(
    path: Path, *, weight: Weight, budget: ReadingBudget, notes: ReadingNotes, **options: Unpack[EdgeOptions]
) -> Graph:
    """Read a GML file; the labels of the nodes are their ids if all nodes have one."""
    networkx = _import_networkx()
    with open_seekable(path, budget) as stream:
        n_records = 0
        while chunk := stream.read(_CHUNK):
            n_records += chunk.count(b"[")
            budget.check_gml(n_records, stream.tell())
        stream.seek(0)
        content = networkx.read_gml(stream, label=None)
    labels = [label for _, label in content.nodes(data="label")]
    ids = list(content) if None in labels else labels
    direction = "directed" if content.is_directed() else "undirected"
    notes.assume(f"GML, {direction}; nodes by their {'ids' if None in labels else 'labels'}")
    return _with_ids(as_graph(content, weight=weight, **options), ids)


def _check_xml(path: Path, stream: IO[bytes], budget: ReadingBudget) -> None:
    """Raise an error for malformed XML, for entity declarations, and for more elements than fit into memory.

    Entities that refer to each other can expand to any size, and external ones can refer to any file.
    """

    def refuse(name: str, *_: Any) -> None:
        raise FileFormatError(f"{path}: declares the XML entity {name!r}, which is not read: replace it by its value")

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    n_elements = 0
    while chunk := stream.read(_CHUNK):
        parser.Parse(chunk)
        n_elements += chunk.count(b"<") - chunk.count(b"</")
        budget.check_xml(n_elements, stream.tell())
    parser.Parse(b"", True)
    stream.seek(0)


def _with_ids(graph: Graph, ids: list[Any]) -> Graph:
    text = all(isinstance(item, str) for item in ids)
    return replace(graph, nodes=parse_ids(ids) if text else as_ids(ids))


def _import_networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise BoostneError('GraphML and GML files require networkx: pip install "boostne[io]"') from None
    return networkx
