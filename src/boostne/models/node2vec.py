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
    walks, length, window, negative, learning_rate, dtype, threads, random_state
        As for :class:`DeepWalk`, with the same defaults.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes.

    Notes
    -----
    **Differences from the paper.** Each step is sampled on the fly instead of from one alias table per edge: the
    probabilities are the same, and no memory beyond the graph is needed. The paper samples 10 walks of 80 nodes; the
    default here is :class:`DeepWalk`'s, which scores higher. Walks are used and negatives are sampled as there.

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
        walks: int = 80,
        length: int = 40,
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
