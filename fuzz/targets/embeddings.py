"""Embedding files of all formats."""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from boostne.io import read_embedding, write_embedding
from fuzz.arrays import npy_bytes
from fuzz.case import OK, Case, attempt, require
from fuzz.dialect import UndocumentedError, parse_vector_table, parse_word2vec
from fuzz.expectation import parse_ids
from fuzz.generate import make_ids
from fuzz.mutations import mutate, zip_archive
from fuzz.oracles import check_embedding

# From the content of a file and the type of its ids to ids and vectors.
Parser = Callable[[bytes, str], tuple[list[Any], list[list[float]]]]

_TUPLES = [(1, 2), (1, "a"), "x", 7, -1, ("y", (3,)), 2**70]
_BAD_JSON = (
    b"[" * 5000,
    b'{"nodes":1,"levels":2,"sha256":3}',
    b"1",
    b'"a"',
    b"[null]",
    b"NaN",
    b"1e999",
    b"{}",
    b"\xff",
)


class Content:
    """The content of a valid file.

    Attributes
    ----------
    nodes : list of ids
    vectors : array
    levels : list of int
    """

    def __init__(self, rng: Random, *, text: bool) -> None:
        count = rng.choice((1, 2, 3, 7))
        mixed = not text and rng.random() < 0.2
        self.nodes = rng.sample(_TUPLES, min(count, len(_TUPLES))) if mixed else make_ids(rng, count)
        self.levels = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
        dtype = np.float32 if text or rng.random() < 0.5 else np.float64
        shape = (len(self.nodes), sum(self.levels))
        values = [rng.choice((0.0, 1.0, -2.5, 1e-30, 3e38, rng.random())) for _ in range(shape[0] * shape[1])]
        self.vectors = np.array(values, dtype=dtype).reshape(shape)

    @property
    def mixed(self) -> bool:
        """Whether ids have to be encoded as JSON."""
        return not all(type(node) is type(self.nodes[0]) and type(node) in (int, str) for node in self.nodes) or (
            isinstance(self.nodes[0], int) and max(map(abs, self.nodes)) >= 2**63
        )

    def json_ids(self) -> list[str]:
        """Return the ids, each encoded as JSON."""
        return [json.dumps(node) for node in self.nodes]

    def text_nodes(self) -> list[Any]:
        """Return the ids as read from text."""
        return list(parse_ids(list(map(str, self.nodes))).values())


def npz(case: Case) -> str:
    """Read .npz."""
    rng = case.rng
    content, valid = Content(rng, text=False), rng.random() < 0.3
    arrays = {"vectors": content.vectors, "levels": np.array(content.levels)}
    if content.mixed:
        arrays |= {"nodes": np.array(content.json_ids()), "nodes_encoding": np.array("json")}
    else:
        arrays["nodes"] = np.array(content.nodes)
    if not valid and rng.random() < 0.4:
        name = rng.choice(sorted(arrays))
        arrays[name] = _unusual(rng, arrays[name])
    members = {f"{name}.npy": npy_bytes(array) for name, array in arrays.items()}
    data = zip_archive(rng, members, damage=not valid and rng.random() < 0.7)
    return _read(case, "vectors.npz", data, content if valid else None)


def npy(case: Case) -> str:
    """Read .npy and NAME.nodes.json, or .npy with ids in a text file."""
    rng = case.rng
    content, valid = Content(rng, text=False), rng.random() < 0.3
    data = npy_bytes(content.vectors if valid or rng.random() < 0.8 else _unusual(rng, content.vectors))
    if not valid and rng.random() < 0.5:
        data = mutate(rng, data)
    ids = {"nodes": content.nodes, "levels": content.levels, "sha256": hashlib.sha256(data).hexdigest()}
    if not valid and rng.random() < 0.3:
        ids[rng.choice(sorted(ids))] = rng.choice((None, 1, "a", [], {}, [[]], [1, 1], [{}], [1.5], [True], True))
    text = json.dumps(ids).encode()
    if not valid and rng.random() < 0.3:
        text = rng.choice(_BAD_JSON) if rng.random() < 0.3 else mutate(rng, text)
    (case.folder / "vectors.nodes.json").write_bytes(text)
    if valid or rng.random() < 0.7:
        return _read(case, "vectors.npy", data, content if valid else None)
    lines = "\n".join(map(str, content.nodes)).encode("utf-8", "surrogatepass") + b"\n"
    (case.folder / "ids.txt").write_bytes(mutate(rng, lines))
    return _read(case, "vectors.npy", data, None, ids=case.folder / "ids.txt")


def csv(case: Case) -> str:
    """Read .csv, with or without a header."""
    rng = case.rng
    content = Content(rng, text=True)
    delimiter = rng.choice((",", ",", ";", "\t"))
    rows = [[_quoted(str(node)), *map(str, row)] for node, row in zip(content.nodes, content.vectors, strict=True)]
    # Without names of columns, one whole number per node is taken for an edge.
    header = content.levels if rng.random() < 0.7 or content.vectors.shape[1] == 1 else None
    if header:
        rows.insert(0, ["node", *(f"u{i}_{j + 1}" for i, width in enumerate(header, 1) for j in range(width))])
    if len(rows[0]) == 4 and not header:  # numbered columns, if the vector were 0, 1, 2
        content.vectors[:, 0] = 5
        rows = [[row[0], "5.0", *row[2:]] for row in rows]
    data = (rng.choice(("\n", "\r\n")).join(delimiter.join(row) for row in rows) + rng.choice(("", "\n"))).encode()
    return _read_text(case, "vectors.csv", data, content, header, parse_vector_table)


def word2vec(case: Case) -> str:
    """Read word2vec text, and word2vec's binary files, which are refused."""
    rng = case.rng
    content = Content(rng, text=True)
    names = [str(node).replace("%", "%25").replace(" ", "%20") for node in content.nodes]
    lines = [" ".join([name, *map(str, row)]) for name, row in zip(names, content.vectors, strict=True)]
    end = rng.choice((" \n", "\n"))
    data = "".join(line + end for line in lines).encode()
    if rng.random() < 0.7 or content.vectors.shape[1] == 1:  # "7 1" would be taken for a header
        lines.insert(0, f"{len(content.nodes)} {content.vectors.shape[1]}")
        data = f"{lines[0]}\n".encode() + data
    if rng.random() < 0.05:
        rows = zip(names, content.vectors, strict=True)
        data = lines[0].encode() + b"\n" + b"".join(name.encode() + b" " + row.tobytes() for name, row in rows)
        return _read(case, "vectors.txt", data, None)
    return _read_text(case, rng.choice(("vectors.emb", "vectors.txt")), data, content, None, parse_word2vec)


def parquet(case: Case) -> str:
    """Read .parquet, or a folder of parts."""
    rng = case.rng
    content, valid = Content(rng, text=False), rng.random() < 0.3
    parts = rng.random() < 0.4
    cut = rng.randint(0, len(content.nodes)) if parts else len(content.nodes)
    files = [_parquet_bytes(rng, content, slice(0, cut)), _parquet_bytes(rng, content, slice(cut, None))]
    if not valid:
        k = rng.randrange(1 + parts)
        files[k] = _unusual_parquet(rng) if rng.random() < 0.3 else mutate(rng, files[k], files[0])
    if not parts:
        return _read(case, "vectors.parquet", files[0], content if valid else None)
    folder = case.folder / "vectors"
    folder.mkdir()
    for number, data in enumerate(files):
        (folder / f"part-{number:05d}.parquet").write_bytes(data)
    return _read(case, "vectors", None, content if valid else None)


def _read_text(case: Case, name: str, data: bytes, content: Content, levels: list[int] | None, parse: Parser) -> str:
    if case.rng.random() < 0.3:
        content.nodes, content.levels = content.text_nodes(), levels or [content.vectors.shape[1]]
        return _read(case, name, data, content)
    id_type = case.rng.choice(("auto", "auto", "auto", "int", "str"))
    return _read(case, name, mutate(case.rng, data), None, parse, id_type=id_type)


def _read(
    case: Case, name: str, data: bytes | None, content: Content | None, parse: Parser | None = None, **options: Any
) -> str:
    """Read a file; if ``content`` is given, it must be its content. What was read must survive being written."""
    path = case.folder / name
    if data is not None:
        path.write_bytes(data)
    case.announce(f"read_embedding({name!r}, **{options})")
    embedding, outcome = attempt(lambda: read_embedding(path, **options), path, options.get("ids", path))
    if outcome != OK:
        require(content is None, f"a valid file was refused with {outcome}")
        return outcome
    if content is None:
        check_embedding(embedding)
        if parse is not None and data is not None:
            _compare_with_parser(embedding, data, parse, options["id_type"])
    else:
        check_embedding(embedding, content.nodes, content.vectors, content.levels)
        require(embedding.vectors.dtype == content.vectors.dtype, f"vectors of type {embedding.vectors.dtype}")
    _check_round_trip(embedding, case.folder / f"copy{case.rng.choice(('.npz', '.npy', '.parquet'))}")
    return OK


def _compare_with_parser(embedding: Any, data: bytes, parse: Parser, id_type: str) -> None:
    try:
        nodes, vectors = parse(data, id_type)
    except UndocumentedError:
        return
    except ValueError as error:
        require(False, f"an invalid file was read without an error: {error!r}")
    require(embedding.nodes.tolist() == nodes, f"nodes {embedding.nodes.tolist()} instead of {nodes}")
    wanted = np.asarray(vectors, np.float32).reshape(len(nodes), -1 if nodes else embedding.dimensions)
    same = wanted.shape == embedding.vectors.shape and np.allclose(embedding.vectors, wanted, rtol=1e-6, atol=0)
    require(same, f"vectors {embedding.vectors.tolist()} instead of {vectors}")


def _check_round_trip(embedding: Any, path: Path) -> None:
    def write_and_read() -> Any:
        write_embedding(embedding, path)
        return read_embedding(path)

    copy, outcome = attempt(write_and_read, path)
    # Files cannot store every id: floats, and lone surrogates outside of .npz.
    if outcome == OK:
        check_embedding(copy, embedding.nodes.tolist(), embedding.vectors, embedding.levels.tolist())
    else:
        require(outcome == "ParameterError", f"a copy cannot be read: {outcome}")


def _quoted(field: str) -> str:
    return f'"{field}"' if " " in field else field


def _unusual(rng: Random, array: Any) -> Any:
    """Return an array of another type or shape, or with other values."""
    kind = rng.random() if array.ndim else 0.0
    if kind < 0.3:
        return array.astype(rng.choice(("S", "U", "O", "?"))) if array.dtype.kind != "U" else array.astype("O")
    if kind < 0.5 and array.dtype.kind in "fi":
        return array.astype(rng.choice(("c16", "f2", "g", ">f4", "u1", ">i8")))
    if kind < 0.7:
        return rng.choice((array.reshape(-1, 1), array[..., None], array[:0], array.ravel()[0:1].reshape(()), array.T))
    if kind < 0.8 and array.dtype.kind == "f":
        return np.full_like(array, rng.choice((np.nan, np.inf, 1e300, -0.0)))
    return np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]) if kind < 0.9 else np.append(array, array)


def _parquet_bytes(rng: Random, content: Content, rows: slice) -> bytes:
    nodes = content.json_ids()[rows] if content.mixed else content.nodes[rows]
    kind = pa.int64() if isinstance(content.nodes[0], int) and not content.mixed else pa.string()
    names = [f"u{i}_{j + 1}" for i, width in enumerate(content.levels, 1) for j in range(width)]
    columns = [pa.array(nodes, kind), *map(pa.array, content.vectors[rows].T.copy())]
    metadata = {"boostne.levels": json.dumps(content.levels)}
    if content.mixed:
        metadata["boostne.nodes_encoding"] = "json"
    buffer = io.BytesIO()
    table = pa.table(columns, names=["node", *names]).replace_schema_metadata(metadata)
    pq.write_table(table, buffer, compression=rng.choice(("NONE", "NONE", "SNAPPY", "ZSTD")))
    return buffer.getvalue()


def _unusual_parquet(rng: Random) -> bytes:
    """Return a table that is no embedding, or whose metadata lie."""
    columns = {
        "node": pa.array(rng.choice(([1, 1], ["a", None], [1.5, 2.0], [[1], [2]], [None, None]))),
        "x": pa.array(rng.choice(([1.0, 2.0], ["a", "b"], [1.0, None], [[1.0], [2.0]]))),
    }
    table = pa.table(columns if rng.random() < 0.8 else {"node": columns["node"]})
    if rng.random() < 0.7:
        value = rng.choice((b"[1]", b"[2]", b"{}", b"1", b"x", b"[0.5]", b'["a"]', b"[-1, 2]", b"[[1]]", b"\xff"))
        metadata = {rng.choice((b"boostne.levels", b"boostne.nodes_encoding")): value}
        table = table.replace_schema_metadata(metadata)
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
