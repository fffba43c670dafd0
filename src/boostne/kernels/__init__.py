"""Hot loops: arrays in, arrays out. Compiled ones, and their readable twins in NumPy.

:func:`get_kernels` returns the fastest that this installation and this machine have. The environment variable
``BOOSTNE_KERNELS`` (``reference``, ``baseline``, ``avx2`` or ``avx512``) forces a choice.
"""

import os
import warnings
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.kernels.column_blocked_csr import Residual
from boostne.kernels.push_graph import PushGraph
from boostne.kernels.sharded_csr import ShardedCSR
from boostne.kernels.skipgram import Edges, SkipGram
from boostne.kernels.tree_reduction import Part


class Kernels(Protocol):
    """What every set of kernels offers; :mod:`boostne.kernels.reference.kernels` says what each function computes."""

    @property
    def instruction_set(self) -> str:
        """Name of the instruction set, or ``"reference"``."""

    @property
    def threads(self) -> int:
        """Threads that they run on."""

    def stripe(
        self,
        indptr: NDArray[np.int64],
        columns: NDArray[np.int32],
        data: NDArray[Any],
        rows: NDArray[np.int64],
        starts: NDArray[np.int64],
        bits: int,
    ) -> None:
        """Sort the entries of each block of rows by strips of columns, in place."""

    def sweep(
        self, R: Residual, V: NDArray[Any], gram_v: NDArray[np.float64], U: NDArray[Any], *, inner: int
    ) -> tuple[list[Part], NDArray[np.float64]]:
        """Update U row by row, then return ``C = R^T U`` as sums over shards and ``U^T U`` of each shard."""

    def hals(
        self, V: NDArray[Any], C: NDArray[Any], gram_u: NDArray[np.float64], *, inner: int
    ) -> tuple[NDArray[np.float64], float]:
        """Update V, then return its Gram matrix and ``<C, V>``."""

    def extrapolate(self, V: NDArray[Any], W: NDArray[Any], step: float) -> NDArray[np.float64]:
        """Replace W by ``max(V + step (V - W), 0)`` and return its Gram matrix."""

    def deflate(self, R: Residual, U: NDArray[Any], V: NDArray[Any]) -> NDArray[np.float64]:
        """Replace R by ``max(R - U V^T, 0)`` and return the squared norm of each shard."""

    def walk_columns(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[Any] | None,
        inverse_degree: NDArray[Any],
        scale: NDArray[Any],
        window: int,
        columns: range,
    ) -> list[tuple[NDArray[np.int32], NDArray[Any]]]:
        """Columns of the DeepWalk connectivity matrix: row numbers and values of each."""

    def random_walks(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        cumulative: NDArray[np.float64] | None,
        starts: NDArray[np.int32],
        length: int,
        *,
        p: float = 1.0,
        q: float = 1.0,
        seed: int = 0,
        first: int = 0,
    ) -> NDArray[np.int32]:
        """Random walks of ``length`` nodes, one a row; -1 after the end of a walk."""

    def step_rows(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[Any] | None,
        inverse_degree: NDArray[Any],
        scales: tuple[NDArray[Any], NDArray[Any]],
        steps: int,
        rows: range,
    ) -> list[tuple[NDArray[np.int32], NDArray[Any]]]:
        """Rows of a GraRep connectivity matrix: column numbers and values of each."""

    def product(self, R: ShardedCSR, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """``R V``."""

    def gram_product(self, R: ShardedCSR, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """``R^T R V``."""

    def train_walks(
        self,
        model: SkipGram,
        walks: NDArray[np.int32],
        *,
        window: int,
        rates: tuple[float, float],
        seed: int,
    ) -> None:
        """Train a skip-gram model on the pairs of nodes that are near each other on walks."""

    def train_edges(
        self, model: SkipGram, edges: Edges, samples: int, *, rates: tuple[float, float], seed: int
    ) -> None:
        """Train a skip-gram model on the ends of edges that are drawn by their weights."""

    def push_rows(
        self, graph: PushGraph, *, factor: float, epsilon: float, window: int, cap: int, rows: range
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[np.float64]]:
        """Rows of that matrix by forward push: entries of each row, columns, values, and the mass dropped."""

    def communities(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        weights: NDArray[np.float32] | None,
        *,
        most: int,
        rounds: int,
        settled: int,
    ) -> NDArray[np.int32]:
        """Find the community of each node, by label propagation."""


def available_threads() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_kernels(name: str | None = None, threads: int | None = None) -> Kernels:
    """Return the kernels called ``name``, or the fastest there are.

    Parameters
    ----------
    name : {"reference", "baseline", "avx2", "avx512"}, optional
        By default the value of ``BOOSTNE_KERNELS``, or else the widest instruction set of this machine.
    threads : int, optional
        By default every core that this process may use. Results do not depend on it.
    """
    from boostne.kernels import reference
    from boostne.kernels.native import bindings as native

    name = name or os.environ.get("BOOSTNE_KERNELS") or None
    known = ("reference", *native.INSTRUCTION_SETS)
    if name is not None and name not in known:
        raise ParameterError(f"kernels must be one of {', '.join(known)}; got {name!r}")
    if name == "reference":
        return reference.ReferenceKernels()
    library = native.find_library(list(__path__))
    if library is None:
        if name is not None:
            raise ParameterError(f"kernels {name!r} need the compiled library, which this installation lacks")
        warnings.warn(
            "boostne was installed without its compiled kernels and falls back on NumPy: the same results up to "
            "rounding, 5 to 20 times slower, and far more for LINE, DeepWalk and Node2Vec. Reinstall it where a C++ "
            "compiler is at hand to mend this.",
            stacklevel=2,
        )
        return reference.ReferenceKernels()
    return native.NativeKernels(library, name, available_threads() if threads is None else threads)


def instruction_set() -> str:
    """Return what the kernels run on here: ``"avx512"``, ``"avx2"``, ``"baseline"`` or ``"reference"``."""
    return get_kernels().instruction_set
