"""The embedding: node ids and their vectors.

The columns of an :class:`Embedding` are ordered by level, ``[U_1 … U_k]``, from coarse to fine.
"""

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostne.errors import BoostneError, ParameterError, UnknownNodeError
from boostne.html import sparkline, summary
from boostne.node_ids import as_ids, find_duplicate, format_ids
from boostne.similarity import FloatArray, SimilaritySearch
from boostne.similarity_query import find_row, is_collection, most_similar, rows_of

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from boostne.similarity_index import SimilarityIndex

__all__ = ["Embedding", "FloatArray", "UnknownNodeError", "column_names"]

_MATRIX_NDIM = 2
_BLOCK_ROWS = 65_536
_SAMPLE_ROWS = 10_000  # for the chart of a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """Vectors for the nodes of a graph; immutable.

    Parameters
    ----------
    nodes : sequence of n ids
        Unique integers, strings or other hashable objects; copied.
    vectors : array of shape (n, d)
        Row i belongs to ``nodes[i]``. float32 and float64 arrays are not copied: the embedding holds a
        read-only view. Other types are converted to float32.
    levels : sequence of int, optional
        The width d_s of each level, coarse to fine; they sum to d. One level by default.
    targets : Embedding, optional
        Vectors of nodes as targets of edges, if those above are vectors of nodes as sources: the product of the vector
        of u and the target vector of v is the score of the edge from u to v. It has the same levels, and may have
        other nodes.

    Examples
    --------
    >>> emb = Embedding(["ann", "bob", "cy"], [[1, 0, 2], [1, 0, 1], [0, 3, 0]], levels=[1, 2])
    >>> emb["bob"]
    array([1., 0., 1.], dtype=float32)
    >>> emb.level(2).shape
    (3, 2)
    >>> [(node, round(similarity, 3)) for node, similarity in emb.most_similar("ann", n=1)]
    [('bob', 0.949)]
    >>> emb
    Embedding(3 nodes, 3 dimensions, levels [1, 2], float32)
    """

    nodes: NDArray[Any]
    vectors: FloatArray
    levels: NDArray[np.int64]
    targets: "Embedding | None"

    def __init__(
        self,
        nodes: Iterable[Any],
        vectors: ArrayLike,
        levels: Sequence[int] | NDArray[Any] | None = None,
        *,
        targets: "Embedding | None" = None,
    ) -> None:
        ids, matrix = as_ids(nodes).copy(), _as_vectors(vectors)
        if len(ids) != len(matrix):
            raise ParameterError(f"nodes and vectors must have the same length, got {len(ids)} and {len(matrix)}")
        fields = {"nodes": ids, "vectors": matrix, "levels": _as_levels(levels, matrix.shape[1])}
        for name, array in fields.items():
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)
        repeated = find_duplicate(ids)
        if repeated is not None:
            raise ParameterError(f"nodes must be unique, got {repeated!r} more than once")
        _check_finite(self)
        _check_targets(self, targets)
        object.__setattr__(self, "targets", targets)

    @property
    def dimensions(self) -> int:
        """The number of columns d."""
        return int(self.vectors.shape[1])

    @property
    def n_levels(self) -> int:
        """The number of levels k."""
        return len(self.levels)

    @cached_property
    def _row_of(self) -> dict[Any, int]:
        return {node: row for row, node in enumerate(self.nodes.tolist())}

    @cached_property
    def _searches(self) -> dict[int | None, SimilaritySearch]:
        """Prepared searches by level; None is all levels."""
        return {}

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._row_of

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes.tolist())

    @overload
    def __getitem__(self, key: slice) -> "Embedding": ...

    @overload
    def __getitem__(self, key: Any) -> FloatArray: ...

    def __getitem__(self, key: Any) -> "Embedding | FloatArray":
        """Return the vector of a node, the vectors of a list or array of nodes, or a slice as an embedding.

        A slice selects by position: ``embedding[:5]`` has the first five nodes, and all target vectors.
        """
        if isinstance(key, slice):
            return Embedding(self.nodes[key], self.vectors[key], self.levels, targets=self.targets)
        if is_collection(key):
            return self.vectors[np.array(rows_of(key, self._row), dtype=np.int64)]
        row: FloatArray = self.vectors[self._row(key)]
        return row

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the vectors for ``np.asarray(embedding)``; row i belongs to ``nodes[i]``."""
        wanted = self.vectors.dtype if dtype is None else np.dtype(dtype)
        if copy is False and wanted != self.vectors.dtype:
            raise ValueError(f"the vectors are {self.vectors.dtype}, so that {wanted} needs a copy")
        return self.vectors.astype(wanted, copy=bool(copy))

    def __repr__(self) -> str:
        size = f"{len(self)} nodes, {self.dimensions} dimensions"
        targets = "" if self.targets is None else f", {len(self.targets)} targets"
        return f"Embedding({size}, levels {self.levels.tolist()}, {self.vectors.dtype}{targets})"

    def _repr_html_(self) -> str:
        step = max(len(self) // _SAMPLE_ROWS, 1)
        parts = np.split(self.vectors[::step], np.cumsum(self.levels)[:-1], axis=1)
        lengths = [float(np.linalg.norm(part, axis=1).mean()) if len(part) else 0.0 for part in parts]
        facts = {
            "nodes": f"{len(self):,}",
            "dimensions": f"{self.dimensions:,}, {self.vectors.dtype}",
            "levels": f"{self.n_levels}, of width {reprlib.repr(self.levels.tolist())}",
            "ids": format_ids(self.nodes),
        }
        return summary("Embedding", facts, sparkline(lengths, "mean length of the vectors by level, coarse to fine"))

    def _row(self, node: Any) -> int:
        return find_row(self._row_of, node, self.nodes)

    def level(self, i: int) -> FloatArray:
        """Return the vectors of level `i`, the n × d_s matrix U_i.

        Parameters
        ----------
        i : int
            From 1, the coarsest, to ``n_levels``, as in the paper.

        Returns
        -------
        ndarray
            A read-only view.
        """
        stop = self._end_of(i)
        return self.vectors[:, stop - int(self.levels[i - 1]) : stop]

    def up_to(self, level: int) -> "Embedding":
        """Return the embedding ``[U_1 … U_level]``: levels 1 to `level`, inclusive."""
        targets = None if self.targets is None else self.targets.up_to(level)
        return Embedding(self.nodes, self.vectors[:, : self._end_of(level)], self.levels[:level], targets=targets)

    def _end_of(self, level: int) -> int:
        if not 1 <= level <= self.n_levels:
            raise ParameterError(f"level must be between 1 and {self.n_levels}, got {level!r}")
        return int(self.levels[:level].sum())

    def columns(self) -> list[str]:
        """Return the column names of data frames and CSV files, by level: ``u1_1 … u1_16, u2_1 …``."""
        return column_names(self.levels)

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas DataFrame indexed by node id, with columns named by :meth:`columns`."""
        try:
            import pandas as pd
        except ImportError:
            raise BoostneError("to_frame needs pandas, which is not installed: pip install pandas") from None
        index = pd.Index(self.nodes, name="node", tupleize_cols=False)
        return pd.DataFrame(self.vectors, index=index, columns=self.columns())

    def to_torch(self) -> "torch.Tensor":
        """Return a copy of the vectors as a PyTorch tensor; row i belongs to ``nodes[i]``."""
        try:
            import torch
        except ImportError:
            raise BoostneError("to_torch needs PyTorch, which is not installed: pip install torch") from None
        return torch.from_numpy(np.array(self.vectors))  # a copy, because tensors cannot be read-only

    @overload
    def most_similar(
        self, query: str | int, n: int = 10, *, level: int | None = None, threads: int | None = None
    ) -> list[tuple[Any, float]]: ...

    @overload
    def most_similar(
        self, query: Any, n: int = 10, *, level: int | None = None, threads: int | None = None
    ) -> list[Any]: ...

    def most_similar(
        self, query: Any, n: int = 10, *, level: int | None = None, threads: int | None = None
    ) -> list[Any]:
        """Return the `n` nodes most similar to a node or vector by cosine similarity, most similar first.

        The search is exact. A node is not among its own neighbors, a zero vector has similarity 0 with every vector,
        and ties keep the order of ``nodes``. The first call computes the lengths of all vectors; see :meth:`index` for
        a faster, approximate search.

        Parameters
        ----------
        query : id, list or array of ids, or array of floats
            One node; several nodes; one vector of shape (d,); or several vectors of shape (q, d).
        n : int, default 10
        level : int, optional
            Compare the vectors of this level only, from 1, the coarsest. Query vectors then have the width of the
            level. By default all levels.
        threads : int, optional
            Number of threads; all cores by default. The result does not depend on it.

        Returns
        -------
        list of (id, similarity), or list of such lists
            One list for one node or vector, and a list of lists for several.

        Examples
        --------
        >>> emb = Embedding(["ann", "bob", "cy"], [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
        >>> [[node for node, _ in found] for found in emb.most_similar(["ann", "cy"], n=1)]
        [['bob'], ['bob']]
        >>> emb.most_similar([0.0, 2.0], n=1)
        [('cy', 1.0)]
        """
        vectors = self._columns_of(level)
        if level not in self._searches:
            self._searches[level] = SimilaritySearch(vectors, threads=threads)
        return most_similar(
            query,
            n,
            nodes=self.nodes,
            width=vectors.shape[1],
            vectors_of=vectors.__getitem__,
            row_of=self._row,
            search=partial(self._searches[level].search, threads=threads),
        )

    def index(self, *, level: int | None = None, threads: int = 1) -> "SimilarityIndex":
        """Build an approximate index (HNSW) that finds similar nodes faster than :meth:`most_similar`.

        Requires the extra ``index``: ``pip install "boostne[index]"``.

        Parameters
        ----------
        level : int, optional
            Index the vectors of this level only. By default all levels.
        threads : int, default 1
            Number of threads. With several threads nodes are inserted in varying order, and it varies which similar
            nodes the index misses; with one thread the index is always the same.

        Returns
        -------
        SimilarityIndex
            With :meth:`~boostne.similarity_index.SimilarityIndex.most_similar` and
            :meth:`~boostne.similarity_index.SimilarityIndex.save`.
        """
        from boostne.similarity_index import SimilarityIndex

        return SimilarityIndex.build(self, level=level, threads=threads)

    def _columns_of(self, level: int | None) -> FloatArray:
        return self.vectors if level is None else self.level(level)

    def plot(self, labels: Any = None, *, level: int | None = None, ax: Any = None, seed: int = 0) -> Any:
        """Draw a map of the nodes, with similar ones close to each other (t-SNE of cosine distances).

        Requires the extra ``viz``: ``pip install "boostne[viz]"``. A random sample of 5,000 nodes is drawn if there are
        more.

        Parameters
        ----------
        labels : Labels, or anything that :func:`boostne.as_labels` accepts, optional
            Color the nodes by label. The twelve most frequent labels have colors; a node with several has that of the
            most frequent. Labels of nodes that are not in the embedding are counted in a log record.
        level : int, optional
            Draw the vectors of this level only, from 1, the coarsest. By default all levels.
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure of pyplot.
        seed : int, default 0
            Seed of the sample and of the positions.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from boostne.visualization.plots import plot_embedding

        return plot_embedding(self, labels, level=level, ax=ax, seed=seed)

    def save(self, path: str | Path) -> None:
        """Write the embedding in the format given by the suffix; see :func:`boostne.io.write_embedding`."""
        _embedding_files().write_embedding(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "Embedding":
        """Read an embedding; :func:`boostne.io.read_embedding` has further options."""
        embedding: Embedding = _embedding_files().read_embedding(path)
        return embedding


def _embedding_files() -> ModuleType:
    # The only upward import: readers and writers build on Embedding, whose save and load are shortcuts to them.
    from boostne.io import embeddings

    return embeddings


def column_names(levels: Iterable[int]) -> list[str]:
    """Return the column names of levels with the given widths.

    Examples
    --------
    >>> column_names([1, 2])
    ['u1_1', 'u2_1', 'u2_2']
    """
    return [f"u{i}_{j}" for i, width in enumerate(levels, 1) for j in range(1, width + 1)]


def _as_vectors(vectors: ArrayLike) -> FloatArray:
    matrix = np.asarray(vectors)
    if matrix.ndim != _MATRIX_NDIM or matrix.shape[1] == 0 or matrix.dtype.kind not in "fiub":
        raise ParameterError(
            "vectors must be a 2-D array of real numbers with at least one column, "
            f"got shape {matrix.shape} of type {matrix.dtype}"
        )
    return cast("FloatArray", matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float32))


def _as_levels(levels: Sequence[int] | NDArray[Any] | None, dimensions: int) -> NDArray[np.int64]:
    if levels is None:
        return np.array([dimensions], dtype=np.int64)
    try:
        widths = np.array(levels)
    except ValueError:  # nested sequences of different lengths
        widths = np.array(None)
    # Each is compared first, since a sum could overflow.
    within = widths.ndim == 1 and widths.dtype.kind in "iu" and ((widths >= 1) & (widths <= dimensions)).all()
    if not within or widths.sum() != dimensions:
        found = reprlib.repr(levels.tolist() if isinstance(levels, np.ndarray) else levels)
        raise ParameterError(f"levels must be positive integers that sum to the {dimensions} columns, got {found}")
    return widths.astype(np.int64)


def _check_finite(embedding: Embedding) -> None:
    for start in range(0, len(embedding), _BLOCK_ROWS):
        finite = np.isfinite(embedding.vectors[start : start + _BLOCK_ROWS]).all(axis=1)
        if not finite.all():
            node = embedding.nodes.tolist()[start + int(np.argmin(finite))]
            raise ParameterError(f"vectors must be finite, got NaN or infinity in the vector of node {node!r}")


def _check_targets(embedding: Embedding, targets: Any) -> None:
    if targets is None:
        return
    if not isinstance(targets, Embedding):
        raise ParameterError(f"targets must be an Embedding, got {type(targets).__name__}")
    if targets.targets is not None:
        raise ParameterError("targets must be an Embedding without targets of its own, got one with them")
    if not np.array_equal(targets.levels, embedding.levels):
        ours, theirs = (found.levels.tolist() for found in (embedding, targets))
        raise ParameterError(f"targets must have the levels of the sources, {ours}, got {theirs}")
