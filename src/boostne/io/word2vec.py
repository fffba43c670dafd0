"""Embeddings in word2vec text files, ``.emb`` and ``.txt``: ``n d``, then ``id v1 … vd`` per line.

Fields are delimited by spaces, so white space and percent signs in ids are percent-encoded.
"""

import re
from itertools import chain
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from boostne.embedding import Embedding
from boostne.errors import FileFormatError, ParameterError
from boostne.io.embedding_ids import IdType, ids_from_text
from boostne.io.embedding_tables import as_matrix, read_delimited, row_blocks
from boostne.io.mistaken_tables import check_vectors
from boostne.io.reading_notes import ReadingNotes

_WHITE_SPACE = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
_ESCAPES = {ord(character): quote(character) for character in "%" + _WHITE_SPACE}
_PAIR = 2  # columns of a list of edges
_ESCAPED = re.compile("|".join(_ESCAPES.values()))


def write_word2vec(embedding: Embedding, path: Path) -> None:
    """Write one line per node with its vector as 32-bit floats."""
    import pyarrow as pa
    from pyarrow import compute

    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(embedding)} {embedding.dimensions}\n")
        for nodes, block in row_blocks(embedding, np.float32):
            # Arrow formats floats with the fewest digits that identify them.
            numbers = pa.array(block.ravel()).cast(pa.string())
            offsets = np.arange(len(block) + 1, dtype=np.int32) * embedding.dimensions
            lines = compute.binary_join(pa.ListArray.from_arrays(offsets, numbers), " ")
            file.writelines(
                f"{_escape(str(node))} {line}\n" for node, line in zip(nodes, lines.to_pylist(), strict=True)
            )


def read_word2vec(path: Path, id_type: IdType, notes: ReadingNotes) -> Embedding:
    """Read word2vec text, with or without its header line."""
    with path.open(encoding="utf-8-sig") as file:
        first, second = file.readline(), file.readline()
        header = re.fullmatch(r"\s*([0-9]+)\s+([0-9]+)\s*", first)
        n, d = (int(header[1]), int(header[2])) if header else (None, None)
        empty = n == 0 and not any(line.strip() for line in chain([second], file))
    if n == 0 and not empty:
        raise FileFormatError(
            f"{path}: no vectors: the first line announces 0 of them, but further lines follow, as in an edge list; "
            "give a file of embeddings"
        )
    first_line = "the sizes in line 1" if header else "no line of sizes"
    notes.assume(f"word2vec text, {first_line}")
    if empty:
        return Embedding([], np.empty((0, d or 0), dtype=np.float32))
    line = (second if header else first).rstrip("\r\n")
    delimiter = "\t" if "\t" in line else " "
    # The original word2vec, and many tools since, write a space at the end of each line.
    columns = line.rstrip(delimiter).count(delimiter) + 1
    surplus = line.count(delimiter) + 1 - columns
    table = read_delimited(path, delimiter, columns=columns, skip=int(header is not None), quote=False, surplus=surplus)
    if header and (n, d) != (table.num_rows, columns - 1):
        edges = "; if these are edges or labels, give a file of vectors" if columns == _PAIR else ""
        raise FileFormatError(
            f"{path}: the first line announces {n} vectors of {d} numbers, "
            f"but the file contains {table.num_rows} of {columns - 1}{edges}"
        )
    ids = [_unescape(text) for text in table.column(0).to_pylist()]
    if "" in ids:
        raise FileFormatError(
            f"{path}: the node id of vector {ids.index('') + 1} is empty: its line begins with the delimiter"
        )
    vectors = as_matrix(table.remove_column(0))
    if not header:
        check_vectors(path, vectors)
    return Embedding(ids_from_text(ids, id_type, path, 1 + int(header is not None)), vectors)


def _escape(node: str) -> str:
    if not node:
        raise ParameterError("word2vec files cannot store an empty node id; save as .npz, .parquet or .csv")
    return node.translate(_ESCAPES)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: unquote(match[0]), text) if "%" in text else text
