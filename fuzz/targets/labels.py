"""Label files: lines, communities and MATLAB files."""

import io
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import savemat

from boostne.io import read_labels
from fuzz.case import OK, Case, attempt, require
from fuzz.dialect import parse_communities, parse_labels
from fuzz.expectation import parse_ids
from fuzz.generate import make_ids, make_layout, without_blanks
from fuzz.mutations import COMPRESSIONS, compress, mutate
from fuzz.oracles import check_against_parser, check_labels

_HEADERS = (["node", "label"], ["id", "class"], ["Node", "Label"])

Expected = dict[Any, set[Any]]


def lines(case: Case) -> str:
    """Read lines of a node and its labels."""
    return _text(case, _make_lines, parse_labels, {})


def communities(case: Case) -> str:
    """Read lines that list the nodes of one label."""
    return _text(case, _make_communities, parse_communities, {"format": "communities"})


def mat(case: Case) -> str:
    """Read an indicator matrix or a vector of labels in a MATLAB file."""
    rng = case.rng
    n, n_classes = rng.randint(2, 8), rng.randint(2, 4)
    indicator = np.array([[rng.random() < 0.4 for _ in range(n_classes)] for _ in range(n)], dtype=float)
    vector = np.array([rng.randint(1, 4) for _ in range(n)], dtype=float)
    group, expected = rng.choice((
        (sparse.csc_array(indicator), {i: set(np.flatnonzero(row).tolist()) for i, row in enumerate(indicator)}),
        (indicator, {i: set(np.flatnonzero(row).tolist()) for i, row in enumerate(indicator)}),
        (vector[:, None], {i: {int(label)} for i, label in enumerate(vector)}),
        (vector, {i: {int(label)} for i, label in enumerate(vector)}),
    ))  # fmt: skip
    buffer = io.BytesIO()
    savemat(buffer, {"group": group}, do_compression=rng.random() < 0.3)
    data, valid = buffer.getvalue(), rng.random() < 0.3
    path = case.folder / "labels.mat"
    path.write_bytes(data if valid else mutate(rng, data))
    case.announce(f"read_labels({path.name!r})")
    labels, outcome = attempt(lambda: read_labels(path), path)
    if outcome == OK:
        check_labels(labels, expected if valid else None)
    else:
        require(not valid, f"a valid file was refused with {outcome}")
    return outcome


def _text(
    case: Case,
    make: Callable[[Random], tuple[bytes, dict[str, Any], Expected]],
    parse: Callable[[bytes, dict[str, Any]], Expected],
    options: dict[str, Any],
) -> str:
    rng = case.rng
    data, own, expected = make(rng)
    options = options | own
    valid = rng.random() < 0.3
    if not valid:
        data = mutate(rng, data, make(rng)[0])
    packed = not valid and rng.random() < 0.05
    suffix = rng.choice(COMPRESSIONS) if packed else ""
    path = case.folder / f"labels.txt{suffix}"
    path.write_bytes(compress(rng, data, suffix) if packed else data)
    case.announce(f"read_labels({path.name!r}, **{options})")
    labels, outcome = attempt(lambda: read_labels(path, **options), path)
    if outcome != OK:
        require(not valid, f"a valid file was refused with {outcome}")
        return outcome
    check_labels(labels, expected if valid else None)
    if not packed:
        check_against_parser(labels, data, options, parse, check_labels)
    return OK


def _make_lines(rng: Random) -> tuple[bytes, dict[str, Any], Expected]:
    layout = make_layout(rng)
    nodes, classes = make_ids(rng, rng.randint(1, 10)), make_ids(rng, rng.randint(1, 5))
    if layout.delimiter == " ":
        nodes, classes = without_blanks(nodes), without_blanks(classes)
    pairs = rng.random() < 0.5
    rows = [
        [str(rng.choice(nodes)), *map(str, rng.choices(classes, k=1 if pairs else rng.randint(0, 3)))]
        for _ in range(rng.randint(1, 15))
    ]
    if not any(row[1:] for row in rows):
        rows.append([str(nodes[0]), str(classes[0])])
    expected = _collect(rows)
    header = pairs and rng.random() < 0.3
    if header:
        rows.insert(0, rng.choice(_HEADERS))
    # Lines of different lengths are only delimited by commas if each of them contains one.
    options = {"header": header, "delimiter": layout.delimiter} | ({} if pairs else {"multilabel": True})
    return layout.write(rng, rows), options, expected


def _collect(rows: list[list[str]]) -> Expected:
    ids = parse_ids([row[0] for row in rows])
    names = parse_ids([label for row in rows for label in row[1:]])
    expected: Expected = {}
    for node, *labels in rows:
        expected.setdefault(ids[node], set()).update(names[label] for label in labels)
    return expected


def _make_communities(rng: Random) -> tuple[bytes, dict[str, Any], Expected]:
    layout = make_layout(rng)
    nodes = without_blanks(make_ids(rng, rng.randint(1, 10)))
    rows = [list(map(str, rng.choices(nodes, k=rng.randint(1, 5)))) for _ in range(rng.randint(1, 8))]
    ids = parse_ids([node for row in rows for node in row])
    expected: Expected = {}
    for label, row in enumerate(rows):
        for node in row:
            expected.setdefault(ids[node], set()).add(label)
    return layout.write(rng, rows), {"delimiter": layout.delimiter}, expected
