"""node2vec: DeepWalk with biased second-order random walks."""

from typing import Any

from boostne.models.base import Capabilities
from boostne.models.walk_base import WalkEmbedder


class Node2Vec(WalkEmbedder):
    """Skip-gram with negative sampling on biased second-order random walks.

    A walk that moved from t to v continues to x in proportion to the weight of (v, x), times 1/p if x = t, 1 if
    (t, x) is an edge, and 1/q otherwise. For nodes i and j within a window of a walk, and negative samples j',

    ``max  log σ(u_i · v_j) + Σ_j' log σ(-u_i · v_j')``;  the embedding is u. With p = q = 1 it is DeepWalk.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of each vector.
    p : float, default=1.0
        Return parameter: large values make walks less likely to return to the previous node.
    q : float, default=1.0
        In-out parameter: walks stay close to their start for values above 1 and move away for values below 1.
    walks : int, default=10
        Number of walks from each node.
    length : int, default=80
        Number of nodes in each walk.
    window : int, default=10
        Largest distance between the two nodes of a training pair, in steps along the walk. The actual window of
        each node is drawn uniformly from 1 to ``window``, so that close pairs are weighted more.
    negative : int, default=5
        Number of negative samples per pair.
    learning_rate : float, default=0.025
        Initial learning rate; it decays linearly to 0.4 % of this value.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the vectors; training runs in float32.
    threads : int, optional
        Number of threads; by default all cores. The result does not depend on it.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the walks, the initial vectors and the negative samples.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes.

    Notes
    -----
    **Differences from the paper.** Each step is sampled on the fly instead of from one alias table per edge: the
    probabilities are the same, and no memory beyond the graph is needed. Each walk is used once. Negative samples
    are drawn in proportion to the power 3/4 of the expected number of visits by first-order walks, not of the
    observed visits. The nodes of a large graph are partitioned into at most 32 parts; threads update disjoint rows,
    and the negative samples of a pair come from the part of its context node. This makes the vectors independent of
    the number of threads.

    References
    ----------
    A. Grover, J. Leskovec: "node2vec: Scalable Feature Learning for Networks", KDD 2016.

    Examples
    --------
    >>> from boostne import Node2Vec
    >>> model = Node2Vec(dimensions=2, p=0.25, q=4, walks=2, length=5, window=2)
    >>> model.fit_transform([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).shape
    (4, 2)
    """

    capabilities = Capabilities(
        weights=True,
        direction=True,
        engines=("local",),
        cost="walks·n·length·window·negatives·d",
        paper="Grover, Leskovec 2016",
    )

    def __init__(
        self,
        dimensions: int = 128,
        *,
        p: float = 1.0,
        q: float = 1.0,
        walks: int = 10,
        length: int = 80,
        window: int = 10,
        negative: int = 5,
        learning_rate: float = 0.025,
        dtype: Any = "float32",
        threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(
            dimensions,
            walks=walks,
            length=length,
            window=window,
            negative=negative,
            learning_rate=learning_rate,
            dtype=dtype,
            threads=threads,
            random_state=random_state,
        )
        self.p = p
        self.q = q
