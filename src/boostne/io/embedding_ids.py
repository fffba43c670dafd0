"""Node ids in embedding files: encoding, decoding, and the ids that each format supports."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.errors import FileFormatError, InputWarning, ParameterError, warn_caller
from boostne.node_ids import as_ids, format_ids, parse_ids

IdType = Literal["auto", "int", "str"]

_SURROGATE = re.compile("[\ud800-\udfff]")


def ids_to_json(nodes: NDArray[Any]) -> list[str]:
    """Encode each id as JSON; a tuple becomes an array."""
    try:
        return [json.dumps(node) for node in nodes.tolist()]
    except TypeError as error:
        raise ParameterError(f"only node ids made of integers, strings and tuples can be saved: {error}") from error


def ids_from_json(encoded: Iterable[str]) -> NDArray[Any]:
    """Decode ids encoded by :func:`ids_to_json`."""
    return as_ids(as_hashable(json.loads(text)) for text in encoded)


def as_hashable(value: Any) -> Any:
    """Convert the arrays of JSON, at any depth, to tuples."""
    return tuple(as_hashable(each) for each in value) if isinstance(value, list) else value


def check_utf8_ids(embedding: Embedding, suffix: str) -> None:
    """Raise for strings that UTF-8 cannot encode; in ids of mixed types, JSON escapes them."""
    if embedding.nodes.dtype.kind != "U":
        return
    for node in embedding.nodes.tolist():
        if _SURROGATE.search(node):
            raise ParameterError(
                f"the node id {node!r} contains a lone surrogate, which {suffix} files cannot store; "
                "save as .npz or .npy, or change the id"
            )


def check_text_ids(embedding: Embedding, suffix: str) -> None:
    """Raise for ids of mixed types; warn if strings would be read back as integers."""
    nodes = embedding.nodes
    if nodes.dtype.kind == "O":
        raise ParameterError(
            f"{suffix} files require ids that are all integers or all strings; save as .npz or .parquet"
        )
    if nodes.dtype.kind == "U" and len(nodes) and parse_ids(nodes.tolist()).dtype.kind == "i":
        warn_caller(
            f"these string ids look like integers ({format_ids(nodes)}), and {suffix} files do not store types: "
            'read the file with read_embedding(path, id_type="str"), or save as .npz or .parquet',
            InputWarning,
        )


def ids_from_text(texts: list[str], id_type: IdType, path: Path, first_line: int) -> NDArray[Any]:
    """Convert ids read from text to the given type; for "auto" see :func:`boostne.node_ids.parse_ids`.

    ``path`` and ``first_line``, the number of the line with the first id, are for error messages.
    """
    if id_type == "auto":
        return parse_ids(texts)
    if id_type == "str":
        return as_ids(texts)
    ids = []
    for number, text in enumerate(texts, start=first_line):
        try:
            ids.append(int(text))
        except ValueError:
            raise FileFormatError(
                f"{path}, line {number}: the node id {text!r} is not an integer; see id_type="
            ) from None
    return as_ids(ids)
