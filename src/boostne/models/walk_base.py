"""What DeepWalk and node2vec share: walks like sentences, nodes like words, skip-gram on them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostne.graph import Graph
from boostne.kernels import get_kernels
from boostne.kernels.skipgram import Noise, SkipGram, number_of_parts
from boostne.models.connected_base import ConnectedEmbedder
from boostne.progress import Progress, ProgressCallback
from boostne.sampling.schedule import step
from boostne.sampling.walks import walk_chunks
from boostne.validation import check_integer, check_number


class WalkEmbedder(ConnectedEmbedder):
    """Base of those methods; a subclass has the parameters below, and may have p and q."""

    walks: int
    length: int
    window: int
    negative: int
    learning_rate: float
    threads: int | None
    p: float = 1.0
    q: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("walks", self.walks, 1)
        check_integer("length", self.length, 2)
        check_integer("window", self.window, 1)
        check_integer("negative", self.negative, 1)
        check_number("learning_rate", self.learning_rate, 0, strict=True)
        check_number("p", self.p, 0, strict=True)
        check_number("q", self.q, 0, strict=True)
        if self.threads is not None:
            check_integer("threads", self.threads, 1)

    def _embed(self, graph: Graph, seed: int, report: ProgressCallback) -> NDArray[Any]:
        kernels = get_kernels(threads=self.threads)
        total = self.walks * int(np.count_nonzero(np.diff(graph.adjacency.indptr)))
        parts = number_of_parts(graph.n_nodes, total * self.length * (self.window + 1))
        noise = Noise.of(expected_visits(graph, self.length), parts)
        model = SkipGram.start(noise, self.dimensions, negative=self.negative, seed=seed)
        first = 0
        for chunk in walk_chunks(
            graph, walks=self.walks, length=self.length, p=self.p, q=self.q, seed=seed, kernels=kernels
        ):
            piece = step(first, len(chunk), total, self.learning_rate, seed)
            report(Progress("walks", piece.done, f"{first:,} of {total:,} walks learned from"))
            kernels.train_walks(model, chunk, window=self.window, rates=piece.rates, seed=piece.seed)
            first += len(chunk)
        return model.vectors[:, : self.dimensions]


def expected_visits(graph: Graph, length: int) -> NDArray[np.float64]:
    """Return how often a node is met, on average, on walks of first order from every node that an edge leaves.

    ``1 + 1 S + … + 1 S^(length-1)``, ``S = D^-1 A``.

    >>> expected_visits(Graph.from_edges([0, 0], [1, 2]), 2)
    array([3. , 1.5, 1.5])
    """
    degrees = graph.degrees
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    steps = graph.adjacency.T.tocsr()
    at = (degrees > 0).astype(np.float64)
    visits = at.copy()
    for _ in range(length - 1):
        at = steps @ (at * inverse)
        visits += at
    return visits
