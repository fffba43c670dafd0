"""Tables of vectors, labels or edges that are given as one another, recognized by their columns and refused by name."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import FileFormatError
from boostne.interop import ENDPOINT_COLUMNS
from boostne.io.delimited_text import LABEL_COLUMNS, NODE_COLUMNS, normalized_name
from boostne.node_ids import format_ids

_COMPONENT = re.compile("u[0-9]+_[0-9]+")
_WHOLE = re.compile("[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FEWEST_COMPONENTS = 3  # an edge has at most one number
_FEWEST_LABELS = 20  # below, labels 0, 1, … of nodes 0, 1, … are usual


def are_components(names: Sequence[str]) -> bool:
    """Return whether names of columns are those of vectors, as in the files of this library.

    Examples
    --------
    >>> are_components(["node", "u1_1", "u1_2"]), are_components(["u", "v", "w"])
    (True, False)
    """
    return any(map(_COMPONENT.fullmatch, names[1:]))


def looks_like_vector(fields: Sequence[str]) -> bool:
    """Return whether the fields of a line can be a node and its vector: several numbers, some of them not whole.

    Examples
    --------
    >>> looks_like_vector(["a", "0", "0.5", "1"]), looks_like_vector(["1", "2", "0.5"])
    (True, False)
    """
    numbers = fields[1:]
    return (
        len(numbers) >= _FEWEST_COMPONENTS
        and all(map(_NUMBER.fullmatch, numbers))
        and not all(map(_WHOLE.fullmatch, numbers))
    )


def refuse_other_columns(path: Path, names: Sequence[str]) -> None:
    """Raise FileFormatError if the columns of a table of edges, none of which was chosen, are of vectors or labels."""
    if are_components(names):
        raise FileFormatError(f"{path}: the columns are those of vectors ({format_ids(names)}): give a file of edges")
    known = set(map(normalized_name, names))
    if any(set(pair) <= known for pair in ENDPOINT_COLUMNS):
        return
    # A group, or a target, can be one end of an edge.
    if known & set(NODE_COLUMNS) and known & (set(LABEL_COLUMNS) - {"group", "target"}):
        raise FileFormatError(
            f"{path}: the columns are those of labels ({format_ids(names)}): give a file of edges, or choose its "
            "columns with source= and target="
        )


def check_vectors(path: Path, vectors: NDArray[Any]) -> None:
    """Raise FileFormatError if the vectors of a file that does not announce them are one whole number each."""
    if vectors.shape[1] == 1 and len(vectors) and np.all(vectors == np.round(vectors)):
        raise FileFormatError(
            f"{path}: one whole number per node, as in a list of edges or labels: give a file of vectors; if these "
            "are vectors, name the columns node,u1_1 in the first line of a .csv file"
        )


def are_edges(nodes: NDArray[Any], classes: NDArray[Any]) -> bool:
    """Return whether labels may be nodes: most of them are, and they are about as many.

    Examples
    --------
    >>> are_edges(np.arange(100), np.arange(1, 90)), are_edges(np.arange(100), np.arange(10))
    (True, False)
    """
    if len(classes) < _FEWEST_LABELS or 2 * len(classes) < len(nodes) or nodes.dtype.kind != classes.dtype.kind:
        return False
    return bool(np.isin(classes, nodes).mean() > 0.5)  # noqa: PLR2004


def are_labels(ids: NDArray[Any], u: NDArray[np.int64], v: NDArray[np.int64]) -> bool:
    """Return whether edges between ids may be labels: numbers in the first column, and only text in the second.

    Examples
    --------
    >>> are_labels(np.array(["1", "2", "red"]), np.array([0, 1]), np.array([2, 2]))
    True
    """
    if ids.dtype.kind != "U":
        return False
    numbers = np.char.isdigit(ids)
    return bool(numbers[u].all() and not numbers[v].any())
