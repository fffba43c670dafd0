"""Parquet tables of edges, GraphML and GML files."""

import io
from collections.abc import Callable
from random import Random
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyarrow.parquet as pq

from boostne.io import read_graph
from fuzz.case import OK, Case, attempt, require
from fuzz.expectation import ExpectedGraph, expected_graph, merging_options, parse_ids
from fuzz.generate import graph_options, make_edges, make_ids
from fuzz.mutations import compress, mutate
from fuzz.oracles import check_graph

_DOCTYPES = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;">'
    '<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;">]>',
    '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
)


def parquet(case: Case) -> str:
    """Read a table of edges."""
    rng = case.rng
    valid = rng.random() < 0.3
    options = graph_options(rng)
    ids = make_ids(rng, rng.randint(2, 10))
    edges = make_edges(rng, ids, exact_sums=True)
    columns = _columns(rng, edges, unusual=not valid and rng.random() < 0.5)
    if "weight" not in columns:
        edges = [(u, v, 1.0) for u, v, _ in edges]
    data = _parquet_bytes(rng, columns)
    if valid:
        return _read(case, data, "parquet", options, expected_graph(edges, **merging_options(options)))
    damaged = mutate(rng, data) if rng.random() < 0.6 else data
    return _read(case, damaged, "parquet", options, None)


def graphml(case: Case) -> str:
    """Read a GraphML file."""
    return _markup(case, "graphml", _make_graphml)


def gml(case: Case) -> str:
    """Read a GML file."""
    return _markup(case, "gml", _make_gml)


def _markup(case: Case, suffix: str, make: Callable[..., str]) -> str:
    rng = case.rng
    options = graph_options(rng)
    options.pop("directed", None)
    ids = make_ids(rng, rng.randint(2, 8))
    edges = make_edges(rng, ids, exact_sums=True)
    directed = rng.random() < 0.5
    weighted = rng.random() < 0.5
    if not weighted:
        edges = [(u, v, 1.0) for u, v, _ in edges]
    text = make(ids, edges, directed=directed, weighted=weighted)
    if rng.random() < 0.7:
        text = text.replace("<graphml", f"{rng.choice(_DOCTYPES)}<graphml", rng.random() < 0.05)
        return _read(case, mutate(rng, text.encode()), suffix, options, None)
    typed = parse_ids([str(node) for node in ids])
    named = [(typed[str(u)], typed[str(v)], w) for u, v, w in edges]
    expected = expected_graph(named, list(typed.values()), **(merging_options(options) | {"directed": directed}))
    return _read(case, text.encode(), suffix, options, expected)


def _read(case: Case, data: bytes, suffix: str, options: dict[str, Any], expected: ExpectedGraph | None) -> str:
    packed = expected is None and case.rng.random() < 0.1
    path = case.folder / f"graph.{suffix}{'.gz' if packed else ''}"
    path.write_bytes(compress(case.rng, data) if packed else data)
    case.announce(f"read_graph({path.name!r}, **{options})")
    graph, outcome = attempt(lambda: read_graph(path, **options), path)
    if outcome == OK:
        check_graph(graph, expected)
    else:
        require(expected is None, f"a valid file was refused with {outcome}")
    return outcome


def _columns(rng: Random, edges: list[tuple[Any, Any, float]], *, unusual: bool) -> dict[str, Any]:
    """Return the columns of a table of edges; unusual ones have types or values that are refused, or nulls."""
    u, v, w = map(list, zip(*edges, strict=True))
    kind = pa.int64() if isinstance(u[0], int) else rng.choice((pa.string(), pa.large_string()))
    columns = {"source": pa.array(u, kind), "target": pa.array(v, kind)}
    if rng.random() < 0.5:
        columns["weight"] = pa.array(w, rng.choice((pa.float64(), pa.float64(), pa.float32())))
    if rng.random() < 0.3:
        columns = {name: column.dictionary_encode() if name != "weight" else column for name, column in columns.items()}
    if unusual:
        columns[rng.choice(sorted(columns))] = _unusual_column(rng, len(edges))
    return columns


def _unusual_column(rng: Random, length: int) -> Any:
    values, kind = rng.choice((
        ([None], pa.int64()),
        ([None], pa.null()),
        ([1.5], pa.float64()),
        ([float("nan")], pa.float64()),
        ([float("inf")], pa.float64()),
        ([-1.0], pa.float64()),
        ([True], pa.bool_()),
        ([b"\xff\0"], pa.binary()),
        ([[1, 2]], pa.list_(pa.int64())),
        ([{"a": 1}], pa.struct({"a": pa.int64()})),
        ([2**64 - 1], pa.uint64()),
        ([1], pa.timestamp("ns")),
        ([1], pa.duration("s")),
        ([1], pa.date32()),
        (["1.5"], pa.string()),
        ([""], pa.string()),
        (["a\0b"], pa.string()),
        ([1], pa.decimal128(38, 3)),
        ([1.0], pa.float16()),
    ))  # fmt: skip
    column = pa.array(values * length, kind)
    if rng.random() < 0.5 or length < 2:
        return column
    usual = pa.array(range(length)) if kind == pa.int64() else column
    return pa.concat_arrays([usual.slice(1).cast(kind), pa.nulls(1, kind)])


def _parquet_bytes(rng: Random, columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    table = pa.table(columns)
    pq.write_table(
        table,
        buffer,
        compression=rng.choice(("NONE", "NONE", "SNAPPY", "GZIP", "ZSTD")),
        use_dictionary=rng.random() < 0.5,
        row_group_size=rng.choice((1, 3, 1000)),
        data_page_version=rng.choice(("1.0", "2.0")),
        store_schema=rng.random() < 0.7,
    )
    return buffer.getvalue()


def _make_graphml(ids: list[Any], edges: list[tuple[Any, Any, float]], *, directed: bool, weighted: bool) -> str:
    nodes = "".join(f"<node id={quoteattr(str(node))}/>\n" for node in ids)
    links = "".join(
        f"<edge source={quoteattr(str(u))} target={quoteattr(str(v))}>"
        f"{f'<data key={chr(34)}w{chr(34)}>{w}</data>' if weighted else ''}</edge>\n"
        for u, v, w in edges
    )
    kind = "directed" if directed else "undirected"
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        '<key id="w" for="edge" attr.name="weight" attr.type="double"/>\n'
        f'<graph edgedefault="{kind}">\n{nodes}{links}</graph></graphml>\n'
    )


def _make_gml(ids: list[Any], edges: list[tuple[Any, Any, float]], *, directed: bool, weighted: bool) -> str:
    number = {node: i for i, node in enumerate(ids)}
    nodes = "".join(
        f'  node [ id {number[node]} label "{escape(str(node)).encode("ascii", "xmlcharrefreplace").decode()}" ]\n'
        for node in ids
    )
    links = "".join(
        f"  edge [ source {number[u]} target {number[v]} {f'weight {w}' if weighted else ''} ]\n" for u, v, w in edges
    )
    return f"graph [\n  directed {int(directed)}\n  multigraph 1\n{nodes}{links}]\n"
