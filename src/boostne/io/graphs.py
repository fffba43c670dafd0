"""Reading graphs from files of all supported formats."""

from os import PathLike
from pathlib import Path
from typing import Any, Literal

from boostne.graph import Duplicates, Graph, SelfLoops
from boostne.io.compression import format_suffix
from boostne.io.edge_tables import read_edge_table
from boostne.io.edgelist import Column, read_adjlist, read_edgelist
from boostne.io.files import PARQUET_SUFFIXES, FileFormat, errors_naming
from boostne.io.graphml import read_gml, read_graphml
from boostne.io.json_graphs import read_json
from boostne.io.matrix_files import read_mat, read_mtx, read_scipy_npz
from boostne.io.reading_budget import ReadingBudget
from boostne.io.reading_notes import ReadingNotes, count_of
from boostne.validation import check_choice

_EDGELIST = FileFormat(read_edgelist, ("delimiter", "comments", "header", "source", "target", "weight", "bipartite"))
_FORMATS: dict[str, FileFormat[Graph]] = {
    "edgelist": _EDGELIST,
    "csv": _EDGELIST,
    "adjlist": FileFormat(read_adjlist, ("delimiter", "comments")),
    "mtx": FileFormat(read_mtx, ()),
    "mat": FileFormat(read_mat, ("variable",)),
    "npz": FileFormat(read_scipy_npz, ()),
    "parquet": FileFormat(read_edge_table, ("source", "target", "weight", "bipartite")),
    "graphml": FileFormat(read_graphml, ("weight",)),
    "gml": FileFormat(read_gml, ("weight",)),
    "json": FileFormat(read_json, ("weight",)),
}
_SUFFIXES = dict.fromkeys(PARQUET_SUFFIXES, "parquet") | {f".{name}": name for name in _FORMATS}


def read_graph(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 (the usual name)
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
    bipartite: bool = False,
    memory_limit: Any = None,
) -> Graph:
    r"""Read a graph from a file.

    Parameters
    ----------
    path
        The file; it is decompressed if its name ends in ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.zip`` (an archive
        of one file). ``"-"`` is the standard input. A folder is a table whose parts are its Parquet files, all with
        the same columns.
    format
        ``"edgelist"`` (or ``"csv"``): one edge per line, ``u v`` or ``u v weight``, or a table with named
        columns; ``"adjlist"``: ``u v1 v2 …``; ``"mtx"``, ``"mat"``, ``"npz"`` (SciPy's): adjacency matrices,
        whose rows are nodes 0, 1, …; ``"parquet"``: a table; ``"graphml"``, ``"gml"``; ``"json"``: node-link
        data, as of networkx and d3, or a list of edges. By default the suffix determines the format; unknown suffixes
        mean an edge list.
    directed
        By default matrices are undirected if symmetric, GraphML, GML and JSON files declare it, and edge lists
        and tables are undirected. False raises an error for a directed file.
    delimiter
        Separator of fields; a space stands for any run of spaces and tabs. By default tab, semicolon, comma or
        spaces are detected.
    comments
        Lines that begin with one of these characters are comments. By default ``"#%"``; ``""`` means no
        comments.
    header
        Whether the first line contains column names. Detected by default; if the first line of a file with text ids
        may be either, that is an error.
    source, target, weight
        Columns by name or by position, starting at 0. By default ``source, target``, ``src, dst``, ``from, to``,
        ``u, v`` or the first two, and ``weight`` or the third of three. ``weight=False`` ignores weights.
    variable
        The variable of a MATLAB file. By default ``network``, ``A``, ``adj``, ``adjacency``, ``graph`` or ``W``,
        or else the only square sparse matrix.
    duplicates
        ``"once"`` keeps an edge that is listed several times (for an undirected graph, in either direction) once,
        with its largest weight; ``"sum"`` adds the weights.
    self_loops
        ``"drop"`` removes self-loops, but not their nodes, and warns of it; ``"keep"`` keeps them.
    bipartite
        For edge lists and tables: the sources are one side of a bipartite graph and the targets the other; an id in
        both columns is an error. See :class:`~boostne.Graph`.
    memory_limit
        Upper bound on the memory of the process, such as ``"2GB"``; by default 80 % of the available memory.

    Returns
    -------
    Graph
        Ids are integers if all are canonical integers (``7``, but not ``007``) or whole floats (``7.0``), and strings
        otherwise.

    Warns
    -----
    InputWarning
        One line on how the file was read, if a part of it was left out. Otherwise the line is a record of the logger
        ``"boostne.io"``, of level INFO.

    Raises
    ------
    FileFormatError
        The message names the file and, for text, the line.
    MemoryLimitError
        The file is too large for ``memory_limit``; raised before the memory is allocated.

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
    with errors_naming(path, "a compressed file"):
        name = format or ("parquet" if path.is_dir() else _SUFFIXES.get(format_suffix(path), "edgelist"))
    check_choice("format", name, _FORMATS)
    check_choice("self_loops", self_loops, ("drop", "keep"))
    options = {
        "delimiter": delimiter,
        "comments": comments,
        "header": header,
        "source": source,
        "target": target,
        "weight": weight,
        "variable": variable,
        "bipartite": bipartite or None,
    }
    notes = ReadingNotes(path)
    graph = _FORMATS[name].read(
        path,
        name,
        options,
        directed=directed,
        duplicates=duplicates,
        self_loops="keep",
        budget=ReadingBudget(path, memory_limit),
        notes=notes,
    )
    if self_loops == "drop" and graph.n_self_loops:
        notes.doubt(f"dropped {count_of(graph.n_self_loops, 'self-loop')}; self_loops='keep' keeps them")
        graph = graph.without_self_loops()
    weighted = ", weighted" if graph.weighted else ""
    notes.assume(f"{count_of(graph.n_nodes, 'node')}, {count_of(graph.n_edges, 'edge')}{weighted}")
    notes.publish()
    return graph
