"""Fitted models in ``.npz`` files: vectors, context vectors, parameters, and what is needed of the graph; no pickle.

A model file is also an embedding file: :func:`boostne.read_embedding` reads its vectors.
"""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.embedding import Embedding
from boostne.errors import FileFormatError, GraphError, ParameterError
from boostne.graph import Graph
from boostne.io.atomic import atomic_path
from boostne.io.embedding_arrays import embedding_arrays, embedding_from_arrays
from boostne.io.numpy_files import ArrayArchive, open_archive
from boostne.matrices import MATRICES, ConnectivityMatrix, ExplicitMatrix
from boostne.models.base import to_json
from boostne.models.bipartite_files import (
    bipartite_arrays,
    merged_nodes,
    restore_known,
    restore_score_map,
    restore_sides,
)
from boostne.models.fitted_graph import SKETCH_WIDTH, FittedGraph
from boostne.models.folding import PROPAGATION_STEPS
from boostne.propagation import check_weight
from boostne.sides import Sides
from boostne.validation import check_choice, check_integer, check_number
from boostne.version import installed_version

if TYPE_CHECKING:
    from boostne.models.inductive import InductiveEmbedder

Model = TypeVar("Model", bound="InductiveEmbedder")

FORMAT_VERSION = 1
SUFFIX = ".npz"
# Attributes of a fitted model besides the arrays; None where a model lacks one.
FACTS = ("settings_", "approximation_", "epsilon_", "max_per_row_", "engine_", "scale_", "target_scales_")
ARRAYS = ("context_", "n_iter_", "residual_norms_", "nnz_")
# Arrays about the nodes of the graph: dtype and further dimensions.
NODE_ARRAYS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "neighborhoods": (np.uint64, ()),
    "sketches": (np.float64, (SKETCH_WIDTH,)),
    "staleness": (np.float32, ()),
}
N_FACTORS = 2  # U and V
GRAPH_ARRAYS = ("graph_indptr", "graph_indices", "graph_data")


def save_model(model: "InductiveEmbedder", path: str | Path, graph: Graph | None) -> None:
    """Write a model atomically; see :meth:`InductiveEmbedder.save`."""
    path = check_suffix(path)
    arrays = embedding_arrays(model.embedding_)
    arrays |= {name.removesuffix("_"): getattr(model, name) for name in ARRAYS}
    arrays |= {name: getattr(model.fitted_graph_, name) for name in NODE_ARRAYS}
    arrays |= bipartite_arrays(model)
    if model.targets_ is not None:
        arrays["centers"] = model.centers_
    if model.dropped_mass_ is not None:
        arrays["dropped_mass"] = model.dropped_mass_
    arrays |= {f"objective{i}": values for i, values in enumerate(model.objective_, 1)}
    if graph is not None:
        if graph.fingerprint() != model.fitted_graph_.fingerprint:
            raise GraphError("the model was fitted to another graph: save it without graph=, or with its own")
        A = graph.adjacency
        arrays |= dict(zip(GRAPH_ARRAYS, (A.indptr, A.indices, A.data), strict=True))
    header = json.dumps(_header(model))
    arrays["model"] = np.array(header)
    arrays["sha256"] = np.array(_digest(header, arrays))
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def load_model(cls: type[Model], path: str | Path) -> Model:
    """Read a model; see :meth:`InductiveEmbedder.load`."""
    path = check_suffix(path)
    with open_archive(path) as archive:
        header = _read_header(path, archive)
        arrays = {name: archive.read(name) for name in archive.names}
    if arrays["sha256"].item() != _digest(arrays["model"].item(), arrays):
        raise FileFormatError(f"{path}: its checksum does not match its content; the file is damaged: save it again")
    try:
        return _restore(cls, header, arrays)
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # also ParameterError and GraphError
        raise FileFormatError(f"{path}: not a valid model ({error}); fit and save it again") from error


def check_suffix(path: str | Path) -> Path:
    """Return the path; raise ParameterError unless it has the suffix of a model."""
    path = Path(path)
    if path.suffix.lower() != SUFFIX:
        raise ParameterError(f"{path}: the suffix of a model must be {SUFFIX}, got {path.suffix or 'none'!r}")
    return path


def _header(model: "InductiveEmbedder") -> dict[str, Any]:
    """Return everything but the arrays, as JSON can represent it."""
    matrix, graph = model.connectivity_, model.fitted_graph_
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in model.run_parameters()}
    return {
        "format": FORMAT_VERSION,
        "boostne": installed_version(),
        "method": type(model).__name__,
        "parameters": {name: "function" if callable(value) else to_json(name, value) for name, value in given.items()},
        "connectivity": None if isinstance(matrix, ExplicitMatrix) else to_json("connectivity", matrix),
        "fitted": {name: getattr(model, name) for name in FACTS},
        "graph": {name: getattr(graph, name) for name in ("fingerprint", "n_edges", "directed", "weighted")},
    }


def _digest(header: str, arrays: dict[str, Any]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays.keys() - {"model", "sha256"}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _read_header(path: Path, archive: ArrayArchive) -> dict[str, Any]:
    missing = {"model", "sha256"} - set(archive.names)
    if missing:
        kind = "an embedding" if "vectors" in archive.names else "another file"
        raise FileFormatError(f"{path}: {kind}, not a model; 'boostne embed --model' and BoostNE.save write models")
    header = json.loads(archive.read("model").item())
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise FileFormatError(f"{path}: not a model of boostne; it belongs to another program")
    if header["format"] > FORMAT_VERSION:
        raise FileFormatError(
            f"{path}: written by boostne {header.get('boostne')} in format {header['format']}, and this version reads "
            f"format {FORMAT_VERSION}: upgrade boostne"
        )
    return header


def _restore(cls: type[Model], header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Model:
    if header["method"] != cls.__name__:
        raise ParameterError(f"it is a model of {header['method']}, not of {cls.__name__}")
    parameters = header["parameters"]
    model = cls(**parameters | {"connectivity": _as_matrix(parameters["connectivity"])})
    embedding = embedding_from_arrays(arrays)
    sides = restore_sides(arrays, embedding)
    _check_arrays(embedding, sides, model.levels, arrays)
    _check_facts(header["fitted"], has_targets=embedding.targets is not None)
    _check_kind(header["graph"]["directed"], sides, has_targets=embedding.targets is not None)
    model.embedding_, model.n_features_in_ = embedding, len(embedding if sides is None else sides)
    for name in ARRAYS:
        setattr(model, name, arrays[name.removesuffix("_")])
    for name in FACTS:
        setattr(model, name, header["fitted"][name])
    if embedding.targets is not None:
        model.centers_ = arrays["centers"]
    matrix = _as_matrix(header["connectivity"])
    if isinstance(matrix, ConnectivityMatrix):
        matrix.check()
    model.connectivity_ = matrix if isinstance(matrix, ConnectivityMatrix) else None
    model.dropped_mass_ = arrays.get("dropped_mass")
    model.objective_ = [arrays[f"objective{i}"] for i in range(1, model.levels + 1)]
    model.levels_ = np.split(embedding.vectors, np.cumsum(embedding.levels)[:-1], axis=1)
    facts = header["graph"] | {name: arrays[name] for name in NODE_ARRAYS}
    model.fitted_graph_ = FittedGraph(**facts, sides=sides)
    if sides is not None:
        model.known_ = restore_known(arrays, sides)
        model.score_map_ = restore_score_map(arrays, embedding.vectors.shape[1])
    if GRAPH_ARRAYS[0] in arrays:
        nodes = embedding.nodes if sides is None else merged_nodes(embedding, sides)
        model.graph_ = _restore_graph(nodes, model.fitted_graph_, arrays)
    return model


def _check_arrays(embedding: Embedding, sides: Sides | None, levels: Any, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise ParameterError unless the arrays belong together."""
    shape, dtype = embedding.vectors.shape, embedding.vectors.dtype
    n_nodes, n_context = len(embedding if sides is None else sides), len(embedding.targets or embedding)
    per_node = {name: ((n_nodes, *more), np.dtype(one)) for name, (one, more) in NODE_ARRAYS.items()}
    factors = {"context": (n_context, shape[1])} | ({} if embedding.targets is None else {"centers": shape})
    for name, expected in {**{name: (size, dtype) for name, size in factors.items()}, **per_node}.items():
        found = arrays[name].shape, arrays[name].dtype
        if found != expected:
            raise ParameterError(f"the array {name!r} has shape {found[0]} of {found[1]}, expected {expected}")
    for name in (*factors, "sketches", "staleness"):
        if not np.isfinite(arrays[name]).all():
            raise ParameterError(f"the array {name!r} must be finite")
    check_integer("levels", levels, 1)
    if embedding.levels.tolist() != [shape[1] // levels] * levels:
        raise ParameterError(f"the levels of the vectors, {embedding.levels.tolist()}, must be {levels} of equal width")


def _check_facts(facts: dict[str, Any], *, has_targets: bool) -> None:
    """Raise ParameterError unless the stored attributes are those of a fitted model."""
    check_choice("approximation_", facts["approximation_"], PROPAGATION_STEPS)
    check_weight("propagation", facts["settings_"]["propagation"])
    if facts["scale_"] is not None:
        check_number("scale_", facts["scale_"], 0, strict=True)
    scales = facts["target_scales_"]
    if has_targets != isinstance(scales, list) or (has_targets and len(scales) != N_FACTORS):
        raise ParameterError(
            f"target_scales_ must be two numbers if there are target vectors, else None; got {scales!r}"
        )
    for scale in scales or ():
        check_number("target_scales_", scale, 0, strict=True)
    if facts["epsilon_"] is not None:
        check_number("epsilon_", facts["epsilon_"], 0)
    if facts["max_per_row_"] is not None:
        check_integer("max_per_row_", facts["max_per_row_"], 1)


def _check_kind(directed: Any, sides: Sides | None, *, has_targets: bool) -> None:
    """Raise ParameterError unless a graph with target vectors is either directed or bipartite, and others neither."""
    if [directed is True, sides is not None].count(True) != int(has_targets) or not isinstance(directed, bool):
        found = f"directed={directed!r}, {'no ' * (sides is None)}sides, {'no ' * (not has_targets)}target vectors"
        raise ParameterError(f"a directed graph or one with sides has target vectors, and others do not; found {found}")


def _restore_graph(nodes: NDArray[Any], fitted: FittedGraph, arrays: dict[str, NDArray[Any]]) -> Graph:
    indptr, indices, data = (arrays[name] for name in GRAPH_ARRAYS)
    matrix = sparse.csr_array((data, indices, indptr), shape=(len(nodes),) * 2)
    graph = Graph(matrix, nodes, directed=fitted.directed, sides=fitted.sides)
    if graph.fingerprint() != fitted.fingerprint:
        raise ParameterError("its graph does not have the fingerprint of the fitted one")
    return graph


def _as_matrix(value: Any) -> Any:
    """Return a matrix with parameters for what :func:`to_json` made of one; anything else stays as it is."""
    if not isinstance(value, dict):
        return value
    classes = {one.__name__: one for one in MATRICES.values()}
    parameters = dict(value)
    return classes[parameters.pop("name")](**parameters)
