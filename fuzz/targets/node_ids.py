"""Node ids of any type: encoding, lookup, graphs and files."""

from random import Random
from typing import Any

import numpy as np

from boostne.embedding import Embedding
from boostne.graph import Graph
from boostne.io import read_embedding, write_embedding
from fuzz.case import OK, Case, attempt, require
from fuzz.expectation import expected_graph
from fuzz.oracles import check_embedding, check_graph

_STRINGS = (
    "",
    "a",
    "a\0",
    "\0",
    "ab",
    " a",
    "a ",
    "7",
    "07",
    "é",
    "e\u0301",
    "\ud800",
    "\n",
    '"',
    "a,b",
    "=1",
    "\ufeff",
    "😀",
)
_INTEGERS = (0, 1, -1, 7, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
_OTHERS = (
    (1, 2),
    (1, "a"),
    (),
    ("a", ("b",)),
    2**63,
    2**70,
    1.5,
    1.0,
    True,
    None,
    float("nan"),
    b"x",
    frozenset((1,)),
    [1],
)
_SUFFIXES = (".npz", ".npy", ".parquet", ".csv", ".emb")


def node_ids(case: Case) -> str:
    """Build a graph and an embedding with random ids; ids must be found again, and survive being written."""
    rng = case.rng
    ids = _make_ids(rng)
    case.announce(f"ids {ids!r}")
    outcome = _graph(rng, ids)
    return _embedding(case, ids) if outcome == OK else outcome


def _make_ids(rng: Random) -> list[Any]:
    pools = {"s": _STRINGS, "i": _INTEGERS, "m": _STRINGS + _INTEGERS, "o": _STRINGS + _INTEGERS + _OTHERS}
    pool = pools[rng.choice("ssimo")]
    return rng.sample(pool, rng.randint(1, 6))


def _graph(rng: Random, ids: list[Any]) -> str:
    u = [rng.choice(ids) for _ in range(6)]
    v = [rng.choice(ids) for _ in range(6)]
    given = rng.random() < 0.5
    ends: Any = (np.array(u), np.array(v)) if rng.random() < 0.3 and all(type(node) is int for node in ids) else (u, v)
    if any(isinstance(end, np.ndarray) and end.dtype.kind == "f" for end in ends):  # NumPy has no type for all of them
        ends = u, v
    graph, outcome = attempt(lambda: Graph.from_edges(*ends, nodes=ids if given else None))
    if outcome != OK:
        used = ids if given else u + v
        require(any(_is_unusual(node) for node in used), f"valid ids were refused with {outcome}")
        return outcome
    nodes = ids if given else graph.nodes.tolist()
    check_graph(graph, expected_graph([(a, b, 1.0) for a, b in zip(u, v, strict=True)], nodes))
    require(set(nodes) == set(u + v) or given, f"other ids: {nodes}")
    require(graph.index(nodes).tolist() == list(range(len(nodes))), "ids are not found again")
    return OK


def _embedding(case: Case, ids: list[Any]) -> str:
    vectors = np.arange(2.0 * len(ids), dtype=np.float32).reshape(-1, 2)
    embedding, outcome = attempt(lambda: Embedding(ids, vectors))
    if outcome != OK:
        require(any(_is_unusual(node) for node in ids), f"valid ids were refused with {outcome}")
        return outcome
    path = case.folder / f"ids{case.rng.choice(_SUFFIXES)}"
    _, outcome = attempt(lambda: write_embedding(embedding, path))
    if outcome != OK:
        return outcome
    options = {"id_type": "str"} if path.suffix in (".csv", ".emb") and type(ids[0]) is str else {}
    case.announce(case.call + f", written to and read from {path.name}, **{options}")
    copy, outcome = attempt(lambda: read_embedding(path, **options), path)
    require(outcome == OK, f"what was written cannot be read: {outcome}")
    check_embedding(copy, embedding.nodes.tolist(), vectors)
    return OK


def _is_unusual(node: Any) -> bool:
    return type(node) not in (int, str, tuple)
