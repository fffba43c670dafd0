"""Reading labels: one node and its labels per line, one label and its nodes per line, or an indicator matrix."""

from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from boostne.errors import FileFormatError
from boostne.io.delimited_text import PYTHON_BLOCK, TextBlock, has_header, read_text
from boostne.io.files import FileFormat, format_suffix
from boostne.io.mat_files import open_mat
from boostne.io.reading_budget import ReadingBudget
from boostne.io.text_ids import TextIdColumns
from boostne.labels import Labels, as_labels
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
    memory_limit: Any = None,
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
    memory_limit
        As for :func:`~boostne.io.read_graph`.

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
    return _FORMATS[name].read(path, name, options, budget=ReadingBudget(path, memory_limit))


def _read_lines(
    path: Path, *, delimiter: str | None, comments: str | None, header: bool | None, budget: ReadingBudget
) -> Labels:
    text = read_text(path, delimiter, comments, budget, PYTHON_BLOCK)
    sample = [row for _, row in text.sample_rows()]
    if header is None:
        header = all(len(row) == _PAIR for row in sample) and has_header(sample)
    nodes, labels, counts = TextIdColumns(1), TextIdColumns(1), [np.zeros(0, dtype=np.int64)]
    for block in text.blocks():
        rows = [_checked_fields(number, row, block) for number, row in islice(block.rows(), int(header), None)]
        header = False
        nodes.add([row[0] for row in rows])
        labels.add([label for row in rows for label in row[1:]])
        counts.append(np.array([len(row) - 1 for row in rows], dtype=np.int64))
        budget.check_labels(sum(map(len, counts)))
    per_line = np.concatenate(counts)
    if not per_line.any():
        raise FileFormatError(
            f"{path}: no labels: each line has one column; see delimiter=, or format='communities', "
            "which reads the nodes of one label per line"
        )
    ids, (positions,) = nodes.encode(budget)
    classes, (columns,) = labels.encode(budget)
    return Labels.from_indices(ids, classes, np.repeat(positions, per_line), columns)


def _checked_fields(number: int, row: list[str], block: TextBlock) -> list[str]:
    if not row[0]:
        raise block.error(number, "an empty node id: fill it in or remove the line")
    # "node," in a table is a node without labels.
    return [row[0], *filter(None, row[1:])]


def _read_communities(path: Path, *, delimiter: str | None, comments: str | None, budget: ReadingBudget) -> Labels:
    nodes, counts = TextIdColumns(1), [np.zeros(0, dtype=np.int64)]
    for block in read_text(path, delimiter, comments, budget, PYTHON_BLOCK).blocks():
        rows = [[node for node in row if node] for _, row in block.rows()]
        nodes.add([node for row in rows for node in row])
        counts.append(np.array([len(row) for row in rows], dtype=np.int64))
        budget.check_labels(sum(map(len, counts)))
    ids, (members,) = nodes.encode(budget)
    sizes = np.concatenate(counts)
    return Labels.from_indices(ids, np.arange(len(sizes)), members, np.repeat(np.arange(len(sizes)), sizes))


def _read_mat(path: Path, *, variable: str | None, budget: ReadingBudget) -> Labels:
    with open_mat(path, budget) as file:
        matrix: Any = file.load(variable, "group" if "group" in file.variables else None)
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
