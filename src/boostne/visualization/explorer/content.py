"""What the explorer shows besides positions: ids, labels, degrees, communities, edges and components."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from boostne.embedding import Embedding
from boostne.errors import ParameterError
from boostne.factorization.ordering import find_communities
from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.labels import Labels
from boostne.node_ids import lookup_ids
from boostne.visualization.plots import NO_LABELED_NODE, natural_key

logger = logging.getLogger("boostne")

STRONGEST = 3  # components shown for each node
COLORED = 20  # labels with a color of their own (SERIES in colors.js): the most frequent, in natural order


@dataclass(frozen=True, eq=False)
class GraphContent:
    """A graph, restricted to the nodes of the embedding.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n)
    degrees : ndarray of int
        Number of neighbors.
    communities : ndarray of int
        Numbered by size, the largest first; every node has one.
    """

    adjacency: sparse.csr_array
    degrees: NDArray[np.int64]
    communities: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NodeContent:
    """What is shown for nodes besides their vectors.

    Attributes
    ----------
    title : str
    ids : list of str
    classes : list of str
        The labels that occur, the colored ones in natural order, then the others, most frequent first.
    label_matrix : csr_array of shape (n, number of classes), optional
    graph : GraphContent, optional
    notes : list of str
        Sentences on nodes that occur in one input only.
    """

    title: str
    ids: Sequence[str]
    classes: Sequence[str]
    label_matrix: sparse.csr_array | None
    graph: GraphContent | None
    notes: Sequence[str]

    def log_notes(self) -> None:
        """Log the notes, which the page also shows."""
        for note in self.notes:
            logger.info(note.removesuffix("."))


@dataclass(frozen=True, eq=False)
class Content(NodeContent):
    """What is shown for the nodes of an embedding."""

    embedding: Embedding


def collect_content(
    embedding: Embedding, labels: Labels | None = None, graph: Graph | None = None, title: str = "Embedding"
) -> Content:
    """Match labels and graph with the nodes of the embedding."""
    found = match_nodes(embedding.nodes, labels, title)
    notes = list(found.notes)
    matched = None if graph is None else _match_graph(embedding, graph, notes)
    return Content(**(vars(found) | {"graph": matched, "notes": notes}), embedding=embedding)


def match_nodes(nodes: NDArray[Any], labels: Labels | None, title: str) -> NodeContent:
    """Match labels with nodes."""
    notes: list[str] = []
    classes, label_matrix = ([], None) if labels is None else _match_labels(nodes, labels, notes)
    ids = [str(node) for node in nodes.tolist()]
    return NodeContent(title, ids, classes, label_matrix, graph=None, notes=notes)


def strongest_components(embedding: Embedding, rows: slice | NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the columns with the largest absolute values of each row, the largest first."""
    size = np.abs(embedding.vectors[rows])
    return np.argsort(-size, axis=1, kind="stable")[:, :STRONGEST]


def _match_labels(nodes: NDArray[Any], labels: Labels, notes: list[str]) -> tuple[list[str], sparse.csr_array]:
    indicator, n_left_out = labels.align(nodes)
    if labels.n_labels and indicator.nnz == 0:
        raise ParameterError(NO_LABELED_NODE)
    if n_left_out:
        notes.append(f"{_nodes(n_left_out)} with labels {_is(n_left_out)} not in the embedding.")
    n_unlabeled = int(np.count_nonzero(np.diff(indicator.indptr) == 0))
    if n_unlabeled:
        notes.append(f"{_nodes(n_unlabeled)} without a label.")
    counts = np.bincount(indicator.indices, minlength=len(labels.classes))
    names = [str(name) for name in labels.classes.tolist()]
    by_count = [i for i in sorted(range(len(names)), key=lambda i: (-counts[i], natural_key(names[i]))) if counts[i]]
    order = sorted(by_count[:COLORED], key=lambda i: natural_key(names[i])) + by_count[COLORED:]
    matrix = sparse.csr_array(indicator[:, order])
    matrix.sort_indices()
    return [names[i] for i in order], matrix


def _match_graph(embedding: Embedding, graph: Graph, notes: list[str]) -> GraphContent:
    rows = lookup_ids(graph.nodes, embedding.nodes)
    known = np.flatnonzero(rows >= 0)
    n_left_out, n_unknown = graph.n_nodes - len(known), len(rows) - len(known)
    if n_left_out:
        notes.append(f"{_nodes(n_left_out)} of the graph {_is(n_left_out)} not in the embedding.")
    if n_unknown:
        notes.append(f"{_nodes(n_unknown)} of the embedding {_is(n_unknown)} not in the graph.")
    undirected = graph.to_undirected() if graph.directed else graph
    # Row i of this matrix selects the row of the i-th node.
    selection = sparse.csr_array(
        (np.ones(len(known), dtype=undirected.adjacency.dtype), (known, rows[known])), shape=(len(rows), graph.n_nodes)
    )
    shown = Graph(selection @ undirected.adjacency @ selection.T, embedding.nodes)
    found = find_communities(shown, get_kernels(), max_size=len(shown.nodes))
    _, community, sizes = np.unique(found, return_inverse=True, return_counts=True)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return GraphContent(shown.adjacency, np.diff(shown.adjacency.indptr).astype(np.int64), rank[community])


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
