"""Base class of DeepWalk and node2vec: skip-gram on random walks, which are treated like sentences of nodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.kernels.skipgram import Noise, SkipGram, number_of_parts
from boostne.matrices.adjacency import inverse_degrees
from boostne.models.connected_base import ConnectedEmbedder
from boostne.progress import Progress, ProgressCallback
from boostne.sampling.schedule import TrainingChunk
from boostne.sampling.walks import walk_chunks
from boostne.validation import check_integer, check_number


class WalkEmbedder(ConnectedEmbedder):
    """Trains skip-gram with negative sampling on random walks; p and q are 1 unless a subclass has them."""

    p: float = 1.0
    q: float = 1.0

    def __init__(
        self,
        dimensions: int = 128,
        *,
        walks: int = 80,
        length: int = 40,
        window: int = 10,
        negative: int = 5,
        learning_rate: float = 0.025,
        dtype: Any = "float32",
        threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(dimensions, dtype=dtype, random_state=random_state)
        self.walks = walks
        self.length = length
        self.window = window
        self.negative = negative
        self.learning_rate = learning_rate
        self.threads = threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("walks", self.walks, 1)
        check_integer("length", self.length, 2)
        check_integer("window", self.window, 1)
        check_integer("negative", self.negative, 1)
        check_number("learning_rate", self.learning_rate, 0, strict=True)
        check_number("p", self.p, 0, strict=True)
        check_number("q", self.q, 0, strict=True)

    def _embed(self, graph: Graph, seed: int, progress: ProgressCallback) -> NDArray[Any]:
        graph, _ = graph.rescaled()
        kernels = get_kernels(threads=self.threads)
        n_walks = self.walks * int(np.count_nonzero(np.diff(graph.adjacency.indptr)))
        parts = number_of_parts(graph.n_nodes, n_walks * self.length * (self.window + 1))
        noise = Noise.of(expected_visits(graph, self.length), parts, seed=seed)
        model = SkipGram.start(noise, self.dimensions, negative=self.negative, seed=seed)
        n_done = 0
        for walks in walk_chunks(
            graph, walks=self.walks, length=self.length, p=self.p, q=self.q, seed=seed, kernels=kernels
        ):
            chunk = TrainingChunk.of(n_done, len(walks), n_walks, self.learning_rate, seed)
            progress(Progress("walks", chunk.done, f"{n_done:,} of {n_walks:,} walks"))
            model = model.repartitioned(chunk.seed)
            kernels.train_walks(model, walks, window=self.window, rates=chunk.learning_rates, seed=chunk.seed)
            n_done += len(walks)
        return model.vectors[:, : self.dimensions]


def expected_visits(graph: Graph, length: int) -> NDArray[np.float64]:
    """Return the expected visits to each node by first-order walks, one from each node with outgoing edges.

    ``1 + 1 S + … + 1 S^(length-1)``, ``S = D^-1 A``.

    >>> expected_visits(Graph.from_edges([0, 0], [1, 2]), 2)
    array([3. , 1.5, 1.5])
    """
    inverse = inverse_degrees(graph)
    transposed = graph.adjacency.T.tocsr()
    expected = (inverse > 0).astype(np.float64)  # visits at the current step
    visits = expected.copy()
    for _ in range(length - 1):
        expected = transposed @ (expected * inverse)
        visits += expected
    return visits
