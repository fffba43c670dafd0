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
these. All files but ``.npz`` and ``.npy`` are UTF-8, which cannot hold a string with a lone surrogate.
"""

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from boostne.embedding import Embedding
from boostne.errors import FileFormatError, ParameterError
from boostne.io.atomic import atomic_path
from boostne.io.embedding_arrays import read_npy, read_npz, write_npy, write_npy_ids, write_npz
from boostne.io.embedding_ids import IdType, check_text_ids, check_utf8_ids
from boostne.io.embedding_tables import read_csv, read_parquet, write_csv, write_parquet
from boostne.io.parts import part_paths
from boostne.io.word2vec import read_word2vec, write_word2vec


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
    if suffix not in {".npz", ".npy"}:
        check_utf8_ids(embedding, suffix)
    if suffix in _TEXT:
        check_text_ids(embedding, suffix)
    with atomic_path(path) as temporary:
        _WRITERS[suffix](embedding, temporary)
        if suffix == ".npy":
            # Before the vectors get their name, so that nobody finds them without ids.
            write_npy_ids(embedding, path, temporary)


def read_embedding(
    path: str | Path, *, ids: str | Path | Iterable[Any] | None = None, id_type: IdType = "auto"
) -> Embedding:
    """Read an embedding from a file of this library or of another tool.

    Parameters
    ----------
    path : str or Path
        A file in one of the formats of :func:`write_embedding`, or a folder of Parquet parts as
        :meth:`boostne.BoostNE.fit_to_parts` leaves it. A CSV file may lack the header and may be
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
    suffix = ".parquet" if path.is_dir() else known_suffix(path)
    if ids is not None and suffix != ".npy":
        raise ParameterError(
            f"ids belongs to .npy files, which hold vectors only; {path.name} has its own ids"
        )
    if id_type not in {"auto", "int", "str"}:
        raise ParameterError(f"id_type must be 'auto', 'int' or 'str', got {id_type!r}")
    try:
        if suffix == ".npy":
            return read_npy(path, ids, id_type)
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


_WRITERS: dict[str, Callable[[Embedding, Path], None]] = {
    ".npz": write_npz,
    ".npy": write_npy,
    ".parquet": write_parquet,
    ".csv": write_csv,
    ".emb": write_word2vec,
    ".txt": write_word2vec,
}
_TYPED: dict[str, Callable[[Path], Embedding]] = {
    ".npz": read_npz,
    ".parquet": lambda path: read_parquet(part_paths(path) if path.is_dir() else [path]),
}
_TEXT: dict[str, Callable[[Path, IdType], Embedding]] = {
    ".csv": read_csv,
    ".emb": read_word2vec,
    ".txt": read_word2vec,
}
