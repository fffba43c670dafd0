"""LINE: neighbors get similar vectors, and so do nodes with the same neighbors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.errors import ParameterError
from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.kernels.skipgram import AliasTable, Edges, Noise, SkipGram, number_of_parts
from boostne.models.base import Capabilities
from boostne.models.connected_base import ConnectedEmbedder
from boostne.progress import Progress, ProgressCallback
from boostne.sampling.schedule import schedule
from boostne.validation import check_integer, check_number


class LINE(ConnectedEmbedder):
    """Large-scale information network embedding, first and second order.

    For edges (i, j), drawn as often as their weights say, and negatives j' drawn by ``(degree of j')^(3/4)``,

    ``max  log σ(u_i · v_j) + Σ_j' log σ(-u_i · v_j')``,

    once with ``v = u`` (first order: neighbors are similar) and once with contexts v of their own (second order:
    nodes with the same neighbors are similar). The embedding is both u, each scaled to length 1, side by side.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector; even, for each order takes half.
    negative : int, default=5
        Negatives drawn for each edge.
    epochs : int, default=100
        In an epoch as many edges are drawn as the graph has, an undirected edge counting once in each direction.
    learning_rate : float, default=0.05
        Length of the first steps; it falls linearly to nearly nothing.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the result; the training runs in float32.
    threads : int, optional
        Threads to use; by default every core. The result is the same, bit for bit, for any number.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the start and of all that is drawn.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes. Two levels: the first order and the second.

    Notes
    -----
    **Differences from the paper.** Steps start at 0.05, not 0.025, because 100 epochs are fewer samples than the
    paper takes, and vectors start between -1/d and 1/d, twice as far out. The paper leaves the first order to
    undirected graphs; here a directed edge counts there for both of its ends, and its direction in the second order.
    Negatives are drawn by the number of incoming edges, where the paper writes outgoing ones; for an undirected
    graph that is the same. A node without outgoing edges has no vector of second order: that half is zero. The
    authors train without locks, so that each run differs. Here the nodes of a larger graph are cut into at most 32
    parts, threads work where they share no rows, and negatives come from the part of the edge's end: the same
    vectors for any number of threads. Nodes of few edges are not given further ones.

    References
    ----------
    J. Tang, M. Qu, M. Wang, M. Zhang, J. Yan, Q. Mei: "LINE: Large-scale Information Network Embedding", WWW 2015.

    Examples
    --------
    >>> from boostne import LINE
    >>> model = LINE(dimensions=4, epochs=10)
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 4)
    """

    capabilities = Capabilities(
        weights=True,
        direction=True,
        engines=("local",),
        cost="epochs·m·negatives·d",
        paper="Tang et al. 2015",
    )

    def __init__(
        self,
        dimensions: int = 128,
        *,
        negative: int = 5,
        epochs: int = 100,
        learning_rate: float = 0.05,
        dtype: Any = "float32",
        threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.dimensions = dimensions
        self.negative = negative
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.dtype = dtype
        self.threads = threads
        self.random_state = random_state

    def _widths(self) -> list[int]:
        return [self.dimensions // 2] * 2

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.dimensions % 2:
            raise ParameterError(
                f"dimensions must be even, half for each order of LINE; got {self.dimensions}"
            )
        check_integer("negative", self.negative, 1)
        check_integer("epochs", self.epochs, 1)
        check_number("learning_rate", self.learning_rate, 0, strict=True)
        if self.threads is not None:
            check_integer("threads", self.threads, 1)

    def _embed(self, graph: Graph, seed: int, report: ProgressCallback) -> NDArray[Any]:
        return np.hstack(list(self._orders(graph, seed, report)))

    def _orders(self, graph: Graph, seed: int, report: ProgressCallback) -> Iterator[NDArray[np.float32]]:
        edges = edges_of(graph)
        incoming = np.asarray(graph.adjacency.sum(axis=0, dtype=np.float64))
        first_seed, second_seed = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
        yield unit_rows(self._train(edges, graph.degrees + incoming, True, first_seed, report))
        second = unit_rows(self._train(edges, incoming, False, second_seed, report))
        second[np.diff(graph.adjacency.indptr) == 0] = 0  # never drawn, so still as they were at the start
        yield second

    def _train(
        self, edges: Edges, frequencies: NDArray[np.float64], first: bool, seed: int, report: ProgressCallback
    ) -> NDArray[np.float32]:
        """Return the vectors of one order."""
        d = self.dimensions // 2
        samples = self.epochs * len(edges.source)
        noise = Noise.of(frequencies, number_of_parts(len(frequencies), samples))
        model = SkipGram.start(noise, d, negative=self.negative, shared=first, seed=seed)
        kernels = get_kernels(threads=self.threads)
        stage = "first order" if first else "second order"
        for step in schedule(samples, self.learning_rate, seed):
            report(Progress(stage, step.done, f"{step.first:,} of {samples:,} edges drawn"))
            kernels.train_edges(model, edges, step.count, rates=step.rates, seed=step.seed)
        return model.vectors[:, :d]


def edges_of(graph: Graph) -> Edges:
    """Return the edges of a graph, an undirected one in both directions, with a table to draw them by weight."""
    A = graph.adjacency
    source = np.repeat(np.arange(graph.n_nodes, dtype=np.int32), np.diff(A.indptr))
    table = None if (A.data == A.data[0]).all() else AliasTable.of(A.data)
    return Edges(source, A.indices.astype(np.int32), table)


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows scaled to length 1."""
    scaled: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled
