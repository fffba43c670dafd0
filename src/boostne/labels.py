"""Node labels: any number per node."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.edges import checked_matrix, entry_position, summed_csr
from boostne.errors import GraphError
from boostne.html import small_table, sparkline, summary
from boostne.node_ids import as_ids, encode_ids, find_duplicate, lookup_ids

_ACCEPTED = (
    "Labels; a dict from node to label or labels; a pair (nodes, labels); a list or array with the labels of "
    "nodes 0, 1, …; a two-dimensional indicator array or sparse matrix"
)
_SHOWN, _MAX_BARS = 5, 40  # classes in the table and in the chart of a notebook
_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """The labels of nodes.

    Parameters
    ----------
    nodes
        Unique node ids; nodes without labels are allowed.
    classes
        The distinct labels; column ``j`` of the matrix belongs to ``classes[j]``.
    matrix
        Indicator matrix of shape ``(len(nodes), len(classes))``: entry ``(i, j)`` is non-zero if node ``i`` has
        label ``j``. Stored as a boolean ``csr_array``.

    Examples
    --------
    >>> labels = as_labels({"ann": "red", "bob": ["blue", "red"], "eve": []})
    >>> labels
    Labels(3 nodes, 2 classes, 3 labels)
    >>> labels["bob"], labels["eve"], labels.multilabel
    (('blue', 'red'), (), True)
    """

    nodes: NDArray[Any]
    classes: NDArray[Any]
    matrix: sparse.csr_array

    def __post_init__(self) -> None:
        nodes, classes = as_ids(self.nodes).copy(), as_ids(self.classes).copy()
        matrix = _indicator(self.matrix)
        if matrix.shape != (len(nodes), len(classes)):
            raise GraphError(
                f"the indicator matrix has shape {tuple(matrix.shape)}, but there are {len(nodes)} nodes "
                f"and {len(classes)} classes"
            )
        for name, ids in (("node", nodes), ("class", classes)):
            duplicate = find_duplicate(ids)
            if duplicate is not None:
                raise GraphError(f"the {name} {duplicate!r} occurs more than once; {name} ids must be unique")
        for array in (nodes, classes, matrix.data, matrix.indices, matrix.indptr):
            array.flags.writeable = False
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "matrix", matrix)

    @classmethod
    def from_indices(cls, nodes: Any, classes: Any, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> "Labels":
        """Build labels from pairs of positions in ``nodes`` and ``classes``; repeated pairs count once.

        Examples
        --------
        >>> Labels.from_indices([7, 9], ["x", "y"], np.array([0, 1, 1]), np.array([1, 0, 1]))[9]
        ('x', 'y')
        """
        shape = (len(nodes), len(classes))
        return cls(nodes, classes, sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))

    @property
    def n_nodes(self) -> int:
        """Number of nodes, including those without labels."""
        return len(self.nodes)

    @property
    def n_labels(self) -> int:
        """Number of (node, label) pairs."""
        return int(self.matrix.nnz)

    @property
    def multilabel(self) -> bool:
        """Whether any node has more than one label."""
        return bool(np.any(np.diff(self.matrix.indptr) > 1))

    def __getitem__(self, node: Any) -> tuple[Any, ...]:
        row = int(lookup_ids(self.nodes, as_ids([node]))[0])
        if row < 0:
            raise KeyError(node)
        start, stop = self.matrix.indptr[row : row + 2]
        return tuple(self.classes[self.matrix.indices[start:stop]].tolist())

    def align(self, nodes: Any) -> tuple[sparse.csr_array, int]:
        """Return the indicator matrix of the given nodes, in their order.

        Parameters
        ----------
        nodes
            Ids, e.g. those of a graph or an embedding.

        Returns
        -------
        indicator
            One row per id; empty for ids without labels.
        n_left_out
            Number of labeled nodes that are not among ``nodes``.

        Examples
        --------
        >>> indicator, n_left_out = as_labels({1: "a", 2: "b"}).align([2, 5])
        >>> indicator.toarray(), n_left_out
        (array([[False,  True],
               [False, False]]), 1)
        """
        wanted = as_ids(nodes)
        rows = lookup_ids(self.nodes, wanted)
        known = np.flatnonzero(rows >= 0)
        # Row i of this matrix selects the row of the i-th id.
        selection = sparse.csr_array(
            (np.ones(len(known), dtype=bool), (known, rows[known])), shape=(len(wanted), self.n_nodes)
        )
        labeled = np.diff(self.matrix.indptr) > 0
        labeled[rows[known]] = False
        return sparse.csr_array(selection @ self.matrix), int(np.count_nonzero(labeled))

    def __repr__(self) -> str:
        return f"Labels({self.n_nodes} nodes, {len(self.classes)} classes, {self.n_labels} labels)"

    def _repr_html_(self) -> str:
        counts = np.bincount(self.matrix.indices, minlength=len(self.classes))
        order = np.argsort(-counts, kind="stable")
        largest = [[self.classes.tolist()[i], f"{counts[i]:,}"] for i in order[:_SHOWN].tolist()]
        facts = {
            "nodes": f"{self.n_nodes:,}, of which {np.count_nonzero(np.diff(self.matrix.indptr)):,} are labeled",
            "classes": f"{len(self.classes):,}",
            "labels": f"{self.n_labels:,}, {'several' if self.multilabel else 'at most one'} per node",
        }
        sizes = sparkline(counts[order[:_MAX_BARS]].tolist(), "nodes of the largest classes")
        return summary("Labels", facts, small_table(["largest classes", "nodes"], largest), sizes)


def as_labels(obj: Any) -> Labels:
    """Convert an object to :class:`Labels`.

    Parameters
    ----------
    obj
        Labels (returned unchanged); a dict or pandas Series from node to label, or to a list or set of labels; a
        pair ``(nodes, labels)``; a list or one-dimensional array with the labels of nodes 0, 1, …; a
        two-dimensional indicator array or sparse matrix with one row per node. None and NaN mean no label.

    Returns
    -------
    Labels

    Examples
    --------
    >>> as_labels([0, 1, 1, None])
    Labels(4 nodes, 2 classes, 3 labels)
    >>> as_labels((["a", "b"], np.array([[1, 0], [1, 1]])))["b"]
    (0, 1)
    """
    if isinstance(obj, Labels):
        return obj
    if sparse.issparse(obj):  # some of SciPy's formats are dicts
        return _with_nodes(None, obj)
    if isinstance(obj, Mapping) or (hasattr(obj, "items") and getattr(obj, "ndim", None) == 1):
        items = list(obj.items())
        return _from_values([node for node, _ in items], [label for _, label in items])
    if isinstance(obj, tuple) and len(obj) == 2:  # noqa: PLR2004
        return _with_nodes(*obj)
    if isinstance(obj, list | tuple | np.ndarray):
        return _with_nodes(None, obj)
    raise TypeError(f"cannot convert {type(obj).__name__} to labels; accepted: {_ACCEPTED}")


def _with_nodes(nodes: Any, labels: Any) -> Labels:
    if sparse.issparse(labels) or (isinstance(labels, np.ndarray) and labels.ndim == 2):  # noqa: PLR2004
        n, n_classes = checked_matrix(labels, "an indicator matrix").shape
        return Labels(np.arange(n) if nodes is None else nodes, np.arange(n_classes), labels)
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    return _from_values(range(len(values)) if nodes is None else nodes, values)


def _from_values(nodes: Iterable[Any], values: list[Any]) -> Labels:
    ids = as_ids(nodes)
    if len(ids) != len(values):
        raise GraphError(f"nodes and labels must have the same length, got {len(ids)} and {len(values)}")
    label_lists = [_as_list(value) for value in values]
    rows = np.repeat(np.arange(len(ids)), [len(labels) for labels in label_lists])
    classes, (columns,) = encode_ids([label for labels in label_lists for label in labels])
    return Labels.from_indices(ids, classes, rows, columns)


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, _COLLECTIONS):
        return list(value)
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    return [] if missing else [value]


def _indicator(matrix: Any) -> sparse.csr_array:
    csr = summed_csr(checked_matrix(matrix, "an indicator matrix"))
    if np.isnan(csr.data).any():
        row, column = entry_position(csr, int(np.isnan(csr.data).argmax()))
        raise GraphError(f"the indicator matrix contains NaN in row {row}, column {column}")
    return csr.astype(bool)
