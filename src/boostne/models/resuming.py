"""What an estimator keeps on disk while it runs, and finds there when it is started again."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

import boostne
from boostne.errors import ParameterError
from boostne.factorization.checkpoint import Checkpoint, matrix_sha256
from boostne.graph import Graph
from boostne.models.walk_matrix import Choice

# What the result does not depend on; memory counts through the choice that is kept.
INDIFFERENT = ("threads", "engine", "client", "memory_limit", "checkpoint", "keep_matrix")

Matrix = tuple[sparse.csr_array, NDArray[np.float64] | None]


def open_checkpoint(model: BaseEstimator, graph: Graph, seed: int) -> Checkpoint | None:
    """Open the checkpoint of a model that has one; a folder that belongs to another run is refused."""
    parameters = model.get_params(deep=False)
    if parameters["checkpoint"] is None:
        return None
    facts = {name: value for name, value in parameters.items() if name not in INDIFFERENT}
    facts |= {
        "connectivity": _connectivity_name(parameters["connectivity"]),
        "dtype": np.dtype(parameters["dtype"]).name,
        "random_state": seed,
    }
    return Checkpoint(
        parameters["checkpoint"], {"version": boostne.__version__, "graph": graph.fingerprint(), **facts}
    )


def kept_choice(checkpoint: Checkpoint | None, choose: Callable[[], Choice]) -> Choice:
    """Return the form of X that the run began with, whatever memory is free now."""
    if checkpoint is None:
        return choose()
    kept = checkpoint.notes()
    if kept is not None:
        return Choice(**kept)
    choice = choose()
    checkpoint.save_notes(asdict(choice))
    return choice


def kept_matrix(
    checkpoint: Checkpoint | None, keep: bool, n_nodes: int, build: Callable[[], Matrix]
) -> Matrix:
    """Return X and its dropped mass from the checkpoint, or build them and, if asked to, keep them there."""
    kept = checkpoint.matrix((n_nodes, n_nodes)) if checkpoint is not None else None
    if kept is not None:
        return kept
    made = build()
    if checkpoint is not None and keep:
        checkpoint.save_matrix(*made)
    return made


def _connectivity_name(connectivity: Any) -> str:
    if isinstance(connectivity, str):
        return connectivity
    if callable(connectivity):
        raise ParameterError(
            "checkpoint: whether a function has changed cannot be told; give connectivity as the matrix it makes"
        )
    return f"matrix {matrix_sha256(connectivity)}"
