"""Embeddings to files and back; the suffix picks the format.

============ ======================================================== ============ ============ ============
suffix       content                                                  ids          levels       numbers
============ ======================================================== ============ ============ ============
``.npz``     arrays ``nodes``, ``vectors``, ``levels``                any, typed   kept         as they are
``.npy``     vectors; ids and levels beside it in ``NAME.nodes.json`` any, typed   kept         as they are
``.parquet`` column ``node`` and one per dimension                    any, typed   kept         as they are
``.csv``     the same columns, with a header                          int or str   by the names float32
``.emb``     word2vec text: ``n d``, then ``id v1 … vd`` a line       int or str   lost         float32
``.txt``     the same as ``.emb``                                     int or str   lost         float32
============ ======================================================== ============ ============ ============

Text does not tell ``7`` from ``"7"``. Ids read from text are integers when every one of them is written as an
integer is (``7``, not ``007`` or ``7.0``), and strings otherwise; ``id_type`` overrules this, and the writer
warns where strings would come back as integers. In word2vec text, which separates by spaces, the white space
and the per cent signs of an id are percent-encoded (``New York`` is ``New%20York``); the reader decodes just
these.
"""

import csv
import hashlib
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding, column_names
from boostne.errors import FileFormatError, ParameterError
from boostne.ids import as_ids, show, type_text
from boostne.io.atomic import atomic_path

if TYPE_CHECKING:
    import pyarrow as pa

IdType = Literal["auto", "int", "str"]

_ROWS_AT_A_TIME = 8192
_COUNTED = 3
_NODE_COLUMNS = ("node", "nodes", "node_id", "id", "__index_level_0__")
_BLANKS = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
_ESCAPES = {ord(character): quote(character) for character in "%" + _BLANKS}
_ESCAPED = re.compile("|".join(_ESCAPES.values()))


def write_embedding(embedding: Embedding, path: str | Path) -> None:
    """Write an embedding in the format that the suffix names; the file is whole or not there.

    Parameters
    ----------
    embedding : Embedding
    path : str or Path
        Ends in ``.npz``, ``.npy``, ``.parquet``, ``.csv``, ``.emb`` or ``.txt``; the table at the top of
        :mod:`boostne.io.embeddings` says what each keeps.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_embedding(Embedding(["New York", "Rome"], [[1, 2], [3, 4]]), Path(folder) / "towns.emb")
    ...     print((Path(folder) / "towns.emb").read_text())
    ...     read_embedding(Path(folder) / "towns.emb").nodes.tolist()
    2 2
    New%20York 1 2
    Rome 3 4
    <BLANKLINE>
    ['New York', 'Rome']
    """
    path = Path(path)
    suffix = known_suffix(path)
    if suffix in _TEXT:
        _check_text_ids(embedding, suffix)
    with atomic_path(path) as temporary:
        _WRITERS[suffix](embedding, temporary)
        if suffix == ".npy":
            # Before the vectors get their name, so that nobody finds them without ids.
            _write_companion(embedding, path, temporary)


def read_embedding(
    path: str | Path, *, ids: str | Path | Iterable[Any] | None = None, id_type: IdType = "auto"
) -> Embedding:
    """Read an embedding from a file of this library or of another tool.

    Parameters
    ----------
    path : str or Path
        A file in one of the formats of :func:`write_embedding`. A CSV file may lack the header and may be
        separated by semicolons or tabs; its ids are the column ``node``, ``nodes``, ``node_id`` or ``id``,
        else the first. A word2vec file may lack its first line.
    ids : sequence, str or Path, optional
        For ``.npy`` only: the ids of the rows, or a text file with one id a line. By default they are read
        from ``NAME.nodes.json``.
    id_type : {"auto", "int", "str"}, default "auto"
        What the ids in text files are; "auto" takes integers when all ids are integers.

    Returns
    -------
    Embedding
    """
    path = Path(path)
    suffix = known_suffix(path)
    if ids is not None and suffix != ".npy":
        raise ParameterError(
            f"ids belongs to .npy files, which hold vectors only; {path.name} has its own ids"
        )
    if id_type not in {"auto", "int", "str"}:
        raise ParameterError(f"id_type must be 'auto', 'int' or 'str', got {id_type!r}")
    try:
        if suffix == ".npy":
            return _read_npy(path, ids, id_type)
        if suffix in _TEXT:
            return _TEXT[suffix](path, id_type)
        return _TYPED[suffix](path)
    except FileFormatError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        # NumPy, Arrow and Embedding all say what is wrong, but not in which file.
        raise FileFormatError(f"{path}: {error}") from error


def known_suffix(path: Path) -> str:
    """Return the suffix in lower case, or raise an error that lists the known ones."""
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise ParameterError(
            f"{path}: the suffix must be one of {', '.join(_WRITERS)}, got {suffix or 'none'!r}"
        )
    return suffix


# ---- ids


def _encode_ids(nodes: NDArray[Any]) -> list[str]:
    """Write ids of mixed types as JSON; a tuple becomes an array."""
    try:
        return [json.dumps(node) for node in nodes.tolist()]
    except TypeError as error:
        raise ParameterError(
            f"a node id must be made of integers, strings and tuples to be saved: {error}"
        ) from error


def _decode_ids(encoded: Iterable[str]) -> NDArray[Any]:
    return as_ids(_hashable(json.loads(text)) for text in encoded)


def _hashable(value: Any) -> Any:
    return tuple(_hashable(each) for each in value) if isinstance(value, list) else value


def _check_text_ids(embedding: Embedding, suffix: str) -> None:
    nodes = embedding.nodes
    if nodes.dtype.kind == "O":
        raise ParameterError(
            f"{suffix} files hold ids that are all integers or all strings; save as .npz or .parquet"
        )
    if nodes.dtype.kind == "U" and len(nodes) and type_text(nodes.tolist()).dtype.kind == "i":
        warnings.warn(
            f"these string ids look like integers ({show(nodes)}), and {suffix} files have no types: "
            'read the file with read_embedding(path, id_type="str"), or save as .npz or .parquet',
            stacklevel=3,
        )


def _ids_from_text(texts: list[str], id_type: IdType) -> NDArray[Any]:
    if id_type == "auto":
        return type_text(texts)
    return as_ids(texts if id_type == "str" else [int(text) for text in texts])


def _escape(node: str) -> str:
    if not node:
        raise ParameterError(
            "an empty node id cannot be written as word2vec text; save as .npz, .parquet or .csv"
        )
    return node.translate(_ESCAPES)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: unquote(match[0]), text) if "%" in text else text


# ---- .npz and .npy


def _write_npz(embedding: Embedding, path: Path) -> None:
    arrays: dict[str, Any] = {"vectors": embedding.vectors, "levels": embedding.levels}
    if embedding.nodes.dtype.kind == "O":  # NumPy would pickle objects
        arrays |= {"nodes": np.array(_encode_ids(embedding.nodes)), "nodes_encoding": np.array("json")}
    else:
        arrays["nodes"] = embedding.nodes
    with path.open("wb") as file:
        np.savez(file, **arrays)


def _read_npz(path: Path) -> Embedding:
    with np.load(path, allow_pickle=False) as arrays:
        missing = {"nodes", "vectors"} - set(arrays)
        if missing:
            raise FileFormatError(
                f"{path}: lacks the array {sorted(missing)[0]!r}; it holds {', '.join(arrays)}"
            )
        nodes = _decode_ids(arrays["nodes"].tolist()) if "nodes_encoding" in arrays else arrays["nodes"]
        return Embedding(nodes, arrays["vectors"], arrays.get("levels"))


def _write_npy(embedding: Embedding, path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, embedding.vectors)


def _companion(path: Path) -> Path:
    return path.with_suffix(".nodes.json")


def _write_companion(embedding: Embedding, path: Path, vectors: Path) -> None:
    content = {
        "nodes": [json.loads(text) for text in _encode_ids(embedding.nodes)],
        "levels": embedding.levels.tolist(),
        "sha256": _sha256(vectors),
    }
    with atomic_path(_companion(path)) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")


def _read_npy(path: Path, ids: str | Path | Iterable[Any] | None, id_type: IdType) -> Embedding:
    vectors = np.load(path, allow_pickle=False)
    if isinstance(ids, str | Path):
        lines = Path(ids).read_text(encoding="utf-8").removesuffix("\n").split("\n")
        return Embedding(_ids_from_text(lines, id_type), vectors)
    if ids is not None:
        return Embedding(ids, vectors)
    companion = _companion(path)
    if not companion.is_file():
        raise FileFormatError(f"{path}: the ids file {companion.name} is not beside it; pass ids=")
    content = json.loads(companion.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not {"nodes", "levels", "sha256"} <= content.keys():
        raise FileFormatError(
            f"{companion}: must be an object with nodes, levels and sha256; if it is not, pass ids="
        )
    if content["sha256"] != _sha256(path):
        raise FileFormatError(
            f"{companion}: belongs to other vectors than {path.name}; if it fits, pass ids="
        )
    return Embedding([_hashable(node) for node in content["nodes"]], vectors, content["levels"])


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- tables: .parquet and .csv


def _tables(embedding: Embedding, dtype: Any) -> Iterator["pa.Table"]:
    """Yield the embedding as Arrow tables of some thousand rows: a node column and one per dimension."""
    import pyarrow as pa

    metadata = {"boostne.levels": json.dumps(embedding.levels.tolist())}
    names = ["node", *embedding.columns()]
    mixed = embedding.nodes.dtype.kind == "O"
    if mixed:
        metadata["boostne.nodes_encoding"] = "json"
    node_type = pa.int64() if embedding.nodes.dtype.kind == "i" else pa.string()
    for nodes, block in _blocks(embedding, dtype):
        ids = pa.array(_encode_ids(nodes) if mixed else nodes.tolist(), node_type)
        yield pa.table([ids, *map(pa.array, block.T.copy())], names=names).replace_schema_metadata(metadata)


def _blocks(embedding: Embedding, dtype: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    # At least one block, so that an embedding without nodes still gets its columns.
    for start in range(0, max(len(embedding), 1), _ROWS_AT_A_TIME):
        rows = slice(start, start + _ROWS_AT_A_TIME)
        with np.errstate(over="ignore"):  # what does not fit becomes infinite
            block = embedding.vectors[rows].astype(dtype, copy=False)
        if not np.isfinite(block).all():
            raise ParameterError("the vectors do not fit in 32-bit numbers, as text files hold; save as .npz")
        yield embedding.nodes[rows], block


def _write_parquet(embedding: Embedding, path: Path) -> None:
    from pyarrow import parquet

    # Numbers that hardly ever repeat only grow in a dictionary.
    open_writer = partial(parquet.ParquetWriter, use_dictionary=False)
    _write_tables(_tables(embedding, embedding.vectors.dtype), path, open_writer)


def _write_csv(embedding: Embedding, path: Path) -> None:
    from pyarrow import csv as arrow_csv

    _write_tables(_tables(embedding, np.float32), path, arrow_csv.CSVWriter)


def _write_tables(tables: Iterator["pa.Table"], path: Path, open_writer: Callable[..., Any]) -> None:
    first = next(tables)
    with open_writer(path, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _read_parquet(path: Path) -> Embedding:
    from pyarrow import parquet

    table = parquet.read_table(path)
    metadata = table.schema.metadata or {}
    names = table.column_names
    place = _place_of_nodes(names)
    nodes = table.column(place).to_pylist()
    levels = json.loads(metadata.get(b"boostne.levels", b"null"))
    return Embedding(
        _decode_ids(nodes) if b"boostne.nodes_encoding" in metadata else as_ids(nodes),
        _matrix(table.remove_column(place)),
        levels or _levels_of_columns(names[:place] + names[place + 1 :]),
    )


def _read_csv(path: Path, id_type: IdType) -> Embedding:
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline()
    delimiter = max(",;\t", key=line.count)
    names = next(csv.reader([line], delimiter=delimiter), [])
    header = bool(names) and _is_header(names)
    place = _place_of_nodes(names) if header else 0
    table = _read_delimited(path, delimiter, columns=len(names), place=place, skip=int(header), quote='"')
    ids = _ids_from_text(table.column(place).to_pylist(), id_type)
    levels = _levels_of_columns(names[:place] + names[place + 1 :]) if header else None
    return Embedding(ids, _matrix(table.remove_column(place)), levels)


def _read_delimited(
    path: Path,
    delimiter: str,
    *,
    columns: int,
    place: int = 0,
    skip: int,
    quote: str | bool,
    surplus: int = 0,
) -> "pa.Table":
    """Read ids as strings at `place`, numbers elsewhere; drop the `surplus` empty columns at the end."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [str(i) for i in range(columns + surplus)]
    types = dict.fromkeys(names, pa.float32()) | {str(place): pa.string()}
    return arrow_csv.read_csv(
        path,
        # One thread: only then do Arrow's messages give the row.
        arrow_csv.ReadOptions(use_threads=False, column_names=names, skip_rows=skip, block_size=1 << 24),
        arrow_csv.ParseOptions(delimiter=delimiter, quote_char=quote, newlines_in_values=bool(quote)),
        arrow_csv.ConvertOptions(column_types=types, null_values=[], include_columns=names[:columns]),
    )


def _matrix(table: "pa.Table") -> NDArray[Any]:
    """Put the columns side by side; float64 when one of them needs it."""
    wide = any(str(field.type) not in {"float", "halffloat"} for field in table.schema)
    matrix = np.empty((table.num_rows, table.num_columns), dtype=np.float64 if wide else np.float32)
    for j, column in enumerate(table.columns):
        try:
            matrix[:, j] = column.to_numpy()
        except (ValueError, TypeError):
            name = table.column_names[j]
            raise ValueError(f"the column {name!r} must hold one number a row, got {column.type}") from None
    return matrix


def _place_of_nodes(names: Sequence[str]) -> int:
    lower = [name.lower() for name in names]
    return next((lower.index(name) for name in _NODE_COLUMNS if name in lower), 0)


def _levels_of_columns(names: Sequence[str]) -> list[int] | None:
    """Read the widths of the levels off names like ``u1_1``, ``u1_2``, ``u2_1``."""
    widths = [len(list(group)) for _, group in groupby(name.partition("_")[0] for name in names)]
    return widths if column_names(widths) == list(names) else None


def _is_header(names: Sequence[str]) -> bool:
    """Tell the names of columns from a node and its numbers."""
    if names[0].lower() in {"", *_NODE_COLUMNS}:
        return True
    try:
        numbers = [float(name) for name in names[1:]]
    except ValueError:
        return True
    # Tables often number their columns; no vector of some length counts like that.
    return len(numbers) >= _COUNTED and numbers in (
        list(range(len(numbers))),
        list(range(1, len(numbers) + 1)),
    )


# ---- word2vec text: .emb and .txt


def _write_word2vec(embedding: Embedding, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import compute

    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(embedding)} {embedding.dimensions}\n")
        for nodes, block in _blocks(embedding, np.float32):
            # Arrow writes the shortest text that reads back as the same 32-bit number.
            numbers = pa.array(block.ravel()).cast(pa.string())
            offsets = np.arange(len(block) + 1, dtype=np.int32) * embedding.dimensions
            lines = compute.binary_join(pa.ListArray.from_arrays(offsets, numbers), " ")
            file.writelines(
                f"{_escape(str(node))} {line}\n" for node, line in zip(nodes, lines.to_pylist(), strict=True)
            )


def _read_word2vec(path: Path, id_type: IdType) -> Embedding:
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
    table = _read_delimited(
        path, delimiter, columns=columns, skip=int(n is not None), quote=False, surplus=surplus
    )
    if promise and (n, d) != (table.num_rows, columns - 1):
        raise FileFormatError(
            f"{path}: its first line promises {n} vectors of {d} numbers, "
            f"but it holds {table.num_rows} of {columns - 1}"
        )
    ids = [_unescape(text) for text in table.column(0).to_pylist()]
    return Embedding(_ids_from_text(ids, id_type), _matrix(table.remove_column(0)))


_WRITERS: dict[str, Callable[[Embedding, Path], None]] = {
    ".npz": _write_npz,
    ".npy": _write_npy,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".emb": _write_word2vec,
    ".txt": _write_word2vec,
}
_TYPED: dict[str, Callable[[Path], Embedding]] = {".npz": _read_npz, ".parquet": _read_parquet}
_TEXT: dict[str, Callable[[Path, IdType], Embedding]] = {
    ".csv": _read_csv,
    ".emb": _read_word2vec,
    ".txt": _read_word2vec,
}
