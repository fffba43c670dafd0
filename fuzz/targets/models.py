"""Model files: damaged, or with a valid checksum and a content that no fit has written."""

import hashlib
import json
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from boostne import BoostNE, Graph
from fuzz.arrays import npy_bytes
from fuzz.case import OK, Case, attempt, require
from fuzz.mutations import mutate, zip_archive

_EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 2), (1, 3)]
GRAPHS = {
    "undirected": Graph.from_edges(*zip(*_EDGES, strict=True)),
    "directed": Graph.from_edges(*zip(*_EDGES, strict=True), directed=True),
    "bipartite": Graph.from_edges([0, 0, 1, 1, 2, 3], [5, 6, 6, 7, 7, 8], sides="columns"),
}
_VALUES = (None, True, -1, 0, 1, 2.5, 1e999, "", "x", "push", "katz", [], [1], {}, {"name": "KatzMatrix", "beta": -1})


def models(case: Case) -> str:
    """Load a file and use the model: the vectors that were saved, or FileFormatError."""
    rng = case.rng
    kind = rng.random()
    graph = rng.choice(sorted(GRAPHS))
    data = saved_model(graph, with_graph=rng.random() < 0.3)
    if kind > 0.2:
        data = mutate(rng, data) if kind < 0.5 else _with_other_content(rng, graph)
    path = case.folder / "model.npz"
    path.write_bytes(data)
    use = "transform" if graph == "undirected" else "recommend"
    case.announce(f"BoostNE.load(model.npz), then {use}")
    model, outcome = attempt(lambda: BoostNE.load(path))
    if outcome != OK:
        require(outcome == "FileFormatError" and kind > 0.2, f"undocumented error {outcome}")
        return outcome
    if use == "recommend":
        return _recommend(model, graph, valid=kind <= 0.2)
    vectors, outcome = attempt(lambda: model.transform([*_EDGES, (6, 0), (6, 1)]))
    if outcome == OK:
        require(vectors.shape == (7, 4), "the vectors have another shape")
        if kind <= 0.2:
            require((vectors[:6] == _fitted(graph).embedding_.vectors).all(), "known nodes have other vectors")
    else:
        require(kind > 0.2, f"a model that was saved cannot be used: {outcome}")
    return outcome


def _recommend(model: BoostNE, graph: str, *, valid: bool) -> str:
    known = graph == "bipartite"
    found, outcome = attempt(lambda: model.recommend(0, n=2, exclude_known=known))
    if valid:
        require(outcome == OK, f"a model that was saved cannot be used: {outcome}")
        require(found == _fitted(graph).recommend(0, n=2, exclude_known=known), "other recommendations")
    return outcome


@cache
def _fitted(graph: str) -> BoostNE:
    return BoostNE(4, levels=2, threads=1).fit(GRAPHS[graph])


@cache
def saved_model(graph: str = "undirected", *, with_graph: bool = False) -> bytes:
    """Return the bytes of a small model."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        _fitted(graph).save(path, graph=GRAPHS[graph] if with_graph else None)
        return path.read_bytes()


@cache
def _arrays(graph: str) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        path.write_bytes(saved_model(graph, with_graph=True))
        with np.load(path) as file:
            return dict(file)


def _with_other_content(rng: Random, graph: str) -> bytes:
    """Change the header or an array; the checksum is right."""
    arrays = dict(_arrays(graph))
    if rng.random() < 0.6:
        header = json.loads(arrays["model"].item())
        part = header
        while isinstance(part[key := rng.choice(sorted(part))], dict) and part[key] and rng.random() < 0.9:
            part = part[key]
        part[key] = rng.choice(_VALUES)
        arrays["model"] = np.array(json.dumps(header))
    else:
        name = rng.choice(sorted(arrays.keys() - {"model", "sha256"}))
        array = arrays[name].copy()
        if rng.random() < 0.5 and array.size and array.dtype.kind in "iuf":
            with np.errstate(all="ignore"):
                array.flat[rng.randrange(array.size)] = rng.choice((0, 1, 2**30, 127))
        else:
            array = rng.choice((array[..., None], array.ravel()[:-1], array.astype("f8"), array.T.copy()))
        arrays[name] = array
        if rng.random() < 0.1:
            del arrays[name]
    arrays["sha256"] = np.array(_sha256(arrays))
    return zip_archive(rng, {f"{name}.npy": npy_bytes(array) for name, array in arrays.items()}, damage=False)


def _sha256(arrays: dict[str, Any]) -> str:
    """Return the checksum of a model file, as documented in boostne.models.model_files."""
    digest = hashlib.sha256(arrays["model"].item().encode())
    for name in sorted(arrays.keys() - {"model", "sha256"}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
