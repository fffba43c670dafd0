"""Label files: a node and its labels per line, a label and its nodes per line, or an indicator matrix."""

from collections.abc import Callable
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from boostne.errors import FileFormatError
from boostne.io.files import own_options, reading, suffix_of
from boostne.io.matrices import choose_variable, load_mat
from boostne.io.text import SAMPLE, TextFile, has_header, read_text
from boostne.labels import Labels, as_labels
from boostne.node_ids import encode_text_ids
from boostne.validation import check_choice

_PAIR = 2


def read_labels(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 (the word users know)
    delimiter: str | None = None,
    comments: str | None = None,
    header: bool | None = None,
    variable: str | None = None,
) -> Labels:
    r"""Read the labels of nodes from a file.

    Parameters
    ----------
    path
        The file; ``.gz`` at the end of its name means compressed.
    format
        ``"lines"``: a node and its labels, ``node label`` (a node may come again with another) or
        ``node l1 l2 …``; ``"communities"``: line ``j`` holds the nodes that carry label ``j``, counted from 0
        without empty lines and comments; ``"mat"``: an indicator matrix, or a vector of labels, whose rows
        are nodes 0, 1, … None goes by the suffix: ``.cmty``, ``.mat``, or else lines.
    delimiter, comments
        As for :func:`~boostne.io.read_graph`.
    header
        For lines: whether the first names the columns, of which there are two. None finds out.
    variable
        The variable of a MATLAB file, ``group`` where not given.

    Returns
    -------
    Labels
        Node ids have the type that :func:`~boostne.io.read_graph` gives them, so that the two fit together:
        integers where all are plain integers, strings otherwise. Labels likewise.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "labels.txt"
    ...     _ = file.write_text("1 red\n2 blue\n2 red\n")
    ...     read_labels(file)[2]
    ('blue', 'red')
    """
    path = Path(path)
    name = format or {".cmty": "communities", ".mat": "mat"}.get(suffix_of(path), "lines")
    check_choice("format", name, _FORMATS)
    options = {"delimiter": delimiter, "comments": comments, "header": header, "variable": variable}
    chosen = _FORMATS[name]
    with reading(path, name):
        return chosen.read(path, **own_options(name, chosen.options, options))


def _read_lines(path: Path, *, delimiter: str | None, comments: str | None, header: bool | None) -> Labels:
    text = read_text(path, delimiter, comments)
    sample = [row for _, row in islice(text.rows(), SAMPLE)]
    if header is None:
        header = all(len(row) == _PAIR for row in sample) and has_header(sample)
    rows = [(number, _fields(number, row, text)) for number, row in islice(text.rows(), int(header), None)]
    nodes = [row[0] for _, row in rows]
    labels = [row[1:] for _, row in rows]
    if not any(labels):
        raise FileFormatError(
            f"{path}: no labels: each line has one column; see delimiter=, or format='communities', "
            "which reads the nodes of one label per line"
        )
    ids, (heads,) = encode_text_ids(nodes)
    classes, (columns,) = encode_text_ids([label for several in labels for label in several])
    return Labels.from_indices(ids, classes, np.repeat(heads, [len(several) for several in labels]), columns)


def _fields(number: int, row: list[str], text: TextFile) -> list[str]:
    if not row[0]:
        raise text.error(number, "an empty node id: fill it in or remove the line")
    # "node," in a table: the node has no label.
    return [row[0], *filter(None, row[1:])]


def _read_communities(path: Path, *, delimiter: str | None, comments: str | None) -> Labels:
    rows = [[node for node in row if node] for _, row in read_text(path, delimiter, comments).rows()]
    ids, (members,) = encode_text_ids([node for row in rows for node in row])
    columns = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return Labels.from_indices(ids, np.arange(len(rows)), members, columns)


def _read_mat(path: Path, *, variable: str | None) -> Labels:
    variables = load_mat(path)
    matrix: Any = choose_variable(path, variables, variable, "group" if "group" in variables else None)
    if not sparse.issparse(matrix) and 1 in matrix.shape:
        return as_labels(_whole(matrix.ravel()))
    return as_labels(matrix)


def _whole(vector: Any) -> Any:
    # MATLAB stores labels 1, 2, 3 as doubles.
    whole = vector.dtype.kind == "f" and np.array_equal(vector, np.round(vector))
    return vector.astype(np.int64) if whole else vector


class _Format(NamedTuple):
    read: Callable[..., Labels]
    options: tuple[str, ...]


_FORMATS = {
    "lines": _Format(_read_lines, ("delimiter", "comments", "header")),
    "communities": _Format(_read_communities, ("delimiter", "comments")),
    "mat": _Format(_read_mat, ("variable",)),
}
