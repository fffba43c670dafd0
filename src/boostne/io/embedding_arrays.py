"""Embeddings in NumPy files: ``.npz``, and ``.npy`` with ids and levels in ``NAME.nodes.json``."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding
from boostne.errors import FileFormatError
from boostne.io.atomic import atomic_path, flush_to_disk
from boostne.io.embedding_ids import IdType, as_hashable, ids_from_json, ids_from_text, ids_to_json
from boostne.io.files import errors_naming, file_sha256
from boostne.io.numpy_files import open_archive, read_npy_file
from boostne.io.reading_notes import ReadingNotes

TARGETS = "targets_"  # prefix of the arrays of target vectors


def write_npz(embedding: Embedding, path: Path) -> None:
    """Write the arrays ``nodes``, ``vectors`` and ``levels`` without pickling, and those of targets with a prefix."""
    with path.open("wb") as file:
        np.savez(file, **embedding_arrays(embedding))


def embedding_arrays(embedding: Embedding) -> dict[str, Any]:
    """Return the arrays of an ``.npz`` file, none of which NumPy would pickle."""
    arrays: dict[str, Any] = {"vectors": embedding.vectors, "levels": embedding.levels}
    if embedding.targets is not None:
        arrays |= {TARGETS + name: array for name, array in embedding_arrays(embedding.targets).items()}
    if embedding.nodes.dtype.kind == "O":
        return arrays | {"nodes": np.array(ids_to_json(embedding.nodes)), "nodes_encoding": np.array("json")}
    return arrays | {"nodes": embedding.nodes}


def read_npz(path: Path, notes: ReadingNotes) -> Embedding:
    """Read the arrays ``nodes``, ``vectors`` and, if present, ``levels`` and those of targets."""
    optional = {"levels", "nodes_encoding"}
    optional |= {TARGETS + name for name in ("nodes", "vectors", *optional)}
    with open_archive(path) as archive:
        arrays = {name: archive.read(name) for name in ["nodes", "vectors", *(optional & set(archive.names))]}
        if "model" in archive.names:
            notes.assume("a model, of which the vectors are read")
    try:
        return embedding_from_arrays(arrays)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None


def embedding_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Embedding:
    """Return the embedding whose arrays :func:`embedding_arrays` returned."""
    nodes, encoded = arrays["nodes"], "nodes_encoding" in arrays
    if nodes.dtype.kind not in ("U" if encoded else "iuU"):
        raise FileFormatError(
            f"the array 'nodes' must contain integers or strings, got {nodes.dtype}; convert the ids before saving them"
        )
    ids = ids_from_json(nodes.tolist()) if encoded else nodes
    return Embedding(ids, arrays["vectors"], arrays.get("levels"), targets=_targets_from_arrays(arrays))


def _targets_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Embedding | None:
    own = {name.removeprefix(TARGETS): array for name, array in arrays.items() if name.startswith(TARGETS)}
    if not own:
        return None
    missing = {"nodes", "vectors"} - own.keys()
    if missing:
        raise FileFormatError(f"the array {TARGETS + missing.pop()!r} of the target vectors is missing")
    return embedding_from_arrays(own)


def write_npy(embedding: Embedding, path: Path) -> None:
    """Write only the vectors; :func:`write_npy_ids` must follow."""
    with path.open("wb") as file:
        # NumPy writes to a file itself and, if the disk is full, does not say so; a stream reports the reason.
        stream: Any = SimpleNamespace(write=file.write)
        np.save(stream, embedding.vectors)


def write_npy_ids(embedding: Embedding, path: Path, vectors: Path) -> None:
    """Write ids and levels next to `path`, with the checksum of the file `vectors`."""
    flush_to_disk(vectors)  # a full disk must be noticed before the ids are replaced
    content = {
        "nodes": [json.loads(text) for text in ids_to_json(embedding.nodes)],
        "levels": embedding.levels.tolist(),
        "sha256": file_sha256(vectors),
    }
    with atomic_path(ids_path(path)) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")


def _ids_in_folder(path: Path, folder: Path) -> Path:
    """Return the file in a folder that has the ids of an embedding, by its name."""
    names = (f"{path.stem}.txt", f"{path.stem}.nodes.txt", ids_path(path).name)
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise FileFormatError(f"{folder}: the folder has no file with the ids of {path.name}, such as {names[0]}")
    return found


def read_npy(path: Path, ids: str | Path | Iterable[Any] | None, id_type: IdType, notes: ReadingNotes) -> Embedding:
    """Read vectors; their ids are given, in a text file, or in ``NAME.nodes.json``."""
    vectors = read_npy_file(path)
    beside = ids_path(path)
    if isinstance(ids, str | Path):
        file = Path(ids)
        if file.is_dir():
            file = _ids_in_folder(path, file)
        if file.suffix != ".json":
            notes.assume(f"ids in {file}")
            with errors_naming(file, "a text file of ids", "not in UTF-8"):
                lines = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
                return Embedding(ids_from_text(lines, id_type, file, 1), vectors)
        beside = file
    elif ids is not None:
        return Embedding(ids, vectors)
    if not beside.is_file():
        raise FileFormatError(f"{path}: the file with its ids, {beside.name}, is missing; pass ids=")
    with errors_naming(beside, "JSON", "belongs to another program: pass ids="):
        content = json.loads(beside.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not {"nodes", "levels", "sha256"} <= content.keys():
        raise FileFormatError(f"{beside}: must be a JSON object with nodes, levels and sha256; otherwise pass ids=")
    for name in ("nodes", "levels"):
        if not isinstance(content[name], list):
            found = type(content[name]).__name__
            raise FileFormatError(f"{beside}: {name} must be an array, got {found}; otherwise pass ids=")
    notes.assume(f"ids in {beside.name}")
    if content["sha256"] != file_sha256(path):
        raise FileFormatError(
            f"{beside}: its checksum does not match {path.name}; if the ids are right, pass them with ids="
        )
    return Embedding([as_hashable(node) for node in content["nodes"]], vectors, content["levels"])


def ids_path(path: Path) -> Path:
    """Return the path of the ids and levels of an ``.npy`` file."""
    return path.with_suffix(".nodes.json")
