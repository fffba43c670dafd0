"""node2vec: DeepWalk on walks that prefer to stay near or to go far."""

from typing import Any

from boostne.models.base import Capabilities
from boostne.models.walk_base import WalkEmbedder


class Node2Vec(WalkEmbedder):
    """Skip-gram with negative sampling on biased random walks of second order.

    A walk that came from t to v goes on to x in proportion to the weight of (v, x), times 1/p where x = t, 1 where
    (t, x) is an edge, and 1/q elsewhere. For nodes i and j near each other on a walk, and negatives j',

    ``max  log σ(u_i · v_j) + Σ_j' log σ(-u_i · v_j')``;  the embedding is u. With p = q = 1 it is DeepWalk.

    Parameters
    ----------
    dimensions : int, default=128
        d, the length of a vector.
    p : float, default=1.0
        Return parameter: the larger, the more rarely a walk turns back.
    q : float, default=1.0
        In-out parameter: above 1 walks stay near where they began, below 1 they go far.
    walks : int, default=10
        Walks from each node.
    length : int, default=80
        Nodes of a walk.
    window : int, default=10
        Nodes of a walk at most so many steps apart make a pair. For each node the window is drawn anew, from 1 to
        this, so that close pairs count more.
    negative : int, default=5
        Negatives drawn for each pair.
    learning_rate : float, default=0.025
        Length of the first steps; it falls linearly to nearly nothing.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the result; the training runs in float32.
    threads : int, optional
        Threads to use; by default every core. The result is the same, bit for bit, for any number.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the walks, of the start and of all that is drawn.

    Attributes
    ----------
    embedding_ : Embedding
        Vectors (n, d) with the ids of their nodes.

    Notes
    -----
    **Differences from the paper.** Steps are drawn when they are taken, without a table for each edge: the same
    probabilities, and memory for the graph alone. Each walk is used once. Negatives come by the power 3/4 of the
    number of visits to expect on walks of first order, not of the visits counted. The nodes of a larger graph are cut
    into at most 32 parts, threads work where they share no rows, and the negatives of a pair come from the part of
    its output: this is what makes the vectors the same for any number of threads.

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
        self.dimensions = dimensions
        self.p = p
        self.q = q
        self.walks = walks
        self.length = length
        self.window = window
        self.negative = negative
        self.learning_rate = learning_rate
        self.dtype = dtype
        self.threads = threads
        self.random_state = random_state
