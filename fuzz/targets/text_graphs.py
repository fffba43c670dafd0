"""Edge lists and adjacency lists."""

from collections.abc import Callable
from typing import Any

from boostne.io import read_graph
from fuzz.case import OK, Case, attempt, require
from fuzz.dialect import parse_adjlist, parse_edgelist
from fuzz.expectation import ExpectedGraph, expected_graph, merging_options, parse_ids
from fuzz.generate import graph_options, make_edges, make_ids, make_layout, number_text, without_blanks
from fuzz.mutations import COMPRESSIONS, compress, compress_exactly, mutate
from fuzz.oracles import check_against_parser, check_graph

_HEADERS = (("source", "target"), ("src", "dst"), ("from", "to"), ("node1", "node2"), ("FromNodeId", "ToNodeId"))


def edgelist(case: Case) -> str:
    """Read an edge list."""
    rng = case.rng
    data, options, expected = _make_edgelist(case)
    if rng.random() < 0.3:
        return _read(case, data, options, expected, parse_edgelist)
    other, *_ = _make_edgelist(case)
    if rng.random() < 0.3:
        options = _random_options(case, options)
    return _read(case, mutate(rng, data, other), options, None, parse_edgelist)


def adjlist(case: Case) -> str:
    """Read an adjacency list."""
    data, options, expected = _make_adjlist(case)
    options["format"] = "adjlist"
    if case.rng.random() < 0.3:
        return _read(case, data, options, expected, parse_adjlist)
    other, *_ = _make_adjlist(case)
    return _read(case, mutate(case.rng, data, other), options, None, parse_adjlist)


def _read(
    case: Case,
    data: bytes,
    options: dict[str, Any],
    expected: ExpectedGraph | None,
    parse: Callable[[bytes, dict[str, Any]], ExpectedGraph],
) -> str:
    packed = case.rng.random() < 0.1
    suffix = case.rng.choice(COMPRESSIONS) if packed else ""
    content = compress(case.rng, data, suffix) if packed else data
    path = case.folder / f"graph{case.rng.choice(('.txt', '.csv', '.edgelist', '.x'))}{suffix}"
    path.write_bytes(content)
    case.announce(f"read_graph({path.name!r}, **{options})")
    graph, outcome = attempt(lambda: read_graph(path, **options), path)
    damaged = packed and content != compress_exactly(data, suffix)
    if outcome != OK:
        require(expected is None or damaged, f"a valid file was refused with {outcome}")
        return outcome
    check_graph(graph, None if damaged else expected)
    if not damaged:
        check_against_parser(graph, data, options, parse, check_graph)
    return OK


def _make_edgelist(case: Case) -> tuple[bytes, dict[str, Any], ExpectedGraph]:
    """Return a valid file, options to read it, and its graph."""
    rng = case.rng
    layout = make_layout(rng)
    options = graph_options(rng)
    ids = make_ids(rng, rng.randint(2, 12))
    if layout.delimiter == " ":
        ids = without_blanks(ids)
    edges = make_edges(rng, ids, exact_sums=options.get("duplicates") == "sum")
    weighted = rng.random() < 0.5
    rows = [[str(u), str(v)] + ([number_text(rng, w)] if weighted else []) for u, v, w in edges]
    if not weighted:
        edges = [(u, v, 1.0) for u, v, _ in edges]
    header = rng.random() < 0.3
    if header:
        rows.insert(0, [*rng.choice(_HEADERS), *(["weight"] if weighted else [])])
        _permute_columns(case, rows)
    # Without options only if nothing is ambiguous.
    if isinstance(ids[0], str) or layout.padding or rng.random() < 0.3:
        options |= {"header": header, "delimiter": layout.delimiter}
    typed = parse_ids([str(end) for edge in edges for end in edge[:2]])
    edges = [(typed[str(u)], typed[str(v)], w) for u, v, w in edges]
    return layout.write(rng, rows), options, expected_graph(edges, **merging_options(options))


def _permute_columns(case: Case, rows: list[list[str]]) -> None:
    order = list(range(len(rows[0])))
    case.rng.shuffle(order)
    rows[:] = [[row[j] for j in order] for row in rows]


def _make_adjlist(case: Case) -> tuple[bytes, dict[str, Any], ExpectedGraph]:
    rng = case.rng
    layout = make_layout(rng, " ,\t")
    options = graph_options(rng)
    ids = without_blanks(make_ids(rng, rng.randint(2, 12)))
    rows = [
        list(map(str, [node, *rng.choices(ids, k=rng.choice((0, 1, 2, 5)))]))
        for node in rng.choices(ids, k=rng.randint(1, 10))
    ]
    typed = parse_ids([field for row in rows for field in row])
    edges = [(typed[row[0]], typed[neighbor], 1.0) for row in rows for neighbor in row[1:]]
    options["delimiter"] = layout.delimiter
    nodes = sorted(set(typed.values()))
    return layout.write(rng, rows), options, expected_graph(edges, nodes, **merging_options(options))


def _random_options(case: Case, options: dict[str, Any]) -> dict[str, Any]:
    """Change some options to values that may not fit the file."""
    rng = case.rng
    choices = {
        "delimiter": (None, " ", ",", ";", "\t", "|", "a"),
        "comments": (None, "", "#", "/", "1", "é"),
        "header": (None, True, False),
        "source": (None, 0, 1, 5, "source", "0", "x"),
        "target": (None, 1, 0, 2, "target", "1"),
        "weight": (None, False, 2, 0, "weight", "2"),
    }
    names = rng.sample(sorted(choices), rng.randint(1, 3))
    return options | {name: rng.choice(choices[name]) for name in names}
