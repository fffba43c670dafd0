"""The matrices that BoostNE can boost besides DeepWalk's: by name, or brought along by the user."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.matrices import (
    adamic_adar,
    adjacency,
    common_neighbors,
    grarep,
    katz,
    line,
    node2vec,
    normalized_adjacency,
    rooted_pagerank,
)
from boostne.matrices.source import RowCollector, row_by_row
from boostne.memory import check_memory
from boostne.node_ids import format_ids

Name = Literal[
    "deepwalk",
    "node2vec",
    "line",
    "grarep",
    "adjacency",
    "normalized",
    "common-neighbors",
    "adamic-adar",
    "katz",
    "pagerank",
]
Connectivity = Name | NDArray[Any] | sparse.sparray | Callable[[Graph], Any]

DEEPWALK: Literal["deepwalk"] = "deepwalk"
NODE2VEC: Literal["node2vec"] = "node2vec"
BLOCK_ROWS = 64  # of an operator that is written out


@dataclass(frozen=True)
class Options:
    """What a matrix may depend on besides the graph: T, b, node2vec's p and q, and the threads that build it."""

    window: int
    negative: float
    threads: int
    dtype: Any
    p: float = 1.0
    q: float = 1.0


Build = Callable[[Graph, Options], sparse.csr_array]

TARGETS: dict[str, Build] = {
    NODE2VEC: lambda graph, options: node2vec(
        graph,
        p=options.p,
        q=options.q,
        window=options.window,
        negative=options.negative,
        dtype=options.dtype,
        threads=options.threads,
    ),
    "line": lambda graph, options: line(graph, negative=options.negative),
    "grarep": lambda graph, options: grarep(
        graph,
        options.window,
        shift=options.negative / graph.n_nodes,
        dtype=options.dtype,
        threads=options.threads,
    ),
    "adjacency": lambda graph, _: adjacency(graph).copy(),
    "normalized": lambda graph, _: normalized_adjacency(graph),
    "common-neighbors": lambda graph, _: common_neighbors(graph),
    "adamic-adar": lambda graph, _: adamic_adar(graph),
    "katz": lambda graph, _: _written_out(katz(graph)),
    "pagerank": lambda graph, _: _written_out(rooted_pagerank(graph)),
}
# Asked for by name, and why they cannot be had.
NEGATIVE = {"modularity": "SocialDimension"}


def build_target(connectivity: Any, graph: Graph, options: Options) -> sparse.csr_array:
    """Return the matrix that ``connectivity`` stands for, as a CSR array of its own with non-negative entries.

    Parameters
    ----------
    connectivity : str, matrix or callable
        A name of :data:`TARGETS`; a sparse or dense matrix whose rows and columns are the graph's nodes; or a
        function from a graph to such a matrix.
    graph : Graph
        The graph.
    options : Options
        What the named matrices depend on.
    """
    if isinstance(connectivity, str):
        check_name(connectivity)
        found = TARGETS[connectivity](graph, options)
    else:
        found = connectivity(graph) if callable(connectivity) else connectivity
    # The engine overwrites what it is given; what was brought along is left as it is.
    X = _as_csr(found, graph, np.dtype(options.dtype), copy=not isinstance(connectivity, str))
    X.eliminate_zeros()
    X.sort_indices()
    return X


def check_name(name: str) -> None:
    """Raise unless it is the name of a matrix that can be boosted."""
    if name in (DEEPWALK, *TARGETS):
        return
    if name in NEGATIVE:
        raise ParameterError(
            f"connectivity={name!r} has negative entries, which a non-negative factorization cannot give; "
            f"{NEGATIVE[name]} takes that matrix apart"
        )
    names = ", ".join(map(repr, (DEEPWALK, *TARGETS)))
    raise ParameterError(
        f"connectivity must be one of {names}, a matrix or a function of a graph; got {name!r}"
    )


def _as_csr(found: Any, graph: Graph, dtype: np.dtype[Any], copy: bool) -> sparse.csr_array:
    n = graph.n_nodes
    try:
        X = sparse.csr_array(found, dtype=dtype, copy=copy)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"connectivity must be a matrix of numbers or give one; got {type(found).__name__}"
        ) from error
    if X.shape != (n, n):
        raise ParameterError(f"connectivity must be {n} × {n}, as the graph has {n} nodes; got {X.shape}")
    X.sum_duplicates()
    bad = np.flatnonzero(~((X.data >= 0) & (X.data < np.inf)))  # NaN is neither
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        place = format_ids(graph.nodes[[row, X.indices[bad[0]]]])
        raise ParameterError(
            "connectivity must hold finite numbers that are not negative, since U V of a non-negative "
            f"factorization is never negative; entry ({place}) is {X.data[bad[0]]}. SocialDimension and "
            "HOPE factorize without that restriction"
        )
    return X


def _written_out(operator: Any) -> sparse.csr_array:
    """Return all entries of an operator, block by block; there are about n² of them."""
    n = operator.shape[0]
    check_memory(
        n**2 * (np.dtype(np.float64).itemsize + np.dtype(np.int32).itemsize),
        f"{n**2:,} entries of this connectivity matrix",
        "Use connectivity='adamic-adar', which is sparse, or the method HOPE, which needs no entries.",
    )
    collector = RowCollector(n, np.float64)
    for first in range(0, n, BLOCK_ROWS):
        size = min(BLOCK_ROWS, n - first)
        unit = np.zeros((n, size))
        unit[np.arange(first, first + size), np.arange(size)] = 1
        rows = operator.rmatmat(unit).T
        places = [np.flatnonzero(row > 0) for row in rows]
        collector.extend(
            row_by_row((at.astype(np.int32), row[at]) for at, row in zip(places, rows, strict=True))
        )
    return collector.finish()
