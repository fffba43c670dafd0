"""Conversion of other libraries' graphs, matrices, tables and edge lists to :class:`~boostne.graph.Graph`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.edges import warn_dropped_self_loops
from boostne.errors import GraphError, ParameterError
from boostne.graph import Duplicates, Graph, SelfLoops
from boostne.node_ids import format_ids
from boostne.sides import COLUMNS

# Name of the column or edge attribute with the weights; None: the usual name, if present; False: unweighted.
Weight = str | Literal[False] | None

ENDPOINT_COLUMNS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("node1", "node2"),
    ("fromnodeid", "tonodeid"),
    ("user", "item"),
    ("userid", "itemid"),
)
_WEIGHT_COLUMNS = ("weight", "weights", "w")
_ACCEPTED = (
    "a Graph; a square SciPy sparse matrix or NumPy array; a list of (u, v) or (u, v, weight) tuples; "
    "a networkx or igraph graph; a PyTorch Geometric Data; a pandas, polars or Arrow table of edges"
)


class Columns(NamedTuple):
    """Names of the columns with the endpoints and weights of edges."""

    source: str
    target: str
    weight: str | None


class EdgeOptions(TypedDict):
    """Parameters of :func:`as_graph` that apply to every kind of object."""

    directed: bool | None
    duplicates: Duplicates
    self_loops: SelfLoops


class _Options(NamedTuple):
    """Parameters of :func:`as_graph`."""

    directed: bool | None
    nodes: Any
    source: str | None
    target: str | None
    weight: Weight
    duplicates: Duplicates
    self_loops: SelfLoops
    by_column: bool


def as_graph(
    obj: Any,
    *,
    directed: bool | None = None,
    nodes: Any = None,
    source: str | None = None,
    target: str | None = None,
    weight: Weight = None,
    duplicates: Duplicates = "once",
    self_loops: SelfLoops = "drop",
    sides: Any = None,
) -> Graph:
    """Convert an object to a :class:`~boostne.graph.Graph`.

    Parameters
    ----------
    obj
        A Graph (returned unchanged); a square SciPy sparse matrix or NumPy array (row ``i`` is node ``i``); a
        list of ``(u, v)`` or ``(u, v, weight)`` tuples; a networkx or igraph graph (igraph's vertex attribute
        ``name`` gives the ids); a PyTorch Geometric ``Data`` (``edge_weight``, or an ``edge_attr`` with one
        value per edge, gives the weights); a pandas, polars or Arrow table with one edge per row.
    directed
        By default networkx and igraph graphs keep their direction, a matrix or ``edge_index`` is undirected if
        symmetric, and lists and tables are undirected. False raises an error for a directed object.
    nodes
        For lists and tables: all ids in the desired order, including isolated nodes. For matrices and ``Data``:
        the ids of the rows. Not accepted for objects that have node ids.
    source, target
        Names of a table's columns. By default ``source, target``, ``src, dst``, ``from, to`` or ``u, v``, or
        else the first two columns.
    weight
        Name of the column or edge attribute with the weights. None uses ``weight`` if present; False ignores
        weights. Edges of a networkx graph without the attribute have weight 1.
    duplicates
        ``"once"`` keeps an edge that is listed several times once, with its largest weight; ``"sum"`` adds the
        weights. Duplicate entries of a sparse matrix are always added, as in SciPy.
    self_loops
        ``"drop"`` or ``"keep"``.
    sides
        For a bipartite graph: the ids of the nodes of one side, the first, or a boolean mask of the nodes. For lists
        and tables also ``"columns"``: the sources are one side and the targets the other, and they share no id.

    Returns
    -------
    Graph

    Examples
    --------
    >>> as_graph([("a", "b"), ("b", "c")])
    Graph(3 nodes, 2 edges, undirected, unweighted)
    >>> as_graph(np.array([[0, 2.5], [0, 0]]))
    Graph(2 nodes, 1 edges, directed, weighted)
    """
    convert = next((convert for accepts, convert in _CONVERTERS if accepts(obj)), _from_table)
    by_column = convert in (_from_pairs, _from_table) and isinstance(sides, str) and sides == COLUMNS
    graph = convert(obj, _Options(directed, nodes, source, target, weight, duplicates, self_loops, by_column))
    return graph if sides is None or by_column else graph.with_sides(sides)


def choose_columns(
    names: Sequence[str], source: str | None = None, target: str | None = None, weight: Weight = None
) -> Columns:
    """Choose the columns of an edge table: the given names, the usual names, or the first two columns.

    Raises ParameterError if there are further columns and none of them is called ``weight``, rather than silently
    ignoring weights.

    Examples
    --------
    >>> choose_columns(["dst", "src", "weight"])
    Columns(source='src', target='dst', weight='weight')
    """
    for role, name in (("source", source), ("target", target), ("weight", weight)):
        if name is not None and name is not False and name not in names:
            raise ParameterError(f"{role}={name!r} is not a column; the columns are {format_ids(names, 20)}")
    if (source is None) != (target is None):
        raise ParameterError("specify both source and target, or neither")
    if len(names) < 2:  # noqa: PLR2004
        raise GraphError(f"a table of edges needs two columns, got {format_ids(names) or 'none'}")
    lower = {name.strip().lower().replace("_", ""): name for name in names}
    if source is None or target is None:
        usual = next((pair for pair in ENDPOINT_COLUMNS if pair[0] in lower and pair[1] in lower), None)
        source, target = (lower[usual[0]], lower[usual[1]]) if usual else (names[0], names[1])
    if source == target:
        raise ParameterError(f"source and target are the same column, {source!r}")
    if weight is None:
        others = [name for name in names if name not in (source, target)]
        weight = next((lower[name] for name in _WEIGHT_COLUMNS if lower.get(name) in others), None)
        if weight is None and others:
            raise ParameterError(
                f"the weight column is ambiguous; the columns are {format_ids(names, 20)}: pass "
                f"weight={others[0]!r}, or weight=False to read the edges without weights"
            )
    if weight in (source, target):
        raise ParameterError(f"weight={weight!r} is the column of the endpoints; pass weight=False to ignore weights")
    return Columns(source, target, None if weight is False else weight)


def _reject_nodes(obj: Any, options: _Options) -> None:
    if options.nodes is not None:
        raise ParameterError(f"nodes= cannot be used with a {type(obj).__name__}, which has its own node ids")


def _from_graph(graph: Graph, options: _Options) -> Graph:
    _reject_nodes(graph, options)
    return _with_direction(graph, options)


def _with_direction(graph: Graph, options: _Options) -> Graph:
    if options.directed is None or options.directed == graph.directed:
        return graph
    if options.directed:
        return graph.to_directed()
    raise GraphError("directed=False, but the graph is directed; leave it out and pass as_graph(graph).to_undirected()")


def _build(nodes: Any, u: Any, v: Any, weight: Any, *, directed: bool, options: _Options) -> Graph:
    graph = Graph.from_indices(
        nodes, u, v, weight, directed=directed, duplicates=options.duplicates, self_loops=options.self_loops
    )
    return _with_direction(graph, options)


def _from_matrix(matrix: Any, options: _Options) -> Graph:
    graph = Graph(matrix, options.nodes, options.directed)
    if options.self_loops == "drop" and graph.n_self_loops:
        warn_dropped_self_loops(graph.n_self_loops)
        graph = graph.without_self_loops()
    return graph


def _from_pairs(pairs: Iterable[Any], options: _Options) -> Graph:
    rows = list(pairs)
    if not rows:
        raise GraphError("the list of edges is empty")
    wrong = next((row for row in rows if not isinstance(row, list | tuple)), None)
    lengths = set() if wrong is not None else set(map(len, rows))
    if lengths not in ({2}, {3}):
        raise GraphError(
            "a list of edges must contain (u, v) or (u, v, weight) tuples, all of the same length; "
            f"got {f'lengths {sorted(lengths)}' if lengths else repr(wrong)}"
        )
    columns = list(zip(*rows, strict=True))
    return Graph.from_edges(
        columns[0],
        columns[1],
        columns[2] if len(columns) > 2 and options.weight is not False else None,  # noqa: PLR2004
        nodes=options.nodes,
        directed=bool(options.directed),
        duplicates=options.duplicates,
        self_loops=options.self_loops,
        sides=COLUMNS if options.by_column else None,
    )


def _from_networkx(graph: Any, options: _Options) -> Graph:
    _reject_nodes(graph, options)
    nodes = list(graph)
    position_of = {node: position for position, node in enumerate(nodes)}
    edges = list(graph.edges(data=options.weight or "weight"))
    u = np.fromiter((position_of[edge[0]] for edge in edges), np.int64, len(edges))
    v = np.fromiter((position_of[edge[1]] for edge in edges), np.int64, len(edges))
    weights = _networkx_weights([edge[2] for edge in edges], options.weight)
    return _build(nodes, u, v, weights, directed=graph.is_directed(), options=options)


def _networkx_weights(values: list[Any], name: Weight) -> list[Any] | None:
    if name is False:
        return None
    if all(value is None for value in values):
        if name and values:
            raise ParameterError(f"weight={name!r} is not an attribute of any edge")
        return None
    return [1 if value is None else value for value in values]


def _from_igraph(graph: Any, options: _Options) -> Graph:
    _reject_nodes(graph, options)
    nodes = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    name = options.weight or "weight"
    attributes = graph.es.attributes()
    present = name in attributes
    if options.weight and not present:
        raise ParameterError(
            f"weight={name!r} is not an edge attribute; the attributes are {format_ids(attributes) or 'none'}"
        )
    weights = graph.es[name] if present and options.weight is not False else None
    return _build(nodes, ends[:, 0], ends[:, 1], weights, directed=graph.is_directed(), options=options)


def _from_pyg(data: Any, options: _Options) -> Graph:
    ends = _to_numpy(data.edge_index)
    nodes = np.arange(data.num_nodes) if options.nodes is None else options.nodes
    weights = _pyg_weights(data, options.weight)
    graph = Graph.from_indices(
        nodes, ends[0], ends[1], weights, directed=True, duplicates=options.duplicates, self_loops=options.self_loops
    )
    return Graph(graph.adjacency, graph.nodes, options.directed)


def _pyg_weights(data: Any, name: Weight) -> NDArray[Any] | None:
    if name is False:
        return None
    if name:
        found = getattr(data, name, None)
        if found is None:
            raise ParameterError(f"weight={name!r} is not an attribute of the Data; its attributes are {data.keys()}")
        return _to_numpy(found).reshape(-1)
    weights = getattr(data, "edge_weight", None)
    if weights is None:
        weights = getattr(data, "edge_attr", None)
    # A wider edge_attr contains features, not weights.
    if weights is None or weights.numel() != data.edge_index.shape[1]:
        return None
    return _to_numpy(weights).reshape(-1)


def _to_numpy(tensor: Any) -> NDArray[Any]:
    return np.asarray(tensor.detach().cpu().numpy())


def _from_table(table: Any, options: _Options) -> Graph:
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise TypeError(f"cannot convert {type(table).__name__} to a graph; accepted: {_ACCEPTED}") from None
    columns = choose_columns(frame.columns, options.source, options.target, options.weight)
    return Graph.from_edges(
        _ids_of(frame[columns.source]),
        _ids_of(frame[columns.target]),
        None if columns.weight is None else frame[columns.weight].to_numpy(),
        nodes=options.nodes,
        directed=bool(options.directed),
        duplicates=options.duplicates,
        self_loops=options.self_loops,
        sides=COLUMNS if options.by_column else None,
    )


def _ids_of(column: Any) -> Any:
    import narwhals as nw

    # Columns of mixed objects and of complex numbers have no Arrow type.
    return column.to_numpy() if column.dtype in (nw.Object, nw.Unknown) else column.to_arrow()


_CONVERTERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, _Options], Graph]], ...] = (
    (lambda obj: isinstance(obj, Graph), _from_graph),
    (lambda obj: sparse.issparse(obj) or isinstance(obj, np.ndarray), _from_matrix),
    # Duck typing: none of these libraries needs to be installed.
    (lambda obj: hasattr(obj, "is_multigraph") and hasattr(obj, "adj"), _from_networkx),
    (lambda obj: hasattr(obj, "get_edgelist") and hasattr(obj, "vs"), _from_igraph),
    (lambda obj: hasattr(obj, "edge_index") and hasattr(obj, "num_nodes"), _from_pyg),
    (lambda obj: isinstance(obj, list | tuple | set | frozenset), _from_pairs),
)
