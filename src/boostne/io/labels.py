"""Reading labels: one node and its labels per line, one label and its nodes per line, or an indicator matrix."""

from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from boostne.errors import FileFormatError
from boostne.io.delimited_text import SAMPLE_LINES, TextFile, has_header, read_text
from boostne.io.files import FileFormat, format_suffix
from boostne.io.matrix_files import choose_variable, load_mat
from boostne.labels import Labels, as_labels
from boostne.node_ids import encode_text_ids
from boostne.validation import check_choice

_PAIR = 2


def read_labels(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 (the usual name)
    delimiter: str | None = None,
    comments: str | None = None,
    header: bool | None = None,
    variable: str | None = None,
) -> Labels:
    r"""Read the labels of nodes from a file.

    Parameters
    ----------
    path
        The file; it is decompressed if its name ends in ``.gz``.
    format
        ``"lines"``: a node and its labels, ``node label`` (a node may occur on several lines) or
        ``node l1 l2 …``; ``"communities"``: line ``j`` lists the nodes with label ``j``, starting at 0 and not
        counting empty lines and comments; ``"mat"``: an indicator matrix, or a vector of labels, whose rows are
        nodes 0, 1, … By default determined by the suffix: ``.cmty``, ``.mat``, or else lines.
    delimiter, comments
        As for :func:`~boostne.io.read_graph`.
    header
        For lines with two columns: whether the first line contains column names. Detected by default.
    variable
        The variable of a MATLAB file; by default ``group``.

    Returns
    -------
    Labels
        Node ids and labels have the types that :func:`~boostne.io.read_graph` gives to ids: integers if all are
        canonical integers, and strings otherwise.

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
    name = format or {".cmty": "communities", ".mat": "mat"}.get(format_suffix(path), "lines")
    check_choice("format", name, _FORMATS)
    options = {"delimiter": delimiter, "comments": comments, "header": header, "variable": variable}
    return _FORMATS[name].read(path, name, options)


def _read_lines(path: Path, *, delimiter: str | None, comments: str | None, header: bool | None) -> Labels:
    text = read_text(path, delimiter, comments)
    sample = [row for _, row in islice(text.rows(), SAMPLE_LINES)]
    if header is None:
        header = all(len(row) == _PAIR for row in sample) and has_header(sample)
    rows = [(number, _checked_fields(number, row, text)) for number, row in islice(text.rows(), int(header), None)]
    nodes = [row[0] for _, row in rows]
    labels = [row[1:] for _, row in rows]
    if not any(labels):
        raise FileFormatError(
            f"{path}: no labels: each line has one column; see delimiter=, or format='communities', "
            "which reads the nodes of one label per line"
        )
    ids, (positions,) = encode_text_ids(nodes)
    classes, (columns,) = encode_text_ids([label for row in labels for label in row])
    return Labels.from_indices(ids, classes, np.repeat(positions, [len(row) for row in labels]), columns)


def _checked_fields(number: int, row: list[str], text: TextFile) -> list[str]:
    if not row[0]:
        raise text.error(number, "an empty node id: fill it in or remove the line")
    # "node," in a table is a node without labels.
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
        return as_labels(_integers_if_whole(matrix.ravel()))
    return as_labels(matrix)


def _integers_if_whole(vector: Any) -> Any:
    # MATLAB stores labels 1, 2, 3 as doubles.
    whole = vector.dtype.kind == "f" and np.array_equal(vector, np.round(vector))
    return vector.astype(np.int64) if whole else vector


_FORMATS = {
    "lines": FileFormat(_read_lines, ("delimiter", "comments", "header")),
    "communities": FileFormat(_read_communities, ("delimiter", "comments")),
    "mat": FileFormat(_read_mat, ("variable",)),
}
