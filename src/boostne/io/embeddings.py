"""Reading and writing embeddings; the suffix determines the format.

============ ======================================================== ============ ============ ============
suffix       content                                                  ids          levels       numbers
============ ======================================================== ============ ============ ============
``.npz``     arrays ``nodes``, ``vectors``, ``levels``                any, typed   kept         unchanged
``.npy``     vectors; ids and levels in ``NAME.nodes.json``           any, typed   kept         unchanged
``.parquet`` column ``node`` and one per dimension                    any, typed   kept         unchanged
``.csv``     the same columns, with a header                          int or str   column names float32
``.emb``     word2vec text: ``n d``, then ``id v1 … vd`` per line     int or str   lost         float32
``.txt``     the same as ``.emb``                                     int or str   lost         float32
============ ======================================================== ============ ============ ============

Text cannot distinguish ``7`` from ``"7"``. Ids read from text are integers if all are canonical integers (``7``,
but not ``007``) or whole floats (``7.0``), and strings otherwise, unless ``id_type`` is set; the writer warns if
strings would be read back as integers. Word2vec text is delimited by spaces, so white space and percent signs in ids
are percent-encoded (``New York`` is ``New%20York``); the reader decodes these sequences only. In CSV, strings that a
spreadsheet would execute, or that begin with an apostrophe, get an apostrophe in front, which the reader removes if
the header is that of this library. All files except ``.npz`` and ``.npy`` are UTF-8, which cannot encode lone
surrogates.

Target vectors (:attr:`boostne.Embedding.targets`) are in the same ``.npz`` file, in arrays named ``targets_nodes`` and
so on. In other formats they are in a second file of the same format, ``NAME.targets.SUFFIX``, beside the first.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from boostne.embedding import Embedding
from boostne.errors import FileFormatError, GraphError, ParameterError
from boostne.io.atomic import atomic_path
from boostne.io.embedding_arrays import ids_path, read_npy, read_npz, write_npy, write_npy_ids, write_npz
from boostne.io.embedding_ids import IdType, check_text_ids, check_utf8_ids
from boostne.io.embedding_tables import read_csv, read_parquet, write_csv, write_parquet
from boostne.io.files import errors_naming
from boostne.io.numpy_files import WRONG_SUFFIX
from boostne.io.parts import part_paths
from boostne.io.reading_notes import ReadingNotes, count_of
from boostne.io.word2vec import read_word2vec, write_word2vec
from boostne.validation import check_choice


def write_embedding(embedding: Embedding, path: str | Path) -> None:
    """Write an embedding atomically, in the format given by the suffix.

    Target vectors are written first, to a file of their own unless the suffix is ``.npz``. Such a file of an earlier
    embedding is removed if there are no target vectors now, since it would be read as theirs.

    Parameters
    ----------
    embedding : Embedding
    path : str or Path
        A file with the suffix ``.npz``, ``.npy``, ``.parquet``, ``.csv``, ``.emb`` or ``.txt``; see
        :mod:`boostne.io.embeddings` for what each format stores.

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
    parts = [embedding] if embedding.targets is None or suffix == ".npz" else [embedding.targets, embedding]
    for part in parts:
        if suffix not in {".npz", ".npy"}:
            check_utf8_ids(part, suffix)
        if suffix in _TEXT_READERS:
            check_text_ids(part, suffix)
    for part in parts[:-1]:
        _write(part, targets_path(path))
    _write(embedding, path)
    if embedding.targets is None and suffix != ".npz":
        _remove_targets(path)


def targets_path(path: Path) -> Path:
    """Return the path of the target vectors of an embedding in a format other than ``.npz``."""
    return path.with_suffix(f".targets{path.suffix}")


def _write(embedding: Embedding, path: Path) -> None:
    suffix = known_suffix(path)
    with atomic_path(path) as temporary:
        _WRITERS[suffix](embedding, temporary)
        if suffix == ".npy":
            # Before the vectors are renamed, so that they never exist without ids.
            write_npy_ids(embedding, path, temporary)


def _remove_targets(path: Path) -> None:
    stale = targets_path(path)
    for file in (stale, *([ids_path(stale)] if path.suffix.lower() == ".npy" else [])):
        file.unlink(missing_ok=True)


def read_embedding(
    path: str | Path, *, ids: str | Path | Iterable[Any] | None = None, id_type: IdType = "auto"
) -> Embedding:
    """Read an embedding written by this library or another tool, with its target vectors if it has them.

    Parameters
    ----------
    path : str or Path
        A file in one of the formats of :func:`write_embedding`, or a folder of Parquet files written by
        :meth:`boostne.BoostNE.fit_to_parts`. A CSV file can be without a header, and its delimiter can be a
        semicolon or tab; its ids are in the column ``node``, ``nodes``, ``node_id`` or ``id``, or else the first.
        A word2vec file can be without its first line.
    ids : sequence, str or Path, optional
        For ``.npy`` only: the ids of the rows; or a text file with one id per line; or a folder with such a file,
        ``NAME.txt``, or with ``NAME.nodes.json``, which by default is read from beside the vectors.
    id_type : {"auto", "int", "str"}, default "auto"
        Type of the ids in text files; "auto" means integers if all ids are canonical integers.

    Returns
    -------
    Embedding

    Notes
    -----
    One line on how the file was read is a record of the logger ``"boostne.io"``, of level INFO.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from boostne import Embedding, read_embedding
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "vectors.csv")
    ...     Embedding(["ann", "bob"], [[1, 0], [0.5, 2]]).save(path)
    ...     print(read_embedding(path)["bob"])
    [0.5 2. ]
    """
    path = Path(path)
    suffix = ".parquet" if path.is_dir() else known_suffix(path)
    if ids is not None and suffix != ".npy":
        raise ParameterError(f"ids= applies only to .npy files, which store no ids; {path.name} has its own ids")
    check_choice("id_type", id_type, ("auto", "int", "str"))
    notes = ReadingNotes(path)
    embedding = _read(path, suffix, ids, id_type, notes)
    beside = targets_path(path)
    if suffix != ".npz" and ids is None and not path.is_dir() and beside.is_file():
        targets = _read(beside, suffix, None, id_type, ReadingNotes(beside))
        try:
            embedding = Embedding(embedding.nodes, embedding.vectors, embedding.levels, targets=targets)
        except ParameterError as error:
            raise FileFormatError(f"{beside}: {error}; if it does not belong to {path.name}, move it away") from error
        notes.assume(f"target vectors in {beside.name}")
    notes.assume(_describe(embedding))
    notes.publish()
    return embedding


def _describe(embedding: Embedding) -> str:
    kind = {"i": "integers", "U": "strings"}.get(embedding.nodes.dtype.kind, "of several types")
    levels = f" in {count_of(embedding.n_levels, 'level')}" if embedding.n_levels > 1 else ""
    numbers = count_of(embedding.dimensions, "number")
    return f"{count_of(len(embedding), 'node')} with {numbers} each{levels}; ids are {kind}"


def _read(
    path: Path, suffix: str, ids: str | Path | Iterable[Any] | None, id_type: IdType, notes: ReadingNotes
) -> Embedding:
    with errors_naming(path, f"an embedding in {suffix} format", WRONG_SUFFIX):
        try:
            if suffix == ".npy":
                return read_npy(path, ids, id_type, notes)
            if suffix in _TEXT_READERS:
                return _TEXT_READERS[suffix](path, id_type, notes)
            return _TYPED_READERS[suffix](path, notes)
        except (GraphError, ParameterError) as error:
            # What the file contains is not an embedding: the messages of Embedding do not name the file.
            raise FileFormatError(f"{path}: {error}") from error


def known_suffix(path: Path) -> str:
    """Return the suffix in lower case; raise an error that lists all formats if it is unknown."""
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise ParameterError(f"{path}: the suffix must be one of {', '.join(_WRITERS)}, got {suffix or 'none'!r}")
    return suffix


_WRITERS: dict[str, Callable[[Embedding, Path], None]] = {
    ".npz": write_npz,
    ".npy": write_npy,
    ".parquet": write_parquet,
    ".csv": write_csv,
    ".emb": write_word2vec,
    ".txt": write_word2vec,
}
_TYPED_READERS: dict[str, Callable[[Path, ReadingNotes], Embedding]] = {
    ".npz": read_npz,
    ".parquet": lambda path, notes: read_parquet(part_paths(path) if path.is_dir() else [path], notes),
}
_TEXT_READERS: dict[str, Callable[[Path, IdType, ReadingNotes], Embedding]] = {
    ".csv": read_csv,
    ".emb": read_word2vec,
    ".txt": read_word2vec,
}
