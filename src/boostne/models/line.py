"""LINE: neighbors get similar vectors, and so do nodes with the same neighbors."""

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
from boostne.sampling.schedule import training_chunks
from boostne.validation import check_integer, check_number

NORM = 2.0  # of each half of a vector


class LINE(ConnectedEmbedder):
    """Large-scale information network embedding, first and second order.

    For edges (i, j) drawn in proportion to their weights, and negative samples j' drawn in proportion to
    ``(degree of j')^(3/4)``,

    ``max  log σ(u_i · v_j) + Σ_j' log σ(-u_i · v_j')``,

    once with ``v = u`` (first order: neighbors are similar) and once with separate context vectors v (second order:
    nodes with the same neighbors are similar). The embedding concatenates both u, each scaled to norm 2.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of each vector; even, because each order has half of it.
    negative : int, default=5
        Number of negative samples per edge.
    epochs : int, default=200
        Number of epochs. Each draws as many edges as the graph has, counting an undirected edge twice.
    learning_rate : float, default=0.025
        Initial learning rate; it decays linearly to 0.4 % of this value.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the vectors; training runs in float32.
    threads : int, optional
        Number of threads; by default all cores. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the initial vectors, the edges and the negative samples.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes. Two levels: the first order and the second.

    Notes
    -----
    **Differences from the paper.** Both halves of a vector have norm 2, not 1. The direction is the same, but a
    regularized classifier fits unit vectors too loosely: Macro-F1 is lower by up to .04 at C = 1. Vectors are
    initialized between -1/d and 1/d, a range twice as wide. The paper does not count epochs, and BoostNE's paper
    trains for 100; graphs with few edges, such as cora, need more. The paper defines the first order for undirected
    graphs only; here it ignores the direction of edges, which the second order uses. Negative samples are drawn by
    in-degree, where the paper uses the out-degree; the two are equal for undirected graphs. The second-order vector of
    a node without outgoing edges is zero. The authors train without locks, so runs differ. Here the nodes of a large
    graph are partitioned into at most 32 random parts; threads update disjoint rows, and negative samples come from
    the part of the edge's target, so the vectors do not depend on the number of threads. The parts change a hundred
    times during the training, because fixed ones would bias the vectors. Nodes of low degree are not given additional
    edges.

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
        weights=True, direction=True, engines=("local",), cost="epochs·m·negatives·d", paper="Tang et al. 2015"
    )

    def __init__(
        self,
        dimensions: int = 128,
        *,
        negative: int = 5,
        epochs: int = 200,
        learning_rate: float = 0.025,
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
            raise ParameterError(f"dimensions must be even, half for each order of LINE; got {self.dimensions}")
        check_integer("negative", self.negative, 1)
        check_integer("epochs", self.epochs, 1)
        check_number("learning_rate", self.learning_rate, 0, strict=True)

    def _embed(self, graph: Graph, seed: int, progress: ProgressCallback) -> NDArray[Any]:
        graph, _ = graph.rescaled()
        edges = edges_of(graph)
        in_degrees = np.asarray(graph.adjacency.sum(axis=0, dtype=np.float64))
        first_seed, second_seed = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
        first = equal_norms(self._train(1, edges, graph.degrees + in_degrees, first_seed, progress))
        second = equal_norms(self._train(2, edges, in_degrees, second_seed, progress))
        untrained = np.diff(graph.adjacency.indptr) == 0  # nodes without outgoing edges
        second[untrained] = 0
        return np.hstack([first, second])

    def _train(
        self, order: int, edges: Edges, frequencies: NDArray[np.float64], seed: int, progress: ProgressCallback
    ) -> NDArray[np.float32]:
        """Return the vectors of one order; ``frequencies`` are those of the nodes as negative samples."""
        d = self.dimensions // 2
        n_samples = self.epochs * len(edges.source)
        noise = Noise.of(frequencies, number_of_parts(len(frequencies), n_samples), seed=seed)
        model = SkipGram.start(noise, d, negative=self.negative, shared=order == 1, seed=seed)
        kernels = get_kernels(threads=self.threads)
        stage = "first order" if order == 1 else "second order"
        for chunk in training_chunks(n_samples, self.learning_rate, seed):
            progress(Progress(stage, chunk.done, f"{chunk.first:,} of {n_samples:,} sampled edges"))
            model = model.repartitioned(chunk.seed)
            kernels.train_edges(model, edges, chunk.n_samples, rates=chunk.learning_rates, seed=chunk.seed)
        return model.vectors[:, :d]


def edges_of(graph: Graph) -> Edges:
    """Return the edges of a graph, undirected ones in both directions, with an alias table if weights differ."""
    A = graph.adjacency
    source = np.repeat(np.arange(graph.n_nodes, dtype=np.int32), np.diff(A.indptr))
    table = None if (A.data == A.data[0]).all() else AliasTable.of(A.data)
    return Edges(source, A.indices.astype(np.int32), table)


def equal_norms(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows scaled to norm 2."""
    scaled: NDArray[np.float32] = vectors * (NORM / np.linalg.norm(vectors, axis=1, keepdims=True))
    return scaled
