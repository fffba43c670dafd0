"""Reading labels: one node and its labels per line, one label and its nodes per line, or an indicator matrix."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from boostne.errors import FileFormatError
from boostne.io.compression import format_suffix
from boostne.io.delimited_text import PYTHON_BLOCK, read_text
from boostne.io.files import FileFormat, errors_naming
from boostne.io.label_lines import Column, read_lines
from boostne.io.mat_files import open_mat
from boostne.io.mistaken_tables import are_edges
from boostne.io.reading_budget import ReadingBudget
from boostne.io.reading_notes import ReadingNotes, count_of
from boostne.io.text_ids import TextIdColumns
from boostne.labels import Labels, as_labels
from boostne.validation import check_choice

_OTHER_SUFFIXES = (".npz", ".npy", ".emb", ".parquet", ".pq")
_EXACT = 1 << 53  # doubles represent all integers up to here


def read_labels(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 (the usual name)
    delimiter: str | None = None,
    comments: str | None = None,
    header: bool | None = None,
    node: Column | None = None,
    label: Column | None = None,
    multilabel: bool | None = None,
    variable: str | None = None,
    memory_limit: Any = None,
) -> Labels:
    r"""Read the labels of nodes from a file.

    Parameters
    ----------
    path
        The file; compressed files and ``"-"`` as for :func:`~boostne.io.read_graph`.
    format
        ``"lines"``: a node and its labels, ``node label`` (a node may occur on several lines) or
        ``node l1 l2 …``, or a table
        with one column of each; ``"communities"``: line ``j`` lists the nodes with label ``j``, starting at 0 and not
        counting empty lines and comments; ``"mat"``: an indicator matrix, or a vector of labels, whose rows are
        nodes 0, 1, … By default determined by the suffix: ``.cmty``, ``.mat``, or else lines.
    delimiter, comments
        As for :func:`~boostne.io.read_graph`.
    header
        For lines with a constant number of columns: whether the first line contains column names. Detected by default.
    node, label
        Columns of a table by name or by position, starting at 0. By default ``node``, ``node_id``, ``id``, ``vertex``,
        ``name`` or the first, and ``label``, ``class``, ``category``, ``community``, ``group``, ``target`` or
        the second of two; others are ignored.
    multilabel
        Whether further columns are further labels. By default they are if that is unambiguous; if a file such as
        ``1 machine learning`` can be read in several ways, that is an error. With False, the rest of a line that is
        delimited by spaces is one label.
    variable
        The variable of a MATLAB file; by default ``group``.
    memory_limit
        As for :func:`~boostne.io.read_graph`.

    Returns
    -------
    Labels
        Node ids and labels have the types that :func:`~boostne.io.read_graph` gives to ids: integers if all are
        canonical integers or whole floats, and strings otherwise.

    Warns
    -----
    InputWarning
        One line on how the file was read, if it could be read otherwise. Without doubt, the line is a record of the
        logger ``"boostne.io"``, of level INFO.

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
    with errors_naming(path, "a compressed file"):
        suffix = format_suffix(path)
    if format is None and suffix in _OTHER_SUFFIXES:
        raise FileFormatError(
            f"{path}: labels are read from text and .mat files, and {suffix} is a suffix of vectors and tables: give a "
            "file of labels, or save a table as .csv"
        )
    name = format or {".cmty": "communities", ".mat": "mat"}.get(suffix, "lines")
    check_choice("format", name, _FORMATS)
    options = {
        "delimiter": delimiter,
        "comments": comments,
        "header": header,
        "node": node,
        "label": label,
        "multilabel": multilabel,
        "variable": variable,
    }
    notes = ReadingNotes(path)
    labels = _FORMATS[name].read(path, name, options, budget=ReadingBudget(path, memory_limit), notes=notes)
    per_node = np.diff(labels.matrix.indptr)
    most = int(per_node.max(initial=0))
    notes.assume(
        f"{count_of(labels.n_nodes, 'node')}, {count_of(len(labels.classes), 'label')}, "
        f"{'one' if most == 1 else f'up to {most:,}'} per node"
    )
    if are_edges(labels.nodes, labels.classes):
        notes.doubt("most labels are also nodes, as in a list of edges: check that this is a file of labels")
    notes.publish()
    return labels


def _read_communities(
    path: Path, *, delimiter: str | None, comments: str | None, budget: ReadingBudget, notes: ReadingNotes
) -> Labels:
    nodes, counts, n_labels = TextIdColumns(1), [np.zeros(0, dtype=np.int64)], 0
    text = read_text(path, delimiter, comments, budget, PYTHON_BLOCK)
    notes.assume(f"{text.describe()}; line j lists the nodes of label j")
    for block in text.blocks():
        budget.check_labels(n_labels, block.raw)
        rows = [[node for node in row if node] for _, row in block.rows()]
        nodes.add([node for row in rows for node in row])
        counts.append(np.array([len(row) for row in rows], dtype=np.int64))
        n_labels += int(counts[-1].sum())
    budget.check_labels(n_labels)
    ids, (members,) = nodes.encode(budget)
    sizes = np.concatenate(counts)
    return Labels.from_indices(ids, np.arange(len(sizes)), members, np.repeat(np.arange(len(sizes)), sizes))


def _read_mat(path: Path, *, variable: str | None, budget: ReadingBudget, notes: ReadingNotes) -> Labels:
    with open_mat(path, budget) as file:
        matrix: Any = file.load(variable, "group" if "group" in file.variables else None)
    notes.assume(f"variable {variable or 'group'!r}; rows are nodes 0, 1, …")
    if not sparse.issparse(matrix) and 1 in matrix.shape:
        return as_labels(_integers_if_whole(matrix.ravel()))
    return as_labels(matrix)


def _integers_if_whole(vector: Any) -> Any:
    # MATLAB stores labels 1, 2, 3 as doubles.
    whole = vector.dtype.kind == "f" and np.all(abs(vector) <= _EXACT) and np.array_equal(vector, np.round(vector))
    return vector.astype(np.int64) if whole else vector


_FORMATS = {
    "lines": FileFormat(read_lines, ("delimiter", "comments", "header", "node", "label", "multilabel")),
    "communities": FileFormat(_read_communities, ("delimiter", "comments")),
    "mat": FileFormat(_read_mat, ("variable",)),
}
