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
_VALUES = (None, True, -1, 0, 1, 2.5, 1e999, "", "x", "push", "katz", [], [1], {}, {"name": "KatzMatrix", "beta": -1})


def models(case: Case) -> str:
    """Load a file and embed a new node: the vectors that were saved, or FileFormatError."""
    rng = case.rng
    kind = rng.random()
    data = saved_model(with_graph=rng.random() < 0.3)
    if kind > 0.2:
        data = mutate(rng, data) if kind < 0.5 else _with_other_content(rng)
    path = case.folder / "model.npz"
    path.write_bytes(data)
    case.announce("BoostNE.load(model.npz), then transform")
    model, outcome = attempt(lambda: BoostNE.load(path))
    if outcome != OK:
        require(outcome == "FileFormatError" and kind > 0.2, f"undocumented error {outcome}")
        return outcome
    vectors, outcome = attempt(lambda: model.transform([*_EDGES, (6, 0), (6, 1)]))
    if outcome == OK:
        require(vectors.shape == (7, 4), "the vectors have another shape")
        if kind <= 0.2:
            require((vectors[:6] == _fitted().embedding_.vectors).all(), "known nodes have other vectors")
    else:
        require(kind > 0.2, f"a model that was saved cannot be used: {outcome}")
    return outcome


@cache
def _fitted() -> BoostNE:
    return BoostNE(4, levels=2, threads=1).fit(_EDGES)


@cache
def saved_model(*, with_graph: bool = False) -> bytes:
    """Return the bytes of a small model."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        _fitted().save(path, graph=Graph.from_edges(*zip(*_EDGES, strict=True)) if with_graph else None)
        return path.read_bytes()


@cache
def _arrays() -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        path.write_bytes(saved_model(with_graph=True))
        with np.load(path) as file:
            return dict(file)


def _with_other_content(rng: Random) -> bytes:
    """Change the header or an array; the checksum is right."""
    arrays = dict(_arrays())
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
