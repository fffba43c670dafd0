"""An approximate index of an embedding: similar nodes without comparing all vectors.

The index is a graph (HNSW: hierarchical navigable small world) of unit vectors, built and searched by usearch. A file
of usearch has the graph and the vectors; ``NAME.nodes.json`` beside it has the node ids and checksums of both.
"""

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.embedding import Embedding, FloatArray
from boostne.errors import BoostneError, FileFormatError, ParameterError
from boostne.io.atomic import atomic_path, flush_to_disk
from boostne.io.embedding_ids import as_hashable, ids_to_json
from boostne.io.files import errors_naming, file_sha256
from boostne.kernels import check_threads
from boostne.node_ids import as_ids
from boostne.similarity import Neighbors, cosines, unit_rows
from boostne.similarity_query import find_row, most_similar

SUFFIX = ".usearch"

# Links per node, and nodes that are considered when one is inserted and when neighbors are searched.
_CONNECTIVITY, _EXPANSION_ADD, _EXPANSION_SEARCH = 16, 128, 128
_BLOCK_ROWS = 65_536
_VERSION = 1
_FACTS = {"version": int, "nodes": list, "level": int | None, "vectors_sha256": str, "index_sha256": str}


class SimilarityIndex:
    """An approximate index, built by :meth:`boostne.Embedding.index` or read by :meth:`load`.

    Attributes
    ----------
    nodes : ndarray
        The node ids.
    dimensions : int
        The length of the indexed vectors.
    level : int or None
        The level of the embedding that is indexed; None is all levels.
    vectors_sha256 : str
        Checksum of the indexed vectors, in the order of ``nodes``.

    Examples
    --------
    >>> import numpy as np
    >>> embedding = Embedding(["ann", "bob", "cy"], np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]))
    >>> index = embedding.index()
    >>> index
    SimilarityIndex(3 nodes, 2 dimensions)
    >>> [node for node, _ in index.most_similar("ann", n=1)]
    ['bob']
    """

    def __init__(self, hnsw: Any, nodes: NDArray[Any], *, level: int | None, vectors_sha256: str) -> None:
        self._hnsw = hnsw
        self.nodes = nodes
        self.level = level
        self.vectors_sha256 = vectors_sha256

    @classmethod
    def build(cls, embedding: Embedding, *, level: int | None = None, threads: int = 1) -> "SimilarityIndex":
        """Build the index; see :meth:`boostne.Embedding.index`."""
        vectors = embedding.vectors if level is None else embedding.level(level)
        n_threads = check_threads(threads)
        hnsw = _usearch().Index(
            ndim=vectors.shape[1],
            metric="ip",  # of unit vectors: the cosine similarity, and 0 for zero vectors
            dtype="f32",
            connectivity=_CONNECTIVITY,
            expansion_add=_EXPANSION_ADD,
            expansion_search=_EXPANSION_SEARCH,
        )
        for start in range(0, len(vectors), _BLOCK_ROWS):
            block = unit_rows(vectors[start : start + _BLOCK_ROWS]).astype(np.float32)
            hnsw.add(np.arange(start, start + len(block)), block, threads=n_threads)
        return cls(hnsw, embedding.nodes, level=level, vectors_sha256=_vectors_sha256(vectors))

    @property
    def dimensions(self) -> int:
        """The length of the indexed vectors."""
        return int(self._hnsw.ndim)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        level = "" if self.level is None else f", level {self.level}"
        return f"SimilarityIndex({len(self)} nodes, {self.dimensions} dimensions{level})"

    @cached_property
    def _row_of(self) -> dict[Any, int]:
        return {node: row for row, node in enumerate(self.nodes.tolist())}

    def most_similar(self, query: Any, n: int = 10, *, threads: int | None = None) -> list[Any]:
        """Return `n` nodes that are probably the most similar ones, most similar first.

        Parameters and result are those of :meth:`boostne.Embedding.most_similar`. Similarities are those of the vectors
        as the index stores them, in float32; a few of the most similar nodes may be missing.
        """

        def search(vectors: NDArray[Any], count: int) -> list[Neighbors]:
            return self._search(vectors, min(count, len(self)), check_threads(threads))

        return most_similar(
            query,
            n,
            nodes=self.nodes,
            width=self.dimensions,
            vectors_of=self._vectors,
            row_of=lambda node: find_row(self._row_of, node, self.nodes),
            search=search,
        )

    def _vectors(self, rows: NDArray[np.int64]) -> FloatArray:
        if not len(rows):
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.stack(self._hnsw.get(rows))

    def _search(self, vectors: NDArray[Any], count: int, threads: int) -> list[Neighbors]:
        if count == 0 or not len(vectors):
            return [Neighbors(np.zeros(0, dtype=np.int64), np.zeros(0))] * len(vectors)
        targets = unit_rows(vectors)
        found = self._hnsw.search(targets.astype(np.float32), count, threads=threads)
        # usearch returns another type for a single query.
        keys = np.asarray(found.keys, dtype=np.int64).reshape(len(targets), -1)
        sizes = found.counts if len(targets) > 1 else [len(found)]
        return [
            self._exact(target, np.sort(rows[:size]) if target.any() else np.arange(count))
            for target, rows, size in zip(targets, keys, sizes, strict=True)
        ]

    def _exact(self, target: NDArray[np.float64], rows: NDArray[np.int64]) -> Neighbors:
        similarities = cosines(self._vectors(rows), target)
        order = np.argsort(-similarities, kind="stable")
        return Neighbors(rows[order], similarities[order])

    def save(self, path: str | Path) -> None:
        """Write the index to a file with the suffix ``.usearch``, and ids and checksums to ``NAME.nodes.json``."""
        path = _checked_suffix(path)
        with atomic_path(path) as temporary:
            self._hnsw.save(str(temporary))
            flush_to_disk(temporary)  # a full disk must be noticed before the ids are replaced
            facts = {
                "version": _VERSION,
                "level": self.level,
                "vectors_sha256": self.vectors_sha256,
                "index_sha256": file_sha256(temporary),
                "nodes": [json.loads(text) for text in ids_to_json(self.nodes)],
            }
            with atomic_path(_facts_path(path)) as facts_file:
                facts_file.write_text(json.dumps(facts), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path, embedding: Embedding | None = None) -> "SimilarityIndex":
        """Read an index written by :meth:`save`.

        Parameters
        ----------
        path : str or Path
        embedding : Embedding, optional
            If given, the index must have been built from it.

        Raises
        ------
        FileFormatError
            If a file is missing or damaged, or the index belongs to other vectors.
        """
        path = _checked_suffix(path)
        facts = _read_facts(path)
        with errors_naming(path, "an index", "belongs to another program"):
            if file_sha256(path) != facts["index_sha256"]:
                raise FileFormatError(
                    f"{path}: the checksum differs from that in {_facts_path(path).name}; build the index again"
                )
            hnsw = _usearch().Index.restore(str(path))
            hnsw.expansion_search = _EXPANSION_SEARCH
        nodes = as_ids([as_hashable(node) for node in facts["nodes"]])
        if len(nodes) != len(hnsw):
            raise FileFormatError(
                f"{path}: has {len(hnsw):,} vectors, but {_facts_path(path).name} has {len(nodes):,} ids; "
                "build the index again"
            )
        index = cls(hnsw, nodes, level=facts["level"], vectors_sha256=facts["vectors_sha256"])
        if embedding is not None:
            index._check(embedding, path)
        return index

    def _check(self, embedding: Embedding, path: Path) -> None:
        same_levels = self.level is None or self.level <= embedding.n_levels
        if same_levels and np.array_equal(self.nodes, embedding.nodes):
            vectors = embedding.vectors if self.level is None else embedding.level(self.level)
            if _vectors_sha256(vectors) == self.vectors_sha256:
                return
        raise FileFormatError(f"{path}: the index was built from other vectors than those given; build it again")


def _usearch() -> Any:
    try:
        from usearch import index
    except ImportError:
        raise BoostneError('an index needs usearch, which is not installed: pip install "boostne[index]"') from None
    return index


def _checked_suffix(path: str | Path) -> Path:
    if Path(path).suffix != SUFFIX:
        raise ParameterError(f"{path}: the suffix of an index must be {SUFFIX}, got {Path(path).suffix or 'none'!r}")
    return Path(path)


def _facts_path(path: Path) -> Path:
    return path.with_suffix(".nodes.json")


def _read_facts(path: Path) -> dict[str, Any]:
    file = _facts_path(path)
    if path.exists() and not file.exists():
        raise FileFormatError(f"{path}: the file with its ids, {file.name}, is missing; build the index again")
    with errors_naming(file, "JSON", "belongs to another program"):
        facts = json.loads(file.read_text(encoding="utf-8"))
    valid = (
        isinstance(facts, dict)
        and facts.keys() >= _FACTS.keys()
        and all(isinstance(facts[name], kind) for name, kind in _FACTS.items())
    )
    if not valid or facts["version"] != _VERSION:
        raise FileFormatError(f"{file}: not the ids of an index, or of another version; build the index again")
    return dict(facts)


def _vectors_sha256(vectors: FloatArray) -> str:
    digest = hashlib.sha256(f"vectors 1 {vectors.shape} {vectors.dtype.name}\n".encode())
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS]
        digest.update(np.ascontiguousarray(block, dtype=block.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()
