"""The embedding: node ids and their vectors.

The columns of an :class:`Embedding` are ordered by level, ``[U_1 … U_k]``, from coarse to fine.
"""

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostne.errors import BoostneError, ParameterError
from boostne.node_ids import as_ids, find_duplicate, format_ids

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float32] | NDArray[np.float64]

_MATRIX_NDIM = 2
_BLOCK_ROWS = 65_536


class UnknownNodeError(BoostneError, KeyError):
    """A node id that is not in the embedding."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which would put the message in quotes.
        return str(self.args[0])


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

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._row_of

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes.tolist())

    def __getitem__(self, node: Any) -> FloatArray:
        return cast("FloatArray", self.vectors[self._row(node)])

    def __repr__(self) -> str:
        size = f"{len(self)} nodes, {self.dimensions} dimensions"
        targets = "" if self.targets is None else f", {len(self.targets)} targets"
        return f"Embedding({size}, levels {self.levels.tolist()}, {self.vectors.dtype}{targets})"

    def _row(self, node: Any) -> int:
        try:
            return self._row_of[node]
        except KeyError:
            raise UnknownNodeError(f"node {node!r} is not in the embedding of {format_ids(self.nodes)}") from None

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

    def most_similar(self, node: Any, n: int = 10) -> list[tuple[Any, float]]:
        """Return the `n` nodes most similar to `node` by cosine similarity, most similar first.

        A zero vector has similarity 0 with every vector; ties keep the order of ``nodes``.

        Parameters
        ----------
        node : id
        n : int, default 10

        Returns
        -------
        list of (id, similarity)
        """
        if n < 0:
            raise ParameterError(f"n must be at least 0, got {n!r}")
        row = self._row(node)
        similarity = _cosine(self.vectors, row)
        order = np.argsort(-similarity, kind="stable")
        nearest = order[order != row][:n]
        return list(zip(self.nodes[nearest].tolist(), similarity[nearest].tolist(), strict=True))

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


def _cosine(vectors: FloatArray, row: int) -> NDArray[np.float64]:
    """Return the cosine similarity of each row with the given row."""
    target = _unit(vectors[row : row + 1])[0]
    cosines = np.empty(len(vectors))
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = _unit(vectors[start : start + _BLOCK_ROWS])
        # einsum instead of BLAS: equal rows give bitwise equal sums at any position, so ties are exact.
        cosines[start : start + len(block)] = np.einsum("ij,j->i", block, target)
    return np.clip(cosines, -1.0, 1.0)


def _unit(block: FloatArray) -> NDArray[np.float64]:
    """Scale rows to unit length; zero rows stay zero."""
    rows = block.astype(np.float64)
    # Divide by the largest entry first: squares of very large or small entries would overflow or underflow.
    for order in (np.inf, 2):
        length = np.linalg.norm(rows, ord=order, axis=1)
        rows /= np.where(length > 0, length, 1.0)[:, None]
    return rows
