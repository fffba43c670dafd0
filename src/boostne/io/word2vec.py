"""Embeddings as word2vec text, ``.emb`` and ``.txt``: ``n d``, then ``id v1 … vd`` a line.

Spaces separate, so the white space and the per cent signs of an id are percent-encoded; the reader decodes just these.
"""

import re
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from boostne.embedding import Embedding
from boostne.errors import FileFormatError, ParameterError
from boostne.io.embedding_ids import IdType, ids_from_text
from boostne.io.embedding_tables import as_matrix, blocks_of_rows, read_delimited

_BLANKS = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
_ESCAPES = {ord(character): quote(character) for character in "%" + _BLANKS}
_ESCAPED = re.compile("|".join(_ESCAPES.values()))


def write_word2vec(embedding: Embedding, path: Path) -> None:
    """Write one line per node, its numbers as 32-bit floats."""
    import pyarrow as pa
    from pyarrow import compute

    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(embedding)} {embedding.dimensions}\n")
        for nodes, block in blocks_of_rows(embedding, np.float32):
            # Arrow writes the shortest text that reads back as the same 32-bit number.
            numbers = pa.array(block.ravel()).cast(pa.string())
            offsets = np.arange(len(block) + 1, dtype=np.int32) * embedding.dimensions
            lines = compute.binary_join(pa.ListArray.from_arrays(offsets, numbers), " ")
            file.writelines(
                f"{_escape(str(node))} {line}\n" for node, line in zip(nodes, lines.to_pylist(), strict=True)
            )


def read_word2vec(path: Path, id_type: IdType) -> Embedding:
    """Read word2vec text, with or without its first line."""
    with path.open(encoding="utf-8") as file:
        first, second = file.readline(), file.readline()
    promise = re.fullmatch(r"\s*(\d+)\s+(\d+)\s*", first)
    n, d = (int(promise[1]), int(promise[2])) if promise else (None, None)
    if n == 0:
        return Embedding([], np.empty((0, d or 0), dtype=np.float32))
    line = (second if promise else first).rstrip("\r\n")
    delimiter = "\t" if "\t" in line else " "
    # The first word2vec program, and many after it, end each line with a space.
    columns = line.rstrip(delimiter).count(delimiter) + 1
    surplus = line.count(delimiter) + 1 - columns
    table = read_delimited(
        path, delimiter, columns=columns, skip=int(n is not None), quote=False, surplus=surplus
    )
    if promise and (n, d) != (table.num_rows, columns - 1):
        raise FileFormatError(
            f"{path}: its first line promises {n} vectors of {d} numbers, "
            f"but it holds {table.num_rows} of {columns - 1}"
        )
    ids = [_unescape(text) for text in table.column(0).to_pylist()]
    return Embedding(ids_from_text(ids, id_type), as_matrix(table.remove_column(0)))


def _escape(node: str) -> str:
    if not node:
        raise ParameterError(
            "an empty node id cannot be written as word2vec text; save as .npz, .parquet or .csv"
        )
    return node.translate(_ESCAPES)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: unquote(match[0]), text) if "%" in text else text
