"""One function that reads a graph from any file."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

from boostne.graph import Duplicates, Graph, SelfLoops
from boostne.io.edgelist import Column, read_adjlist, read_edgelist
from boostne.io.files import own_options, reading, suffix_of
from boostne.io.graphml import read_gml, read_graphml
from boostne.io.matrices import read_mat, read_mtx, read_npz
from boostne.io.tables import read_parquet
from boostne.validation import check_choice


class _Format(NamedTuple):
    read: Callable[..., Graph]
    options: tuple[str, ...]


_EDGELIST = _Format(read_edgelist, ("delimiter", "comments", "header", "source", "target", "weight"))
_FORMATS = {
    "edgelist": _EDGELIST,
    "csv": _EDGELIST,
    "adjlist": _Format(read_adjlist, ("delimiter", "comments")),
    "mtx": _Format(read_mtx, ()),
    "mat": _Format(read_mat, ("variable",)),
    "npz": _Format(read_npz, ()),
    "parquet": _Format(read_parquet, ("source", "target", "weight")),
    "graphml": _Format(read_graphml, ("weight",)),
    "gml": _Format(read_gml, ("weight",)),
}
_SUFFIXES = {".pq": "parquet"} | {f".{name}": name for name in _FORMATS}


def read_graph(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 (the word users know)
    directed: bool | None = None,
    delimiter: str | None = None,
    comments: str | None = None,
    header: bool | None = None,
    source: Column | None = None,
    target: Column | None = None,
    weight: Column | Literal[False] | None = None,
    variable: str | None = None,
    duplicates: Duplicates = "once",
    self_loops: SelfLoops = "drop",
) -> Graph:
    r"""Read a graph from a file.

    Parameters
    ----------
    path
        The file; ``.gz`` at the end of its name means compressed.
    format
        ``"edgelist"`` (or ``"csv"``): an edge per line, ``u v`` or ``u v weight``, or a table with named
        columns; ``"adjlist"``: ``u v1 v2 …``; ``"mtx"``, ``"mat"``, ``"npz"`` (SciPy's): adjacency matrices,
        whose rows are nodes 0, 1, …; ``"parquet"``: a table; ``"graphml"``, ``"gml"``. None goes by the
        suffix; one that is not known means an edge list.
    directed
        None follows the file: matrices are undirected when symmetric, GraphML and GML say it themselves, edge
        lists and tables are undirected. False on a file that has a direction is an error.
    delimiter
        Between the fields of a line; a space stands for any run of spaces and tabs. None finds out: tab,
        semicolon, comma or spaces.
    comments
        A line that begins with one of these characters is a comment; ``"#%"`` where not given, ``""`` for no
        comments.
    header
        Whether the first line names the columns. None finds out.
    source, target, weight
        Columns by name, or by place counted from 0. Where not given: ``source, target``, ``src, dst``,
        ``from, to``, ``u, v`` or the first two, and ``weight`` or the third of three. ``weight=False`` reads
        the edges without weights.
    variable
        The variable of a MATLAB file. Where not given: ``network``, ``A``, ``adj``, ``adjacency``, ``graph``
        or ``W``, or else the only square sparse one.
    duplicates
        ``"once"`` keeps an edge listed several times (for an undirected graph, in either direction) once,
        with its largest weight; ``"sum"`` adds the weights.
    self_loops
        ``"drop"`` leaves them out and logs their number; their nodes stay. ``"keep"`` keeps them.

    Returns
    -------
    Graph
        Ids are integers where all are written as plain integers, strings otherwise.

    Raises
    ------
    FileFormatError
        With the file and, for text, the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "edges.csv"
    ...     _ = file.write_text("source,target,weight\nann,bob,2\nbob,eve,0.5\n")
    ...     read_graph(file)
    Graph(3 nodes, 2 edges, undirected, weighted)
    """
    path = Path(path)
    name = format or _SUFFIXES.get(suffix_of(path), "edgelist")
    check_choice("format", name, _FORMATS)
    options = {
        "delimiter": delimiter,
        "comments": comments,
        "header": header,
        "source": source,
        "target": target,
        "weight": weight,
        "variable": variable,
    }
    chosen = _FORMATS[name]
    with reading(path, name):
        return chosen.read(
            path,
            directed=directed,
            duplicates=duplicates,
            self_loops=self_loops,
            **own_options(name, chosen.options, options),
        )
