"""Node ids given on the command line."""

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from boostne.errors import UnknownNodeError

if TYPE_CHECKING:
    from boostne.embedding import Embedding
    from boostne.graph import Graph

_MAX_COMPARED = 100_000  # ids that a misspelled one is compared with


def find_node(text: str, *holders: "Embedding | Graph") -> Any:
    """Return the id in one of the embeddings or graphs that is written like this."""
    from boostne.node_ids import as_ids, lookup_ids

    candidates: list[Any] = [text, int(text)] if text.lstrip("-").isdecimal() else [text]
    for node in candidates:
        if any((lookup_ids(holder.nodes, as_ids([node])) >= 0).any() for holder in holders):
            return node
    for holder in holders:
        if holder.nodes.dtype.kind == "O":  # tuples and other objects, by how Python writes them
            for node in holder.nodes.tolist():
                if str(node) == text:
                    return node
    known = [str(node) for holder in holders for node in holder.nodes[:_MAX_COMPARED].tolist()]
    close = get_close_matches(text, known, n=2)
    ids = f"its ids are {', '.join(known[:3])}, …" if known else "it has no nodes"
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else ids
    raise UnknownNodeError(f"node {text!r} is not in the embedding; {hint}")
